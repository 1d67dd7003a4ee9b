//! What becomes of one queue in one direction: its phase, and the step from one to the next.
//!
//! ```text
//!                    rule holds                     ok, unproven
//! Healthy ─▶ Suspect ────────▶ Storm ────────────────────────────▶ Mitigated
//!    ▲  ◀────── clear            │ ▲  │ not put back                   │ due
//!    │                   restore │ │  └──────────────▶ UndoFailed ◀──┐ ▼
//!    ├───────────────────────────┘ │                        │ retry  Undoing
//!    │                             │ relapse                └────────▶ │ read back
//!    ├────────── its end ── Probation ◀─────────────────────────────────┤
//!    └────────── ack, lock_for ── Locked ◀──── the lock rule ───────────┘
//!
//! Healthy ── the operator's word ──▶ Testing ── ok, unproven ──▶ Mitigated ─▶ Undoing ─▶ Healthy
//!
//! Healthy, Suspect, Storm, Probation ── carrier lost, PFC bit off ──▶ Suspended ── both back ──▶ Healthy
//! ```
//!
//! [`step`] is pure and total: it has an answer for every phase and every trigger, and says nothing about how the
//! answer is carried out. The cells are the rows of the table test below.

use std::time::Duration;

use crate::action::{ActionResult, Purpose, PutBack, UndoResult};
use crate::ids::ActionId;
use crate::phase::{
    CARRIER_WAIT, Carrier, EndReason, LockReason, Locked, LockedStorm, Mitigated, Phase, Probation, Storm,
    Suspended, UndoFailed, Undoing,
};
use crate::trigger::{By, Decision, Onset, Terms, Trigger};
use crate::units::MonoTime;

/// An undo that failed is tried again after 1, 2, 4 … seconds, at most this.
pub const RETRY_MAX: Duration = Duration::from_secs(60);
/// A relapse doubles the hold; after this many it stays (2^16 times any hold is above any `hold_max`).
const DOUBLINGS_MAX: u32 = 16;

/// The phase after `trigger`, and what is to be done about it.
#[must_use]
pub fn step(phase: Phase, trigger: Trigger, terms: &Terms) -> (Phase, Option<Decision>) {
    match phase {
        Phase::Healthy | Phase::Suspect => from_calm(phase, trigger, terms),
        Phase::Storm(storm) => from_storm(storm, trigger, terms),
        Phase::Testing(action) => from_testing(action, trigger, terms),
        Phase::Mitigated(mitigated) => from_mitigated(mitigated, trigger, terms),
        Phase::Undoing(undoing) => from_undoing(undoing, trigger, terms),
        Phase::UndoFailed(failed) => from_undo_failed(failed, trigger, terms),
        Phase::Probation(probation) => from_probation(probation, trigger, terms),
        Phase::Locked(locked) => from_locked(locked, trigger, terms),
        Phase::Suspended(suspended) => (from_suspended(suspended, trigger), None),
    }
}

fn storm_found(onset: Onset, doublings: u32, terms: &Terms) -> (Phase, Option<Decision>) {
    let storm = Storm {
        since: onset.since,
        class: onset.class,
        blocked_at: terms.now,
        blind_since: None,
        doublings,
        acting: None,
    };
    (Phase::Storm(storm), Some(Decision::StormFound(onset)))
}

const fn suspended_by_carrier() -> Phase {
    Phase::Suspended(Suspended { carrier_lost: true, pfc_off: false })
}

const fn suspended_by_pfc() -> Phase {
    Phase::Suspended(Suspended { carrier_lost: false, pfc_off: true })
}

fn from_calm(phase: Phase, trigger: Trigger, terms: &Terms) -> (Phase, Option<Decision>) {
    match trigger {
        Trigger::Blocked(Some(onset)) => storm_found(onset, 0, terms),
        Trigger::Blocked(None) => (Phase::Suspect, None),
        Trigger::Clear | Trigger::Blind | Trigger::Off => (Phase::Healthy, None),
        Trigger::CarrierLost(_) => (suspended_by_carrier(), None),
        Trigger::PfcOff(_) => (suspended_by_pfc(), None),
        // An action that begins where there is no storm is a test.
        Trigger::ActionBegun(action) if phase == Phase::Healthy => (Phase::Testing(action), None),
        Trigger::CarrierUp
        | Trigger::PfcOn(_)
        | Trigger::ActionBegun(_)
        | Trigger::Acted(..)
        | Trigger::Undone(_)
        | Trigger::Ack
        | Trigger::Withdraw
        | Trigger::Time => (phase, None),
    }
}

