//! `rocewatch ctl` and its socket, against the agent as a user starts it.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "running/mod.rs"]
mod running;
#[path = "skip/mod.rs"]
mod skip;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use running::{Agent, replace, rocewatch, value};
use skip::skip;
use tempfile::TempDir;

/// A node of two ports, as files, and an agent on it.
struct Node {
    root: TempDir,
    folder: Rc<TempDir>,
}

impl Node {
    fn new() -> Self {
        let node = Self { root: tempfile::tempdir().unwrap(), folder: Rc::new(tempfile::tempdir().unwrap()) };
        for netdev in ["ens1", "ens2"] {
            let folder = node.root.path().join("net").join(netdev);
            replace(&folder.join("driver"), "mlx5_core\n");
            let counters = "tx_prio3_packets: 9\nrx_prio3_packets: 9\nrx_prio3_pause_duration: 0\n\
                            tx_prio3_pause_duration: 0\n";
            replace(&folder.join("ethtool.txt"), counters);
            replace(&folder.join("link.json"), r#"{"carrier":true,"speed_mbps":100000,"mtu_bytes":4200}"#);
            replace(&folder.join("dcb.json"), r#"{"pfc":[3]}"#);
        }
        node.configure("");
        node
    }

    fn config(&self) -> PathBuf {
        self.root.path().join("rocewatch.toml")
    }

    fn configure(&self, text: &str) {
        fs::write(self.config(), text).unwrap();
    }

    fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn socket(&self) -> PathBuf {
        self.run().join("control.sock")
    }

    /// An agent whose two ports are read and can be judged.
    fn start(&self) -> Agent {
        let agent = self.start_unseen();
        for netdev in ["ens1", "ens2"] {
            let armed = format!(
                r#"rocewatch_watchdog_armed{{device="",port="",netdev="{netdev}",priority="3",direction="rx"}}"#
            );
            agent.wait_for("an armed queue", |page| value(page, &armed).filter(|armed| *armed == 1.0));
        }
        agent
    }

    fn start_unseen(&self) -> Agent {
        let (root, config) = (self.root.path().to_str().unwrap(), self.config());
        let arguments = ["run", "--source.directory", root, "--config.file", config.to_str().unwrap()];
        Agent::start_in(&self.folder, &arguments)
    }

    fn ctl(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let run = self.run();
        rocewatch(&[&["ctl", "--runtime.path", run.to_str().unwrap()], arguments].concat())
    }

    /// What a command says that is carried out.
    #[track_caller]
    fn done(&self, arguments: &[&str]) -> String {
        let (code, out, err) = self.ctl(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {out}{err}");
        out
    }

    /// What a command says that is refused.
    #[track_caller]
    fn refused(&self, arguments: &[&str]) -> String {
        let (code, out, err) = self.ctl(arguments);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{arguments:?}: {err}");
        err
    }
}

/// Sends bytes as they are; what is answered.
fn say(socket: &Path, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    // An agent that has heard enough may have closed its side.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn the_status_has_a_verdict_that_a_hook_can_use() {
    let node = Node::new();
    assert_eq!(node.ctl(&["status", "--check"]).0, Some(2), "nobody is there");
    let agent = node.start();
    let status = node.done(&["status", "--check"]);
    assert!(status.starts_with("healthy\n") && status.contains("mode observe, journal ok"), "{status}");
    for netdev in ["ens1", "ens2"] {
        let line = status.lines().find(|line| line.starts_with(netdev)).unwrap();
        assert!(line.contains("up") && line.ends_with("healthy"), "{line}");
    }
    node.done(&["maintenance", "on", "ens2", "--for", "1h"]);
    agent.wait_for("maintenance", |page| {
        let left =
            r#"rocewatch_watchdog_port_maintenance_remaining_seconds{device="",port="",netdev="ens2"}"#;
        value(page, left).filter(|left| *left > 3500.0 && *left <= 3600.0)
    });
    let (code, status, _) = node.ctl(&["status", "--check", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!((code, &status["verdict"]), (Some(1), &"look".into()));
    assert_eq!(status["reasons"][0], "ens2 is in maintenance");
    assert_eq!(node.ctl(&["status"]).0, Some(0), "only --check judges");
}

#[test]
fn the_socket_is_for_the_owner_and_the_group_and_goes_with_the_agent() {
    let node = Node::new();
    let mut agent = node.start();
    let found = fs::symlink_metadata(node.socket()).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.mode() & 0o777, 0o660);
    assert_eq!(found.gid(), rustix::process::getegid().as_raw());
    assert_eq!(agent.terminate().0, Some(0));
    assert!(!node.socket().exists());
}

#[test]
fn a_member_of_the_agents_group_may_ask_from_where_no_process_is_seen_and_a_stranger_is_told_no() {
    const NAME: &str =
        "a_member_of_the_agents_group_may_ask_from_where_no_process_is_seen_and_a_stranger_is_told_no";
    // A PID namespace of its own: the agent sees nobody outside of it, as with hidepid.
    let apart = ["unshare", "--pid", "--fork", "--kill-child", "--"];
    let mut can = Command::new(apart[0]);
    can.args(&apart[1..]).args(["setpriv", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !can.status().is_ok_and(|status| status.success()) {
        return skip(NAME, "no PID namespace can be made");
    }
    let node = Node::new();
    let (root, config) = (node.root.path().to_str().unwrap(), node.config());
    let arguments = ["run", "--source.directory", root, "--config.file", config.to_str().unwrap()];
    let _agent = Agent::start_by(&apart, &node.folder, &arguments);
    node.done(&["status"]);
    // The program by a way that a stranger may go.
    let program = node.folder.path().join("rocewatch");
    fs::copy(env!("CARGO_BIN_EXE_rocewatch"), &program).unwrap();
    for path in [node.folder.path(), &node.run(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let group = rustix::process::getegid().as_raw();
    let stranger = |groups: &str| {
        let mut setpriv = Command::new("setpriv");
        setpriv.args(["--reuid=65534", "--regid=65534", groups]).arg(&program);
        let output = setpriv.args(["ctl", "--runtime.path"]).arg(node.run()).arg("status").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let member = stranger(&format!("--groups={group}"));
    assert_eq!(member, (Some(0), String::new()));
    assert_eq!(stranger("--clear-groups").0, Some(2), "the kernel lets nobody else connect");
    fs::set_permissions(node.socket(), fs::Permissions::from_mode(0o666)).unwrap();
    let (code, told) = stranger("--clear-groups");
    assert_eq!(code, Some(1));
    assert!(told.contains("only root, the agent's user and its group may ask"), "{told}");
}

#[test]
fn errors_name_the_port_the_queue_and_what_was_expected() {
    let node = Node::new();
    let _agent = node.start();
    let told = node.refused(&["ack", "ens9", "3"]);
    assert!(told.contains("no port named ens9: watched are ens1, ens2"), "{told}");
    let told = node.refused(&["ack", "ens1", "3", "rx"]);
    assert!(told.contains("ens1 priority 3: nothing to acknowledge"), "{told}");
    assert!(told.contains("expected locked or undo_failed: rx is healthy"), "{told}");
    let told = node.refused(&["maintenance", "off", "ens1"]);
    assert!(told.contains("ens1: not in maintenance"), "{told}");
    let told = node.refused(&["maintenance", "on", "--for", "9000h"]);
    assert!(told.contains("at most 720h"), "{told}");
    let told = node.refused(&["test-storm", "ens1", "5"]);
    assert!(told.contains("ens1 priority 5 rx: no test: it is not watched"), "{told}");
    let told = node.refused(&["test-storm", "ens1", "3", "--act"]);
    assert!(told.contains("watchdog.mode is observe: expected enforce"), "{told}");
    for arguments in
        [&["ack", "ens1", "9"][..], &["maintenance", "on", "--for", "3"], &["ack", "a", "3", "up"]]
    {
        assert_eq!(node.ctl(arguments).0, Some(2), "{arguments:?}");
    }
}

#[test]
fn bad_clients_cost_themselves_alone() {
    let node = Node::new();
    let _agent = node.start();
    let socket = node.socket();
    for (bytes, expected) in [
        (&b"\n"[..], "no JSON object"),
        (b"\xff\xfe\x00", "no JSON object"),
        (&[b'['; 4000], "no JSON object"),
        (&[b'x'; 70_000], "longer than 4096 bytes"),
        (br#"{"rocewatch_control":7,"request":"status"}"#, "version 7: this agent speaks 1"),
        (br#"{"rocewatch_control":1,"request":"status","x":1}"#, "unknown field"),
    ] {
        let answer = say(&socket, bytes);
        assert!(answer.contains("refused") && answer.contains(expected), "{answer}");
    }
    // One that says nothing is heard out, and no longer than that.
    let mut mute = UnixStream::connect(&socket).unwrap();
    let mut answer = String::new();
    mute.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("not complete after 2 s"), "{answer}");
    let crowd = (0..20).map(|_| UnixStream::connect(&socket).unwrap()).collect::<Vec<_>>();
    // Asked from here, not by a program that has to start first: the crowd is heard out for two seconds.
    let told = say(&socket, br#"{"rocewatch_control":1,"request":"status"}"#);
    assert!(told.contains("8 commands are under way"), "{told}");
    drop(crowd);
    // Their places are free as soon as each has been seen to be gone.
    assert!((0..100).any(|_| node.ctl(&["status"]).0 == Some(0)));
}

#[test]
fn maintenance_outlives_the_agent_and_a_file_that_cannot_be_read_is_maintenance_of_everything() {
    let node = Node::new();
    let mut agent = node.start();
    node.done(&["maintenance", "on", "ens1", "--for", "2h"]);
    agent.end_by("KILL");
    assert!(node.socket().exists(), "it was killed");
    let mut agent = node.start();
    let status = node.done(&["status"]);
    assert!(status.contains("ens1 is in maintenance"), "{status}");
    node.done(&["maintenance", "off", "ens1"]);
    agent.terminate();
    fs::write(node.run().join("maintenance"), "{").unwrap();
    let mut agent = node.start();
    let status = node.done(&["status"]);
    assert!(status.contains("all in maintenance until it is ended"), "{status}");
    assert_eq!(agent.metric("rocewatch_watchdog_maintenance"), Some(1.0));
    assert_eq!(agent.metric("rocewatch_watchdog_maintenance_remaining_seconds"), None, "nobody knows");
    node.done(&["maintenance", "off"]);
    agent.terminate();
    let _agent = node.start();
    assert_eq!(node.ctl(&["status", "--check"]).0, Some(0));
}

#[test]
fn a_second_agent_leaves_the_socket_to_the_first() {
    let node = Node::new();
    let _first = node.start();
    let before = fs::symlink_metadata(node.socket()).unwrap().ino();
    let mut second = node.start_unseen();
    second.wait_for("its page", |page| value(page, "rocewatch_ports"));
    second.terminate();
    assert_eq!(fs::symlink_metadata(node.socket()).unwrap().ino(), before);
    node.done(&["status"]);
}

#[test]
fn a_socket_of_a_dead_agent_is_replaced_and_what_is_no_socket_is_left() {
    let node = Node::new();
    fs::create_dir(node.run()).unwrap();
    drop(UnixListener::bind(node.socket()).unwrap());
    let mut agent = node.start();
    node.done(&["status"]);
    agent.terminate();
    fs::write(node.socket(), "precious").unwrap();
    let _agent = node.start();
    assert_eq!(node.ctl(&["status"]).0, Some(2));
    assert_eq!(fs::read_to_string(node.socket()).unwrap(), "precious");
}

#[test]
fn a_reload_is_taken_or_refused_as_a_whole() {
    let node = Node::new();
    let agent = node.start();
    let mode = |mode: &str| format!(r#"rocewatch_watchdog_mode{{mode="{mode}"}}"#);
    assert_eq!(agent.metric(&mode("observe")), Some(1.0));
    node.configure("[watchdog]\nmode = \"dry_run\"\ndetect = \"1ns\"\nshare = 7\n");
    let told = node.refused(&["reload"]);
    assert!(told.contains("watchdog.detect") && told.contains("watchdog.share"), "{told}");
    agent.wait_for("the refusal", |page| {
        value(page, "rocewatch_config_last_reload_successful").filter(|accepted| *accepted == 0.0)
    });
    assert_eq!(agent.metric(&mode("observe")), Some(1.0), "nothing of it is in force");
    node.configure(
        "[watchdog]\nmode = \"dry_run\"\n[web]\nmax_requests = 7\n[actions.exec]\nspool = \"/s\"\n",
    );
    let told = node.done(&["reload"]);
    assert!(
        told.contains("changed only by a restart, until then as before: [web], actions.exec.spool"),
        "{told}"
    );
    agent.wait_for("the new mode", |page| value(page, &mode("dry_run")).filter(|on| *on == 1.0));
    assert_eq!(agent.metric("rocewatch_config_last_reload_successful"), Some(1.0));
    let told = node.done(&["reload"]);
    assert!(told.contains("no setting has changed"), "{told}");
}

#[test]
fn where_ports_are_files_no_privilege_is_asked_for_to_enforce() {
    let node = Node::new();
    let (root, config) = (node.root.path().to_str().unwrap(), node.config());
    let arguments = ["run", "--source.directory", root, "--config.file", config.to_str().unwrap()];
    let bare: &[&str] = match rustix::process::geteuid().is_root() {
        true => &["setpriv", "--bounding-set=-all", "--inh-caps=-all"],
        false => &["env"],
    };
    let _agent = Agent::start_by(bare, &node.folder, &arguments);
    node.configure("[watchdog]\nmode = \"enforce\"\n[watchdog.rx]\nactions = [\"pfc-off\"]\n");
    assert!(node.done(&["reload"]).contains("reloaded"));
}

#[test]
fn a_service_reloads_at_sighup() {
    let node = Node::new();
    let (root, config) = (node.root.path().to_str().unwrap(), node.config());
    let arguments = ["run", "--source.directory", root, "--config.file", config.to_str().unwrap()];
    let agent = Agent::start_as_service(&node.folder, &arguments);
    node.configure("[watchdog]\nmode = \"dry_run\"\n");
    agent.signal("HUP");
    let mode = r#"rocewatch_watchdog_mode{mode="dry_run"}"#;
    agent.wait_for("the new mode", |page| value(page, mode).filter(|on| *on == 1.0));
    node.configure("[watchdog]\nmode = \"sometimes\"\n");
    agent.signal("HUP");
    agent.wait_for("the refusal", |page| {
        value(page, "rocewatch_config_last_reload_successful").filter(|accepted| *accepted == 0.0)
    });
    assert_eq!(agent.metric(mode), Some(1.0));
}

#[test]
fn a_test_storm_tells_its_plan_and_with_act_runs_it_as_a_test() {
    let node = Node::new();
    let out = node.root.path().join("evidence");
    node.configure(&format!(
        "[watchdog]\nmode = \"enforce\"\n[watchdog.rx]\nactions = [\"exec\"]\n[actions.exec]\n\
         command = [\"sh\", \"-c\", \"cat > {}\"]\ndisruption = \"none\"\n",
        out.display()
    ));
    let mut agent = node.start();
    let told = node.done(&["test-storm", "ens1", "3"]);
    assert!(
        told.contains("ens1 priority 3 rx: exec, as action") && told.contains("nothing was changed"),
        "{told}"
    );
    assert!(!out.exists());
    let told = node.refused(&["test-storm", "ens1", "3", "--act"]);
    assert!(told.contains("not in maintenance by its name"), "{told}");
    node.done(&["maintenance", "on", "ens1", "--for", "10m"]);
    let told = node.done(&["test-storm", "ens1", "3"]);
    assert!(told.contains("vetoed as maintenance"), "{told}");
    node.done(&["test-storm", "ens1", "3", "rx", "--act"]);
    let done = |result: &str| {
        let labels = r#"device="",port="",netdev="ens1",action="exec""#;
        format!(r#"rocewatch_watchdog_tests_total{{{labels},result="{result}"}}"#)
    };
    agent.wait_for("the result", |page| value(page, &done("unproven")).or_else(|| value(page, &done("ok"))));
    let evidence: serde_json::Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!((&evidence["test"], &evidence["netdev"]), (&true.into(), &"ens1".into()));
    let page = agent.get("/metrics");
    let storms = page.lines().filter(|line| line.starts_with("rocewatch_watchdog_storms_total{"));
    assert!(storms.clone().count() > 0 && storms.clone().all(|line| line.ends_with(" 0")));
    assert!(!page.contains("rocewatch_watchdog_actions_total{"), "a test is no action");
    let status = node.done(&["status"]);
    assert!(status.contains("priority 3 rx: mitigated (test)"), "{status}");
    agent.terminate();
    let incidents = fs::read_dir(node.folder.path().join("incidents")).unwrap();
    let incidents = incidents.map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let [incident] = &incidents[..] else { panic!("{incidents:?}") };
    let incident = incident.to_str().unwrap();
    assert!(incident.ends_with("-ens1-3-rx-test.jsonl"), "{incident}");
    let (code, out, err) = rocewatch(&["replay", incident, "--check"]);
    assert_eq!(code, Some(0), "{out}{err}");
}

#[test]
fn a_journal_that_becomes_unwritable_is_told_and_one_that_is_writable_again_too() {
    let node = Node::new();
    node.configure(
        "[watchdog]\nmode = \"enforce\"\n[watchdog.rx]\nactions = [\"exec\"]\n[actions.exec]\n\
         command = [\"true\"]\ndisruption = \"none\"\n",
    );
    let agent = node.start();
    let writable = |wanted: f64| {
        agent.wait_for("the gauge", |page| {
            value(page, "rocewatch_watchdog_journal_writable").filter(|writable| *writable == wanted)
        })
    };
    writable(1.0);
    // What cannot be removed stands in the way of the new file.
    fs::create_dir(node.run().join("journal.new")).unwrap();
    node.done(&["maintenance", "on", "ens1", "--for", "10m"]);
    node.done(&["test-storm", "ens1", "3", "rx", "--act"]);
    writable(0.0);
    assert!(node.done(&["status"]).contains("NO JOURNAL"));
    fs::remove_dir(node.run().join("journal.new")).unwrap();
    writable(1.0);
}
