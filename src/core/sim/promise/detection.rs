//! Trials with one port: when a storm is found, and that nothing else is.

use std::time::Duration;

use super::probe::Probe;
use super::{Row, Sample, summed};
use crate::action::ActionKind;
use crate::ids::PortKey;
use crate::phase::EndReason;
use crate::settings::{Mode, Settings};
use crate::sim::faults::{PollFaults, Trouble, What, permille};
use crate::sim::judge::Rule;
use crate::sim::peer::Pattern;
use crate::sim::random::Random;
use crate::sim::scenario::{Load, Names, PauseSpec, PortSpec, Scenario, Told};
use crate::sim::world::World;
use crate::units::{MonoTime, Priority, Queue, nanos};

/// A storm that is not found within this is missed.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bursts in one world; the next world has another jitter and another phase.
const BURSTS_PER_WORLD: u64 = 100;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn three() -> Queue {
    Priority::new(3).map_or(Queue::Global, Queue::Priority)
}

/// Readings as they come on a busy machine: 2 to 30 % of jitter, some lost, some late.
fn rough(random: &mut Random) -> PollFaults {
    PollFaults {
        jitter: permille(random.between(20, 300) as u16),
        lost: permille(20),
        late: permille(50),
        late_max: ms(200),
        ..PollFaults::default()
    }
}

/// Readings on time, as on an idle machine.
fn punctual(_: &mut Random) -> PollFaults {
    PollFaults { jitter: permille(0), ..PollFaults::default() }
}

/// One live port with one lossless priority in use, and only the counters that decide.
fn one_port(random: &mut Random) -> Scenario {
    let load = vec![Load { priority: 3, rx: 500_000, tx: 500_000 }];
    let spec = PortSpec { names: Names::Watched, load, ..PortSpec::of("mlx5_core") };
    Scenario {
        ports: vec![spec],
        poll: rough(random),
        lasts: Duration::from_secs(600),
        ..Scenario::default()
    }
}

fn pause(pattern: Pattern, start: Duration, length: Duration) -> PauseSpec {
    PauseSpec::rx(three(), pattern, start, length)
}

/// Runs until `until` says so, or for `patience` after `from`.
fn watch(
    scenario: Scenario,
    seed: u64,
    from: Duration,
    patience: Duration,
    until: fn(&Probe) -> bool,
) -> Probe {
    let end = scenario.start() + from + patience;
    let mut world = World::new(scenario, seed).unjudged();
    let mut probe = Probe::default();
    while world.now() < end && !until(&probe) {
        world.advance(world.now() + ms(100), &mut |at, input, effects| probe.note(at, input, effects));
    }
    let detect = world.engine().and_then(|engine| engine.detect(PortKey(0)));
    probe.detect = detect.unwrap_or_default();
    probe
}

/// How long the first storm took to be found, and its bounds from what was measured.
fn judged(probe: &Probe, onset: MonoTime, settings: &Settings) -> Sample {
    let (Some((found, decision)), Some(shows)) = (probe.found.first().copied(), probe.shows(onset)) else {
        return Sample::Missed;
    };
    let lower = Duration::from_nanos(settings.rx.share.share_of(nanos(probe.detect)));
    let upper = lower + probe.span_before(shows) + probe.span_before(decision) + probe.reads[decision].took;
    if found < onset {
        return Sample::False;
    }
    Sample::Took { latency: found.since(onset), lower, upper }
}

/// Storms that begin on a port that is read at leisure.
pub(super) fn from_calm(trials: u64, random: &mut Random) -> Row {
    let promise = "found after share × detect, within the readings of onset and decision and one read";
    calm(Row::new("storm from calm", promise), trials, random, rough)
}

/// The same with readings on time: the bounds that follow from the settings.
pub(super) fn from_calm_on_time(trials: u64, random: &mut Random) -> Row {
    calm(
        Row::new("storm from calm, read on time", "found within 190 to 490 ms and one read"),
        trials,
        random,
        punctual,
    )
}

fn calm(row: Row, trials: u64, random: &mut Random, poll: fn(&mut Random) -> PollFaults) -> Row {
    let samples = (0..trials).map(|_| {
        let mut scenario = one_port(random);
        scenario.poll = poll(random);
        let start = random.span(ms(1500), ms(2500));
        scenario.pauses = vec![pause(Pattern::Unbroken, start, PATIENCE * 2)];
        one_storm(scenario, start, random)
    });
    summed(row, samples.collect::<Vec<_>>())
}

/// Storms that begin shortly after another pause, while the port is read at the fast pace.
pub(super) fn from_fast(trials: u64, random: &mut Random) -> Row {
    fast(Row::new("storm from fast", "the same at the fast pace"), trials, random, rough)
}

