//! The host and the agent itself as the operating system sees them, by `sysinfo`, and pressure by the kernel's own files.
//! Reads procfs, and nothing of a NIC.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System};

/// The host and the agent at one moment. What cannot be had is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostFacts {
    /// Processors.
    pub cpus: Option<u64>,
    /// Share of the processors' time in use since the reading before, 0 to 1.
    pub cpu_usage: Option<f64>,
    /// Load average over 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// Memory.
    pub memory_bytes: Option<u64>,
    /// Memory that can be had without swapping.
    pub memory_available_bytes: Option<u64>,
    /// How long some task has waited for a resource since boot, by resource. A host whose processors or memory are short
    /// posts its receive buffers late, and its NIC pauses the fabric.
    pub pressure: Vec<(&'static str, Duration)>,
    /// The agent's own process.
    pub process: Option<ProcessFacts>,
}

/// The agent's own process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Processor time used, user and system.
    pub cpu: Duration,
    /// Resident memory.
    pub resident_bytes: u64,
    /// Address space.
    pub virtual_bytes: u64,
    /// Open file descriptors.
    pub open_fds: Option<u64>,
    /// The most file descriptors it may open.
    pub max_fds: Option<u64>,
    /// When it started, since 1970.
    pub started: Duration,
}

/// Reads the host again and again; each reading takes a few file reads.
#[derive(Debug)]
pub struct HostProbe {
    system: System,
    pressure: PathBuf,
    own: Pid,
    readings: u64,
}

/// The operating system gives no access to the host's facts.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the facts of this host: expected a Linux with /proc")]
pub struct HostUnreadable(#[source] sysinfo::Error);

impl HostProbe {
    /// A probe that has read nothing yet. `procfs` is where procfs is mounted.
    ///
    /// # Errors
    /// The operating system gives no access.
    pub fn new(procfs: &Path) -> Result<Self, HostUnreadable> {
        let own = sysinfo::get_current_pid().map_err(HostUnreadable)?;
        let system = System::new().map_err(HostUnreadable)?;
        Ok(Self { system, pressure: procfs.join("pressure"), own, readings: 0 })
    }

    /// Reads the host. Readings closer than 200 ms see no new processor usage.
    pub fn read(&mut self) -> HostFacts {
        self.system.refresh_memory();
        self.system.refresh_cpu_usage();
        let wanted = ProcessRefreshKind::nothing().with_memory().with_cpu();
        self.system.refresh_processes_specifics(ProcessesToUpdate::Some(&[self.own]), false, wanted);
        self.readings += 1;
        let cpus = self.system.cpus().len() as u64;
        let usage = f64::from(self.system.global_cpu_usage()) / 100.0;
        let memory_bytes = some(self.system.total_memory());
        HostFacts {
            cpus: some(cpus),
            // Usage is a difference between two readings.
            cpu_usage: (self.readings > 1 && cpus > 0).then_some(usage),
            load: System::load_average().ok().map(|load| [load.one, load.five, load.fifteen]),
            memory_bytes,
            memory_available_bytes: memory_bytes.map(|_| self.system.available_memory()),
            pressure: RESOURCES
                .into_iter()
                .filter_map(|resource| {
                    let text = fs::read_to_string(self.pressure.join(resource)).ok()?;
                    Some((resource, waited(&text)?))
                })
                .collect(),
            process: self.system.process(self.own).map(process),
        }
    }
}

/// The resources that the kernel accounts pressure for (Documentation/accounting/psi.rst).
const RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

/// The time of the line `some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS`.
fn waited(text: &str) -> Option<Duration> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = line.split(' ').find_map(|word| word.strip_prefix("total="))?;
    total.parse().ok().map(Duration::from_micros)
}

fn process(process: &Process) -> ProcessFacts {
    ProcessFacts {
        cpu: Duration::from_millis(process.accumulated_cpu_time()),
        resident_bytes: process.memory(),
        virtual_bytes: process.virtual_memory(),
        open_fds: process.open_files().map(|count| count as u64),
        max_fds: process.open_files_limit().map(|count| count as u64),
        started: Duration::from_secs(process.start_time()),
    }
}

/// A number that cannot be zero where it is known: the library writes 0 for unknown.
fn some(number: u64) -> Option<u64> {
    (number > 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_the_time_in_which_some_task_waited() {
        let text = "some avg10=1.00 avg60=0.50 avg300=0.10 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(waited(text), Some(Duration::from_millis(2500)));
        for broken in ["", "full total=7\n", "some avg10=1.00\n", "some total=-1\n", "some total=\n"] {
            assert_eq!(waited(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_host_has_processors_and_memory_and_this_process_uses_some() {
        let mut probe = HostProbe::new(Path::new("/proc")).unwrap();
        let first = probe.read();
        assert!(first.cpus.unwrap() > 0);
        assert!(first.memory_available_bytes.unwrap() <= first.memory_bytes.unwrap());
        assert_eq!(first.cpu_usage, None);
        let process = first.process.unwrap();
        assert!(process.resident_bytes > 0 && process.virtual_bytes >= process.resident_bytes);
        assert!(process.open_fds.unwrap() > 0 && process.max_fds.unwrap() >= process.open_fds.unwrap());
        assert!(process.started > Duration::from_secs(1_500_000_000));
        let usage = probe.read().cpu_usage.unwrap();
        assert!((0.0..=1.0).contains(&usage), "{usage}");
    }
}
