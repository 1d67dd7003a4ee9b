//! Links as the running kernel lists and announces them, on veth pairs and a bridge.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod elsewhere;
mod namespace;

use std::net::UdpSocket;
use std::time::Duration;

use elsewhere::Elsewhere;
use namespace::{in_namespace, ip};
use netlink_sys::protocols::NETLINK_ROUTE;
use rocewatch::sys::link::{Link, OperState};
use rocewatch::sys::link_watch::{LinkEvent, LinkWatch};
use rocewatch::sys::netdev::NetdevName;
use rocewatch::sys::netlink::{Netlink, NetlinkError, Request};
use rocewatch::sys::rtnl::Rtnl;
use rocewatch::sys::uapi;

/// Much longer than any answer takes; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

fn name(text: &str) -> NetdevName {
    NetdevName::new(text).unwrap()
}

fn link(netdev: &str) -> Option<Link> {
    let links = Rtnl::open(PATIENCE).unwrap().dump_links().unwrap();
    links.into_iter().find(|link| link.name == name(netdev))
}

#[test]
fn a_veth_is_listed_with_kind_peer_and_no_bus() {
    in_namespace("a_veth_is_listed_with_kind_peer_and_no_bus", || {
        ip("link add v0 mtu 1400 type veth peer name v1");
        let (v0, v1) = (link("v0").unwrap(), link("v1").unwrap());
        assert_eq!(v0.kind.as_deref(), Some("veth"));
        assert_eq!(v0.link_ifindex, Some(v1.ifindex));
        assert_eq!(v1.link_ifindex, Some(v0.ifindex));
        assert_eq!(v0.mtu, Some(1400));
        assert_eq!((v0.parent, v0.phys_port_id, v0.master_ifindex), (None, None, None));
        let lo = link("lo").unwrap();
        assert!(lo.is_loopback && !v0.is_loopback);
        assert_eq!(lo.kind, None);
    });
}

#[test]
fn carrier_follows_the_peer_and_its_changes_are_counted() {
    in_namespace("carrier_follows_the_peer_and_its_changes_are_counted", || {
        ip("link add v0 type veth peer name v1");
        ip("link set v0 up");
        let before = link("v0").unwrap();
        assert!(before.is_up);
        assert_eq!(before.carrier, Some(false));
        ip("link set v1 up");
        let after = link("v0").unwrap();
        assert_eq!(after.carrier, Some(true));
        assert_eq!(after.carrier_up_count.unwrap(), before.carrier_up_count.unwrap() + 1);
        assert_eq!(after.carrier_changes.unwrap(), before.carrier_changes.unwrap() + 1);
        assert_eq!(after.carrier_down_count, before.carrier_down_count);
    });
}

#[test]
fn a_change_of_mtu_name_or_master_is_listed() {
    in_namespace("a_change_of_mtu_name_or_master_is_listed", || {
        ip("link add v0 type veth peer name v1");
        let ifindex = link("v0").unwrap().ifindex;
        ip("link set v0 mtu 9000");
        ip("link set v0 name v9");
        ip("link add b0 type bridge");
        ip("link set v9 master b0");
        assert_eq!(link("v0"), None);
        let renamed = link("v9").unwrap();
        let bridge = link("b0").unwrap();
        assert_eq!((renamed.ifindex, renamed.mtu), (ifindex, Some(9000)));
        assert_eq!(renamed.master_ifindex, Some(bridge.ifindex));
        assert_eq!(bridge.kind.as_deref(), Some("bridge"));
    });
}

