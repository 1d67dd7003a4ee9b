//! Settings as the running kernel tells them: of veths, which have almost none, and of devices that are not there.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod namespace;

use std::process::Command;
use std::time::Duration;

use namespace::skip::skip;
use namespace::{in_namespace, ip};
use netlink_sys::protocols::NETLINK_GENERIC;
use rocewatch::sys::dcb::Dcb;
use rocewatch::sys::devlink::Devlink;
use rocewatch::sys::ethtool_genl::EthtoolNetlink;
use rocewatch::sys::ethtool_replies::{LinkState, StandardCounts};
use rocewatch::sys::genl::resolve;
use rocewatch::sys::netdev::{BusDevice, NetdevName};
use rocewatch::sys::netlink::Netlink;
use rocewatch::sys::renames::Names;
use rocewatch::sys::rtnl::Rtnl;
use rocewatch::sys::settings_watch::{SettingsEvent, SettingsFamilies, SettingsWatch};

/// Much longer than any answer takes; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(10);
const ENODEV: i32 = 19;
/// A number that no device of a fresh namespace has.
const NOBODY: u32 = 4_000_000;

fn ifindex(netdev: &str) -> u32 {
    let links = Rtnl::open(PATIENCE).unwrap().dump_links().unwrap();
    links.iter().find(|link| link.name.as_str() == netdev).unwrap().ifindex
}

fn ethtool() -> EthtoolNetlink {
    EthtoolNetlink::open(PATIENCE).unwrap().unwrap()
}

#[test]
fn a_device_without_dcb_is_asked_with_success_and_has_nothing() {
    in_namespace("a_device_without_dcb_is_asked_with_success_and_has_nothing", || {
        ip("link add v0 type veth peer name v1");
        let mut dcb = Dcb::open(PATIENCE).unwrap();
        for netdev in ["v0", "lo"] {
            assert_eq!(dcb.settings(ifindex(netdev)).unwrap(), None, "{netdev}");
        }
    });
}

#[test]
fn a_device_without_pause_error_correction_and_coalescing_has_none_and_its_link_gives_no_reason() {
    let test = "a_device_without_pause_error_correction_and_coalescing_has_none_and_its_link_gives_no_reason";
    in_namespace(test, || {
        ip("link add v0 type veth peer name v1");
        let (mut ethtool, v0) = (ethtool(), ifindex("v0"));
        // Twice: an answer of "no" leaves the socket ready for the next question.
        for _ in 0..2 {
            assert_eq!(ethtool.pause(v0).unwrap(), None);
            assert_eq!(ethtool.fec(v0).unwrap(), None);
            assert_eq!(ethtool.coalescing(v0).unwrap(), None);
            assert_eq!(ethtool.link_state(v0).unwrap(), Some(LinkState::default()));
            assert_eq!(ethtool.standard(v0).unwrap(), Some(StandardCounts::default()));
        }
    });
}

#[test]
fn a_device_that_is_not_there_is_an_error_with_the_kernels_number_and_words() {
    in_namespace("a_device_that_is_not_there_is_an_error_with_the_kernels_number_and_words", || {
        let error = Dcb::open(PATIENCE).unwrap().settings(NOBODY).unwrap_err();
        assert_eq!(error.errno(), Some(ENODEV), "{error}");
        let mut ethtool = ethtool();
        for _ in 0..2 {
            let error = ethtool.pause(NOBODY).unwrap_err();
            assert_eq!(error.errno(), Some(ENODEV), "{error}");
            assert!(
                error.to_string().starts_with("ETHTOOL_MSG_PAUSE_GET refused, the kernel says"),
                "{error}"
            );
        }
    });
}

#[test]
fn a_name_is_the_devices_own_and_follows_a_rename() {
    in_namespace("a_name_is_the_devices_own_and_follows_a_rename", || {
        ip("link add v0 type veth peer name v1");
        let (names, v0) = (Names::open().unwrap(), ifindex("v0"));
        let name = |text| NetdevName::new(text).ok();
        assert_eq!(names.while_named(v0, |name| name), name("v0"));
        let mut asked = Vec::new();
        let answer = names.while_named(v0, |name| {
            if asked.is_empty() {
                ip("link set v0 name v9");
                ip("link set v1 name v0");
            }
            asked.push(name);
            name
        });
        assert_eq!((answer, asked.len()), (name("v9"), 2));
        assert_eq!(names.while_named(NOBODY, |name| name), None);
    });
}

#[test]
fn a_family_that_the_kernel_does_not_have_is_none() {
    in_namespace("a_family_that_the_kernel_does_not_have_is_none", || {
        let mut netlink = Netlink::open(NETLINK_GENERIC, PATIENCE).unwrap();
        assert_eq!(resolve(&mut netlink, "nosuchfamily").unwrap(), None);
        let ethtool = resolve(&mut netlink, "ethtool").unwrap().unwrap();
        assert!(ethtool.id > 16 && ethtool.groups.contains_key("monitor"), "{ethtool:?}");
    });
}

#[test]
fn a_device_that_devlink_does_not_know_has_no_ports_and_no_reporters() {
    let test = "a_device_that_devlink_does_not_know_has_no_ports_and_no_reporters";
    in_namespace(test, || {
        let mut netlink = Netlink::open(NETLINK_GENERIC, PATIENCE).unwrap();
        let Some(mut devlink) = Devlink::open(PATIENCE).unwrap() else {
            assert_eq!(resolve(&mut netlink, "devlink").unwrap(), None, "the kernel has devlink");
            return;
        };
        let device = BusDevice { bus: "pci".into(), address: "ffff:ff:1f.7".into() };
        for _ in 0..2 {
            // Kernels from 6.6 say that there is no such device; older ones list all others.
            assert_eq!(devlink.ports_of(&device).unwrap(), []);
            assert_eq!(devlink.reporters_of(&device).unwrap(), []);
        }
        devlink.ports().unwrap();
    });
}

#[test]
fn channels_that_are_set_are_told_with_the_device() {
    let test = "channels_that_are_set_are_told_with_the_device";
    if let Err(error) = Command::new("ethtool").arg("--version").output() {
        return skip(test, &format!("no ethtool: {error}"));
    }
    in_namespace(test, || {
        ip("link add v0 numrxqueues 4 numtxqueues 4 type veth peer name v1");
        let v0 = ifindex("v0");
        let families = SettingsFamilies::resolve(PATIENCE).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let event = runtime.block_on(async {
            let mut watch = SettingsWatch::open(families).unwrap();
            let set = Command::new("ethtool").args(["-L", "v0", "rx", "2", "tx", "2"]).output().unwrap();
            assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
            tokio::time::timeout(PATIENCE, watch.next()).await.unwrap().unwrap()
        });
        assert_eq!(event, SettingsEvent::Ethtool { ifindex: v0 });
    });
}
