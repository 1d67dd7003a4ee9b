//! Reads all RDMA ports: which there are every ten seconds, what they count every time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rocewatch_core::drivers;
use rocewatch_core::units::MonoTime;

use super::follow::Followed;
use super::kernel::{Answer, RdmaKernel};
use super::lag;
use super::tree::{Found, RdmaTree};
use super::{RdmaView, Sample};
use crate::config::{Admission, DeviceFilter, Pattern};
use crate::export::stats::{Collector, ReadStats};
use crate::sources::ReadError;
use crate::sys::netdev::NetdevName;
use crate::sys::rdma_wire::NetnsMode;
use crate::sys::sysfs_net::SysfsNet;

/// Counters that grow by more in a second are reset ones: a hundred million requests, or 1.6 Tbit.
const GROWTH_PER_SECOND: u64 = 200_000_000_000;
/// How often ports are listed. Asking for the state of a port costs mlx5 a firmware command, and what else the list
/// tells changes by hand.
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
    followed: BTreeMap<(String, String), Followed>,
    devices: DeviceFilter,
    raw: Pattern,
    looked_at: Option<MonoTime>,
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

/// What was said about the node, so that it is said once.
#[derive(Debug, Default)]
struct Told {
    presence: Option<Presence>,
    failure: Option<String>,
    /// Ports that refused to give their counters over netlink since the last look.
    by_files: BTreeMap<(String, String), String>,
    /// Ports that do not answer, with their error.
    silent: BTreeMap<(String, String), String>,
    hidden: BTreeSet<String>,
    shared: BTreeSet<(String, String)>,
    unsupported: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// The kernel has no RDMA subsystem.
    NoSubsystem,
    /// It has one, and no device is to be seen.
    NoDevices,
    Devices,
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
            looked_at: None,
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
    pub const fn look_again(&mut self) {
        self.looked_at = None;
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
        // Files in a directory cost nothing and may change at any time.
        let is_due = self.looked_at.is_none_or(|at| now.since(at) >= LOOK_EVERY) || self.kernel.is_none();
        self.failed = None;
        if is_due {
            self.looked_at = Some(now);
            self.look(reads);
        }
        let ports = std::mem::take(&mut self.ports);
        let views = ports.iter().map(|port| self.read_port(port, reads, limit)).collect();
        self.ports = ports;
        views
    }

    fn look(&mut self, reads: &ReadStats) {
        let mut found = self.found();
        found.ports.retain(|port| !self.is_representor(port));
        lag::join(&mut found.ports, &self.net, |device| self.tree.function(device));
        for port in &mut found.ports {
            let names = [port.device.as_str(), port.netdev.as_str()];
            port.excluded = self.devices.admission(names) == Admission::Refused;
        }
        self.tell(&found);
        let is_there = |key: &(String, String)| found.ports.iter().any(|port| key_of(port) == *key);
        self.followed.retain(|key, _| is_there(key));
        self.told.silent.retain(|key, _| is_there(key));
        for ((device, port), error) in std::mem::take(&mut self.told.by_files) {
            if is_there(&(device.clone(), port.clone())) {
                tracing::info!(device, port, error, "an RDMA port gives its counters in files only");
            }
        }
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
        for counter in unsupported.difference(&self.told.unsupported) {
            tracing::debug!(counter, "an RDMA counter is there and says that it counts nothing");
        }
        self.told.unsupported = unsupported;
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
        let failure = trouble.map(ToString::to_string);
        if let Some(error) = failure.as_ref().filter(|failure| self.told.failure.as_ref() != Some(failure)) {
            tracing::warn!(error, "RDMA ports are not fully listed");
        }
        self.told.failure = failure;
        match result {
            Ok(found) => found.unwrap_or_default(),
            Err(_) => tree.look(is_wanted),
        }
    }

    fn is_representor(&self, port: &RdmaView) -> bool {
        NetdevName::new(&port.netdev).is_ok_and(|netdev| self.net.is_representor(netdev))
    }

