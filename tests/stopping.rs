//! How the agent ends, and what it leaves to the next one.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "running/mod.rs"]
mod running;

use std::fs;
use std::time::Duration;

use running::{Agent, value};

/// The agent has this long to stop where nothing is to be taken back.
const STOP_MAX: Duration = Duration::from_secs(2);

fn series(name: &str) -> String {
    format!(r#"{name}{{device="bnxt_re0",port="1",netdev="ens2f0np0",priority="3",direction="rx"}}"#)
}

#[test]
fn what_was_taken_back_at_the_end_is_not_owed_to_the_next_start() {
    let mut agent = Agent::start(&["demo"]);
    let mitigated = series("rocewatch_watchdog_mitigated");
    agent.wait_for("an action in force", |page| value(page, &mitigated).filter(|is| *is == 1.0));
    let journal = agent.folder.path().join("run/journal");
    let owed = || {
        let text = fs::read_to_string(&journal).unwrap();
        let contents: serde_json::Value = serde_json::from_str(&text).unwrap();
        contents["durable"]["owed"].as_array().unwrap().len()
    };
    assert_eq!(owed(), 1);
    let (code, took) = agent.terminate();
    assert_eq!(code, Some(0));
    assert!(took < STOP_MAX, "{took:?}");
    assert_eq!(owed(), 0);
}
