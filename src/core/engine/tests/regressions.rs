//! Faults that a simulated node has found, each as the few inputs that show it.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test picks one event out of many")]

use std::time::Duration;

use super::rig::{Counted, Rig, settings};
use crate::action::{ActionKind, ActionResult, Order, Outcome, UndoResult};
use crate::binding::Binding;
use crate::drivers::for_driver;
use crate::durable::Durable;
use crate::event::EventKind;
use crate::ids::{PortIdentity, PortKey};
use crate::input::{BoundPort, Command, DcbOwner, Input, PortDcb, PortLink, Reading, SourceRefresh};
use crate::phase::Phase;
use crate::settings::{Mode, Settings};
use crate::units::{Direction, MonoTime, Priority, PriorityMask, Queue};

#[test]
fn a_port_is_blind_at_the_very_instant_that_was_announced() {
    let mut rig = Rig::new(settings(), &["bnxt_en"]);
    rig.reads(3, &[]);
    rig.tick(5000);
    assert!(rig.events.iter().any(|event| matches!(event, EventKind::Blinded { .. })));
}

#[test]
fn an_action_is_asked_for_only_while_the_newest_reading_shows_the_storm() {
    let mut settings = settings();
    settings.rx.hold_off = Duration::from_millis(200);
    let mut rig = Rig::new(settings, &["bnxt_en"]);
    rig.reads(10, &[]);
    rig.reads(6, &[0]);
    rig.acted(1, ActionResult::Failed);
    // The hold-off ends within the restore time, the pause has ended before.
    rig.reads(8, &[]);
    rig.tick(20);
    assert_eq!(rig.orders.len(), 1);
    assert!(matches!(rig.phase(0), Phase::Storm(_)));
    // A short pause is not the storm either.
    rig.read(&[0]);
    assert_eq!(rig.orders.len(), 1);
    rig.reads(5, &[0]);
    assert_eq!(rig.orders.len(), 2);
}

#[test]
fn an_agent_that_is_stopping_asks_for_nothing_and_comes_to_rest() {
    let mut rig = Rig::new(settings(), &["bnxt_en"]);
    rig.tell(Input::Command(Command::Stop));
    rig.reads(10, &[]);
    rig.reads(6, &[0]);
    assert!(matches!(rig.phase(0), Phase::Storm(_)));
    rig.tick(300);
    assert!(rig.orders.is_empty());
}

fn names_of(events: &[EventKind]) -> Vec<(String, String)> {
    let change = |event: &EventKind| {
        let EventKind::PhaseChanged { from, to } = event else { return None };
        Some((from.0.to_string(), to.0.to_string()))
    };
    events.iter().filter_map(change).collect()
}

#[test]
fn what_an_earlier_run_has_left_is_told_like_any_other_change_of_phase() {
    let mut rig = Rig::new(settings(), &["bnxt_en"]);
    rig.reads(10, &[]);
    rig.reads(6, &[0]);
    rig.acted(1, ActionResult::Ok);
    assert!(matches!(rig.phase(0), Phase::Mitigated(_)));

    let rig = Rig::restored(settings(), &["bnxt_en"], rig.engine.durable());
    assert!(names_of(&rig.events).contains(&("healthy".into(), "undoing".into())));
    assert!(matches!(rig.orders[..], [Order::Undo(_)]));
}

#[test]
fn a_locked_queue_in_a_storm_comes_back_locked_and_finds_the_storm_again() {
    let mut settings = settings();
    settings.rx.lock_storms = 1;
    let mut rig = Rig::new(settings.clone(), &["bnxt_en"]);
    rig.reads(10, &[]);
    rig.reads(6, &[0]);
    rig.acted(1, ActionResult::Ok);
    rig.tick(20_000);
    rig.report(1, Outcome::Undone(UndoResult::Done));
    rig.reads(8, &[0]);
    let Phase::Locked(locked) = rig.phase(0) else { panic!("{:?}", rig.phase(0)) };
    assert!(locked.storm.is_some());

    let mut rig = Rig::restored(settings, &["bnxt_en"], rig.engine.durable());
    assert!(names_of(&rig.events).contains(&("healthy".into(), "locked".into())));
    assert_eq!(rig.phase(0).open_storm(), None);
    // The new run has seen nobody send: it takes the time of a pause without known demand.
    rig.reads(50, &[0]);
    let resumed =
        rig.events.iter().any(|event| matches!(event, EventKind::StormDetected { resumed: true, .. }));
    assert!(resumed && rig.phase(0).open_storm().is_some());
    rig.reads(30, &[]);
    assert!(rig.events.iter().any(|event| matches!(event, EventKind::StormEnded { .. })));
}

