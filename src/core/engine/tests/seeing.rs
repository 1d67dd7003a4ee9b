//! What is seen, and what is not.

use super::*;
use crate::delta::Gap;
use crate::engine::refresh::RefreshMeter;
use crate::phase::Class;
use crate::settings::PortOverride;
use crate::snapshot::QueueView;

fn gaps(bench: &Bench) -> Vec<&'static str> {
    let reason = |event: &Event| match event.kind {
        EventKind::Blinded { reason } => Some(reason.label()),
        _ => None,
    };
    bench.events.iter().filter_map(reason).collect()
}

fn view(bench: &Bench) -> QueueView {
    let snapshot = bench.engine.snapshot(bench.now);
    let three = |view: &&QueueView| view.queue.label() == "3" && view.direction == Direction::Rx;
    snapshot.ports[0].queues.iter().find(three).unwrap().clone()
}

#[test]
fn a_read_that_waited_for_a_lock_for_seconds_does_not_stretch_the_pace() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    let calm = bench.engine.settings().poll.calm;
    bench.now = bench.now + Duration::from_secs(8);
    let values = bench.engine.ports[&PORT].ledger.layout().iter().map(|_| 1_000_000).collect();
    let took = Duration::from_secs(8);
    bench.tell(Input::Reading(Reading { port: PORT, at: bench.now, took, values }));
    assert_eq!(bench.engine.ports[&PORT].pacing.interval(), calm);
}

#[test]
fn reads_that_are_always_slow_are_made_less_often() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    for _ in 0..40 {
        bench.now = bench.now + STEP;
        let values = bench.engine.ports[&PORT].ledger.layout().iter().map(|_| 1_000_000).collect();
        let took = Duration::from_millis(45);
        bench.tell(Input::Reading(Reading { port: PORT, at: bench.now, took, values }));
    }
    // 45 ms are 5 % of 900 ms; a sixteenth less is not worth telling.
    let interval = bench.engine.ports[&PORT].pacing.interval();
    assert!((840..=900).contains(&interval.as_millis()), "{interval:?}");
}

#[test]
fn an_unbroken_pause_with_demand_is_a_storm_after_the_share_of_detect() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(3, STUCK);
    assert_eq!(bench.phase(), "suspect");
    bench.run(1, STUCK);
    assert_eq!(bench.phase(), "storm", "200 ms of pause, the first reading began with it");
    assert_eq!(bench.count("storm_detected"), 1);
}

#[test]
fn a_storm_shorter_than_its_share_of_detect_is_ignored() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(3, STUCK);
    bench.read(Does { paused_us: 39_000, packets: 0 });
    bench.run(20, BUSY);
    assert_eq!(bench.count("storm_detected"), 0);
}

#[test]
fn one_long_reading_is_no_storm_without_pause_in_the_reading_before() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.now = bench.now + Duration::from_millis(950);
    bench.read(Does { paused_us: 990_000, packets: 0 });
    assert_eq!(bench.phase(), "suspect");
    bench.read(STUCK);
    assert_eq!(bench.phase(), "storm");
}

#[test]
fn a_storm_ends_after_the_restore_time_without_a_blocked_reading() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(10, STUCK);
    bench.run(19, BUSY);
    assert_eq!(bench.phase(), "storm");
    bench.run(1, BUSY);
    assert_eq!(bench.phase(), "healthy");
    let ended = bench.events.iter().find_map(|event| match event.kind {
        EventKind::StormEnded { lasted, .. } => Some(lasted),
        _ => None,
    });
    assert_eq!(ended, Some(Duration::from_millis(1500)));
}

#[test]
fn xoff_that_turns_into_xon_ends_the_storm_although_frames_go_on() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(10, STUCK);
    for _ in 0..30 {
        bench.add("rx_prio3_pause", 500);
        bench.read(IDLE);
    }
    assert_eq!(bench.phase(), "healthy");
    let xon = bench
        .events
        .iter()
        .any(|event| matches!(event.kind, EventKind::PauseEntered { class: Class::XonStorm, .. }));
    assert!(xon, "frames that hold the queue without pause time are told");
}

#[test]
fn a_pause_without_demand_is_told_as_a_storm_later_and_never_acted_on() {
    let mut bench = Bench::new("mlx5_core", acting(&[ActionKind::PfcOff]));
    bench.run(220, IDLE);
    bench.run(39, STUCK);
    assert_eq!((bench.phase(), view(&bench).demand_unknown), ("suspect", true));
    bench.run(3, STUCK);
    assert_eq!(bench.phase(), "storm");
    assert_eq!(bench.vetoes(), ["demand_unknown"]);
    assert!(bench.orders.is_empty());
}

