//! Each rule is shown to fire once, by a log that nobody ever wrote.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::action::{ActionKind, ActionResult, Disruption, Op, Order, Plan, PortConfig, PutBack, Target};
use crate::drivers::for_driver;
use crate::event::{Event, EventKind, PhaseName, Place};
use crate::ids::{ActionId, StormId};
use crate::input::{Effect, Input, Reading};
use crate::phase::{Class, EndReason};
use crate::sim::world::World;
use crate::units::{Direction, Priority, Queue};

const THREE: Queue = Queue::Priority(Priority::ALL[3]);

fn at(seconds: u64) -> MonoTime {
    MonoTime::from_millis(seconds * 1000)
}

/// A judge that knows three ports of `driver`.
fn judge(driver: &str) -> Judge {
    let mut judge = Judge::new(1, &Settings::default());
    for index in 0..3u16 {
        let identity = PortIdentity { netdev: format!("eth{index}"), ..PortIdentity::default() };
        judge.port(PortKey(index), u32::from(index), &identity, for_driver(driver));
    }
    judge
}

/// A judge of ports that count frames only.
fn estimating() -> Judge {
    judge("ice")
}

fn event(seq: u64, at: MonoTime, kind: EventKind) -> Effect {
    let place = Place {
        port: Some(PortKey(0)),
        netdev: "eth0".into(),
        priority: Some(THREE),
        direction: Some(Direction::Rx),
    };
    Effect::Emit(Box::new(Event { seq, at, place, kind }))
}

fn phases(from: &'static str, to: &'static str) -> EventKind {
    EventKind::PhaseChanged { from: PhaseName(from.into()), to: PhaseName(to.into()) }
}

fn found(storm: u64) -> EventKind {
    EventKind::StormDetected {
        storm: StormId(storm),
        class: Class::Blocked,
        onset: at(1),
        paused: Duration::from_millis(200),
        share: crate::units::Permille::ONE,
        estimated: false,
        resumed: false,
    }
}

fn ended(storm: u64) -> EventKind {
    EventKind::StormEnded {
        storm: StormId(storm),
        reason: EndReason::Cleared,
        lasted: Duration::from_secs(1),
    }
}

/// Priority 3 of `port` is to be taken out of the mask, decided at `evidence_at`.
fn plan(id: u64, port: u16, evidence_at: MonoTime) -> Effect {
    let target =
        Target { queue: THREE, direction: Direction::Rx, pause_native: None, pause_scale: 1, packets: None };
    Effect::Act(Box::new(Order::Do(Plan {
        id: ActionId(id),
        port: PortKey(port),
        purpose: crate::action::Purpose::Storm,
        kind: ActionKind::PfcOff,
        disruption: Disruption::Link,
        targets: vec![target],
        ops: vec![Op::PfcDisable(PriorityMask::of(Priority::ALL[3]))],
        undo: vec![Op::PfcEnable(PriorityMask::of(Priority::ALL[3]))],
        evidence_at,
        expires: evidence_at + Duration::from_millis(400),
        refresh: Duration::ZERO,
        settles: Duration::ZERO,
        proof: Duration::from_millis(200),
        headroom: None,
    })))
}

/// Ports are read, and what was read leads to `effects`.
fn read(judge: &mut Judge, now: MonoTime, effects: &[Effect]) {
    for port in 0..3 {
        let took = Duration::from_millis(1);
        let reading = Input::Reading(Reading { port: PortKey(port), at: now, took, values: Vec::new() });
        judge.step(now, &reading, if port == 2 { effects } else { &[] });
    }
}

fn applied(at: MonoTime) -> Applied {
    Applied {
        at,
        device: 0,
        action: ActionId(1),
        op: Op::PfcDisable(PriorityMask::of(Priority::ALL[3])),
        purpose: Purpose::Do,
        over_for: vec![Duration::ZERO],
        allowed: Duration::from_millis(10),
        linkwise: true,
        busy_elsewhere: false,
        frozen_for: Duration::ZERO,
    }
}

fn found_by_engine(paused: u64) -> Found {
    Found {
        at: at(1),
        port: PortKey(0),
        queue: THREE,
        direction: Direction::Rx,
        paused: Duration::from_millis(paused),
        needed: Duration::from_millis(190),
    }
}

/// A world in the middle of a storm: everything of it is open.
fn unfinished() -> World {
    let scenario = crate::sim::scenario("storm", 3).unwrap();
    let middle = scenario.start() + scenario.pauses[0].start + Duration::from_millis(700);
    let mut world = World::new(scenario, 3);
    world.advance(middle, &mut |_, _, _| {});
    world
}

type Forge = fn(&mut Judge);

