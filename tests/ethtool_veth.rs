//! Each trap in reading statistics, on a veth pair of the running kernel. Its statistics are the number of its peer and
//! some for each queue in use, so their number changes with the queues, as a real driver's does with its settings.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod channels;
mod namespace;

use std::time::Duration;

use channels::Channels;
use namespace::{in_namespace, ip};
use rocewatch::sys::ethtool::{Ethtool, EthtoolError};
use rocewatch::sys::netdev::NetdevName;
use rocewatch::sys::rtnl::Rtnl;

const VETH_OF_FOUR: &str =
    "link add v0 numrxqueues 4 numtxqueues 4 type veth peer name v1 numrxqueues 4 numtxqueues 4";

fn name(text: &str) -> NetdevName {
    NetdevName::new(text).unwrap()
}

fn ifindex(netdev: &str) -> u32 {
    let links = Rtnl::open(Duration::from_secs(5)).unwrap().dump_links().unwrap();
    links.iter().find(|link| link.name == name(netdev)).unwrap().ifindex
}

#[test]
fn names_and_values_have_the_same_count_and_order() {
    in_namespace("names_and_values_have_the_same_count_and_order", || {
        ip(VETH_OF_FOUR);
        let mut ethtool = Ethtool::open().unwrap();
        let names = ethtool.stat_names(name("v0")).unwrap();
        let mut values = Vec::new();
        ethtool.stats(name("v0"), u32::try_from(names.len()).unwrap(), &mut values).unwrap();
        assert_eq!(names.len(), values.len());
        assert!(names.iter().all(|name| !name.is_empty() && name.trim() == name), "{names:?}");
        let peer = names.iter().position(|name| name == "peer_ifindex").unwrap();
        assert_eq!(values[peer], u64::from(ifindex("v1")));
    });
}

#[test]
fn a_set_that_grew_is_an_error_and_no_values_until_its_names_are_read_again() {
    in_namespace("a_set_that_grew_is_an_error_and_no_values_until_its_names_are_read_again", || {
        changed_count(1, 4);
    });
}

#[test]
fn a_set_that_shrank_is_an_error_and_no_values_until_its_names_are_read_again() {
    in_namespace("a_set_that_shrank_is_an_error_and_no_values_until_its_names_are_read_again", || {
        changed_count(4, 1);
    });
}

fn changed_count(before: u32, after: u32) {
    ip(VETH_OF_FOUR);
    let channels = Channels::open();
    channels.set("v0", before);
    let mut ethtool = Ethtool::open().unwrap();
    let old = ethtool.stat_count(name("v0")).unwrap();
    let mut values = Vec::new();
    ethtool.stats(name("v0"), old, &mut values).unwrap();

    channels.set("v0", after);
    let new = ethtool.stat_count(name("v0")).unwrap();
    assert_ne!(old, new, "the count follows the queues");
    let error = ethtool.stats(name("v0"), old, &mut values).unwrap_err();
    assert!(
        matches!(error, EthtoolError::CountChanged { expected, got, .. } if (expected, got) == (old, new)),
        "{error:?}"
    );
    assert!(values.is_empty(), "no part of a reading is left");

    let names = ethtool.stat_names(name("v0")).unwrap();
    ethtool.stats(name("v0"), new, &mut values).unwrap();
    assert_eq!((names.len(), values.len()), (new as usize, new as usize));
}

