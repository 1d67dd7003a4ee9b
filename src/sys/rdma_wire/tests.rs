//! Replies of a real kernel, and what becomes of them when they are cut, mistyped or made up.
//!
//! Recorded by this project in a virtual machine with Linux 6.1.192 on x86-64 from a software RoCE device (rdma_rxe) on
//! a veth pair after 100 messages, and from this project's test device.

use super::super::netlink_wire::frames;
use super::super::netlink_wire::tests::attribute;
use super::*;

/// `RDMA_GET`, the test device.
const DEVICE: &str = "\
    7c00000001140200070000009f00000008000100020000000d00020070666373696d5f300000000008000300010000000c000400\
    00000000000000000a000500302e312e300000000c00060054d6affeff3e01340c000700000000000000000005000e0001000000\
    050054000000000009004300726f636500000000";
/// `RDMA_PORT_GET`, rxe0 on v0.
const PORT: &str = "\
    4c00000005140200070000009f0000000800010000000000090002007278653000000000080003000100000005000c0004000000\
    05000d000500000008003200030000000700330076300000";
/// `RDMA_STAT_GET`, port 1 of rxe0.
const COUNTERS_OF_RXE: &str = "\
    4c02000011140000070000009f000000080001000000000009000200727865300000000008000300010000002002508020005180\
    0e00520073656e745f706b74730000000c0053009001000000000000200051800e005200726376645f706b74730000000c005300\
    640000000000000028005180160052006475706c69636174655f726571756573740000000c005300000000000000000028005180\
    170052006f75745f6f665f7365715f7265717565737400000c00530000000000000000002400518011005200726376645f726e72\
    5f657272000000000c0053000000000000000000240051801100520073656e645f726e725f657272000000000c00530000000000\
    000000002400518011005200726376645f7365715f657272000000000c0053000000000000000000240051801100520061636b5f\
    6465666572726564000000000c0053000000000000000000280051801700520072657472795f65786365656465645f6572720000\
    0c00530000000000000000002c0051801b00520072657472795f726e725f65786365656465645f65727200000c00530000000000\
    000000002800518018005200636f6d706c657465725f72657472795f657272000c0053000000000000000000200051800d005200\
    73656e645f657272000000000c005300000000000000000020005180100052006c696e6b5f646f776e6564000c00530000000000\
    00000000200051800f00520072646d615f73656e647300000c0053006400000000000000200051800f00520072646d615f726563\
    767300000c0053000000000000000000";
/// `RDMA_RES_GET`, rxe0.
const RESOURCES_OF_RXE: &str = "\
    d400000009140200070000009f0000000800010000000000090002007278653000000000b0000f00180010000700110070640000\
    0c00120001000000000000001800100007001100637100000c00120001000000000000001800100007001100717000000c001200\
    01000000000000001c0010000a001100636d5f69640000000c001200000000000000000018001000070011006d7200000c001200\
    00000000000000001800100008001100637478000c00120000000000000000001800100008001100737271000c00120000000000\
    00000000";
