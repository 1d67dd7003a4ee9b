//! What is done, what is refused, and how it is taken back.

use std::num::NonZeroU64;

use super::*;
use crate::action::{ActionResult, Op, UndoResult};
use crate::input::{GuardAnswer, Maintenance, PortHealth, PortPause};
use crate::phase::Class;
use crate::policy::Veto;
use crate::settings::ExecSettings;
use crate::units::Priority;

fn storm(bench: &mut Bench) {
    bench.run(10, STUCK);
}

/// A bnxt-like port, whose PFC can be switched without touching the link.
fn gentle(settings: Settings) -> Bench {
    let mut bench = Bench::new("mlx5_core", settings);
    bench.engine.ports.get_mut(&PORT).unwrap().caps.levers = drivers::for_driver("bnxt_en").caps.levers;
    bench
}

fn only_plan(bench: &Bench) -> crate::action::Plan {
    match &bench.orders[..] {
        [Order::Do(plan)] => plan.clone(),
        other => panic!("{other:?}"),
    }
}

fn ack(bench: &mut Bench) {
    let queue = Queue::Priority(Priority::ALL[3]);
    bench.tell(Input::Command(crate::input::Command::Ack { port: PORT, queue, direction: None }));
}

#[test]
fn a_storm_is_answered_by_the_first_action_of_the_ladder_and_its_undo_is_owed_first() {
    let mut bench = gentle(acting(&[ActionKind::Alert, ActionKind::PfcOff]));
    storm(&mut bench);
    let plan = only_plan(&bench);
    assert_eq!(plan.ops, [Op::PfcDisable(PriorityMask::of(Priority::ALL[3]))]);
    assert_eq!(plan.undo, [Op::PfcEnable(PriorityMask::of(Priority::ALL[3]))]);
    let owed = bench.engine.durable().owed;
    assert_eq!((owed.len(), owed[0].undo.id), (1, plan.id));
}

#[test]
fn a_mitigation_is_taken_back_after_its_hold_and_followed_by_probation() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    storm(&mut bench);
    let plan = only_plan(&bench);
    bench.succeed(plan.id);
    assert_eq!(bench.phase(), "mitigated");
    bench.run(159, BUSY);
    assert_eq!(bench.orders.len(), 1, "the hold is 10 s ± 20 %");
    bench.run(90, BUSY);
    assert!(matches!(&bench.orders[1], Order::Undo(undo) if undo.id == plan.id));
    bench.report(plan.id, Outcome::Undone(UndoResult::Done));
    assert_eq!(bench.phase(), "probation");
    assert!(bench.engine.durable().owed.is_empty());
    bench.run(250, BUSY);
    assert_eq!(bench.phase(), "healthy");
}

#[test]
fn pause_that_ended_leads_to_the_same_undo_when_the_port_is_not_read_any_more() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    storm(&mut bench);
    let id = only_plan(&bench).id;
    bench.succeed(id);
    bench.wait(Duration::from_secs(13));
    assert!(matches!(&bench.orders[1], Order::Undo(_)), "blindness never delays an undo");
}

#[test]
fn observe_only_vetoes_and_dry_run_only_tells() {
    let mut bench = gentle(Settings { mode: Mode::Observe, ..acting(&[ActionKind::PfcOff]) });
    storm(&mut bench);
    assert_eq!(bench.vetoes(), ["mode"]);
    let mut bench = gentle(Settings { mode: Mode::DryRun, ..acting(&[ActionKind::PfcOff]) });
    storm(&mut bench);
    assert_eq!((bench.count("action_planned"), bench.orders.len()), (1, 0));
    assert!(bench.engine.durable().spent.is_empty());
}

#[test]
fn a_choppy_pause_is_acted_on_only_where_told_and_never_without_known_demand() {
    for (counted, vetoes, orders) in [(true, &[][..], 1), (false, &["demand_unknown"][..], 0)] {
        let mut settings = acting(&[ActionKind::PfcOff]);
        settings.rx.choppy_acts = true;
        let mut bench = gentle(settings);
        if !counted {
            bench.engine.ports.get_mut(&PORT).unwrap().caps.priority_packets = drivers::PacketScope::None;
        }
        for _ in 0..20 {
            bench.read(STUCK);
            bench.run(2, Does { paused_us: 46_000, packets: 1 });
        }
        assert_eq!(
            (bench.vetoes(), bench.orders.len()),
            (vetoes.to_vec(), orders),
            "packets counted: {counted}"
        );
    }
}

#[test]
fn a_ladder_of_alerts_asks_nothing() {
    let mut bench = gentle(acting(&[ActionKind::Alert]));
    storm(&mut bench);
    assert!(bench.vetoes().is_empty());
    assert_eq!(bench.count("storm_detected"), 1);
}

