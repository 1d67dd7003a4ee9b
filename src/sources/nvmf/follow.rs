//! What becomes of controllers from one look to the next. Knows no file and no clock.

use std::collections::BTreeMap;

use rocewatch_core::nvmf::{NvmfChange, NvmfState};
use rocewatch_core::units::MonoTime;

use super::{NvmfController, NvmfSeen, NvmfSubsystem};

/// Subsystems whose lost paths are remembered when none is left. Each is a series for as long as the agent runs.
const REMEMBERED_MAX: usize = 256;

/// All controllers, as far as they were seen.
#[derive(Debug, Default)]
pub(super) struct Followed {
    known: BTreeMap<(String, u64), Known>,
    /// Paths that were removed after they had failed, by subsystem.
    lost: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct Known {
    seen: NvmfSeen,
    /// The last that was one.
    state: Option<NvmfState>,
    /// Whether it was ever live.
    was_live: bool,
    /// The first state after it was live last.
    left_for: Option<NvmfState>,
    not_live_since: Option<MonoTime>,
    transitions: u64,
    reconnects: u64,
}

impl Followed {
    /// Takes all controllers as they are at `now`, and says what has changed.
    pub(super) fn take(&mut self, seen: Vec<NvmfSeen>, now: MonoTime) -> Vec<NvmfChange> {
        let mut changes = Vec::new();
        let is_there = |key: &(String, u64)| seen.iter().any(|seen| seen.key == *key);
        let gone = self.known.keys().filter(|key| !is_there(key)).cloned().collect::<Vec<_>>();
        for known in gone.iter().filter_map(|key| self.known.remove(key)) {
            if known.is_lost() {
                *self.lost.entry(known.seen.facts.subsystem.clone()).or_default() += 1;
            }
            changes.extend(known.state.map(|from| change(&known.seen, Some(from), None)));
        }
        for seen in seen {
            let subsystem = &seen.facts.subsystem;
            if !subsystem.is_empty() && self.lost.len() < REMEMBERED_MAX && !self.lost.contains_key(subsystem)
            {
                self.lost.insert(subsystem.clone(), 0);
            }
            let known = self.known.entry(seen.key.clone()).or_insert_with(|| Known::new(&seen));
            changes.extend(known.take(seen, now));
        }
        changes
    }

    /// The controllers as they are shown.
    pub(super) fn controllers(&self) -> Vec<NvmfController> {
        let shown = self.known.values().map(|known| NvmfController {
            name: known.seen.key.0.clone(),
            facts: known.seen.facts.clone(),
            state: known.seen.state,
            not_live_since: known.not_live_since.filter(|_| known.seen.state.is_some()),
            interface: known.seen.interface.clone(),
            netdevs: known.seen.netdevs.clone(),
            transitions: known.transitions,
            reconnects: known.reconnects,
        });
        shown.collect()
    }

    /// Their subsystems, and those of which no path is left.
    pub(super) fn subsystems(&self) -> Vec<NvmfSubsystem> {
        let of = |nqn: &str, lost| NvmfSubsystem { nqn: nqn.to_owned(), lost, ..NvmfSubsystem::default() };
        let mut all: BTreeMap<&str, _> =
            self.lost.iter().map(|(nqn, lost)| (&nqn[..], of(nqn, *lost))).collect();
        for known in self.known.values() {
            let nqn = known.seen.facts.subsystem.as_str();
            let subsystem = all.entry(nqn).or_insert_with(|| of(nqn, 0));
            subsystem.paths += 1;
            subsystem.live += u64::from(known.seen.state == Some(NvmfState::Live));
        }
        // A controller whose subsystem is not told is a path to nothing that has a name.
        all.into_values().filter(|subsystem| !subsystem.nqn.is_empty()).collect()
    }
}

impl Known {
    fn new(seen: &NvmfSeen) -> Self {
        Self {
            seen: seen.clone(),
            state: None,
            was_live: false,
            left_for: None,
            not_live_since: None,
            transitions: 0,
            reconnects: 0,
        }
    }

    /// A state that is none of the known ones stands for the one before.
    fn take(&mut self, seen: NvmfSeen, now: MonoTime) -> Option<NvmfChange> {
        let told = seen.state;
        self.seen = seen;
        let to = told.filter(|to| self.state != Some(*to))?;
        let from = self.state.replace(to);
        self.transitions += u64::from(from.is_some());
        if to == NvmfState::Live {
            self.reconnects += u64::from(self.was_live);
            (self.was_live, self.left_for, self.not_live_since) = (true, None, None);
        } else {
            self.left_for = self.left_for.or(Some(to).filter(|_| from == Some(NvmfState::Live)));
            self.not_live_since = self.not_live_since.or(Some(now));
        }
        Some(change(&self.seen, from, Some(to)))
    }

    /// Whether it had failed before it was removed. One that was live until then, or left live for its removal, was removed
    /// by somebody; one that never was live is no path that is missed.
    fn is_lost(&self) -> bool {
        self.left_for.is_some_and(|state| !state.is_being_removed())
    }
}

fn change(seen: &NvmfSeen, from: Option<NvmfState>, to: Option<NvmfState>) -> NvmfChange {
    NvmfChange {
        controller: seen.key.0.clone(),
        subsystem: seen.facts.subsystem.clone(),
        transport: seen.facts.transport.label().to_owned(),
        address: seen.facts.address.clone(),
        netdevs: seen.netdevs.clone(),
        from,
        to,
    }
}

#[cfg(test)]
mod tests {
    use NvmfState::{Connecting, Deleting, Live, New, Resetting};

