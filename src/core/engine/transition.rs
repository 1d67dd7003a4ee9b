//! One queue's step: the phase changes, the storm is opened or closed, and it is told.

use std::time::Duration;

use crate::action::Disruption;
use crate::event::{EventKind, PhaseName};
use crate::evidence::{Quality, THROTTLED};
use crate::ids::{PortKey, StormId};
use crate::phase::{Class, EndReason, Phase};
use crate::settings::Mode;
use crate::trigger::{By, Decision, Onset, Trigger};
use crate::units::MonoTime;
use crate::watchdog::step;

use super::queue::{Fit, QueueState};
use super::{Engine, Stopping};

/// A hold is drawn from ± this many percent, so that the nodes of a fleet do not undo in step.
const HOLD_JITTER: u32 = 20;

impl Engine {
    pub(super) fn trigger_all(&mut self, key: PortKey, trigger: Trigger, now: MonoTime) {
        let count = self.ports.get(&key).map_or(0, |port| port.queues.len());
        for index in 0..count {
            self.trigger(key, index, trigger, now);
        }
    }

    /// Steps one queue.
    pub(super) fn trigger(&mut self, key: PortKey, index: usize, trigger: Trigger, now: MonoTime) {
        let Some(port) = self.ports.get(&key) else { return };
        let queue = &port.queues[index];
        let armed = self.mode() != Mode::Off && queue.detect_fits == Fit::Fits;
        let before = queue.phase;
        // The common case by far: nothing happens on a healthy queue.
        if matches!((before, trigger), (Phase::Healthy, Trigger::Clear | Trigger::Time | Trigger::Withdraw)) {
            return;
        }
        // What is not armed finds no storm. One that is open goes on until it ends.
        let open = before.owed().is_some() || before.open_storm().is_some();
        if !armed && matches!(trigger, Trigger::Blocked(_)) && !open {
            return;
        }
        let acted = matches!(trigger, Trigger::Acted(..));
        let hold = if acted { self.hold(key, index) } else { Duration::ZERO };
        let Some(port) = self.ports.get_mut(&key) else { return };
        let queue = &mut port.queues[index];
        let (after, decision) = step(before, trigger, &queue.terms(now, hold));
        queue.phase = after;
        if before.label() != after.label() {
            let name = |phase: &Phase| PhaseName(phase.label().into());
            self.revision += 1;
            let kind = EventKind::PhaseChanged { from: name(&before), to: name(&after) };
            self.emit_queue(now, key, index, kind);
        }
        if let Some(decision) = decision {
            self.decide(key, index, decision, now);
        }
        if before.label() != after.label() {
            self.settle(key, index, now);
        }
    }

    /// The hold of the action that has just ended, by how far it disrupts.
    fn hold(&mut self, key: PortKey, index: usize) -> Duration {
        let Some(queue) = self.ports.get(&key).map(|port| &port.queues[index]) else { return Duration::ZERO };
        let acting = queue.phase.owed().and_then(|action| self.actions.get(&action));
        let linkwise = acting.is_some_and(|action| action.disruption >= Disruption::Link);
        let hold = if linkwise { queue.rule.hold_link } else { queue.rule.hold };
        self.jitter(hold, HOLD_JITTER)
    }

    fn decide(&mut self, key: PortKey, index: usize, decision: Decision, now: MonoTime) {
        match decision {
            Decision::StormFound(onset) => self.open_storm(key, index, onset, now),
            Decision::StormEnded(reason) => self.close_storm(key, index, reason, now),
            // The step of an action is sent when no queue of it is mitigated any more.
            Decision::Undo(_) | Decision::StopRetrying(_) => {}
            Decision::DropUndo(action) => {
                let queue = self.ports.get(&key).map(|port| &port.queues[index]);
                let Some((queue, direction)) = queue.map(|q| (q.queue, q.direction)) else { return };
                if let Some(action) = self.actions.get_mut(&action) {
                    action.disown(queue, direction);
                }
                self.forget_if_over(action);
                self.emit_queue(now, key, index, EventKind::UndoDropped { action });
            }
        }
        self.revision += 1;
    }

    fn open_storm(&mut self, key: PortKey, index: usize, onset: Onset, now: MonoTime) {
        let storm = StormId(self.next_storm);
        let Some(port) = self.ports.get_mut(&key) else { return };
        let queue = &mut port.queues[index];
        // A storm that was open when the agent was restarted, and has not ended meanwhile, is still the same.
        let resumes = queue.resumes.take();
        let evidence = queue.evidence;
        let resumes = resumes.map(|resumption| resumption.since);
        let since = resumes.unwrap_or(onset.since);
        queue.storm = Some((storm, since));
        queue.ask_at = Some(now);
        queue.rung = 0;
        queue.guard_until = None;
        if resumes.is_none() {
            queue.accounts.storms += 1;
            self.counts.detection.observe(now.since(onset.since));
        }
        if onset.class == Class::DemandUnknown {
            queue.accounts.demand_unknown += 1;
        }
        self.next_storm += 1;
        let kind = EventKind::StormDetected {
            storm,
            class: onset.class,
            onset: since,
            paused: now.since(since),
            share: evidence.map(|evidence| evidence.share).unwrap_or_default(),
            estimated: evidence.is_some_and(|evidence| evidence.quality == Quality::Estimated),
            resumed: resumes.is_some(),
        };
        if let (Some(since), Phase::Storm(storm)) = (resumes, &mut queue.phase) {
            storm.since = since;
        }
        self.emit_queue(now, key, index, kind);
    }