/// For each rule a log that breaks it.
const FORGED: &[(Rule, Forge)] = &[
    (Rule::Budget, |judge| {
        for id in 1..=4 {
            read(judge, at(id), &[plan(id, 0, at(id))]);
            judge.persisted(at(id), ActionId(id));
        }
    }),
    (Rule::UndoLost, |judge| {
        read(judge, at(1), &[plan(1, 0, at(1))]);
        let ended = EventKind::ActionEnded {
            action: ActionId(1),
            purpose: crate::action::Purpose::Storm,
            kind: ActionKind::PfcOff,
            result: ActionResult::Ok,
            put_back: PutBack::NotNeeded,
            took: Duration::ZERO,
            cause: None,
        };
        read(judge, at(2), &[event(1, at(2), ended)]);
        judge.finish(at(9000), None, &[]);
    }),
    (Rule::UndoLost, |judge| {
        read(judge, at(1), &[event(1, at(1), phases("healthy", "undoing"))]);
        read(judge, at(200), &[]);
    }),
    (Rule::UndoLost, |judge| {
        read(judge, at(1), &[event(1, at(1), phases("storm", "mitigated"))]);
        judge.stopping();
        judge.step(at(2), &Input::Command(crate::input::Command::Stop), &[]);
    }),
    (Rule::BlindActed, |judge| read(judge, at(1), &[plan(1, 0, at(2))])),
    (Rule::BlindActed, |judge| {
        read(judge, at(1), &[]);
        judge.step(at(3), &Input::Tick, &[plan(1, 0, at(1))]);
    }),
    (Rule::BlindActed, |judge| {
        judge.applied(&Applied { frozen_for: Duration::from_secs(1), ..applied(at(1)) });
    }),
    (Rule::EstimatedActed, |judge| {
        *judge = estimating();
        read(judge, at(1), &[plan(1, 0, at(1))]);
    }),
    (Rule::PauseOver, |judge| {
        judge.applied(&Applied { over_for: vec![Duration::from_millis(11)], ..applied(at(1)) });
    }),
    (Rule::LinkOperations, |judge| {
        judge.applied(&Applied { busy_elsewhere: true, ..applied(at(1)) });
    }),
    (Rule::LinkOperations, |judge| {
        judge.applied(&Applied {
            purpose: Purpose::Undo,
            over_for: Vec::new(),
            busy_elsewhere: true,
            ..applied(at(1))
        });
    }),
    (Rule::PortsMitigated, |judge| {
        for port in 0..3 {
            read(judge, at(1), &[plan(u64::from(port), port, at(1))]);
        }
    }),
    (Rule::NotRestored, |judge| {
        let set = |pfc| PortConfig { pfc: Some(PriorityMask(pfc)), ..PortConfig::default() };
        judge.foreign(0, PriorityMask(0b1));
        judge.finish(at(1), None, &[PortEnd { device: 0, before: set(0b1001), after: set(0b0000) }]);
    }),
    (Rule::StormCount, |judge| {
        read(judge, at(1), &[event(1, at(1), found(1)), event(2, at(1), found(2))]);
    }),
    (Rule::StormCount, |judge| read(judge, at(1), &[event(1, at(1), ended(1))])),
    (Rule::EventOrder, |judge| read(judge, at(1), &[event(2, at(1), EventKind::Sighted)])),
    (Rule::EventOrder, |judge| read(judge, at(1), &[event(1, at(2), EventKind::Sighted)])),
    (Rule::EventOrder, |judge| {
        read(judge, at(2), &[]);
        read(judge, at(1), &[]);
    }),
    (Rule::PhaseOrder, |judge| read(judge, at(1), &[event(1, at(1), phases("healthy", "mitigated"))])),
    (Rule::PhaseOrder, |judge| read(judge, at(1), &[event(1, at(1), phases("suspect", "healthy"))])),
    (Rule::Range, |judge| read(judge, at(1), &[Effect::Pace(PortKey(0), Duration::ZERO)])),
    (Rule::Range, |judge| {
        let shown = crate::snapshot::Snapshot { budget_remaining: 7, ..Default::default() };
        judge.shown(at(1), &shown);
    }),
    (Rule::Range, |judge| {
        let world = unfinished();
        let mut shown = world.engine().unwrap().snapshot(world.now());
        read(judge, at(1), &[]);
        shown.ports[0].blind = None;
        judge.shown(at(60), &shown);
    }),
    (Rule::Deadline, |judge| judge.idle_tick(at(1), at(1))),
    (Rule::NotSettled, |judge| {
        let world = unfinished();
        judge.finish(world.now(), world.engine(), &[]);
    }),
    (Rule::InventedStorm, |judge| judge.found(&found_by_engine(189))),
    (Rule::MissedStorm, |judge| {
        judge.missed(at(1), PortKey(0), (THREE, Direction::Rx), Duration::from_secs(1));
    }),
    (Rule::Repeatable, |judge| judge.differs(at(1))),
];

#[test]
fn every_rule_is_broken_by_a_log_that_breaks_it() {
    for (index, (rule, forge)) in FORGED.iter().enumerate() {
        let mut judge = judge("mlx5_core");
        forge(&mut judge);
        let broken = judge.violations().iter().map(|violation| violation.rule).collect::<BTreeSet<_>>();
        assert!(broken.contains(rule), "{index}: {rule:?} is not among {broken:?}");
    }
    let shown = FORGED.iter().map(|(rule, _)| *rule).collect::<BTreeSet<_>>();
    assert!(Rule::ALL.iter().all(|rule| shown.contains(rule)));
}

#[test]
fn a_log_in_which_everything_is_right_breaks_nothing() {
    let mut judge = judge("mlx5_core");
    let storm = [event(1, at(1), phases("healthy", "storm")), event(2, at(1), found(1)), plan(1, 0, at(1))];
    read(&mut judge, at(1), &storm);
    judge.persisted(at(1), ActionId(1));
    judge.applied(&applied(at(1)));
    judge.found(&found_by_engine(190));
    let over = [event(3, at(3), phases("storm", "healthy")), event(4, at(3), ended(1))];
    read(&mut judge, at(3), &over);
    judge.finish(at(4), None, &[]);
    assert_eq!(judge.violations(), []);
}

#[test]
fn a_violation_says_which_seed_and_when() {
    let mut judge = judge("mlx5_core");
    judge.idle_tick(at(2), at(2));
    let text = judge.violations()[0].to_string();
    assert_eq!(text, "seed 1 at 2.000000: Deadline: a tick at 2.000000 comes to no rest");
}

#[test]
fn one_rule_broken_for_ever_does_not_fill_the_memory() {
    let mut judge = judge("mlx5_core");
    for second in 0..10_000 {
        judge.idle_tick(at(second), at(second));
    }
    assert_eq!(judge.violations().len(), VIOLATIONS_MAX);
}