#[test]
fn what_the_port_does_not_offer_is_unsupported_and_the_next_rung_comes_at_the_next_question() {
    let mut bench = gentle(acting(&[ActionKind::PauseOff, ActionKind::PfcOff]));
    storm(&mut bench);
    assert_eq!(bench.vetoes(), ["unsupported"]);
    bench.run(1201, STUCK);
    assert_eq!(only_plan(&bench).kind, ActionKind::PfcOff);
}

#[test]
fn an_ineffective_action_leads_to_the_next_rung_after_the_hold_off() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff, ActionKind::DevlinkRecover]));
    bench.tell(Input::Health(PortHealth { port: PORT, reporter: "tx".into(), in_error: true }));
    let settings = Settings { disruption_max: Disruption::Device, ..bench.engine.settings().clone() };
    bench.tell(Input::Reconfigure(Box::new(settings)));
    storm(&mut bench);
    let id = only_plan(&bench).id;
    bench.report(id, Outcome::Acted { result: ActionResult::Ineffective, put_back: PutBack::Done });
    assert_eq!(bench.phase(), "storm");
    bench.run(1100, STUCK);
    assert_eq!(bench.orders.len(), 1);
    bench.run(110, STUCK);
    // The next rung disrupts the device: it waits for the guard first.
    assert_eq!(bench.asked, 1);
}

#[test]
fn a_reporter_that_is_well_again_hides_no_other_that_is_not() {
    let mut bench = gentle(acting(&[ActionKind::DevlinkRecover]));
    let settings = Settings { disruption_max: Disruption::Device, ..bench.engine.settings().clone() };
    bench.tell(Input::Reconfigure(Box::new(settings)));
    for (reporter, in_error) in [("tx", true), ("rx", true), ("rx", false)] {
        bench.tell(Input::Health(PortHealth { port: PORT, reporter: reporter.into(), in_error }));
    }
    storm(&mut bench);
    // Nothing to recover would be a veto.
    assert_eq!((bench.vetoes(), bench.asked), (Vec::new(), 1));
}

#[test]
fn an_expired_plan_is_made_again_on_the_same_rung() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff, ActionKind::DevlinkRecover]));
    storm(&mut bench);
    let id = only_plan(&bench).id;
    bench.report(id, Outcome::Acted { result: ActionResult::Expired, put_back: PutBack::NotNeeded });
    bench.run(1201, STUCK);
    assert!(matches!(&bench.orders[1], Order::Do(plan) if plan.kind == ActionKind::PfcOff));
}

#[test]
fn what_cannot_be_put_back_is_tried_again_until_it_can() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    storm(&mut bench);
    let id = only_plan(&bench).id;
    bench.report(id, Outcome::Acted { result: ActionResult::Failed, put_back: PutBack::Failed });
    assert_eq!(bench.phase(), "undo_failed");
    for retry in 1..=3 {
        bench.wait(Duration::from_secs(61));
        assert_eq!(bench.orders.len(), 1 + retry);
        bench.report(id, Outcome::Undone(UndoResult::Failed));
    }
    bench.wait(Duration::from_secs(61));
    bench.report(id, Outcome::Undone(UndoResult::Done));
    assert_eq!(bench.phase(), "probation");
}

#[test]
fn two_priorities_share_one_plan_and_come_back_apart() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    for name in ["rx_prio4_pause", "rx_prio4_pause_duration"] {
        bench.names.push(name.into());
        bench.values.push(0);
    }
    bench.bind("mlx5_core");
    bench.engine.ports.get_mut(&PORT).unwrap().caps.levers = drivers::for_driver("bnxt_en").caps.levers;
    bench.tell(Input::Dcb(PortDcb {
        port: PORT,
        pfc: Some(PriorityMask(0b11000)),
        owner: DcbOwner::Host,
        headroom: None,
    }));
    for _ in 0..20 {
        bench.add("tx_prio4_packets", 100);
        bench.read(BUSY);
    }
    for _ in 0..4 {
        bench.add("rx_prio4_pause_duration", 50_000);
        bench.read(STUCK);
    }
    let plan = only_plan(&bench);
    assert_eq!(plan.ops, [Op::PfcDisable(PriorityMask(0b1_1000))]);
    assert_eq!(bench.engine.durable().spent.len(), 1, "one plan is one unit of budget");
    bench.succeed(plan.id);
    // Somebody else puts priority 4 back: theirs wins, priority 3 stays ours.
    bench.tell(Input::Dcb(PortDcb {
        port: PORT,
        pfc: Some(PriorityMask(0b10000)),
        owner: DcbOwner::Host,
        headroom: None,
    }));
    assert_eq!(bench.phase(), "mitigated");
    bench.run(260, BUSY);
    let Some(Order::Undo(undo)) = bench.orders.get(1) else { panic!("{:?}", bench.orders) };
    assert_eq!(
        undo.ops.iter().map(|step| step.op.clone()).collect::<Vec<_>>(),
        [Op::PfcEnable(PriorityMask::of(Priority::ALL[3]))]
    );
}

