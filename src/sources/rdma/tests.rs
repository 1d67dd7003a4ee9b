//! RDMA devices in trees like sysfs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rocewatch_core::catalog::Counter;
use rocewatch_core::units::MonoTime;

use super::{Lag, RdmaCounters, RdmaView};
use crate::config::{DeviceFilter, Pattern};
use crate::export::stats::ReadStats;
use crate::sys::rdma_wire::{NodeType, PhysicalState, PortState, Protocol};

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join("class/infiniband").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

/// Puts `netdevs` together into `bond`.
fn bond(root: &tempfile::TempDir, bond: &str, netdevs: &[&str]) {
    let net = root.path().join("class/net");
    fs::create_dir_all(net.join(bond).join("bonding")).unwrap();
    fs::write(net.join(bond).join("bonding/slaves"), netdevs.join(" ") + "\n").unwrap();
    for netdev in netdevs {
        fs::create_dir_all(net.join(netdev)).unwrap();
        symlink(Path::new("..").join(bond), net.join(netdev).join("master")).unwrap();
    }
}

fn read(root: &tempfile::TempDir) -> (Vec<RdmaView>, ReadStats) {
    let reads = ReadStats::default();
    let views = counters(root, "", "").read(MonoTime::from_millis(1), &reads);
    (views, reads)
}

/// With every name shown that has no metric.
fn counters(root: &tempfile::TempDir, include: &str, exclude: &str) -> RdmaCounters {
    let devices = DeviceFilter::new(include, exclude).unwrap();
    RdmaCounters::of_tree(root.path()).watching(devices, Pattern::new(".*").unwrap())
}

fn read_one(root: &tempfile::TempDir) -> RdmaView {
    let (mut views, _) = read(root);
    assert_eq!(views.len(), 1, "{views:?}");
    views.remove(0)
}

fn value(view: &RdmaView, counter: Counter) -> Option<u64> {
    view.counters.iter().find(|view| view.slot.counter() == counter).map(|view| view.value)
}

fn failures(reads: &ReadStats) -> Vec<(String, u64)> {
    reads.failures().into_iter().map(|((_, error), times)| (error, times)).collect()
}

#[test]
fn a_port_is_read_with_its_facts_and_both_kinds_of_counters() {
    let root = tree(&[
        ("mlx5_0/node_type", "1: CA\n"),
        ("mlx5_0/ports/1/hw_counters/out_of_sequence", "17\n"),
        ("mlx5_0/ports/1/hw_counters/lifespan", "10\n"),
        ("mlx5_0/ports/1/hw_counters/np_cnp_sent", "5\n"),
        ("mlx5_0/ports/1/counters/port_xmit_data", "1000\n"),
        ("mlx5_0/ports/1/counters/VL15_dropped", "2\n"),
        ("mlx5_0/ports/1/gid_attrs/ndevs/0", "enp59s0f0np0\n"),
        ("mlx5_0/ports/1/link_layer", "Ethernet\n"),
        ("mlx5_0/ports/1/state", "4: ACTIVE\n"),
        ("mlx5_0/ports/1/phys_state", "5: LinkUp\n"),
    ]);
    let view = read_one(&root);
    assert_eq!((&*view.device, &*view.port, &*view.netdev), ("mlx5_0", "1", "enp59s0f0np0"));
    assert_eq!((&*view.link_layer, view.protocol), ("Ethernet", Some(Protocol::Roce)));
    assert_eq!(view.node_type, Some(NodeType::Ca));
    assert_eq!((view.state, view.physical_state), (Some(PortState::Active), Some(PhysicalState::LinkUp)));
    assert_eq!(value(&view, Counter::OutOfSequence), Some(17));
    assert_eq!(value(&view, Counter::RdmaTxBytes), Some(4000));
    assert_eq!(view.unmapped, [("VL15_dropped".to_owned(), 2)], "the period of the cache is no counter");
}

#[test]
fn a_device_joined_to_no_netdev_is_shown_without_one() {
    let view = read_one(&tree(&[("mlx5_9/ports/1/hw_counters/np_cnp_sent", "5\n")]));
    assert_eq!((&*view.netdev, value(&view, Counter::CnpSent)), ("", Some(5)));
}

