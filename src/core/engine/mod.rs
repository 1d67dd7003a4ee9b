//! The engine: the one owner of all state. Inputs go in with their time, effects come out; nothing else happens.
//!
//! ```text
//! Reading ─▶ ledger (delta) ─▶ sample ─▶ track (evidence) ─▶ step (phase) ─▶ policy ─▶ plan
//! ```
//!
//! The files follow an input on its way: `observe` takes in what is seen, `transition` moves a queue and tells
//! about it, `answer` asks the policy and makes plans, `trial` does so at the operator's word, `ending` takes outcomes and owes undos, `memory` is what
//! outlives a restart, `view` is what others may see.

mod actions;
mod answer;
mod ending;
mod ledger;
mod maintenance;
mod memory;
mod nvmf;
mod observe;
mod offers;
mod operate;
mod own_flap;
mod pace;
mod port;
mod queue;
mod refresh;
mod sampling;
mod transition;
mod trial;
mod undo;
mod view;
mod whole;
mod withdrawal;

pub use port::PortAccounts;
pub use queue::{Accounts, Milder, RATIO_BUCKETS};
pub use view::Histogram;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::catalog::Counter;
use crate::durable::{Durable, Maintained, PortName};
use crate::event::{Event, EventKind, Place};
use crate::ids::{ActionId, PortKey};
use crate::input::{Effect, GuardAnswer, Input};
use crate::phase::Phase;
use crate::settings::{Mode, Settings};
use crate::units::MonoTime;
use actions::Action;
use port::Port;

/// Whether a counter can change a decision: the only counters a recording has to hold.
#[must_use]
pub const fn is_watched(counter: Counter) -> bool {
    ledger::is_watched(counter)
}

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Engine {
    settings: Settings,
    ports: BTreeMap<PortKey, Port>,
    actions: BTreeMap<ActionId, Action>,
    spent: Vec<(PortName, MonoTime)>,
    unclaimed: Durable,
    journal_writable: bool,
    seed: u64,
    guard: Option<GuardAnswer>,
    /// Ports that carry a default route.
    #[serde(default)]
    in_band: Vec<PortKey>,
    #[serde(default)]
    maintenance: Vec<Maintained>,
    stopping: Stopping,
    next_action: u64,
    next_storm: u64,
    seq: u64,
    revision: u64,
    counts: view::NodeCounts,
    out: Vec<Effect>,
}

/// Whether the agent is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stopping {
    No,
    Yes,
}

