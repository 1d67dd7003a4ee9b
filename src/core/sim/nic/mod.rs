//! A simulated port: it is paused, sends, counts, and can be set. How it does so stands in its driver's table.
//!
//! It moves lazily: whoever asks names the time, and it catches up piece by piece. It never goes back.

mod levers;
#[cfg(test)]
mod tests;
mod truth;

use std::time::Duration;

use super::counters::{Directory, Shown, holding_rate};
use super::faults::{ActMood, Switch};
use super::peer::{Limit, Script};
use super::random::Random;
use super::scenario::{Counters, Load, PortSpec};
use super::tally::Tally;
use crate::action::PauseConfig;
use crate::drivers::{self, Driver, PauseScope};
use crate::units::{Direction, MonoTime, Priority, PriorityMask, Queue, nanos};

/// What mlx5 takes as its automatic prevention timeout (en_ethtool.c): 100 ms.
const PREVENTION_AUTO: u16 = 0xffff;

/// See the module.
#[derive(Clone, Debug)]
pub struct Nic {
    driver: &'static Driver,
    now: MonoTime,
    random: Random,
    seed: u64,
    speed_mbps: u64,
    flap: (Duration, Duration),
    pfc: PriorityMask,
    /// Priorities whose pause is honoured although their bit is off.
    stuck: PriorityMask,
    pause: PauseConfig,
    prevention_ms: Option<u16>,
    prevention_since: MonoTime,
    admin_up: bool,
    carrier_back: Option<MonoTime>,
    carrier_since: MonoTime,
    recoveries: u64,
    load: [[u64; 2]; Priority::COUNT],
    scripts: [[Script; 2]; Queue::COUNT],
    tally: Tally,
    /// What the counters show, where they are not read live.
    block: Option<Tally>,
    refresh: Duration,
    frozen: Option<Tally>,
    /// Counters count from here since the last reset.
    origin: Option<Tally>,
    jump: u64,
    glitch: Switch,
    directory: Directory,
    revision: u64,
    spec: PortSpec,
    /// What becomes of operations.
    pub mood: ActMood,
}

impl Nic {
    /// The port of `spec` at `start`, paused by `scripts`.
    #[must_use]
    pub fn new(
        spec: &PortSpec,
        scripts: [[Script; 2]; Queue::COUNT],
        start: MonoTime,
        mut random: Random,
    ) -> Self {
        let driver = drivers::for_driver(&spec.driver);
        let refresh = spec.refresh.unwrap_or(driver.caps.refresh.period());
        let mut nic = Self {
            driver,
            now: start,
            seed: random.next(),
            random,
            speed_mbps: spec.speed_mbps,
            flap: (spec.flap_min, spec.flap_max),
            pfc: spec.pfc,
            stuck: PriorityMask(0),
            pause: spec.pause,
            prevention_ms: spec.prevention_timeout_ms,
            prevention_since: start,
            admin_up: true,
            carrier_back: None,
            carrier_since: start,
            recoveries: 0,
            load: [[0; 2]; Priority::COUNT],
            scripts,
            tally: Tally::default(),
            block: (!refresh.is_zero()).then(Tally::default),
            refresh,
            frozen: None,
            origin: None,
            jump: 0,
            glitch: Switch::Off,
            directory: Directory::default(),
            revision: 0,
            spec: spec.clone(),
            mood: ActMood::Work,
        };
        for load in &spec.load {
            nic.set_load(*load, start);
        }
        nic.rename();
        nic
    }

