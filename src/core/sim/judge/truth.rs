//! What the judge is told by the world that it simulates, and what it asks of the engine.

use std::time::Duration;

use super::{Judge, Rule};
use crate::action::Op;
use crate::engine::Engine;
use crate::ids::{ActionId, PortKey};
use crate::input::Input;
use crate::policy::BUDGET_WINDOW;
use crate::snapshot::Snapshot;
use crate::units::{Direction, MonoTime, Permille, PriorityMask, Queue};

/// A port may be called seen for so long without a reading: one that has just begun to be read has none to compare.
const SILENCE_MIN: Duration = Duration::from_secs(2);

/// An operation, right before it takes effect.
#[derive(Clone, Debug)]
pub struct Applied {
    /// When.
    pub at: MonoTime,
    /// On which device.
    pub device: u32,
    /// Of which action.
    pub action: ActionId,
    /// What.
    pub op: Op,
    /// What for.
    pub purpose: Purpose,
    /// Of each target, for how long its pause has been over. Empty unless this is the plan's first operation.
    pub over_for: Vec<Duration>,
    /// For how long it may have been over without anybody being able to know.
    pub allowed: Duration,
    /// Whether it takes the link down.
    pub linkwise: bool,
    /// Whether another port is in such an operation, or without carrier because of one.
    pub busy_elsewhere: bool,
    /// For how long the port's counters have not moved, whatever happened.
    pub frozen_for: Duration,
}

/// What an operation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It carries out a plan.
    Do,
    /// It takes back at once what a plan did in vain.
    PutBack,
    /// It takes an action back.
    Undo,
}

/// A storm that was found, and what was really there.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// When.
    pub at: MonoTime,
    /// The port.
    pub port: PortKey,
    /// The queue.
    pub queue: Queue,
    /// The direction.
    pub direction: Direction,
    /// How long it was paused within the readings that the window touches.
    pub paused: Duration,
    /// How long it had to be.
    pub needed: Duration,
}

impl Judge {
    /// An action was written to the journal: from now on it counts, whatever becomes of the agent.
    pub fn persisted(&mut self, now: MonoTime, action: ActionId) {
        let Some(device) = self.unwritten.remove(&action) else { return };
        self.spent.retain(|(_, at)| now.since(*at) < BUDGET_WINDOW);
        self.spent.push((device, now));
        let on_port = self.spent.iter().filter(|(on, _)| *on == device).count() as u32;
        let on_node = self.spent.len() as u32;
        let per_port = self.settings.rx.budget_port.max(self.settings.tx.budget_port);
        if on_port > per_port {
            let text = format!("action {} is number {on_port} of {per_port} on device {device}", action.0);
            self.broken(Rule::Budget, now, text);
        }
        if on_node > self.settings.budget_node {
            let text = format!(
                "action {} is number {on_node} of {} on the node",
                action.0, self.settings.budget_node
            );
            self.broken(Rule::Budget, now, text);
        }
    }

    /// An operation takes effect.
    pub fn applied(&mut self, applied: &Applied) {
        let (at, action) = (applied.at, applied.action.0);
        let first = !applied.over_for.is_empty();
        if first && applied.over_for.iter().all(|over| *over > applied.allowed) {
            let text = format!(
                "action {action} ({:?}) on a pause that is over for {:?}, of which {:?} cannot be known",
                applied.op, applied.over_for, applied.allowed
            );
            self.broken(Rule::PauseOver, at, text);
        }
        if first && applied.frozen_for > applied.allowed {
            let (op, span) = (&applied.op, applied.frozen_for);
            let text = format!("action {action} ({op:?}) on a port whose counters stand for {span:?}");
            self.broken(Rule::BlindActed, at, text);
        }
        // An agent that ends takes everything back at once: it has two seconds.
        let urgent = applied.purpose == Purpose::Undo && self.stopping;
        if applied.linkwise && applied.busy_elsewhere && !urgent {
            let text = format!(
                "action {action} ({:?}, {:?}) while another port is in such an operation",
                applied.op, applied.purpose
            );
            self.broken(Rule::LinkOperations, at, text);
        }
    }

    /// Somebody else changes bits of a device's mask.
    pub fn foreign(&mut self, device: u32, bits: PriorityMask) {
        let mask = self.foreign.entry(device).or_default();
        mask.0 |= bits.0;
    }

    /// A device is gone, and everything that is owed to it.
    pub fn gone(&mut self, device: u32) {
        self.gone.insert(device);
    }

