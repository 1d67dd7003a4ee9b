//! What a measurement takes down while a world runs: readings, storms, actions.

use std::time::Duration;

use crate::action::{ActionResult, Order};
use crate::event::EventKind;
use crate::input::{Effect, Input};
use crate::phase::EndReason;
use crate::units::MonoTime;

/// A reading: its middle, how long it took, and whether it differed from the one before.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) at: MonoTime,
    pub(super) took: Duration,
    pub(super) differs: bool,
    values: Vec<u64>,
}

/// See the module. Looks at one port only.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    pub(super) reads: Vec<Read>,
    /// Storms found, each with the place of the reading that decided.
    pub(super) found: Vec<(MonoTime, usize)>,
    /// Storms ended, and how.
    pub(super) ended: Vec<(MonoTime, EndReason)>,
    pub(super) plans: u64,
    pub(super) expired: u64,
    /// The decision window in force at the end.
    pub(super) detect: Duration,
}

impl Probe {
    pub(super) fn note(&mut self, now: MonoTime, input: &Input, effects: &[Effect]) {
        if let Input::Reading(reading) = input {
            let differs = self.reads.last().is_none_or(|before| before.values != reading.values);
            let values = reading.values.clone();
            self.reads.push(Read { at: reading.at, took: reading.took, differs, values });
        }
        for effect in effects {
            match effect {
                Effect::Emit(event) => self.note_event(now, &event.kind),
                Effect::Act(order) => self.plans += u64::from(matches!(order.as_ref(), Order::Do(_))),
                Effect::Withdraw(..) | Effect::Pace(..) | Effect::AskGuard => {}
            }
        }
    }

    fn note_event(&mut self, now: MonoTime, kind: &EventKind) {
        if let EventKind::StormDetected { .. } = kind {
            self.found.push((now, self.reads.len().saturating_sub(1)));
        }
        if let EventKind::StormEnded { reason, .. } = kind {
            self.ended.push((now, *reason));
        }
        if let EventKind::ActionEnded { result: ActionResult::Expired, .. } = kind {
            self.expired += 1;
        }
    }

    /// The measured time between the reading at `place` and the one before that had something new.
    pub(super) fn span_before(&self, place: usize) -> Duration {
        let before = self.reads[..place].iter().rev().find(|read| read.differs);
        before.map_or(Duration::ZERO, |before| self.reads[place].at.since(before.at))
    }

    /// The first reading in which a pause that began at `onset` shows: counters tick in microseconds.
    pub(super) fn shows(&self, onset: MonoTime) -> Option<usize> {
        let visible = onset + Duration::from_micros(1);
        self.reads.iter().position(|read| read.at >= visible && read.differs)
    }

    /// The measured time from the reading before the one at `place` to the raw one before that: what a source that
    /// refreshes slowly showed there may have been as old.
    pub(super) fn age_before(&self, place: usize) -> Duration {
        let Some(before) = self.reads[..place].iter().rposition(|read| read.differs) else {
            return Duration::ZERO;
        };
        let raw = before.saturating_sub(1);
        self.reads[before].at.since(self.reads[raw].at)
    }
}