#[test]
fn the_third_mitigated_storm_locks_the_queue_until_it_is_acknowledged() {
    let mut settings = acting(&[ActionKind::PfcOff]);
    settings.rx.hold_off = Duration::from_secs(1);
    settings.rx.budget_port = 100;
    settings.budget_node = 100;
    let mut bench = gentle(settings);
    for round in 1..=3 {
        storm(&mut bench);
        let Some(Order::Do(plan)) = bench.orders.last().cloned() else { panic!("round {round}") };
        bench.succeed(plan.id);
        bench.run(1000, BUSY);
        assert!(matches!(bench.orders.last(), Some(Order::Undo(_))), "round {round}");
        bench.report(plan.id, Outcome::Undone(UndoResult::Done));
        bench.run(3, BUSY);
    }
    assert_eq!(bench.phase(), "locked");
    let orders = bench.orders.len();
    storm(&mut bench);
    bench.run(100, STUCK);
    assert_eq!(bench.orders.len(), orders, "no more actions");
    assert_eq!(bench.count("storm_detected"), 4, "still detecting");
    ack(&mut bench);
    assert_eq!(bench.phase(), "healthy");
}

#[test]
fn the_budget_of_an_hour_is_kept_across_a_restart() {
    let mut settings = acting(&[ActionKind::PfcOff]);
    settings.rx.hold_off = Duration::from_secs(1);
    settings.rx.lock_storms = 0;
    let mut bench = gentle(settings.clone());
    for _ in 0..3 {
        storm(&mut bench);
        let Some(Order::Do(plan)) = bench.orders.last().cloned() else { panic!("no plan") };
        bench.succeed(plan.id);
        bench.run(1000, BUSY);
        bench.report(plan.id, Outcome::Undone(UndoResult::Done));
        bench.run(1000, BUSY);
    }
    let durable = bench.engine.durable();
    let mut next = gentle(settings);
    next.now = bench.now;
    next.tell(Input::Journal(Box::new(JournalState {
        durable,
        writable: true,
        seed: 5,
        ..JournalState::default()
    })));
    next.run(20, BUSY);
    storm(&mut next);
    assert_eq!(next.vetoes(), ["budget"]);
    assert!(next.orders.is_empty());
}

#[test]
fn a_restart_takes_back_first_what_the_run_before_owed() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    storm(&mut bench);
    let id = only_plan(&bench).id;
    bench.succeed(id);
    let durable = bench.engine.durable();
    let mut next = Bench::new("bnxt_en", acting(&[ActionKind::PfcOff]));
    next.now = bench.now;
    next.tell(Input::Journal(Box::new(JournalState {
        durable,
        writable: true,
        seed: 5,
        ..JournalState::default()
    })));
    assert!(matches!(&next.orders[..], [Order::Undo(undo)] if undo.id == id));
    assert_eq!(next.phase(), "undoing");
}

/// What a run has left that ended right after it had written its journal for an action on `eth0` at `address`.
fn left_by_a_run(address: &str) -> crate::durable::Durable {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    storm(&mut bench);
    let mut durable = bench.engine.durable();
    let names = durable.owed.iter_mut().map(|owed| &mut owed.port);
    let names = names.chain(durable.queues.iter_mut().map(|queue| &mut queue.port));
    for name in names.chain(durable.spent.iter_mut().map(|spent| &mut spent.port)) {
        name.pci_address = address.into();
    }
    durable
}

/// The next run, whose port is called `netdev` and stands at `address`.
fn next_run(durable: crate::durable::Durable, netdev: &str, address: &str) -> Bench {
    let mut next = Bench::new("bnxt_en", acting(&[ActionKind::PfcOff]));
    next.tell(Input::Gone(PORT));
    next.events.clear();
    next.now = next.now + Duration::from_secs(10);
    next.tell(Input::Journal(Box::new(JournalState {
        durable,
        writable: true,
        seed: 5,
        ..JournalState::default()
    })));
    let identity = PortIdentity {
        netdev: netdev.into(),
        driver: "bnxt_en".into(),
        pci_address: address.into(),
        ..PortIdentity::default()
    };
    next.tell(Input::Bound(BoundPort {
        port: PORT,
        identity,
        layout: Binding::new(drivers::for_driver("bnxt_en"), &next.names).layout().to_vec(),
        refresh: None,
        actions: ActionKind::ALL.to_vec(),
        unsupported: Vec::new(),
    }));
    next
}