#[test]
fn packets_and_bytes_of_a_device_are_counted() {
    in_namespace("packets_and_bytes_of_a_device_are_counted", || {
        ip("link set lo up");
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let before = link("lo").unwrap().stats.unwrap();
        for _ in 0..10 {
            sender.send_to(&[0; 100], receiver.local_addr().unwrap()).unwrap();
            receiver.recv(&mut [0; 100]).unwrap();
        }
        let after = link("lo").unwrap().stats.unwrap();
        // Each datagram is sent and received by the same device, with 20 + 8 bytes of headers.
        assert_eq!(after.rx_packets - before.rx_packets, 10);
        assert_eq!(after.tx_packets - before.tx_packets, 10);
        assert_eq!(after.rx_bytes - before.rx_bytes, 1280);
        assert_eq!((after.rx_errors, after.rx_dropped, after.rx_missed), (0, 0, 0));
    });
}

/// Runs `lines`, one command of `ip` each, by one `ip`: hundreds a second.
fn ip_batch(lines: &str) {
    let folder = tempfile::tempdir().unwrap();
    let batch = folder.path().join("batch");
    std::fs::write(&batch, lines).unwrap();
    ip(&format!("-batch {}", batch.display()));
}

fn add_pairs(count: u32) {
    let lines: String = (0..count).map(|i| format!("link add a{i} type veth peer name b{i}\n")).collect();
    ip_batch(&lines);
}

#[test]
fn hundreds_of_links_come_in_one_list() {
    in_namespace("hundreds_of_links_come_in_one_list", || {
        add_pairs(150);
        let mut rtnl = Rtnl::open(PATIENCE).unwrap();
        for _ in 0..3 {
            let links = rtnl.dump_links().unwrap();
            assert_eq!(links.iter().filter(|link| link.kind.as_deref() == Some("veth")).count(), 300);
        }
    });
}

#[test]
fn a_list_read_while_links_come_and_go_is_whole_or_an_error() {
    in_namespace("a_list_read_while_links_come_and_go_is_whole_or_an_error", || {
        add_pairs(150);
        std::thread::scope(|scope| {
            let changes = scope.spawn(|| {
                ip_batch(&"link add v0 type veth peer name v1\nlink del v0\n".repeat(50));
            });
            let mut rtnl = Rtnl::open(PATIENCE).unwrap();
            while !changes.is_finished() {
                match rtnl.dump_links() {
                    Ok(links) => {
                        let settled = links.iter().filter(|link| !link.name.as_str().starts_with('v'));
                        let mut indexes: Vec<_> = settled.map(|link| link.ifindex).collect();
                        indexes.sort_unstable();
                        indexes.dedup();
                        assert_eq!(indexes.len(), 301, "300 veths and loopback");
                    }
                    Err(error) => assert!(matches!(error, NetlinkError::Unsteady { .. }), "{error:?}"),
                }
            }
        });
        assert_eq!(Rtnl::open(PATIENCE).unwrap().dump_links().unwrap().len(), 301);
    });
}

#[test]
fn a_refused_request_carries_the_kernels_words_and_spoils_nothing() {
    in_namespace("a_refused_request_carries_the_kernels_words_and_spoils_nothing", || {
        const EINVAL: i32 = 22;
        let mut netlink = Netlink::open(NETLINK_ROUTE, PATIENCE).unwrap();
        let mut ask = |body: &[u8]| {
            let request = Request { name: "RTM_GETLINK", message_type: uapi::RTM_GETLINK, body };
            netlink.dump(request, |_, payload| Link::decode(payload))
        };
        // Flags are no part of this request, and the socket asks to be told.
        let mut body = [0; uapi::IFINFOMSG_LEN];
        body[uapi::IFINFOMSG_FLAGS] = 1;
        let error = ask(&body).unwrap_err();
        assert_eq!(error.errno(), Some(EINVAL));
        assert!(
            matches!(&error, NetlinkError::Refused { message: Some(words), .. } if !words.is_empty()),
            "{error:?}"
        );
        assert_eq!(ask(&[0; uapi::IFINFOMSG_LEN]).unwrap().len(), 1);
    });
}

/// Runs `body` with a subscription made before.
fn watching(body: impl AsyncFnOnce(&mut LinkWatch)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut watch = LinkWatch::open().unwrap();
        body(&mut watch).await;
    });
}

