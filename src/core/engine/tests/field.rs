//! What went wrong with watchdogs in the field, told to the engine: `docs/field-tests.md` says where each was reported.

use super::rig::{Counted, Rig, settings};
use super::*;
use crate::action::{ActionResult, Op};
use crate::catalog::Counter;
use crate::drivers::PauseTime;
use crate::phase::Class;
use crate::units::Priority;

/// One reading, `span` after the one before.
fn read_after(bench: &mut Bench, span: Duration, does: Does) {
    bench.now = (bench.now + span).before(STEP);
    bench.read(does);
}

/// A port of `driver` with other counters than the usual, PFC on for `pfc`.
fn bench_of(driver: &str, settings: Settings, names: Vec<String>, pfc: Option<PriorityMask>) -> Bench {
    let mut bench = Bench::new(driver, settings);
    bench.values = vec![1_000_000; names.len()];
    bench.names = names;
    bench.bind(driver);
    bench.tell(Input::Dcb(PortDcb { port: PORT, pfc, owner: DcbOwner::Host, headroom: None }));
    bench
}

/// The names of an mlx5 port whose PFC is on for all priorities.
fn all_priorities() -> Vec<String> {
    let of = |p: u8| {
        [format!("tx_prio{p}_packets"), format!("rx_prio{p}_pause"), format!("rx_prio{p}_pause_duration")]
    };
    (0..8).flat_map(of).collect()
}

/// One reading in which each of `paused` is held all the time and the others send.
fn read_priorities(bench: &mut Bench, paused: &[u8]) {
    bench.now = bench.now + STEP;
    for p in 0..8 {
        if paused.contains(&p) {
            bench.add(&format!("rx_prio{p}_pause_duration"), 50_000);
            bench.add(&format!("rx_prio{p}_pause"), 160);
        } else {
            bench.add(&format!("tx_prio{p}_packets"), 1000 + u64::from(p));
        }
    }
    bench.read_as_is();
}

fn found(events: &[EventKind]) -> usize {
    events.iter().filter(|event| matches!(event, EventKind::StormDetected { .. })).count()
}

fn throttled(bench: &Bench, direction: Direction, queue: Queue) -> usize {
    let is = |event: &&Event| {
        matches!(event.kind, EventKind::PauseEntered { class: Class::Throttled, .. })
            && (event.place.priority, event.place.direction) == (Some(queue), Some(direction))
    };
    bench.events.iter().filter(is).count()
}

#[test]
fn a_pause_that_fills_the_end_of_a_stretched_interval_is_no_storm() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    for _ in 0..5 {
        // Read 750 ms late: the pause is longer than the interval was meant to be, and no storm.
        read_after(&mut bench, Duration::from_millis(800), Does { paused_us: 185_000, packets: 9000 });
        bench.run(20, BUSY);
    }
    assert_eq!(bench.count("storm_detected"), 0);
}

#[test]
fn an_interval_a_hair_shorter_or_longer_costs_no_extra_reading() {
    for millis in 44..=56 {
        let mut bench = Bench::new("mlx5_core", Settings::default());
        let mut readings = 0;
        while bench.phase() != "storm" {
            let does = Does { paused_us: millis * 1000, packets: 0 };
            read_after(&mut bench, Duration::from_millis(millis), does);
            readings += 1;
        }
        assert_eq!(readings, 190_u64.div_ceil(millis), "{millis} ms");
    }
}

#[test]
fn readings_that_come_late_count_with_the_time_that_has_really_passed() {
    let late = Duration::from_millis(400);
    let mut bench = Bench::new("mlx5_core", Settings::default());
    // Half of the time, twice: four intervals long by the clock of the settings, and no storm.
    for _ in 0..2 {
        read_after(&mut bench, late, Does { paused_us: 200_000, packets: 0 });
    }
    assert_eq!(bench.phase(), "suspect");
    for _ in 0..2 {
        read_after(&mut bench, late, Does { paused_us: 400_000, packets: 0 });
    }
    assert_eq!(bench.phase(), "storm");
    // The restore time is over after three late readings, not after twenty.
    for phase in ["storm", "storm", "healthy"] {
        read_after(&mut bench, late, BUSY);
        assert_eq!(bench.phase(), phase);
    }
}

#[test]
fn a_gap_of_a_fiftieth_of_the_time_hides_no_storm() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(6, Does { paused_us: 49_000, packets: 0 });
    assert_eq!(bench.phase(), "storm");
}

