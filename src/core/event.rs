//! What happened, typed. Log line, counter, stream and recording are prints of it; nothing else tells.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::{ActionKind, ActionResult, Op, Purpose, PutBack, UndoResult};
use crate::delta::Gap;
use crate::ids::{ActionId, PortIdentity, PortKey, StormId};
use crate::phase::{Class, EndReason};
use crate::policy::Veto;
use crate::settings::Mode;
use crate::units::{Direction, MonoTime, Permille, Queue};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Counts up by one from 1, without gaps while the agent runs.
    pub seq: u64,
    /// When.
    pub at: MonoTime,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Where something happened; each part as far as it applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<PortKey>,
    /// Its netdev.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub netdev: String,
    /// The queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Queue>,
    /// The direction of pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A port is watched from now on.
    PortAdded {
        /// Who it is.
        identity: PortIdentity,
        /// How its pause is known: `time`, `frames` or `absent`.
        pause: PauseKnown,
    },
    /// A port is gone.
    PortRemoved,
    /// A port has another name now.
    PortRenamed {
        /// Its name before.
        from: String,
    },
    /// The link went up or down.
    LinkChanged {
        /// Whether there is a carrier now.
        carrier: bool,
    },
    /// A queue entered another phase.
    PhaseChanged {
        /// The phase before.
        from: PhaseName,
        /// The phase now.
        to: PhaseName,
    },
    /// A storm was found.
    StormDetected {
        /// Its number.
        storm: StormId,
        /// Its kind.
        class: Class,
        /// When the pause began.
        onset: MonoTime,
        /// From its beginning to now.
        paused: Duration,
        /// Paused share of the decision window.
        share: Permille,
        /// Whether the pause time is only an upper bound.
        estimated: bool,
        /// Whether it goes on from before a restart of the agent.
        resumed: bool,
    },
    /// A storm has ended.
    StormEnded {
        /// Its number.
        storm: StormId,
        /// How.
        reason: EndReason,
        /// From the beginning of the pause to now.
        lasted: Duration,
    },
    /// A milder kind of pause began.
    PauseEntered {
        /// Its kind.
        class: Class,
        /// The window it is judged over.
        window: Duration,
        /// Paused share of the decision window.
        share: Permille,
    },
    /// A milder kind of pause ended.
    PauseLeft {
        /// Its kind.
        class: Class,
        /// The window it is judged over.
        window: Duration,
    },
    /// A plan was made.
    ActionPlanned {
        /// Its number.
        action: ActionId,
        /// Its kind.
        kind: ActionKind,
        /// What it is for.
        #[serde(default, skip_serializing_if = "Purpose::is_storm")]
        purpose: Purpose,
        /// What it will do.
        ops: Vec<Op>,
        /// What it will take back.
        undo: Vec<Op>,
    },
    /// A plan was wanted and refused.
    ActionVetoed {
        /// Its kind.
        kind: ActionKind,
        /// What it was for.
        #[serde(default, skip_serializing_if = "Purpose::is_storm")]
        purpose: Purpose,
        /// Why.
        reason: Veto,
    },
    /// An action of the ladder cannot be carried out on the port.
    ActionUnsupported {
        /// Its kind.
        kind: ActionKind,
        /// Why, in words.
        why: String,
    },
    /// A test was asked for where none can be made.
    TestRefused {
        /// Why.
        reason: TestRefusal,
    },
    /// An action has ended.
    ActionEnded {
        /// Its number.
        action: ActionId,
        /// Its kind.
        kind: ActionKind,
        /// What it was for.
        #[serde(default, skip_serializing_if = "Purpose::is_storm")]
        purpose: Purpose,
        /// How.
        result: ActionResult,
        /// What became of its changes.
        put_back: PutBack,
        /// From the plan to the end.
        took: Duration,
        /// Why, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
    },
    /// An undo has ended.
    UndoEnded {
        /// Its action's number.
        action: ActionId,
        /// Its action's kind.
        kind: ActionKind,
        /// What its action was for.
        #[serde(default, skip_serializing_if = "Purpose::is_storm")]
        purpose: Purpose,
        /// How.
        result: UndoResult,
        /// Why, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
    },
    /// An undo is no longer wanted: its device is gone, or somebody else has decided.
    UndoDropped {
        /// Its action's number.
        action: ActionId,
    },
    /// The device of an undo is gone: it is taken back when the same device is there again.
    UndoWaits {
        /// Its action's number.
        action: ActionId,
    },
    /// A port, or one queue of it, cannot be judged any more.
    Blinded {
        /// Why.
        reason: Gap,
    },
    /// It can be judged again.
    Sighted,
    /// A source failed, for the first time in a row or in another way.
    ReadFailed {
        /// In one line.
        error: String,
    },
    /// The source answers again.
    ReadRecovered {
        /// How often it failed in a row.
        failures: u64,
    },
    /// An NVMe-oF controller came, went, or is in another state; its place is the port that carries it.
    NvmfChanged(crate::nvmf::NvmfTold),
    /// The operator acknowledged.
    Acknowledged,
    /// Maintenance keeps the watchdog from acting, on a port or everywhere.
    MaintenanceBegun {
        /// Its end.
        until: MonoTime,
        /// The user who asked for it, as the kernel knows them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<u32>,
    },
    /// Maintenance is over.
    MaintenanceEnded {
        /// The user who ended it; none where its time was up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<u32>,
    },
    /// New settings are in force.
    Reconfigured {
        /// The mode now.
        mode: Mode,
    },
    /// A port's source is slower than the configured detection can use.
    DetectRaised {
        /// As configured.
        configured: Duration,
        /// In force.
        effective: Duration,
    },
    /// A port is not armed because its source is slower than its own explicit `detect` allows.
    NotArmed {
        /// As configured for the port.
        configured: Duration,
        /// The least that the source allows.
        needed: Duration,
    },
}

