//! What the kernel answers about a port's settings: DCB, ethtool and devlink.

use rocewatch::sys::dcb::DcbSettings;
use rocewatch::sys::devlink::{DevlinkPort, Reporter};
use rocewatch::sys::ethtool_replies::{Coalescing, FecCounts, LinkState, PauseState, StandardCounts};
use rocewatch::sys::genl::{Family, split};
use rocewatch::sys::netlink_wire::Malformed;

use super::seeds::attribute;

/// The payload of a message of any of them.
pub(super) fn settings(bytes: &[u8]) {
    if let Some(settings) = understood(DcbSettings::decode(bytes)) {
        // Says something either way, whatever bits there are.
        let _ = settings.is_owned_by_host();
    }
    let Some((_, body)) = understood(split(bytes)) else { return assert!(bytes.len() < 4) };
    assert_eq!(body.len() + 4, bytes.len());
    understood(Family::decode(body));
    understood(PauseState::decode(body));
    understood(FecCounts::decode(body));
    understood(Coalescing::decode(body));
    understood(LinkState::decode(body));
    understood(StandardCounts::decode(body));
    if let Some(Some(port)) = understood(DevlinkPort::decode(body)) {
        assert!(!port.device.bus.is_empty() && !port.device.address.is_empty());
    }
    if let Some(Some(reporter)) = understood(Reporter::decode(body)) {
        assert!(!reporter.name.is_empty());
    }
}

/// What is refused names the part that is wrong, and its length.
fn understood<T>(decoded: Result<T, Malformed>) -> Option<T> {
    decoded.inspect_err(|error| assert!(!error.what.is_empty())).ok()
}

/// Messages in which every number that a decoder may look for stands for a number, a text and a nest of both.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let all = |value: &dyn Fn(u16) -> Vec<u8>| -> Vec<u8> {
        let body: Vec<u8> = (1..64).flat_map(|kind| attribute(kind, &value(kind))).collect();
        [vec![1, 1, 0, 0], body].concat()
    };
    let number = |kind: u16| u64::from(kind).to_ne_bytes().to_vec();
    let text = |kind: u16| format!("name{kind}\0").into_bytes();
    let leaf = |_: u16| -> Vec<u8> {
        let both = |kind: u16| [attribute(kind, &number(kind)), attribute(kind, b"fw\0")].concat();
        (1..12).flat_map(both).collect()
    };
    let nest = |_: u16| -> Vec<u8> { (1..12).flat_map(|kind| attribute(kind, &leaf(kind))).collect() };
    // Of devlink, which says first which device is meant.
    let device = [attribute(1, b"pci\0"), attribute(2, b"0000:3b:00.0\0")].concat();
    let about = |rest: Vec<u8>| [vec![1, 1, 0, 0], device.clone(), rest].concat();
    let port =
        [attribute(3, &7_u32.to_ne_bytes()), attribute(77, &[0, 0]), attribute(78, &[1, 0, 0, 0])].concat();
    let health =
        [attribute(115, b"fw\0"), attribute(116, &[1]), attribute(117, &[3; 8]), attribute(118, &[2; 8])]
            .concat();
    vec![all(&number), all(&text), all(&leaf), all(&nest), about(port), about(attribute(114, &health))]
}
