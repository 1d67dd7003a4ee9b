//! The files of `packaging/`, judged by systemd's own tools, and the agent under a supervisor.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "skip/mod.rs"]
mod skip;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rocewatch::clock;
use skip::skip;

const ROCEWATCH: &str = env!("CARGO_BIN_EXE_rocewatch");
/// Where the units expect the program.
const INSTALLED: &str = "/usr/bin/rocewatch";
const UNITS: [&str; 2] = ["rocewatch.service", "rocewatch-exec.service"];
/// What is waited for comes soon, or the test has failed after this.
const DEADLINE: Duration = Duration::from_secs(30);

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(name)
}

/// Runs one of systemd's tools; none where systemd is not installed.
fn tool(test: &str, command: &mut Command) -> Option<(Output, String)> {
    match command.output() {
        Ok(output) => {
            let words = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
            Some((output, words))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skip(test, "systemd is not installed");
            None
        }
        Err(error) => panic!("{command:?}: {error}"),
    }
}

/// The units in a folder of their own, with the program that was just built.
fn installed() -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let install = |name: &str| {
        let text = fs::read_to_string(packaging(name)).unwrap();
        assert!(text.contains(INSTALLED), "{name}");
        let path = folder.path().join(name);
        fs::write(&path, text.replace(INSTALLED, ROCEWATCH)).unwrap();
        path
    };
    let units = UNITS.map(install).to_vec();
    let drop_in = folder.path().join("rocewatch.service.d");
    fs::create_dir(&drop_in).unwrap();
    fs::copy(packaging("rocewatch-observe.conf"), drop_in.join("observe.conf")).unwrap();
    (folder, units)
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let (_folder, units) = installed();
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no", "--recursive-errors=no"]).args(units);
    let Some((output, words)) = tool("systemd_finds_nothing_wrong_with_the_units", &mut verify) else {
        return;
    };
    assert!(output.status.success() && !words.contains("rocewatch"), "{words}");
}

#[test]
fn systemd_calls_the_agent_exposed_by_less_than_2() {
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--offline=true", "--threshold=20", "--no-pager"]);
    security.arg(packaging("rocewatch.service"));
    let Some((output, words)) = tool("systemd_calls_the_agent_exposed_by_less_than_2", &mut security) else {
        return;
    };
    assert!(
        output.status.success() && words.contains("Overall exposure level for rocewatch.service: 1."),
        "{words}"
    );
}

#[test]
fn the_user_of_the_units_is_made() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("etc")).unwrap();
    let mut sysusers = Command::new("systemd-sysusers");
    sysusers.arg(format!("--root={}", root.path().display())).arg(packaging("rocewatch.sysusers"));
    let Some((output, words)) = tool("the_user_of_the_units_is_made", &mut sysusers) else { return };
    assert!(output.status.success(), "{words}");
    for (file, rest) in [("passwd", ":/var/lib/rocewatch:/usr/sbin/nologin"), ("group", ":")] {
        let text = fs::read_to_string(root.path().join("etc").join(file)).unwrap();
        assert!(text.lines().any(|line| line.starts_with("rocewatch:") && line.contains(rest)), "{text}");
    }
    for unit in UNITS {
        let text = fs::read_to_string(packaging(unit)).unwrap();
        assert!(text.contains("\nUser=rocewatch\nGroup=rocewatch\n"), "{unit}");
    }
}

#[test]
fn every_command_of_the_units_is_one_of_the_program() {
    for unit in UNITS {
        let text = fs::read_to_string(packaging(unit)).unwrap();
        let commands = text.lines().filter_map(|line| line.strip_prefix("Exec")?.split_once(INSTALLED));
        for (key, arguments) in commands {
            let help =
                Command::new(ROCEWATCH).args(arguments.split_whitespace()).arg("--help").output().unwrap();
            assert!(
                help.status.success(),
                "{unit}: Exec{key} {arguments}: {}",
                String::from_utf8_lossy(&help.stderr)
            );
        }
    }
}

/// The agent as systemd starts it; ended with the test.
struct Service {
    child: Child,
    socket: UnixDatagram,
    told: String,
    _folder: tempfile::TempDir,
}

impl Service {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("root/net/eth0")).unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let socket = UnixDatagram::bind(at("notify")).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        let child = Command::new(ROCEWATCH)
            .args(["run", "--web.listen-address=127.0.0.1:0"])
            .arg(format!("--source.directory={}", at("root")))
            .arg(format!("--runtime.path={}", at("run")))
            .arg(format!("--incidents.path={}", at("incidents")))
            .env("NOTIFY_SOCKET", at("notify"))
            .env("WATCHDOG_USEC", "1000000")
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, socket, told: String::new(), _folder: folder }
    }

    /// Waits until it has told `what` so many times.
    fn wait_for(&mut self, what: &str, times: usize) {
        let until = clock::now() + DEADLINE;
        while self.told.lines().filter(|line| line.starts_with(what)).count() < times {
            assert!(clock::now() < until, "{what} was not told; all that was told:\n{}", self.told);
            let mut message = [0; 4096];
            let length =
                self.socket.recv(&mut message).unwrap_or_else(|error| panic!("{error}: {}", self.told));
            self.told.push_str(std::str::from_utf8(&message[..length]).unwrap());
            self.told.push('\n');
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_supervisor_is_told_that_the_agent_is_ready_lives_and_ends() {
    let mut service = Service::start();
    service.wait_for("READY=1", 1);
    service.wait_for("STATUS=1 port, mode observe", 1);
    service.wait_for("WATCHDOG=1", 3);
    assert!(!service.told.contains("STOPPING"), "{}", service.told);
    service.signal("TERM");
    service.wait_for("STOPPING=1", 1);
    assert_eq!(service.child.wait().unwrap().code(), Some(0));
}