/// The same with readings on time.
pub(super) fn from_fast_on_time(trials: u64, random: &mut Random) -> Row {
    fast(
        Row::new("storm from fast, read on time", "found within 190 to 290 ms and one read"),
        trials,
        random,
        punctual,
    )
}

fn fast(row: Row, trials: u64, random: &mut Random, poll: fn(&mut Random) -> PollFaults) -> Row {
    let samples = (0..trials).map(|_| {
        let mut scenario = one_port(random);
        scenario.poll = poll(random);
        let first = random.span(ms(1000), ms(1300));
        let length = random.span(ms(60), ms(180));
        let start = first + length + random.span(ms(900), ms(1700));
        scenario.pauses =
            vec![pause(Pattern::Unbroken, first, length), pause(Pattern::Unbroken, start, PATIENCE * 2)];
        one_storm(scenario, start, random)
    });
    summed(row, samples.collect::<Vec<_>>())
}

/// Watches for the storm that begins at `start`.
fn one_storm(scenario: Scenario, start: Duration, random: &mut Random) -> Sample {
    let (onset, settings) = (scenario.start() + start, scenario.settings.clone());
    let probe = watch(scenario, random.next(), start, PATIENCE, |probe| !probe.found.is_empty());
    judged(&probe, onset, &settings)
}

/// Runs bursts, a number of them in each world, and counts those worlds' false storms as samples of their own.
fn bursts(row: Row, count: u64, random: &mut Random, burst: fn(&mut Random) -> (Duration, Duration)) -> Row {
    let mut samples = Vec::new();
    while (samples.len() as u64) < count {
        let number = BURSTS_PER_WORLD.min(count - samples.len() as u64);
        let mut scenario = one_port(random);
        let mut start = random.span(ms(1000), ms(2000));
        for _ in 0..number {
            let (length, gap) = burst(random);
            scenario.pauses.push(pause(Pattern::Unbroken, start, length));
            start += length + gap;
        }
        let probe = watch(scenario, random.next(), start, ms(2000), |_| false);
        let wrong = probe.found.len().min(number as usize);
        samples.extend(std::iter::repeat_n(Sample::False, wrong));
        samples.extend(std::iter::repeat_n(Sample::Quiet, number as usize - wrong));
    }
    summed(row, samples)
}

pub(super) fn below_the_share(count: u64, random: &mut Random) -> Row {
    let row = Row::new("storms shorter than share × detect", "none is found");
    bursts(row, count, random, |random| {
        (random.span(ms(1), Duration::from_micros(189_900)), random.span(ms(500), ms(1500)))
    })
}

pub(super) fn bursts_of_half_the_calm_interval(count: u64, random: &mut Random) -> Row {
    bursts(Row::new("bursts of half the calm interval", "none is found"), count, random, |_| {
        (ms(125), ms(125))
    })
}

pub(super) fn bursts_of_half_the_fast_interval(count: u64, random: &mut Random) -> Row {
    bursts(Row::new("bursts of half the fast interval", "none is found"), count, random, |_| (ms(25), ms(25)))
}

pub(super) fn storms_of_half_the_window(count: u64, random: &mut Random) -> Row {
    bursts(Row::new("storms of half of detect", "none is found"), count, random, |_| (ms(100), ms(100)))
}

/// XOFF turns into XON without end: the queue is free, and the storm has to end although frames go on.
pub(super) fn xoff_to_xon(trials: u64, random: &mut Random) -> Row {
    let promise = "ended restore after the last blocked reading, within two readings and one read";
    let samples = (0..trials).map(|_| {
        let mut scenario = one_port(random);
        let start = random.span(ms(1500), ms(2500));
        let length = random.span(ms(800), ms(3000));
        let per_second = random.between(3000, 50_000);
        scenario.pauses = vec![
            pause(Pattern::Unbroken, start, length),
            pause(Pattern::Releases { per_second }, start + length, PATIENCE * 4),
        ];
        let over = scenario.start() + start + length;
        let restore = scenario.settings.rx.restore;
        let from = start + length;
        let probe = watch(scenario, random.next(), from, PATIENCE, |probe| !probe.ended.is_empty());
        let Some((ended, EndReason::Cleared)) = probe.ended.first().copied() else { return Sample::Missed };
        // The reading that holds the end may still be blocked, and the one that decides comes up to a reading late.
        let holds = probe.shows(over).map_or(Duration::ZERO, |place| probe.span_before(place));
        let decides = probe.reads.iter().rposition(|read| read.at <= ended);
        let decides =
            decides.map_or(Duration::ZERO, |place| probe.span_before(place) + probe.reads[place].took);
        Sample::Took {
            latency: ended.since(over),
            lower: restore.saturating_sub(holds),
            upper: restore + holds + decides,
        }
    });
    summed(Row::new("XOFF turning into XON", promise), samples.collect::<Vec<_>>())
}

