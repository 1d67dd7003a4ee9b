//! What goes wrong in a world, and how an agent ends and starts again.

use std::time::Duration;

use super::faults::{AgentEnd, JournalMood, Switch, What};
use super::nic::Nic;
use super::scenario::Told;
use super::world::{Happening, Sink, World};
use crate::engine::Engine;
use crate::ids::PortKey;
use crate::input::{Command, Input, JournalState, Maintenance};
use crate::settings::{Mode, Settings};
use crate::units::{MonoTime, Priority, PriorityMask};

/// An agent that was told to stop is killed after so long.
const STOP_MAX: Duration = Duration::from_secs(30);

impl World {
    pub(super) fn trouble(&mut self, index: usize, what: What, sink: &mut Sink<'_>) {
        let now = self.now;
        if index >= self.ports.len() {
            return;
        }
        match what {
            What::LinkFlap { lasts } => self.foreign_flap(index, lasts),
            What::CounterReset => self.ports[index].nic.reset_counters(now),
            What::ZeroGlitch => self.ports[index].nic.glitch_once(),
            What::Jump => self.ports[index].nic.jump_counters(now),
            What::Freeze { lasts } => {
                if now >= self.ports[index].frozen_until {
                    self.ports[index].nic.freeze(now);
                    self.ports[index].frozen_since = now;
                }
                self.ports[index].frozen_until = self.ports[index].frozen_until.max(now + lasts);
                self.plan(now + lasts, Happening::Thaw(index));
            }
            What::ReadErrors { lasts } => self.ports[index].errors_until = now + lasts,
            What::NoReadings { lasts } => self.ports[index].readings_off_until = now + lasts,
            What::Acts(mood) => self.ports[index].nic.mood = mood,
            What::ActsTake { min, max } => self.ports[index].acts_take = (min, max),
            What::JournalTakes { max } => self.journal_takes = max,
            What::Journal(mood) => self.journal_mood = mood,
            What::ForeignMask { pfc, told } => self.foreign_mask(index, pfc, told),
            What::ForeignBit { priority, on, told } => {
                let mask = self.ports[index].nic.config().pfc.unwrap_or_default();
                let Some(priority) = Priority::new(priority) else { return };
                let pfc = match on {
                    Switch::On => mask.with(priority),
                    Switch::Off => mask.without(priority),
                };
                self.foreign_mask(index, pfc, told);
            }
            What::Owner(owner) => {
                self.ports[index].owner = owner;
                self.tell_config(index, sink);
            }
            What::Remove => self.remove(index, sink),
            What::Return => self.come_back(index, sink),
            What::Restart { how, away } => self.restart(how, away, sink),
            What::Guard(mood) => self.guard = mood,
            What::Maintenance { lasts } => {
                let maintenance =
                    Maintenance { port: self.ports[index].key, until: Some(now + lasts), by: None };
                self.feed(Input::Maintenance(maintenance), sink);
            }
            What::Mode(mode) => self.set_mode(mode, sink),
            What::Ack { queue, direction } => {
                if let Some(port) = self.ports[index].key {
                    let ack = Command::Ack { port, queue, direction: Some(direction) };
                    self.feed(Input::Command(ack), sink);
                }
            }
            What::Load(load) => self.ports[index].nic.set_load(load, now),
            What::Rename => {
                self.ports[index].rename();
                if self.engine.is_some() {
                    self.tell_link(index, sink);
                }
            }
        }
        self.ports[index].clean_since = now;
    }

    pub(super) fn thaw(&mut self, index: usize) {
        if self.now >= self.ports[index].frozen_until {
            self.ports[index].nic.thaw();
            self.ports[index].clean_since = self.now;
        }
    }

    fn foreign_flap(&mut self, index: usize, lasts: Duration) {
        self.ports[index].nic.flap(self.now, lasts);
        self.watch_carrier(index);
    }

