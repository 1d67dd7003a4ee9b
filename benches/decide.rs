//! What deciding costs: a year of one queue, and a day of a whole port. `cargo bench --bench decide`.
//!
//! Both run in virtual time on one core. The run fails if a step of the year costs more than `STEP_MAX` steps of a plain
//! random number generator on the same core in the same run: a bound that a slow machine keeps as well as a fast one. What
//! else the machine does meanwhile is not counted.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use rocewatch_core::action::ActionKind;
use rocewatch_core::binding::Binding;
use rocewatch_core::delta::{Change, Tracker};
use rocewatch_core::drivers::{self, Overflow, Width};
use rocewatch_core::engine::Engine;
use rocewatch_core::evidence::{Demand, Evidence, Quality, Sample, Track, Windows};
use rocewatch_core::ids::{PortIdentity, PortKey};
use rocewatch_core::input::{BoundPort, Effect, Input, PortLink, Reading};
use rocewatch_core::phase::{Class, Phase};
use rocewatch_core::settings::{Rule, Settings};
use rocewatch_core::trigger::{Onset, Terms, Trigger};
use rocewatch_core::units::{Direction, MonoTime};
use rocewatch_core::watchdog::step;
use rustix::time::{ClockId, clock_gettime};

const STEP: Duration = Duration::from_millis(100);
const STEPS_PER_YEAR: u64 = 86_400 * 10 * 365;
/// A step costs some 11 of the generator's where this was written.
const STEP_MAX: f64 = 16.0;

/// What this process has used of its cores so far.
fn core_time() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

/// What as many steps of a generator cost (splitmix64): each waits for the one before, nothing else is waited for.
fn year_of_random_numbers() -> Duration {
    let (mut state, began) = (0u64, core_time());
    for _ in 0..STEPS_PER_YEAR {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
    }
    black_box(state);
    core_time() - began
}

/// Pause of the n-th reading, µs: a storm of two seconds every hour, a little pause every other second.
const fn pause_us(n: u64) -> u64 {
    if n % 36_000 < 20 {
        100_000
    } else if n % 20 == 7 {
        3_000
    } else {
        0
    }
}

fn trigger(evidence: &Evidence, now: MonoTime) -> Trigger {
    let found = evidence.unbroken && evidence.demand == Demand::Known;
    let onset = Onset { since: evidence.onset.unwrap_or(now), class: Class::Blocked };
    if evidence.blocked { Trigger::Blocked(found.then_some(onset)) } else { Trigger::Clear }
}

fn year_of_a_queue() -> (Duration, u64) {
    let rule = Rule::default();
    let windows = Windows::new(&rule, rule.detect, Direction::Rx);
    let mut trackers = [Tracker::default(); 3];
    let mut track = Track::default();
    let mut phase = Phase::Healthy;
    let (mut raw, mut decisions, mut now) = ([0u64; 3], 0, MonoTime::from_millis(1000));
    track.restart(now);
    let began = core_time();
    for n in 0..STEPS_PER_YEAR {
        now = now + STEP;
        let pause = pause_us(n);
        raw = [raw[0] + pause, raw[1] + pause / 300, raw[2] + if pause > 50_000 { 0 } else { 9_000 }];
        let mut changes = [Change::By(0); 3];
        for ((change, tracker), raw) in changes.iter_mut().zip(&mut trackers).zip(black_box(raw)) {
            *change = tracker.advance(raw, Width::W64, Overflow::None, 1_000_000);
        }
        let [Change::By(pause), Change::By(frames), Change::By(packets)] = changes else { continue };
        let sample = Sample {
            at: now,
            pause_ns: pause * 1000,
            frames: Some(frames),
            packets: Some(packets),
            quality: Quality::Measured,
            frames_to_hold: Some(298),
        };
        let evidence = track.observe(&sample, &windows);
        let terms = Terms {
            now,
            restore: rule.restore,
            blind_max: rule.detect * 2,
            hold: rule.hold,
            hold_max: rule.hold_max,
            lock_for: rule.lock_for,
            lock_due: false,
        };
        let (after, decision) = step(phase, trigger(&evidence, now), &terms);
        phase = after;
        decisions += u64::from(decision.is_some());
    }
    (core_time() - began, decisions / 2)
}

