//! Tests at the operator's word: what is told, what is refused, and that none is ever counted as a storm.

use super::*;
use crate::action::{ActionResult, Purpose, UndoResult};
use crate::durable::{Durable, Maintained, PortName};
use crate::event::TestRefusal;
use crate::input::{Command, Maintenance, TestDepth};
use crate::units::Priority;

const HOUR: Duration = Duration::from_secs(3600);

fn gentle(settings: Settings) -> Bench {
    let mut bench = Bench::new("mlx5_core", settings);
    bench.engine.ports.get_mut(&PORT).unwrap().caps.levers = drivers::for_driver("bnxt_en").caps.levers;
    bench
}

fn enforcing() -> Bench {
    gentle(acting(&[ActionKind::PfcOff]))
}

fn test(bench: &mut Bench, depth: TestDepth) {
    let queue = Queue::Priority(Priority::ALL[3]);
    bench.tell(Input::Command(Command::TestStorm { port: PORT, queue, direction: Direction::Rx, depth }));
}

fn maintain(bench: &mut Bench, port: Option<PortKey>, span: Option<Duration>) {
    let until = span.map(|span| bench.now + span);
    bench.tell(Input::Maintenance(Maintenance { port, until, by: Some(1000) }));
}

/// A port in maintenance whose test is in force.
fn in_force() -> (Bench, ActionId) {
    let mut bench = enforcing();
    maintain(&mut bench, Some(PORT), Some(HOUR));
    test(&mut bench, TestDepth::Act);
    let Some(Order::Do(plan)) = bench.orders.last() else { panic!("{:?}", bench.events) };
    assert_eq!(plan.purpose, Purpose::Test);
    let id = plan.id;
    assert_eq!(bench.phase(), "testing");
    bench.report(id, Outcome::Acted { result: ActionResult::Unproven, put_back: PutBack::NotNeeded });
    assert_eq!(bench.phase(), "mitigated");
    (bench, id)
}

fn refusals(bench: &Bench) -> Vec<&TestRefusal> {
    let reason = |event: &'_ Event| matches!(event.kind, EventKind::TestRefused { .. });
    let told = bench.events.iter().filter(|event| reason(event));
    told.filter_map(
        |event| if let EventKind::TestRefused { reason } = &event.kind { Some(reason) } else { None },
    )
    .collect()
}

/// Nothing that is counted of storms and of the actions against them has moved.
#[track_caller]
fn assert_no_storm(bench: &Bench) {
    let port = &bench.engine.snapshot(bench.now).ports[0];
    assert!(port.queues.iter().all(|queue| queue.storms == 0 && queue.storm_since.is_none()));
    assert!(port.results.is_empty() && port.vetoes.is_empty(), "{:?} {:?}", port.results, port.vetoes);
    assert_eq!((bench.count("storm_detected"), bench.count("storm_ended")), (0, 0));
}

#[test]
fn a_test_tells_the_plan_in_every_mode_and_changes_nothing() {
    for mode in [Mode::Observe, Mode::DryRun, Mode::Enforce] {
        let mut bench = gentle(Settings { mode, ..acting(&[ActionKind::Alert, ActionKind::PfcOff]) });
        test(&mut bench, TestDepth::Plan);
        assert_eq!((bench.count("action_planned"), bench.count("action_ended")), (1, 1), "{mode:?}");
        assert!(bench.orders.is_empty() && bench.engine.durable().spent.is_empty());
        let tests = &bench.engine.snapshot(bench.now).ports[0].tests;
        assert_eq!(tests.get(&(ActionKind::PfcOff, ActionResult::DryRun)), Some(&1));
        assert_eq!(bench.phase(), "healthy");
        assert_no_storm(&bench);
    }
}

#[test]
fn a_test_tells_the_veto_that_its_plan_would_get_and_counts_none() {
    let mut bench = gentle(Settings { disruption_max: Disruption::None, ..acting(&[ActionKind::PfcOff]) });
    test(&mut bench, TestDepth::Plan);
    assert_eq!(bench.vetoes(), ["disruption"]);
    assert_no_storm(&bench);
    let mut bench = enforcing();
    maintain(&mut bench, None, Some(HOUR));
    test(&mut bench, TestDepth::Plan);
    assert_eq!(bench.vetoes(), ["maintenance"]);
}