#[test]
fn gaps_through_which_packets_escape_make_a_pause_choppy_and_no_storm() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    for _ in 0..40 {
        bench.read(Does { paused_us: 45_000, packets: 10 });
    }
    assert_eq!(bench.phase(), "healthy");
    assert!(view(&bench).milder.choppy);
    bench.run(20, BUSY);
    assert!(!view(&bench).milder.choppy);
    assert_eq!(bench.count("storm_detected"), 0);
}

#[test]
fn the_tail_of_a_storm_is_not_choppy() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(20, STUCK);
    bench.run(40, BUSY);
    assert_eq!(
        bench.engine.snapshot(bench.now).ports[0].queues.iter().map(|q| q.accounts.choppy).sum::<u64>(),
        0
    );
}

#[test]
fn chronic_pause_far_below_a_storm_is_throttled_by_the_window_it_fills() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    // 15 % of the time, as a slow receiver does it.
    bench.run(1300, Does { paused_us: 7_500, packets: 900 });
    assert_eq!(view(&bench).milder.throttled, [false, false, true]);
    bench.run(1300, BUSY);
    assert_eq!(view(&bench).milder.throttled, [false; 3]);
    assert_eq!(bench.count("storm_detected"), 0);
}

#[test]
fn sent_pause_needs_no_demand() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(220, IDLE);
    for _ in 0..5 {
        bench.add("tx_prio3_pause_duration", 50_000);
        bench.read(IDLE);
    }
    assert_eq!(bench.queue(Direction::Tx).phase.label(), "storm");
}

#[test]
fn a_first_reading_says_nothing_and_is_not_told() {
    let bench = Bench::new("mlx5_core", Settings::default());
    assert!(gaps(&bench).is_empty());
    assert!(view(&bench).armed);
    assert_eq!(Gap::ALL.len(), 8, "each reason has a test here or in delta");
}

#[test]
fn a_reset_is_a_new_beginning_and_no_storm() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.values.iter_mut().for_each(|value| *value = 0);
    bench.run(5, BUSY);
    assert_eq!(gaps(&bench), ["reset"]);
    assert_eq!(bench.count("storm_detected"), 0);
    assert!(view(&bench).armed, "it sees again");
    assert!(bench.engine.ports[&PORT].accounts.resets > 0);
}

#[test]
fn pause_that_grows_faster_than_time_is_implausible() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.read(Does { paused_us: 10_000_000, packets: 0 });
    assert_eq!(gaps(&bench), ["implausible_jump"]);
    bench.run(10, BUSY);
    assert_eq!(bench.count("storm_detected"), 0);
    assert_eq!(bench.engine.ports[&PORT].accounts.implausible, 1);
}

#[test]
fn a_name_that_is_gone_is_missing_and_not_zero() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    let place = bench.names.iter().position(|name| name == "rx_prio3_pause_duration").unwrap();
    for place in [place, place - 1] {
        bench.names.remove(place);
        bench.values.remove(place);
    }
    bench.bind("mlx5_core");
    bench.run(2, BUSY);
    assert_eq!(gaps(&bench), ["missing_name"]);
    assert!(!view(&bench).armed);
}

#[test]
fn names_that_shift_keep_the_history_of_each_counter() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(2, STUCK);
    bench.names.rotate_left(5);
    bench.values.rotate_left(5);
    bench.bind("mlx5_core");
    bench.run(2, STUCK);
    assert_eq!(bench.phase(), "storm", "the pause went on through the new order of names");
    assert!(gaps(&bench).is_empty());
}

#[test]
fn a_port_that_is_not_read_is_blind_after_twice_detect() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.wait(Duration::from_millis(501));
    assert_eq!(gaps(&bench), ["no_reading"]);
    assert!(!view(&bench).armed);
    bench.run(1, BUSY);
    assert_eq!(bench.count("sighted"), 1);
}

#[test]
fn readings_a_minute_apart_are_not_compared() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.wait(Duration::from_secs(61));
    bench.run(1, STUCK);
    assert_eq!(gaps(&bench), ["no_reading", "clock_gap"]);
}

#[test]
fn a_source_that_stands_still_while_its_interface_carries_packets_is_frozen() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    let mut link = bench.link(Some(true));
    for second in 1..=4 {
        bench.run(20, IDLE);
        link.packets = Some(second * 10_000);
        bench.tell(Input::Link(link.clone()));
    }
    assert_eq!(gaps(&bench), ["frozen_source"]);
    bench.run(1, BUSY);
    assert!(view(&bench).armed);
}

#[test]
fn an_idle_port_is_not_frozen() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    let mut link = bench.link(Some(true));
    link.packets = Some(10_000);
    for _ in 0..10 {
        bench.run(20, IDLE);
        bench.tell(Input::Link(link.clone()));
    }
    assert!(gaps(&bench).is_empty());
    assert!(view(&bench).armed);
}

