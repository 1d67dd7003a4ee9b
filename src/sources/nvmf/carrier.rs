//! Which network device leads to a controller: the one its address names, else the one the routing table does.
//!
//! The routing table is asked on a thread of its own, since that takes the lock which all of networking shares: states of
//! controllers are read on while somebody holds it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rocewatch_core::units::MonoTime;

use super::address::Address;
use crate::sources::with_causes;
use crate::sys::netdev::NetdevName;
use crate::sys::netlink::NetlinkError;
use crate::sys::renames::Names;
use crate::sys::rtnl::Rtnl;
use crate::sys::sysfs_net::SysfsNet;

/// How long a controller that has come is held back for its route: a kernel that works answers in microseconds.
const WAIT: Duration = Duration::from_millis(200);
/// Routes change without a word to us.
const ASK_AGAIN: Duration = Duration::from_secs(30);
/// For one answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Devices above one another: a VLAN on a bond on its slaves is three.
const DEPTH_MAX: usize = 8;
/// Slaves of a bond, and no host has as many.
const WIDTH_MAX: usize = 64;

/// Where to, and from where.
type Ends = (IpAddr, Option<IpAddr>);
/// The devices by the ends they connect.
type Devices = BTreeMap<Ends, String>;
/// To the thread that asks, and from it; an answer is `None` if the kernel failed.
type Line = (Sender<BTreeSet<Ends>>, Receiver<Option<Devices>>);

/// See the module.
pub(super) struct Carriers {
    net: SysfsNet,
    /// `None` where nobody is to be asked, or no thread can be had.
    line: Option<Line>,
    known: Devices,
    asked: Option<(BTreeSet<Ends>, MonoTime)>,
}

impl Carriers {
    /// Of a tree alone: only what addresses name is known.
    pub(super) fn of_tree(sysfs: &Path) -> Self {
        Self { net: SysfsNet::new(sysfs), line: None, known: Devices::new(), asked: None }
    }

    /// Of the kernel.
    pub(super) fn of_kernel(sysfs: &Path) -> Self {
        let (questions, asked) = channel();
        let (answers, answered) = channel();
        let thread =
            thread::Builder::new().name("nvmf-routes".into()).spawn(move || answer(&asked, &answers));
        if let Err(error) = &thread {
            tracing::error!(%error, "no thread to ask for routes: the ports of some NVMe-oF controllers stay unknown");
        }
        Self { line: thread.ok().map(|_| (questions, answered)), ..Self::of_tree(sysfs) }
    }

    /// Has the routes of all these controllers looked up, if some are new or the last time was long ago. For new ones it
    /// waits a little.
    pub(super) fn look<'a>(&mut self, addresses: impl Iterator<Item = &'a Address>, now: MonoTime) {
        let Some((questions, answers)) = &self.line else { return };
        let unnamed = addresses.filter(|address| address.interface().is_none());
        let ends = unnamed.filter_map(Address::ends).collect::<BTreeSet<_>>();
        let changed = self.asked.as_ref().map_or(!ends.is_empty(), |(known, _)| *known != ends);
        let old =
            self.asked.as_ref().is_some_and(|(known, at)| !known.is_empty() && now.since(*at) >= ASK_AGAIN);
        // An answer that came late counts as well, and the newest counts.
        let mut answer = answers.try_iter().last();
        if changed || old {
            let asked = questions.send(ends.clone()).is_ok();
            self.asked = Some((ends, now));
            if asked && changed {
                answer = answers.recv_timeout(WAIT).ok().or(answer);
            }
        }
        if let Some(Some(devices)) = answer {
            self.known = devices;
        }
    }

    /// The device that leads to a controller, and the ports below it; empty where nothing tells.
    pub(super) fn of(&self, address: &Address) -> (String, Vec<String>) {
        let routed = || self.known.get(&address.ends()?).cloned();
        let Some(interface) = address.interface().map(str::to_owned).or_else(routed) else {
            return (String::new(), Vec::new());
        };
        let ports = self.below(&interface);
        (interface, ports)
    }

    /// The devices at the bottom of a stack.
    fn below(&self, interface: &str) -> Vec<String> {
        let mut level = vec![interface.to_owned()];
        for _ in 0..DEPTH_MAX {
            let mut next = BTreeSet::new();
            for device in &level {
                let lower = NetdevName::new(device).map(|name| self.net.lower(name)).unwrap_or_default();
                let kept = if lower.is_empty() { vec![device.clone()] } else { lower };
                next.extend(kept);
            }
            let next = next.into_iter().take(WIDTH_MAX).collect::<Vec<_>>();
            if next == level {
                break;
            }
            level = next;
        }
        level
    }
}