/// A port whose counters its firmware writes once a second.
fn slow_port(random: &mut Random) -> Scenario {
    let mut scenario = one_port(random);
    scenario.ports[0].driver = "bnxt_en".into();
    scenario.ports[0].prevention_timeout_ms = None;
    // What a reading shows is as old as the last refresh, which counts as the time of a read: it has to stay below
    // (1 - share) × detect, 100 ms, and with 65 ms between two readings there is room for 30 ms.
    scenario.poll.lost = permille(0);
    scenario.poll.late_max = ms(30);
    scenario
}

/// An endless storm on a source that refreshes once a second: its readings count per refresh.
pub(super) fn slow_source(trials: u64, random: &mut Random) -> Row {
    let promise = "found after share × detect (2 refreshes), within two refreshes and one reading";
    let samples = (0..trials).map(|_| {
        let mut scenario = slow_port(random);
        let start = random.span(ms(6000), ms(8000));
        scenario.pauses = vec![pause(Pattern::Unbroken, start, Duration::from_secs(60))];
        let (onset, settings) = (scenario.start() + start, scenario.settings.clone());
        let patience = Duration::from_secs(20);
        let probe = watch(scenario, random.next(), start, patience, |probe| !probe.found.is_empty());
        match (judged(&probe, onset, &settings), probe.shows(onset)) {
            (Sample::Took { latency, lower, upper }, Some(place)) => {
                // What was read before the onset may have been as old as the reading before that.
                let (age, decided) = (probe.age_before(place), probe.found[0].1);
                Sample::Took { latency, lower, upper: upper + age + probe.age_before(decided) }
            }
            (other, _) => other,
        }
    });
    summed(Row::new("storm on a 1 s source", promise), samples.collect::<Vec<_>>())
}

/// Bursts on the same source: half a refresh, and up to half of its decision window.
pub(super) fn slow_source_bursts(count: u64, random: &mut Random) -> Row {
    let mut samples = Vec::new();
    let row = Row::new("bursts on a 1 s source", "none is found");
    while (samples.len() as u64) < count {
        let number = BURSTS_PER_WORLD.min(count - samples.len() as u64);
        let mut scenario = slow_port(random);
        let length = random.pick(&[ms(500), ms(1000), ms(25), ms(125)]);
        let start = random.span(ms(3000), ms(5000));
        let total = length * 2 * number as u32;
        scenario.pauses = vec![pause(Pattern::bursts(length, length), start, total)];
        let probe = watch(scenario, random.next(), start + total, ms(6000), |_| false);
        let wrong = probe.found.len().min(number as usize);
        samples.extend(std::iter::repeat_n(Sample::False, wrong));
        samples.extend(std::iter::repeat_n(Sample::Quiet, number as usize - wrong));
    }
    summed(row, samples)
}

/// Storms that end around the time at which something would be done about them, with a journal that is slow.
pub(super) fn pauses_that_are_over(trials: u64, random: &mut Random) -> Row {
    let promise = "a plan whose pause is over before its first operation does nothing";
    let mut row = Row::new("decisions after the pause had ended", promise);
    let (mut plans, mut expired) = (0, 0);
    for _ in 0..trials {
        let mut scenario = one_port(random);
        scenario.ports[0].driver = "bnxt_en".into();
        scenario.ports[0].refresh = Some(Duration::ZERO);
        scenario.ports[0].refresh_told = Told::Yes;
        scenario.settings.mode = Mode::Enforce;
        scenario.settings.rx.actions = vec![ActionKind::PfcOff];
        let start = random.span(ms(1500), ms(2500));
        scenario.pauses = vec![pause(Pattern::Unbroken, start, random.span(ms(200), ms(700)))];
        let slow = What::JournalTakes { max: random.span(ms(1), ms(350)) };
        scenario.troubles = vec![Trouble { at: Duration::ZERO, port: 0, what: slow }];
        let end = scenario.start() + start + ms(1500);
        let mut world = World::new(scenario, random.next());
        let mut probe = Probe::default();
        world.advance(end, &mut |at, input, effects| probe.note(at, input, effects));
        let broken = world.judge().violations().iter().any(|violation| violation.rule == Rule::PauseOver);
        (plans, expired) = (plans + probe.plans, expired + probe.expired);
        row.trials += 1;
        row.kept += u64::from(!broken);
        row.late += u64::from(broken);
    }
    row.counted = vec![("plans".into(), plans), ("dropped".into(), expired), ("actions".into(), row.late)];
    row
}
