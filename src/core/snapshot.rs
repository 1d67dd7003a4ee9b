//! What others may see of the engine: one immutable value, made anew when something has changed.
//! The metrics page, the landing page and the API are prints of it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::action::{ActionKind, ActionResult, PauseConfig};
use crate::catalog::{Counter, Slot};
use crate::delta::Gap;
use crate::engine::{Accounts, Milder, PortAccounts};
use crate::event::PauseKnown;
use crate::ids::{PortIdentity, PortKey};
use crate::input::PortLink;
use crate::phase::Phase;
use crate::policy::Veto;
use crate::settings::Mode;
use crate::units::{Direction, MonoTime, Permille, PriorityMask, Queue};

pub use crate::engine::Histogram;

/// The node at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// When it was made.
    pub at: MonoTime,
    /// The number of the last event.
    pub seq: u64,
    /// The mode.
    pub mode: Mode,
    /// Whether the journal can be written.
    pub journal_writable: bool,
    /// Whether all ports are in maintenance.
    pub maintenance: bool,
    /// The end of it; [`MonoTime::MAX`] where nobody can tell.
    pub maintenance_until: Option<MonoTime>,
    /// Actions left for the node in this hour.
    pub budget_remaining: u32,
    /// Actions whose undo is owed.
    pub undos_pending: u32,
    /// Share of time that all reads together take, by what they took lately and how often they come; in millionths.
    pub rtnl_share_millionths: u64,
    /// Events told, by name.
    pub events: BTreeMap<String, u64>,
    /// Answers of the fleet guard: below_limit, above_limit, failed.
    pub guard_answers: BTreeMap<String, u64>,
    /// From the onset of a storm to its detection.
    pub detection: Histogram,
    /// Time that actions took.
    pub action_took: BTreeMap<ActionKind, Histogram>,
    /// Share that makes a storm, and the least hold, per direction.
    pub rules: [RuleView; 2],
    /// The ports.
    pub ports: Vec<PortView>,
}

/// A rule as it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RuleView {
    /// Share of the window that has to be paused.
    pub share: Permille,
    /// The least hold.
    pub hold: Duration,
}

/// One port.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PortView {
    /// Its key.
    pub key: PortKey,
    /// Who it is.
    pub identity: PortIdentity,
    /// Its link.
    pub link: PortLink,
    /// How its pause is known.
    pub pause_known: PauseKnown,
    /// Whether its pause time is only an upper bound.
    pub estimated: bool,
    /// PFC mask.
    pub pfc: Option<PriorityMask>,
    /// 802.3x pause.
    pub pause: Option<PauseConfig>,
    /// Its counters.
    pub counters: Vec<CounterView>,
    /// Its queues.
    pub queues: Vec<QueueView>,
    /// Accounts of its readings.
    pub accounts: PortAccounts,
    /// Why it cannot be judged now.
    pub blind: Option<Gap>,
    /// The last reading.
    pub read_at: Option<MonoTime>,
    /// How long a read takes.
    pub read_took: Duration,
    /// How often it is read.
    pub interval: Duration,
    /// The decision window in force.
    pub detect: Duration,
    /// The longest time in which an unbroken pause is found on any queue of it, at the present pace and by what is known
    /// of who wants to send; `None` where none would be found at all.
    pub detect_bound: Option<Duration>,
    /// How often its source refreshes; zero for a live one.
    pub refresh: Duration,
    /// Whether it is in maintenance, by itself or with all ports.
    pub maintenance: bool,
    /// The end of its own.
    pub maintenance_until: Option<MonoTime>,
    /// Until an action can be planned again.
    pub hold_off_until: Option<MonoTime>,
    /// Actions left in this hour.
    pub budget_remaining: u32,
    /// Actions by kind and result.
    #[serde(serialize_with = "results")]
    pub results: BTreeMap<(ActionKind, ActionResult), u64>,
    /// Tests by kind and result: none of them is among the actions.
    #[serde(serialize_with = "results")]
    pub tests: BTreeMap<(ActionKind, ActionResult), u64>,
    /// When an action of each kind last ended.
    pub acted_at: BTreeMap<ActionKind, MonoTime>,
    /// Vetoes by reason.
    pub vetoes: BTreeMap<Veto, u64>,
}

/// One counter of a port, in held units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CounterView {
    /// What it is.
    pub slot: Slot,
    /// Its value.
    pub value: u64,
    /// Whether it stands at its largest value.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub saturated: bool,
}

/// One queue in one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueView {
    /// The queue.
    pub queue: Queue,
    /// The direction.
    pub direction: Direction,
    /// Whether it is watched.
    pub watched: bool,
    /// Whether a storm of it would be found now.
    pub armed: bool,
    /// Its phase.
    pub phase: Phase,
    /// Paused share of the last decision window.
    pub share: Option<Permille>,
    /// Whether it is held while nothing shows that it has anything to send.
    pub demand_unknown: bool,
    /// The milder kinds of pause that are open.
    pub milder: Milder,
    /// What is counted.
    #[serde(skip)]
    pub accounts: Accounts,
    /// Storms found.
    pub storms: u64,
    /// The beginning of the open storm.
    pub storm_since: Option<MonoTime>,
    /// Time in storms that have ended.
    pub storm_time: Duration,
}

impl PortView {
    /// A counter's value, if it is there.
    #[must_use]
    pub fn counter(&self, counter: Counter, queue: Option<Queue>) -> Option<u64> {
        let priority = match queue {
            Some(Queue::Priority(priority)) => Some(priority),
            Some(Queue::Global) | None => None,
        };
        let found = |view: &&CounterView| view.slot.counter() == counter && view.slot.priority() == priority;
        self.counters.iter().find(found).map(|view| view.value)
    }
}

fn results<S: serde::Serializer>(
    results: &BTreeMap<(ActionKind, ActionResult), u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let named = results.iter().map(|((kind, result), n)| (format!("{kind}/{}", result.label()), n));
    serializer.collect_map(named)
}
