//! What can be done about a storm: the kinds of action, the operations they are made of, and the plan that
//! carries them together with their undo. A plan is a value; nothing here does anything.

mod execution;
mod kind;
mod op;
mod planner;
mod readback;

pub(crate) use execution::FRESH_SPAN_MAX;
pub use execution::{Answer, Execution, Report, Step, TargetCounters};
pub use kind::{ActionKind, Disruption, UnknownAction, UnknownDisruption};
pub use op::Op;
pub use planner::{PlanRequest, Unsupported, plan};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::{ActionId, PortKey};
use crate::units::{Direction, MonoTime, Priority, PriorityMask, Queue};

/// 802.3x pause as ethtool shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseConfig {
    /// Received pause is honoured.
    pub rx: bool,
    /// Pause is sent.
    pub tx: bool,
}

/// A port's receive buffers as DCB shows them (`struct dcbnl_buffer`). Some drivers compute them anew at each change of
/// the PFC mask (mlx5, `mlx5e_dcbnl_ieee_setpfc`), so they are compared after an undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headroom {
    /// Which buffer each priority uses.
    pub buffer_of_priority: [u8; Priority::COUNT],
    /// The size of each buffer.
    pub bytes: [u32; Priority::COUNT],
}

/// A command of the operator, without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCall {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// It is ended after this.
    pub timeout: Duration,
    /// The evidence, one JSON object.
    pub stdin: String,
}

/// What a port is set to, as read from the kernel just now; `None` where it cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortConfig {
    /// Priorities with PFC on.
    pub pfc: Option<PriorityMask>,
    /// 802.3x pause.
    pub pause: Option<PauseConfig>,
    /// Prevention timeout, milliseconds.
    pub prevention_timeout_ms: Option<u16>,
    /// Administratively up.
    pub link_up: Option<bool>,
    /// Recoveries the devlink reporter has counted.
    pub devlink_recoveries: Option<u64>,
    /// Its receive buffers.
    #[serde(default)]
    pub headroom: Option<Headroom>,
}

/// What an action is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It answers a storm.
    #[default]
    Storm,
    /// The operator tries it out on a queue that has none.
    Test,
}

impl Purpose {
    /// Whether it answers a storm, as all did before there were tests: then nothing is written of it.
    #[must_use]
    pub const fn is_storm(&self) -> bool {
        matches!(self, Self::Storm)
    }
}

/// A storm that a plan answers, with the reading that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The queue in a storm.
    pub queue: Queue,
    /// The direction of its pause.
    pub direction: Direction,
    /// Its pause time at the deciding reading, native units; `None` where the NIC does not count time.
    pub pause_native: Option<u64>,
    /// Nanoseconds per native unit of `pause_native`.
    pub pause_scale: u32,
    /// Packets moved in the paused direction at the deciding reading, where they are counted for this queue alone.
    pub packets: Option<u64>,
}

/// What is to be done, and how it is taken back. Immutable once made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Its number, unique while the journal lives.
    pub id: ActionId,
    /// The port.
    pub port: PortKey,
    /// The kind.
    pub kind: ActionKind,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Purpose::is_storm")]
    pub purpose: Purpose,
    /// How far its damage reaches on this driver.
    pub disruption: Disruption,
    /// The storms it answers, all of one port.
    pub targets: Vec<Target>,
    /// In this order.
    pub ops: Vec<Op>,
    /// In this order; empty for what cannot or need not be taken back.
    pub undo: Vec<Op>,
    /// When the deciding reading was taken.
    pub evidence_at: MonoTime,
    /// Not begun by then, it is dropped.
    pub expires: MonoTime,
    /// The longest time between two refreshes of the port's counters; zero for those read live.
    pub refresh: Duration,
    /// How long the last operation takes to have its effect.
    #[serde(default)]
    pub settles: Duration,
    /// How long after that a queue may take to show that it moves.
    pub proof: Duration,
    /// The port's receive buffers before, where they can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Headroom>,
}

/// What is to be taken back, one step at a time and each only if it still reads as the plan left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// The action that made it necessary.
    pub id: ActionId,
    /// The port.
    pub port: PortKey,
    /// The action's kind.
    pub kind: ActionKind,
    /// What the action was for.
    #[serde(default, skip_serializing_if = "Purpose::is_storm")]
    pub purpose: Purpose,
    /// The queues that come back with it.
    pub queues: Vec<(Queue, Direction)>,
    /// Each with what the plan had set in its place.
    pub ops: Vec<UndoOp>,
    /// The port's receive buffers before the action, where they could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Headroom>,
}

/// One step back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoOp {
    /// What the plan did.
    pub done: Op,
    /// What takes it back.
    pub op: Op,
}

/// An order to the actuator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Carry out a plan.
    Do(Plan),
    /// Take an action back. Never vetoed, never expired.
    Undo(Undo),
}

/// How an action ended. A veto is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionResult {
    /// Set, read back, and the queue moves.
    Ok,
    /// Set and read back, but the queue stays paused.
    Ineffective,
    /// Set and read back; nothing wanted to be sent, so nothing shows that it helped.
    Unproven,
    /// Not set, or it does not read back.
    Failed,
    /// The pause was over, the plan too old or no longer wanted, before the first operation.
    Expired,
    /// It would have been done.
    DryRun,
}

impl ActionResult {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Ok, Self::Ineffective, Self::Unproven, Self::Failed, Self::Expired, Self::DryRun];

    /// As metrics and logs write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Ineffective => "ineffective",
            Self::Unproven => "unproven",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::DryRun => "dry_run",
        }
    }
}

/// Whether what an action had changed was taken back at once after it did not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PutBack {
    /// Nothing had been changed.
    NotNeeded,
    /// Taken back and read back.
    Done,
    /// Could not be taken back: the undo stays open.
    Failed,
}

/// How an undo ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoResult {
    /// Everything reads as before the action.
    Done,
    /// Nothing had to be taken back: everything read as before the action already.
    NotNeeded,
    /// Somebody else has changed it meanwhile; theirs stays.
    Foreign,
    /// It could not be taken back; it is tried again.
    Failed,
}

/// What the actuator reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Of a plan.
    Acted {
        /// The result.
        result: ActionResult,
        /// What became of the changes if the result is not ok or unproven.
        put_back: PutBack,
    },
    /// Of an undo.
    Undone(UndoResult),
}
