use std::time::Duration;

use super::*;
use crate::action::Op;
use crate::binding::Binding;
use crate::sim::peer::{Pattern, Spell};
use crate::sim::scenario::Names;

const THREE: Priority = Priority::ALL[3];
const QUEUE: Queue = Queue::Priority(THREE);

fn ms(millis: u64) -> MonoTime {
    MonoTime::from_millis(millis)
}

/// A port of `driver` that is paused on priority 3 from 10 s to 20 s.
fn paused(spec: &PortSpec, direction: Direction) -> Nic {
    let mut scripts: [[Script; 2]; Queue::COUNT] = Default::default();
    let spell = Spell { from: ms(10_000), until: ms(20_000), pattern: Pattern::Unbroken };
    scripts[QUEUE.index()][direction.index()] = Script::new(vec![spell]);
    Nic::new(spec, scripts, ms(0), Random::new(1))
}

fn live_bnxt() -> PortSpec {
    PortSpec { refresh: Some(Duration::ZERO), ..PortSpec::of("bnxt_en") }
}

fn value(nic: &mut Nic, name: &str, at: MonoTime) -> u64 {
    let place = nic.names().iter().position(|known| known == name).unwrap();
    nic.values_at(at)[place]
}

fn grown(nic: &mut Nic, name: &str, from: u64, until: u64) -> u64 {
    let before = value(nic, name, ms(from));
    value(nic, name, ms(until)).wrapping_sub(before)
}

#[test]
fn every_name_of_the_table_is_there_while_pfc_and_pause_are_on() {
    for driver in drivers::ALL.iter().map(|driver| driver.name) {
        let spec = PortSpec {
            pfc: PriorityMask(0xff),
            pause: PauseConfig { rx: true, tx: true },
            ..PortSpec::of(driver)
        };
        let nic = paused(&spec, Direction::Rx);
        let binding = Binding::new(nic.driver(), nic.names());
        assert_eq!(binding.missing(), [], "{driver}");
        assert_eq!(binding.unmapped().len(), 3, "{driver}");
    }
}

#[test]
fn a_paused_priority_sends_nothing_and_counts_microseconds() {
    let mut nic = paused(&PortSpec::default(), Direction::Rx);
    assert_eq!(grown(&mut nic, "tx_prio3_packets", 0, 1000), 700_000);
    assert_eq!(grown(&mut nic, "rx_prio3_pause_duration", 10_000, 12_000), 2_000_000);
    assert_eq!(grown(&mut nic, "tx_prio3_packets", 12_000, 14_000), 0);
    assert_eq!(grown(&mut nic, "rx_prio3_packets", 14_000, 15_000), 800_000);
    assert_eq!(grown(&mut nic, "rx_prio3_pause_transition", 15_000, 21_000), 1);
}

#[test]
fn mlx5_flaps_and_its_pause_names_vanish_with_the_bit() {
    let mut nic = paused(&PortSpec::default(), Direction::Rx);
    let revision = nic.names_revision();
    nic.apply(&Op::PfcDisable(PriorityMask::of(THREE)), ms(11_000)).unwrap();
    assert!(!nic.has_carrier() && nic.names_revision() > revision);
    assert!(!nic.names().iter().any(|name| name.contains("prio3_pause")));
    let back = nic.carrier_back().unwrap();
    assert!(back >= ms(13_000) && back <= ms(16_000));
    let before = value(&mut nic, "tx_prio3_packets", back);
    assert_eq!(value(&mut nic, "tx_prio3_packets", back + Duration::from_secs(1)) - before, 700_000);
    assert!(nic.has_carrier());
}

#[test]
fn bnxt_keeps_link_and_names_and_counts_no_time_with_the_bit_off() {
    let mut nic = paused(&live_bnxt(), Direction::Rx);
    nic.apply(&Op::PfcDisable(PriorityMask::of(THREE)), ms(11_000)).unwrap();
    assert!(nic.has_carrier());
    assert_eq!(grown(&mut nic, "pfc_pri3_rx_duration_us", 11_000, 12_000), 0);
    assert!(grown(&mut nic, "rx_pfc_ena_frames_pri3", 12_000, 13_000) > 0);
    assert_eq!(grown(&mut nic, "tx_packets_pri3", 13_000, 14_000), 700_000);
}

#[test]
fn a_block_changes_once_a_second_and_never_within() {
    let mut nic = paused(&PortSpec::of("bnxt_en"), Direction::Rx);
    let values = (0..100).map(|n| nic.values_at(ms(5000 + n * 50))).collect::<Vec<_>>();
    let changes = values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((4..=5).contains(&changes), "{changes}");
}

