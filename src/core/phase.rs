//! The phases of a queue, as values: what is known in each, when it asks for attention, what it owes.
//! How one follows from another stands in `watchdog`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::Purpose;
use crate::ids::ActionId;
use crate::units::MonoTime;

/// The longest wait for the carrier after a flap of our own; then the undo comes without it.
pub const CARRIER_WAIT: Duration = Duration::from_secs(60);

/// The phase of one queue in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing to see.
    Healthy,
    /// The last reading was blocked.
    Suspect,
    /// The rule holds: the queue is stuck.
    Storm(Storm),
    /// The operator tries an action out, and it is under way.
    Testing(ActionId),
    /// An action is in force.
    Mitigated(Mitigated),
    /// The action is being taken back.
    Undoing(Undoing),
    /// The action could not be taken back.
    UndoFailed(UndoFailed),
    /// The action was taken back; a relapse counts double.
    Probation(Probation),
    /// Undone, no more actions; still detecting and alerting.
    Locked(Locked),
    /// Nothing can be paused here now: no carrier, or PFC is off.
    Suspended(Suspended),
}

/// See [`Phase::Storm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storm {
    /// When the pause began.
    pub since: MonoTime,
    /// What kind it is.
    pub class: Class,
    /// The last blocked reading, moved on by the time that was blind.
    pub blocked_at: MonoTime,
    /// Blind since then.
    pub blind_since: Option<MonoTime>,
    /// How often the hold is doubled.
    pub doublings: u32,
    /// The action under way. While it is, the storm waits for its outcome.
    pub acting: Option<ActionId>,
}

/// See [`Phase::Mitigated`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mitigated {
    /// The action in force.
    pub action: ActionId,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Purpose::is_storm")]
    pub purpose: Purpose,
    /// When it is taken back. Pause that is seen moves it on, blindness never.
    pub due: MonoTime,
    /// When it is taken back at the latest.
    pub due_max: MonoTime,
    /// The length of the hold.
    pub hold: Duration,
    /// How often the hold was doubled.
    pub doublings: u32,
    /// The link meanwhile.
    pub carrier: Carrier,
}

/// The carrier while an action is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// There.
    Up,
    /// Lost through our own operation: the clocks wait.
    LostByUs(MonoTime),
    /// Lost for another reason: the undo is due as soon as it is back.
    LostByOthers,
}

/// See [`Phase::Undoing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undoing {
    /// The action being taken back.
    pub action: ActionId,
    /// What it was for.
    #[serde(default, skip_serializing_if = "Purpose::is_storm")]
    pub purpose: Purpose,
    /// The length of the probation that follows.
    pub hold: Duration,
    /// How often the hold was doubled.
    pub doublings: u32,
    /// How often it was tried before.
    pub attempts: u32,
}

/// See [`Phase::UndoFailed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoFailed {
    /// The undo that failed.
    pub undoing: Undoing,
    /// When it is tried again; `None` after it was acknowledged.
    pub retry_at: Option<MonoTime>,
}

/// See [`Phase::Probation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probation {
    /// Its end; `None` while the carrier is away through our own undo.
    pub until: Option<MonoTime>,
    /// Its length.
    pub hold: Duration,
    /// How often the hold was doubled.
    pub doublings: u32,
}

/// See [`Phase::Locked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locked {
    /// Its end, unless it is acknowledged before.
    pub until: MonoTime,
    /// Why.
    pub reason: LockReason,
    /// A storm seen meanwhile.
    pub storm: Option<LockedStorm>,
}

/// A storm that is only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedStorm {
    /// When the pause began.
    pub since: MonoTime,
    /// The last blocked reading.
    pub blocked_at: MonoTime,
}

/// Why a queue is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockReason {
    /// Too many mitigated storms.
    Relapses,
    /// Somebody else sets what the action had changed.
    OtherOwner,
}

/// See [`Phase::Suspended`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspended {
    /// The link is down.
    pub carrier_lost: bool,
    /// PFC, or 802.3x pause, is off.
    pub pfc_off: bool,
}

/// What kind of pause it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Unbroken.
    Blocked,
    /// Broken, but heavy.
    Choppy,
    /// Chronic, far below a storm.
    Throttled,
    /// Unbroken, and nothing is known to want to send.
    DemandUnknown,
    /// Pause frames without pause time.
    XonStorm,
}

impl Class {
    /// As metrics and logs write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Choppy => "choppy",
            Self::Throttled => "throttled",
            Self::DemandUnknown => "demand_unknown",
            Self::XonStorm => "xon_storm",
        }
    }
}

/// How a storm ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// No blocked reading for `restore`.
    Cleared,
    /// An action is in force.
    Mitigated,
    /// What was changed could not be put back.
    UndoFailed,
    /// The link went down.
    LinkDown,
    /// PFC was switched off by somebody else.
    PfcOff,
    /// Nothing was seen for too long.
    Blind,
    /// The watchdog was switched off.
    ModeOff,
    /// The queue was locked.
    Locked,
    /// The device is gone.
    Gone,
}