#[test]
fn a_port_without_carrier_is_suspended_and_begins_afresh() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(10, STUCK);
    bench.tell(Input::Link(bench.link(Some(false))));
    assert_eq!(bench.phase(), "suspended");
    bench.run(10, STUCK);
    assert_eq!(bench.count("storm_detected"), 1, "a port that is down has no storm");
    bench.tell(Input::Link(bench.link(Some(true))));
    bench.run(3, STUCK);
    assert_eq!(bench.phase(), "suspect", "what was counted while it was down does not count");
}

#[test]
fn a_priority_whose_pfc_is_switched_off_ends_its_storm() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(10, STUCK);
    bench.tell(Input::Dcb(PortDcb {
        port: PORT,
        pfc: Some(PriorityMask(0)),
        owner: DcbOwner::Host,
        headroom: None,
    }));
    assert_eq!(bench.phase(), "suspended");
    assert!(!view(&bench).watched);
}

#[test]
fn a_mask_that_cannot_be_read_means_that_every_counted_priority_is_watched() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.tell(Input::Dcb(PortDcb { port: PORT, pfc: None, owner: DcbOwner::Host, headroom: None }));
    bench.run(2, BUSY);
    assert!(view(&bench).watched);
}

#[test]
fn frames_alone_make_an_estimate_that_alerts_and_never_acts() {
    let mut settings = acting(&[ActionKind::PfcOff]);
    settings.disruption_max = Disruption::Device;
    let mut bench = Bench::new("ice", settings);
    bench.names =
        (0..8).map(|prio| format!("rx_priority_{prio}_xoff.nic")).chain(["rx_bytes.nic".into()]).collect();
    bench.values = vec![10; 9];
    bench.bind("ice");
    bench.tell(Input::Dcb(PortDcb { port: PORT, pfc: None, owner: DcbOwner::Host, headroom: None }));
    bench.run(2, IDLE);
    for _ in 0..60 {
        // Priorities 3 and 4 share a traffic class: the NIC counts them in unison. 400 frames hold 50 ms at 100G.
        bench.add("rx_priority_3_xoff.nic", 400);
        bench.add("rx_priority_4_xoff.nic", 400);
        bench.read(IDLE);
    }
    assert_eq!(bench.count("storm_detected"), 1, "one storm of the class, not one per priority");
    assert_eq!(bench.vetoes(), ["estimated"]);
    assert!(bench.orders.is_empty());
    assert!(bench.engine.snapshot(bench.now).ports[0].estimated);
}

#[test]
fn a_pause_time_that_is_only_an_upper_bound_alerts_and_never_acts() {
    for (driver, time, packets) in [
        ("mlx4_en", "rx_pause_duration_prio_3", "tx_prio_3_packets"),
        ("ionic", "rx_pripause_3_1us_count", "frames_tx_pri_3"),
    ] {
        let mut settings = acting(&[ActionKind::LinkBounce]);
        settings.disruption_max = Disruption::Device;
        let mut bench = Bench::new(driver, settings);
        bench.names = [time, packets].map(Into::into).into();
        bench.values = vec![10; 2];
        bench.bind(driver);
        for _ in 0..20 {
            bench.add(packets, 1000);
            bench.read(IDLE);
        }
        for _ in 0..20 {
            bench.add(time, STUCK.paused_us);
            bench.read(IDLE);
        }
        assert_eq!(bench.count("storm_detected"), 1, "{driver}");
        assert_eq!(bench.vetoes(), ["estimated"], "{driver}");
        assert!(bench.orders.is_empty() && bench.engine.snapshot(bench.now).ports[0].estimated, "{driver}");
    }
}

#[test]
fn a_device_that_goes_closes_its_storm_and_takes_everything_along() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(10, STUCK);
    bench.tell(Input::Gone(PORT));
    assert_eq!((bench.count("storm_ended"), bench.count("port_removed")), (1, 1));
    assert!(bench.engine.snapshot(bench.now).ports.is_empty());
}

#[test]
fn mode_off_neither_detects_nor_counts() {
    let mut bench = Bench::new("mlx5_core", Settings { mode: Mode::Off, ..Settings::default() });
    bench.run(20, STUCK);
    assert_eq!((bench.phase(), view(&bench).armed, view(&bench).storms), ("healthy", false, 0));
}

