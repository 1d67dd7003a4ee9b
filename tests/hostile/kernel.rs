//! Bytes that the kernel writes.

use rocewatch::sys::ethtool::{DriverInfo, EthtoolError, PauseParam};
use rocewatch::sys::ethtool_answer;
use rocewatch::sys::link::Link;
use rocewatch::sys::netdev::NetdevName;
use rocewatch::sys::netlink_wire::{Meaning, attributes, frames, text_of, u32_of, u64_of};
use rocewatch::sys::uapi::{DRVINFO_LEN, PAUSEPARAM_LEN, SSET_INFO_DATA};

/// Nests are looked into so deep; the kernel's own are no deeper than this.
const DEPTH_MAX: usize = 8;

/// A datagram: its messages, what they mean, and the link that each of them may describe.
pub(super) fn netlink(bytes: &[u8]) {
    let mut payloads = 0;
    for frame in frames(bytes).flatten() {
        payloads += frame.payload.len();
        if let Ok(Meaning::Refused(refusal)) = frame.meaning() {
            assert!(refusal.errno > 0 && refusal.message.is_none_or(|message| !message.is_empty()));
        }
        link(frame.payload);
        walk(frame.payload, DEPTH_MAX);
    }
    assert!(payloads <= bytes.len(), "messages are parts of their datagram");
    link(bytes);
    walk(bytes, DEPTH_MAX);
}

fn link(payload: &[u8]) {
    if let Ok(Some(link)) = Link::decode(payload) {
        assert!(!link.name.as_str().is_empty());
        // Of a name that stands twice, which the kernel does not send, one takes the first and one the last.
        let identity = Link::decode_identity(payload).expect("the payload is that of a link");
        assert!(identity.is_none_or(|(ifindex, _)| ifindex == link.ifindex));
    }
}

fn walk(bytes: &[u8], depth: usize) {
    for (_, value) in attributes(bytes).flatten() {
        assert!(value.len() < bytes.len());
        let _ = (u32_of(value), u64_of(value), text_of(value));
        if depth > 0 {
            walk(value, depth - 1);
        }
    }
}

/// The answer to any ethtool request, for any number of names expected.
pub(super) fn ethtool_answer(bytes: &[u8]) {
    let netdev = NetdevName::new("eth0").unwrap();
    let info = DriverInfo::decode(&padded::<DRVINFO_LEN>(bytes));
    assert_ne!(info.version.as_deref(), Some(""));
    let _ = PauseParam::decode(&padded::<PAUSEPARAM_LEN>(bytes));
    match ethtool_answer::stat_count(netdev, &padded::<{ SSET_INFO_DATA + 4 }>(bytes)) {
        Ok(count) => assert!(count <= 65_536),
        Err(error) => assert!(matches!(error, EthtoolError::TooManyStats { .. })),
    }
    let expected = bytes.len() as u32 / 8;
    for expected in [0, 1, expected, expected / 4, u32::MAX] {
        if let Ok(names) = ethtool_answer::stat_names(netdev, expected, bytes) {
            assert_eq!(names.len(), expected as usize);
        }
        let mut values = vec![7];
        match ethtool_answer::stats(netdev, expected, bytes, &mut values) {
            Ok(()) => assert_eq!(values.len(), expected as usize + 1),
            Err(_) => assert_eq!(values, [7], "there is no part of a reading"),
        }
    }
}

fn padded<const LEN: usize>(bytes: &[u8]) -> [u8; LEN] {
    let mut buffer = [0; LEN];
    let used = bytes.len().min(LEN);
    buffer[..used].copy_from_slice(&bytes[..used]);
    buffer
}
