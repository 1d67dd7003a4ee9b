//! What is said in the log about RDMA ports: each thing when it begins, and not again while it lasts.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::RdmaTree;
use super::{Key, RdmaView, Reading, key_of, lag};
use crate::sources::ReadError;

/// What was said about the node and still is so.
#[derive(Debug, Default)]
pub(super) struct NodeLog {
    presence: Option<Presence>,
    hidden: BTreeSet<String>,
    shared: BTreeSet<(String, String)>,
    hanging: BTreeSet<String>,
}

/// What was said about ports and still is so.
#[derive(Debug, Default)]
pub(super) struct PortsLog {
    not_listed: Option<String>,
    unsupported: BTreeSet<String>,
    silent: BTreeMap<Key, String>,
    /// Ports that have refused since the last look to give their counters over netlink. Not said yet: a device that is
    /// gone gives the same answer.
    refused: BTreeMap<Key, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// The kernel has no RDMA subsystem.
    NoSubsystem,
    /// It has one, and no device is to be seen.
    NoDevices,
    Devices,
}

impl NodeLog {
    /// What there is. Of a node without visible devices `is_exclusive` tells whether another namespace may have them.
    pub(super) fn found(
        &mut self,
        reading: &Reading,
        tree: &RdmaTree,
        is_exclusive: impl FnOnce() -> Option<bool>,
    ) {
        let is_empty = reading.views.is_empty() && reading.hidden.is_empty() && reading.hanging.is_empty();
        let presence = match (is_empty, tree.is_there()) {
            (false, _) => Presence::Devices,
            (true, true) => Presence::NoDevices,
            (true, false) => Presence::NoSubsystem,
        };
        // How many ports there are is told once all have answered.
        let before = if reading.is_partial { Some(presence) } else { self.presence.replace(presence) };
        if before != Some(presence) {
            match presence {
                Presence::NoSubsystem => tracing::info!("no RDMA subsystem: nothing of RDMA is read"),
                Presence::NoDevices => {
                    // When the last device goes, the subsystem is perhaps just being unloaded: it is left in peace.
                    let exclusive = if before.is_none() { is_exclusive() } else { None };
                    tracing::info!(exclusive, "no RDMA device is visible in this network namespace");
                }
                Presence::Devices => tracing::info!(ports = reading.views.len(), "RDMA ports are read"),
            }
        }
        for device in anew(&mut self.hidden, reading.hidden.iter().cloned().collect()) {
            tracing::info!(device, "the ports of an RDMA device are not visible in this namespace");
        }
        for (netdev, devices) in anew(&mut self.shared, lag::shared(&reading.views)) {
            tracing::warn!(netdev, devices, "several RDMA devices claim one network interface");
        }
        let hanging: BTreeSet<_> = reading.hanging.iter().cloned().collect();
        for device in self.hanging.difference(&hanging) {
            tracing::info!(device, "a request to an RDMA device has ended");
        }
        for device in anew(&mut self.hanging, hanging) {
            tracing::warn!(device, "a request to an RDMA device hangs: nothing of it is read meanwhile");
        }
    }
}

impl PortsLog {
    /// Which ports there are.
    pub(super) fn looked(&mut self, ports: &[RdmaView]) {
        let is_there = |key: &Key| ports.iter().any(|port| key_of(port) == *key);
        self.silent.retain(|key, _| is_there(key));
        for (key, error) in std::mem::take(&mut self.refused).into_iter().filter(|(key, _)| is_there(key)) {
            let (device, port) = key;
            tracing::info!(device, port, error, "an RDMA port gives its counters in files only");
        }
    }

    /// That the ports of a device are listed, but for `trouble`.
    pub(super) fn listed(&mut self, device: &str, trouble: Option<&ReadError>) {
        let error = trouble.map(ToString::to_string);
        if let Some(error) = error.as_ref().filter(|error| self.not_listed.as_ref() != Some(error)) {
            tracing::warn!(device, error, "the ports of an RDMA device are not fully listed");
        }
        self.not_listed = error;
    }

    /// The files that are there and say that they count nothing.
    pub(super) fn unsupported(&mut self, files: BTreeSet<String>) {
        for file in anew(&mut self.unsupported, files) {
            tracing::debug!(file, "an RDMA counter is not supported by its port");
        }
    }

    /// That a port has given its counters.
    pub(super) fn answered(&mut self, port: &RdmaView) {
        if self.silent.remove(&key_of(port)).is_some() {
            tracing::info!(
                device = port.device,
                port = port.port,
                "the counters of an RDMA port are read again"
            );
        }
    }

    /// That a port gives none over netlink, and may have gone.
    pub(super) fn refused(&mut self, port: &RdmaView, error: &ReadError) {
        self.refused.insert(key_of(port), error.to_string());
    }

    /// That a port has given none this time.
    pub(super) fn silent(&mut self, port: &RdmaView, error: &ReadError) {
        let error = error.to_string();
        let before = self.silent.insert(key_of(port), error.clone());
        if before.as_ref() != Some(&error) {
            let (device, port) = (&port.device, &port.port);
            tracing::warn!(device, port, error, "the counters of an RDMA port cannot be read");
        }
    }
}

/// What is in `now` and was not in `before`, which becomes `now`.
fn anew<T: Ord + Clone>(before: &mut BTreeSet<T>, now: BTreeSet<T>) -> Vec<T> {
    let new = now.difference(before).cloned().collect();
    *before = now;
    new
}
