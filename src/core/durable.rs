//! What outlives a restart of the agent, so that a crash loop resets nothing: undos that are owed, spent budget,
//! hold-offs, storms of the lock window, locks and open storms. Ports are named, since their keys are not kept.

use serde::{Deserialize, Serialize};

use crate::action::Undo;
use crate::ids::PortIdentity;
use crate::phase::Locked;
use crate::units::{Direction, MonoTime, Queue};

/// The engine's memory as the journal keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Durable {
    /// The number of the next action.
    pub next_action: u64,
    /// Actions begun within the last hour, on any port.
    pub spent: Vec<Spent>,
    /// Undos that are owed.
    pub owed: Vec<Owed>,
    /// What is remembered of single queues.
    pub queues: Vec<QueueMemory>,
}

/// One unit of budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// The port it was spent on.
    pub port: PortName,
    /// When.
    pub at: MonoTime,
}

/// One undo that is owed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// The port.
    pub port: PortName,
    /// What is to be taken back.
    pub undo: Undo,
}

/// What is remembered of one queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueMemory {
    /// The port.
    pub port: PortName,
    /// The queue.
    pub queue: Queue,
    /// The direction.
    pub direction: Direction,
    /// Its mitigated storms within the lock window.
    pub mitigated: Vec<MonoTime>,
    /// Its lock.
    pub locked: Option<Locked>,
    /// Its open storm.
    pub storm_since: Option<MonoTime>,
}

/// A port as another run of the agent recognises it: a netdev that moved to another device is another port.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PortName {
    /// The netdev.
    pub netdev: String,
    /// The address on its bus.
    pub pci_address: String,
}

impl PortName {
    /// The name of `identity`.
    #[must_use]
    pub fn of(identity: &PortIdentity) -> Self {
        Self { netdev: identity.netdev.clone(), pci_address: identity.pci_address.clone() }
    }

    /// Whether both name one device that was renamed. Only an address tells: a name can be another device's by now.
    #[must_use]
    pub fn is_renamed(&self, other: &Self) -> bool {
        !self.pci_address.is_empty() && self.pci_address == other.pci_address && self.netdev != other.netdev
    }
}
