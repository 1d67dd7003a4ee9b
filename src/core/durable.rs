//! What outlives a restart of the agent, so that a crash loop resets nothing: undos that are owed, spent budget,
//! hold-offs, storms of the lock window, locks and open storms. Ports are named, since their keys are not kept.

use serde::{Deserialize, Serialize};

use crate::action::Undo;
use crate::ids::PortIdentity;
use crate::phase::{Class, Locked};
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
    /// The kernel's number of its device, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ifindex: Option<u32>,
    /// What is to be taken back.
    pub undo: Undo,
}

impl Owed {
    /// Whether it is owed to another device than `identity`, which bears the same name: one that was taken away and came
    /// back is a new one, and nothing was changed there.
    #[must_use]
    pub fn is_of_another_device(&self, identity: &PortIdentity) -> bool {
        self.ifindex.zip(identity.ifindex).is_some_and(|(then, now)| then != now)
    }
}

impl Durable {
    /// Takes out what is owed to the port `identity`, also under the name that it bore before; `present` are the names
    /// of all ports there are, since a name that another port bears is no name of before.
    pub fn take_owed(&mut self, identity: &PortIdentity, present: &[PortName]) -> Vec<Owed> {
        let name = PortName::of(identity);
        // Several ports may stand at one address: where the number is known, it decides.
        let renamed = |owed: &Owed| owed.port.is_renamed(&name) && !owed.is_of_another_device(identity);
        let is_own = |owed: &Owed| owed.port == name || (renamed(owed) && !present.contains(&owed.port));
        let (own, others) = std::mem::take(&mut self.owed).into_iter().partition(is_own);
        self.owed = others;
        own
    }
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
    /// What kind of pause it is.
    #[serde(default)]
    pub storm_class: Option<Class>,
}

/// Maintenance of one port, or of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Maintained {
    /// The port; all if none.
    pub port: Option<PortName>,
    /// Its end.
    pub until: MonoTime,
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