#[test]
fn one_bad_file_costs_one_counter_and_is_counted_by_its_error() {
    let root = tree(&[
        ("mlx5_0/ports/1/hw_counters/np_cnp_sent", "5\n"),
        ("mlx5_0/ports/1/hw_counters/out_of_sequence", "broken\n"),
        ("mlx5_0/ports/1/hw_counters/packet_seq_err", "-1\n"),
        ("mlx5_0/ports/1/counters/port_rcv_data", "3\n"),
    ]);
    // A folder in place of a file: the kernel refuses to read it.
    fs::create_dir_all(root.path().join("class/infiniband/mlx5_0/ports/1/counters/port_xmit_data")).unwrap();
    let (views, reads) = read(&root);
    let [view] = &views[..] else { panic!("{views:?}") };
    assert_eq!((value(view, Counter::CnpSent), value(view, Counter::RdmaRxBytes)), (Some(5), Some(12)));
    let unread: Vec<_> = view.unread.iter().map(|(name, error)| (name.as_str(), error.as_str())).collect();
    assert_eq!(unread, [("out_of_sequence", "invalid"), ("packet_seq_err", "invalid")]);
    assert_eq!(failures(&reads), [("invalid".to_owned(), 2)]);
}

#[test]
fn a_file_that_may_not_be_read_costs_that_file() {
    let root = tree(&[
        ("mlx5_0/ports/1/counters/VL15_dropped", "0\n"),
        ("mlx5_0/ports/1/counters/port_xmit_data", "7\n"),
        ("mlx5_0/ports/1/hw_counters/np_cnp_sent", "5\n"),
    ]);
    // A link to itself fails for root too, unlike a file without permissions.
    let file = root.path().join("class/infiniband/mlx5_0/ports/1/counters/VL15_dropped");
    fs::remove_file(&file).unwrap();
    symlink(&file, &file).unwrap();
    let (views, reads) = read(&root);
    assert_eq!(value(&views[0], Counter::RdmaTxBytes), Some(28));
    assert_eq!(views[0].unread, [("VL15_dropped".to_owned(), "errno_40".to_owned())]);
    assert_eq!(failures(&reads).len(), 1);
}

#[test]
fn a_file_that_opens_and_fails_to_be_read_costs_that_file() {
    let root = tree(&[
        ("mlx5_0/ports/1/counters/port_xmit_data", "7\n"),
        ("mlx5_1/ports/1/counters/port_xmit_data", "8\n"),
    ]);
    // Nothing is mapped at its beginning.
    symlink("/proc/self/mem", root.path().join("class/infiniband/mlx5_0/ports/1/counters/VL15_dropped"))
        .unwrap();
    let (views, reads) = read(&root);
    let bytes: Vec<_> = views.iter().map(|view| value(view, Counter::RdmaTxBytes)).collect();
    assert_eq!(bytes, [Some(28), Some(32)]);
    assert_eq!(failures(&reads), [("EIO".to_owned(), 1)]);
}

#[test]
fn counters_without_a_performance_agent_are_absent_and_no_error() {
    let root = tree(&[
        ("i40iw0/node_type", "4: RNIC\n"),
        ("i40iw0/ports/1/link_layer", "InfiniBand\n"),
        ("i40iw0/ports/1/counters/port_xmit_data", "N/A (no PMA)\n"),
        ("i40iw0/ports/1/counters/VL15_dropped", "N/A (no PMA)\n"),
    ]);
    let (views, reads) = read(&root);
    assert_eq!((views[0].counters.len(), views[0].unmapped.len(), views[0].unread.len()), (0, 0, 0));
    assert_eq!(views[0].protocol, Some(Protocol::Iwarp), "the link layer alone would say InfiniBand");
    assert!(failures(&reads).is_empty());
}

