//! Troubles of a simulated port's counters, and the truth about its queues.

use std::time::Duration;

use super::Nic;
use crate::sim::faults::Switch;
use crate::sim::peer::Script;
use crate::units::{Direction, MonoTime, Queue};

impl Nic {
    /// All counters start again at 0 at `at`.
    pub fn reset_counters(&mut self, at: MonoTime) {
        self.advance(at);
        self.origin = Some(self.block.as_ref().unwrap_or(&self.tally).clone());
        self.jump = 0;
    }

    /// All counters jump up at `at`, as bnxt_en's widening makes of a reset of its firmware.
    pub fn jump_counters(&mut self, at: MonoTime) {
        self.advance(at);
        self.jump = self.jump.wrapping_add(1 << self.random.between(44, 48));
    }

    /// The next reading is all zeros.
    pub const fn glitch_once(&mut self) {
        self.glitch = Switch::On;
    }

    /// What is read does not move any more after `at`.
    pub fn freeze(&mut self, at: MonoTime) {
        self.advance(at);
        self.frozen = Some(self.block.as_ref().unwrap_or(&self.tally).clone());
    }

    /// What is read moves again.
    pub fn thaw(&mut self) {
        self.frozen = None;
    }

    /// Ends every pause at `at`.
    pub fn end_pauses(&mut self, at: MonoTime) {
        self.advance(at);
        self.scripts.iter_mut().flatten().for_each(|script| script.end(at));
    }

    /// What its peer, or the port itself, does to a queue.
    #[must_use]
    pub const fn script(&self, queue: Queue, direction: Direction) -> &Script {
        &self.scripts[queue.index()][direction.index()]
    }

    /// The last instant up to `at` at which the queue was paused, whether or not the port honours it.
    #[must_use]
    pub fn paused_last(&self, queue: Queue, direction: Direction, at: MonoTime) -> Option<MonoTime> {
        self.script(queue, direction).paused_last(at, self.limit(direction))
    }

    /// How long the queue was paused between two instants, as the peer sees it.
    #[must_use]
    pub fn paused_between(
        &self,
        queue: Queue,
        direction: Direction,
        from: MonoTime,
        until: MonoTime,
    ) -> Duration {
        let flow = self.script(queue, direction).between(from, until, 0, self.limit(direction));
        Duration::from_nanos(flow.paused_ns)
    }
}
