//! `rocewatch demo` as a newcomer sees it, and what it leaves behind.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "promtool/mod.rs"]
mod promtool;
#[path = "running/mod.rs"]
mod running;
#[path = "skip/mod.rs"]
mod skip;

use std::fs;

use running::{Agent, rocewatch, value};

#[test]
fn a_storm_is_found_answered_proved_and_undone_and_the_run_replays_byte_for_byte() {
    let recordings = tempfile::tempdir().unwrap();
    let file = recordings.path().join("demo.jsonl");
    let mut agent = Agent::start(&["demo", "--for", "13s", "--record", file.to_str().unwrap()]);
    let storm = r#"rocewatch_watchdog_storm{device="bnxt_re0",port="1",netdev="ens2f0np0",priority="3",direction="rx"}"#;
    agent.wait_for("a storm", |page| value(page, storm).filter(|storm| *storm == 1.0));
    let page = agent.get("/metrics");
    promtool::check_metrics(&page);
    let (code, said) = agent.wait();
    assert_eq!(code, Some(0), "{said}");
    for word in [
        " STORM ",
        " act ",
        " ok ",
        " undo ",
        " veto ",
        "the queue moves again",
        "taken back, and it reads so",
    ] {
        assert!(said.contains(word), "{word:?} was not said:\n{said}");
    }
    let (code, said, _) = rocewatch(&["replay", file.to_str().unwrap(), "--check"]);
    assert_eq!((code, said.starts_with("identical: ")), (Some(0), true), "{said}");
    for incident in fs::read_dir(agent.folder.path().join("incidents")).unwrap().flatten() {
        let (code, said, _) = rocewatch(&["replay", incident.path().to_str().unwrap(), "--check"]);
        assert_eq!((code, said.starts_with("identical: ")), (Some(0), true), "{said}");
    }
    let (code, said, _) = rocewatch(&["replay", file.to_str().unwrap(), "--set", "watchdog.detect=20s"]);
    assert_eq!(code, Some(0));
    assert!(!said.contains("STORM"), "no pause lasts twenty seconds:\n{said}");
}

#[test]
fn a_recording_that_was_cut_off_says_so_one_that_was_tampered_with_differs_and_one_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("demo.jsonl");
    let mut agent = Agent::start(&["demo", "--for", "5s", "--record", file.to_str().unwrap()]);
    assert_eq!(agent.wait().0, Some(0));
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, &whole[..whole.trim_end().len() - 5]).unwrap();
    let (code, said, warned) = rocewatch(&["replay", file.to_str().unwrap()]);
    assert!(code == Some(0) && !said.is_empty(), "{said}");
    let last = format!("demo.jsonl:{}: the last line is cut off", whole.lines().count());
    assert!(warned.contains(&last), "{warned}");
    fs::write(&file, whole.replace("\"share\":", "\"share\":1")).unwrap();
    let (code, said, _) = rocewatch(&["replay", file.to_str().unwrap(), "--check"]);
    assert!(matches!(code, Some(1 | 2)), "{said}");
    fs::write(&file, "{\"hello\":1}\n").unwrap();
    let (code, _, said) = rocewatch(&["replay", file.to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(said.contains("expected a recording of format 1"), "{said}");
    let (code, ..) = rocewatch(&["replay", file.to_str().unwrap(), "--check", "--set", "watchdog.detect=1s"]);
    assert_eq!(code, Some(2));
}
