//! Reads RDMA ports: what they count every time, which there are every ten seconds and whenever a link comes or goes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rocewatch_core::drivers;
use rocewatch_core::units::MonoTime;

use super::follow::Followed;
use super::kernel::{Answer, RdmaKernel};
use super::log::PortsLog;
use super::tree::{Found, RdmaTree};
use super::{Key, RdmaView, Reading, Sample, Wanted, key_of};
use crate::config::Admission;
use crate::sources::ReadError;
use crate::sys::netdev::NetdevName;
use crate::sys::sysfs_net::SysfsNet;

/// Counters that grow by more in a second are reset ones: a hundred million requests, or 1.6 Tbit.
const GROWTH_PER_SECOND: u64 = 200_000_000_000;
/// How often ports are listed while no link comes or goes. Asking for the state of a port costs mlx5 a firmware
/// command, and what else the list tells changes by hand.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Counters without a metric that are shown of one port. Drivers have a few dozen; a firmware that makes up names must
/// not bury Prometheus.
const RAW_MAX: usize = 1000;

/// Reads the RDMA ports of one device, or of all in a tree.
pub(super) struct Reader {
    tree: RdmaTree,
    net: SysfsNet,
    wanted: Wanted,
    /// The only device, asked of the kernel. Absent beside a directory, in which only files count.
    asked: Option<(String, RdmaKernel)>,
    ports: Vec<Port>,
    hidden: Vec<String>,
    followed: BTreeMap<Key, Followed>,
    /// At the last look.
    sight: Option<Sight>,
    read_at: Option<MonoTime>,
    log: PortsLog,
}

/// A port between two looks.
struct Port {
    facts: RdmaView,
    /// The InfiniBand counters that a driver's table knows.
    often: Vec<String>,
    /// The others, as they were at the last look: for mlx5 each is a firmware command.
    rarely: Sample,
}

/// What can be seen without asking a device, and tells that a look is worth its price.
struct Sight {
    at: MonoTime,
    /// How often the links of the ports have come or gone.
    carriers: BTreeMap<String, u32>,
    /// The network devices there are, where a port is joined to none: one that comes may be its own.
    netdevs: Option<BTreeSet<String>>,
}

impl Sight {
    /// Whether what was found then may be otherwise by `now`.
    fn is_over(&self, now: &Self) -> bool {
        let may_join = now.netdevs.is_some() && now.netdevs != self.netdevs;
        now.at.since(self.at) >= LOOK_EVERY || now.carriers != self.carriers || may_join
    }
}

impl Reader {
    /// Of all devices in a tree.
    pub(super) fn of_tree(sysfs: &Path, wanted: Wanted) -> Self {
        Self {
            tree: RdmaTree::new(sysfs),
            net: SysfsNet::new(sysfs),
            wanted,
            asked: None,
            ports: Vec::new(),
            hidden: Vec::new(),
            followed: BTreeMap::new(),
            sight: None,
            read_at: None,
            log: PortsLog::default(),
        }
    }

    /// Of one device of the kernel's.
    pub(super) fn of_device(device: String, sysfs: &Path, wanted: Wanted) -> Self {
        Self { asked: Some((device, RdmaKernel::default())), ..Self::of_tree(sysfs, wanted) }
    }

    /// Reads all ports once.
    pub(super) fn read(&mut self, now: MonoTime) -> Reading {
        let span = self.read_at.replace(now).map_or(Duration::ZERO, |before| now.since(before));
        let limit = GROWTH_PER_SECOND.saturating_mul(span.as_secs() + 1);
        let is_unjoined = self.ports.iter().any(|port| port.facts.netdev.is_empty());
        let netdevs = is_unjoined.then(|| self.net.names());
        let mut sight = Sight { at: now, carriers: self.carriers(), netdevs };
        let mut reading = Reading::default();
        // Files in a directory cost nothing and may change at any time.
        if self.asked.is_none() || self.sight.as_ref().is_none_or(|last| last.is_over(&sight)) {
            sight.netdevs.get_or_insert_with(|| self.net.names());
            self.look(&mut reading);
            // Those of ports that are new; a link that changed during the look is one to look at again.
            let unseen =
                self.carriers().into_iter().filter(|(netdev, _)| !sight.carriers.contains_key(netdev));
            sight.carriers.extend(unseen.collect::<Vec<_>>());
            sight.carriers.retain(|netdev, _| self.ports.iter().any(|port| port.facts.netdev == *netdev));
            self.sight = Some(sight);
        }
        let ports = std::mem::take(&mut self.ports);
        reading.views = ports.iter().map(|port| self.read_port(port, &mut reading, limit)).collect();
        self.ports = ports;
        reading.hidden.clone_from(&self.hidden);
        if let Some((_, kernel)) = &mut self.asked {
            kernel.rest();
        }
        reading
    }

