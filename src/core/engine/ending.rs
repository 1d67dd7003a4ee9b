//! What becomes of a plan and of an undo when the actuator has reported.

use crate::action::{ActionKind, ActionResult, Outcome, Purpose, PutBack, UndoResult};
use crate::event::EventKind;
use crate::ids::{ActionId, PortKey};
use crate::input::Ended;
use crate::phase::Phase;
use crate::settings::Mode;
use crate::trigger::{By, Trigger};
use crate::units::{Direction, MonoTime, Queue};

use super::Engine;
use super::actions::{Origin, Stage, StepState};

impl Engine {
    pub(super) fn ended(&mut self, ended: Ended, now: MonoTime) {
        let Some(action) = self.actions.get_mut(&ended.action) else { return };
        if action.stage == Stage::Reported && matches!(ended.report.outcome, Outcome::Acted { .. }) {
            // Its device went while the plan was under way, and is back: what counts is the undo that was sent since.
            return;
        }
        let (key, kind) = (action.port, action.kind);
        let untouched = matches!(
            ended.report.outcome,
            Outcome::Acted {
                result: ActionResult::Expired | ActionResult::Failed,
                put_back: PutBack::NotNeeded
            }
        );
        if let Some(port) = self.ports.get_mut(&key) {
            match (port.flaps(kind), untouched) {
                (true, true) => port.forget_own_flap(),
                (true, false) => port.note_own_flap(now),
                (false, _) => {}
            }
            port.prevention_timeout_ms = ended.report.prevention_timeout_ms.or(port.prevention_timeout_ms);
        }
        self.revision += 1;
        match ended.report.outcome {
            Outcome::Acted { result, put_back } => {
                self.acted(ended.action, result, put_back, ended.report.reason, now);
            }
            Outcome::Undone(result) => self.undone(ended.action, result, ended.report.reason, now),
        }
        self.forget_if_over(ended.action);
    }

    fn acted(
        &mut self,
        id: ActionId,
        result: ActionResult,
        put_back: PutBack,
        cause: Option<String>,
        now: MonoTime,
    ) {
        let Some(action) = self.actions.get_mut(&id) else { return };
        action.stage = Stage::Reported;
        let in_force = matches!(result, ActionResult::Ok | ActionResult::Unproven);
        if (in_force && !action.kind.lasts()) || (!in_force && put_back != PutBack::Failed) {
            action.steps.clear();
        }
        let (key, kind, purpose) = (action.port, action.kind, action.purpose);
        let targets = action.targets.clone();
        let took = now.since(action.planned_at);
        for (queue, direction) in targets {
            let Some(index) = self.index(key, queue, direction) else { continue };
            let cause = cause.clone();
            let ended = EventKind::ActionEnded { action: id, kind, purpose, result, put_back, took, cause };
            self.emit_queue(now, key, index, ended);
            self.trigger(key, index, Trigger::Acted(result, put_back), now);
            self.catch_up(key, index, put_back, now);
            self.ask_again(key, index, result, now);
        }
        if purpose == Purpose::Test {
            return self.count_test(key, kind, result);
        }
        self.counts.note_action_took(kind, took);
        self.count_result(key, kind, result, now);
    }

    /// While an action was under way nothing else moved its storm: what has ended the storm meanwhile ends it now. What
    /// the action itself has done to link and mask, and taken back, has not.
    fn catch_up(&mut self, key: PortKey, index: usize, put_back: PutBack, now: MonoTime) {
        let Some(port) = self.ports.get(&key) else { return };
        let queue = &port.queues[index];
        if !matches!(queue.phase, Phase::Storm(_)) {
            return;
        }
        let ended = if self.mode() == Mode::Off {
            Trigger::Off
        } else if put_back != PutBack::NotNeeded {
            return;
        } else if port.link.carrier == Some(false) {
            Trigger::CarrierLost(By::Others)
        } else if port.is_pause_off(queue) {
            Trigger::PfcOff(By::Others)
        } else {
            return;
        };
        self.trigger(key, index, ended, now);
    }

    /// A storm that goes on is asked about again after the hold-off, one rung lower if this one did not help.
    fn ask_again(&mut self, key: PortKey, index: usize, result: ActionResult, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        let queue = &mut port.queues[index];
        if !matches!(queue.phase, Phase::Storm(_)) {
            return;
        }
        queue.ask_at = Some(now + queue.rule.hold_off);
        queue.guard_until = None;
        if matches!(result, ActionResult::Ineffective | ActionResult::Failed) {
            queue.rung += 1;
        }
    }

    fn undone(&mut self, id: ActionId, result: UndoResult, cause: Option<String>, now: MonoTime) {
        let Some(action) = self.actions.get_mut(&id) else { return };
        // What this run has changed, and has read back, was put back by somebody else if it reads as before.
        let result = match (result, action.origin) {
            (UndoResult::NotNeeded, Origin::ThisRun) => UndoResult::Foreign,
            (result, Origin::ThisRun | Origin::EarlierRun) => result,
        };
        let (key, kind, purpose) = (action.port, action.kind, action.purpose);
        let Some(place) = action.steps.iter().position(|step| step.state == StepState::Sent) else { return };
        let queues = action.steps[place].queues.clone();
        match result {
            UndoResult::Done | UndoResult::NotNeeded | UndoResult::Foreign => {
                action.steps.remove(place);
            }
            UndoResult::Failed => action.steps[place].state = StepState::Owed,
        }
        for (queue, direction) in queues {
            let Some(index) = self.index(key, queue, direction) else { continue };
            self.end_resumption(key, index, result);
            let ended = EventKind::UndoEnded { action: id, kind, purpose, result, cause: cause.clone() };
            self.emit_queue(now, key, index, ended);
            self.trigger(key, index, Trigger::Undone(result), now);
        }
    }

    /// An action of an earlier run that had taken effect had ended its storm, which was counted. One that never did has
    /// ended nothing: a storm that is found then is still the same.
    fn end_resumption(&mut self, key: PortKey, index: usize, result: UndoResult) {
        if let (UndoResult::Done | UndoResult::Foreign, Some(port)) = (result, self.ports.get_mut(&key)) {
            port.queues[index].resumes = None;
        }
    }

    pub(super) fn index(&self, key: PortKey, queue: Queue, direction: Direction) -> Option<usize> {
        self.ports.get(&key)?.queues.iter().position(|q| q.queue == queue && q.direction == direction)
    }

    pub(super) fn count_result(
        &mut self,
        key: PortKey,
        kind: ActionKind,
        result: ActionResult,
        now: MonoTime,
    ) {
        if let Some(port) = self.ports.get_mut(&key) {
            *port.results.entry((kind, result)).or_default() += 1;
            port.acted_at.insert(kind, now);
        }
    }

    pub(super) fn forget_if_over(&mut self, id: ActionId) {
        let Some(action) = self.actions.get(&id) else { return };
        let owing = self
            .ports
            .get(&action.port)
            .is_some_and(|port| port.queues.iter().any(|queue| queue.phase.owed() == Some(id)));
        if action.is_over() && !owing {
            self.actions.remove(&id);
            self.revision += 1;
        }
    }
}