/// While an action is under way everything else waits: its outcome comes, and then the phase is known.
fn from_storm(mut storm: Storm, trigger: Trigger, terms: &Terms) -> (Phase, Option<Decision>) {
    match trigger {
        Trigger::ActionBegun(action) => storm.acting = Some(action),
        Trigger::Acted(result, put_back) => return acted(storm, result, put_back, terms),
        Trigger::Blocked(_) => {
            storm.blocked_at = terms.now;
            storm.blind_since = None;
        }
        Trigger::Clear => {
            storm.see_again(terms.now);
            if storm.acting.is_none() && terms.now.since(storm.blocked_at) >= terms.restore {
                return (Phase::Healthy, Some(Decision::StormEnded(EndReason::Cleared)));
            }
        }
        Trigger::Blind => storm.blind_since = storm.blind_since.or(Some(terms.now)),
        Trigger::Time => {
            let blind = storm.blind_since.is_some_and(|since| terms.now.since(since) >= terms.blind_max);
            if blind && storm.acting.is_none() {
                return (Phase::Healthy, Some(Decision::StormEnded(EndReason::Blind)));
            }
        }
        Trigger::CarrierLost(_) if storm.acting.is_none() => {
            return (suspended_by_carrier(), Some(Decision::StormEnded(EndReason::LinkDown)));
        }
        Trigger::PfcOff(_) if storm.acting.is_none() => {
            return (suspended_by_pfc(), Some(Decision::StormEnded(EndReason::PfcOff)));
        }
        Trigger::Off if storm.acting.is_none() => {
            return (Phase::Healthy, Some(Decision::StormEnded(EndReason::ModeOff)));
        }
        Trigger::CarrierLost(_)
        | Trigger::CarrierUp
        | Trigger::PfcOff(_)
        | Trigger::PfcOn(_)
        | Trigger::Undone(_)
        | Trigger::Ack
        | Trigger::Off
        | Trigger::Withdraw => {}
    }
    (Phase::Storm(storm), None)
}

impl Storm {
    /// Ends a blindness; the time it lasted does not count towards the restore time.
    fn see_again(&mut self, now: MonoTime) {
        if let Some(since) = self.blind_since.take() {
            self.blocked_at = self.blocked_at + now.since(since);
        }
    }
}

fn acted(
    mut storm: Storm,
    result: ActionResult,
    put_back: PutBack,
    terms: &Terms,
) -> (Phase, Option<Decision>) {
    let Some(action) = storm.acting.take() else { return (Phase::Storm(storm), None) };
    let hold = terms.hold.saturating_mul(1 << storm.doublings.min(DOUBLINGS_MAX)).min(terms.hold_max);
    match (result, put_back) {
        (ActionResult::Ok | ActionResult::Unproven, _) => {
            let mitigated = Mitigated {
                action,
                purpose: Purpose::Storm,
                due: terms.now + hold,
                due_max: terms.now + terms.hold_max,
                hold,
                doublings: storm.doublings,
                carrier: Carrier::Up,
            };
            (Phase::Mitigated(mitigated), Some(Decision::StormEnded(EndReason::Mitigated)))
        }
        (_, PutBack::Failed) => {
            let purpose = Purpose::Storm;
            let undoing = Undoing { action, purpose, hold, doublings: storm.doublings, attempts: 1 };
            (undo_failed(undoing, terms), Some(Decision::StormEnded(EndReason::UndoFailed)))
        }
        (
            ActionResult::Ineffective | ActionResult::Failed | ActionResult::Expired | ActionResult::DryRun,
            PutBack::NotNeeded | PutBack::Done,
        ) => (Phase::Storm(storm), None),
    }
}

/// While the operator's test is under way everything else waits for its outcome, as in a storm.
fn from_testing(action: ActionId, trigger: Trigger, terms: &Terms) -> (Phase, Option<Decision>) {
    let Trigger::Acted(result, put_back) = trigger else { return (Phase::Testing(action), None) };
    let (purpose, hold) = (Purpose::Test, terms.hold.min(terms.hold_max));
    let phase = match (result, put_back) {
        (ActionResult::Ok | ActionResult::Unproven, _) => Phase::Mitigated(Mitigated {
            action,
            purpose,
            due: terms.now + hold,
            due_max: terms.now + terms.hold_max,
            hold,
            doublings: 0,
            carrier: Carrier::Up,
        }),
        (_, PutBack::Failed) => {
            undo_failed(Undoing { action, purpose, hold, doublings: 0, attempts: 1 }, terms)
        }
        (
            ActionResult::Ineffective | ActionResult::Failed | ActionResult::Expired | ActionResult::DryRun,
            PutBack::NotNeeded | PutBack::Done,
        ) => Phase::Healthy,
    };
    (phase, None)
}