    fn look(&mut self, reading: &mut Reading) {
        let mut found = self.found(reading);
        let mut keys = BTreeSet::new();
        found.ports.retain(|port| !self.is_representor(port) && keys.insert(key_of(port)));
        for port in &mut found.ports {
            let bond = NetdevName::new(&port.netdev).ok().and_then(|netdev| self.net.bond(netdev));
            let names = [port.device.as_str(), port.netdev.as_str()].into_iter().chain(bond.as_deref());
            port.excluded = self.wanted.devices.admission(names) == Admission::Refused;
        }
        self.log.looked(&found.ports);
        self.followed.retain(|key, _| found.ports.iter().any(|port| key_of(port) == *key));
        let (tree, mut unsupported) = (&self.tree, BTreeSet::new());
        let ports = found.ports.into_iter().map(|facts| {
            if facts.excluded {
                return Port { facts, often: Vec::new(), rarely: Sample::default() };
            }
            let names = tree.port_counter_names(&facts.device, &facts.port);
            let (often, rarely) = names.into_iter().partition::<Vec<_>, _>(|name| is_tabled(name));
            let rarely = tree.port_counters_named(&facts.device, &facts.port, &rarely);
            reading.note(&rarely);
            let path = |name: &String| format!("{}/ports/{}/counters/{name}", facts.device, facts.port);
            unsupported.extend(rarely.unsupported.iter().map(path));
            Port { facts, often, rarely }
        });
        self.ports = ports.collect();
        self.hidden = found.hidden;
        self.log.unsupported(unsupported);
    }

    /// What there is, by the kernel or, where that does not answer, by the tree.
    fn found(&mut self, reading: &mut Reading) -> Found {
        let Some((device, kernel)) = &mut self.asked else {
            return self.tree.look(|device| self.wanted.wants(device, &self.tree));
        };
        let result = kernel.look(&self.tree, |name| name == device);
        let trouble = result.as_ref().err().or(kernel.troubles.first());
        reading.failed = trouble.map(ReadError::label);
        self.log.listed(device, trouble);
        match result {
            Ok(found) => found.unwrap_or_default(),
            Err(_) => self.tree.look(|name| name == device),
        }
    }

    /// How often the links of all ports have come or gone.
    fn carriers(&self) -> BTreeMap<String, u32> {
        let changes = |netdev: &str| self.net.carrier_changes(NetdevName::new(netdev).ok()?);
        let netdevs = self.ports.iter().map(|port| port.facts.netdev.clone());
        netdevs.filter_map(|netdev| changes(&netdev).map(|changes| (netdev, changes))).collect()
    }

    fn is_representor(&self, port: &RdmaView) -> bool {
        NetdevName::new(&port.netdev).is_ok_and(|netdev| self.net.is_representor(netdev))
    }

    fn read_port(&mut self, port: &Port, reading: &mut Reading, limit: u64) -> RdmaView {
        let facts = &port.facts;
        if facts.excluded {
            return facts.clone();
        }
        let mut sample = self.own_counters(facts, reading);
        let often = self.tree.port_counters_named(&facts.device, &facts.port, &port.often);
        reading.note(&often);
        sample.append(often);
        sample.append(port.rarely.clone());
        let mut view = facts.clone();
        self.followed.entry(key_of(facts)).or_insert_with(Followed::new).advance(&mut view, sample, limit);
        let mut seen = BTreeSet::new();
        // A name that a port gives in both kinds of counters is one series.
        view.unmapped.retain(|(name, _)| self.wanted.raw.matches(name) && seen.insert(name.clone()));
        view.unmapped.truncate(RAW_MAX);
        view
    }

    /// The driver's own counters of a port.
    fn own_counters(&mut self, port: &RdmaView, reading: &mut Reading) -> Sample {
        let asked = self.asked.as_mut();
        let answer = asked.map_or(Answer::Files(None), |(_, kernel)| kernel.counters(port));
        match answer {
            Answer::Sample(sample) => {
                self.log.answered(port);
                return sample;
            }
            Answer::Failed(error) => {
                self.log.silent(port, &error);
                reading.failed = Some(error.label());
                let unread = vec![("hw_counters".to_owned(), error.label())];
                return Sample { unread, ..Sample::default() };
            }
            Answer::Files(Some(error)) => {
                self.log.refused(port, &error);
                // It may have gone.
                self.sight = None;
            }
            Answer::Files(None) => {}
        }
        let sample = self.tree.hardware_counters(&port.device, &port.port);
        reading.note(&sample);
        sample
    }
}

/// Whether some driver's table knows a counter.
fn is_tabled(name: &str) -> bool {
    drivers::ALL.iter().any(|driver| driver.rdma.iter().any(|row| row.matches(name).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(millis: u64, changes: u32) -> Sight {
        let carriers = [("eth0".to_owned(), changes)].into();
        Sight { at: MonoTime::from_millis(millis), carriers, netdevs: None }
    }

    #[test]
    fn a_look_holds_ten_seconds_unless_a_link_comes_or_goes() {
        let last = sight(1000, 4);
        for (now, over) in [(sight(10_999, 4), false), (sight(11_000, 4), true), (sight(2000, 5), true)] {
            assert_eq!(last.is_over(&now), over, "{:?} {:?}", now.at, now.carriers);
        }
    }

    #[test]
    fn a_port_without_a_netdev_is_looked_at_when_one_comes() {
        let with = |millis, netdevs: Option<&[&str]>| {
            let netdevs = netdevs.map(|names| names.iter().map(|&name| name.to_owned()).collect());
            Sight { netdevs, ..sight(millis, 4) }
        };
        let last = with(1000, Some(&["lo"]));
        assert!(!last.is_over(&with(2000, Some(&["lo"]))));
        assert!(last.is_over(&with(2000, Some(&["lo", "eth1"]))));
        // All ports are joined.
        assert!(!last.is_over(&with(2000, None)));
    }
}
