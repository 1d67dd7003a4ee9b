//! A whole agent that one bad thing happens to, and a judge that looks at everything else meanwhile: that the other
//! ports are read on time, that no value is shown that nobody counted, that memory does not grow.
//!
//! It takes some seconds, or as long as `ROCEWATCH_TRIAL_SECONDS` says (`tests/campaign`).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

mod hanging;

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rocewatch::clock;
use rocewatch_core::units::MonoTime;

use crate::running::{replace, value};
pub(crate) use hanging::{Hang, is_child, run_child};

/// Ports that nothing happens to.
pub(crate) const OTHERS: [&str; 2] = ["good0", "good1"];
/// The port that it happens to.
pub(crate) const BAD: &str = "bad";
/// How long it goes on, unless the environment says otherwise.
const SHORT: Duration = Duration::from_secs(3);
/// Set to whole seconds for a campaign.
const LENGTH: &str = "ROCEWATCH_TRIAL_SECONDS";
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// The calm interval of the default settings, at which the ports are read.
const CALM: Duration = Duration::from_millis(250);
/// Later than this is late: a bound of the lateness histogram, and less than half of the interval.
const LATE_SECONDS: &str = "0.1";
/// One poll in so many may be late: the machine has other work.
const LATE_ONE_IN: f64 = 10.0;
/// What is kept for incidents has reached its bound after this.
const FULL: Duration = Duration::from_secs(100);
/// From then on memory does not grow, but for what an allocator does not give back.
const GROWTH_MAX_MIB: f64 = 4.0;
/// Whatever is waited for comes within this.
const DEADLINE: Duration = Duration::from_secs(30);

/// What a port counts at first.
pub(crate) const ORIGIN: u64 = 1000;

/// A running agent and its directory.
pub(crate) struct Trial {
    child: Child,
    pub(crate) address: String,
    root: tempfile::TempDir,
    step: u64,
    shown: [u64; OTHERS.len()],
}

impl Trial {
    /// The built agent on three ports in a directory.
    pub(crate) fn start(more: &[&str]) -> Self {
        let root = fill();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rocewatch"));
        command.args(["run", "--source.directory"]).arg(root.path());
        command.arg("--web.listen-address=127.0.0.1:0").args(more);
        for (key, name) in [("runtime", "run"), ("incidents", "incidents")] {
            command.arg(format!("--{key}.path={}", root.path().join(name).display()));
        }
        Self::of(command, root)
    }

    /// An agent whose node hangs as `hang` says once [`Trial::hang`] is called. `test` is the calling test: it has to
    /// begin with `if is_child() { return run_child() }`.
    pub(crate) fn hanging(test: &str, hang: Hang) -> Self {
        let root = fill();
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
        hang.tell(&mut command, root.path());
        Self::of(command, root)
    }

    fn of(mut command: Command, root: tempfile::TempDir) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // `run` logs where it listens, a child prints it in the same words.
        let (tell, told) = channel();
        follow(child.stdout.take().unwrap(), tell.clone());
        follow(child.stderr.take().unwrap(), tell);
        let address = told.recv_timeout(DEADLINE).expect("the agent says where it listens");
        let mut trial = Self { child, address, root, step: 0, shown: [0; OTHERS.len()] };
        for netdev in OTHERS.into_iter().chain([BAD]) {
            trial.wait_for(&format!("the first reading of {netdev}"), |page| sent(page, netdev));
        }
        trial.look();
        trial
    }

    /// A file of a port.
    pub(crate) fn file(&self, netdev: &str, name: &str) -> PathBuf {
        self.root.path().join("net").join(netdev).join(name)
    }

    /// Below the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// From now on what was chosen hangs.
    pub(crate) fn hang(&self) {
        hanging::begin(self.root.path());
    }

    pub(crate) fn page(&self) -> String {
        let url = format!("http://{}/metrics", self.address);
        let agent = ureq::Agent::new_with_config(
            ureq::config::Config::builder().timeout_global(Some(DEADLINE)).build(),
        );
        agent
            .get(&url)
            .call()
            .unwrap_or_else(|error| panic!("{url}: {error}"))
            .body_mut()
            .read_to_string()
            .unwrap()
    }

    /// Waits until `seen` makes something of the page.
    pub(crate) fn wait_for<T>(&self, what: &str, seen: impl Fn(&str) -> Option<T>) -> T {
        let until = clock::now() + DEADLINE;
        loop {
            let page = self.page();
            if let Some(found) = seen(&page) {
                return found;
            }
            assert!(clock::now() < until, "{what} did not come; the page:\n{page}");
            thread::sleep(LOOK);
        }
    }

    /// Lets the other ports count on, does `again` with each step, and judges what is shown of all. `known` says of a
    /// value of the bad port whether it was ever counted.
    pub(crate) fn judge(&mut self, what: &str, mut again: impl FnMut(&Self), known: impl Fn(u64) -> bool) {
        let length = env::var(LENGTH).ok().map_or(SHORT, |text| Duration::from_secs(text.parse().unwrap()));
        let before = self.page();
        // What a fault costs once is no growth.
        again(self);
        self.look();
        let (mut resident, began) = (self.resident_mib(), clock::now());
        let mut most = resident;
        let full = FULL.min(length / 4);
        while clock::now().since(began) < length {
            again(self);
            let page = self.look();
            assert!(sent(&page, BAD).is_none_or(&known), "{what}: nobody counted {:?}", sent(&page, BAD));
            if clock::now().since(began) < full {
                resident = resident.max(self.resident_mib());
            }
            most = most.max(self.resident_mib());
            thread::sleep(LOOK);
        }
        let (after, end) = (self.page(), self.resident_mib());
        let mut told = String::new();
        for netdev in OTHERS {
            told += &on_time(what, netdev, &before, &after, began);
        }
        println!(
            "{what}: {} s, {told}resident {resident:.1} MiB at first, {most:.1} at most, {end:.1} at the end",
            length.as_secs()
        );
        assert!(end - resident < GROWTH_MAX_MIB, "{what}: memory grew from {resident:.1} to {end:.1} MiB");
    }

    /// One step of the other ports; the page, on which each shows something that it has counted, and no less than
    /// before.
    fn look(&mut self) -> String {
        self.step += 1;
        for netdev in OTHERS {
            replace(&self.file(netdev, "ethtool.txt"), &ethtool(ORIGIN + self.step * 10));
        }
        let page = self.page();
        for (netdev, shown) in OTHERS.into_iter().zip(&mut self.shown) {
            let sent =
                sent(&page, netdev).unwrap_or_else(|| panic!("{netdev} is gone from the page:\n{page}"));
            let counted = ORIGIN..=ORIGIN + self.step * 10;
            assert!(
                sent.is_multiple_of(10) && counted.contains(&sent),
                "{netdev} shows {sent}, counted {counted:?}"
            );
            assert!(sent >= *shown, "{netdev} went back from {shown} to {sent}");
            *shown = sent;
        }
        page
    }

    fn resident_mib(&self) -> f64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("the agent still runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hands on the address that a stream tells; all of it is read, so that nobody has to wait.
fn follow(stream: impl Read + Send + 'static, tell: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if let Some((_, rest)) = line.split_once("listening address=") {
                // Nobody listens any more when it was told twice.
                let _ = tell.send(rest.split(' ').next().unwrap_or_default().to_owned());
            }
        }
    });
}

