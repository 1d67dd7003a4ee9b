//! Everything that can change a decision, and everything a decision can want. Both are recorded.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::{ActionKind, Headroom, Order, PauseConfig, Report};
use crate::binding::Bound;
use crate::durable::{Durable, Maintained};
use crate::event::Event;
use crate::ids::{ActionId, PortIdentity, PortKey};
use crate::nvmf::NvmfChange;
use crate::policy::Veto;
use crate::settings::Settings;
use crate::units::{Direction, MonoTime, PriorityMask, Queue};

/// What the engine is told, always together with the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// A port was found, or its counters have other names now.
    Bound(BoundPort),
    /// Its counters were read.
    Reading(Reading),
    /// Its counters could not be read.
    ReadFailed(ReadFailed),
    /// Its link.
    Link(PortLink),
    /// Its DCB configuration.
    Dcb(PortDcb),
    /// Its 802.3x pause and prevention timeout.
    Pause(PortPause),
    /// A devlink health reporter of its.
    Health(PortHealth),
    /// The ports that carry the default route.
    Route(Vec<PortKey>),
    /// An NVMe-oF controller of this host.
    Nvmf(NvmfChange),
    /// Maintenance of one port, or of all.
    Maintenance(Maintenance),
    /// The fleet guard has answered.
    GuardAnswer(GuardAnswer),
    /// An order has ended.
    Outcome(Ended),
    /// The operator wants something.
    Command(Command),
    /// New settings.
    Reconfigure(Box<Settings>),
    /// A device is gone.
    Gone(PortKey),
    /// What an earlier run has left, and whether anything can be written now. Comes once, first.
    Journal(Box<JournalState>),
    /// Whether the journal can be written has changed.
    JournalWritable(bool),
    /// Time has passed.
    Tick,
}

/// See [`Input::Bound`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundPort {
    /// The port.
    pub port: PortKey,
    /// Who it is.
    pub identity: PortIdentity,
    /// What each value of a reading is, in this order.
    pub layout: Vec<Bound>,
    /// How often the source refreshes, where it tells (bnxt's `stats-block-usecs`): overrides the driver table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<SourceRefresh>,
    /// The actions the actuator can carry out on this port.
    pub actions: Vec<ActionKind>,
    /// Those that it cannot, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<UnsupportedAction>,
}

/// An action that cannot be carried out on a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsupportedAction {
    /// The action.
    pub kind: ActionKind,
    /// Why, in a few words.
    pub why: String,
}

/// How often a source refreshes, as it says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceRefresh {
    /// Once in so long; zero for a live one.
    Every(Duration),
    /// Not at all: what it shows is of no use, until it is seen to change.
    Never,
}

/// See [`Input::Reading`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The port.
    pub port: PortKey,
    /// The midpoint of the read.
    pub at: MonoTime,
    /// How long it took, lock included.
    pub took: Duration,
    /// The native values, in the order of the layout.
    pub values: Vec<u64>,
}

/// See [`Input::ReadFailed`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadFailed {
    /// The port.
    pub port: PortKey,
    /// What went wrong, in one line.
    pub error: String,
}

/// See [`Input::Link`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortLink {
    /// The port.
    pub port: PortKey,
    /// Its name now.
    pub netdev: String,
    /// Whether it has a carrier; `None` if the kernel does not tell.
    pub carrier: Option<bool>,
    /// Mbit/s.
    pub speed_mbps: Option<u64>,
    /// Bytes.
    pub mtu: Option<u32>,
    /// The bond it is a slave of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bond: Option<String>,
    /// Times the carrier changed, since the device came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier_changes: Option<u64>,
    /// Packets its interface has carried, both directions, as the network stack counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
}

/// See [`Input::Dcb`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortDcb {
    /// The port.
    pub port: PortKey,
    /// Priorities with PFC on; `None` if it cannot be read: then all are watched.
    pub pfc: Option<PriorityMask>,
    /// Who decides about the mask.
    pub owner: DcbOwner,
    /// Its receive buffers; `None` if they cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Headroom>,
}

/// Who decides about a port's DCB configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DcbOwner {
    /// The host.
    #[default]
    Host,
    /// The firmware's LLDP agent, or another agent on this host.
    Other,
}

/// See [`Input::Pause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortPause {
    /// The port.
    pub port: PortKey,
    /// 802.3x pause; `None` if it cannot be read.
    pub pause: Option<PauseConfig>,
    /// Prevention timeout, milliseconds; `None` if there is none.
    pub prevention_timeout_ms: Option<u16>,
}

/// See [`Input::Health`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortHealth {
    /// The port.
    pub port: PortKey,
    /// The reporter.
    pub reporter: String,
    /// Whether it is in error.
    pub in_error: bool,
}

/// See [`Input::Maintenance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maintenance {
    /// The port; all if none.
    pub port: Option<PortKey>,
    /// Its end; over if none. Without a port, that of every port is over then.
    pub until: Option<MonoTime>,
    /// The user who asks for it, as the kernel knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<u32>,
}

/// See [`Input::GuardAnswer`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardAnswer {
    /// When the question was asked.
    pub asked_at: MonoTime,
    /// The number, or why there is none.
    pub answer: Result<u64, String>,
}

/// See [`Input::Outcome`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The action.
    pub action: ActionId,
    /// What came of it.
    pub report: Report,
}

/// What an operator can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Acknowledges a lock or a failed undo.
    Ack {
        /// The port.
        port: PortKey,
        /// The queue.
        queue: Queue,
        /// One direction, or both.
        direction: Option<Direction>,
    },
    /// Tries out what a storm of a queue would lead to.
    TestStorm {
        /// The port.
        port: PortKey,
        /// The queue.
        queue: Queue,
        /// The direction of the storm.
        direction: Direction,
        /// How far it goes.
        depth: TestDepth,
    },
    /// Takes everything back and begins nothing more.
    Stop,
}

/// How far a test goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestDepth {
    /// The plan is told, as in dry run.
    Plan,
    /// It is carried out, held, and taken back.
    Act,
}

/// See [`Input::Journal`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalState {
    /// What was left behind.
    pub durable: Durable,
    /// Whether the journal can be written now.
    pub writable: bool,
    /// Seeds the jitter of holds and waits, so that nodes do not act in step.
    pub seed: u64,
    /// Maintenance that goes on from an earlier run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub maintenance: Vec<Maintained>,
}

/// What the engine wants done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Carry out an order.
    Act(Box<Order>),
    /// A plan that was ordered is not to be begun any more, for this reason. One that has begun goes on.
    Withdraw(ActionId, Veto),
    /// Tell about an event: log, count, stream, record.
    Emit(Box<Event>),
    /// Read a port in this interval from now on.
    Pace(PortKey, Duration),
    /// Ask the fleet guard.
    AskGuard,
}
