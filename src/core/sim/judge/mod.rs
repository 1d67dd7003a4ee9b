//! Watches a run and says which of the design's promises it broke. It decides nothing and never panics.
//!
//! It hears three things: what went in and out of the engine (`log`), what the simulated world knows to be true
//! (`truth`), and how everything stood at the end (`end`). It keeps its own books and believes nobody's.

mod end;
mod log;
mod queues;
#[cfg(test)]
mod tests;
mod truth;

pub use end::PortEnd;
pub use truth::{Applied, Found, Purpose};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::random::Random;
use crate::drivers::Driver;
use crate::durable::PortName;
use crate::ids::{ActionId, PortIdentity, PortKey};
use crate::settings::Settings;
use crate::units::{MonoTime, PriorityMask};
use queues::QueueBook;

/// More of one kind are not written down: one broken rule in a loop would fill the memory.
const VIOLATIONS_MAX: usize = 50;

/// A promise that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Never more actions than the budget, across restarts too.
    Budget,
    /// No undo is lost, and none is vetoed.
    UndoLost,
    /// A port that cannot be seen is never newly mitigated.
    BlindActed,
    /// A port whose pause is only estimated is never mitigated.
    EstimatedActed,
    /// No action on a pause that is already over.
    PauseOver,
    /// One operation that disrupts a link at a time.
    LinkOperations,
    /// No more mitigated ports than allowed.
    PortsMitigated,
    /// What we changed reads at the end as it did before.
    NotRestored,
    /// Storms found and storms ended match.
    StormCount,
    /// Events are numbered without gaps, and time does not go back.
    EventOrder,
    /// Phases follow each other as the table says.
    PhaseOrder,
    /// Numbers that are shown are possible.
    Range,
    /// A tick before its time changes nothing, and one at its time comes to rest.
    Deadline,
    /// When everything is over, nothing goes on.
    NotSettled,
    /// A storm is found only if there was a pause to find.
    InventedStorm,
    /// An unbroken pause is found in time.
    MissedStorm,
    /// One seed gives one run.
    Repeatable,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Budget,
        Self::UndoLost,
        Self::BlindActed,
        Self::EstimatedActed,
        Self::PauseOver,
        Self::LinkOperations,
        Self::PortsMitigated,
        Self::NotRestored,
        Self::StormCount,
        Self::EventOrder,
        Self::PhaseOrder,
        Self::Range,
        Self::Deadline,
        Self::NotSettled,
        Self::InventedStorm,
        Self::MissedStorm,
        Self::Repeatable,
    ];
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// When.
    pub at: MonoTime,
    /// The run's seed.
    pub seed: u64,
    /// How.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {} at {}: {:?}: {}", self.seed, self.at, self.rule, self.text)
    }
}

/// A port as the judge knows it.
#[derive(Clone, Debug)]
struct PortBook {
    device: u32,
    name: PortName,
    estimated: bool,
    read_at: Option<MonoTime>,
}

/// An action as the judge knows it, over all runs of the agent.
#[derive(Clone, Debug)]
struct ActionBook {
    device: u32,
    begun_at: MonoTime,
    queues: Vec<queues::Place>,
    /// Queues of it that are mitigated and whose undo has not been reported.
    owed: BTreeSet<queues::Place>,
    linkwise: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Judge {
    seed: u64,
    random: Random,
    settings: Settings,
    ports: BTreeMap<PortKey, PortBook>,
    queues: BTreeMap<(PortKey, queues::Place), QueueBook>,
    actions: BTreeMap<ActionId, ActionBook>,
    /// Actions that were begun and have not reached the journal yet.
    unwritten: BTreeMap<ActionId, u32>,
    spent: Vec<(u32, MonoTime)>,
    foreign: BTreeMap<u32, PriorityMask>,
    gone: BTreeSet<u32>,
    seq: u64,
    last_at: MonoTime,
    stopping: bool,
    violations: Vec<Violation>,
    /// Events seen, by name.
    pub(super) events: BTreeMap<&'static str, u64>,
}

impl Judge {
    /// A judge of a run under `settings`.
    #[must_use]
    pub fn new(seed: u64, settings: &Settings) -> Self {
        Self {
            seed,
            random: Random::new(!seed),
            settings: settings.clone(),
            ports: BTreeMap::new(),
            queues: BTreeMap::new(),
            actions: BTreeMap::new(),
            unwritten: BTreeMap::new(),
            spent: Vec::new(),
            foreign: BTreeMap::new(),
            gone: BTreeSet::new(),
            seq: 0,
            last_at: MonoTime::ZERO,
            stopping: false,
            violations: Vec::new(),
            events: BTreeMap::new(),
        }
    }

    /// What was broken so far.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// How often each event was told, over all runs of the agent.
    #[must_use]
    pub const fn events(&self) -> &BTreeMap<&'static str, u64> {
        &self.events
    }

    /// A new run of the agent begins: it knows no port yet, and numbers its events from 1.
    pub fn started(&mut self) {
        self.ports.clear();
        self.queues.clear();
        self.unwritten.clear();
        self.seq = 0;
        self.stopping = false;
    }

    /// The agent was told to stop.
    pub const fn stopping(&mut self) {
        self.stopping = true;
    }

    /// Other settings are in force.
    pub fn settings(&mut self, settings: &Settings) {
        self.settings = settings.clone();
    }

    /// The agent has found a port: `device` is the same over all runs, and another one if the device comes back.
    pub fn port(&mut self, key: PortKey, device: u32, identity: &PortIdentity, driver: &Driver) {
        let estimated = driver.caps.pause_time != crate::drivers::PauseTime::Measured;
        let name = PortName::of(identity);
        self.ports.insert(key, PortBook { device, name, estimated, read_at: None });
    }

    fn broken(&mut self, rule: Rule, at: MonoTime, text: String) {
        if self.violations.iter().filter(|known| known.rule == rule).count() < VIOLATIONS_MAX {
            self.violations.push(Violation { rule, at, seed: self.seed, text });
        }
    }

    /// How long a mitigation may last from its plan to its undo: `hold_max` from its outcome, a minute for a carrier
    /// that does not come back, and what the operations take.
    fn mitigation_max(&self) -> Duration {
        let longest = [&self.settings.rx, &self.settings.tx].map(|rule| rule.hold_max).into_iter().max();
        let longest = longest.unwrap_or_default();
        longest + crate::phase::CARRIER_WAIT + Duration::from_secs(60)
    }
}