#[test]
fn totals_of_a_lifetime_are_a_baseline_and_no_storm() {
    let mut rig = Rig::new(settings(), &["bnxt_en"]);
    rig.ports[0] = Counted { paused_us: 132_000_000_000, packets: 9_000_000_000 };
    rig.reads(100, &[]);
    let alarm =
        |event: &EventKind| matches!(event, EventKind::StormDetected { .. } | EventKind::PauseEntered { .. });
    assert!(!rig.events.iter().any(alarm));
    rig.reads(3, &[0]);
    assert_eq!(found(&rig.events), 0, "150 ms of its own");
    rig.reads(1, &[0]);
    assert_eq!(found(&rig.events), 1);
}

#[test]
fn a_storm_of_all_priorities_is_one_mitigation_that_is_held_while_its_counters_are_gone() {
    let mask = |pfc| {
        Input::Dcb(PortDcb {
            port: PORT,
            pfc: Some(PriorityMask(pfc)),
            owner: DcbOwner::Host,
            headroom: None,
        })
    };
    let settings = acting(&[ActionKind::PfcOff]);
    let mut bench = bench_of("mlx5_core", settings, all_priorities(), Some(PriorityMask(0xff)));
    for _ in 0..20 {
        read_priorities(&mut bench, &[]);
    }
    for reading in 0..100 {
        if reading == 10 {
            bench.tell(Input::GuardAnswer(crate::input::GuardAnswer { asked_at: bench.now, answer: Ok(0) }));
        }
        read_priorities(&mut bench, &[0, 1, 2, 3, 4, 5, 6, 7]);
    }
    assert_eq!(bench.count("storm_detected"), 8, "none hides another");
    let [Order::Do(plan)] = &bench.orders[..] else { panic!("{:?}", bench.orders) };
    assert_eq!(plan.ops, [Op::PfcDisable(PriorityMask(0xff))]);
    // The mask is empty and the pause counters go with it.
    let (id, names) = (plan.id, all_priorities());
    bench.tell(mask(0));
    bench.succeed(id);
    bench.names.retain(|name| !name.contains("pause"));
    bench.values.truncate(8);
    bench.bind("mlx5_core");
    for _ in 0..20 * 200 {
        read_priorities(&mut bench, &[]);
    }
    assert_eq!((bench.phase(), bench.orders.len()), ("mitigated", 1), "held for 300 s ± 20 %");
    for _ in 0..20 * 180 {
        read_priorities(&mut bench, &[]);
    }
    assert!(matches!(&bench.orders[1..], [Order::Undo(undo)] if undo.id == id));
    bench.report(id, Outcome::Undone(crate::action::UndoResult::Done));
    bench.tell(mask(0xff));
    bench.names = names;
    bench.values = vec![0; bench.names.len()];
    bench.bind("mlx5_core");
    for _ in 0..100 {
        read_priorities(&mut bench, &[]);
    }
    assert_eq!((bench.phase(), bench.orders.len()), ("probation", 2));
    assert_eq!(bench.count("storm_detected"), 8, "no storm and restore in turn");
}

#[test]
fn a_storm_that_an_earlier_run_has_left_is_believed_only_when_the_counters_show_it() {
    let mut before = Rig::new(settings(), &["bnxt_en"]);
    before.reads(10, &[]);
    before.reads(6, &[0]);
    before.acted(1, ActionResult::Expired);
    let mut durable = before.engine.durable();
    assert!(durable.queues[0].storm_since.is_some());
    durable.spent.clear();
    let mut rig = Rig::restored(settings(), &["bnxt_en"], durable);
    rig.reads(100, &[]);
    rig.tick(60_000);
    assert_eq!((found(&rig.events), rig.orders.len()), (0, 0), "nothing is paused any more");
}

#[test]
fn a_storm_is_named_by_its_priority_whatever_the_order_of_the_counters() {
    let mut names = all_priorities();
    names.reverse();
    let mut bench =
        bench_of("mlx5_core", acting(&[ActionKind::PfcOff]), names, Some(PriorityMask(0b10_0000)));
    bench.engine.ports.get_mut(&PORT).unwrap().caps.levers = drivers::for_driver("bnxt_en").caps.levers;
    for _ in 0..20 {
        read_priorities(&mut bench, &[]);
    }
    for _ in 0..5 {
        read_priorities(&mut bench, &[5]);
    }
    let [Order::Do(plan)] = &bench.orders[..] else { panic!("{:?}", bench.orders) };
    assert_eq!(plan.ops, [Op::PfcDisable(PriorityMask::of(Priority::ALL[5]))]);
}