    fn foreign_mask(&mut self, index: usize, pfc: PriorityMask, told: Told) {
        let before = self.ports[index].nic.config().pfc.unwrap_or_default();
        self.judge.foreign(self.ports[index].device, PriorityMask(before.0 ^ pfc.0));
        self.ports[index].nic.set_pfc(pfc, self.now);
        self.watch_carrier(index);
        if told == Told::Yes {
            let delay = self.random.span(Duration::from_millis(1), Duration::from_millis(30));
            self.plan(self.now + delay, Happening::ConfigTold(index));
        }
    }

    fn remove(&mut self, index: usize, sink: &mut Sink<'_>) {
        if !self.ports[index].present {
            return;
        }
        self.ports[index].present = false;
        self.judge.gone(self.ports[index].device);
        let key = self.ports[index].key;
        self.ports[index].forget();
        if let Some(key) = key {
            self.feed(Input::Gone(key), sink);
        }
    }

    /// A device that comes back is another one, fresh from its firmware.
    fn come_back(&mut self, index: usize, sink: &mut Sink<'_>) {
        if self.ports[index].present {
            return;
        }
        let random = self.random.fork();
        let port = &mut self.ports[index];
        let queues = super::world::all_queues();
        let mut scripts: [[super::peer::Script; 2]; crate::units::Queue::COUNT] = Default::default();
        for (queue, direction) in queues {
            scripts[queue.index()][direction.index()] = port.nic.script(queue, direction).clone();
        }
        port.nic = Nic::new(&port.spec, scripts, self.now, random);
        port.present = true;
        port.original = port.nic.config();
        port.own_flap_until = MonoTime::ZERO;
        self.devices += 1;
        port.device = self.devices;
        if self.engine.is_some() {
            // Keys are never used twice while the agent runs.
            let key = PortKey((self.devices + 100) as u16);
            self.introduce(index, key, sink);
        }
    }

    fn set_mode(&mut self, mode: Mode, sink: &mut Sink<'_>) {
        let settings = Settings { mode, ..self.settings.clone() };
        self.tell(Input::Reconfigure(Box::new(settings)), sink);
    }

    /// Ends the agent, and plans its start.
    pub(super) fn restart(&mut self, how: AgentEnd, away: Duration, sink: &mut Sink<'_>) {
        if self.engine.is_none() {
            return;
        }
        match how {
            AgentEnd::Killed => self.agent_ends(away),
            AgentEnd::Stopped => {
                self.tell(Input::Command(Command::Stop), sink);
                self.agent_ending(away, self.now + STOP_MAX);
            }
        }
    }

    /// An agent that was told to stop ends as soon as nothing is owed any more, or is killed at `by`.
    pub(super) fn agent_ending(&mut self, away: Duration, by: MonoTime) {
        let settled = self.engine.as_ref().is_none_or(Engine::is_settled);
        if settled || self.now >= by {
            return self.agent_ends(away);
        }
        self.plan(self.now + Duration::from_millis(100), Happening::AgentEnding { away, by });
    }

    fn agent_ends(&mut self, away: Duration) {
        if self.engine.is_none() {
            return;
        }
        self.drop_runs();
        self.engine = None;
        self.forget_deadline();
        for port in &mut self.ports {
            port.forget();
        }
        self.plan(self.now + away, Happening::AgentStarts);
    }

    pub(super) fn agent_starts(&mut self, sink: &mut Sink<'_>) {
        if self.engine.is_some() {
            return;
        }
        self.engine = Some(Engine::new(self.settings.clone()));
        self.judge.started();
        self.journal_revision = 0;
        let writable = self.journal_mood == JournalMood::Works;
        let seed = self.random.next();
        let state = JournalState { durable: self.journal.clone(), writable, seed, maintenance: Vec::new() };
        self.feed(Input::Journal(Box::new(state)), sink);
        for index in 0..self.ports.len() {
            if self.ports[index].present {
                self.introduce(index, PortKey(index as u16), sink);
            }
        }
        let in_band = (0..self.ports.len()).filter(|&index| self.ports[index].spec.in_band);
        let route = in_band.filter_map(|index| self.ports[index].key).collect::<Vec<_>>();
        if !route.is_empty() {
            self.feed(Input::Route(route), sink);
        }
    }
}
