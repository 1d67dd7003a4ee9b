//! RDMA as the running kernel tells of it. Where it has no RDMA subsystem, that nothing is read, asked or loaded.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use rocewatch::config::{DeviceFilter, Pattern};
use rocewatch::export::stats::ReadStats;
use rocewatch::sources::{RdmaCounters, RdmaView};
use rocewatch::sys::rdma::Rdma;
use rocewatch_core::units::MonoTime;

const SYSFS: &str = "/sys";

fn has_rdma() -> bool {
    Path::new(SYSFS).join("class/infiniband").is_dir()
}

fn read(counters: RdmaCounters) -> Vec<RdmaView> {
    let reads = ReadStats::default();
    let mut counters = counters.watching(DeviceFilter::default(), Pattern::new(".*").unwrap());
    let mut views = counters.read(MonoTime::from_millis(1), &reads);
    assert_eq!(counters.outcome(), Ok(()));
    views.sort_by(|a, b| (&a.device, &a.port).cmp(&(&b.device, &b.port)));
    for view in &mut views {
        view.unmapped.sort();
        // Only netlink tells.
        view.resources.clear();
        view.ifindex = None;
    }
    views
}

#[test]
fn netlink_and_sysfs_tell_the_same() {
    let (kernel, tree) =
        (read(RdmaCounters::of_kernel(SYSFS.as_ref())), read(RdmaCounters::of_tree(SYSFS.as_ref())));
    assert_eq!(kernel, tree);
    assert_eq!(kernel.is_empty(), !has_rdma() || fs::read_dir("/sys/class/infiniband").unwrap().count() == 0);
}

#[test]
fn every_device_has_ports_and_objects() {
    if !has_rdma() {
        // Asking would load the subsystem.
        assert!(read(RdmaCounters::of_kernel(SYSFS.as_ref())).is_empty());
        return;
    }
    let mut rdma = Rdma::open(Duration::from_secs(10)).unwrap().unwrap();
    let resources = rdma.dump_resources().unwrap();
    for device in rdma.dump_devices().unwrap() {
        let ports = rdma.dump_ports(device.index).unwrap();
        assert_eq!(ports.len(), device.port_count as usize, "{device:?}");
        let counts = resources.iter().find(|counted| counted.device == device.index).unwrap();
        assert!(counts.counts.iter().any(|(kind, _)| kind == "qp"), "{counts:?}");
    }
    assert!(rdma.netns_mode().unwrap().is_some());
    let error = rdma.counters(u32::MAX, 1).unwrap_err();
    assert_eq!(error.errno(), Some(22), "{error}");
}
