//! Trials with a whole node: 64 queues in a storm at once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Row;
use crate::action::{ActionKind, Disruption, UndoResult};
use crate::event::EventKind;
use crate::ids::PortKey;
use crate::input::{Effect, Input};
use crate::settings::{Guard, Mode, Settings};
use crate::sim::peer::Pattern;
use crate::sim::random::Random;
use crate::sim::run::run_with;
use crate::sim::scenario::{Ending, Load, Names, PauseSpec, PortSpec, Scenario};
use crate::units::{Priority, PriorityMask, Queue};

/// Ports in a storm, with eight priorities each.
const STORMING: usize = 8;
/// Enough idle ports that the storms are not the node's.
const IDLE: usize = 10;
const QUEUES: u64 = (STORMING * Priority::COUNT) as u64;

/// A queue of a port.
type Place = (Option<PortKey>, Option<Queue>);

/// What a run counted.
#[derive(Debug, Default)]
struct Counts {
    found: BTreeSet<Place>,
    restored: BTreeSet<Place>,
    vetoes: BTreeMap<String, u64>,
    violations: u64,
}

/// In enforce, with pfc-off, up to link, and a guard that agrees.
fn settings(random: &mut Random) -> Settings {
    let mut settings =
        Settings { mode: Mode::Enforce, disruption_max: Disruption::Link, ..Settings::default() };
    settings.rx.actions = vec![ActionKind::PfcOff];
    settings.guard = Some(Guard {
        url: "http://sim".into(),
        query: "sum(rocewatch_watchdog_storm)".into(),
        limit: 2,
        delay: random.span(Duration::from_millis(500), Duration::from_secs(5)),
    });
    settings
}

fn node(random: &mut Random, idle: usize, storming: usize, length: Duration) -> Scenario {
    let spec = PortSpec {
        names: Names::Watched,
        pfc: PriorityMask(0xff),
        load: (0..8).map(|priority| Load { priority, rx: 90_000, tx: 80_000 }).collect(),
        ..PortSpec::of("mlx5_core")
    };
    let start = Duration::from_secs(3);
    let mut pauses = Vec::new();
    for port in 0..storming {
        for priority in Priority::ALL {
            let start = start + random.span(Duration::ZERO, Duration::from_millis(100));
            pauses.push(PauseSpec::rx(Queue::Priority(priority), Pattern::Unbroken, start, length).on(port));
        }
    }
    Scenario {
        name: "many".into(),
        ports: vec![spec; STORMING + idle],
        pauses,
        lasts: start + length + Duration::from_secs(3),
        ending: Ending::Natural,
        settings: settings(random),
        ..Scenario::default()
    }
}

fn counted(scenario: &Scenario, seed: u64) -> Counts {
    let mut counts = Counts::default();
    let mut note = |_, _: &Input, effects: &[Effect]| {
        for effect in effects {
            let Effect::Emit(event) = effect else { continue };
            if let EventKind::StormDetected { .. } = &event.kind {
                counts.found.insert((event.place.port, event.place.priority));
            }
            if let EventKind::UndoEnded { result: UndoResult::Done, .. } = &event.kind {
                counts.restored.insert((event.place.port, event.place.priority));
            }
            if let EventKind::ActionVetoed { reason, .. } = &event.kind {
                *counts.vetoes.entry(reason.label().to_owned()).or_default() += 1;
            }
        }
    };
    let report = run_with(scenario, seed, &mut note);
    counts.violations = report.violations.len() as u64;
    counts
}

/// Runs nodes and sums up; `kept` says how many of the queues of a run kept the promise.
fn nodes(
    mut row: Row,
    runs: u64,
    queues: u64,
    random: &mut Random,
    build: fn(&mut Random) -> Scenario,
    kept: fn(&Counts) -> u64,
) -> Row {
    let mut vetoes: BTreeMap<String, u64> = BTreeMap::new();
    for _ in 0..runs {
        let scenario = build(random);
        let counts = counted(&scenario, random.next());
        let good = if counts.violations == 0 { kept(&counts).min(queues) } else { 0 };
        row.trials += queues;
        row.kept += good;
        row.late += queues - good;
        for (reason, count) in counts.vetoes {
            *vetoes.entry(format!("veto {reason}")).or_default() += count;
        }
    }
    row.counted = vetoes.into_iter().collect();
    row
}

pub(super) fn all_found(runs: u64, random: &mut Random) -> Row {
    let row = Row::new("64 queues at once", "all are found");
    let build = |random: &mut Random| node(random, 0, STORMING, Duration::from_secs(10));
    nodes(row, runs, QUEUES, random, build, |counts| counts.found.len() as u64)
}

/// Budgets, hold-off and the number of ports lifted, and more idle ports than storming ones.
pub(super) fn all_restored(runs: u64, random: &mut Random) -> Row {
    let row = Row::new("64 queues, limits lifted", "all are acted on, one link at a time, and restored");
    let build = |random: &mut Random| {
        let mut scenario = node(random, IDLE, STORMING, Duration::from_secs(180));
        scenario.settings.budget_node = 1000;
        scenario.settings.ports_mitigated_max = 1000;
        scenario.settings.rx.budget_port = 1000;
        scenario.settings.rx.hold_off = Duration::from_secs(1);
        scenario.settings.guard.iter_mut().for_each(|guard| guard.delay = Duration::from_millis(500));
        scenario
    };
    nodes(row, runs, QUEUES, random, build, |counts| counts.restored.len() as u64)
}

pub(super) fn default_limits(runs: u64, random: &mut Random) -> Row {
    let promise = "one link at a time, refusals by name, all healthy after the end";
    let row = Row::new("64 queues, default limits", promise);
    let build = |random: &mut Random| node(random, 0, STORMING, Duration::from_secs(150));
    nodes(row, runs, QUEUES, random, build, |_| QUEUES)
}

/// Fewer ports than half of the node: the number of mitigated ports is what limits.
pub(super) fn two_at_once(runs: u64, random: &mut Random) -> Row {
    let promise = "two ports at a time, one link at a time, all healthy after the end";
    let row = Row::new("64 queues on a node of 18 ports, default limits", promise);
    let build = |random: &mut Random| node(random, IDLE, STORMING, Duration::from_secs(150));
    nodes(row, runs, QUEUES, random, build, |_| QUEUES)
}
