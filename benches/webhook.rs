//! How long after a storm began somebody is told: agent, a real Prometheus, a real Alertmanager, webhook.
//! `cargo bench --bench webhook`, five minutes.
//!
//! Several nodes get into a storm, one after another, so that the storms fall anywhere between two scrapes. All are
//! scraped by one Prometheus for each pace. The limit of each is what its settings allow: a storm that has been found
//! right after a scrape waits for the next one, for the evaluation after that, and for the group to be complete.

#![allow(clippy::unwrap_used, dead_code, reason = "a benchmark may, and it uses a part of each module")]

#[path = "../tests/alertmanager/mod.rs"]
mod alertmanager;
#[path = "../tests/holding/mod.rs"]
mod holding;
#[path = "../tests/prometheus/mod.rs"]
mod prometheus;
#[path = "../tests/running/mod.rs"]
mod running;
#[path = "../tests/skip/mod.rs"]
mod skip;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alertmanager::Alertmanager;
use prometheus::{Pace, Prometheus, Target};
use rocewatch::clock;
use rocewatch_core::units::MonoTime;
use running::{Agent, rocewatch};

/// Nodes, each with one storm.
const STORMS: u32 = 10;
/// From one storm to the next: no multiple of an interval, and together longer than the longest.
const APART: Duration = Duration::from_millis(6_370);
/// Until the first storm: more than the longest interval, so that all were scraped in good health.
const CALM: Duration = Duration::from_secs(70);
/// An agent with its default settings finds a storm within this on a port that was calm (docs/promise.md), rounded up.
const FOUND: Duration = Duration::from_millis(500);
/// What the messages themselves take, on processors that have other work.
const ON_THE_WAY: Duration = Duration::from_secs(3);

/// Settings of Prometheus and Alertmanager, seconds.
struct Settings {
    name: &'static str,
    pace: Pace,
    group_wait: u64,
}

const SETTINGS: [Settings; 3] = [
    Settings { name: "each second", pace: Pace { scrape: 1, evaluate: 1 }, group_wait: 2 },
    Settings { name: "recommended", pace: Pace { scrape: 5, evaluate: 15 }, group_wait: 10 },
    Settings { name: "their defaults", pace: Pace { scrape: 60, evaluate: 60 }, group_wait: 30 },
];

impl Settings {
    fn limit(&self) -> Duration {
        FOUND + Duration::from_secs(self.pace.scrape + self.pace.evaluate + self.group_wait) + ON_THE_WAY
    }
}

/// What was told at which time: the first message of each node's storm.
fn told(alertmanager: &Alertmanager, until: MonoTime) -> BTreeMap<String, MonoTime> {
    let mut told = BTreeMap::new();
    while told.len() < STORMS as usize {
        let Ok(alert) = alertmanager.told.recv_timeout(until.since(clock::now())) else { break };
        if alert.label("alertname") == "RocewatchRxPauseStorm" {
            told.entry(alert.label("instance").to_owned()).or_insert(alert.at);
        }
    }
    told
}

fn main() -> ExitCode {
    let rules = tempfile::tempdir().unwrap();
    let out = rules.path().to_string_lossy().into_owned();
    // Ten storms here are ten single ones: one of the fleet would keep them quiet.
    let (status, _, said) = rocewatch(&["alerts", "--set", "fleet_nodes=1000", "--out", &out]);
    assert_eq!(status, Some(0), "{said}");

    let stop = Arc::new(AtomicBool::new(false));
    let start = |number: u32| node(CALM + APART * number, &stop);
    let nodes: Vec<_> = (0..STORMS).map(start).collect();
    let targets: Vec<_> = nodes.iter().map(|node| Target::Page(node.agent.address().to_owned())).collect();
    let watch = |settings: &Settings| {
        let alertmanager = Alertmanager::start(settings.group_wait)?;
        let prometheus =
            Prometheus::alerting(&targets, rules.path(), Some(alertmanager.address()), settings.pace)?;
        Some((alertmanager, prometheus))
    };
    let watchers: Option<Vec<_>> = SETTINGS.iter().map(watch).collect();
    let Some(watchers) = watchers else { return ExitCode::FAILURE };

    println!("from the start of a storm to the webhook, {STORMS} storms, seconds");
    println!(
        "{:16} {:>30} {:>6} {:>6} {:>6} {:>6}",
        "", "scrape+evaluation+group_wait", "min", "median", "max", "limit"
    );
    let last = nodes.iter().map(|node| node.storm).max().unwrap();
    let mut met = true;
    for (settings, (alertmanager, _)) in SETTINGS.iter().zip(&watchers) {
        let told = told(alertmanager, last + settings.limit());
        let delay = |node: &Node| told.get(node.agent.address()).map(|at| at.since(node.storm).as_secs_f64());
        let mut delays: Vec<f64> = nodes.iter().filter_map(delay).collect();
        delays.sort_by(f64::total_cmp);
        let (Pace { scrape, evaluate }, limit) = (settings.pace, settings.limit().as_secs_f64());
        let sum = format!("{scrape} + {evaluate} + {}", settings.group_wait);
        let all = delays.len() == nodes.len() && delays.iter().all(|delay| *delay <= limit);
        met &= all;
        let of = |index: usize| delays.get(index).copied().unwrap_or(f64::NAN);
        println!(
            "{:16} {sum:>30} {:6.1} {:6.1} {:6.1} {limit:6.1}  {}",
            settings.name,
            of(0),
            of(delays.len() / 2),
            of(delays.len().saturating_sub(1)),
            if all { "all inside" } else { "MISSED" }
        );
    }
    stop.store(true, Ordering::Relaxed);
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// An agent, and when its port gets into a storm.
struct Node {
    agent: Agent,
    storm: MonoTime,
    _folder: tempfile::TempDir,
}

fn node(calm: Duration, stop: &Arc<AtomicBool>) -> Node {
    let folder = tempfile::tempdir().unwrap();
    let storm = clock::now() + calm;
    holding::hold_after(calm, folder.path(), stop);
    wait_for(&folder.path().join("net/eth0/ethtool.txt"));
    let agent = Agent::start(&["run", &format!("--source.directory={}", folder.path().display())]);
    Node { agent, storm, _folder: folder }
}

fn wait_for(file: &Path) {
    while !file.exists() {
        std::thread::yield_now();
    }
}
