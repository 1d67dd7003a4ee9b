//! Reads all RDMA ports: what they count every time, which there are every ten seconds and whenever a device or a link
//! comes or goes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rocewatch_core::drivers;
use rocewatch_core::units::MonoTime;

use super::follow::Followed;
use super::kernel::{Answer, RdmaKernel};
use super::lag;
use super::told::Told;
use super::tree::{Found, RdmaTree};
use super::{Key, RdmaView, Sample, key_of};
use crate::config::{Admission, DeviceFilter, Pattern};
use crate::export::stats::{Collector, ReadStats};
use crate::sources::ReadError;
use crate::sys::netdev::NetdevName;
use crate::sys::sysfs_net::SysfsNet;

/// Counters that grow by more in a second are reset ones: a hundred million requests, or 1.6 Tbit.
const GROWTH_PER_SECOND: u64 = 200_000_000_000;
/// How often ports are listed while no device and no link comes or goes. Asking for the state of a port costs mlx5 a firmware
/// command, and what else the list tells changes by hand.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Counters without a metric that are shown of one port. Drivers have a few dozen; a firmware that makes up names must
/// not bury Prometheus.
const RAW_MAX: usize = 1000;

/// The counters of all RDMA ports of a node.
pub struct RdmaCounters {
    tree: RdmaTree,
    net: SysfsNet,
    /// Absent beside a directory, in which only files count.
    kernel: Option<RdmaKernel>,
    ports: Vec<Port>,
    followed: BTreeMap<Key, Followed>,
    devices: DeviceFilter,
    raw: Pattern,
    /// At the last look.
    sight: Option<Sight>,
    read_at: Option<MonoTime>,
    /// What failed in the last reading that was more than a file.
    failed: Option<String>,
    told: Told,
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
    /// All devices, wanted or not.
    devices: Vec<String>,
    /// How often the links of the ports have come or gone.
    carriers: BTreeMap<String, u32>,
}

impl Sight {
    /// Whether what was found then may be otherwise by `now`. If the subsystem has gone it is: one more question would
    /// load it again.
    fn is_over(&self, now: &Self) -> bool {
        now.at.since(self.at) >= LOOK_EVERY || now.devices != self.devices || now.carriers != self.carriers
    }
}

impl RdmaCounters {
    /// The ports of this node: the kernel is asked, and `sysfs` tells what the kernel does not.
    #[must_use]
    pub fn of_kernel(sysfs: &Path) -> Self {
        Self { kernel: Some(RdmaKernel::default()), ..Self::of_tree(sysfs) }
    }

    /// The ports in a tree like sysfs, and nothing else.
    #[must_use]
    pub fn of_tree(sysfs: &Path) -> Self {
        Self {
            tree: RdmaTree::new(sysfs),
            net: SysfsNet::new(sysfs),
            kernel: None,
            ports: Vec::new(),
            followed: BTreeMap::new(),
            devices: DeviceFilter::default(),
            raw: Pattern::default(),
            sight: None,
            read_at: None,
            failed: None,
            told: Told::default(),
        }
    }

    /// Only of what `devices` admits by the name of RDMA device or netdev; of names without a metric those of `raw`.
    #[must_use]
    pub fn watching(self, devices: DeviceFilter, raw: Pattern) -> Self {
        Self { devices, raw, ..self }
    }

    /// Lists the ports anew at the next reading.
    pub fn look_again(&mut self) {
        self.sight = None;
    }

    /// How the last reading went, by the name of the error. A single file that cannot be read, which some are for ever, is
    /// counted and fails nothing.
    ///
    /// # Errors
    ///
    /// If the ports could not be listed, or one of them did not answer.
    pub fn outcome(&self) -> Result<(), &str> {
        self.failed.as_deref().map_or(Ok(()), Err)
    }

    /// Reads all ports once.
    pub fn read(&mut self, now: MonoTime, reads: &ReadStats) -> Vec<RdmaView> {
        let span = self.read_at.replace(now).map_or(Duration::ZERO, |before| now.since(before));
        let limit = GROWTH_PER_SECOND.saturating_mul(span.as_secs() + 1);
        let mut sight = Sight { at: now, devices: self.tree.names(), carriers: self.carriers() };
        self.failed = None;
        // Files in a directory cost nothing and may change at any time.
        if self.kernel.is_none() || self.sight.as_ref().is_none_or(|last| last.is_over(&sight)) {
            self.look(reads);
            // Those of ports that are new; a link that changed during the look is one to look at again.
            let unseen =
                self.carriers().into_iter().filter(|(netdev, _)| !sight.carriers.contains_key(netdev));
            sight.carriers.extend(unseen.collect::<Vec<_>>());
            sight.carriers.retain(|netdev, _| self.ports.iter().any(|port| port.facts.netdev == *netdev));
            self.sight = Some(sight);
        }
        let ports = std::mem::take(&mut self.ports);
        let views = ports.iter().map(|port| self.read_port(port, reads, limit)).collect();
        self.ports = ports;
        if let Some(kernel) = &mut self.kernel {
            kernel.rest();
        }
        views
    }