impl Engine {
    /// An engine without ports.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings: settings.bounded(),
            ports: BTreeMap::new(),
            actions: BTreeMap::new(),
            spent: Vec::new(),
            unclaimed: Durable::default(),
            journal_writable: false,
            seed: 0,
            guard: None,
            in_band: Vec::new(),
            maintenance: Vec::new(),
            stopping: Stopping::No,
            next_action: 1,
            next_storm: 1,
            seq: 0,
            revision: 0,
            counts: view::NodeCounts::default(),
            out: Vec::new(),
        }
    }

    /// Takes an input that came at `now`, and says what is to be done about it.
    ///
    /// What is due by then is done first, so that a late tick decides nothing differently.
    ///
    /// A reading, which comes many times a second, stays with the caller: its memory serves for the next one.
    pub fn handle(&mut self, now: MonoTime, input: &Input) -> Vec<Effect> {
        self.pass_time(now);
        match input {
            Input::Bound(bound) => self.bound(bound.clone(), now),
            Input::Reading(reading) => self.reading(reading, now),
            Input::ReadFailed(failed) => self.read_failed(failed.clone(), now),
            Input::Link(link) => self.link(link.clone(), now),
            Input::Dcb(dcb) => self.dcb(*dcb, now),
            Input::Pause(pause) => self.pause(*pause, now),
            Input::Health(health) => self.health(health.clone()),
            Input::Route(in_band) => self.route(in_band),
            Input::Nvmf(change) => self.nvmf(change, now),
            Input::Maintenance(maintenance) => self.maintain(*maintenance, now),
            Input::GuardAnswer(answer) => self.guard_answer(answer.clone()),
            Input::Outcome(ended) => self.ended(ended.clone(), now),
            Input::Command(command) => self.command(*command, now),
            Input::Reconfigure(settings) => self.reconfigure((**settings).clone(), now),
            Input::Gone(port) => self.gone(*port, now),
            Input::Journal(state) => self.restore((**state).clone(), now),
            Input::JournalWritable(writable) => self.journal_writable = *writable,
            Input::Tick => {}
        }
        self.withdraw_unwanted(now);
        self.answer_storms(now);
        self.send_undos(now);
        self.set_paces();
        std::mem::take(&mut self.out)
    }

    /// When [`Input::Tick`] would change something at the earliest.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        let queues = self.ports.values().flat_map(|port| {
            let sight = self.sight_deadline(port);
            port.queues.iter().filter_map(|queue| queue.deadline(self.stopping)).chain(sight)
        });
        queues.chain(self.undo_deadline()).chain(self.maintenance_deadline()).min()
    }

    /// A copy that holds only what decisions look at: where a recording begins that begins later than the agent.
    #[must_use]
    pub fn checkpoint(&self) -> Self {
        let mut copy = self.clone();
        for port in copy.ports.values_mut() {
            port.ledger.narrow();
            for queue in &mut port.queues {
                queue.places = port.ledger.places(queue.queue, queue.direction);
            }
        }
        copy
    }

    /// Counts up whenever [`Engine::durable`] has changed.
    #[must_use]
    pub const fn durable_revision(&self) -> u64 {
        self.revision
    }

    /// The settings in force.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether nothing is under way, and no undo is owed but those that were acknowledged: they are for the next start.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.actions.values().all(|action| !action.is_working() && self.is_given_up(action.id))
    }

    fn is_given_up(&self, id: ActionId) -> bool {
        let queues = self.ports.values().flat_map(|port| &port.queues);
        queues.filter(|queue| queue.phase.owed() == Some(id)).all(|queue| match queue.phase {
            Phase::UndoFailed(failed) => failed.retry_at.is_none(),
            Phase::Healthy
            | Phase::Suspect
            | Phase::Storm(_)
            | Phase::Testing(_)
            | Phase::Mitigated(_)
            | Phase::Undoing(_)
            | Phase::Probation(_)
            | Phase::Locked(_)
            | Phase::Suspended(_) => false,
        })
    }

    /// Whether nothing is left to do about any storm: none is open, nothing is in force or on probation.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.actions.is_empty()
            && self.ports.values().flat_map(|port| &port.queues).all(|queue| match queue.phase {
                Phase::Healthy | Phase::Suspended(_) => true,
                Phase::Locked(locked) => locked.storm.is_none(),
                Phase::Suspect
                | Phase::Storm(_)
                | Phase::Testing(_)
                | Phase::Mitigated(_)
                | Phase::Undoing(_)
                | Phase::UndoFailed(_)
                | Phase::Probation(_) => false,
            })
    }

    fn mode(&self) -> Mode {
        self.settings.mode
    }

    fn guard_answer(&mut self, answer: GuardAnswer) {
        self.counts.note_guard(&answer, self.settings.guard.as_ref());
        self.guard = Some(answer);
    }

    fn emit(&mut self, now: MonoTime, place: Place, kind: EventKind) {
        self.seq += 1;
        self.counts.note_event(&kind);
        self.out.push(Effect::Emit(Box::new(Event { seq: self.seq, at: now, place, kind })));
    }

    fn emit_port(&mut self, now: MonoTime, key: PortKey, kind: EventKind) {
        let netdev = self.ports.get(&key).map(|port| port.identity.netdev.clone()).unwrap_or_default();
        self.emit(now, Place { port: Some(key), netdev, ..Place::default() }, kind);
    }

    fn emit_queue(&mut self, now: MonoTime, key: PortKey, index: usize, kind: EventKind) {
        let Some(port) = self.ports.get(&key) else { return };
        let queue = &port.queues[index];
        let place = Place {
            port: Some(key),
            netdev: port.identity.netdev.clone(),
            priority: Some(queue.queue),
            direction: Some(queue.direction),
        };
        self.emit(now, place, kind);
    }

    /// A number that differs between nodes and is the same in a replay (splitmix64).
    fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// `span` give or take `percent` of it, so that the nodes of a fleet do not act in step.
    fn jitter(&mut self, span: std::time::Duration, percent: u32) -> std::time::Duration {
        let factor = 100 - percent + (self.random() % u64::from(2 * percent + 1)) as u32;
        span / 100 * factor
    }
}

#[cfg(test)]
mod tests;
