//! Orders that were given and are not wanted any more before the actuator could begin them.

use super::*;
use crate::action::{ActionResult, UndoResult};
use crate::input::{Command, Maintenance, TestDepth};
use crate::units::Priority;

/// A port in a storm whose plan was just ordered.
fn ordered() -> (Bench, ActionId) {
    let mut bench = gentle();
    bench.run(10, STUCK);
    let Some(Order::Do(plan)) = bench.orders.last() else { panic!("{:?}", bench.events) };
    let id = plan.id;
    (bench, id)
}

fn gentle() -> Bench {
    let mut bench = Bench::new("mlx5_core", acting(&[ActionKind::PfcOff]));
    bench.engine.ports.get_mut(&PORT).unwrap().caps.levers = drivers::for_driver("bnxt_en").caps.levers;
    bench
}

fn maintain(bench: &mut Bench, port: Option<PortKey>) {
    let until = Some(bench.now + Duration::from_secs(3600));
    bench.tell(Input::Maintenance(Maintenance { port, until, by: None }));
}

fn reload(bench: &mut Bench, settings: Settings) {
    bench.tell(Input::Reconfigure(Box::new(settings)));
}

#[test]
fn a_reload_that_does_not_allow_it_any_more_withdraws_what_has_not_begun() {
    let acting = acting(&[ActionKind::PfcOff]);
    for (settings, veto) in [
        (Settings { mode: Mode::DryRun, ..acting.clone() }, Veto::Mode),
        (Settings { mode: Mode::Off, ..acting.clone() }, Veto::Mode),
        (Settings { disruption_max: Disruption::None, ..acting.clone() }, Veto::Disruption),
    ] {
        let (mut bench, id) = ordered();
        reload(&mut bench, Settings { budget_node: 77, ..acting.clone() });
        assert_eq!(bench.withdrawn, []);
        reload(&mut bench, settings);
        bench.read(STUCK);
        assert_eq!(bench.withdrawn, [(id, veto)], "once");
    }
}

#[test]
fn maintenance_of_the_port_or_of_all_withdraws_what_has_not_begun() {
    for port in [None, Some(PORT)] {
        let (mut bench, id) = ordered();
        maintain(&mut bench, port);
        assert_eq!(bench.withdrawn, [(id, Veto::Maintenance)]);
        bench.report(id, Outcome::Acted { result: ActionResult::Expired, put_back: PutBack::NotNeeded });
        assert_eq!(bench.phase(), "storm");
        assert!(bench.engine.durable().owed.is_empty());
    }
}

#[test]
fn what_has_not_begun_when_its_device_goes_is_withdrawn_and_once() {
    let (mut bench, id) = ordered();
    bench.tell(Input::Gone(PORT));
    assert_eq!(bench.withdrawn, [(id, Veto::StaleData)]);
    let (mut bench, id) = ordered();
    bench.succeed(id);
    bench.tell(Input::Gone(PORT));
    assert_eq!(bench.withdrawn, [], "it is done");
}

#[test]
fn a_test_needs_maintenance_and_is_not_withdrawn_by_it() {
    let mut bench = gentle();
    maintain(&mut bench, Some(PORT));
    let queue = Queue::Priority(Priority::ALL[3]);
    let (direction, depth) = (Direction::Rx, TestDepth::Act);
    bench.tell(Input::Command(Command::TestStorm { port: PORT, queue, direction, depth }));
    assert_eq!(bench.phase(), "testing");
    maintain(&mut bench, Some(PORT));
    maintain(&mut bench, None);
    assert_eq!(bench.withdrawn, []);
    reload(&mut bench, Settings { mode: Mode::Observe, ..acting(&[ActionKind::PfcOff]) });
    assert_eq!(bench.withdrawn.len(), 1);
}

#[test]
fn one_that_had_begun_nevertheless_is_taken_back_and_its_undo_is_not_withdrawn() {
    let (mut bench, id) = ordered();
    reload(&mut bench, Settings { mode: Mode::Observe, ..acting(&[ActionKind::PfcOff]) });
    bench.succeed(id);
    assert_eq!(bench.phase(), "undoing");
    assert!(matches!(bench.orders.last(), Some(Order::Undo(undo)) if undo.id == id), "{:?}", bench.orders);
    maintain(&mut bench, None);
    assert_eq!(bench.withdrawn.len(), 1);
    bench.report(id, Outcome::Undone(UndoResult::Done));
    assert!(bench.engine.is_settled());
}