const ADDRESS: &str = "0000:65:00.0";

#[test]
fn a_port_that_was_renamed_while_the_agent_was_away_gets_its_undo() {
    let durable = left_by_a_run(ADDRESS);
    let id = durable.owed[0].undo.id;
    let next = next_run(durable, "rail0", ADDRESS);
    assert!(matches!(&next.orders[..], [Order::Undo(undo)] if undo.id == id && undo.port == PORT));
    assert_eq!(next.phase(), "undoing");
    let from = "eth0".to_owned();
    assert!(next.events.iter().any(|event| event.kind == EventKind::PortRenamed { from: from.clone() }));
    let left = next.engine.durable();
    assert_eq!((left.owed.len(), left.spent.len()), (1, 1));
    assert_eq!((&*left.owed[0].port.netdev, &*left.spent[0].port.netdev), ("rail0", "rail0"));
}

#[test]
fn another_device_that_took_the_name_gets_no_undo_of_it() {
    let next = next_run(left_by_a_run(ADDRESS), "eth0", "0000:ca:00.0");
    assert_eq!((next.orders.len(), next.phase()), (0, "healthy"));
    assert_eq!(next.engine.durable().owed.len(), 1, "it waits for its own device");
    // Without an address the name is all there is, and another name is another port.
    let next = next_run(left_by_a_run(""), "rail0", "");
    assert_eq!((next.orders.len(), next.phase()), (0, "healthy"));
}

#[test]
fn an_action_that_was_written_down_and_never_begun_is_closed_and_locks_nothing() {
    let durable = left_by_a_run("");
    let id = durable.owed[0].undo.id;
    let mut next = next_run(durable, "eth0", "");
    next.report(id, Outcome::Undone(UndoResult::NotNeeded));
    assert_eq!(next.phase(), "healthy");
    assert!(next.engine.durable().owed.is_empty());
    let told =
        |event: &Event| matches!(event.kind, EventKind::UndoEnded { result: UndoResult::NotNeeded, .. });
    assert!(next.events.iter().any(told));
}

/// The run before saw that somebody wanted to send; this one sees a priority on which nothing moves.
#[test]
fn a_storm_whose_action_was_never_begun_goes_on_and_so_does_its_demand() {
    let durable = left_by_a_run("");
    let id = durable.owed[0].undo.id;
    let mut settings = acting(&[ActionKind::PfcOff]);
    settings.rx.demand_window = Duration::from_secs(2);
    let mut next = gentle(settings);
    next.now = next.now + Duration::from_secs(10);
    next.tell(Input::Journal(Box::new(JournalState { durable, writable: true, ..JournalState::default() })));
    next.report(id, Outcome::Undone(UndoResult::NotNeeded));
    storm(&mut next);
    let detected = next.events.iter().find_map(|event| match event.kind {
        EventKind::StormDetected { resumed, class, .. } => Some((resumed, class)),
        _ => None,
    });
    assert_eq!(detected, Some((true, Class::Blocked)));
    let storms = next.engine.snapshot(next.now).ports[0].queues.iter().map(|queue| queue.storms).sum::<u64>();
    assert_eq!(storms, 0, "it was counted before");
}

#[test]
fn a_storm_that_ended_while_no_agent_ran_is_not_gone_on_with() {
    let durable = left_by_a_run("");
    let id = durable.owed[0].undo.id;
    let mut next = gentle(acting(&[ActionKind::PfcOff]));
    next.now = next.now + Duration::from_secs(10);
    next.tell(Input::Journal(Box::new(JournalState { durable, writable: true, ..JournalState::default() })));
    next.report(id, Outcome::Undone(UndoResult::NotNeeded));
    next.run(40, BUSY);
    storm(&mut next);
    let resumed = next.events.iter().find_map(|event| match event.kind {
        EventKind::StormDetected { resumed, .. } => Some(resumed),
        _ => None,
    });
    assert_eq!(resumed, Some(false));
}

/// Ports introduce themselves on threads of their own.
#[test]
fn a_port_that_is_told_of_after_its_default_route_keeps_its_link() {
    let mut settings = acting(&[ActionKind::LinkBounce]);
    settings.disruption_max = Disruption::Device;
    let mut bench = Bench::new("mlx5_core", settings);
    bench.tell(Input::Gone(PORT));
    bench.tell(Input::Route(vec![PORT]));
    bench.bind("mlx5_core");
    bench.tell(Input::Link(bench.link(Some(true))));
    bench.run(20, BUSY);
    storm(&mut bench);
    let in_band = |event: &Event| matches!(event.kind, EventKind::ActionVetoed { reason: Veto::InBand, .. });
    assert!(bench.events.iter().any(in_band), "{:?}", bench.events);
}