/// Five ports whose links flap with each change of the mask; the first two are mitigated, one after the other.
fn two_mitigated() -> Rig {
    let mut rig = Rig::new(settings(), &["mlx5_core"; 5]);
    rig.reads(10, &[]);
    for port in 0..2 {
        rig.reads(6, &[port]);
        rig.acted(port as u64 + 1, ActionResult::Unproven);
        rig.carrier(port, false);
        rig.reads(10, &[]);
        rig.carrier(port, true);
        rig.reads(5, &[]);
        assert!(matches!(rig.phase(port), Phase::Mitigated(_)), "{port}: {:?}", rig.phase(port));
    }
    rig.orders.clear();
    rig
}

fn undone(orders: &[Order]) -> Vec<u64> {
    let id = |order: &Order| match order {
        Order::Undo(undo) => Some(undo.id.0),
        Order::Do(_) => None,
    };
    orders.iter().filter_map(id).collect()
}

#[test]
fn two_links_are_not_taken_down_together_to_undo() {
    let mut rig = two_mitigated();
    let observing = Settings { mode: Mode::Observe, ..settings() };
    rig.tell(Input::Reconfigure(Box::new(observing)));
    assert_eq!(undone(&rig.orders), [1]);
    rig.pass(20);
    rig.report(1, Outcome::Undone(UndoResult::Done));
    rig.tick(20);
    assert_eq!(undone(&rig.orders), [1], "the link is about to go down");
    rig.carrier(0, false);
    rig.tick(3000);
    assert_eq!(undone(&rig.orders), [1], "the link is down");
    rig.carrier(0, true);
    assert_eq!(undone(&rig.orders), [1, 2]);
}

#[test]
fn an_undo_waits_for_another_link_a_minute_at_most_and_not_at_the_end() {
    let mut rig = two_mitigated();
    let observing = Settings { mode: Mode::Observe, ..settings() };
    rig.tell(Input::Reconfigure(Box::new(observing)));
    rig.tick(59_000);
    assert_eq!(undone(&rig.orders), [1], "the actuator hangs on the first");
    rig.tick(2000);
    assert_eq!(undone(&rig.orders), [1, 2]);

    let mut rig = two_mitigated();
    rig.tell(Input::Command(Command::Stop));
    assert_eq!(undone(&rig.orders), [1, 2]);
}

#[test]
fn no_plan_takes_a_link_down_while_the_flap_of_another_is_about_to_show() {
    let mut rig = two_mitigated();
    rig.tick(20_000);
    rig.reads(10, &[]);
    assert_eq!(undone(&rig.orders), [1]);
    rig.report(1, Outcome::Undone(UndoResult::Done));
    rig.reads(8, &[3]);
    assert_eq!(undone(&rig.orders), [1]);
    let vetoed = rig.engine.snapshot(rig.now).ports[3].vetoes.clone();
    assert_eq!(vetoed.keys().map(|veto| veto.label()).collect::<Vec<_>>(), ["other_port"]);
}

#[test]
fn a_carrier_that_goes_while_the_action_is_under_way_is_not_forgotten() {
    let mut rig = Rig::new(settings(), &["mlx5_core"; 3]);
    rig.reads(10, &[]);
    rig.reads(6, &[0]);
    rig.carrier(0, false);
    rig.pass(200);
    rig.acted(1, ActionResult::Unproven);
    let Phase::Mitigated(before) = rig.phase(0) else { panic!("{:?}", rig.phase(0)) };
    assert!(matches!(before.carrier, crate::phase::Carrier::LostByUs(_)));
    rig.reads(60, &[]);
    rig.carrier(0, true);
    let Phase::Mitigated(after) = rig.phase(0) else { panic!("{:?}", rig.phase(0)) };
    assert_eq!(after.due.since(before.due), Duration::from_secs(3), "the hold waits for the carrier");
}

