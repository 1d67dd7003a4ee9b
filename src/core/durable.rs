//! What outlives a restart of the agent, so that a crash loop resets nothing: undos that are owed, spent budget,
//! hold-offs, storms of the lock window, locks and open storms. Ports are named, since their keys are not kept.

use std::num::NonZeroU64;

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
    /// The inode of its folder in sysfs, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sysfs_inode: Option<NonZeroU64>,
    /// What is to be taken back.
    pub undo: Undo,
}

impl Owed {
    /// What `undo` owes to the device that is `identity` now.
    #[must_use]
    pub fn to(identity: &PortIdentity, undo: Undo) -> Self {
        let PortIdentity { ifindex, sysfs_inode, .. } = *identity;
        Self { port: PortName::of(identity), ifindex, sysfs_inode, undo }
    }

    /// Whether it is owed to the very device that is `identity` now; `None` if nobody can tell. One that was taken away and
    /// added anew is a new one, and nothing was changed there. The folder in sysfs tells (`netdev_register_kobject`; a
    /// rename and a move between namespaces keep it). Where it is not known, the number does: a device that comes back
    /// from a container with another one then looks new.
    #[must_use]
    pub fn is_of(&self, identity: &PortIdentity) -> Option<bool> {
        let inodes = self.sysfs_inode.zip(identity.sysfs_inode);
        let numbers = || self.ifindex.zip(identity.ifindex);
        inodes.map(|(then, now)| then == now).or_else(|| numbers().map(|(then, now)| then == now))
    }
}

/// What of all that is owed concerns one port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// What is to be taken back there.
    pub own: Vec<Owed>,
    /// What was owed to a device that is gone, whose place this one has taken: nothing was changed here.
    pub lapsed: Vec<Owed>,
}

impl Durable {
    /// Takes out what concerns the port `identity`, also under the name that it bore before; `present` are all ports
    /// there are. Where the kernel tells devices apart that decides, for several ports may stand at one address and
    /// exchange their names. Else a name that another port bears is no name of before.
    pub fn take_owed(&mut self, identity: &PortIdentity, present: &[PortIdentity]) -> Claimed {
        let name = PortName::of(identity);
        let mut claimed = Claimed::default();
        for owed in std::mem::take(&mut self.owed) {
            let (is_named, is_renamed) = (owed.port == name, owed.port.is_renamed(&name));
            let is_own = match owed.is_of(identity) {
                Some(is_same) => is_same && (is_named || is_renamed),
                None => {
                    is_named || (is_renamed && !present.iter().any(|port| PortName::of(port) == owed.port))
                }
            };
            let is_there = || present.iter().any(|port| owed.is_of(port) == Some(true));
            let left = if is_own {
                &mut claimed.own
            } else if is_named && !is_there() {
                &mut claimed.lapsed
            } else {
                &mut self.owed
            };
            left.push(owed);
        }
        claimed
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{ActionKind, Purpose};
    use crate::ids::{ActionId, PortKey};

    const ADDRESS: &str = "0000:3b:00.0";

    fn port(netdev: &str, ifindex: Option<u32>) -> PortIdentity {
        PortIdentity {
            netdev: netdev.into(),
            pci_address: ADDRESS.into(),
            ifindex,
            ..PortIdentity::default()
        }
    }

    /// How many undos `claimant` gets, how many it makes void, and how many stay owed, if one is owed to `owed`.
    fn claimed(
        owed: &PortIdentity,
        claimant: &PortIdentity,
        others: &[PortIdentity],
    ) -> (usize, usize, usize) {
        let undo = Undo {
            id: ActionId(1),
            port: PortKey(0),
            kind: ActionKind::PfcOff,
            purpose: Purpose::Storm,
            queues: Vec::new(),
            ops: Vec::new(),
            headroom: None,
        };
        let owed = Owed::to(owed, undo);
        let mut durable = Durable { owed: vec![owed], ..Durable::default() };
        let Claimed { own, lapsed } =
            durable.take_owed(claimant, &[std::slice::from_ref(claimant), others].concat());
        (own.len(), lapsed.len(), durable.owed.len())
    }

    #[test]
    fn among_devices_of_one_address_the_number_says_which_one_is_owed() {
        let (owed, other) = (port("eth0", Some(7)), port("rep0", Some(20)));
        let renamed = port("rail0", Some(7));
        assert_eq!(claimed(&owed, &other, &[]), (0, 0, 1), "it has neither the name nor the number");
        assert_eq!(claimed(&owed, &renamed, std::slice::from_ref(&other)), (1, 0, 0));
        let took_the_name = port("eth0", Some(20));
        assert_eq!(claimed(&owed, &renamed, std::slice::from_ref(&took_the_name)), (1, 0, 0));
        assert_eq!(claimed(&owed, &took_the_name, &[renamed]), (0, 0, 1), "its own device is there");
        assert_eq!(claimed(&owed, &took_the_name, &[]), (0, 1, 0));
    }

    #[test]
    fn a_device_that_comes_back_is_known_by_its_folder_in_sysfs_whatever_its_number() {
        let with = |netdev: &str, ifindex, inode| PortIdentity {
            sysfs_inode: NonZeroU64::new(inode),
            ..port(netdev, Some(ifindex))
        };
        let owed = with("eth0", 7, 700);
        assert_eq!(claimed(&owed, &with("eth0", 12, 700), &[]), (1, 0, 0));
        assert_eq!(claimed(&owed, &with("net1", 12, 700), &[with("eth1", 7, 800)]), (1, 0, 0));
        assert_eq!(claimed(&owed, &with("eth0", 7, 701), &[]), (0, 1, 0), "it was added anew");
        assert_eq!(
            claimed(&owed, &port("eth0", Some(12)), &[]),
            (0, 1, 0),
            "nobody can tell but by the number"
        );
    }

    #[test]
    fn without_numbers_names_decide() {
        let (owed, renamed) = (port("eth0", None), port("rail0", None));
        assert_eq!(claimed(&owed, &owed, &[]), (1, 0, 0));
        assert_eq!(claimed(&owed, &renamed, &[]), (1, 0, 0));
        assert_eq!(claimed(&owed, &renamed, std::slice::from_ref(&owed)), (0, 0, 1));
    }
}