    use super::super::NvmfFacts;
    use super::*;

    const NQN: &str = "nqn.2026-01.example:disk";

    fn seen(name: &str, number: u64, state: Option<NvmfState>) -> NvmfSeen {
        let facts = NvmfFacts { subsystem: NQN.into(), ..NvmfFacts::default() };
        NvmfSeen { key: (name.into(), number), facts, state, ..NvmfSeen::default() }
    }

    /// One controller through these states, a second apart; `None` at the end if it goes.
    fn through(states: &[Option<NvmfState>]) -> (Followed, Vec<NvmfChange>) {
        let mut followed = Followed::default();
        let mut changes = Vec::new();
        for (second, state) in (1..).zip(states) {
            let seen = state.map(|state| seen("nvme0", 7, Some(state)));
            changes.extend(followed.take(seen.into_iter().collect(), MonoTime::from_millis(second * 1000)));
        }
        (followed, changes)
    }

    fn lost(states: &[Option<NvmfState>]) -> u64 {
        through(states).0.subsystems()[0].lost
    }

    #[test]
    fn each_change_is_told_once_and_a_return_to_live_is_a_reconnect() {
        let states = [New, Connecting, Live, Live, Resetting, Connecting, Connecting, Live].map(Some);
        let (followed, changes) = through(&states);
        let told: Vec<_> = changes.iter().map(|change| (change.from, change.to.unwrap())).collect();
        let expected = [
            (None, New),
            (Some(New), Connecting),
            (Some(Connecting), Live),
            (Some(Live), Resetting),
            (Some(Resetting), Connecting),
            (Some(Connecting), Live),
        ];
        assert_eq!(told, expected);
        let [controller] = &followed.controllers()[..] else { panic!("one") };
        assert_eq!((controller.transitions, controller.reconnects), (5, 1));
        assert_eq!((controller.state, controller.not_live_since), (Some(Live), None));
    }

    #[test]
    fn the_time_since_live_counts_from_the_look_that_first_missed_it() {
        let (followed, _) = through(&[Live, Resetting, Connecting].map(Some));
        assert_eq!(followed.controllers()[0].not_live_since, Some(MonoTime::from_millis(2000)));
        let (followed, _) = through(&[Connecting, Connecting].map(Some));
        assert_eq!(followed.controllers()[0].not_live_since, Some(MonoTime::from_millis(1000)));
    }

    #[test]
    fn a_path_that_failed_and_was_removed_is_lost_and_one_that_somebody_removed_is_not() {
        assert_eq!(lost(&[Some(Live), Some(Resetting), Some(Connecting), Some(Deleting), None]), 1);
        assert_eq!(lost(&[Some(Live), Some(Connecting), None]), 1);
        assert_eq!(lost(&[Some(Live), Some(Deleting), None]), 0);
        assert_eq!(lost(&[Some(Live), None]), 0);
        assert_eq!(lost(&[Some(Connecting), None]), 0, "it never was a path");
        let (followed, changes) = through(&[Some(Live), Some(Connecting), None]);
        assert_eq!((followed.subsystems()[0].paths, followed.controllers().len()), (0, 0));
        assert_eq!(changes.last().map(|change| (change.from, change.to)), Some((Some(Connecting), None)));
    }

    #[test]
    fn a_name_that_is_given_again_between_two_looks_is_another_controller() {
        let mut followed = Followed::default();
        followed.take(vec![seen("nvme0", 7, Some(Live))], MonoTime::from_millis(1000));
        let changes = followed.take(vec![seen("nvme0", 8, Some(Live))], MonoTime::from_millis(2000));
        let told: Vec<_> = changes.iter().map(|change| (change.from, change.to)).collect();
        assert_eq!(told, [(Some(Live), None), (None, Some(Live))]);
        assert_eq!(followed.controllers()[0].transitions, 0);
    }

    #[test]
    fn a_state_that_nobody_knows_is_shown_as_none_and_changes_nothing() {
        let mut followed = Followed::default();
        followed.take(vec![seen("nvme0", 7, Some(Live))], MonoTime::from_millis(1000));
        assert_eq!(followed.take(vec![seen("nvme0", 7, None)], MonoTime::from_millis(2000)), []);
        let [controller] = &followed.controllers()[..] else { panic!("one") };
        assert_eq!((controller.state, controller.transitions), (None, 0));
        assert_eq!((followed.subsystems()[0].paths, followed.subsystems()[0].live), (1, 0));
        assert_eq!(followed.take(vec![seen("nvme0", 7, Some(Live))], MonoTime::from_millis(3000)), []);
    }

    #[test]
    fn two_paths_of_one_subsystem_are_counted_together() {
        let mut followed = Followed::default();
        let both = vec![seen("nvme0", 7, Some(Live)), seen("nvme1", 8, Some(Connecting))];
        followed.take(both, MonoTime::from_millis(1000));
        let expected = NvmfSubsystem { nqn: NQN.into(), paths: 2, live: 1, lost: 0 };
        assert_eq!(followed.subsystems(), [expected]);
    }
}