#[test]
fn a_link_that_is_down_does_not_blind_its_port() {
    let mut rig = Rig::new(settings(), &["ice"]);
    rig.bind_names(0, "ice", &["rx_priority_3_xoff.nic", "tx_priority_3_xoff.nic"]);
    rig.reads(5, &[]);
    rig.carrier_at(0, false, None);
    rig.reads(5, &[]);
    assert!(!rig.events.iter().any(|event| matches!(event, EventKind::Blinded { .. })));
}

#[test]
fn frames_that_arrive_while_our_own_action_has_switched_pfc_off_are_no_xon_storm() {
    let mut rig = Rig::new(settings(), &["bnxt_en"]);
    rig.bind_names(0, "bnxt_en", &["pfc_pri3_rx_duration_us", "rx_pfc_ena_frames_pri3"]);
    // The second value stands for frames here: enough to hold the queue.
    rig.reads(5, &[]);
    let xon =
        |events: &[EventKind]| events.iter().filter(|e| matches!(e, EventKind::PauseEntered { .. })).count();
    assert_eq!(xon(&rig.events), 1);
    let pfc =
        |pfc| Input::Dcb(PortDcb { port: PortKey(0), pfc: Some(pfc), owner: DcbOwner::Host, headroom: None });
    rig.tell(pfc(PriorityMask(0)));
    rig.reads(5, &[]);
    let left = rig.events.iter().any(|event| matches!(event, EventKind::PauseLeft { .. }));
    assert!(left && xon(&rig.events) == 1);
}

/// A port in a storm whose only action of the hour has failed.
fn spent() -> Rig {
    let mut settings = settings();
    settings.rx.budget_port = 1;
    settings.rx.hold_off = Duration::from_millis(100);
    let mut rig = Rig::new(settings, &["bnxt_en"]);
    rig.reads(10, &[]);
    rig.reads(6, &[0]);
    rig.acted(1, ActionResult::Failed);
    rig
}

#[test]
fn a_port_that_is_renamed_keeps_what_it_has_spent() {
    let mut rig = spent();
    rig.reads(2, &[0]);
    rig.tell(Input::Link(PortLink {
        netdev: "other".into(),
        ..rig.engine.snapshot(rig.now).ports[0].link.clone()
    }));
    rig.reads(10, &[0]);
    assert_eq!(rig.orders.len(), 1);
}

#[test]
fn a_storm_that_waits_for_the_guard_shares_the_plan_of_another_on_its_port() {
    let mut settings = settings();
    settings.guard.iter_mut().for_each(|guard| guard.delay = Duration::from_secs(2));
    let mut rig = Rig::new(settings, &["mlx5_core"]);
    let names =
        ["rx_prio3_pause_duration", "rx_prio4_pause_duration", "tx_prio3_packets", "tx_prio4_packets"];
    rig.bind_names(0, "mlx5_core", &names);
    let port = PortKey(0);
    rig.tell(Input::Dcb(PortDcb {
        port,
        pfc: Some(PriorityMask(0b1_1000)),
        owner: DcbOwner::Host,
        headroom: None,
    }));
    let mut values = vec![0u64; 4];
    for reading in 0..100u64 {
        rig.pass(50);
        // Priority 4 is held half a second after priority 3.
        for (place, since) in [(0, 10), (1, 20)] {
            let held = reading >= since;
            values[place] += if held { 50_000 } else { 0 };
            values[place + 2] += if held { 0 } else { 1000 };
        }
        let (at, took, values) = (rig.now, Duration::from_micros(200), values.clone());
        rig.tell(Input::Reading(Reading { port, at, took, values }));
    }
    let [Order::Do(plan)] = &rig.orders[..] else { panic!("{:?}", rig.orders) };
    assert_eq!(plan.targets.len(), 2);
}