/// Why no test can be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestRefusal {
    /// The queue is not watched: its PFC is off, or nothing counts it.
    NotWatched,
    /// Its ladder has nothing but alerts.
    NoAction,
    /// The queue is in another phase than healthy.
    Phase(PhaseName),
    /// Only in enforce is a test carried out.
    Mode(Mode),
    /// Only a port that is in maintenance by its own name is acted on for a test.
    NotInMaintenance,
}

impl TestRefusal {
    /// As logs and docs write it.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::NotWatched => "not_watched",
            Self::NoAction => "no_action",
            Self::Phase(_) => "phase",
            Self::Mode(_) => "mode",
            Self::NotInMaintenance => "not_in_maintenance",
        }
    }
}

/// How the pause of a port is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseKnown {
    /// The NIC counts pause time.
    Time,
    /// It counts frames only.
    Frames,
    /// Neither.
    Absent,
}

/// The name of a phase, without its contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhaseName(pub std::borrow::Cow<'static, str>);

impl PhaseName {
    /// Whether nothing goes on in it that a watchdog is for.
    fn is_uneventful(&self) -> bool {
        matches!(self.0.as_ref(), "healthy" | "suspended")
    }
}

/// How loud an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What is only of interest to whoever looks for it.
    Debug,
    /// Lifecycle and transitions.
    Info,
    /// The operator should look.
    Warn,
    /// Something is left in a state it should not be in.
    Error,
}

impl EventKind {
    /// The event's name, as in JSON, log and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::PortAdded { .. } => "port_added",
            Self::PortRemoved => "port_removed",
            Self::PortRenamed { .. } => "port_renamed",
            Self::LinkChanged { .. } => "link_changed",
            Self::PhaseChanged { .. } => "phase_changed",
            Self::StormDetected { .. } => "storm_detected",
            Self::StormEnded { .. } => "storm_ended",
            Self::PauseEntered { .. } => "pause_entered",
            Self::PauseLeft { .. } => "pause_left",
            Self::ActionPlanned { .. } => "action_planned",
            Self::ActionVetoed { .. } => "action_vetoed",
            Self::ActionUnsupported { .. } => "action_unsupported",
            Self::TestRefused { .. } => "test_refused",
            Self::ActionEnded { .. } => "action_ended",
            Self::UndoEnded { .. } => "undo_ended",
            Self::UndoDropped { .. } => "undo_dropped",
            Self::UndoWaits { .. } => "undo_waits",
            Self::Blinded { .. } => "blinded",
            Self::Sighted => "sighted",
            Self::ReadFailed { .. } => "read_failed",
            Self::ReadRecovered { .. } => "read_recovered",
            Self::NvmfChanged(_) => "nvmf_changed",
            Self::Acknowledged => "acknowledged",
            Self::MaintenanceBegun { .. } => "maintenance_begun",
            Self::MaintenanceEnded { .. } => "maintenance_ended",
            Self::Reconfigured { .. } => "reconfigured",
            Self::DetectRaised { .. } => "detect_raised",
            Self::NotArmed { .. } => "not_armed",
        }
    }

    /// How loud it is.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            // A queue without pause, which most are: a port that comes has sixteen, and one without link has all.
            Self::PhaseChanged { from, to } if [from, to].iter().all(|phase| phase.is_uneventful()) => {
                Level::Debug
            }
            Self::PhaseChanged { .. } => Level::Info,
            Self::NvmfChanged(told) => told.change.level(),
            Self::StormDetected { .. }
            | Self::PauseEntered { .. }
            | Self::ActionVetoed { .. }
            | Self::ActionUnsupported { .. }
            | Self::Blinded { .. }
            | Self::UndoEnded { result: UndoResult::Foreign, .. }
            | Self::ReadFailed { .. }
            | Self::UndoDropped { .. }
            | Self::UndoWaits { .. }
            | Self::DetectRaised { .. }
            | Self::NotArmed { .. } => Level::Warn,
            Self::ActionEnded { put_back: PutBack::Failed, .. }
            | Self::UndoEnded { result: UndoResult::Failed, .. } => Level::Error,
            Self::ActionEnded { result: ActionResult::Failed | ActionResult::Ineffective, .. } => Level::Warn,
            Self::PortAdded { .. }
            | Self::PortRemoved
            | Self::PortRenamed { .. }
            | Self::LinkChanged { .. }
            | Self::StormEnded { .. }
            | Self::PauseLeft { .. }
            | Self::ActionPlanned { .. }
            | Self::ActionEnded { .. }
            | Self::UndoEnded { result: UndoResult::Done | UndoResult::NotNeeded, .. }
            | Self::Sighted
            | Self::ReadRecovered { .. }
            | Self::Acknowledged
            | Self::TestRefused { .. }
            | Self::MaintenanceBegun { .. }
            | Self::MaintenanceEnded { .. }
            | Self::Reconfigured { .. } => Level::Info,
        }
    }
}
