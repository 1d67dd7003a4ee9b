//! When an undo is ordered: at once when it is due, and one after another where links go down.

use crate::action::{Disruption, Order, Undo, UndoResult};
use crate::ids::{ActionId, PortKey};
use crate::input::Effect;
use crate::phase::{CARRIER_WAIT, Phase};
use crate::trigger::Trigger;
use crate::units::MonoTime;

use super::actions::{Action, Stage, StepState, UndoStep, Wait};
use super::port::Port;
use super::{Engine, Stopping};

impl Engine {
    /// Sends the undo steps that are due: those of which no queue is mitigated any more.
    pub(super) fn send_undos(&mut self, now: MonoTime) {
        for id in self.actions.keys().copied().collect::<Vec<_>>() {
            if let Some(place) = self.due_step(id) {
                self.send_undo(id, place, now);
            }
        }
        self.finish_without_undo(now);
    }

    fn due_step(&self, id: ActionId) -> Option<usize> {
        let action = self.actions.get(&id).filter(|action| !action.is_working())?;
        let port = self.ports.get(&action.port)?;
        action.steps.iter().position(|step| is_due(action, step, port))
    }

    fn send_undo(&mut self, id: ActionId, place: usize, now: MonoTime) {
        let Some(action) = self.actions.get(&id) else { return };
        let before = action.steps[place].wait;
        let wait = self.wait_of(action, before, now);
        let Some(action) = self.actions.get_mut(&id) else { return };
        let step = &mut action.steps[place];
        step.wait = wait;
        if wait.is_some() {
            return;
        }
        step.state = StepState::Sent;
        let undo = Undo {
            id,
            port: action.port,
            kind: action.kind,
            purpose: action.purpose,
            queues: step.queues.clone(),
            ops: step.ops.clone(),
            headroom: action.headroom,
        };
        let kind = action.kind;
        if let Some(port) = self.ports.get_mut(&undo.port).filter(|port| port.flaps(kind)) {
            port.note_own_flap(now);
        }
        self.out.push(Effect::Act(Box::new(Order::Undo(undo))));
    }

    /// An undo is never refused, but two links do not go down together: it waits until the other one is back, a
    /// minute at most, and not at all when the agent is about to end.
    fn wait_of(&self, action: &Action, before: Option<Wait>, now: MonoTime) -> Option<Wait> {
        if action.disruption < Disruption::Link || self.stopping == Stopping::Yes {
            return None;
        }
        let busy_until = self.link_busy_until(Some(action.port), now)?;
        let since = before.map_or(now, |wait| wait.since);
        let limit = since + CARRIER_WAIT;
        (now < limit).then(|| Wait { since, look_at: busy_until.min(limit) })
    }

    /// Until when an operation that takes a link down is going on, its carrier not yet back, at another port than
    /// `except`; `None` if there is none, [`MonoTime::MAX`] if nobody can tell how long.
    pub(super) fn link_busy_until(&self, except: Option<PortKey>, now: MonoTime) -> Option<MonoTime> {
        let elsewhere = |key: PortKey| Some(key) != except;
        let working = self
            .actions
            .values()
            .any(|a| elsewhere(a.port) && a.disruption >= Disruption::Link && a.is_working());
        let flaps = self.ports.values().filter(|port| elsewhere(port.key));
        let flaps = flaps.filter_map(|port| port.link_operation_until(now));
        flaps.chain(working.then_some(MonoTime::MAX)).max()
    }

    /// When an undo that waits for another port's link is looked at again.
    pub(super) fn undo_deadline(&self) -> Option<MonoTime> {
        let steps = self.actions.values().flat_map(|action| &action.steps);
        steps.filter_map(|step| step.wait.map(|wait| wait.look_at)).min()
    }

    /// Actions that set nothing lasting have nothing to take back: their undo is done as soon as it is due.
    fn finish_without_undo(&mut self, now: MonoTime) {
        let done =
            self.actions.values().filter(|action| action.stage == Stage::Reported && action.steps.is_empty());
        for (id, key) in done.map(|action| (action.id, action.port)).collect::<Vec<_>>() {
            let count = self.ports.get(&key).map_or(0, |port| port.queues.len());
            let mut waiting = false;
            for index in 0..count {
                let phase = self.ports[&key].queues[index].phase;
                if phase.owed() != Some(id) {
                    continue;
                }
                if matches!(phase, Phase::Undoing(_)) {
                    self.trigger(key, index, Trigger::Undone(UndoResult::Done), now);
                } else {
                    waiting = true;
                }
            }
            if !waiting {
                self.actions.remove(&id);
            }
        }
    }
}

/// Whether a queue of the step is to be undone, and none is still mitigated.
fn is_due(action: &Action, step: &UndoStep, port: &Port) -> bool {
    let phase = |&(queue, direction): &(_, _)| {
        port.queues.iter().find(|q| q.queue == queue && q.direction == direction).map(|q| q.phase)
    };
    let phases = || step.queues.iter().filter_map(phase).filter(|p| p.owed() == Some(action.id));
    phases().any(|p| matches!(p, Phase::Undoing(_))) && !phases().any(|p| matches!(p, Phase::Mitigated(_)))
}