#[test]
fn a_test_that_acts_is_refused_outside_enforce_and_outside_the_maintenance_of_its_port() {
    for mode in [Mode::Observe, Mode::DryRun] {
        let mut bench = gentle(Settings { mode, ..acting(&[ActionKind::PfcOff]) });
        maintain(&mut bench, Some(PORT), Some(HOUR));
        test(&mut bench, TestDepth::Act);
        assert_eq!(refusals(&bench), [&TestRefusal::Mode(mode)]);
        assert!(bench.orders.is_empty());
    }
    let mut bench = enforcing();
    test(&mut bench, TestDepth::Act);
    // Maintenance of all ports may stand for a file that nobody could read.
    maintain(&mut bench, None, Some(HOUR));
    test(&mut bench, TestDepth::Act);
    assert_eq!(refusals(&bench), [&TestRefusal::NotInMaintenance; 2]);
    assert!(bench.orders.is_empty());
}

#[test]
fn a_test_needs_a_ladder_with_an_action_and_a_queue_that_is_watched() {
    let mut bench = gentle(acting(&[ActionKind::Alert]));
    test(&mut bench, TestDepth::Plan);
    let queue = Queue::Priority(Priority::ALL[5]);
    let (port, direction, depth) = (PORT, Direction::Rx, TestDepth::Plan);
    bench.tell(Input::Command(Command::TestStorm { port, queue, direction, depth }));
    assert_eq!(refusals(&bench)[0], &TestRefusal::NoAction);
    assert_eq!(refusals(&bench).len(), 2, "priority 5 is not lossless here");
}

#[test]
fn a_test_spends_budget_is_undone_after_its_hold_and_leaves_no_probation() {
    let (mut bench, id) = in_force();
    assert_eq!(bench.engine.durable().spent.len(), 1);
    bench.run(159, BUSY);
    assert_eq!(bench.orders.len(), 1, "the hold is 10 s ± 20 %");
    bench.run(90, BUSY);
    assert!(matches!(&bench.orders[1], Order::Undo(undo) if undo.purpose == Purpose::Test));
    bench.report(id, Outcome::Undone(UndoResult::Done));
    assert_eq!(bench.phase(), "healthy");
    assert!(bench.engine.durable().owed.is_empty());
    assert!(bench.queue(Direction::Rx).mitigated.is_empty(), "no lock rule looks at a test");
    assert_no_storm(&bench);
    let marked = |event: &&Event| match event.kind {
        EventKind::ActionPlanned { purpose, .. }
        | EventKind::ActionEnded { purpose, .. }
        | EventKind::UndoEnded { purpose, .. } => purpose == Purpose::Test,
        _ => false,
    };
    assert_eq!(bench.events.iter().filter(marked).count(), 3);
}

#[test]
fn a_second_test_is_refused_while_one_is_in_force_and_held_off_after_it() {
    let (mut bench, id) = in_force();
    test(&mut bench, TestDepth::Act);
    test(&mut bench, TestDepth::Plan);
    assert!(matches!(refusals(&bench)[..], [TestRefusal::Phase(_), TestRefusal::Phase(_)]));
    bench.run(250, BUSY);
    bench.report(id, Outcome::Undone(UndoResult::Done));
    test(&mut bench, TestDepth::Act);
    assert_eq!(bench.vetoes(), ["hold_off"]);
    assert_no_storm(&bench);
}

#[test]
fn a_storm_that_begins_during_a_test_ends_it_and_is_found_and_counted_once() {
    let (mut bench, id) = in_force();
    bench.run(10, STUCK);
    assert!(matches!(bench.orders.last(), Some(Order::Undo(_))), "{}", bench.phase());
    assert_eq!(bench.count("storm_detected"), 0);
    bench.report(id, Outcome::Undone(UndoResult::Done));
    bench.run(10, STUCK);
    assert_eq!(bench.phase(), "storm");
    assert_eq!(bench.count("storm_detected"), 1);
    assert_eq!(bench.vetoes(), ["maintenance"], "the port is still in maintenance");
    assert_eq!(bench.queue(Direction::Rx).accounts.storms, 1);
}

