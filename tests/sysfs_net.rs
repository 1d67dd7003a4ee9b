//! Reading a network device's facts from a tree of files like sysfs.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rocewatch::sys::netdev::{BusDevice, NetdevName};
use rocewatch::sys::sysfs_net::SysfsNet;

fn name(text: &str) -> NetdevName {
    NetdevName::new(text).unwrap()
}

/// A PCI device as sysfs shows it, and the network device `netdev` that is its function.
fn add_pci_port(root: &Path, address: &str, netdev: &str, speed: &str) {
    let device = root.join("devices/pci0000:3a").join(address);
    fs::create_dir_all(&device).unwrap();
    fs::create_dir_all(root.join("bus/pci")).unwrap();
    symlink("../../../bus/pci", device.join("subsystem")).unwrap();
    fs::write(device.join("numa_node"), "1\n").unwrap();
    let class = root.join("class/net").join(netdev);
    fs::create_dir_all(&class).unwrap();
    symlink(&device, class.join("device")).unwrap();
    fs::write(class.join("speed"), speed).unwrap();
}

#[test]
fn a_port_has_speed_address_and_numa_node() {
    let root = tempfile::tempdir().unwrap();
    add_pci_port(root.path(), "0000:3b:00.0", "ens1f0np0", "400000\n");
    let sysfs = SysfsNet::new(root.path());
    let port = name("ens1f0np0");
    assert_eq!(sysfs.speed_mbps(port), Some(400_000));
    let address = BusDevice { bus: "pci".into(), address: "0000:3b:00.0".into() };
    assert_eq!(sysfs.bus_device(port), Some(address));
    assert_eq!(sysfs.numa_node(port), Some(1));
    assert_eq!(sysfs.physical_function(port), None);
}

#[test]
fn a_device_keeps_the_inode_of_its_folder_when_it_is_renamed() {
    let root = tempfile::tempdir().unwrap();
    add_pci_port(root.path(), "0000:3b:00.0", "eth0", "400000\n");
    add_pci_port(root.path(), "0000:5e:00.0", "eth1", "400000\n");
    let (sysfs, net) = (SysfsNet::new(root.path()), root.path().join("class/net"));
    let inode = |netdev| sysfs.inode(name(netdev));
    let before = inode("eth0");
    assert!(before.is_some() && before != inode("eth1"));
    fs::rename(net.join("eth0"), net.join("rail0")).unwrap();
    assert_eq!((inode("rail0"), inode("eth0")), (before, None));
}

#[test]
fn a_virtual_function_names_its_physical_one() {
    let root = tempfile::tempdir().unwrap();
    add_pci_port(root.path(), "0000:3b:00.2", "ens1f0v0", "100000\n");
    let device = root.path().join("devices/pci0000:3a/0000:3b:00.2");
    symlink("../0000:3b:00.0", device.join("physfn")).unwrap();
    let sysfs = SysfsNet::new(root.path());
    assert_eq!(sysfs.physical_function(name("ens1f0v0")).as_deref(), Some("0000:3b:00.0"));
}

#[test]
fn an_unknown_speed_is_absent_however_the_driver_writes_it() {
    for text in ["-1\n", "0\n", "65535\n", "4294967295\n", "", "fast\n"] {
        let root = tempfile::tempdir().unwrap();
        add_pci_port(root.path(), "0000:3b:00.0", "eth0", text);
        assert_eq!(SysfsNet::new(root.path()).speed_mbps(name("eth0")), None, "{text:?}");
    }
}

#[test]
fn a_software_device_and_an_absent_one_have_no_facts() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("class/net/veth0")).unwrap();
    let sysfs = SysfsNet::new(root.path());
    for netdev in [name("veth0"), name("gone0")] {
        assert_eq!(sysfs.speed_mbps(netdev), None);
        assert_eq!(sysfs.bus_device(netdev), None);
        assert_eq!(sysfs.numa_node(netdev), None);
    }
}

#[test]
fn a_negative_numa_node_is_absent() {
    let root = tempfile::tempdir().unwrap();
    add_pci_port(root.path(), "0000:3b:00.0", "eth0", "100000\n");
    let device = root.path().join("devices/pci0000:3a/0000:3b:00.0");
    fs::write(device.join("numa_node"), "-1\n").unwrap();
    assert_eq!(SysfsNet::new(root.path()).numa_node(name("eth0")), None);
}

#[test]
fn a_pipe_or_a_file_without_end_in_place_of_a_fact_holds_nobody_up() {
    let root = tempfile::tempdir().unwrap();
    let class = root.path().join("class/net/eth0");
    fs::create_dir_all(&class).unwrap();
    let pipe = class.join("carrier_changes");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    symlink("/dev/zero", class.join("speed")).unwrap();
    let sysfs = SysfsNet::new(root.path());
    assert_eq!(sysfs.carrier_changes(name("eth0")), None);
    assert_eq!(sysfs.speed_mbps(name("eth0")), None);
}

#[test]
fn devices_are_listed_by_their_names() {
    let root = tempfile::tempdir().unwrap();
    let sysfs = SysfsNet::new(root.path());
    assert!(sysfs.names().is_empty());
    for netdev in ["eth1", "eth0"] {
        fs::create_dir_all(root.path().join("class/net").join(netdev)).unwrap();
    }
    assert_eq!(sysfs.names().into_iter().collect::<Vec<_>>(), ["eth0", "eth1"]);
}