    fn tell(&mut self, found: &Found) {
        let presence = match (found.ports.is_empty() && found.hidden.is_empty(), self.tree.is_there()) {
            (false, _) => Presence::Devices,
            (true, true) => Presence::NoDevices,
            (true, false) => Presence::NoSubsystem,
        };
        let before = self.told.presence.replace(presence);
        match presence {
            _ if before == Some(presence) => {}
            Presence::NoSubsystem => tracing::info!("no RDMA subsystem: nothing of RDMA is read"),
            Presence::NoDevices => {
                let mode = self.kernel.as_mut().and_then(RdmaKernel::netns_mode);
                let exclusive = mode.map(|mode| mode == NetnsMode::Exclusive);
                tracing::info!(exclusive, "no RDMA device is visible in this network namespace");
            }
            Presence::Devices => {
                let ports = found.ports.len();
                tracing::info!(ports, "RDMA ports are read");
            }
        }
        let hidden: BTreeSet<_> = found.hidden.iter().cloned().collect();
        for device in hidden.difference(&self.told.hidden) {
            tracing::info!(device, "the ports of an RDMA device are not visible in this namespace");
        }
        self.told.hidden = hidden;
        let shared = lag::shared(&found.ports);
        for (netdev, devices) in shared.difference(&self.told.shared) {
            tracing::warn!(netdev, devices, "several RDMA devices claim one network interface");
        }
        self.told.shared = shared;
    }

    fn read_port(&mut self, port: &Port, reads: &ReadStats, limit: u64) -> RdmaView {
        let facts = &port.facts;
        if facts.excluded {
            return facts.clone();
        }
        let answer = self.kernel.as_mut().map_or(Answer::Files(None), |kernel| kernel.counters(facts));
        let mut sample = match answer {
            Answer::Files(_) => self.tree.hardware_counters(&facts.device, &facts.port),
            Answer::Sample(_) | Answer::Failed(_) => Sample::default(),
        };
        sample.append(self.tree.port_counters_named(&facts.device, &facts.port, &port.often));
        note_unread(&sample, reads);
        sample.append(port.rarely.clone());
        self.take(facts, answer, &mut sample);
        let mut view = facts.clone();
        self.followed.entry(key_of(facts)).or_insert_with(Followed::new).advance(&mut view, sample, limit);
        let mut seen = BTreeSet::new();
        // A name that a port gives in both kinds of counters is one series.
        view.unmapped.retain(|(name, _)| self.raw.matches(name) && seen.insert(name.clone()));
        view.unmapped.truncate(RAW_MAX);
        view
    }

    /// Takes what netlink has answered about a port.
    fn take(&mut self, facts: &RdmaView, answer: Answer, sample: &mut Sample) {
        let (device, port) = (&facts.device, &facts.port);
        let error = match answer {
            Answer::Sample(counters) => {
                sample.append(counters);
                None
            }
            Answer::Failed(error) => {
                sample.unread.push(("hw_counters".to_owned(), error.label()));
                self.failed = Some(error.label());
                Some(error.to_string())
            }
            Answer::Files(None) => None,
            Answer::Files(Some(error)) => {
                // It may also be gone: told after the next look, if it is still there.
                self.told.by_files.insert(key_of(facts), error.to_string());
                self.look_again();
                None
            }
        };
        match error {
            Some(error) => {
                if self.told.silent.insert(key_of(facts), error.clone()).as_ref() != Some(&error) {
                    tracing::warn!(device, port, error, "the counters of an RDMA port cannot be read");
                }
            }
            None if self.told.silent.remove(&key_of(facts)).is_some() => {
                tracing::info!(device, port, "the counters of an RDMA port are read again");
            }
            None => {}
        }
    }
}

fn key_of(port: &RdmaView) -> (String, String) {
    (port.device.clone(), port.port.clone())
}

/// Whether some driver's table knows a counter.
fn is_tabled(name: &str) -> bool {
    drivers::ALL.iter().any(|driver| driver.rdma.iter().any(|row| row.matches(name).is_some()))
}

fn note_unread(sample: &Sample, reads: &ReadStats) {
    for (_, error) in &sample.unread {
        reads.note_read(Collector::Rdma, Duration::ZERO, Err(error));
    }
}