    fn look(&mut self, reads: &ReadStats) {
        let mut found = self.found();
        let mut keys = BTreeSet::new();
        found.ports.retain(|port| !self.is_representor(port) && keys.insert(key_of(port)));
        lag::join(&mut found.ports, &self.net, |device| self.tree.function(device));
        for port in &mut found.ports {
            let names = [port.device.as_str(), port.netdev.as_str()];
            port.excluded = self.devices.admission(names) == Admission::Refused;
        }
        self.told.found(&found, self.tree.is_there(), self.kernel.as_mut());
        self.followed.retain(|key, _| found.ports.iter().any(|port| key_of(port) == *key));
        let (tree, mut unsupported) = (&self.tree, BTreeSet::new());
        let ports = found.ports.into_iter().map(|facts| {
            if facts.excluded {
                return Port { facts, often: Vec::new(), rarely: Sample::default() };
            }
            let names = tree.port_counter_names(&facts.device, &facts.port);
            let (often, rarely) = names.into_iter().partition::<Vec<_>, _>(|name| is_tabled(name));
            let rarely = tree.port_counters_named(&facts.device, &facts.port, &rarely);
            note_unread(&rarely, reads);
            let path = |name: &String| format!("{}/ports/{}/counters/{name}", facts.device, facts.port);
            unsupported.extend(rarely.unsupported.iter().map(path));
            Port { facts, often, rarely }
        });
        self.ports = ports.collect();
        self.told.unsupported(unsupported);
    }

    /// What there is, by the kernel or, where that does not answer, by the tree.
    fn found(&mut self) -> Found {
        let (tree, devices) = (&self.tree, &self.devices);
        // A virtual function is read only if it is asked for by name.
        let is_wanted = |device: &str| {
            let function = tree.function(device);
            !tree.is_virtual_function(device)
                || devices.admission(std::iter::once(device).chain(function.as_deref())) != Admission::Unnamed
        };
        let Some(kernel) = &mut self.kernel else { return tree.look(is_wanted) };
        let result = kernel.look(tree, is_wanted);
        let trouble = result.as_ref().err().or(kernel.troubles.first());
        self.failed = trouble.map(ReadError::label);
        self.told.listed(trouble);
        match result {
            Ok(found) => found.unwrap_or_default(),
            Err(_) => tree.look(is_wanted),
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

    fn read_port(&mut self, port: &Port, reads: &ReadStats, limit: u64) -> RdmaView {
        let facts = &port.facts;
        if facts.excluded {
            return facts.clone();
        }
        let mut sample = self.own_counters(facts, reads);
        let often = self.tree.port_counters_named(&facts.device, &facts.port, &port.often);
        note_unread(&often, reads);
        sample.append(often);
        sample.append(port.rarely.clone());
        let mut view = facts.clone();
        self.followed.entry(key_of(facts)).or_insert_with(Followed::new).advance(&mut view, sample, limit);
        let mut seen = BTreeSet::new();
        // A name that a port gives in both kinds of counters is one series.
        view.unmapped.retain(|(name, _)| self.raw.matches(name) && seen.insert(name.clone()));
        view.unmapped.truncate(RAW_MAX);
        view
    }

    /// The driver's own counters of a port.
    fn own_counters(&mut self, port: &RdmaView, reads: &ReadStats) -> Sample {
        let answer = self.kernel.as_mut().map_or(Answer::Files(None), |kernel| kernel.counters(port));
        match answer {
            Answer::Sample(sample) => {
                self.told.answered(port);
                return sample;
            }
            Answer::Failed(error) => {
                self.told.silent(port, &error);
                self.failed = Some(error.label());
                let unread = vec![("hw_counters".to_owned(), error.label())];
                return Sample { unread, ..Sample::default() };
            }
            Answer::Files(Some(error)) => {
                self.told.refused(port, &error);
                self.look_again();
            }
            Answer::Files(None) => {}
        }
        let sample = self.tree.hardware_counters(&port.device, &port.port);
        note_unread(&sample, reads);
        sample
    }
}

/// Whether some driver's table knows a counter.
fn is_tabled(name: &str) -> bool {
    drivers::ALL.iter().any(|driver| driver.rdma.iter().any(|row| row.matches(name).is_some()))
}

/// Counts files that could not be read. That a whole port does not answer is the outcome of the reading.
fn note_unread(sample: &Sample, reads: &ReadStats) {
    for (_, error) in &sample.unread {
        reads.note_read(Collector::Rdma, Duration::ZERO, Err(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(millis: u64, devices: &[&str], changes: u32) -> Sight {
        Sight {
            at: MonoTime::from_millis(millis),
            devices: devices.iter().map(|device| (*device).to_owned()).collect(),
            carriers: [("eth0".to_owned(), changes)].into(),
        }
    }

    #[test]
    fn a_look_holds_ten_seconds_unless_a_device_or_a_link_comes_or_goes() {
        let last = sight(1000, &["mlx5_0"], 4);
        for (now, over) in [
            (sight(10_999, &["mlx5_0"], 4), false),
            (sight(11_000, &["mlx5_0"], 4), true),
            (sight(2000, &["mlx5_0", "mlx5_1"], 4), true),
            (sight(2000, &[], 4), true),
            (sight(2000, &["mlx5_0"], 5), true),
        ] {
            assert_eq!(last.is_over(&now), over, "{:?} {:?}", now.devices, now.carriers);
        }
    }
}
