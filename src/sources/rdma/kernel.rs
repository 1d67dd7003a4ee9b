//! RDMA devices as the kernel tells of them over netlink.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::io::Errno;

use super::tree::{Found, RdmaTree};
use super::{Key, RdmaView, Sample, key_of};
use crate::sources::{ReadError, with_causes};
use crate::sys::netlink::NetlinkError;
use crate::sys::rdma::Rdma;
use crate::sys::rdma_wire::{NetnsMode, RdmaDevice, RdmaPort};

/// A port that asks its firmware answers in milliseconds; one that is being reset, in seconds.
const TIMEOUT: Duration = Duration::from_secs(5);
/// More ports than a device has that is no switch of representors; in place of a list that cannot be had.
const PORTS_MAX: u32 = 64;

/// A device's and a port's number, as netlink asks for them.
pub(super) type PortNumber = (u32, u32);

/// The kernel, asked by one thread.
#[derive(Debug, Default)]
pub(super) struct RdmaKernel {
    rdma: Option<Rdma>,
    /// By device name and port.
    numbers: BTreeMap<Key, PortNumber>,
    /// Ports whose counters netlink does not give: siw has none, and a driver may have more than fit into a message.
    by_files: BTreeSet<PortNumber>,
    /// What a part of the list could not be had for.
    pub(super) troubles: Vec<ReadError>,
}

/// What an answer about counters comes to.
pub(super) enum Answer {
    /// The counters.
    Sample(Sample),
    /// There are none this time.
    Failed(ReadError),
    /// They are to be read from files; for the first time with the reason.
    Files(Option<ReadError>),
}

impl RdmaKernel {
    /// All ports of the devices that are wanted, with what `tree` tells besides; `None` without an RDMA subsystem.
    ///
    /// # Errors
    ///
    /// If the devices cannot be listed. What else fails is kept in `troubles`.
    pub(super) fn look(
        &mut self,
        tree: &RdmaTree,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<Found>, ReadError> {
        self.troubles.clear();
        if !tree.is_there() {
            // A question would load it.
            self.rdma = None;
        } else if self.rdma.is_none() {
            self.rdma = Rdma::open(TIMEOUT).map_err(failed)?;
        }
        let Some(rdma) = &mut self.rdma else { return Ok(None) };
        let devices = rdma.dump_devices().map_err(failed)?;
        let resources = rdma.dump_resources().unwrap_or_else(|error| {
            self.troubles.push(failed(error));
            Vec::new()
        });
        let mut found = Found::default();
        self.numbers.clear();
        for device in devices.iter().filter(|device| is_wanted(&device.name)) {
            let facts = RdmaView {
                node_type: device.node_type,
                protocol: device.protocol,
                ..tree.device(&device.name)
            };
            let ports = ports(rdma, device, &mut self.troubles);
            if ports.is_empty() {
                found.hidden.push(device.name.clone());
                continue;
            }
            let first = found.ports.len();
            for port in ports {
                let view = view(&facts, &port, tree);
                self.numbers.insert(key_of(&view), (port.device, port.port));
                found.ports.push(view);
            }
            let counts = resources.iter().find(|counted| counted.device == device.index);
            found.ports[first].resources = counts.map(|counted| counted.counts.clone()).unwrap_or_default();
            found.ports.extend(tree.whole(&facts));
        }
        let numbers: BTreeSet<_> = self.numbers.values().copied().collect();
        self.by_files.retain(|number| numbers.contains(number));
        Ok(Some(found))
    }

    /// Ends a round of questions.
    pub(super) fn rest(&mut self) {
        if let Some(rdma) = &mut self.rdma {
            rdma.close();
        }
    }

    /// The driver's own counters of a port.
    pub(super) fn counters(&mut self, port: &RdmaView) -> Answer {
        let number = self.numbers.get(&key_of(port)).copied();
        let (Some(rdma), Some(number)) = (&mut self.rdma, number) else { return Answer::Files(None) };
        if self.by_files.contains(&number) {
            return Answer::Files(None);
        }
        match rdma.counters(number.0, number.1) {
            Ok(counters) => {
                let mut sample = Sample::default();
                counters.into_iter().for_each(|(name, value)| sample.take(name, value));
                Answer::Sample(sample)
            }
            Err(error) if gives_none(&error) => {
                self.by_files.insert(number);
                Answer::Files(Some(failed(error)))
            }
            Err(error) => Answer::Failed(failed(error)),
        }
    }
}

/// Whether RDMA devices are seen in one network namespace only, if the kernel tells. To be asked only where there is an
/// RDMA subsystem.
pub(super) fn is_exclusive() -> Option<bool> {
    let mode = Rdma::open(TIMEOUT).ok()??.netns_mode().ok()??;
    Some(mode == NetnsMode::Exclusive)
}

/// The ports of a device. Where the kernel does not list them, they are still asked for their counters.
fn ports(rdma: &mut Rdma, device: &RdmaDevice, troubles: &mut Vec<ReadError>) -> Vec<RdmaPort> {
    rdma.dump_ports(device.index).unwrap_or_else(|error| {
        troubles.push(failed(error));
        let unknown =
            |port| RdmaPort { device: device.index, port, state: None, physical_state: None, netdev: None };
        (1..=device.port_count.min(PORTS_MAX)).map(unknown).collect()
    })
}

fn view(device: &RdmaView, port: &RdmaPort, tree: &RdmaTree) -> RdmaView {
    let number = port.port.to_string();
    RdmaView {
        link_layer: tree.link_layer(&device.device, &number),
        ifindex: port.netdev.as_ref().map(|(ifindex, _)| *ifindex),
        netdev: port.netdev.as_ref().map(|(_, name)| name.clone()).unwrap_or_default(),
        state: port.state,
        physical_state: port.physical_state,
        port: number,
        ..device.clone()
    }
}

/// Whether the driver will not answer another time either. A device that is gone is EINVAL too; the next look tells.
fn gives_none(error: &NetlinkError) -> bool {
    let final_ones = [Errno::INVAL, Errno::OPNOTSUPP, Errno::MSGSIZE].map(Errno::raw_os_error);
    error.errno().is_some_and(|errno| final_ones.contains(&errno))
}

fn failed(error: NetlinkError) -> ReadError {
    ReadError::Failed { what: with_causes(&error), errno: error.errno() }
}