#[test]
fn a_device_that_comes_back_the_same_is_undone_and_another_one_is_not() {
    let same = [(7, 0), (7, 70), (8, 70)];
    let another = [(8, 0), (7, 71), (8, 71)];
    let cases = same.map(|at| (at, 1, 1)).into_iter().chain(another.map(|at| (at, 0, 0)));
    for ((ifindex, inode), orders, left) in cases {
        let mut bench = gentle(acting(&[ActionKind::PfcOff]));
        let before = &mut bench.engine.ports.get_mut(&PORT).unwrap().identity;
        (before.ifindex, before.sysfs_inode) = (Some(7), NonZeroU64::new(70));
        storm(&mut bench);
        let id = only_plan(&bench).id;
        bench.succeed(id);
        bench.orders.clear();
        bench.tell(Input::Gone(PORT));
        assert_eq!(bench.engine.durable().owed.len(), 1, "it may only be lent");
        assert_eq!(bench.engine.snapshot(bench.now).undos_pending, 1);
        let identity = PortIdentity {
            netdev: "eth0".into(),
            driver: "mlx5_core".into(),
            ifindex: Some(ifindex),
            sysfs_inode: NonZeroU64::new(inode),
            ..PortIdentity::default()
        };
        bench.tell(Input::Bound(BoundPort {
            port: PortKey(1),
            identity,
            layout: Vec::new(),
            refresh: None,
            actions: ActionKind::ALL.to_vec(),
            unsupported: Vec::new(),
        }));
        let found = (bench.orders.len(), bench.engine.durable().owed.len());
        assert_eq!(found, (orders, left), "{ifindex} {inode}");
    }
}

#[test]
fn an_action_that_owes_nothing_when_its_device_goes_drops_no_undo() {
    for (kind, dropped) in [(ActionKind::Exec, 0), (ActionKind::PfcOff, 1)] {
        let (command, timeout, disruption) = (vec!["drain".into()], Duration::from_secs(1), Disruption::None);
        let exec = Some(ExecSettings { command, timeout, disruption });
        let mut bench = gentle(Settings { exec, ..acting(&[kind]) });
        storm(&mut bench);
        let id = only_plan(&bench).id;
        bench.succeed(id);
        bench.tell(Input::Gone(PORT));
        let told = |event: &&Event| matches!(event.kind, EventKind::UndoDropped { .. });
        assert_eq!(bench.events.iter().filter(told).count(), dropped, "{kind}");
    }
}

#[test]
fn what_this_run_has_changed_and_somebody_else_put_back_is_theirs() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    storm(&mut bench);
    let id = only_plan(&bench).id;
    bench.succeed(id);
    bench.run(300, BUSY);
    bench.report(id, Outcome::Undone(UndoResult::NotNeeded));
    assert_eq!(bench.phase(), "locked");
    let told = |event: &Event| matches!(event.kind, EventKind::UndoEnded { result: UndoResult::Foreign, .. });
    assert!(bench.events.iter().any(told));
}

#[test]
fn a_storm_that_spans_a_restart_is_one_storm() {
    let mut bench = gentle(Settings::default());
    storm(&mut bench);
    let durable = bench.engine.durable();
    let mut next = Bench::new("mlx5_core", Settings::default());
    next.now = bench.now;
    next.tell(Input::Journal(Box::new(JournalState {
        durable,
        writable: true,
        seed: 5,
        ..JournalState::default()
    })));
    storm(&mut next);
    let resumed =
        next.events.iter().any(|e| matches!(e.kind, EventKind::StormDetected { resumed: true, .. }));
    assert!(resumed);
    assert_eq!(next.engine.snapshot(next.now).ports[0].queues.iter().map(|q| q.storms).sum::<u64>(), 0);
}

#[test]
fn a_link_wise_action_waits_for_the_guard_and_needs_an_answer_newer_than_the_storm() {
    let mut bench = Bench::new("mlx5_core", acting(&[ActionKind::PfcOff]));
    let old = GuardAnswer { asked_at: bench.now, answer: Ok(0) };
    bench.tell(Input::GuardAnswer(old));
    storm(&mut bench);
    assert_eq!((bench.asked, bench.orders.len()), (1, 0));
    bench.run(70, STUCK);
    assert_eq!(bench.vetoes(), ["fleet_guard"], "the answer is older than the storm");
    bench.run(1195, STUCK);
    bench.tell(Input::GuardAnswer(GuardAnswer { asked_at: bench.now, answer: Ok(1) }));
    bench.run(80, STUCK);
    assert_eq!(bench.orders.len(), 1);
}