#[test]
fn an_odd_device_beside_a_healthy_one_costs_it_nothing() {
    let root = tree(&[
        ("irdma0/ports/1/hw_counters/cnpSent", "3\n"),
        ("irdma0/ports/1/hw_counters/RNR sent", "9\n"),
        ("irdma0/ports/1/phys_state", "4: ACTIVE\n"),
        ("mlx5_0/board_id", "MT_0000000838\n"),
        ("mlx5_0/hca_type", "MT4129\n"),
        ("mlx5_0/ports/1/hw_counters/np_cnp_sent", "5\n"),
    ]);
    let (views, reads) = read(&root);
    let devices: Vec<_> = views.iter().map(|view| view.device.as_str()).collect();
    assert_eq!(devices, ["irdma0", "mlx5_0"]);
    assert_eq!(views[0].physical_state, None, "a text that is none of the physical states");
    assert_eq!(value(&views[1], Counter::CnpSent), Some(5));
    assert!(failures(&reads).is_empty());
}

#[test]
fn what_has_no_name_in_utf8_is_left_out() {
    use std::os::unix::ffi::OsStrExt;
    let root = tree(&[("mlx5_0/ports/1/hw_counters/np_cnp_sent", "5\n")]);
    let class = root.path().join("class/infiniband");
    for name in [&b"bad\xfe"[..], b"bad\xff"] {
        fs::create_dir_all(class.join(std::ffi::OsStr::from_bytes(name)).join("ports/1/hw_counters"))
            .unwrap();
        fs::write(class.join("mlx5_0/ports/1/hw_counters").join(std::ffi::OsStr::from_bytes(name)), "1")
            .unwrap();
    }
    let view = read_one(&root);
    assert_eq!((view.counters.len(), view.unmapped.len()), (1, 0));
}

#[test]
fn both_ports_of_a_device_are_read_and_folders_may_be_missing() {
    let root = tree(&[
        ("mlx4_0/ports/1/counters/port_rcv_data", "1\n"),
        ("mlx4_0/ports/2/counters/port_rcv_data", "2\n"),
        ("siw0/ports/1/state", "4: ACTIVE\n"),
    ]);
    let (views, _) = read(&root);
    let bytes: Vec<_> = views.iter().map(|view| value(view, Counter::RdmaRxBytes)).collect();
    assert_eq!(bytes, [Some(4), Some(8), None]);
    assert_eq!((&*views[1].device, &*views[1].port), ("mlx4_0", "2"));
}

#[test]
fn a_device_that_counts_as_a_whole_has_a_view_without_a_port() {
    let root = tree(&[
        ("mlx5_0/hw_counters/np_cnp_sent", "5\n"),
        ("mlx5_0/hw_counters/lifespan", "10\n"),
        ("mlx5_0/ports/1/hw_counters/vport_rx_write_requests", "3\n"),
        ("mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0\n"),
    ]);
    let (views, _) = read(&root);
    let shown: Vec<_> = views.iter().map(|v| (&*v.port, &*v.netdev, value(v, Counter::CnpSent))).collect();
    assert_eq!(shown, [("1", "eth0", None), ("", "", Some(5))], "switchdev: no port has these");
}

#[test]
fn a_port_that_cannot_be_seen_is_left_out_and_is_no_zero() {
    let root = tree(&[("mlx5_0/node_type", "1: CA\n")]);
    fs::create_dir_all(root.path().join("class/infiniband/mlx5_0/ports/1")).unwrap();
    let (views, reads) = read(&root);
    assert!(views.is_empty() && failures(&reads).is_empty(), "{views:?}");
}

#[test]
fn no_tree_is_no_device_and_no_error() {
    let root = tempfile::tempdir().unwrap();
    let (views, reads) = read(&root);
    assert!(views.is_empty() && reads.failures().is_empty());
}

#[test]
fn a_virtual_function_and_a_representor_are_left_out() {
    let root = tree(&[
        ("mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0\n"),
        ("mlx5_0/ports/2/gid_attrs/ndevs/0", "eth0_0\n"),
        ("mlx5_2/ports/1/hw_counters/np_cnp_sent", "1\n"),
        ("mlx5_2/device/physfn/vendor", "0x15b3\n"),
    ]);
    for (netdev, name) in [("eth0", "p0\n"), ("eth0_0", "pf0vf0\n")] {
        fs::create_dir_all(root.path().join("class/net").join(netdev)).unwrap();
        fs::write(root.path().join("class/net").join(netdev).join("phys_port_name"), name).unwrap();
    }
    assert_eq!(read_one(&root).netdev, "eth0");
}

