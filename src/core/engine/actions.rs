//! The actions that are under way or in force, and the undos they owe.
//!
//! An undo is cut into steps that can be taken alone: one per priority where a priority can be switched without
//! touching the others, one for all where the operation is the port's or takes the link down. A step is taken when
//! no queue of it is mitigated any more.

use serde::{Deserialize, Serialize};

use crate::action::{ActionKind, Disruption, Headroom, Op, Plan, Purpose, Undo, UndoOp};
use crate::ids::{ActionId, PortKey};
use crate::units::{Direction, MonoTime, PriorityMask, Queue};

/// One action from its plan to its last undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Action {
    pub(super) id: ActionId,
    pub(super) port: PortKey,
    pub(super) kind: ActionKind,
    #[serde(default)]
    pub(super) purpose: Purpose,
    pub(super) disruption: Disruption,
    pub(super) planned_at: MonoTime,
    pub(super) targets: Vec<(Queue, Direction)>,
    pub(super) stage: Stage,
    pub(super) origin: Origin,
    pub(super) steps: Vec<UndoStep>,
    /// The port's receive buffers before it.
    pub(super) headroom: Option<Headroom>,
}

/// Which run of the agent has begun an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Origin {
    /// This one, which was told what became of it.
    ThisRun,
    /// An earlier one, which may have ended before it changed anything.
    EarlierRun,
}

/// How far an action is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// The actuator works on the plan.
    Begun,
    /// It still does, and was told not to begin it any more.
    Withdrawn,
    /// It has reported.
    Reported,
}

/// A part of an undo that can be taken alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UndoStep {
    pub(super) queues: Vec<(Queue, Direction)>,
    pub(super) ops: Vec<UndoOp>,
    pub(super) state: StepState,
    /// It is due, and waits for another port's link.
    pub(super) wait: Option<Wait>,
}

/// See [`UndoStep::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wait {
    /// Since then.
    pub(super) since: MonoTime,
    /// It is looked at again then, at the latest.
    pub(super) look_at: MonoTime,
}

/// How far an undo step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum StepState {
    /// Owed.
    Owed,
    /// The actuator works on it.
    Sent,
}

impl Action {
    pub(super) fn new(plan: &Plan, now: MonoTime) -> Self {
        let undo = plan.as_undo();
        let steps = cut(&undo, plan.disruption);
        Self {
            id: plan.id,
            port: plan.port,
            kind: plan.kind,
            purpose: plan.purpose,
            disruption: plan.disruption,
            planned_at: now,
            targets: undo.queues,
            stage: Stage::Begun,
            origin: Origin::ThisRun,
            steps,
            headroom: undo.headroom,
        }
    }

    /// An action of an earlier run whose undo is owed.
    pub(super) fn restored(undo: &Undo, port: PortKey, disruption: Disruption, now: MonoTime) -> Self {
        Self {
            id: undo.id,
            port,
            kind: undo.kind,
            purpose: undo.purpose,
            disruption,
            planned_at: now,
            targets: undo.queues.clone(),
            stage: Stage::Reported,
            origin: Origin::EarlierRun,
            steps: cut(undo, disruption),
            headroom: undo.headroom,
        }
    }

    /// What is still owed, as the journal keeps it. A plan that is under way owes everything it may have changed.
    pub(super) fn owed(&self) -> Option<Undo> {
        if self.steps.is_empty() {
            return None;
        }
        Some(Undo {
            id: self.id,
            port: self.port,
            kind: self.kind,
            purpose: self.purpose,
            queues: self.steps.iter().flat_map(|step| step.queues.iter().copied()).collect(),
            ops: self.steps.iter().flat_map(|step| step.ops.iter().cloned()).collect(),
            headroom: self.headroom,
        })
    }

    /// Whether the actuator works for this action now.
    pub(super) fn is_working(&self) -> bool {
        self.stage != Stage::Reported || self.steps.iter().any(|step| step.state == StepState::Sent)
    }

    /// Whether nothing more is to come of it.
    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Reported && self.steps.is_empty()
    }

    /// Forgets a queue whose setting somebody else has taken over.
    pub(super) fn disown(&mut self, queue: Queue, direction: Direction) {
        for step in &mut self.steps {
            step.queues.retain(|owned| *owned != (queue, direction));
            if let Queue::Priority(priority) = queue {
                let shared = step.queues.iter().any(|(other, _)| *other == queue);
                if !shared {
                    step.ops.retain_mut(|op| !without(op, PriorityMask::of(priority)));
                }
            }
        }
        self.steps.retain(|step| !step.queues.is_empty() && !step.ops.is_empty());
    }
}

/// Cuts an undo into steps; see the module.
fn cut(undo: &Undo, disruption: Disruption) -> Vec<UndoStep> {
    let alone = undo.kind == ActionKind::PfcOff && disruption <= Disruption::Priority;
    if undo.ops.is_empty() {
        return Vec::new();
    }
    if !alone {
        let (queues, ops) = (undo.queues.clone(), undo.ops.clone());
        return vec![UndoStep { queues, ops, state: StepState::Owed, wait: None }];
    }
    let step = |op: UndoOp| {
        let owns = |queue: &Queue| matches!((queue, &op.op), (Queue::Priority(p), Op::PfcEnable(mask)) if mask.contains(*p));
        let queues = undo.queues.iter().filter(|(queue, _)| owns(queue)).copied().collect();
        UndoStep { queues, ops: vec![op], state: StepState::Owed, wait: None }
    };
    undo.ops.iter().flat_map(one_by_one).map(step).collect()
}

/// The same undo, a priority at a time.
fn one_by_one(undo: &UndoOp) -> Vec<UndoOp> {
    match switched(undo) {
        Some(mask) => mask.iter().map(|priority| switching(PriorityMask::of(priority))).collect(),
        None => vec![undo.clone()],
    }
}

/// Takes priorities out of an undo of the mask; true if nothing is left of it.
fn without(undo: &mut UndoOp, gone: PriorityMask) -> bool {
    let Some(mask) = switched(undo) else { return false };
    let left = mask.minus(gone);
    *undo = switching(left);
    left.is_empty()
}

/// The undo that puts `mask` back.
const fn switching(mask: PriorityMask) -> UndoOp {
    UndoOp { done: Op::PfcDisable(mask), op: Op::PfcEnable(mask) }
}

/// The priorities that an undo of the PFC mask puts back; `None` for every other undo.
const fn switched(undo: &UndoOp) -> Option<PriorityMask> {
    match undo.done {
        Op::PfcDisable(mask) => Some(mask),
        Op::PfcEnable(_)
        | Op::PreventionTimeout(_)
        | Op::Pause(_)
        | Op::DevlinkRecover(_)
        | Op::LinkDown
        | Op::LinkUp
        | Op::Exec(_) => None,
    }
}