#[test]
fn pause_too_short_for_a_storm_does_not_prolong_a_test() {
    let (mut bench, _) = in_force();
    for _ in 0..50 {
        bench.read(STUCK);
        bench.run(4, BUSY);
    }
    assert!(matches!(bench.orders.last(), Some(Order::Undo(_))));
}

#[test]
fn a_test_whose_undo_fails_is_retried_and_stops_when_it_is_acknowledged() {
    let (mut bench, id) = in_force();
    bench.run(250, BUSY);
    bench.report(id, Outcome::Undone(UndoResult::Failed));
    assert_eq!(bench.phase(), "undo_failed");
    let queue = Queue::Priority(Priority::ALL[3]);
    bench.tell(Input::Command(Command::Ack { port: PORT, queue, direction: None }));
    assert_eq!(bench.count("acknowledged"), 1, "the other direction has nothing to acknowledge");
    assert!(bench.engine.is_settled());
    assert_eq!(bench.engine.durable().owed[0].undo.purpose, Purpose::Test);
}

#[test]
fn a_test_that_failed_leaves_the_queue_healthy() {
    let mut bench = enforcing();
    maintain(&mut bench, Some(PORT), Some(HOUR));
    test(&mut bench, TestDepth::Act);
    let result = ActionResult::Failed;
    bench.report(ActionId(1), Outcome::Acted { result, put_back: PutBack::Done });
    assert_eq!(bench.phase(), "healthy");
    let tests = &bench.engine.snapshot(bench.now).ports[0].tests;
    assert_eq!(tests.get(&(ActionKind::PfcOff, result)), Some(&1));
    assert_no_storm(&bench);
}

#[test]
fn a_test_in_force_is_taken_back_after_a_restart_as_a_test() {
    let (bench, id) = in_force();
    let durable: Durable =
        serde_json::from_str(&serde_json::to_string(&bench.engine.durable()).unwrap()).unwrap();
    let mut next = Bench { engine: Engine::new(acting(&[ActionKind::PfcOff])), ..bench };
    next.orders.clear();
    let maintenance = vec![Maintained {
        port: Some(PortName { netdev: "eth0".into(), pci_address: String::new() }),
        until: next.now + HOUR,
    }];
    let state = JournalState { durable, writable: true, seed: 1, maintenance };
    next.tell(Input::Journal(Box::new(state)));
    next.bind("mlx5_core");
    assert!(matches!(&next.orders[..], [Order::Undo(undo)] if undo.purpose == Purpose::Test));
    next.report(id, Outcome::Undone(UndoResult::Done));
    assert_eq!(next.phase(), "healthy", "pause that follows a test is no relapse");
    assert!(next.engine.snapshot(next.now).ports[0].maintenance);
    assert_eq!(next.engine.durable().spent.len(), 1);
}

#[test]
fn maintenance_goes_on_when_its_device_comes_back_and_ends_by_itself() {
    let mut bench = enforcing();
    maintain(&mut bench, Some(PORT), Some(HOUR));
    bench.tell(Input::Gone(PORT));
    bench.bind("mlx5_core");
    assert!(bench.engine.snapshot(bench.now).ports[0].maintenance);
    bench.wait(HOUR + Duration::from_secs(1));
    assert!(!bench.engine.snapshot(bench.now).ports[0].maintenance);
    assert_eq!((bench.count("maintenance_begun"), bench.count("maintenance_ended")), (1, 1));
}

#[test]
fn maintenance_that_ends_everywhere_ends_on_every_port() {
    let mut bench = enforcing();
    maintain(&mut bench, Some(PORT), Some(HOUR));
    maintain(&mut bench, None, Some(HOUR));
    maintain(&mut bench, None, None);
    assert!(bench.engine.maintained().is_empty());
    assert_eq!(bench.count("maintenance_ended"), 2);
}
