//! What shows that an operation took effect: the port reads as it should, and the queue moves.

use std::time::Duration;

use super::{Headroom, Op, Order, Plan, PortConfig, TargetCounters, Undo, UndoOp};
use crate::delta::growth_between;
use crate::units::{Direction, nanos};

impl Plan {
    /// The steps back, the last change first.
    #[must_use]
    pub fn undo_ops(&self) -> Vec<UndoOp> {
        let pairs = self.ops.iter().zip(&self.undo);
        pairs.rev().map(|(done, op)| UndoOp { done: done.clone(), op: op.clone() }).collect()
    }

    /// The undo as the journal keeps it.
    #[must_use]
    pub fn as_undo(&self) -> Undo {
        Undo {
            id: self.id,
            port: self.port,
            kind: self.kind,
            purpose: self.purpose,
            queues: self.targets.iter().map(|t| (t.queue, t.direction)).collect(),
            ops: self.undo_ops(),
            headroom: self.headroom,
        }
    }
}

impl Order {
    /// The port's receive buffers before, where they could be read.
    pub(super) const fn headroom(&self) -> Option<Headroom> {
        match self {
            Self::Do(plan) => plan.headroom,
            Self::Undo(undo) => undo.headroom,
        }
    }

    /// Every operation that may come of it, those back included.
    #[must_use]
    pub fn operations(&self) -> Vec<Op> {
        match self {
            Self::Do(plan) => plan.ops.iter().chain(&plan.undo).cloned().collect(),
            Self::Undo(undo) => {
                undo.ops.iter().flat_map(|step| [step.done.clone(), step.op.clone()]).collect()
            }
        }
    }
}

impl Op {
    /// Whether the operation leaves a state that can be read (a command and a recovery leave none).
    pub(super) const fn is_state(&self) -> bool {
        match self {
            Self::PfcDisable(_) | Self::PfcEnable(_) | Self::PreventionTimeout(_) | Self::Pause(_) => true,
            Self::DevlinkRecover(_) | Self::LinkDown | Self::LinkUp | Self::Exec(_) => false,
        }
    }
}

/// Whether the port reads as `op` leaves it; `None` if that cannot be read. `before` is the port before the plan.
pub(super) fn reads_as(op: &Op, config: &PortConfig, before: &PortConfig) -> Option<bool> {
    match op {
        Op::PfcDisable(off) => config.pfc.map(|mask| off.iter().all(|priority| !mask.contains(priority))),
        Op::PfcEnable(on) => config.pfc.map(|mask| on.iter().all(|priority| mask.contains(priority))),
        Op::PreventionTimeout(ms) => config.prevention_timeout_ms.map(|now| now == *ms),
        Op::Pause(pause) => config.pause.map(|now| now == *pause),
        Op::DevlinkRecover(_) => {
            config.devlink_recoveries.map(|count| count > before.devlink_recoveries.unwrap_or(count))
        }
        Op::LinkDown => config.link_up.map(|up| !up),
        Op::LinkUp => config.link_up,
        Op::Exec(_) => Some(true),
    }
}

/// Whether anything of what `op` sets stands so already: then somebody else has set it, and it is not ours to undo.
pub(super) fn is_set_already(op: &Op, config: &PortConfig) -> bool {
    if let Op::PfcDisable(off) = op {
        return config.pfc.is_some_and(|mask| off.iter().any(|priority| !mask.contains(priority)));
    }
    op.is_state() && reads_as(op, config, &PortConfig::default()) == Some(true)
}

/// What speaks against a plan whose port reads otherwise than it was planned from: its undo would set what did not stand
/// there.
pub(super) fn planned_from_elsewhere(plan: &Plan, config: &PortConfig) -> Option<String> {
    let states = plan.undo_ops().into_iter().filter(|step| step.done.is_state());
    let differs = |step: &UndoOp| reads_as(&step.op, config, &PortConfig::default()) != Some(true);
    states
        .into_iter()
        .find(differs)
        .map(|step| format!("set otherwise since it was planned, not as \"{}\" leaves it", step.op))
}