#[test]
fn an_answer_of_the_guard_counts_for_a_minute_and_then_it_is_asked_again() {
    let mut bench = Bench::new("mlx5_core", acting(&[ActionKind::PfcOff]));
    let until = Some(bench.now + Duration::from_secs(600));
    storm(&mut bench);
    bench.tell(Input::GuardAnswer(GuardAnswer { asked_at: bench.now, answer: Ok(0) }));
    // The guard agrees, and something else refuses until long after.
    bench.tell(Input::Maintenance(Maintenance { port: Some(PORT), until, by: None }));
    bench.run(600 * 20, STUCK);
    assert_eq!((bench.orders.len(), bench.asked), (0, 1));
    // What it said ten minutes ago says nothing about the fleet of now.
    bench.run(30 * 20, STUCK);
    assert_eq!(
        (bench.orders.len(), bench.asked),
        (0, 3),
        "asked before the wait, and again with the refusal"
    );
    assert_eq!(bench.vetoes().last(), Some(&"fleet_guard"));
    while bench.asked == 3 {
        bench.read(STUCK);
    }
    bench.tell(Input::GuardAnswer(GuardAnswer { asked_at: bench.now, answer: Ok(0) }));
    bench.run(10 * 20, STUCK);
    assert_eq!(bench.orders.len(), 1);
}

#[test]
fn the_age_of_an_answer_leaves_room_for_the_longest_wait() {
    let guard = |delay| {
        let settings = acting(&[]);
        Guard { delay: Duration::from_secs(delay), ..settings.guard.unwrap() }
    };
    assert_eq!(guard(30).answer_age_max(), Duration::from_secs(60));
    assert_eq!(guard(3600).answer_age_max(), Duration::from_secs(7200));
}

#[test]
fn a_guard_that_counts_too_many_storms_or_fails_refuses() {
    for answer in [Ok(4), Err("connection refused".to_owned())] {
        let mut bench = Bench::new("mlx5_core", acting(&[ActionKind::PfcOff]));
        bench.run(5, STUCK);
        bench.tell(Input::GuardAnswer(GuardAnswer { asked_at: bench.now, answer }));
        bench.run(70, STUCK);
        assert_eq!(bench.vetoes(), ["fleet_guard"]);
    }
}

#[test]
fn without_a_guard_a_link_wise_action_is_vetoed_at_once() {
    let mut bench = Bench::new("mlx5_core", Settings { guard: None, ..acting(&[ActionKind::PfcOff]) });
    storm(&mut bench);
    assert_eq!(bench.vetoes(), ["fleet_guard"]);
}

#[test]
fn what_disrupts_more_than_allowed_is_vetoed_before_anything_is_asked() {
    let settings = Settings { disruption_max: Disruption::Priority, ..acting(&[ActionKind::PfcOff]) };
    let mut bench = Bench::new("mlx5_core", settings);
    storm(&mut bench);
    assert_eq!((bench.vetoes(), bench.asked), (vec!["disruption"], 0));
}

#[test]
fn maintenance_a_foreign_owner_and_a_missing_journal_veto() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    let until = Some(bench.now + Duration::from_secs(60));
    bench.tell(Input::Maintenance(Maintenance { port: Some(PORT), until, by: None }));
    storm(&mut bench);
    assert_eq!(bench.vetoes(), ["maintenance"]);
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    bench.tell(Input::Dcb(PortDcb { port: PORT, pfc: Some(PRIO3), owner: DcbOwner::Other, headroom: None }));
    storm(&mut bench);
    assert_eq!(bench.vetoes(), ["not_owner"]);
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    bench.tell(Input::Journal(Box::default()));
    storm(&mut bench);
    assert_eq!(bench.vetoes(), ["journal"]);
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    bench.tell(Input::JournalWritable(false));
    assert!(!bench.engine.snapshot(bench.now).journal_writable);
    storm(&mut bench);
    assert_eq!(bench.vetoes(), ["journal"]);
    bench.tell(Input::JournalWritable(true));
    assert!(bench.engine.snapshot(bench.now).journal_writable);
    bench.run(1500, STUCK);
    only_plan(&bench);
}

#[test]
fn the_carrier_and_the_names_that_our_own_action_takes_are_no_surprise() {
    let mut bench = Bench::new("mlx5_core", acting(&[ActionKind::PfcOff]));
    bench.run(5, STUCK);
    bench.tell(Input::GuardAnswer(GuardAnswer { asked_at: bench.now, answer: Ok(0) }));
    bench.run(80, STUCK);
    let id = only_plan(&bench).id;
    bench.tell(Input::Link(bench.link(Some(false))));
    bench.tell(Input::Dcb(PortDcb {
        port: PORT,
        pfc: Some(PriorityMask(0)),
        owner: DcbOwner::Host,
        headroom: None,
    }));
    assert_eq!(bench.phase(), "storm", "an action is under way");
    bench.succeed(id);
    bench.tell(Input::Link(bench.link(Some(true))));
    assert_eq!(bench.phase(), "mitigated");
    bench.wait(Duration::from_secs(200));
    assert_eq!(bench.phase(), "mitigated", "a link-wise action is held for 300 s");
    bench.wait(Duration::from_secs(170));
    assert!(matches!(bench.orders.last(), Some(Order::Undo(_))));
}