#[test]
fn a_port_whose_own_detect_is_too_short_for_its_source_is_not_armed_and_finds_nothing() {
    let mut settings = Settings::default();
    settings.ports.push(PortOverride {
        select: "eth0".into(),
        rx: settings.rx.clone(),
        tx: settings.tx.clone(),
        detect_explicit: true,
    });
    let mut bench = Bench::new("mlx5_core", settings);
    let port = bench.engine.ports.get_mut(&PORT).unwrap();
    port.meter = RefreshMeter::default();
    port.refresh_told = Some(SourceRefresh::Every(Duration::from_secs(1)));
    let settings = bench.engine.settings().clone();
    bench.tell(Input::Reconfigure(Box::new(settings)));
    assert_eq!(bench.count("not_armed"), 1);
    for _ in 0..5 {
        bench.read(Does { paused_us: 1_000_000, packets: 0 });
        for _ in 1..20 {
            bench.now = bench.now + STEP;
            bench.read_as_is();
        }
    }
    assert!(!view(&bench).armed);
    assert_eq!((bench.count("storm_detected"), bench.phase()), (0, "healthy"));
}

#[test]
fn a_source_that_says_it_never_refreshes_is_not_armed_until_it_is_seen_to_change() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    let port = bench.engine.ports.get_mut(&PORT).unwrap();
    port.meter = RefreshMeter::default();
    port.refresh_told = Some(SourceRefresh::Never);
    for _ in 0..20 {
        bench.now = bench.now + STEP;
        bench.read_as_is();
    }
    assert!(!view(&bench).armed);
    let reason = |bench: &Bench| bench.engine.snapshot(bench.now).ports[0].blind;
    assert_eq!((reason(&bench), bench.count("blinded")), (Some(Gap::NeverRefreshed), 1));
    // A setting that the hardware does not heed: what moves is believed.
    bench.run(4, BUSY);
    assert!(view(&bench).armed);
    assert_eq!((reason(&bench), bench.count("sighted")), (None, 1));
}

#[test]
fn a_failure_that_repeats_is_told_once_and_its_end_with_the_number() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    for _ in 0..5 {
        let error = "eth0: timed out".to_owned();
        bench.tell(Input::ReadFailed(crate::input::ReadFailed { port: PORT, error }));
    }
    bench.run(1, BUSY);
    assert_eq!(bench.count("read_failed"), 1);
    assert!(bench.events.iter().any(|event| matches!(event.kind, EventKind::ReadRecovered { failures: 5 })));
}

#[test]
fn a_reading_of_another_length_is_a_failure_and_no_panic() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.tell(Input::Reading(Reading { port: PORT, at: bench.now, took: TOOK, values: vec![1, 2, 3] }));
    assert_eq!(bench.count("read_failed"), 1);
}

#[test]
fn events_are_numbered_without_gaps() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.run(10, STUCK);
    bench.run(40, BUSY);
    assert!(bench.events.iter().map(|event| event.seq).eq(1..=bench.events.len() as u64));
}

#[test]
fn the_page_shows_the_counters_in_base_units() {
    let mut bench = Bench::new("mlx5_core", Settings::default());
    bench.read(STUCK);
    let snapshot = bench.engine.snapshot(bench.now);
    let three = Queue::Priority(crate::units::Priority::ALL[3]);
    let paused = snapshot.ports[0].counter(crate::catalog::Counter::PfcRxPauseTime, Some(three));
    assert_eq!(paused, Some((1_000_000 + 50_000) * 1000), "microseconds of the NIC, held in nanoseconds");
}

#[test]
fn the_bound_of_detection_counts_the_wait_for_demand_and_is_absent_where_nothing_is_armed() {
    let bound = |bench: &Bench| bench.engine.snapshot(bench.now).ports[0].detect_bound;
    let ms = |millis| Some(Duration::from_millis(millis) + TOOK);
    let mut bench = Bench::new("mlx5_core", Settings::default());
    // The calm and the fast interval, and either 95 % of detect or the wait for a pause that nobody may mind.
    assert_eq!(bound(&bench), ms(190 + 250 + 50));
    bench.run(220, IDLE);
    assert_eq!(bound(&bench), ms(2000 + 250 + 50));
    bench.run(1, BUSY);
    assert_eq!(bound(&bench), ms(190 + 250 + 50));

    bench.wait(Duration::from_millis(600));
    assert_eq!(bound(&bench), None, "blind");
    bench.run(2, BUSY);
    assert!(bound(&bench).is_some());
    bench.tell(Input::Link(bench.link(Some(false))));
    assert_eq!(bound(&bench), None, "no carrier");
    bench.tell(Input::Link(bench.link(Some(true))));
    bench.run(2, BUSY);
    bench.tell(Input::Dcb(PortDcb {
        port: PORT,
        pfc: Some(PriorityMask(0)),
        owner: DcbOwner::Host,
        headroom: None,
    }));
    assert_eq!(bound(&bench), None, "PFC is off");
    let bench = Bench::new("mlx5_core", Settings { mode: Mode::Off, ..Settings::default() });
    assert_eq!(bound(&bench), None, "nothing is detected at all");
}