fn names() -> Vec<String> {
    let mut names = Vec::new();
    for prio in 0..8 {
        for direction in ["rx", "tx"] {
            for what in ["bytes", "packets", "pause", "pause_duration"] {
                names.push(format!("{direction}_prio{prio}_{what}"));
            }
        }
    }
    names.extend(["rx_packets_phy", "tx_packets_phy", "rx_bytes_phy", "tx_bytes_phy"].map(str::to_owned));
    names
}

const PORT: PortKey = PortKey(0);

fn engine_with_a_port(binding: &Binding, now: MonoTime) -> Engine {
    let mut engine = Engine::new(Settings::default());
    let identity =
        PortIdentity { netdev: "eth0".into(), driver: "mlx5_core".into(), ..PortIdentity::default() };
    let layout = binding.layout().to_vec();
    let actions = vec![ActionKind::Alert];
    engine.handle(
        now,
        &Input::Bound(BoundPort {
            port: PORT,
            identity,
            layout,
            refresh: None,
            actions,
            unsupported: Vec::new(),
        }),
    );
    let link = PortLink {
        port: PORT,
        netdev: "eth0".into(),
        carrier: Some(true),
        speed_mbps: Some(100_000),
        mtu: None,
        bond: None,
        carrier_changes: None,
        packets: None,
    };
    engine.handle(now, &Input::Link(link));
    engine
}

/// A day of a port with storms as above on priority 3, at the pace the engine asks for.
fn day_of_a_port() -> (Duration, u64) {
    let names = names();
    let binding = Binding::new(drivers::for_driver("mlx5_core"), &names);
    let mut now = MonoTime::from_millis(1000);
    let mut engine = engine_with_a_port(&binding, now);
    let place = |wanted: &str| names.iter().position(|name| name == wanted);
    let (paused, sent) = (place("rx_prio3_pause_duration"), place("tx_prio3_packets"));
    let mut raw = vec![1_000_000u64; names.len()];
    let (mut interval, mut readings) = (Duration::from_millis(250), 0);
    let end = now + Duration::from_secs(86_400);
    let began = core_time();
    while now < end {
        now = now + interval;
        let micros = interval.as_micros() as u64;
        let storm = now.as_nanos() / 1_000_000_000 % 3600 < 2;
        for (place, value) in raw.iter_mut().enumerate() {
            *value += match Some(place) {
                place if place == paused => micros * u64::from(storm),
                place if place == sent => 10_000 * u64::from(!storm),
                _ => 10,
            };
        }
        let mut values = Vec::new();
        if binding.pick(&raw, &mut values).is_err() {
            continue;
        }
        let reading = Reading { port: PORT, at: now, took: Duration::from_micros(600), values };
        for effect in engine.handle(now, &Input::Reading(reading)) {
            if let Effect::Pace(_, told) = effect {
                interval = told;
            }
        }
        readings += 1;
    }
    black_box(engine.snapshot(now));
    (core_time() - began, readings)
}

fn main() -> ExitCode {
    let (year, storms) = year_of_a_queue();
    println!(
        "a year of one queue at 100 ms: {STEPS_PER_YEAR} steps, {storms} storms, {:.2} s, {:.1} ns a step",
        year.as_secs_f64(),
        year.as_secs_f64() * 1e9 / STEPS_PER_YEAR as f64
    );
    let (day, readings) = day_of_a_port();
    println!(
        "a day of one port, whole engine: {readings} readings, {:.2} s, {:.2} us a reading",
        day.as_secs_f64(),
        day.as_secs_f64() * 1e6 / readings as f64
    );
    let steps = year.as_secs_f64() / year_of_random_numbers().as_secs_f64();
    println!(
        "a step of one queue costs {steps:.1} steps of a random number generator, at most {STEP_MAX:.0}"
    );
    if steps > STEP_MAX {
        eprintln!("a step of one queue costs too much");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