    /// The engine has found a storm.
    pub fn found(&mut self, found: &Found) {
        // Counters tick in microseconds: two readings may each hide one.
        if found.paused + Duration::from_micros(10) < found.needed {
            let text = format!(
                "port {} {} {}: a storm after {:?} of pause, which takes {:?}",
                found.port.0, found.queue, found.direction, found.paused, found.needed
            );
            self.broken(Rule::InventedStorm, found.at, text);
        }
    }

    /// A pause has not been found by the reading at which it had to be.
    pub fn missed(&mut self, at: MonoTime, port: PortKey, place: (Queue, Direction), lasted: Duration) {
        let phase = self.phase(port, place).to_owned();
        let text = format!(
            "port {} {} {}: paused for {lasted:?} without a break and {phase}",
            port.0, place.0, place.1
        );
        self.broken(Rule::MissedStorm, at, text);
    }

    /// The phase of a queue, by its events.
    #[must_use]
    pub fn phase(&self, port: PortKey, place: (Queue, Direction)) -> &str {
        self.queues.get(&(port, place)).and_then(|book| book.phase.as_deref()).unwrap_or("healthy")
    }

    /// A tick came when it was due, and is due again at once.
    pub fn idle_tick(&mut self, now: MonoTime, due: MonoTime) {
        self.broken(Rule::Deadline, now, format!("a tick at {due} comes to no rest"));
    }

    /// Looks at the engine: a tick before its time changes nothing, and what is shown is possible.
    pub fn look(&mut self, now: MonoTime, engine: &Engine) {
        let latest = engine.next_deadline().unwrap_or(now + Duration::from_secs(10));
        let until = latest.before(Duration::from_nanos(1)).min(now + Duration::from_secs(10));
        let at = MonoTime::from_nanos(self.random.between(now.as_nanos(), until.as_nanos()));
        if latest > now {
            let mut later = engine.clone();
            let effects = later.handle(at, &Input::Tick);
            let same = later.snapshot(at) == engine.snapshot(at) && later.durable() == engine.durable();
            if !effects.is_empty() || !same {
                let text = format!("a tick at {at}, before {latest}, had effects: {effects:?}");
                self.broken(Rule::Deadline, now, text);
            }
        }
        self.shown(now, &engine.snapshot(now));
    }

    /// Checks numbers that others see.
    pub fn shown(&mut self, now: MonoTime, snapshot: &Snapshot) {
        let mut wrong = Vec::new();
        if snapshot.budget_remaining > self.settings.budget_node {
            wrong
                .push(format!("{} actions left of {}", snapshot.budget_remaining, self.settings.budget_node));
        }
        if snapshot.rtnl_share_millionths > 1_000_000 {
            wrong.push(format!("rtnl share {}", snapshot.rtnl_share_millionths));
        }
        for port in &snapshot.ports {
            let netdev = &port.identity.netdev;
            let short = port.detect_bound.is_some_and(|bound| bound < port.detect / 2);
            if port.interval.is_zero() || port.detect.is_zero() || short {
                wrong.push(format!("{netdev}: interval {:?}, detect {:?}", port.interval, port.detect));
            }
            let read_at = self.ports.get(&port.key).and_then(|book| book.read_at);
            let silence = (port.detect.max(port.interval) * 2).max(SILENCE_MIN);
            if read_at.is_some_and(|at| now.since(at) > silence) && port.blind.is_none() {
                wrong.push(format!("{netdev}: seen, although nothing was read since {read_at:?}"));
            }
            for queue in &port.queues {
                let place = (queue.queue, queue.direction);
                if queue.storm_since.is_some_and(|since| since > now) {
                    wrong.push(format!("{netdev} {place:?}: a storm that begins later"));
                }
                if queue.storm_since.is_some() != queue.phase.open_storm().is_some() {
                    wrong.push(format!("{netdev} {place:?}: storm and phase {:?} differ", queue.phase));
                }
                if queue.share.is_some_and(|share| share > Permille::ONE) {
                    wrong.push(format!("{netdev} {place:?}: share {:?}", queue.share));
                }
            }
        }
        for text in wrong {
            self.broken(Rule::Range, now, text);
        }
    }

    /// Two runs of one seed differ.
    pub fn differs(&mut self, at: MonoTime) {
        self.broken(Rule::Repeatable, at, "a second run of the same seed went another way".into());
    }
}
