//! What shows that an operation took effect: the port reads as it should, and the queue moves.

use std::time::Duration;

use super::{Op, Plan, PortConfig, TargetCounters, Undo, UndoOp};
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
            queues: self.targets.iter().map(|t| (t.queue, t.direction)).collect(),
            ops: self.undo_ops(),
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
        Op::PfcDisable(priority) => config.pfc.map(|mask| !mask.contains(*priority)),
        Op::PfcEnable(priority) => config.pfc.map(|mask| mask.contains(*priority)),
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