fn fill() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for netdev in OTHERS.into_iter().chain([BAD]) {
        port(root.path(), netdev, &ethtool(ORIGIN));
    }
    let counters = root.path().join("sys/class/infiniband/mlx5_0/ports/1/hw_counters");
    replace(&counters.join("np_cnp_sent"), "12\n");
    root
}

/// Makes a port of a directory.
pub(crate) fn port(root: &Path, netdev: &str, ethtool: &str) {
    let folder = root.join("net").join(netdev);
    replace(&folder.join("driver"), "mlx5_core\n");
    replace(&folder.join("link.json"), r#"{"carrier":true,"speed_mbps":100000,"mtu":4200}"#);
    replace(&folder.join("dcb.json"), r#"{"pfc":[3]}"#);
    replace(&folder.join("ethtool.txt"), ethtool);
}

/// Counters of a port that has sent so many packets.
pub(crate) fn ethtool(sent: u64) -> String {
    format!(
        "rx_packets_phy: 5\ntx_packets_phy: {sent}\ntx_prio3_packets: 7\nrx_prio3_packets: 5\nrx_prio3_pause: 0\n\
         rx_prio3_pause_duration: 0\n"
    )
}

/// The series of a port.
pub(crate) fn series(netdev: &str, name: &str) -> String {
    format!(r#"{name}{{device="",port="",netdev="{netdev}"}}"#)
}

/// The packets a port has sent, as the page shows them.
pub(crate) fn sent(page: &str, netdev: &str) -> Option<u64> {
    value(page, &series(netdev, "rocewatch_port_transmit_packets_total")).map(|sent| sent as u64)
}

/// Polls of a port, and those of them that were late.
fn polls(page: &str, netdev: &str) -> (f64, f64) {
    let name = "rocewatch_watchdog_poll_lateness_seconds";
    let count = value(page, &series(netdev, &format!("{name}_count"))).unwrap();
    let labels = format!(r#"device="",port="",netdev="{netdev}",le="{LATE_SECONDS}""#);
    (count, count - value(page, &format!("{name}_bucket{{{labels}}}")).unwrap())
}

/// Judges the polls of one port between two pages, and says how they were.
fn on_time(what: &str, netdev: &str, before: &str, after: &str, began: MonoTime) -> String {
    let ((count, late), (count_then, late_then)) = (polls(after, netdev), polls(before, netdev));
    let (count, late) = (count - count_then, late - late_then);
    let due = clock::now().since(began).as_secs_f64() / CALM.as_secs_f64();
    assert!(count >= due / 2.0, "{what}: {netdev} was read {count} times, {due:.0} were due");
    assert!(late <= (count / LATE_ONE_IN).max(1.0), "{what}: {late} of {count} polls of {netdev} were late");
    format!("{netdev} {count} polls, {late} of them late; ")
}
