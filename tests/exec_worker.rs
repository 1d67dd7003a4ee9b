//! `rocewatch exec-worker` as a process, alone and beside an agent.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "holding/mod.rs"]
mod holding;
#[path = "running/mod.rs"]
mod running;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holding::hold;
use running::{Agent, replace, rocewatch, value};

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A spool, and the worker's configuration with a command that writes down what it is given.
fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().join("spool");
    fs::create_dir(&spool).unwrap();
    set_mode(&spool, 0o750);
    let witness = folder.path().join("witness");
    let script =
        format!("env >{0}.env; cat >{0}; echo the switch does not answer >&2; exit 7", witness.display());
    let text = format!("[actions.exec]\nspool = {spool:?}\ncommand = [\"sh\", \"-c\", {script:?}]\n");
    replace(&folder.path().join("worker.toml"), &text);
    set_mode(&folder.path().join("worker.toml"), 0o644);
    folder
}

/// The worker's exit code and words, where it ends by itself.
fn refused(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let file = format!("--config.file={}", folder.join("worker.toml").display());
    let (code, _, words) = rocewatch(&[&["exec-worker", &file], arguments].concat());
    (code, words)
}

#[test]
fn a_worker_without_a_command_or_a_spool_says_which_key_is_not_set() {
    let folder = place();
    let (code, words) = refused(folder.path(), &["--actions.exec.spool="]);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("actions.exec.spool is not set"), "{words}");
    replace(&folder.path().join("worker.toml"), "[actions.exec]\nspool = \"/run/spool\"\n");
    let (code, words) = refused(folder.path(), &[]);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("actions.exec.command is not set"), "{words}");
}

#[test]
fn a_worker_takes_no_command_from_a_file_that_others_can_write_to() {
    let folder = place();
    set_mode(&folder.path().join("worker.toml"), 0o664);
    let (code, words) = refused(folder.path(), &[]);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("worker.toml: mode 0664, owner "), "{words}");
}

#[test]
fn a_worker_refuses_a_spool_that_others_can_write_to() {
    let folder = place();
    set_mode(&folder.path().join("spool"), 0o777);
    let (code, words) = refused(folder.path(), &[]);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("spool: mode 0777, owner "), "{words}");
}

/// Ended with the test.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_storm_has_the_worker_run_its_command_with_the_evidence_and_the_outcome_is_told() {
    let folder = place();
    let at = |name: &str| folder.path().join(name);
    let mut worker = Worker(
        Command::new(env!("CARGO_BIN_EXE_rocewatch"))
            .arg("exec-worker")
            .arg(format!("--config.file={}", at("worker.toml").display()))
            .env("NOTIFY_SOCKET", "/no/such/socket")
            .env("WATCHDOG_USEC", "1000000")
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let stop = Arc::new(AtomicBool::new(false));
    let peer = hold(&at("root"), &stop);
    let (root, spool) = (at("root").display().to_string(), at("spool").display().to_string());
    let agent = Agent::start(&[
        "run",
        "--source.directory",
        &root,
        "--watchdog.mode=enforce",
        "--watchdog.rx.actions=alert,exec",
        "--actions.exec.spool",
        &spool,
        "--actions.exec.disruption=none",
    ]);
    let told =
        agent.wait_for_line(|line| line.contains("the switch does not answer").then(|| line.to_owned()));
    stop.store(true, Ordering::Relaxed);
    peer.join().unwrap();
    assert!(told.contains("sh: exit status: 7: the switch does not answer"), "{told}");
    let evidence: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(at("witness")).unwrap()).unwrap();
    assert_eq!(evidence["netdev"], "eth0", "{evidence}");
    let environment = fs::read_to_string(at("witness.env")).unwrap();
    assert!(
        !environment.contains("NOTIFY_SOCKET") && !environment.contains("WATCHDOG_USEC"),
        "{environment}"
    );
    assert_eq!(fs::read_dir(at("spool")).unwrap().count(), 0);
    let failed =
        r#"rocewatch_watchdog_actions_total{device="",port="",netdev="eth0",action="exec",result="failed"}"#;
    agent.wait_for("the failed action", |page| value(page, failed).filter(|count| *count > 0.5));
    let pid = worker.0.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    assert_eq!(worker.0.wait().unwrap().code(), Some(0));
}