#[test]
fn a_virtual_function_is_read_if_it_is_asked_for_by_either_name() {
    let root = tree(&[
        ("mlx5_2/ports/1/hw_counters/np_cnp_sent", "1\n"),
        ("mlx5_2/device/physfn/vendor", "0x15b3\n"),
        ("mlx5_2/device/net/eth0v0/mtu", "1500\n"),
    ]);
    let reads = ReadStats::default();
    for (include, exclude, found) in
        [("", "", 0), ("mlx5_2", "", 1), ("eth0v0", "", 1), ("eth0v0", "mlx5_2", 0), ("mlx5_1", "", 0)]
    {
        let views = counters(&root, include, exclude).read(MonoTime::from_millis(1), &reads);
        let read = views.iter().filter(|view| !view.excluded && !view.counters.is_empty()).count();
        assert_eq!(read, found, "{include} {exclude}");
    }
}

#[test]
fn of_an_excluded_port_nothing_is_read_and_its_name_is_told() {
    let root = tree(&[
        ("mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0\n"),
        ("mlx5_0/ports/1/hw_counters/np_cnp_sent", "broken\n"),
    ]);
    for exclude in ["mlx5_0", "eth0"] {
        let reads = ReadStats::default();
        let views = counters(&root, "", exclude).read(MonoTime::from_millis(1), &reads);
        let [view] = &views[..] else { panic!("{views:?}") };
        assert_eq!((&*view.netdev, view.excluded), ("eth0", true));
        assert!(failures(&reads).is_empty(), "its files were read");
    }
}

#[test]
fn names_without_a_metric_are_kept_only_where_asked_for() {
    let root =
        tree(&[("any0/ports/1/hw_counters/odd one", "5\n"), ("any0/ports/1/hw_counters/other", "6\n")]);
    let read = |raw: &str| {
        let devices = DeviceFilter::default();
        let mut counters = RdmaCounters::of_tree(root.path()).watching(devices, Pattern::new(raw).unwrap());
        counters.read(MonoTime::from_millis(1), &ReadStats::default()).remove(0).unmapped
    };
    assert_eq!(read(""), []);
    assert_eq!(read("odd .*"), [("odd one".to_owned(), 5)]);
}

#[test]
fn one_device_over_two_slaves_is_shown_once_under_the_bonds_name() {
    for kernel_says in ["eth0", "eth1", "bond0"] {
        let root = tree(&[
            ("mlx5_bond_0/ports/1/gid_attrs/ndevs/0", kernel_says),
            ("mlx5_bond_0/ports/1/hw_counters/np_ecn_marked_roce_packets", "8\n"),
            ("mlx5_bond_0/device/net/eth1/mtu", "1500\n"),
        ]);
        bond(&root, "bond0", &["eth0", "eth1"]);
        let view = read_one(&root);
        assert_eq!(view.netdev, "bond0");
        let members = vec!["eth0".to_owned(), "eth1".to_owned()];
        assert_eq!(view.lag, Some(Lag { bond: "bond0".into(), members, function: "eth1".into() }));
    }
}

#[test]
fn slaves_with_rdma_ports_of_their_own_are_no_lag() {
    for second in ["mlx5_1/ports/1", "mlx4_0/ports/2"] {
        let (first, second) = ("mlx4_0/ports/1/gid_attrs/ndevs/0", format!("{second}/gid_attrs/ndevs/0"));
        let root = tree(&[(first, "eth0\n"), (&second, "eth1\n")]);
        bond(&root, "bond0", &["eth0", "eth1"]);
        let (views, _) = read(&root);
        let netdevs: Vec<_> = views.iter().map(|view| (&*view.netdev, view.lag.is_some())).collect();
        assert_eq!(netdevs, [("eth0", false), ("eth1", false)]);
    }
}