#[test]
fn an_operation_that_is_useless_reads_back_and_holds_the_queue() {
    let mut nic = paused(&live_bnxt(), Direction::Rx);
    nic.mood = ActMood::Useless;
    nic.apply(&Op::PfcDisable(PriorityMask::of(THREE)), ms(11_000)).unwrap();
    assert!(!nic.config().pfc.unwrap().contains(THREE));
    assert_eq!(grown(&mut nic, "pfc_pri3_rx_duration_us", 11_000, 12_000), 1_000_000);
    nic.mood = ActMood::Ignore;
    nic.apply(&Op::PfcEnable(PriorityMask::of(THREE)), ms(12_000)).unwrap();
    assert!(!nic.config().pfc.unwrap().contains(THREE));
    nic.mood = ActMood::Fail;
    assert!(nic.apply(&Op::PfcEnable(PriorityMask::of(THREE)), ms(12_000)).is_err());
}

#[test]
fn a_prevention_timeout_breaks_sent_pause_off() {
    let spec = PortSpec { prevention_timeout_ms: Some(0), ..PortSpec::default() };
    let mut nic = paused(&spec, Direction::Tx);
    assert_eq!(grown(&mut nic, "tx_prio3_pause_duration", 9_000, 11_000), 1_000_000);
    nic.apply(&Op::PreventionTimeout(100), ms(11_000)).unwrap();
    assert_eq!(grown(&mut nic, "tx_prio3_pause_duration", 11_000, 19_000), 100_000);
    assert!(nic.apply(&Op::PreventionTimeout(50), ms(19_000)).is_err(), "below what the NIC takes");
    let mut without = paused(&live_bnxt(), Direction::Tx);
    assert!(without.apply(&Op::PreventionTimeout(100), ms(11_000)).is_err());
}

#[test]
fn a_narrow_counter_wraps_within_its_32_bits() {
    let spec = PortSpec { counters: Counters::Narrow, names: Names::Watched, ..live_bnxt() };
    let mut nic = paused(&spec, Direction::Rx);
    let all = (0..20).map(|second| value(&mut nic, "tx_packets_pri3", ms(second * 1000))).collect::<Vec<_>>();
    assert!(all.iter().all(|value| *value <= u64::from(u32::MAX)));
    assert_eq!(all.windows(2).filter(|pair| pair[1] < pair[0]).count(), 1);
}

#[test]
fn a_traffic_class_counts_in_unison() {
    let spec = PortSpec { pfc: PriorityMask(0b1_1000), ..PortSpec::of("ice") };
    let mut nic = paused(&spec, Direction::Rx);
    let names = [3, 4, 5].map(|priority| format!("rx_priority_{priority}_xoff.nic"));
    let before = names.each_ref().map(|name| value(&mut nic, name, ms(10_000)));
    let after = names.each_ref().map(|name| value(&mut nic, name, ms(11_000)));
    assert!(after[0] > before[0]);
    assert_eq!(after[1] - before[1], after[0] - before[0]);
    assert_eq!(after[2], before[2]);
}

#[test]
fn priorities_that_share_a_queue_show_one_number() {
    let spec = PortSpec { shared: PriorityMask(0b1001), ..live_bnxt() };
    let mut nic = paused(&spec, Direction::Rx);
    let all = grown(&mut nic, "tx_packets_pri3", 0, 1000);
    assert_eq!(all, 700_700);
    assert_eq!(grown(&mut nic, "tx_packets_pri0", 1000, 2000), all);
}

#[test]
fn counters_can_be_reset_jump_glitch_and_freeze() {
    let mut nic = paused(&live_bnxt(), Direction::Rx);
    let name = "tx_packets_pri3";
    nic.reset_counters(ms(1000));
    assert_eq!(value(&mut nic, name, ms(2000)), 700_000);
    nic.jump_counters(ms(2000));
    assert!(value(&mut nic, name, ms(3000)) > 1 << 44);
    nic.glitch_once();
    assert_eq!(value(&mut nic, name, ms(3100)), 0);
    assert!(value(&mut nic, name, ms(3200)) > 1 << 44);
    nic.freeze(ms(4000));
    let packets = nic.packets();
    assert_eq!(grown(&mut nic, name, 4000, 6000), 0);
    assert!(nic.packets() > packets, "the interface's own statistics go on");
    nic.thaw();
    assert_eq!(grown(&mut nic, name, 6000, 7000), 700_000);
}

#[test]
fn it_never_goes_back() {
    let mut nic = paused(&PortSpec::default(), Direction::Rx);
    let late = nic.values_at(ms(5000));
    assert_eq!(nic.values_at(ms(1000)), late);
}