#[test]
fn a_port_of_which_nothing_is_watched_is_the_same_in_a_recording() {
    let mut rig = Rig::new(settings(), &[]);
    rig.ports.push(Counted::default());
    rig.bind_names(0, "mlx5_core", &["rx_out_of_buffer", "rx_discards_phy"]);
    assert!(!rig.engine.snapshot(rig.now).ports.is_empty());
    let mut twin = rig.engine.checkpoint();
    rig.tick(5000);
    assert_eq!(twin.next_deadline(), rig.engine.next_deadline());
    assert!(twin.handle(rig.now, &Input::Tick).is_empty());
}

#[test]
fn a_rename_that_comes_with_the_names_of_the_counters_is_told_and_keeps_what_was_spent() {
    let mut rig = spent();
    rig.tell(Input::Bound(BoundPort {
        port: PortKey(0),
        identity: PortIdentity {
            netdev: "other".into(),
            driver: "bnxt_en".into(),
            ..PortIdentity::default()
        },
        layout: Binding::new(
            for_driver("bnxt_en"),
            &["pfc_pri3_rx_duration_us".to_owned(), "tx_packets_pri3".to_owned()],
        )
        .layout()
        .to_vec(),
        refresh: Some(SourceRefresh::Every(Duration::ZERO)),
        actions: vec![ActionKind::PfcOff],
        unsupported: Vec::new(),
    }));
    assert!(rig.events.contains(&EventKind::PortRenamed { from: "eth0".into() }));
    rig.reads(20, &[0]);
    assert_eq!(rig.orders.len(), 1);
}

#[test]
fn instants_to_come_in_a_damaged_journal_do_not_count_for_ever() {
    use crate::durable::{PortName, QueueMemory, Spent};
    use crate::phase::{LockReason, Locked};
    let port = PortName { netdev: "eth0".into(), pci_address: String::new() };
    let locked = Locked { until: MonoTime::MAX, reason: LockReason::Relapses, storm: None };
    let durable = Durable {
        next_action: u64::MAX,
        spent: vec![Spent { port: port.clone(), at: MonoTime::MAX }],
        owed: Vec::new(),
        queues: vec![QueueMemory {
            port,
            queue: Queue::Priority(Priority::new(3).unwrap()),
            direction: Direction::Rx,
            mitigated: vec![MonoTime::MAX],
            locked: Some(locked),
            storm_since: Some(MonoTime::MAX),
            storm_class: None,
        }],
    };
    let mut rig = Rig::restored(settings(), &["bnxt_en"], durable);
    let lock_for = settings().rx.lock_for;
    assert!(matches!(rig.phase(0), Phase::Locked(locked) if locked.until.since(rig.now) == lock_for));
    rig.tick(lock_for.as_millis() as u64 + 1);
    assert_eq!(rig.phase(0), Phase::Healthy);
    let budget = rig.engine.snapshot(rig.now).ports[0].budget_remaining;
    assert_eq!(budget, settings().rx.budget_port);
    rig.reads(10, &[]);
    rig.reads(8, &[0]);
    assert_eq!(rig.orders.len(), 1);
}

#[test]
fn a_port_whose_link_was_down_is_not_frozen_when_it_is_back() {
    let mut rig = Rig::new(settings(), &["bnxt_en"]);
    let link = |rig: &Rig, carrier, packets| {
        let before = rig.engine.snapshot(rig.now).ports[0].link.clone();
        Input::Link(PortLink { carrier: Some(carrier), packets: Some(packets), ..before })
    };
    rig.reads(10, &[]);
    rig.tell(link(&rig, true, 1000));
    rig.tell(link(&rig, false, 1000));
    let counted = rig.ports[0];
    for _ in 0..20 {
        rig.read(&[]);
        // Nothing moves while the link is down.
        rig.ports[0] = counted;
    }
    // The news comes twice, before anything was read again.
    for packets in [1500, 2000] {
        rig.pass(5);
        rig.tell(link(&rig, true, packets));
    }
    let frozen = EventKind::Blinded { reason: crate::delta::Gap::FrozenSource };
    assert!(!rig.events.contains(&frozen));
}
