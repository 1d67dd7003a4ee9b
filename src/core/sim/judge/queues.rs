//! The judge's book of one queue: its phase and its storms, by what the events say.

use crate::ids::{ActionId, StormId};
use crate::units::{Direction, MonoTime, Queue};

/// One queue in one direction.
pub(super) type Place = (Queue, Direction);

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueBook {
    /// The phase it entered last; `None` as long as it has entered none.
    pub(super) phase: Option<String>,
    pub(super) storm: Option<StormId>,
    pub(super) found: u64,
    pub(super) ended: u64,
    /// The action under way or in force.
    pub(super) action: Option<ActionId>,
    /// In phase undoing without an order for it, since then.
    pub(super) waits_since: Option<MonoTime>,
}

/// Which phase may follow which. A step of the table that goes through two phases at once shows only the second.
const FOLLOWS: &[(&str, &[&str])] = &[
    ("healthy", &["suspect", "storm", "suspended", "undoing", "locked"]),
    ("suspect", &["healthy", "storm", "suspended"]),
    ("storm", &["healthy", "mitigated", "undo_failed", "suspended"]),
    ("mitigated", &["undoing", "locked"]),
    ("undoing", &["healthy", "probation", "locked", "undo_failed"]),
    ("undo_failed", &["undoing", "locked"]),
    ("probation", &["healthy", "storm", "locked", "suspended"]),
    ("locked", &["healthy"]),
    ("suspended", &["healthy"]),
];

/// Whether the phase table allows the step.
pub(super) fn may_follow(from: &str, to: &str) -> bool {
    FOLLOWS.iter().any(|(phase, next)| *phase == from && next.contains(&to))
}

/// Phases in which an action is in force, or may be.
pub(super) fn is_mitigated(phase: &str) -> bool {
    matches!(phase, "mitigated" | "undoing" | "undo_failed")
}