    /// The names of its counters, in the order of [`Nic::values_at`].
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.directory.names
    }

    /// Counts up whenever the names change.
    #[must_use]
    pub const fn names_revision(&self) -> u64 {
        self.revision
    }

    /// What its driver's table says.
    #[must_use]
    pub const fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// How often its counters are refreshed; zero for live ones.
    #[must_use]
    pub const fn refresh(&self) -> Duration {
        self.refresh
    }

    /// Goes on to `at`; nothing happens if that is past.
    pub fn advance(&mut self, at: MonoTime) {
        while let Some(back) = self.carrier_back.filter(|back| *back <= at) {
            self.advance_within(back);
            self.carrier_back = None;
            self.carrier_since = back;
        }
        self.advance_within(at);
    }

    /// While nothing changes but the peers.
    fn advance_within(&mut self, at: MonoTime) {
        if !self.refresh.is_zero() {
            let period = nanos(self.refresh);
            let phase = self.seed % period;
            let last = (at.as_nanos().saturating_sub(phase)) / period * period + phase;
            let last = MonoTime::from_nanos(last);
            if last > self.now && last <= at && self.has_carrier() {
                self.count(last);
                self.block = Some(self.tally.clone());
            }
        }
        self.count(at);
    }

    fn count(&mut self, until: MonoTime) {
        if until <= self.now {
            return;
        }
        let from = std::mem::replace(&mut self.now, until);
        if !self.has_carrier() {
            return;
        }
        let span = until.nanos_since(from);
        let held = Direction::ALL.map(|direction| self.count_pause(Queue::Global, direction, from, until));
        for priority in Priority::ALL {
            for direction in Direction::ALL {
                let own = self.count_pause(Queue::Priority(priority), direction, from, until);
                let moved = opposite(direction);
                let rate = self.load[priority.index()][moved.index()];
                // Both kinds of pause at once do not add up; no scenario has them overlap for long.
                let sending = span.saturating_sub(own + held[direction.index()]);
                if rate > 0 {
                    self.tally.flow(priority, moved, sending, rate);
                }
            }
        }
    }

    /// Counts the pause of one queue and returns for how long it really held, ns.
    fn count_pause(&mut self, queue: Queue, direction: Direction, from: MonoTime, until: MonoTime) -> u64 {
        let script = &self.scripts[queue.index()][direction.index()];
        if script.is_empty() {
            return 0;
        }
        let flow = script.between(from, until, holding_rate(self.speed_mbps), self.limit(direction));
        let honoured = self.honours(queue, direction);
        if !honoured && direction == Direction::Tx {
            return 0;
        }
        let held = if honoured { flow.paused_ns } else { 0 };
        for counted in self.unison(queue) {
            let tally = &mut self.tally.pauses[counted][direction.index()];
            tally.time_ns += held;
            tally.stops += flow.stops;
            tally.releases += flow.releases;
            tally.ends += if honoured { flow.ends } else { 0 };
        }
        held
    }

    /// The places of the queues whose counters one pause moves: all that have PFC on where a traffic class counts
    /// as one.
    fn unison(&self, queue: Queue) -> impl Iterator<Item = usize> + use<> {
        let class = match (queue, self.driver.caps.pause_scope) {
            (Queue::Priority(priority), PauseScope::TrafficClass) if self.pfc.contains(priority) => {
                self.pfc.0
            }
            (Queue::Priority(_) | Queue::Global, _) => 0,
        };
        let places = u16::from(class) | 1 << queue.index();
        (0..Queue::COUNT).filter(move |place| places & (1 << place) != 0)
    }

    /// Whether a pause of the queue is in force, as the port is set.
    #[must_use]
    pub const fn honours(&self, queue: Queue, direction: Direction) -> bool {
        match (queue, direction) {
            (Queue::Priority(priority), _) => self.pfc.contains(priority) || self.stuck.contains(priority),
            (Queue::Global, Direction::Rx) => self.pause.rx,
            (Queue::Global, Direction::Tx) => self.pause.tx,
        }
    }

    /// The limit the port sets itself on pause of this direction.
    fn limit(&self, direction: Direction) -> Option<Limit> {
        let after = match (direction, self.prevention_ms?) {
            (Direction::Rx, _) | (Direction::Tx, 0) => return None,
            (Direction::Tx, PREVENTION_AUTO) => Duration::from_millis(100),
            (Direction::Tx, ms) => Duration::from_millis(u64::from(ms)),
        };
        Some(Limit { after, since: self.prevention_since })
    }

    /// Its counters at `at`, native.
    pub fn values_at(&mut self, at: MonoTime) -> Vec<u64> {
        let mut values = Vec::new();
        self.read(at, &mut values);
        values
    }

    /// Replaces `values` by its counters at `at`, native.
    pub fn read(&mut self, at: MonoTime, values: &mut Vec<u64>) {
        self.advance(at);
        values.clear();
        if std::mem::replace(&mut self.glitch, Switch::Off) == Switch::On {
            values.resize(self.directory.natives.len(), 0);
            return;
        }
        let tally = self.frozen.as_ref().or(self.block.as_ref()).unwrap_or(&self.tally);
        let value = |native| {
            let counted = self.directory.counted(native, tally, self.spec.shared);
            let counted = match &self.origin {
                Some(origin) => {
                    counted.saturating_sub(self.directory.counted(native, origin, self.spec.shared))
                }
                None => counted.wrapping_add(native.origin),
            };
            counted.wrapping_add(self.jump) & native.mask
        };
        values.extend(self.directory.natives.iter().map(value));
    }

    /// The pause time of a queue and the packets it moves, as read at `at`; `None` for a name that is not there.
    pub fn look(&mut self, queue: Queue, direction: Direction, at: MonoTime) -> (Option<u64>, Option<u64>) {
        let values = self.values_at(at);
        let time = self.directory.pause_time(queue, direction).map(|place| values[place]);
        let packets = match queue {
            Queue::Priority(priority) => {
                self.directory.packets(priority, opposite(direction)).map(|place| values[place])
            }
            Queue::Global => {
                let places = Priority::ALL.map(|p| self.directory.packets(p, opposite(direction)));
                places.into_iter().try_fold(0u64, |sum, place| Some(sum.wrapping_add(values[place?])))
            }
        };
        (time, packets)
    }

    /// Whether it has a carrier.
    #[must_use]
    pub const fn has_carrier(&self) -> bool {
        self.carrier_back.is_none()
    }

    /// Since when it has had a carrier, or when it last had one again.
    #[must_use]
    pub const fn carrier_since(&self) -> MonoTime {
        self.carrier_since
    }

    /// When the flap ends in which the link is; [`MonoTime::MAX`] for one that does not end by itself.
    pub(super) const fn flap_back(&self) -> Option<MonoTime> {
        self.carrier_back
    }

    /// When the carrier comes back, if it is away and comes back by itself.
    #[must_use]
    pub fn carrier_back(&self) -> Option<MonoTime> {
        self.carrier_back.filter(|back| *back < MonoTime::MAX)
    }

    /// Packets its interface has carried, both directions: interface statistics are not the port's counters.
    #[must_use]
    pub fn packets(&self) -> u64 {
        Direction::ALL.into_iter().map(|direction| self.tally.port_packets(direction)).sum()
    }

    /// How often the link went down.
    #[must_use]
    pub const fn link_downs(&self) -> u64 {
        self.tally.link_downs
    }

    /// Whether it has something to send on `priority`.
    #[must_use]
    pub const fn sends(&self, priority: Priority) -> bool {
        self.load[priority.index()][1] > 0
    }

    /// Changes the traffic offered on one priority at `at`.
    pub fn set_load(&mut self, load: Load, at: MonoTime) {
        self.advance(at);
        if let Some(both) = self.load.get_mut(usize::from(load.priority)) {
            *both = [load.rx, load.tx];
        }
    }

    fn rename(&mut self) {
        let mask = match self.spec.counters {
            Counters::Wide => u64::MAX,
            Counters::Narrow => u64::from(u32::MAX),
        };
        let global = self.pause.rx || self.pause.tx;
        let shown = Shown { which: self.spec.names, pfc: self.pfc, global, mask };
        let directory = Directory::new(self.driver, shown, Some(self.seed));
        self.revision += u64::from(directory.names != self.directory.names);
        self.directory = directory;
    }
}

/// Rx pause holds what is sent, tx pause what is received.
const fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Rx => Direction::Tx,
        Direction::Tx => Direction::Rx,
    }
}
