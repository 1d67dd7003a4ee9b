//! `rocewatch demo --fleet N` as a Prometheus sees it: a list of nodes, each with a page of its own.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "promtool/mod.rs"]
mod promtool;
#[path = "running/mod.rs"]
mod running;
#[path = "skip/mod.rs"]
mod skip;

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use rocewatch::clock;
use running::{Agent, rocewatch};
use serde_json::Value;

/// The paths of the metrics pages that the list names.
fn pages(fleet: &Agent) -> Vec<String> {
    let list = serde_json::from_str::<Value>(&fleet.get("/sd")).unwrap();
    let path = |group: &Value| group["labels"]["__metrics_path__"].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(path).collect()
}

/// The sum of all series of a family on a page that have `label`.
fn sum(page: &str, family: &str, label: &str) -> f64 {
    let lines = page.lines().filter(|line| line.starts_with(&format!("{family}{{")) && line.contains(label));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}

/// The pages of all nodes, once `wanted` says that they show it.
fn wait(fleet: &Agent, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
    let until = clock::now() + Duration::from_secs(30);
    loop {
        let seen = pages(fleet).iter().map(|path| fleet.get(path)).collect::<Vec<_>>();
        if wanted(&seen) {
            return seen;
        }
        assert!(clock::now() < until, "{what} did not come; the first page:\n{}", seen[0]);
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn every_node_is_listed_with_its_labels_and_has_a_page_without_fault() {
    let fleet = Agent::start(&["demo", "--fleet", "5", "--fault", "none"]);
    let list = serde_json::from_str::<Value>(&fleet.get("/sd")).unwrap();
    let groups = list.as_array().unwrap();
    let label = |name: &str| groups.iter().map(|g| g["labels"][name].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(label("instance"), ["node-0000", "node-0001", "node-0002", "node-0003", "node-0004"]);
    assert_eq!(label("cluster"), ["demo"; 5]);
    assert_eq!(label("rack").into_iter().collect::<BTreeSet<_>>().len(), 3);
    assert!(groups.iter().all(|group| group["targets"][0].as_str().unwrap().starts_with("127.0.0.1:")));
    let seen = wait(&fleet, "traffic", |pages| {
        pages.iter().all(|page| sum(page, "rocewatch_rdma_receive_bytes_total", "") > 0.0)
    });
    seen.iter().for_each(|page| promtool::check_metrics(page));
    let landing = fleet.get("/");
    assert!(
        landing.contains("5 simulated nodes") && landing.contains("href=\"node/node-0004/\""),
        "{landing}"
    );
    assert!(fleet.get("/node/node-0003/").contains("href=\"metrics\""));
    assert!(fleet.get("/node/node-0003/api/v1/state").contains("\"netdev\":\"ens2f0np0\""));
}

#[test]
fn one_slow_host_shows_sent_pause_and_its_victims_show_received_pause_and_storms() {
    let flags = ["--fault", "slow-host", "--fault-start", "1s", "--fault-for", "10m", "--fault-every", "1h"];
    let fleet = Agent::start(&[&["demo", "--fleet", "6"], &flags[..]].concat());
    let storms = |page: &String, way: &str| sum(page, "rocewatch_watchdog_storms_total", way) > 0.0;
    let (sent, received) = (r#"direction="tx""#, r#"direction="rx""#);
    let seen = wait(&fleet, "a storm of the slow host and of two others", |pages| {
        pages.iter().filter(|page| storms(page, sent)).count() == 1
            && pages.iter().filter(|page| storms(page, received)).count() > 1
    });
    let pauses = |page: &&String| sum(page, "rocewatch_pfc_tx_pause_seconds_total", "") > 0.0;
    assert_eq!(seen.iter().filter(pauses).count(), 1);
    assert!(fleet.get("/").contains("Now: <b>slow-host: node-000"));
    seen.iter().for_each(|page| promtool::check_metrics(page));
}

#[test]
fn a_fleet_ends_by_itself_and_in_order() {
    let mut fleet = Agent::start(&["demo", "--fleet", "2", "--for", "1s"]);
    assert_eq!(fleet.wait().0, Some(0));
    let mut fleet = Agent::start(&["demo", "--fleet", "2"]);
    assert_eq!(fleet.terminate().0, Some(0));
}

#[test]
fn a_fleet_that_cannot_be_is_refused_with_what_was_expected() {
    for (arguments, expected) in [
        (&["--fleet", "0"][..], "expected 1 to 2000"),
        (&["--fleet", "2001"], "expected 1 to 2000"),
        (&["--fleet", "many"], "invalid digit"),
        (&["--fleet", "5", "--fault", "flood"], "expected slow-host, fabric-storm, ecn-off or none"),
        (&["--fleet", "5", "--fault-for", "20m"], "expected at most the 3m of --fault-every"),
        (&["--fault", "slow-host"], "--fleet"),
        (&["--fleet", "5", "--record", "x"], "--record"),
        (&["--fleet", "5", "--watchdog.mode", "enforce"], "expected off, observe or dry_run"),
    ] {
        let (code, _, said) = rocewatch(&[&["demo"], arguments].concat());
        assert_eq!((code, said.contains(expected)), (Some(2), true), "{arguments:?}: {said}");
    }
}