fn mask(bench: &mut Bench, pfc: Option<PriorityMask>) {
    bench.tell(Input::Dcb(PortDcb { port: PORT, pfc, owner: DcbOwner::Host, headroom: None }));
}

#[test]
fn a_bit_that_somebody_else_puts_back_locks_the_queue_and_drops_the_undo() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    storm(&mut bench);
    let id = only_plan(&bench).id;
    mask(&mut bench, Some(PriorityMask(0)));
    bench.succeed(id);
    mask(&mut bench, Some(PRIO3));
    assert_eq!(bench.phase(), "locked");
    assert!(bench.engine.durable().owed.is_empty());
}

#[test]
fn a_mask_that_cannot_be_read_does_not_drop_the_undo() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    storm(&mut bench);
    let id = only_plan(&bench).id;
    mask(&mut bench, Some(PriorityMask(0)));
    bench.succeed(id);
    mask(&mut bench, None);
    assert_eq!(bench.phase(), "mitigated");
    assert_eq!(bench.engine.durable().owed.len(), 1);
}

#[test]
fn the_undo_of_another_action_is_kept_when_somebody_switches_pfc() {
    let mut settings = acting(&[ActionKind::PreventionTimeout]);
    settings.prevention_timeout_ms = 200;
    let mut bench = Bench::new("mlx5_core", settings);
    bench.tell(Input::Pause(PortPause { port: PORT, pause: None, prevention_timeout_ms: Some(100) }));
    for _ in 0..10 {
        bench.add("tx_prio3_pause_duration", 50_000);
        bench.read(IDLE);
    }
    let id = only_plan(&bench).id;
    bench.succeed(id);
    for pfc in [PriorityMask(0), PRIO3] {
        mask(&mut bench, Some(pfc));
    }
    assert_eq!(bench.queue(Direction::Tx).phase.label(), "mitigated");
    assert_eq!(bench.engine.durable().owed.len(), 1);
}

#[test]
fn a_limit_that_was_found_to_be_another_is_what_the_next_plan_comes_from() {
    let mut settings = acting(&[ActionKind::PreventionTimeout]);
    (settings.prevention_timeout_ms, settings.tx.hold_off) = (200, Duration::from_millis(100));
    let mut bench = Bench::new("mlx5_core", settings);
    bench.tell(Input::Pause(PortPause { port: PORT, pause: None, prevention_timeout_ms: Some(100) }));
    let paused = |bench: &mut Bench| {
        for _ in 0..10 {
            bench.add("tx_prio3_pause_duration", 50_000);
            bench.read(IDLE);
        }
    };
    paused(&mut bench);
    let action = only_plan(&bench).id;
    let failed = Outcome::Acted { result: ActionResult::Failed, put_back: PutBack::NotNeeded };
    let report = Report { prevention_timeout_ms: Some(2000), ..Report::new(failed, None) };
    bench.tell(Input::Outcome(Ended { action, report }));
    paused(&mut bench);
    let Some(Order::Do(plan)) = bench.orders.last() else { panic!("{:?}", bench.orders) };
    assert_eq!(plan.undo, [Op::PreventionTimeout(2000)]);
}

#[test]
fn a_stop_takes_everything_back_at_once_and_plans_no_more() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    storm(&mut bench);
    let id = only_plan(&bench).id;
    bench.succeed(id);
    bench.tell(Input::Command(crate::input::Command::Stop));
    assert!(matches!(bench.orders.last(), Some(Order::Undo(_))));
    bench.report(id, Outcome::Undone(UndoResult::Done));
    assert!(bench.engine.is_settled());
    storm(&mut bench);
    assert_eq!(bench.orders.len(), 2);
}

#[test]
fn a_stop_does_not_wait_for_an_undo_that_was_given_up() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    storm(&mut bench);
    let id = only_plan(&bench).id;
    bench.succeed(id);
    bench.tell(Input::Command(crate::input::Command::Stop));
    bench.report(id, Outcome::Undone(UndoResult::Failed));
    assert!(!bench.engine.is_settled(), "it is tried again");
    ack(&mut bench);
    assert!(bench.engine.is_settled());
    assert_eq!(bench.engine.durable().owed.len(), 1, "the next start takes it back");
}

#[test]
fn an_action_that_ends_after_the_mode_was_lowered_is_taken_back_at_once() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    storm(&mut bench);
    let id = only_plan(&bench).id;
    let settings = Settings { mode: Mode::Observe, ..bench.engine.settings().clone() };
    bench.tell(Input::Reconfigure(Box::new(settings)));
    bench.succeed(id);
    assert!(matches!(bench.orders.last(), Some(Order::Undo(_))));
}