/// `RDMA_SYS_GET`.
const SYSTEM: &str = "\
    2800000006140000070000009f0000000500420001000000050060000000000005005d0001000000";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().map(|digit| digit.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// What the reply holds behind its header.
fn payload(hex: &str) -> Vec<u8> {
    let message = bytes(hex);
    frames(&message).next().unwrap().unwrap().payload.to_vec()
}

fn number(kind: u16, value: u32) -> Vec<u8> {
    attribute(kind, &value.to_ne_bytes())
}

fn counter(name: &[u8], value: &[u8]) -> Vec<u8> {
    let fields = [
        attribute(RDMA_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name),
        attribute(RDMA_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value),
    ];
    attribute(RDMA_ATTR_STAT_HWCOUNTER_ENTRY, &fields.concat())
}

fn counters(entries: &[Vec<u8>]) -> Vec<(String, u64)> {
    decode_counters(&attribute(RDMA_ATTR_STAT_HWCOUNTERS, &entries.concat())).unwrap()
}

/// Everything that can be asked of bytes from outside; none of it may panic.
fn decode_all(payload: &[u8]) -> [bool; 5] {
    [
        RdmaDevice::decode(payload).is_ok(),
        RdmaPort::decode(payload).is_ok(),
        RdmaResources::decode(payload).is_ok(),
        decode_counters(payload).is_ok(),
        decode_netns_mode(payload).is_ok(),
    ]
}

#[test]
fn a_device_has_its_number_name_ports_sort_and_protocol() {
    let device = RdmaDevice::decode(&payload(DEVICE)).unwrap().unwrap();
    assert_eq!((device.index, device.name.as_str(), device.port_count), (2, "pfcsim_0", 1));
    assert_eq!((device.node_type, device.protocol), (Some(NodeType::Ca), Some(Protocol::Roce)));
}

#[test]
fn a_port_has_its_states_and_its_network_interface() {
    let port = RdmaPort::decode(&payload(PORT)).unwrap().unwrap();
    assert_eq!((port.device, port.port), (0, 1));
    assert_eq!((port.state, port.physical_state), (Some(PortState::Active), Some(PhysicalState::LinkUp)));
    assert_eq!(port.netdev, Some((3, "v0".into())));
}

#[test]
fn counters_come_in_the_drivers_order_with_their_values() {
    let counters = decode_counters(&payload(COUNTERS_OF_RXE)).unwrap();
    let expected = [
        ("sent_pkts", 400),
        ("rcvd_pkts", 100),
        ("duplicate_request", 0),
        ("out_of_seq_request", 0),
        ("rcvd_rnr_err", 0),
        ("send_rnr_err", 0),
        ("rcvd_seq_err", 0),
        ("ack_deferred", 0),
        ("retry_exceeded_err", 0),
        ("retry_rnr_exceeded_err", 0),
        ("completer_retry_err", 0),
        ("send_err", 0),
        ("link_downed", 0),
        ("rdma_sends", 100),
        ("rdma_recvs", 0),
    ];
    assert_eq!(counters, expected.map(|(name, value)| (name.to_owned(), value)));
}

#[test]
fn resources_are_counted_by_kind() {
    let resources = RdmaResources::decode(&payload(RESOURCES_OF_RXE)).unwrap().unwrap();
    assert_eq!(resources.device, 0);
    let expected = [("pd", 1), ("cq", 1), ("qp", 1), ("cm_id", 0), ("mr", 0), ("ctx", 0), ("srq", 0)];
    assert_eq!(resources.counts, expected.map(|(kind, count)| (kind.to_owned(), count)));
}

#[test]
fn the_namespace_mode_is_told_and_an_unknown_one_is_not_guessed() {
    assert_eq!(decode_netns_mode(&payload(SYSTEM)).unwrap(), Some(NetnsMode::Shared));
    for (value, mode) in [(&[0][..], Some(NetnsMode::Exclusive)), (&[7], None), (&[], None)] {
        assert_eq!(decode_netns_mode(&attribute(RDMA_ATTR_SYS_NETNS_MODE, value)).unwrap(), mode);
    }
}

#[test]
fn every_truncation_of_a_real_reply_is_an_error_or_holds_less() {
    for reply in [DEVICE, PORT, COUNTERS_OF_RXE, RESOURCES_OF_RXE, SYSTEM] {
        let whole = payload(reply);
        let all = decode_counters(&whole).unwrap();
        for len in 0..whole.len() {
            decode_all(&whole[..len]);
            if let Ok(some) = decode_counters(&whole[..len]) {
                assert!(some.is_empty() || some == all, "{len} bytes give half a list");
            }
        }
    }
}

#[test]
fn a_changed_byte_anywhere_in_a_real_reply_is_no_panic() {
    for reply in [DEVICE, PORT, COUNTERS_OF_RXE, RESOURCES_OF_RXE, SYSTEM] {
        let whole = payload(reply);
        for place in 0..whole.len() {
            for value in [0, 1, 3, 4, 0x7f, 0x80, 0xff] {
                let mut bent = whole.clone();
                bent[place] = value;
                decode_all(&bent);
            }
        }
    }
}

#[test]
fn a_length_that_lies_is_malformed_at_every_depth() {
    for length in [0_u16, 1, 3, 400, u16::MAX] {
        let lying = |kind: u16| [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        let entry = attribute(RDMA_ATTR_STAT_HWCOUNTER_ENTRY, &lying(RDMA_ATTR_STAT_HWCOUNTER_ENTRY_NAME));
        for payload in [
            lying(RDMA_ATTR_STAT_HWCOUNTERS),
            attribute(RDMA_ATTR_STAT_HWCOUNTERS, &lying(RDMA_ATTR_STAT_HWCOUNTER_ENTRY)),
            attribute(RDMA_ATTR_STAT_HWCOUNTERS, &entry),
        ] {
            assert!(decode_counters(&payload).is_err(), "length {length}");
        }
        assert!(RdmaDevice::decode(&lying(RDMA_ATTR_DEV_NAME)).is_err());
        assert!(RdmaPort::decode(&lying(RDMA_ATTR_NDEV_NAME)).is_err());
    }
}

#[test]
fn a_fact_of_the_wrong_type_costs_that_fact_only() {
    let mut payload = number(RDMA_ATTR_DEV_INDEX, 4);
    payload.extend(attribute(RDMA_ATTR_DEV_NAME, b"mlx5_0\0"));
    payload.extend(attribute(RDMA_ATTR_PORT_INDEX, &[2]));
    payload.extend(attribute(RDMA_ATTR_DEV_NODE_TYPE, &[99]));
    payload.extend(attribute(RDMA_ATTR_DEV_PROTOCOL, b"carrier pigeon\0"));
    let device = RdmaDevice::decode(&payload).unwrap().unwrap();
    assert_eq!((device.name.as_str(), device.port_count), ("mlx5_0", 0));
    assert_eq!((device.node_type, device.protocol), (None, None));
    assert_eq!(RdmaDevice::decode(&payload[8..]).unwrap(), None, "without a number it cannot be asked about");
}

#[test]
fn a_netdev_without_a_name_or_a_number_is_unknown() {
    let port = [number(RDMA_ATTR_DEV_INDEX, 0), number(RDMA_ATTR_PORT_INDEX, 1)].concat();
    for part in [number(RDMA_ATTR_NDEV_INDEX, 7), attribute(RDMA_ATTR_NDEV_NAME, b"eth0\0")] {
        let found = RdmaPort::decode(&[port.clone(), part].concat()).unwrap().unwrap();
        assert_eq!(found.netdev, None);
    }
}

#[test]
fn counters_without_a_name_or_a_whole_value_are_left_out() {
    let value = 5_u64.to_ne_bytes();
    let entries = [
        counter(b"RNR sent\0", &value),
        counter(b"\0", &value),
        counter(&[0xff, 0xfe, 0], &value),
        counter(b"short\0", &value[..7]),
        counter(&[b'x'; NAME_LEN_MAX + 1], &value),
        counter(&vec![b'y'; 60_000], &value),
        attribute(99, b"not an entry"),
    ];
    for entry in &entries[1..] {
        assert_eq!(counters(std::slice::from_ref(entry)), []);
    }
    assert_eq!(counters(&entries[..5]), [("RNR sent".to_owned(), 5)], "blanks belong to the name");
    assert_eq!(counters(&[counter(&[b'x'; NAME_LEN_MAX], &value)]).len(), 1);
}

#[test]
fn states_are_read_from_numbers_and_from_sysfs_alike() {
    assert_eq!(PortState::of_sysfs("4: ACTIVE"), PortState::of_number(4));
    assert_eq!(PhysicalState::of_sysfs("5: LinkUp"), PhysicalState::of_number(5));
    assert_eq!(NodeType::of_sysfs("4: RNIC"), Some(NodeType::Rnic));
    // Seen in the field in a file of physical states: the number of one and the text of another kind.
    assert_eq!(PhysicalState::of_sysfs("4: ACTIVE"), None);
    assert_eq!((PortState::of_number(6), PortState::of_sysfs("")), (None, None));
    assert_eq!(PortState::Active.label(), "active");
}
