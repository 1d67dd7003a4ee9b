//! How the agent ends, and what it leaves to the next one.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "holding/mod.rs"]
mod holding;
#[path = "running/mod.rs"]
mod running;
#[path = "skip/mod.rs"]
mod skip;

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use holding::hold;
use rocewatch::agent::{self, Hangup, Place, Setup, StartError, Watch};
use rocewatch::clock;
use rocewatch::config::{Assignment, Config, FileChoice, Request};
use rocewatch::export::stats::Collector;
use rocewatch::node::DirectoryNode;
use rocewatch::privileges::Ports;
use rocewatch::runtime::EventSink;
use rocewatch_core::event::Event;
use running::{Agent, value};

/// The agent has this long to stop where nothing is to be taken back.
const STOP_MAX: Duration = Duration::from_secs(2);

fn series(name: &str) -> String {
    format!(r#"{name}{{device="bnxt_re0",port="1",netdev="ens2f0np0",priority="3",direction="rx"}}"#)
}

#[test]
fn a_command_that_hangs_does_not_hold_up_the_end() {
    let root = tempfile::tempdir().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let peer = hold(root.path(), &stop);
    let mut agent = Agent::start(&[
        "run",
        "--source.directory",
        root.path().to_str().unwrap(),
        "--watchdog.mode=enforce",
        "--watchdog.rx.actions=alert,exec",
        "--watchdog.hold-off=1s",
        "--actions.exec.command=sleep",
        "--actions.exec.command=60",
        "--actions.exec.timeout=60s",
        "--actions.exec.disruption=none",
    ]);
    agent.wait_for_line(|line| line.contains("action planned").then_some(()));
    // It runs by now, or is about to.
    let (code, took) = agent.terminate();
    stop.store(true, Ordering::Relaxed);
    peer.join().unwrap();
    assert_eq!(code, Some(0));
    assert!(took < STOP_MAX, "{took:?}");
}

/// Stands for a fault in whatever runs on the engine's thread.
struct Broken;

impl EventSink for Broken {
    fn take(&mut self, _event: &Arc<Event>) {
        panic!("this fault is part of the test");
    }
}

#[test]
fn an_agent_whose_engine_has_ended_ends_too() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("net/eth0")).unwrap();
    let path = |name: &str| root.path().join(name).to_string_lossy().into_owned();
    let flags = [("runtime.path", path("run")), ("incidents.path", path("incidents"))];
    let flags = flags.into_iter().chain([("web.listen-address", "127.0.0.1:0".into())]);
    let flags = flags.map(|(name, value)| Assignment::flag(name.into(), vec![value])).collect();
    let request = Request { file: FileChoice::None, flags, ..Request::default() };
    let place = Place {
        node: Box::new(DirectoryNode::open(root.path()).unwrap()),
        collector: Collector::Directory,
        watch: Watch::Nobody,
        ports: Ports::Imitated,
        rdma: None,
        nvmf: None,
    };
    let config = Config::load(&request).unwrap();
    let setup = Setup {
        config,
        place,
        sinks: vec![Box::new(Broken)],
        record: None,
        load: Box::new(|| Ok(Config::default())),
        hangup: Hangup::Ends,
    };
    let result = agent::run(setup, std::future::pending, |_| {});
    assert!(matches!(result, Err(StartError::Engine)));
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

#[test]
fn a_terminal_that_closes_ends_it_in_order() {
    if Command::new("script").arg("--version").output().is_err() {
        return skip::skip("a terminal that closes", "script(1) makes one, and is not installed");
    }
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("net")).unwrap();
    let run = root.path().join("run");
    let command = format!(
        "exec {} run --source.directory {root} --runtime.path {root}/run --incidents.path {root}/incidents \
         --web.listen-address 127.0.0.1:0",
        env!("CARGO_BIN_EXE_rocewatch"),
        root = root.path().display()
    );
    let mut terminal = Command::new("script")
        .args(["-q", "-e", "-c", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let socket = run.join("control.sock");
    let until = |wanted: bool| {
        let end = clock::now() + Duration::from_secs(30);
        while socket.exists() != wanted {
            assert!(clock::now() < end, "the control socket of the agent: wanted {wanted}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    until(true);
    // Signals are caught before the socket is made.
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    until(false);
}
