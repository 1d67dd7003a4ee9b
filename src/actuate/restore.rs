//! Takes back what an agent that has ended still owes, without an agent: the journal is played back once, each undo by
//! the same rules as in the agent, and what was taken back is struck out.

use rocewatch_core::action::{Order, Outcome, Undo, UndoResult};
use rocewatch_core::durable::{Claimed, Durable, Owed};

use super::hook::Hook;
use super::{Journal, JournalError, drive};
use crate::node::{Node, NodeError, Seen};

/// What became of one undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The port it was owed to, as the journal calls it.
    pub netdev: String,
    /// What was to be taken back.
    pub undo: Undo,
    /// How it ended.
    pub end: RestoreEnd,
}

/// See [`Restored::end`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreEnd {
    /// It was tried.
    Undone(UndoResult, Option<String>),
    /// There is no such port now. It stays owed, for the device may be lent to a container.
    Absent,
    /// There is one, its device is a new one, and the old one is gone: nothing was changed there, and nothing is owed.
    AnotherDevice,
}

impl Restored {
    /// Whether the port is left as the action has left it.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        matches!(self.end, RestoreEnd::Undone(UndoResult::Failed, _))
    }
}

/// Takes back everything that `durable` owes to the ports of `node`. What cannot be taken back stays in the journal.
/// Every device counts, also one that would not be watched by itself: the agent may have been told to, and which function
/// stands for a port can have changed since.
///
/// # Errors
/// If the ports cannot be listed: then nothing was tried. A journal that cannot be written is no reason not to try, and
/// comes along with what was done.
pub fn restore(
    node: &mut dyn Node,
    journal: &mut Journal,
    mut durable: Durable,
) -> Result<(Vec<Restored>, Result<(), JournalError>), NodeError> {
    let ports = node.scan()?.into_iter().map(|seen| (node.identity(&seen), seen)).collect::<Vec<_>>();
    let present = ports.iter().map(|(identity, _)| identity.clone()).collect::<Vec<_>>();
    let (mut restored, mut left) = (Vec::new(), Vec::new());
    for (identity, seen) in &ports {
        let Claimed { own, lapsed } = durable.take_owed(identity, &present);
        let told =
            |owed: &Owed, end| Restored { netdev: identity.netdev.clone(), undo: owed.undo.clone(), end };
        restored.extend(lapsed.iter().map(|owed| told(owed, RestoreEnd::AnotherDevice)));
        for owed in own {
            let one = told(&owed, undo(node, seen, owed.undo.clone()));
            left.extend(one.is_failed().then_some(owed));
            restored.push(one);
        }
    }
    restored.extend(durable.owed.iter().map(|owed| Restored {
        netdev: owed.port.netdev.clone(),
        undo: owed.undo.clone(),
        end: RestoreEnd::Absent,
    }));
    durable.owed.extend(left);
    Ok((restored, journal.store(&durable, 0)))
}