/// The events up to and including `last`.
async fn until(watch: &mut LinkWatch, last: LinkEvent) -> Vec<LinkEvent> {
    let mut seen = Vec::new();
    while seen.last() != Some(&last) {
        let next = tokio::time::timeout(PATIENCE, watch.next()).await;
        seen.push(next.unwrap_or_else(|_| panic!("{last:?} never came after {seen:?}")).unwrap());
    }
    seen
}

#[test]
fn arrival_rename_and_departure_are_announced() {
    in_namespace("arrival_rename_and_departure_are_announced", || {
        watching(async |watch| {
            ip("link add v0 type veth peer name v1");
            let ifindex = link("v0").unwrap().ifindex;
            until(watch, LinkEvent::Changed { ifindex, name: name("v0") }).await;
            ip("link set v0 name v9");
            until(watch, LinkEvent::Changed { ifindex, name: name("v9") }).await;
            ip("link del v9");
            until(watch, LinkEvent::Removed { ifindex, name: name("v9") }).await;
        });
    });
}

#[test]
fn the_kernel_announces_an_operational_state_that_it_sets_later() {
    in_namespace("the_kernel_announces_an_operational_state_that_it_sets_later", || {
        watching(async |watch| {
            ip("link add v0 type veth peer name v1");
            assert_eq!(link("v0").unwrap().oper_state, Some(OperState::Down));
            ip("link set v0 up");
            ip("link set v1 up");
            while link("v0").unwrap().oper_state != Some(OperState::Up) {
                let next = tokio::time::timeout(PATIENCE, watch.next()).await;
                next.expect("an event that brings the state").unwrap();
            }
        });
    });
}

#[test]
fn a_port_that_leaves_its_bridge_is_changed_and_not_removed() {
    in_namespace("a_port_that_leaves_its_bridge_is_changed_and_not_removed", || {
        watching(async |watch| {
            ip("link add b0 type bridge");
            ip("link add v0 type veth peer name v1");
            ip("link set v0 master b0");
            let ifindex = link("v0").unwrap().ifindex;
            ip("link set v0 nomaster");
            ip("link set v0 name last");
            let seen = until(watch, LinkEvent::Changed { ifindex, name: name("last") }).await;
            assert!(!seen.iter().any(|event| matches!(event, LinkEvent::Removed { .. })), "{seen:?}");
        });
    });
}

#[test]
fn events_that_overflow_are_announced_as_lost_and_the_watch_goes_on() {
    in_namespace("events_that_overflow_are_announced_as_lost_and_the_watch_goes_on", || {
        watching(async |watch| {
            ip("link add v0 type veth peer name v1");
            let lines: String = (1000..3000).map(|mtu| format!("link set v0 mtu {mtu}\n")).collect();
            ip_batch(&lines);
            until(watch, LinkEvent::Lost).await;
            let ifindex = link("v0").unwrap().ifindex;
            ip("link set v0 name v9");
            until(watch, LinkEvent::Changed { ifindex, name: name("v9") }).await;
        });
    });
}

#[test]
fn a_device_moved_to_another_namespace_is_removed_here_and_its_peer_says_where_it_is() {
    in_namespace("a_device_moved_to_another_namespace_is_removed_here_and_its_peer_says_where_it_is", || {
        watching(async |watch| {
            ip("link add v0 type veth peer name v1");
            let ifindex = link("v1").unwrap().ifindex;
            assert_eq!(link("v0").unwrap().link_netns_id, None);
            let elsewhere = Elsewhere::new();
            ip(&format!("link set v1 netns {}", elsewhere.id()));
            until(watch, LinkEvent::Removed { ifindex, name: name("v1") }).await;
            assert_eq!(link("v1"), None);
            assert!(link("v0").unwrap().link_netns_id.is_some());
        });
    });
}