fn undo_failed(undoing: Undoing, terms: &Terms) -> Phase {
    let seconds = 1u64 << undoing.attempts.saturating_sub(1).min(6);
    let wait = Duration::from_secs(seconds).min(RETRY_MAX);
    Phase::UndoFailed(UndoFailed { undoing, retry_at: Some(terms.now + wait) })
}

fn from_mitigated(mut m: Mitigated, trigger: Trigger, terms: &Terms) -> (Phase, Option<Decision>) {
    let undo = (Phase::Undoing(m.undoing()), Some(Decision::Undo(m.action)));
    match trigger {
        // A test makes way for a storm, which is found and counted as soon as it is taken back.
        Trigger::Blocked(Some(_)) if m.purpose == Purpose::Test => return undo,
        Trigger::Blocked(None) if m.purpose == Purpose::Test => {}
        Trigger::Blocked(_) => m.due = m.due.max(terms.now + terms.restore).min(m.due_max),
        Trigger::Withdraw | Trigger::Off => return undo,
        Trigger::CarrierLost(By::Us) => m.carrier = Carrier::LostByUs(terms.now),
        Trigger::CarrierLost(By::Others) => m.carrier = Carrier::LostByOthers,
        Trigger::CarrierUp => match m.carrier {
            Carrier::LostByOthers => return undo,
            Carrier::LostByUs(since) => {
                m.due = (m.due + terms.now.since(since).min(CARRIER_WAIT)).min(m.due_max);
                m.carrier = Carrier::Up;
            }
            Carrier::Up => {}
        },
        Trigger::PfcOn(By::Others) => return locked(LockReason::OtherOwner, m.action, terms),
        Trigger::Clear
        | Trigger::Blind
        | Trigger::Time
        | Trigger::PfcOff(_)
        | Trigger::PfcOn(By::Us)
        | Trigger::ActionBegun(_)
        | Trigger::Acted(..)
        | Trigger::Undone(_)
        | Trigger::Ack => {}
    }
    if terms.now >= m.undo_at() { undo } else { (Phase::Mitigated(m), None) }
}

fn locked(reason: LockReason, action: ActionId, terms: &Terms) -> (Phase, Option<Decision>) {
    let locked = Locked { until: terms.now + terms.lock_for, reason, storm: None };
    (Phase::Locked(locked), Some(Decision::DropUndo(action)))
}

fn from_undoing(undoing: Undoing, trigger: Trigger, terms: &Terms) -> (Phase, Option<Decision>) {
    match trigger {
        Trigger::Undone(UndoResult::Failed) => {
            (undo_failed(Undoing { attempts: undoing.attempts + 1, ..undoing }, terms), None)
        }
        Trigger::Undone(UndoResult::Foreign) => {
            (locked(LockReason::OtherOwner, undoing.action, terms).0, None)
        }
        // The run that owed it has ended before it changed anything.
        Trigger::Undone(UndoResult::NotNeeded) => (Phase::Healthy, None),
        // Pause that follows a test is no relapse.
        Trigger::Undone(UndoResult::Done) if undoing.purpose == Purpose::Test => (Phase::Healthy, None),
        Trigger::Undone(UndoResult::Done) if terms.lock_due => {
            (locked(LockReason::Relapses, undoing.action, terms).0, None)
        }
        Trigger::Undone(UndoResult::Done) => {
            let until = Some(terms.now + undoing.hold);
            let probation = Probation { until, hold: undoing.hold, doublings: undoing.doublings };
            (Phase::Probation(probation), None)
        }
        Trigger::Blocked(_)
        | Trigger::Clear
        | Trigger::Blind
        | Trigger::CarrierLost(_)
        | Trigger::CarrierUp
        | Trigger::PfcOff(_)
        | Trigger::PfcOn(_)
        | Trigger::ActionBegun(_)
        | Trigger::Acted(..)
        | Trigger::Ack
        | Trigger::Off
        | Trigger::Withdraw
        | Trigger::Time => (Phase::Undoing(undoing), None),
    }
}

fn from_undo_failed(failed: UndoFailed, trigger: Trigger, terms: &Terms) -> (Phase, Option<Decision>) {
    let action = failed.undoing.action;
    match trigger {
        Trigger::Time if failed.retry_at.is_some_and(|at| terms.now >= at) => {
            (Phase::Undoing(failed.undoing), Some(Decision::Undo(action)))
        }
        // An agent that ends does not wait for the next try.
        Trigger::Withdraw if failed.retry_at.is_some() => {
            (Phase::Undoing(failed.undoing), Some(Decision::Undo(action)))
        }
        Trigger::Ack => {
            (Phase::UndoFailed(UndoFailed { retry_at: None, ..failed }), Some(Decision::StopRetrying(action)))
        }
        Trigger::PfcOn(By::Others) => locked(LockReason::OtherOwner, action, terms),
        Trigger::Blocked(_)
        | Trigger::Clear
        | Trigger::Blind
        | Trigger::CarrierLost(_)
        | Trigger::CarrierUp
        | Trigger::PfcOff(_)
        | Trigger::PfcOn(By::Us)
        | Trigger::ActionBegun(_)
        | Trigger::Acted(..)
        | Trigger::Undone(_)
        | Trigger::Off
        | Trigger::Withdraw
        | Trigger::Time => (Phase::UndoFailed(failed), None),
    }
}