    pub(super) fn close_storm(&mut self, key: PortKey, index: usize, reason: EndReason, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        let queue = &mut port.queues[index];
        let Some((storm, since)) = queue.storm.take() else { return };
        queue.ask_at = None;
        queue.guard_until = None;
        let lasted = now.since(since);
        queue.accounts.storm_time += lasted;
        if reason == EndReason::Mitigated {
            queue.note_mitigated(now);
        }
        self.emit_queue(now, key, index, EventKind::StormEnded { storm, reason, lasted });
    }

    /// A queue that has just become healthy is suspended again if its port cannot be paused now; one that has just
    /// been mitigated is undone at once if actions are no longer wanted, and its clocks wait if the carrier is away.
    fn settle(&mut self, key: PortKey, index: usize, now: MonoTime) {
        let Some(port) = self.ports.get(&key) else { return };
        let queue = &port.queues[index];
        match queue.phase {
            Phase::Healthy => {
                let pfc_off = port.is_pause_off(queue);
                let carrier_lost = port.link.carrier == Some(false);
                if pfc_off {
                    self.trigger(key, index, Trigger::PfcOff(By::Others), now);
                }
                if carrier_lost {
                    self.trigger(key, index, Trigger::CarrierLost(By::Others), now);
                }
            }
            Phase::Mitigated(_) if self.mode() != Mode::Enforce || self.stopping == Stopping::Yes => {
                self.trigger(key, index, Trigger::Withdraw, now);
            }
            // The carrier went while the operation was under way: then nobody listened.
            Phase::Mitigated(_) | Phase::Probation(_) if port.link.carrier == Some(false) => {
                let by = if port.in_own_flap(now) { By::Us } else { By::Others };
                self.trigger(key, index, Trigger::CarrierLost(by), now);
            }
            Phase::Suspect
            | Phase::Storm(_)
            | Phase::Testing(_)
            | Phase::Mitigated(_)
            | Phase::Undoing(_)
            | Phase::UndoFailed(_)
            | Phase::Probation(_)
            | Phase::Locked(_)
            | Phase::Suspended(_) => {}
        }
    }

    /// Tells when a milder kind of pause begins or ends. None of them is ever acted on.
    pub(super) fn note_milder(&mut self, key: PortKey, index: usize, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        let queue = &mut port.queues[index];
        let Some(evidence) = queue.evidence else { return };
        let storm = matches!(queue.phase, Phase::Storm(_));
        // With PFC off a peer's frames hold nothing, whatever it means by them.
        let holds = queue.phase.owed().is_none() && !matches!(queue.phase, Phase::Suspended(_));
        let before = queue.milder;
        queue.milder.choppy = evidence.choppy && !storm;
        queue.milder.xon_storm = evidence.xon_storm && (holds || storm);
        queue.milder.throttled = evidence.throttled;
        let after = queue.milder;
        if before == after {
            return;
        }
        let double = queue.windows.detect() * 2;
        let mut changes = vec![
            (Class::Choppy, double, before.choppy, after.choppy),
            (Class::XonStorm, queue.windows.detect(), before.xon_storm, after.xon_storm),
        ];
        for (i, (window, _)) in THROTTLED.into_iter().enumerate() {
            changes.push((Class::Throttled, window, before.throttled[i], after.throttled[i]));
            queue.accounts.throttled[i] += u64::from(after.throttled[i] && !before.throttled[i]);
        }
        queue.accounts.choppy += u64::from(after.choppy && !before.choppy);
        queue.accounts.xon_storms += u64::from(after.xon_storm && !before.xon_storm);
        for (class, window, was, is) in changes {
            match (was, is) {
                (false, true) => {
                    let share = evidence.share;
                    self.emit_queue(now, key, index, EventKind::PauseEntered { class, window, share });
                }
                (true, false) => self.emit_queue(now, key, index, EventKind::PauseLeft { class, window }),
                (true, true) | (false, false) => {}
            }
        }
    }
}

impl QueueState {
    /// When time alone would change the phase.
    pub(super) fn phase_deadline(&self) -> Option<MonoTime> {
        self.phase.deadline(self.blind_max())
    }

    /// When time alone would change anything.
    pub(super) fn deadline(&self, stopping: Stopping) -> Option<MonoTime> {
        let ask = self.ask_at.filter(|_| stopping == Stopping::No && self.wants_action());
        self.phase_deadline().into_iter().chain(ask).min()
    }
}
