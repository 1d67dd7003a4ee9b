//! What outlives a restart: taken out for the journal, and taken in again when its port appears.

use crate::action::Disruption;
use crate::durable::{Claimed, Durable, Owed, PortName, QueueMemory, Spent};
use crate::event::{EventKind, PhaseName};
use crate::ids::{ActionId, PortKey};
use crate::input::{Effect, JournalState};
use crate::phase::{EndReason, Locked, Phase, Undoing};
use crate::policy::{BUDGET_WINDOW, Veto};
use crate::units::MonoTime;

use super::Engine;
use super::actions::{Action, Stage};
use super::queue::Resumption;

impl Engine {
    /// What the journal has to hold now, also for ports that have not appeared yet.
    #[must_use]
    pub fn durable(&self) -> Durable {
        let owed = self
            .actions
            .values()
            .filter_map(|action| Some(Owed::to(&self.ports.get(&action.port)?.identity, action.owed()?)));
        let queues = self.ports.values().flat_map(|port| {
            let name = PortName::of(&port.identity);
            port.queues.iter().map(move |queue| QueueMemory {
                port: name.clone(),
                queue: queue.queue,
                direction: queue.direction,
                mitigated: queue.mitigated.clone(),
                locked: queue.phase.lock(),
                storm_since: queue.storm.map(|(_, since)| since),
                storm_class: queue.phase.class(),
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

    pub(super) fn restore(&mut self, mut state: JournalState, now: MonoTime) {
        // An instant to come would count for ever; the clock of a boot does not go back, but a damaged file may.
        state.durable.spent.iter_mut().for_each(|spent| spent.at = spent.at.min(now));
        for queue in &mut state.durable.queues {
            queue.storm_since = queue.storm_since.map(|since| since.min(now));
            queue.mitigated.iter_mut().for_each(|at| *at = (*at).min(now));
        }
        self.journal_writable = state.writable;
        self.seed = state.seed;
        self.next_action = self.next_action.max(state.durable.next_action);
        let recent = state.durable.spent.iter().filter(|spent| now.since(spent.at) < BUDGET_WINDOW);
        self.spent.extend(recent.map(|spent| (spent.port.clone(), spent.at)));
        self.unclaimed = state.durable;
        self.maintenance.extend(state.maintenance);
        for key in self.ports.keys().copied().collect::<Vec<_>>() {
            self.claim(key, now);
        }
    }

    /// Gives a port what an earlier run has left for it. What that run owed is taken back first of all.
    pub(super) fn claim(&mut self, key: PortKey, now: MonoTime) {
        self.claim_renamed(key, now);
        let Some(port) = self.ports.get_mut(&key) else { return };
        let identity = port.identity.clone();
        let name = PortName::of(&identity);
        let (queues, others) =
            std::mem::take(&mut self.unclaimed.queues).into_iter().partition::<Vec<_>, _>(|q| q.port == name);
        self.unclaimed.queues = others;
        port.last_action = self.spent.iter().filter(|(port, _)| *port == name).map(|(_, at)| *at).max();
        for memory in queues {
            self.remember(key, memory, now);
        }
        let present = self.ports.values().map(|port| port.identity.clone()).collect::<Vec<_>>();
        let Claimed { own, lapsed } = self.unclaimed.take_owed(&identity, &present);
        for owed in lapsed {
            self.emit_port(now, key, EventKind::UndoDropped { action: owed.undo.id });
        }
        for owed in own {
            self.owe(key, owed, now);
        }
        self.revision += 1;
    }

    /// A port that was renamed while the agent was away is known by the address of its device; what was kept of it goes
    /// on under its new name. A name that another port bears, or one that is still to come, is no name of before.
    fn claim_renamed(&mut self, key: PortKey, now: MonoTime) {
        let Some(identity) = self.ports.get(&key).map(|port| &port.identity) else { return };
        let after = PortName::of(identity);
        let kept = &mut self.unclaimed;
        let of_others = kept.owed.iter().filter(|owed| owed.is_of(identity) == Some(false));
        let names = self.ports.values().map(|port| PortName::of(&port.identity));
        let names = names.chain(of_others.map(|owed| owed.port.clone())).collect::<Vec<_>>();
        let spent = self.spent.iter_mut().map(|(port, _)| port);
        let owed = kept.owed.iter_mut().map(|owed| &mut owed.port);
        let queues = kept.queues.iter_mut().map(|queue| &mut queue.port);
        let mut before = None;
        let maintained = self.maintenance.iter_mut().filter_map(|kept| kept.port.as_mut());
        for port in owed.chain(queues).chain(spent).chain(maintained) {
            if port.is_renamed(&after) && !names.contains(port) {
                before = Some(std::mem::replace(port, after.clone()).netdev);
            }
        }
        if let Some(from) = before {
            self.emit_port(now, key, EventKind::PortRenamed { from });
        }
    }

    /// A device that is gone takes everything along but what is owed to it: it may only have been lent to a container.
    /// Which device it was the kernel tells; where it tells of none, nothing could tell it from another.
    pub(super) fn gone(&mut self, key: PortKey, now: MonoTime) {
        let Some(port) = self.ports.get(&key) else { return };
        let identity = port.identity.clone();
        for index in 0..port.queues.len() {
            if self.ports[&key].queues[index].phase.open_storm().is_some() {
                self.close_storm(key, index, EndReason::Gone, now);
            }
        }
        let owing = self.actions.values().filter(|action| action.port == key).map(|action| action.id);
        for id in owing.collect::<Vec<_>>() {
            let Some(action) = self.actions.remove(&id) else { continue };
            if action.stage == Stage::Begun {
                // If its device is back before it begins, what it changes then would be owed by nobody.
                self.out.push(Effect::Withdraw(id, Veto::StaleData));
            }
            let Some(undo) = action.owed() else { continue };
            if identity.ifindex.is_none() {
                self.emit_port(now, key, EventKind::UndoDropped { action: id });
                continue;
            }
            self.unclaimed.owed.push(Owed::to(&identity, undo));
            self.emit_port(now, key, EventKind::UndoWaits { action: id });
        }
        self.emit_port(now, key, EventKind::PortRemoved);
        self.ports.remove(&key);
        self.in_band.retain(|port| *port != key);
        self.revision += 1;
    }

    fn owe(&mut self, key: PortKey, owed: Owed, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        let id = owed.undo.id;
        let disruption = port.caps.levers.disruption(owed.undo.kind).unwrap_or(Disruption::Device);
        let action = Action::restored(&owed.undo, key, disruption, now);
        let hold = port.queues.iter().map(|q| q.rule.hold).max().unwrap_or_default();
        for (queue, direction) in action.steps.iter().flat_map(|step| step.queues.iter().copied()) {
            let Some(index) = self.index(key, queue, direction) else { continue };
            let purpose = owed.undo.purpose;
            let undoing = Undoing { action: id, purpose, hold, doublings: 0, attempts: 0 };
            self.resume(key, index, Phase::Undoing(undoing), now);
        }
        self.next_action = self.next_action.max(id.0.saturating_add(1));
        self.actions.insert(ActionId(id.0), action);
    }

    fn remember(&mut self, key: PortKey, memory: QueueMemory, now: MonoTime) {
        let Some(index) = self.index(key, memory.queue, memory.direction) else { return };
        let Some(port) = self.ports.get_mut(&key) else { return };
        let state = &mut port.queues[index];
        state.mitigated = memory.mitigated;
        state.resumes =
            memory.storm_since.map(|since| Resumption::new(since, memory.storm_class, now, &state.rule));
        let longest = now + state.rule.lock_for;
        if let Some(locked) = memory.locked.filter(|locked| locked.until > now) {
            // A storm that was open is found again, and goes on from where it began.
            let locked = Locked { storm: None, until: locked.until.min(longest), ..locked };
            self.resume(key, index, Phase::Locked(locked), now);
        }
    }

    /// Puts a queue into the phase in which an earlier run has left it, and tells.
    fn resume(&mut self, key: PortKey, index: usize, phase: Phase, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        let from = std::mem::replace(&mut port.queues[index].phase, phase);
        let name = |phase: Phase| PhaseName(phase.label().into());
        self.emit_queue(now, key, index, EventKind::PhaseChanged { from: name(from), to: name(phase) });
    }
}