fn from_probation(mut p: Probation, trigger: Trigger, terms: &Terms) -> (Phase, Option<Decision>) {
    match trigger {
        Trigger::Blocked(Some(onset)) if terms.lock_due => {
            let storm = LockedStorm { since: onset.since, blocked_at: terms.now };
            let until = terms.now + terms.lock_for;
            let locked = Locked { until, reason: LockReason::Relapses, storm: Some(storm) };
            return (Phase::Locked(locked), Some(Decision::StormFound(onset)));
        }
        Trigger::Blocked(Some(onset)) => {
            return storm_found(onset, (p.doublings + 1).min(DOUBLINGS_MAX), terms);
        }
        Trigger::Blind | Trigger::Off => return (Phase::Healthy, None),
        Trigger::CarrierLost(By::Us) => p.until = None,
        Trigger::CarrierUp if p.until.is_none() => p.until = Some(terms.now + p.hold),
        Trigger::CarrierLost(By::Others) => return (suspended_by_carrier(), None),
        Trigger::PfcOff(_) => return (suspended_by_pfc(), None),
        Trigger::Blocked(None)
        | Trigger::Clear
        | Trigger::CarrierUp
        | Trigger::PfcOn(_)
        | Trigger::ActionBegun(_)
        | Trigger::Acted(..)
        | Trigger::Undone(_)
        | Trigger::Ack
        | Trigger::Withdraw
        | Trigger::Time => {}
    }
    match p.until {
        Some(until) if terms.now >= until => (Phase::Healthy, None),
        _ => (Phase::Probation(p), None),
    }
}

fn from_locked(mut locked: Locked, trigger: Trigger, terms: &Terms) -> (Phase, Option<Decision>) {
    let ended = |reason| locked.storm.map(|_| Decision::StormEnded(reason));
    match trigger {
        Trigger::Blocked(found) => match (&mut locked.storm, found) {
            (Some(storm), _) => storm.blocked_at = terms.now,
            (None, Some(onset)) => {
                locked.storm = Some(LockedStorm { since: onset.since, blocked_at: terms.now });
                return (Phase::Locked(locked), Some(Decision::StormFound(onset)));
            }
            (None, None) => {}
        },
        Trigger::Clear | Trigger::Blind | Trigger::CarrierLost(_) | Trigger::PfcOff(_) => {
            let quiet = locked.storm.is_some_and(|s| terms.now.since(s.blocked_at) >= terms.restore);
            if quiet {
                let decision = ended(EndReason::Cleared);
                locked.storm = None;
                return (Phase::Locked(locked), decision);
            }
        }
        Trigger::Ack => return (Phase::Healthy, ended(EndReason::Locked)),
        Trigger::Off => return (Phase::Healthy, ended(EndReason::ModeOff)),
        Trigger::Time if terms.now >= locked.until => return (Phase::Healthy, ended(EndReason::Locked)),
        Trigger::CarrierUp
        | Trigger::PfcOn(_)
        | Trigger::ActionBegun(_)
        | Trigger::Acted(..)
        | Trigger::Undone(_)
        | Trigger::Withdraw
        | Trigger::Time => {}
    }
    (Phase::Locked(locked), None)
}

fn from_suspended(mut suspended: Suspended, trigger: Trigger) -> Phase {
    match trigger {
        Trigger::CarrierLost(_) => suspended.carrier_lost = true,
        Trigger::CarrierUp => suspended.carrier_lost = false,
        Trigger::PfcOff(_) => suspended.pfc_off = true,
        Trigger::PfcOn(_) => suspended.pfc_off = false,
        Trigger::Off => return Phase::Healthy,
        Trigger::Blocked(_)
        | Trigger::Clear
        | Trigger::Blind
        | Trigger::ActionBegun(_)
        | Trigger::Acted(..)
        | Trigger::Undone(_)
        | Trigger::Ack
        | Trigger::Withdraw
        | Trigger::Time => {}
    }
    if suspended.carrier_lost || suspended.pfc_off { Phase::Suspended(suspended) } else { Phase::Healthy }
}

#[cfg(test)]
mod tests;
