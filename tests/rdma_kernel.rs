//! RDMA as the running kernel tells of it. Where it has no RDMA subsystem, that nothing is read, asked or loaded.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::collections::BTreeSet;
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

fn watching(counters: RdmaCounters) -> RdmaCounters {
    counters.watching(DeviceFilter::default(), Pattern::new(".*").unwrap())
}

/// By device and port, without what only netlink tells.
fn read(counters: &mut RdmaCounters) -> Vec<RdmaView> {
    let present: BTreeSet<_> = fs::read_dir("/sys/class/infiniband")
        .map(|entries| entries.flatten().map(|entry| entry.file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    let is_whole = |views: &Vec<RdmaView>| {
        views.iter().map(|view| view.device.clone()).collect::<BTreeSet<_>>() == present
    };
    // A slow machine gives its first answer late.
    let one = |_| counters.read(MonoTime::from_millis(1), &ReadStats::default());
    let mut views = (0..20).map(one).find(is_whole).unwrap();
    assert_eq!(counters.outcome(), Ok(()));
    views.sort_by(|a, b| (&a.device, &a.port).cmp(&(&b.device, &b.port)));
    for view in &mut views {
        view.unmapped.sort();
        view.resources.clear();
        view.ifindex = None;
    }
    views
}

/// Names and values of what a port counts.
fn counts(view: &RdmaView) -> Vec<(String, u64)> {
    let bound = view.counters.iter().map(|counter| (counter.slot.to_string(), counter.value));
    bound.chain(view.unmapped.clone()).collect()
}

#[test]
fn netlink_and_sysfs_tell_the_same() {
    let (mut kernel, mut tree) =
        (watching(RdmaCounters::of_kernel(SYSFS.as_ref())), watching(RdmaCounters::of_tree(SYSFS.as_ref())));
    let (before, files, after) = (read(&mut kernel), read(&mut tree), read(&mut kernel));
    assert_eq!(before.len(), files.len());
    for ((before, files), after) in before.iter().zip(&files).zip(&after) {
        for ((from, count), to) in counts(before).iter().zip(counts(files)).zip(counts(after)) {
            assert_eq!(*from.0, count.0, "{}", files.device);
            // Between two equal values there is no third.
            assert!(*from != to || *from == count, "{} {from:?} {count:?}", files.device);
        }
        let facts = |view: &RdmaView| RdmaView {
            counters: Vec::new(),
            unmapped: Vec::new(),
            // sysfs knows the netdev of RoCE only, by its addresses.
            netdev: if files.netdev.is_empty() { String::new() } else { view.netdev.clone() },
            ..view.clone()
        };
        assert_eq!((counts(before).len(), facts(before)), (counts(files).len(), facts(files)));
    }
}

#[test]
fn every_device_has_ports_and_objects() {
    if !has_rdma() {
        // Asking would load the subsystem.
        assert!(read(&mut watching(RdmaCounters::of_kernel(SYSFS.as_ref()))).is_empty());
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
