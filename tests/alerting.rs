//! From a fault to the webhook: agents, a real Prometheus with the rules that are generated, a real Alertmanager with the
//! inhibitions that are committed.

#![allow(clippy::unwrap_used, dead_code, reason = "a test may, and no test uses all of a module")]

#[path = "alertmanager/mod.rs"]
mod alertmanager;
#[path = "holding/mod.rs"]
mod holding;
#[path = "prometheus/mod.rs"]
mod prometheus;
#[path = "running/mod.rs"]
mod running;
#[path = "skip/mod.rs"]
mod skip;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use alertmanager::Alertmanager;
use prometheus::{EACH_SECOND, Prometheus, Target};
use rocewatch::clock;
use running::{Agent, replace, rocewatch};

/// All durations of the rules, a tenth of what is committed.
const SCALE: &str = "scale=0.1";
/// Seconds for the graver alert to come: they are told together otherwise.
const GROUP_WAIT: u64 = 2;
/// The slowest of these alerts waits for half a minute of a window of half a minute.
const DEADLINE: Duration = Duration::from_secs(150);

/// A node of one port, in a directory.
struct Node {
    agent: Option<Agent>,
    folder: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    writer: Option<JoinHandle<()>>,
}

impl Node {
    /// One whose counters `write` keeps up.
    fn start(write: fn(&Path, &Arc<AtomicBool>) -> JoinHandle<()>, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let writer = write(folder.path(), &stop);
        while !folder.path().join("net/eth0/ethtool.txt").exists() {
            thread::yield_now();
        }
        let directory = format!("--source.directory={}", folder.path().display());
        let agent = Agent::start(&[&["run", &directory][..], flags].concat());
        Self { agent: Some(agent), folder, stop, writer: Some(writer) }
    }

    fn address(&self) -> &str {
        self.agent.as_ref().unwrap().address()
    }

    fn stop_writing(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.writer.take().map(JoinHandle::join);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop_writing();
    }
}

/// A port whose host sends pause for a tenth of the time, and that drops on its lossless priority.
fn sick(root: &Path, stop: &Arc<AtomicBool>) -> JoinHandle<()> {
    let (folder, stop) = (root.join("net/eth0"), Arc::clone(stop));
    replace(&folder.join("driver"), "mlx5_core\n");
    replace(&folder.join("link.json"), r#"{"carrier":true,"speed_mbps":100000}"#);
    replace(&folder.join("dcb.json"), r#"{"pfc":[3]}"#);
    let began = clock::now();
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            let passed = clock::now().since(began);
            let (us, s) = (passed.as_micros(), passed.as_secs());
            let text = format!(
                "tx_prio3_packets: {us}\ntx_prio3_pause_duration: {}\nrx_prio3_discards: {s}\n",
                us / 10
            );
            replace(&folder.join("ethtool.txt"), &text);
            thread::sleep(Duration::from_millis(10));
        }
    })
}

const ENFORCE: &[&str] =
    &["--watchdog.mode=enforce", "--watchdog.rx.actions=exec", "--actions.exec.disruption=none"];

#[test]
fn each_fault_is_told_to_the_webhook_by_its_own_alert_and_a_fleet_wide_storm_by_one() {
    let Some(alertmanager) = Alertmanager::start(GROUP_WAIT) else { return };
    let rules = tempfile::tempdir().unwrap();
    let out = rules.path().to_string_lossy().into_owned();
    let (status, _, said) = rocewatch(&["alerts", "--set", SCALE, "--out", &out]);
    assert_eq!(status, Some(0), "{said}");
    let failing = [
        "--actions.exec.command=/bin/false",
        "--watchdog.hold-off=1s",
        "--watchdog.budget-port=100",
        "--watchdog.budget-node=100",
    ];
    let failing = Node::start(holding::hold, &[ENFORCE, &failing].concat());
    let refused = ["--actions.exec.command=/bin/true", "--watchdog.budget-port=0", "--watchdog.hold-off=1s"];
    let refused = Node::start(holding::hold, &[ENFORCE, &refused].concat());
    // Two nodes in a storm: three would be a storm of the fleet of those without a cluster.
    let sick_node = Node::start(sick, &[]);
    let mut silent = Node::start(sick, &[]);
    let mut gone = Node::start(sick, &[]);
    let fleet = Agent::start(&[
        "demo",
        "--fleet",
        "16",
        "--fault",
        "fabric-storm",
        "--fault-start",
        "5s",
        "--fault-for",
        "10m",
        "--fault-every",
        "0s",
    ]);
    let pages =
        [&failing, &refused, &sick_node, &silent, &gone].map(|node| Target::Page(node.address().to_owned()));
    let list = Target::List(format!("http://{}/sd", fleet.address()));
    let targets = pages.into_iter().chain([list]).collect::<Vec<_>>();
    let Some(prometheus) =
        Prometheus::alerting(&targets, rules.path(), Some(alertmanager.address()), EACH_SECOND)
    else {
        return;
    };
    prometheus.wait_until("a page of every node", Duration::from_secs(30), "sum(up) == 21");

    let addresses = [&failing, &refused, &sick_node, &silent, &gone].map(|node| node.address().to_owned());
    silent.stop_writing();
    fs::remove_file(silent.folder.path().join("net/eth0/ethtool.txt")).unwrap();
    drop(gone.agent.take());
    let wanted = [
        ("RocewatchRxPauseStorm", 0),
        ("RocewatchActionFailed", 0),
        ("RocewatchResetLoop", 0),
        ("RocewatchStormNotMitigated", 1),
        ("RocewatchLosslessDiscards", 2),
        ("RocewatchPfcTxPauseHigh", 2),
        ("RocewatchPollerStale", 3),
        ("RocewatchAgentDown", 4),
    ]
    .map(|(name, node)| (name, addresses[node].clone()))
    .to_vec();
    wait_until_told(&alertmanager, wanted);
    assert!(
        alertmanager.kept_quiet("RocewatchRxPauseStorm", "demo") > 2,
        "single storms of the fleet are kept quiet"
    );
    assert_eq!(alertmanager.kept_quiet("RocewatchActionFailed", ""), 0);
}

/// Waits until the webhook was told of each of these alerts with its instance, and of the storm of the demo's fleet; of
/// single storms there never after that.
fn wait_until_told(alertmanager: &Alertmanager, mut wanted: Vec<(&str, String)>) {
    let until = clock::now() + DEADLINE;
    let mut fleet_is_told = false;
    while !wanted.is_empty() || !fleet_is_told {
        let left = until.since(clock::now());
        let told = alertmanager.told.recv_timeout(left);
        let Ok(alert) = told else { panic!("never told: {wanted:?}, the fleet's: {fleet_is_told}") };
        let (name, instance) = (alert.label("alertname"), alert.label("instance"));
        assert!(!alert.summary.is_empty() && !alert.label("severity").is_empty(), "{alert:?}");
        if alert.label("cluster") == "demo" {
            assert!(!fleet_is_told || name != "RocewatchRxPauseStorm", "told beside the fleet's: {alert:?}");
            fleet_is_told |= name == "RocewatchStormFleetWide";
        }
        wanted.retain(|(other, of)| (*other, of.as_str()) != (name, instance));
    }
}
