//! What the kernel answers about RDMA devices, and what stands in the files of their sysfs.

use std::fs;

use rocewatch::export::stats::ReadStats;
use rocewatch::sources::RdmaCounters;
use rocewatch::sys::rdma_wire::{RdmaDevice, RdmaPort, RdmaResources, decode_counters, decode_netns_mode};
use rocewatch_core::units::MonoTime;

use super::files::in_folder;
use super::seeds::attribute;

/// The payload of an answer to any question.
pub(super) fn rdma(bytes: &[u8]) {
    if let Ok(Some(device)) = RdmaDevice::decode(bytes) {
        assert!(!device.name.is_empty());
    }
    if let Ok(Some(port)) = RdmaPort::decode(bytes) {
        assert!(port.netdev.is_none_or(|(_, name)| !name.is_empty()));
    }
    if let Ok(Some(resources)) = RdmaResources::decode(bytes) {
        assert!(resources.counts.iter().all(|(name, _)| !name.is_empty()));
    }
    if let Ok(counters) = decode_counters(bytes) {
        assert!(counters.len() * 8 <= bytes.len(), "each takes its bytes");
    }
    let _ = decode_netns_mode(bytes);
}

/// The files of one port, one behind the other with a NUL between.
const FILES: [&str; 9] = [
    "ports/1/hw_counters/np_cnp_sent",
    "ports/1/counters/port_xmit_data",
    "ports/1/hw_counters/lifespan",
    "ports/1/state",
    "ports/1/phys_state",
    "ports/1/link_layer",
    "ports/1/gid_attrs/ndevs/0",
    "fw_ver",
    "node_type",
];

/// Read twice, so that counters grow, or do not.
pub(super) fn files(bytes: &[u8]) {
    in_folder(|folder| {
        let device = folder.join("sys/class/infiniband/mlx5_0");
        let mut reader = RdmaCounters::of_tree(&folder.join("sys"));
        let halves = bytes.split_at(bytes.len() / 2);
        for (second, part) in (1..).zip([halves.0, halves.1]) {
            let mut texts = part.split(|byte| *byte == 0);
            for name in FILES {
                let file = device.join(name);
                fs::create_dir_all(file.parent().expect("a file is in a folder")).unwrap();
                fs::write(file, texts.next().unwrap_or_default()).unwrap();
            }
            let views = reader.read(MonoTime::from_millis(second * 1000), &ReadStats::default());
            assert!(views.iter().all(|view| view.device == "mlx5_0"));
            assert_eq!(views.len(), 1, "no file costs the port");
        }
    });
}

/// A device, a port, its resources and its counters, and every number as every kind of value.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let number = |kind: u16| attribute(kind, &u64::from(kind).to_ne_bytes());
    let text = |kind: u16| attribute(kind, format!("name{kind}\0").as_bytes());
    let named = |list: u16, entry: u16| {
        let one =
            |n: u8| attribute(entry, &[attribute(entry + 1, &[b'a' + n, 0]), number(entry + 2)].concat());
        attribute(list, &(0..3).flat_map(one).collect::<Vec<_>>())
    };
    let device =
        [number(1), text(2), number(3), text(5), attribute(14, &[1]), attribute(67, b"roce\0")].concat();
    let port =
        [number(1), number(3), attribute(12, &[4]), attribute(13, &[5]), number(50), text(51)].concat();
    let resources = [number(1), named(15, 16)].concat();
    let counters = [number(1), number(3), named(80, 81)].concat();
    let mode = attribute(66, &[1]);
    vec![
        device,
        port,
        resources,
        counters,
        mode,
        (1..90).flat_map(number).collect(),
        (1..90).flat_map(text).collect(),
    ]
}

/// As mlx5 has them, then a reading later.
pub(super) fn file_seeds() -> Vec<Vec<u8>> {
    let files = |count: u64| {
        let texts = [&format!("{count}\n"), "N/A (no PMA)\n", "10\n", "4: ACTIVE\n", "5: LinkUp\n"];
        let rest = ["Ethernet\n", "eth0\n", "28.42.1000\n", "1: CA\n"];
        [texts.to_vec(), rest.to_vec()].concat().join("\0").into_bytes()
    };
    vec![[files(1000), files(2000)].concat(), [files(u64::MAX), files(0)].concat()]
}