#[test]
fn an_action_and_its_undo_are_about_the_stormy_priority_of_one_port() {
    let mut rig = Rig::new(settings(), &["bnxt_en"; 3]);
    rig.reads(10, &[]);
    rig.reads(6, &[1]);
    rig.acted(1, ActionResult::Ok);
    rig.reads(300, &[]);
    let [Order::Do(plan), Order::Undo(undo)] = &rig.orders[..] else { panic!("{:?}", rig.orders) };
    assert_eq!(
        (plan.port, &plan.ops[..]),
        (PortKey(1), &[Op::PfcDisable(PriorityMask::of(Priority::ALL[3]))][..])
    );
    let back = undo.ops.iter().map(|step| step.op.clone()).collect::<Vec<_>>();
    assert_eq!(
        (undo.port, &back[..]),
        (PortKey(1), &[Op::PfcEnable(PriorityMask::of(Priority::ALL[3]))][..])
    );
}

#[test]
fn a_storm_on_one_port_hides_none_on_another() {
    let mut rig = Rig::new(settings(), &["mlx5_core"; 8]);
    rig.reads(10, &[]);
    rig.reads(6, &[2]);
    rig.reads(6, &[2, 5]);
    assert_eq!(found(&rig.events), 2);
    rig.reads(6, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(found(&rig.events), 8);
}

#[test]
fn with_more_ports_than_can_be_read_in_time_the_window_grows_with_the_interval() {
    let mut rig = Rig::new(settings(), &["bnxt_en"; 512]);
    let all = (0..512).collect::<Vec<_>>();
    rig.reads(10, &[]);
    rig.reads(2, &all);
    let snapshot = rig.engine.snapshot(rig.now);
    for port in &snapshot.ports {
        assert!(port.interval > Duration::from_secs(1), "{:?}", port.interval);
        assert!(port.detect >= port.interval * 2, "{:?}", port.detect);
    }
}

#[test]
fn what_is_counted_during_an_action_is_in_the_total_whenever_it_is_read() {
    let names = ["rx_prio3_pause_duration", "tx_prio3_packets", "rx_prio3_discards"].map(str::to_owned);
    let settings = acting(&[ActionKind::PfcOff]);
    let mut bench = bench_of("mlx5_core", settings, names.to_vec(), Some(PRIO3));
    bench.engine.ports.get_mut(&PORT).unwrap().caps.levers = drivers::for_driver("bnxt_en").caps.levers;
    bench.run(20, BUSY);
    bench.run(5, STUCK);
    let Some(Order::Do(plan)) = bench.orders.first().cloned() else { panic!("{:?}", bench.orders) };
    // Dropped while the action was carried out, while it held, and while it was undone; read once after all that.
    bench.add("rx_prio3_discards", 700);
    bench.succeed(plan.id);
    bench.run(1, BUSY);
    bench.add("rx_prio3_discards", 30);
    bench.wait(Duration::from_secs(14));
    bench.add("rx_prio3_discards", 4);
    bench.report(plan.id, Outcome::Undone(crate::action::UndoResult::Done));
    bench.run(2, BUSY);
    let snapshot = bench.engine.snapshot(bench.now);
    let three = Queue::Priority(Priority::ALL[3]);
    let discards = snapshot.ports[0].counter(Counter::PriorityRxDiscards, Some(three));
    assert_eq!(discards, Some(1_000_734));
}

#[test]
fn a_storm_is_found_although_nothing_is_dropped_and_drops_are_no_storm() {
    let names = ["rx_prio3_pause_duration", "tx_prio3_packets", "rx_discards_phy", "rx_out_of_buffer"];
    let names = names.map(str::to_owned).to_vec();
    let mut bench = bench_of("mlx5_core", Settings::default(), names.clone(), Some(PRIO3));
    bench.run(20, BUSY);
    bench.run(5, STUCK);
    assert_eq!(bench.count("storm_detected"), 1);

    let mut bench = bench_of("mlx5_core", Settings::default(), names, Some(PRIO3));
    bench.run(20, BUSY);
    for _ in 0..100 {
        // 60 million a second inside the NIC, and nothing in the rings of the host: two layers, two numbers.
        bench.add("rx_discards_phy", 3_000_000);
        bench.read(BUSY);
    }
    assert_eq!(bench.count("storm_detected"), 0);
    let port = &bench.engine.snapshot(bench.now).ports[0];
    assert_eq!(port.counter(Counter::PortRxDiscards, None), Some(301_000_000));
    assert_eq!(port.counter(Counter::RxNoBuffer, None), Some(1_000_000));
}

#[test]
fn a_fifth_of_the_line_rate_lost_to_global_pause_is_told_in_its_direction() {
    for (direction, name) in
        [(Direction::Rx, "rx_global_pause_duration"), (Direction::Tx, "tx_global_pause_duration")]
    {
        let names = vec![name.to_owned(), "rx_discards_phy".into(), "tx_packets_phy".into()];
        let mut bench = bench_of("mlx5_core", Settings::default(), names, Some(PriorityMask(0)));
        let pause = Some(crate::action::PauseConfig { rx: true, tx: true });
        bench.tell(Input::Pause(crate::input::PortPause { port: PORT, pause, prevention_timeout_ms: None }));
        for _ in 0..1300 {
            bench.add(name, 10_850);
            bench.read(BUSY);
        }
        assert_eq!(throttled(&bench, direction, Queue::Global), 2, "over 10 s and over 60 s: {name}");
        assert_eq!(bench.count("storm_detected"), 0);
    }
}

#[test]
fn a_host_that_throttles_its_peer_is_told_as_one_that_sends_pause() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    for _ in 0..300 {
        bench.add("tx_prio3_pause_duration", 15_000);
        bench.add("tx_prio3_pause", 50);
        bench.read(BUSY);
    }
    let three = Queue::Priority(Priority::ALL[3]);
    assert!(throttled(&bench, Direction::Tx, three) > 0);
    assert_eq!(throttled(&bench, Direction::Rx, three), 0);
}