#[test]
fn what_ends_a_storm_while_its_action_is_under_way_ends_it_when_the_action_fails() {
    let off = Settings { mode: Mode::Off, ..acting(&[ActionKind::PfcOff]) };
    for (input, phase) in [
        (Input::Reconfigure(Box::new(off)), "healthy"),
        (Input::Link(gentle(Settings::default()).link(Some(false))), "suspended"),
        (
            Input::Dcb(PortDcb {
                port: PORT,
                pfc: Some(PriorityMask(0)),
                owner: DcbOwner::Host,
                headroom: None,
            }),
            "suspended",
        ),
    ] {
        let mut bench = gentle(acting(&[ActionKind::PfcOff]));
        storm(&mut bench);
        bench.tell(input);
        assert_eq!(bench.phase(), "storm");
        let id = only_plan(&bench).id;
        let (result, put_back) = (ActionResult::Failed, PutBack::NotNeeded);
        bench.report(id, Outcome::Acted { result, put_back });
        assert_eq!((bench.phase(), bench.count("storm_ended")), (phase, 1));
    }
}

#[test]
fn a_checkpoint_read_back_from_json_decides_the_same() {
    let mut bench = gentle(acting(&[ActionKind::PfcOff]));
    bench.run(2, STUCK);
    let text = serde_json::to_string(&bench.engine.checkpoint()).unwrap();
    let mut copy =
        Bench { engine: serde_json::from_str(&text).unwrap(), ..gentle(acting(&[ActionKind::PfcOff])) };
    copy.now = bench.now;
    copy.values.clone_from(&bench.values);
    let before = bench.events.len();
    copy.events.clear();
    bench.run(100, STUCK);
    copy.run(100, STUCK);
    assert_eq!(copy.events, bench.events[before..]);
    assert_eq!(copy.orders, bench.orders);
}

/// Ports introduce themselves on threads of their own: which of those at one address comes first is chance.
#[test]
fn a_port_that_comes_before_another_one_of_its_address_takes_nothing_that_is_owed_to_that_one() {
    let mut durable = left_by_a_run(ADDRESS);
    durable.owed[0].ifindex = Some(7);
    let mut next = next_run(Default::default(), "other0", "");
    let port = |key, netdev: &str, ifindex| BoundPort {
        port: PortKey(key),
        identity: PortIdentity {
            netdev: netdev.into(),
            driver: "bnxt_en".into(),
            pci_address: ADDRESS.into(),
            ifindex: Some(ifindex),
            ..PortIdentity::default()
        },
        layout: Vec::new(),
        refresh: None,
        actions: ActionKind::ALL.to_vec(),
        unsupported: Vec::new(),
    };
    next.tell(Input::Journal(Box::new(JournalState { durable, writable: true, ..JournalState::default() })));
    next.tell(Input::Bound(port(1, "rep0", 20)));
    assert_eq!((next.orders.len(), next.engine.durable().owed.len()), (0, 1));
    next.tell(Input::Bound(port(2, "eth0", 7)));
    assert!(matches!(&next.orders[..], [Order::Undo(undo)] if undo.port == PortKey(2)));
}

#[test]
fn a_plan_that_ends_after_its_device_went_and_came_back_does_not_stand_for_the_undo() {
    for result in [ActionResult::Ok, ActionResult::Failed] {
        let mut bench = gentle(acting(&[ActionKind::PfcOff]));
        bench.engine.ports.get_mut(&PORT).unwrap().identity.ifindex = Some(7);
        storm(&mut bench);
        let id = only_plan(&bench).id;
        bench.tell(Input::Gone(PORT));
        let identity = PortIdentity {
            netdev: "eth0".into(),
            driver: "bnxt_en".into(),
            ifindex: Some(7),
            ..PortIdentity::default()
        };
        let (port, actions, layout) = (PortKey(1), ActionKind::ALL.to_vec(), Vec::new());
        let bound = BoundPort { port, identity, layout, refresh: None, actions, unsupported: Vec::new() };
        bench.tell(Input::Bound(bound));
        bench.report(id, Outcome::Acted { result, put_back: PutBack::NotNeeded });
        assert_eq!(bench.engine.durable().owed.len(), 1, "{result:?}");
        bench.report(id, Outcome::Undone(UndoResult::NotNeeded));
        assert!(bench.engine.durable().owed.is_empty(), "{result:?}");
        let view = &bench.engine.snapshot(bench.now).ports[0];
        assert!(view.queues.iter().all(|queue| queue.phase.owed().is_none()), "{result:?}");
    }
}
