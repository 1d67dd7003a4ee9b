//! What a world knows to be true, for its judge.

use std::time::Duration;

use super::judge::Found;
use super::world::{World, all_queues};
use crate::drivers::{PacketScope, PauseTime};
use crate::event::EventKind;
use crate::input::{Effect, Input};
use crate::phase::Class;
use crate::settings::Mode;
use crate::units::{Direction, MonoTime, Priority, Queue, nanos};

/// The engine is looked at after so many steps, on average: a look clones it.
const LOOK_EVERY: u64 = 64;
/// Counters tick in microseconds: a pause of less may not show.
const TICK: Duration = Duration::from_micros(3);

impl World {
    pub(super) fn tell_judge(&mut self, input: &Input, effects: &[Effect]) {
        if !self.judging {
            return;
        }
        self.judge.step(self.now, input, effects);
        for effect in effects {
            let Effect::Emit(event) = effect else { continue };
            let EventKind::StormDetected { class: Class::Blocked, estimated: false, .. } = event.kind else {
                continue;
            };
            if let (Some(port), Some(queue), Some(direction)) =
                (event.place.port, event.place.priority, event.place.direction)
            {
                self.tell_found(port, queue, direction);
            }
        }
        // Little happens on a port that cannot be seen: it is looked at more often.
        let blinded = self.ports.iter().any(|port| port.is_blinded(self.now));
        let every = if blinded { LOOK_EVERY / 16 } else { LOOK_EVERY };
        if self.steps.is_multiple_of(every)
            && let Some(engine) = &self.engine
        {
            self.judge.look(self.now, engine);
        }
    }

    fn tell_found(&mut self, key: crate::ids::PortKey, queue: Queue, direction: Direction) {
        let Some(index) = self.ports.iter().position(|port| port.key == Some(key)) else { return };
        let port = &self.ports[index];
        // As it was when the reading was judged: a slow read may stretch it right after.
        let detect = port.detect;
        let newest = port.read_at.back().copied().unwrap_or(self.now);
        // The oldest reading counts pro rata: it begins at the last one before the window.
        let begin = newest.before(detect);
        let oldest = port.read_at.iter().rev().find(|at| **at <= begin).copied().unwrap_or(begin);
        // A source that refreshes slowly shows what was up to two refreshes ago.
        let from = oldest.before(port.nic.refresh() * 2);
        let found = Found {
            at: self.now,
            port: key,
            queue,
            direction,
            paused: port.nic.paused_between(queue, direction, from, newest),
            needed: self.needed(direction, detect),
        };
        self.judge.found(&found);
    }

    fn needed(&self, direction: Direction, detect: Duration) -> Duration {
        let rule = match direction {
            Direction::Rx => &self.settings.rx,
            Direction::Tx => &self.settings.tx,
        };
        Duration::from_nanos(rule.share.share_of(nanos(detect)))
    }

    /// After a reading: every pause that has to be found by now is found.
    pub(super) fn check_promise(&mut self, index: usize) {
        let port = &self.ports[index];
        let caps = port.nic.driver().caps;
        let live = port.nic.refresh().is_zero() && caps.pause_time == PauseTime::Measured;
        if !self.judging || !live || self.settings.mode == Mode::Off || port.is_blinded(self.now) {
            return;
        }
        for (queue, direction) in all_queues() {
            if !self.ports[index].nic.script(queue, direction).is_empty() {
                self.check_queue(index, queue, direction);
            }
        }
    }

    fn check_queue(&mut self, index: usize, queue: Queue, direction: Direction) {
        let port = &self.ports[index];
        let Some(newest) = port.read_at.back().copied() else { return };
        let Some(key) = port.key else { return };
        let Some(spell) = port.nic.script(queue, direction).unbroken_at(newest) else { return };
        let Some(first) = port.read_at.iter().find(|at| **at > spell.from + TICK).copied() else { return };
        let detect = port.detect;
        if newest.since(first) < self.needed(direction, detect) + TICK || first == newest {
            return;
        }
        if !matches!(self.judge.phase(key, (queue, direction)), "healthy" | "suspect" | "probation") {
            return;
        }
        if self.promise_holds(index, queue, direction, spell.from, detect) {
            let lasted = newest.since(spell.from);
            self.judge.missed(self.now, key, (queue, direction), lasted);
        }
    }

    /// Whether the promise speaks of this pause: with demand, after a quiet, on a port that is as it was.
    fn promise_holds(
        &self,
        index: usize,
        queue: Queue,
        direction: Direction,
        onset: MonoTime,
        detect: Duration,
    ) -> bool {
        let port = &self.ports[index];
        let oldest = port.read_at.front().copied().unwrap_or(onset);
        let before = onset.before(detect);
        let quiet_from = port.read_at.iter().rev().find(|at| **at <= before).copied().unwrap_or(oldest);
        let quiet = port.nic.paused_between(queue, direction, quiet_from, onset).is_zero();
        let since = port.clean_since.max(port.nic.carrier_since()).max(oldest);
        // The first reading after a trouble shows all of it at once: it is implausible, and no beginning.
        let settled = port.read_at.iter().find(|at| **at > since);
        let clean = settled.is_some_and(|at| *at < quiet_from) && port.nic.has_carrier();
        let alone = port.nic.driver().caps.priority_packets == PacketScope::Alone;
        let demand = match (queue, direction) {
            (_, Direction::Tx) => true,
            (Queue::Priority(priority), Direction::Rx) => alone && port.nic.sends(priority),
            (Queue::Global, Direction::Rx) => alone && Priority::ALL.iter().any(|p| port.nic.sends(*p)),
        };
        quiet && clean && demand && port.nic.honours(queue, direction)
    }
}
