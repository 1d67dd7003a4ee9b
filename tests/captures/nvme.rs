//! NVMe-oF controllers, laid out as the tree of sysfs that the agent reads. The other captures are what nvme-cli and its
//! library write: the agent asks the kernel and reads none of their formats.

use std::fs;

use rocewatch::export::stats::ReadStats;
use rocewatch::sources::{NvmfController, NvmfControllers, NvmfTransport};
use rocewatch_core::nvmf::NvmfState;
use rocewatch_core::units::MonoTime;

use crate::capture;

/// Formats that are not read, and why their name stands here at all: each capture is looked at.
const NOT_READ: [(&str, &str); 2] = [
    ("nvme/libnvme-config-1.txt", "what is configured, and no state"),
    ("nvme/libnvme-tree-1.txt", "PCIe alone, and no state"),
];

#[test]
fn a_path_that_is_connecting_is_one_of_two_down_and_fibre_channel_is_left_out() {
    let Some(path) = capture("nvme/subsystem-sysfs-1.txt") else { return };
    let root = tempfile::tempdir().unwrap();
    for line in fs::read_to_string(path).unwrap().lines() {
        let (file, text) = line.split_once(':').unwrap();
        let file = root.path().join(file.strip_prefix("/sys/").unwrap());
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\n")).unwrap();
    }
    let reads = ReadStats::default();
    let mut reader = NvmfControllers::of_tree(root.path());
    let (view, changes) = reader.read(MonoTime::from_millis(1), &reads);
    assert_eq!(reader.outcome(), Ok(()));
    let told = |controller: &NvmfController| {
        let facts = &controller.facts;
        (controller.name.clone(), facts.transport, controller.state.unwrap(), facts.address.clone())
    };
    assert_eq!(
        view.controllers.iter().map(told).collect::<Vec<_>>(),
        [
            ("nvme3".into(), NvmfTransport::Tcp, NvmfState::Live, "192.0.2.1:4420".into()),
            ("nvme4".into(), NvmfTransport::Rdma, NvmfState::Connecting, "192.0.2.2:4420".into()),
        ]
    );
    let [subsystem] = &view.subsystems[..] else { panic!("{:?}", view.subsystems) };
    assert_eq!((subsystem.paths, subsystem.live, subsystem.lost), (2, 1, 0));
    assert!(subsystem.nqn.ends_with("000000000002"), "{}", subsystem.nqn);
    assert_eq!(changes.len(), 2, "each is told of once");
}

#[test]
fn every_capture_is_read_or_its_format_is_named_as_one_that_is_not() {
    let Some(index) = capture("INDEX.md") else { return };
    for entry in fs::read_dir(index.with_file_name("nvme")).unwrap() {
        let name = format!("nvme/{}", entry.unwrap().file_name().into_string().unwrap());
        let is_named = NOT_READ.iter().any(|(other, why)| *other == name && !why.is_empty());
        assert!(is_named || include_str!("nvme.rs").contains(&format!("(\"{name}\")")), "{name}");
    }
}
