//! What can happen to a queue, the terms under which it is judged, and what a step can want: the vocabulary of
//! `watchdog`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::{ActionResult, PutBack, UndoResult};
use crate::ids::ActionId;
use crate::phase::{Class, EndReason};
use crate::units::MonoTime;

/// Whose doing it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum By {
    /// An operation of ours, which has this effect on this driver.
    Us,
    /// Anybody or anything else.
    Others,
}

/// What can happen to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A blocked reading; with the storm it makes, if the rule holds.
    Blocked(Option<Onset>),
    /// Any other fresh reading.
    Clear,
    /// A reading that says nothing, or none for too long.
    Blind,
    /// The carrier is gone.
    CarrierLost(By),
    /// The carrier is back.
    CarrierUp,
    /// The queue's PFC bit was taken out of the mask.
    PfcOff(By),
    /// The queue's PFC bit was put into the mask.
    PfcOn(By),
    /// An action was begun.
    ActionBegun(ActionId),
    /// An action has ended.
    Acted(ActionResult, PutBack),
    /// An undo has ended.
    Undone(UndoResult),
    /// The operator acknowledges.
    Ack,
    /// The watchdog is switched off, here or everywhere.
    Off,
    /// Actions are no longer wanted here: mode below enforce, port excluded, agent stopping.
    Withdraw,
    /// Time has passed.
    Time,
}

/// A storm as it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Onset {
    /// When the pause began.
    pub since: MonoTime,
    /// Its kind.
    pub class: Class,
}

/// The terms under which a step is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Now.
    pub now: MonoTime,
    /// A storm ends after this long without a blocked reading.
    pub restore: Duration,
    /// A storm is given up after it was blind for this long.
    pub blind_max: Duration,
    /// The hold of an action that begins now, before doubling.
    pub hold: Duration,
    /// The longest mitigation.
    pub hold_max: Duration,
    /// The length of a lock.
    pub lock_for: Duration,
    /// The queue has had its storms: the next undo locks it.
    pub lock_due: bool,
}

/// What a step wants done or told, besides the new phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A storm has begun.
    StormFound(Onset),
    /// A storm has ended.
    StormEnded(EndReason),
    /// The action is to be taken back now.
    Undo(ActionId),
    /// The action's undo is no longer wanted: somebody else has decided.
    DropUndo(ActionId),
    /// Nothing tries to take it back any more; the journal keeps it.
    StopRetrying(ActionId),
}