/// Answers until nobody asks any more.
fn answer(asked: &Receiver<BTreeSet<Ends>>, answers: &Sender<Option<Devices>>) {
    let mut failed = None;
    for ends in asked {
        let devices = devices(&ends);
        let failure = devices.as_ref().err().map(|error| with_causes(error));
        if let Some(error) = failure.as_ref().filter(|error| failed.as_ref() != Some(*error)) {
            tracing::warn!(error, "the routing table does not tell the ports of NVMe-oF controllers");
        }
        failed = failure;
        if answers.send(devices.ok()).is_err() {
            return;
        }
    }
}

/// A socket for each round: they are half a minute apart.
fn devices(ends: &BTreeSet<Ends>) -> Result<Devices, NetlinkError> {
    let mut found = Devices::new();
    let Ok(names) = Names::open() else { return Ok(found) };
    let mut rtnl = Rtnl::open(TIMEOUT)?;
    for (to, from) in ends {
        let Some(ifindex) = rtnl.device_towards(*to, *from)? else { continue };
        if let Some(name) = names.while_named(ifindex, |name| name.as_str().to_owned()) {
            found.insert((*to, *from), name);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_controller_over_a_vlan_on_a_bond_is_one_over_each_of_the_slaves() {
        let root = tempfile::tempdir().unwrap();
        let net = root.path().join("class/net");
        for (upper, lower) in
            [("bond0.7", &["bond0"][..]), ("bond0", &["eth0", "eth1"]), ("eth0", &[]), ("loop", &["loop"])]
        {
            fs::create_dir_all(net.join(upper)).unwrap();
            for lower in lower {
                symlink(net.join(lower), net.join(upper).join(format!("lower_{lower}"))).unwrap();
            }
        }
        let carriers = Carriers::of_tree(root.path());
        let of = |interface: &str| {
            carriers.of(&Address::parse(&format!("traddr=192.0.2.1,host_iface={interface}")))
        };
        assert_eq!(of("bond0.7"), ("bond0.7".into(), vec!["eth0".into(), "eth1".into()]));
        assert_eq!(of("eth0"), ("eth0".into(), vec!["eth0".into()]));
        assert_eq!(of("gone"), ("gone".into(), vec!["gone".into()]));
        assert_eq!(of("loop").1, ["loop"], "a tree that leads in a circle has an end");
        assert_eq!(of("../../x").1, ["../../x"], "no path is made of it");
        assert_eq!(carriers.of(&Address::parse("traddr=192.0.2.1")), (String::new(), Vec::new()));
    }

    #[test]
    fn the_routing_table_is_asked_when_controllers_come_and_once_in_a_while() {
        let (questions, asked) = channel::<BTreeSet<Ends>>();
        let (given, answered) = channel();
        thread::spawn(move || {
            for (number, ends) in (1..).zip(asked) {
                let devices = ends.into_iter().map(|ends| (ends, format!("eth{number}")));
                let _ = given.send(Some(devices.collect()));
            }
        });
        let mut carriers =
            Carriers { line: Some((questions, answered)), ..Carriers::of_tree(Path::new("/nowhere")) };
        let (one, other) = (Address::parse("traddr=192.0.2.1"), Address::parse("traddr=2001:db8::1"));
        let at = MonoTime::from_millis;
        let mut device = |addresses: &[&Address], millis| {
            carriers.look(addresses.iter().copied(), at(millis));
            carriers.of(&one).0
        };
        assert_eq!(device(&[], 0), "", "nobody is asked for nothing");
        assert_eq!(device(&[&one], 1000), "eth1");
        assert_eq!(device(&[&one], 2000), "eth1");
        assert_eq!(device(&[&one, &other], 3000), "eth2");
    }
}