#[test]
fn a_count_that_keeps_changing_never_gives_a_wrong_value() {
    in_namespace("a_count_that_keeps_changing_never_gives_a_wrong_value", || {
        ip(VETH_OF_FOUR);
        let peer = u64::from(ifindex("v1"));
        std::thread::scope(|scope| {
            let changes = scope.spawn(|| {
                let channels = Channels::open();
                for round in 0..500 {
                    channels.set("v0", 1 + round % 4);
                }
            });
            let mut ethtool = Ethtool::open().unwrap();
            let (mut values, mut names) = (Vec::new(), Vec::<String>::new());
            let mut read = || {
                let expected = u32::try_from(names.len()).unwrap();
                match ethtool.stats(name("v0"), expected, &mut values) {
                    Ok(()) => {
                        assert_eq!(values.len(), names.len());
                        assert_eq!((names[0].as_str(), values[0]), ("peer_ifindex", peer));
                        true
                    }
                    Err(error) => {
                        assert!(matches!(error, EthtoolError::CountChanged { .. }), "{error:?}");
                        assert!(values.is_empty());
                        // May fail in the same way; then the old names stay, and are refused again.
                        if let Ok(read_again) = ethtool.stat_names(name("v0")) {
                            names = read_again;
                        }
                        false
                    }
                }
            };
            while !changes.is_finished() {
                read();
            }
            assert!(read() || read(), "a count that stands still is read after one more look at the names");
        });
    });
}

#[test]
fn a_device_without_statistics_is_never_asked_for_them() {
    in_namespace("a_device_without_statistics_is_never_asked_for_them", || {
        let mut ethtool = Ethtool::open().unwrap();
        assert_eq!(ethtool.stat_count(name("lo")).unwrap(), 0);
        assert_eq!(ethtool.stat_names(name("lo")).unwrap(), Vec::<String>::new());
        // Asked for them, the kernel would refuse: loopback has no such operation.
        let mut values = vec![7];
        ethtool.stats(name("lo"), 0, &mut values).unwrap();
        assert!(values.is_empty());
        let error = ethtool.stats(name("lo"), 3, &mut values).unwrap_err();
        assert!(matches!(error, EthtoolError::CountChanged { expected: 3, got: 0, .. }), "{error:?}");
    });
}

#[test]
fn a_device_that_is_absent_or_renamed_is_named_as_such() {
    in_namespace("a_device_that_is_absent_or_renamed_is_named_as_such", || {
        const ENODEV: i32 = 19;
        ip("link add v0 type veth peer name v1");
        let mut ethtool = Ethtool::open().unwrap();
        let count = ethtool.stat_count(name("v0")).unwrap();
        ip("link set v0 name v9");
        let error = ethtool.stats(name("v0"), count, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, EthtoolError::NoSuchDevice { .. }), "{error:?}");
        assert_eq!(error.errno(), Some(ENODEV));
        assert_eq!(error.to_string(), "no network device v0 to ask for ETHTOOL_GSSET_INFO");
        ethtool.stats(name("v9"), count, &mut Vec::new()).unwrap();
    });
}

#[test]
fn a_name_too_long_for_the_kernel_is_refused_before_it_is_cut() {
    in_namespace("a_name_too_long_for_the_kernel_is_refused_before_it_is_cut", || {
        ip("link add fifteen-letters type veth peer name v1");
        let ethtool = Ethtool::open().unwrap();
        assert!(ethtool.stat_count(name("fifteen-letters")).unwrap() > 0);
        assert!(NetdevName::new("fifteen-letters0").is_err());
        assert!(NetdevName::new("fifteen-letters:1").is_err());
    });
}

#[test]
fn a_driver_says_what_it_is_and_what_it_does_not_support() {
    in_namespace("a_driver_says_what_it_is_and_what_it_does_not_support", || {
        const EOPNOTSUPP: i32 = 95;
        ip("link add v0 type veth peer name v1");
        let ethtool = Ethtool::open().unwrap();
        let driver = ethtool.driver_info(name("v0")).unwrap();
        assert_eq!(driver.driver, "veth");
        assert_eq!(driver.firmware_version, None);
        assert_eq!(driver.bus_info, None);
        let error = ethtool.pause_param(name("v0")).unwrap_err();
        assert!(matches!(error, EthtoolError::Unsupported { .. }), "{error:?}");
        assert_eq!(error.errno(), Some(EOPNOTSUPP));
        assert_eq!(ethtool.prevention_timeout(name("v0")).unwrap(), None);
    });
}
