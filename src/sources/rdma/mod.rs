//! RDMA devices, their ports, and what these count.
//!
//! ```text
//! kernel (netlink) ─┐
//!                   ├─▶ reader: ports, every 10 s ─▶ sample, every second ─▶ follow ─▶ RdmaView
//! tree (sysfs) ─────┘
//! crew: one thread with a reader per device ─▶ counters: all devices ─▶ lag: whose port it is
//! ```
//!
//! What netlink does not tell is read from sysfs, and a port whose driver does not answer over netlink wholly from there.
//! One file or port that cannot be read costs itself alone.

mod tree;
mod kernel;
mod lag;
mod name;
mod follow;
mod log;
mod reader;
mod crew;
mod counters;

use rocewatch_core::ids::PortIdentity;
use rocewatch_core::snapshot::CounterView;

use self::tree::RdmaTree;
use crate::config::{Admission, DeviceFilter, Pattern};
use crate::sys::rdma_wire::{NodeType, PhysicalState, PortState, Protocol};

pub use counters::RdmaCounters;
pub use lag::Lag;
pub use name::RdmaName;

/// A port of an RDMA device, or a device as a whole, with its counters as they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RdmaView {
    /// The device.
    pub device: String,
    /// The port's number; empty for what a device counts as a whole (mlx5 in switchdev mode).
    pub port: String,
    /// Its network interface, the bond where the port is a LAG; empty if it is joined to none that can be seen.
    pub netdev: String,
    /// The number of the interface that the kernel names, be it the bond or one of its slaves.
    pub ifindex: Option<u32>,
    /// "Ethernet" or "InfiniBand"; empty if nothing tells. Some iWARP and EFA drivers say "InfiniBand".
    pub link_layer: String,
    /// What it speaks.
    pub protocol: Option<Protocol>,
    /// What sort of device it belongs to.
    pub node_type: Option<NodeType>,
    /// The driver of the device; empty for software.
    pub driver: String,
    /// Its logical state.
    pub state: Option<PortState>,
    /// Its physical state.
    pub physical_state: Option<PhysicalState>,
    /// The bond, where one device serves several network ports.
    pub lag: Option<Lag>,
    /// Whether the operator has excluded it: whose port it is is told all the same, and nothing of it is read.
    pub excluded: bool,
    /// How many objects the device has, by kind; with the first port of the device only.
    pub resources: Vec<(String, u64)>,
    /// Widened, in held units.
    pub counters: Vec<CounterView>,
    /// What no table knows and the operator wants to see, by the driver's name for it, as the driver counts.
    pub unmapped: Vec<(String, u64)>,
    /// What could not be read this time, and the name of the error.
    pub unread: Vec<(String, String)>,
}

impl RdmaView {
    /// Whether `identity` is this RDMA port, be it as one of a bond's slaves.
    #[must_use]
    pub fn is_of(&self, identity: &PortIdentity) -> bool {
        !self.device.is_empty() && self.device == identity.device && self.port == identity.port
    }

    /// Whether marks and notifications that the port counts are those of RoCE. True also where nobody says what it
    /// speaks.
    #[must_use]
    pub fn may_speak_roce(&self) -> bool {
        match self.protocol {
            Some(Protocol::Roce) | None => true,
            Some(Protocol::InfiniBand | Protocol::Iwarp | Protocol::OmniPath | Protocol::Usnic) => false,
        }
    }
}

/// A port by its device and number.
type Key = (String, String);

fn key_of(port: &RdmaView) -> Key {
    (port.device.clone(), port.port.clone())
}

/// What the operator wants to see.
#[derive(Clone, Debug, Default)]
struct Wanted {
    devices: DeviceFilter,
    raw: Pattern,
}

impl Wanted {
    /// Whether a device is to be looked at. A virtual function is only if it is asked for by name.
    fn wants(&self, device: &str, tree: &RdmaTree) -> bool {
        let function = tree.function(device);
        let names = std::iter::once(device).chain(function.as_deref());
        !tree.is_virtual_function(device) || self.devices.admission(names) != Admission::Unnamed
    }
}

/// All ports of a device, or of all devices, at one moment.
#[derive(Debug, Default)]
struct Reading {
    views: Vec<RdmaView>,
    /// Devices of which no port can be seen.
    hidden: Vec<String>,
    /// Devices that do not answer.
    hanging: Vec<String>,
    /// Whether a device has yet to answer for the first time.
    is_partial: bool,
    /// Files that could not be read, each by the name of the error.
    unread: Vec<String>,
    /// What failed that was more than a file, by the name of the error.
    failed: Option<String>,
}

impl Reading {
    fn note(&mut self, sample: &Sample) {
        self.unread.extend(sample.unread.iter().map(|(_, error)| error.clone()));
    }

    fn append(&mut self, other: Self) {
        self.views.extend(other.views);
        self.hidden.extend(other.hidden);
        self.hanging.extend(other.hanging);
        self.is_partial |= other.is_partial;
        self.unread.extend(other.unread);
        self.failed = self.failed.take().or(other.failed);
    }
}

/// The counters of one port as they are at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sample {
    names: Vec<String>,
    values: Vec<u64>,
    /// What failed, and how.
    unread: Vec<(String, String)>,
    /// Names whose file says that there is no such counter.
    unsupported: Vec<String>,
}

impl Sample {
    fn take(&mut self, name: String, value: u64) {
        self.names.push(name);
        self.values.push(value);
    }

    fn append(&mut self, other: Self) {
        self.names.extend(other.names);
        self.values.extend(other.values);
        self.unread.extend(other.unread);
        self.unsupported.extend(other.unsupported);
    }
}

#[cfg(test)]
mod tests;