impl EndReason {
    /// As logs write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Cleared => "cleared",
            Self::Mitigated => "mitigated",
            Self::UndoFailed => "undo_failed",
            Self::LinkDown => "link_down",
            Self::PfcOff => "pfc_off",
            Self::Blind => "blind",
            Self::ModeOff => "mode_off",
            Self::Locked => "locked",
            Self::Gone => "gone",
        }
    }
}

impl Phase {
    /// As metrics, logs and docs write it.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Suspect => "suspect",
            Self::Storm(_) => "storm",
            Self::Testing(_) => "testing",
            Self::Mitigated(_) => "mitigated",
            Self::Undoing(_) => "undoing",
            Self::UndoFailed(_) => "undo_failed",
            Self::Probation(_) => "probation",
            Self::Locked(_) => "locked",
            Self::Suspended(_) => "suspended",
        }
    }

    /// When [`Trigger::Time`](crate::trigger::Trigger::Time) would change something at the earliest.
    #[must_use]
    pub fn deadline(&self, blind_max: Duration) -> Option<MonoTime> {
        match self {
            Self::Healthy | Self::Suspect | Self::Testing(_) | Self::Undoing(_) | Self::Suspended(_) => None,
            Self::Storm(storm) => match (storm.acting, storm.blind_since) {
                (None, Some(since)) => Some(since + blind_max),
                _ => None,
            },
            Self::Mitigated(mitigated) => Some(mitigated.undo_at()),
            Self::UndoFailed(failed) => failed.retry_at,
            Self::Probation(probation) => probation.until,
            Self::Locked(locked) => Some(locked.until),
        }
    }

    /// The pause that is open now, whether or not anything is done about it.
    #[must_use]
    pub fn open_storm(&self) -> Option<MonoTime> {
        match self {
            Self::Storm(storm) => Some(storm.since),
            Self::Locked(Locked { storm: Some(storm), .. }) => Some(storm.since),
            Self::Healthy
            | Self::Suspect
            | Self::Testing(_)
            | Self::Mitigated(_)
            | Self::Undoing(_)
            | Self::UndoFailed(_)
            | Self::Probation(_)
            | Self::Locked(_)
            | Self::Suspended(_) => None,
        }
    }

    /// What kind of pause the storm is that is open and may be acted on.
    #[must_use]
    pub const fn class(&self) -> Option<Class> {
        if let Self::Storm(storm) = self { Some(storm.class) } else { None }
    }

    /// The lock, if it is locked.
    #[must_use]
    pub const fn lock(&self) -> Option<Locked> {
        if let Self::Locked(locked) = self { Some(*locked) } else { None }
    }

    /// When it ends by itself, as things stand: the undo of an action, the next try of one that failed, the end of a
    /// probation or of a lock.
    #[must_use]
    pub fn ends_at(&self) -> Option<MonoTime> {
        match self {
            Self::Mitigated(mitigated) => Some(mitigated.undo_at()),
            Self::UndoFailed(failed) => failed.retry_at,
            Self::Probation(probation) => probation.until,
            Self::Locked(locked) => Some(locked.until),
            Self::Healthy
            | Self::Suspect
            | Self::Storm(_)
            | Self::Testing(_)
            | Self::Undoing(_)
            | Self::Suspended(_) => None,
        }
    }

    /// Whether it is there because of a test.
    #[must_use]
    pub fn is_test(&self) -> bool {
        match self {
            Self::Testing(_) => true,
            Self::Mitigated(mitigated) => !mitigated.purpose.is_storm(),
            Self::Undoing(undoing) | Self::UndoFailed(UndoFailed { undoing, .. }) => {
                !undoing.purpose.is_storm()
            }
            Self::Healthy
            | Self::Suspect
            | Self::Storm(_)
            | Self::Probation(_)
            | Self::Locked(_)
            | Self::Suspended(_) => false,
        }
    }

    /// The action whose undo is still owed.
    #[must_use]
    pub const fn owed(&self) -> Option<ActionId> {
        match self {
            Self::Testing(action) => Some(*action),
            Self::Mitigated(mitigated) => Some(mitigated.action),
            Self::Undoing(undoing) => Some(undoing.action),
            Self::UndoFailed(failed) => Some(failed.undoing.action),
            Self::Storm(storm) => storm.acting,
            Self::Healthy | Self::Suspect | Self::Probation(_) | Self::Locked(_) | Self::Suspended(_) => None,
        }
    }
}

impl Mitigated {
    /// When the undo is due as things stand.
    #[must_use]
    pub fn undo_at(&self) -> MonoTime {
        match self.carrier {
            Carrier::Up | Carrier::LostByOthers => self.due,
            Carrier::LostByUs(since) => since + CARRIER_WAIT,
        }
    }

    /// The phase that follows.
    #[must_use]
    pub const fn undoing(&self) -> Undoing {
        Undoing {
            action: self.action,
            purpose: self.purpose,
            hold: self.hold,
            doublings: self.doublings,
            attempts: 0,
        }
    }
}
