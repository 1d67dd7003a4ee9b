//! Which devices the node itself is reached over: those that carry a default route. Taking the link of one down cuts off
//! whoever would look after it.

use std::collections::BTreeSet;
use std::time::Duration;

use rocewatch_core::units::MonoTime;

use crate::sources::with_causes;
use crate::sys::link::Link;
use crate::sys::rtnl::Rtnl;

/// How often the routes are asked for. They change when a person or a daemon changes them.
const ASKED_EVERY: Duration = Duration::from_secs(5);
/// Devices above one another: a VLAN on a bridge on a bond is three.
const DEPTH_MAX: usize = 8;

const OBJECT: &str = "a default route leads over a nexthop object, whose devices the kernel does not tell \
    (net.ipv4.nexthop_compat_mode is 0)";

/// What is known of the default routes.
#[derive(Debug, Default)]
pub(super) struct InBand {
    asked_at: Option<MonoTime>,
    /// `None` if the kernel has not told.
    over: Option<BTreeSet<u32>>,
    failing: Option<String>,
}

impl InBand {
    /// Asks anew if it is time.
    pub(super) fn look(&mut self, rtnl: &mut Rtnl, now: MonoTime) {
        if self.asked_at.is_some_and(|at| now.since(at) < ASKED_EVERY) {
            return;
        }
        self.asked_at = Some(now);
        self.take(rtnl.default_route_devices().map_err(|error| with_causes(&error)));
    }

    /// Takes an answer. What it does not tell is said once.
    fn take(&mut self, answer: Result<Option<BTreeSet<u32>>, String>) {
        let (over, failing) = match answer {
            Ok(Some(devices)) => (Some(devices), None),
            Ok(None) => (None, Some(OBJECT.to_owned())),
            Err(error) => (None, Some(error)),
        };
        if let Some(error) = failing.as_ref().filter(|error| self.failing.as_ref() != Some(error)) {
            tracing::warn!(
                error,
                "nobody can tell where the default routes lead: no link of any port will be taken down"
            );
        }
        (self.over, self.failing) = (over, failing);
    }

    /// Whether a default route leads over the device `ifindex`, or over something on top of it; also if nobody can tell.
    pub(super) fn holds(&self, ifindex: u32, links: &[Link]) -> bool {
        let Some(over) = &self.over else { return true };
        let mut reached = BTreeSet::from([ifindex]);
        for _ in 0..DEPTH_MAX {
            let above = links.iter().filter(|link| is_above(link, &reached, links)).map(|link| link.ifindex);
            let before = reached.len();
            reached.extend(above.collect::<Vec<_>>());
            if reached.len() == before {
                break;
            }
        }
        reached.iter().any(|ifindex| over.contains(ifindex))
    }
}

/// How the kernel calls the datapath of Open vSwitch, and each port that is the switch's own.
const SWITCH: Option<&str> = Some("openvswitch");

/// Whether `link` is the bond or bridge of a device that is `reached`, or sits on top of one, as a VLAN does, or is a
/// port of the switch that has one: nothing tells the kernel's switches apart, or which port leads where.
fn is_above(link: &Link, reached: &BTreeSet<u32>, links: &[Link]) -> bool {
    let on_top =
        link.link_netns_id.is_none() && link.link_ifindex.is_some_and(|below| reached.contains(&below));
    let master = || {
        let slaves = links.iter().filter(|slave| slave.master_ifindex == Some(link.ifindex));
        slaves.into_iter().any(|slave| reached.contains(&slave.ifindex))
    };
    let is_switch = |link: &Link| link.kind.as_deref() == SWITCH;
    let switched = || links.iter().any(|other| is_switch(other) && reached.contains(&other.ifindex));
    // The two ends of a veth name each other; neither is on top.
    (on_top && link.kind.as_deref() != Some("veth")) || master() || (is_switch(link) && switched())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::netdev::NetdevName;

    fn link(ifindex: u32, kind: Option<&str>, master: Option<u32>, below: Option<u32>) -> Link {
        Link {
            ifindex,
            name: NetdevName::new(&format!("eth{ifindex}")).unwrap(),
            kind: kind.map(str::to_owned),
            is_up: true,
            is_loopback: false,
            carrier: None,
            oper_state: None,
            mtu: None,
            master_ifindex: master,
            link_ifindex: below,
            link_netns_id: None,
            permanent_address: None,
            parent: None,
            phys_port_id: None,
            phys_port_name: None,
            carrier_changes: None,
            carrier_up_count: None,
            carrier_down_count: None,
            stats: None,
        }
    }

    fn over(devices: &[u32]) -> InBand {
        InBand { over: Some(devices.iter().copied().collect()), ..InBand::default() }
    }

    #[test]
    fn a_route_over_a_vlan_on_a_bond_is_one_over_each_of_its_slaves() {
        let links = [
            link(2, None, Some(9), None),
            link(3, None, Some(9), None),
            link(4, None, None, None),
            link(9, Some("bond"), None, None),
            link(10, Some("vlan"), None, Some(9)),
        ];
        let route = over(&[10]);
        assert_eq!([2, 3, 4].map(|port| route.holds(port, &links)), [true, true, false]);
        assert!(!over(&[4]).holds(2, &links));
    }

    #[test]
    fn a_route_over_a_switchs_own_port_is_one_over_every_port_that_was_put_into_it() {
        let links = [
            link(2, None, Some(8), None),
            link(3, None, None, None),
            link(8, Some("openvswitch"), None, None),
            link(9, Some("openvswitch"), None, None),
            link(10, Some("vlan"), None, Some(9)),
        ];
        for route in [9, 10] {
            assert_eq!([2, 3].map(|port| over(&[route]).holds(port, &links)), [true, false], "{route}");
        }
        assert!(!over(&[3]).holds(2, &links));
    }

    #[test]
    fn routes_that_nobody_can_tell_may_lead_anywhere() {
        assert!(InBand::default().holds(2, &[]));
        let mut routes = over(&[3]);
        assert!(!routes.holds(2, &[]));
        routes.take(Ok(None));
        assert!(routes.holds(2, &[]), "over a nexthop object of which nothing else is told");
        routes.take(Ok(Some([3].into())));
        assert!(!routes.holds(2, &[]));
    }

    #[test]
    fn the_other_end_of_a_cable_in_software_is_another_device() {
        let links = [link(2, Some("veth"), None, Some(3)), link(3, Some("veth"), None, Some(2))];
        assert!(!over(&[3]).holds(2, &links));
    }
}
