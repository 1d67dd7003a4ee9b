//! A program under measurement, and what the kernel says of it.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rocewatch::clock;

use crate::client::Client;

/// Both programs serve well within this.
const START_MAX: Duration = Duration::from_secs(20);
/// `USER_HZ`, in which the kernel tells times to user space on every architecture we run on (proc(5)).
const TICKS_PER_SECOND: u64 = 100;

/// A running program that serves metrics; ended with the value.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: String,
}

/// Processor time.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// All of it, as the scheduler counts it.
    pub(crate) total: Duration,
    /// The part outside the kernel, which is sampled.
    pub(crate) user: Duration,
    /// The part inside.
    pub(crate) system: Duration,
}

impl Process {
    /// Starts `command` with an address of its own behind `flag`, and waits until it serves.
    pub(crate) fn start(command: &mut Command, flag: &str) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let mut child = command
            .arg(format!("{flag}{address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = clock::now() + START_MAX;
        while Client::connect(&address).is_err() {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none() && clock::now() < until, "{command:?} does not serve: {ended:?}");
            thread::sleep(Duration::from_millis(20));
        }
        Self { child, address }
    }

    /// Processor time used so far.
    pub(crate) fn times(&self) -> Times {
        times_of(&self.child.id().to_string())
    }

    /// Resident memory, MiB.
    pub(crate) fn resident_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processor time of a process, named as in `/proc`.
pub(crate) fn times_of(pid: &str) -> Times {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    // A thread that ends meanwhile is not counted.
    let of_task = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    let total = Duration::from_nanos(tasks.filter_map(of_task).sum());
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name, in parentheses, may hold blanks; behind it the fields count from the third.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = |field: usize| {
        Duration::from_millis(fields[field - 3].parse::<u64>().unwrap() * 1000 / TICKS_PER_SECOND)
    };
    Times { total, user: ticks(14), system: ticks(15) }
}

impl Times {
    /// What was used since `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            total: self.total.saturating_sub(before.total),
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }
}

/// `part` of one core over `span`, in percent.
pub(crate) fn percent(part: Duration, span: Duration) -> f64 {
    part.as_secs_f64() / span.as_secs_f64() * 100.0
}