#[test]
fn by_default_nothing_is_done_about_a_storm_also_where_actions_are_allowed() {
    let settings =
        Settings { mode: Mode::Enforce, disruption_max: Disruption::Device, ..Settings::default() };
    let mut bench = Bench::new("mlx5_core", settings);
    for _ in 0..200 {
        bench.add("tx_prio3_pause_duration", 50_000);
        bench.read(STUCK);
    }
    assert_eq!(bench.count("storm_detected"), 2, "received and sent");
    assert_eq!((bench.orders.len(), bench.vetoes().len()), (0, 0));
}

#[test]
fn settings_without_a_word_in_them_take_back_what_is_in_force() {
    let mut rig = Rig::new(settings(), &["bnxt_en"]);
    rig.reads(10, &[]);
    rig.reads(6, &[0]);
    rig.acted(1, ActionResult::Ok);
    rig.tell(Input::Reconfigure(Box::default()));
    assert!(matches!(rig.orders.last(), Some(Order::Undo(undo)) if undo.id == ActionId(1)));
    rig.reads(100, &[0]);
    assert_eq!(rig.orders.len(), 2, "the default mode only observes");
}

#[test]
fn an_acknowledgement_keeps_a_storm_that_is_open() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(10, STUCK);
    let queue = Queue::Priority(Priority::ALL[3]);
    bench.tell(Input::Command(crate::input::Command::Ack { port: PORT, queue, direction: None }));
    bench.run(10, STUCK);
    assert_eq!(bench.phase(), "storm");
    assert_eq!((bench.count("storm_detected"), bench.count("storm_ended")), (1, 0));
}

#[test]
fn pause_time_that_was_only_asked_for_alerts_and_never_acts() {
    let mut bench = Bench::new("mlx5_core", acting(&[ActionKind::PfcOff]));
    bench.engine.ports.get_mut(&PORT).unwrap().caps.pause_time = PauseTime::Requested;
    bench.run(10, STUCK);
    assert_eq!(bench.count("storm_detected"), 1);
    assert_eq!((bench.vetoes(), bench.orders.len()), (vec!["estimated"], 0));
    assert!(bench.engine.snapshot(bench.now).ports[0].estimated);
}

#[test]
fn packets_of_a_queue_that_priorities_share_show_no_demand() {
    let name = |p: u8| [format!("pfc_pri{p}_rx_duration_us"), format!("tx_packets_pri{p}")];
    let names = [2, 3].into_iter().flat_map(name).collect();
    let mut bench = bench_of("bnxt_en", acting(&[ActionKind::PfcOff]), names, Some(PRIO3));
    let both = |bench: &mut Bench, packets| {
        bench.add("tx_packets_pri2", packets);
        bench.add("tx_packets_pri3", packets);
    };
    for _ in 0..20 {
        both(&mut bench, 1000);
        bench.read(IDLE);
    }
    for _ in 0..60 {
        // Whose packets these are, nobody can tell.
        bench.add("pfc_pri3_rx_duration_us", 50_000);
        bench.read(IDLE);
    }
    assert_eq!(bench.vetoes(), ["demand_unknown"]);
    assert!(bench.orders.is_empty());
}

#[test]
fn a_link_that_flapped_between_two_updates_is_a_new_beginning() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    let mut link = bench.link(Some(true));
    link.carrier_changes = Some(4);
    bench.tell(Input::Link(link.clone()));
    bench.run(3, STUCK);
    // Down and up again, seen only by the kernel's count; the speed has changed meanwhile.
    link.carrier_changes = Some(6);
    link.speed_mbps = Some(25_000);
    bench.tell(Input::Link(link));
    bench.run(3, STUCK);
    assert_eq!((bench.phase(), bench.count("storm_detected")), ("suspect", 0));
    bench.run(1, STUCK);
    assert_eq!(bench.phase(), "storm");
}