/// What takes `step` back as things stand now: of 802.3x pause, the directions that the action has switched.
pub(super) fn back(step: &UndoOp, config: &PortConfig) -> Op {
    let (Op::Pause(done), Op::Pause(before), Some(mut now)) = (&step.done, &step.op, config.pause) else {
        return step.op.clone();
    };
    if done.rx != before.rx {
        now.rx = before.rx;
    }
    if done.tx != before.tx {
        now.tx = before.tx;
    }
    Op::Pause(now)
}

/// Whose what an undo is to take back is by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// It stands as the action has left it, in part at least.
    Us,
    /// It stands as before the action.
    AsBefore,
    /// It stands in a third way.
    Foreign,
}

/// Who holds what `step` is to take back; `None` if that cannot be read.
pub(super) fn holder(step: &UndoOp, config: &PortConfig) -> Option<Holder> {
    let none = PortConfig::default();
    let back = back(step, config);
    let ours = match (&step.done, &back) {
        // What somebody has put back meanwhile stays, the rest is ours; a bit is on or off, there is no third.
        (Op::PfcDisable(off), _) => config.pfc.map(|mask| off.iter().any(|p| !mask.contains(p)))?,
        (Op::Pause(_), Op::Pause(back)) => config.pause.map(|now| now != *back)?,
        (done, _) => reads_as(done, config, &none)?,
    };
    Some(match (ours, reads_as(&back, config, &none)) {
        (true, _) => Holder::Us,
        (false, Some(true)) => Holder::AsBefore,
        (false, Some(false) | None) => Holder::Foreign,
    })
}

/// What there is to say of receive buffers that are not as before the action. Nothing sets them back, because who owns
/// them is not known.
pub(super) fn headroom_note(before: Option<Headroom>, after: Option<Headroom>) -> Option<String> {
    let (before, after) = before.zip(after)?;
    let told =
        || format!("receive buffers are {:?} bytes now, {:?} before the action", after.bytes, before.bytes);
    (before != after).then(told)
}

/// Whether any target was paused for half of `span` or more, which lies between `from`, or the deciding reading where
/// that is empty, and `to`.
pub(super) fn still_paused(
    plan: &Plan,
    from: &[TargetCounters],
    to: &[TargetCounters],
    span: Duration,
) -> bool {
    plan.targets.iter().zip(to).enumerate().any(|(index, (target, now))| {
        let then = from.get(index).map_or(target.pause_native, |look| look.pause_native);
        match then.zip(now.pause_native).map(|(then, now)| growth_between(then, now)) {
            None => true,
            Some(None) => false,
            Some(Some(native)) => native.saturating_mul(u64::from(target.pause_scale)) >= nanos(span) / 2,
        }
    })
}

/// Whether a queue shows that it moves again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Proof {
    Moves,
    Unknown,
    StillPaused,
}

/// The worst of the plan's targets decides.
pub(super) fn prove(plan: &Plan, base: &[TargetCounters], now: &[TargetCounters]) -> Proof {
    let each = plan.targets.iter().zip(base.iter().zip(now)).map(|(target, (base, now))| {
        let moved = base.packets.zip(now.packets).is_some_and(|(then, now)| now > then);
        let span = nanos(now.at.since(base.at));
        let paused = base
            .pause_native
            .zip(now.pause_native)
            .and_then(|(then, now)| growth_between(then, now))
            .map(|native| native.saturating_mul(u64::from(target.pause_scale)) >= span / 2);
        match (target.direction, moved, paused) {
            (Direction::Rx, true, _) | (Direction::Tx, _, Some(false)) => Proof::Moves,
            (_, _, Some(true)) => Proof::StillPaused,
            (Direction::Rx, false, Some(false)) | (_, _, None) => Proof::Unknown,
        }
    });
    each.max().unwrap_or(Proof::Unknown)
}