#[test]
fn a_bond_of_one_and_a_bridge_are_no_lag() {
    let root = tree(&[
        ("mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0\n"),
        ("mlx5_1/ports/1/gid_attrs/ndevs/0", "eth1\n"),
    ]);
    bond(&root, "bond0", &["eth0"]);
    bond(&root, "br0", &["eth1", "eth2"]);
    fs::remove_dir_all(root.path().join("class/net/br0/bonding")).unwrap();
    let (views, _) = read(&root);
    assert!(views.iter().all(|view| view.lag.is_none()), "{views:?}");
}

#[test]
fn a_nic_without_rdma_in_the_same_bond_is_no_lag_and_the_other_port_of_the_card_is() {
    for (second, served) in [("0000:3b:00.1", Some(vec!["eth0", "eth1"])), ("0000:5e:00.0", None)] {
        let root = tree(&[("mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0\n")]);
        bond(&root, "bond0", &["eth0", "eth1"]);
        fs::create_dir_all(root.path().join("bus/pci")).unwrap();
        for (netdev, address) in [("eth0", "0000:3b:00.0"), ("eth1", second)] {
            let device = root.path().join("devices").join(address);
            fs::create_dir_all(&device).unwrap();
            symlink("../../bus/pci", device.join("subsystem")).unwrap();
            symlink(&device, root.path().join("class/net").join(netdev).join("device")).unwrap();
        }
        let members = read_one(&root).lag.map(|lag| lag.members);
        let served = served.map(|members| members.into_iter().map(str::to_owned).collect());
        assert_eq!(members, served, "{second}");
    }
}

#[test]
fn a_software_device_on_a_bond_counts_for_the_bond() {
    let root = tree(&[("rxe0/ports/1/gid_attrs/ndevs/0", "bond0\n")]);
    bond(&root, "bond0", &["eth0", "eth1"]);
    assert_eq!(read_one(&root).lag.unwrap().function, "bond0");
}

#[test]
fn two_devices_on_one_netdev_are_both_shown_and_named() {
    let root = tree(&[
        ("mlx5_0/ports/1/gid_attrs/ndevs/0", "bond0\n"),
        ("mlx5_1/ports/1/gid_attrs/ndevs/0", "bond0\n"),
        ("mlx5_2/ports/1/gid_attrs/ndevs/0", "eth2\n"),
    ]);
    bond(&root, "bond0", &["eth0", "eth1"]);
    let (views, _) = read(&root);
    let shown: Vec<_> = views.iter().map(|view| (&*view.device, &*view.netdev)).collect();
    assert_eq!(shown, [("mlx5_0", "bond0"), ("mlx5_1", "bond0"), ("mlx5_2", "eth2")]);
    let shared = [("bond0".to_owned(), "mlx5_0 mlx5_1".to_owned())];
    assert_eq!(super::lag::shared(&views), shared.into());
}

#[test]
fn the_driver_is_that_of_the_bus_device() {
    let root = tree(&[("any0/ports/1/hw_counters/unknown_everywhere", "5\n")]);
    fs::create_dir_all(root.path().join("drivers/bnxt_en")).unwrap();
    let device = root.path().join("class/infiniband/any0/device");
    fs::create_dir_all(&device).unwrap();
    symlink(root.path().join("drivers/bnxt_en"), device.join("driver")).unwrap();
    assert_eq!(read_one(&root).driver, "bnxt_en");
}

#[test]
fn the_file_that_fills_the_cache_is_read_first() {
    let root = tree(&[
        ("mlx5_0/ports/1/hw_counters/duplicate_request", "1\n"),
        ("mlx5_0/ports/1/hw_counters/rx_write_requests", "2\n"),
        ("mlx5_0/ports/1/hw_counters/rx_atomic_requests", "3\n"),
    ]);
    let sample = super::tree::RdmaTree::new(root.path()).hardware_counters("mlx5_0", "1");
    assert_eq!(sample.names, ["rx_write_requests", "duplicate_request", "rx_atomic_requests"]);
}
