//! What outlives a restart: taken out for the journal, and taken in again when its port appears.

use crate::action::Disruption;
use crate::durable::{Durable, Owed, PortName, QueueMemory, Spent};
use crate::ids::{ActionId, PortKey};
use crate::input::JournalState;
use crate::phase::{Phase, Undoing};
use crate::policy::BUDGET_WINDOW;
use crate::units::MonoTime;

use super::Engine;
use super::actions::Action;
use super::port::Port;

impl Engine {
    /// What the journal has to hold now, also for ports that have not appeared yet.
    #[must_use]
    pub fn durable(&self) -> Durable {
        let owed = self.actions.values().filter_map(|action| {
            let port = self.ports.get(&action.port)?;
            Some(Owed { port: PortName::of(&port.identity), undo: action.owed()? })
        });
        let queues = self.ports.values().flat_map(|port| {
            let name = PortName::of(&port.identity);
            port.queues.iter().map(move |queue| QueueMemory {
                port: name.clone(),
                queue: queue.queue,
                direction: queue.direction,
                mitigated: queue.mitigated.clone(),
                locked: queue.phase.lock(),
                storm_since: queue.storm.map(|(_, since)| since),
            })
        });
        let worth = |memory: &QueueMemory| {
            !memory.mitigated.is_empty() || memory.locked.is_some() || memory.storm_since.is_some()
        };
        Durable {
            next_action: self.next_action,
            spent: self.spent.iter().map(|(port, at)| Spent { port: port.clone(), at: *at }).collect(),
            owed: owed.chain(self.unclaimed.owed.iter().cloned()).collect(),
            queues: queues.filter(worth).chain(self.unclaimed.queues.iter().cloned()).collect(),
        }
    }

    pub(super) fn restore(&mut self, state: JournalState, now: MonoTime) {
        self.journal_writable = state.writable;
        self.seed = state.seed;
        self.next_action = self.next_action.max(state.durable.next_action);
        let recent = state.durable.spent.iter().filter(|spent| now.since(spent.at) < BUDGET_WINDOW);
        self.spent.extend(recent.map(|spent| (spent.port.clone(), spent.at)));
        self.unclaimed = state.durable;
        for key in self.ports.keys().copied().collect::<Vec<_>>() {
            self.claim(key, now);
        }
    }

    /// Gives a port what an earlier run has left for it. What that run owed is taken back first of all.
    pub(super) fn claim(&mut self, key: PortKey, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        let name = PortName::of(&port.identity);
        let (queues, others) =
            std::mem::take(&mut self.unclaimed.queues).into_iter().partition::<Vec<_>, _>(|q| q.port == name);
        self.unclaimed.queues = others;
        for memory in queues {
            remember(port, memory, now);
        }
        port.last_action = self.spent.iter().filter(|(port, _)| *port == name).map(|(_, at)| *at).max();
        let (owed, others) = std::mem::take(&mut self.unclaimed.owed)
            .into_iter()
            .partition::<Vec<_>, _>(|owed| owed.port == name);
        self.unclaimed.owed = others;
        for owed in owed {
            self.owe(key, owed, now);
        }
        self.revision += 1;
    }

    fn owe(&mut self, key: PortKey, owed: Owed, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        let id = owed.undo.id;
        let disruption = port.caps.levers.disruption(owed.undo.kind).unwrap_or(Disruption::Device);
        let action = Action::restored(&owed.undo, key, disruption, now);
        for step in &action.steps {
            for &(queue, direction) in &step.queues {
                let hold = port.queues.iter().map(|q| q.rule.hold).max().unwrap_or_default();
                let state = port.queues.iter_mut().find(|q| q.queue == queue && q.direction == direction);
                if let Some(state) = state {
                    let undoing = Undoing { action: id, hold, doublings: 0, attempts: 0 };
                    state.phase = Phase::Undoing(undoing);
                    // It was mitigated when the run ended; the storm before that is over and counted.
                    state.resumes = None;
                }
            }
        }
        self.next_action = self.next_action.max(id.0 + 1);
        self.actions.insert(ActionId(id.0), action);
    }
}

fn remember(port: &mut Port, memory: QueueMemory, now: MonoTime) {
    let state = port.queues.iter_mut().find(|q| q.queue == memory.queue && q.direction == memory.direction);
    let Some(state) = state else { return };
    state.mitigated = memory.mitigated;
    state.resumes = memory.storm_since;
    if let Some(locked) = memory.locked.filter(|locked| locked.until > now) {
        state.phase = Phase::Locked(locked);
    }
}