fn undo(node: &mut dyn Node, seen: &Seen, undo: Undo) -> RestoreEnd {
    let machine = node.machine(seen);
    // An undo asks for neither.
    let (persist, counters) = (|| Ok(()), || Ok(Vec::new()));
    let report = drive(Order::Undo(undo), machine.as_ref(), persist, counters, (&Hook::default(), &|| None));
    match report.outcome {
        Outcome::Undone(result) => RestoreEnd::Undone(result, report.reason),
        Outcome::Acted { .. } => RestoreEnd::Undone(UndoResult::Failed, report.reason),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use rocewatch_core::action::{ActionKind, Op, PortConfig, UndoOp};
    use rocewatch_core::durable::PortName;
    use rocewatch_core::ids::{ActionId, PortIdentity, PortKey};
    use rocewatch_core::units::{Direction, Priority, PriorityMask, Queue};

    use super::super::{Machine, Stored};
    use super::*;
    use crate::sources::Source;

    const ADDRESS: &str = "0000:3b:00.0";
    const THREE: PriorityMask = PriorityMask::of(Priority::ALL[3]);

    /// A port whose mask is `pfc`, and that obeys unless it is `stubborn`, between two others of its bus address. None
    /// of them would be watched by itself.
    struct OnePort {
        ifindex: u32,
        mask: Arc<Mask>,
    }

    struct Mask {
        pfc: Mutex<PriorityMask>,
        stubborn: bool,
    }

    impl Machine for Mask {
        fn config(&self, _about: &[Op]) -> Result<PortConfig, String> {
            Ok(PortConfig { pfc: Some(*self.pfc.lock().unwrap()), ..PortConfig::default() })
        }

        fn apply(&self, op: &Op) -> Result<(), String> {
            let mut pfc = self.pfc.lock().unwrap();
            if let (Op::PfcEnable(on), false) = (op, self.stubborn) {
                *pfc = pfc.union(*on);
            }
            Ok(())
        }
    }

    impl Node for OnePort {
        fn scan(&mut self) -> Result<Vec<Seen>, NodeError> {
            let seen = |(netdev, ifindex): (&str, u32)| Seen {
                id: ifindex.into(),
                netdev: netdev.into(),
                physical: false,
                ..Seen::default()
            };
            Ok([("rep0", 20), ("eth0", self.ifindex), ("rep1", 21)].into_iter().map(seen).collect())
        }

        fn identity(&mut self, seen: &Seen) -> PortIdentity {
            PortIdentity {
                netdev: seen.netdev.clone(),
                pci_address: ADDRESS.into(),
                ifindex: Some(seen.id as u32),
                ..PortIdentity::default()
            }
        }

        fn source(&mut self, _seen: &Seen) -> Result<Option<Box<dyn Source>>, NodeError> {
            Ok(None)
        }

        fn machine(&mut self, seen: &Seen) -> Arc<dyn Machine> {
            assert_eq!(seen.netdev, "eth0", "nothing is owed to the others");
            Arc::clone(&self.mask) as Arc<dyn Machine>
        }
    }

    fn node(ifindex: u32, pfc: u8, stubborn: bool) -> OnePort {
        OnePort { ifindex, mask: Arc::new(Mask { pfc: Mutex::new(PriorityMask(pfc)), stubborn }) }
    }

    fn owed(netdev: &str) -> Durable {
        let undo = Undo {
            id: ActionId(1),
            port: PortKey(0),
            purpose: rocewatch_core::action::Purpose::Storm,
            kind: ActionKind::PfcOff,
            queues: vec![(Queue::Priority(Priority::ALL[3]), Direction::Rx)],
            ops: vec![UndoOp { done: Op::PfcDisable(THREE), op: Op::PfcEnable(THREE) }],
            headroom: None,
        };
        let port = PortName { netdev: netdev.into(), pci_address: ADDRESS.into() };
        Durable { owed: vec![Owed { port, ifindex: Some(7), sysfs_inode: None, undo }], ..Durable::default() }
    }

    /// How it ended, the mask after it, and what the next start would find owed.
    fn restored(mut node: OnePort, durable: Durable) -> (RestoreEnd, u8, usize) {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path(), "boot").unwrap();
        let (mut all, kept) = restore(&mut node, &mut journal, durable).unwrap();
        kept.unwrap();
        drop(journal);
        let (_, stored) = Journal::open(folder.path(), "boot").unwrap();
        let Stored::Of(left) = stored else { panic!("{stored:?}") };
        let pfc = node.mask.pfc.lock().unwrap().0;
        (all.remove(0).end, pfc, left.owed.len())
    }

    #[test]
    fn what_is_owed_is_taken_back_and_struck_out() {
        let done = RestoreEnd::Undone(UndoResult::Done, None);
        assert_eq!(restored(node(7, 0b1_0000, false), owed("eth0")), (done, 0b1_1000, 0));
    }

    #[test]
    fn what_is_owed_finds_its_device_by_number_among_those_of_one_bus_address() {
        let done = || RestoreEnd::Undone(UndoResult::Done, None);
        assert_eq!(restored(node(7, 0, false), owed("its_name_before")), (done(), 0b1000, 0));
        assert_eq!(restored(node(7, 0, false), owed("rep0")), (done(), 0b1000, 0));
    }

    #[test]
    fn what_cannot_be_taken_back_stays_in_the_journal() {
        let (end, pfc, left) = restored(node(7, 0, true), owed("eth0"));
        assert!(matches!(end, RestoreEnd::Undone(UndoResult::Failed, Some(_))), "{end:?}");
        assert_eq!((pfc, left), (0, 1));
    }

    #[test]
    fn a_device_that_came_back_as_another_is_owed_nothing_and_one_that_is_away_still_is() {
        assert_eq!(restored(node(8, 0, false), owed("eth0")), (RestoreEnd::AnotherDevice, 0, 0));
        let mut elsewhere = owed("eth1");
        elsewhere.owed[0].port.pci_address = "0000:5e:00.0".into();
        assert_eq!(restored(node(7, 0, false), elsewhere), (RestoreEnd::Absent, 0, 1));
    }
}
