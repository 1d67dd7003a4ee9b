//! How reading the sources goes: whether it worked the last time, how long it took, and what went wrong how often.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rocewatch_core::units::{MonoTime, nanos};

use super::lock;

/// A source of numbers, as the label `collector` calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Collector {
    /// Driver statistics by ioctl.
    Ethtool,
    /// RDMA counters.
    Rdma,
    /// Links and their statistics by rtnetlink.
    Link,
    /// DCB settings by rtnetlink.
    Dcb,
    /// Pause, error correction, coalescing and link detail by ethtool's netlink family.
    EthtoolNetlink,
    /// Health reporters by devlink.
    Devlink,
    /// A directory in place of the kernel.
    Directory,
    /// A simulated node in place of the kernel.
    Simulation,
    /// NVMe-oF controllers, and what nvmet serves.
    Nvmf,
    /// The host and the agent's own process.
    Host,
}

impl Collector {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Ethtool,
        Self::Rdma,
        Self::Link,
        Self::Dcb,
        Self::EthtoolNetlink,
        Self::Devlink,
        Self::Directory,
        Self::Simulation,
        Self::Nvmf,
        Self::Host,
    ];

    /// As metrics write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ethtool => "ethtool",
            Self::Rdma => "rdma",
            Self::Link => "link",
            Self::Dcb => "dcb",
            Self::EthtoolNetlink => "ethtool_netlink",
            Self::Devlink => "devlink",
            Self::Directory => "directory",
            Self::Simulation => "simulation",
            Self::Nvmf => "nvmf",
            Self::Host => "host",
        }
    }
}

/// The reads of one port, or of the node.
#[derive(Debug, Default)]
pub struct ReadStats {
    last: [Last; Collector::ALL.len()],
    failures: Mutex<BTreeMap<(Collector, String), u64>>,
}

/// A read that has not come back after this long hangs: even a NIC that is being reset answers sooner, or fails.
const HANGS_AFTER: Duration = Duration::from_secs(5);

/// The last read of one source. Zero is "none yet"; a span is stored one nanosecond longer than it was.
#[derive(Debug, Default)]
struct Last {
    succeeded: AtomicU64,
    failed: AtomicU64,
    /// Since when one is under way.
    open: AtomicU64,
}

impl ReadStats {
    /// Takes that a read of `collector` begins. One thread reads a source of a port.
    pub fn note_begin(&self, collector: Collector, now: MonoTime) {
        self.last[collector as usize].open.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// Takes the end of a read of `collector` that took `took`. A failure is named as metrics write it: the kernel's
    /// error name, or one of a few kinds, so that the labels stay bounded.
    pub fn note_read(&self, collector: Collector, took: Duration, result: Result<(), &str>) {
        let last = &self.last[collector as usize];
        last.open.store(0, Ordering::Relaxed);
        let took = nanos(took).saturating_add(1);
        match result {
            Ok(()) => {
                last.succeeded.store(took, Ordering::Relaxed);
                last.failed.store(0, Ordering::Relaxed);
            }
            Err(failure) => {
                last.failed.store(took, Ordering::Relaxed);
                last.succeeded.store(0, Ordering::Relaxed);
                *lock(&self.failures).entry((collector, failure.to_owned())).or_default() += 1;
            }
        }
    }

    /// Whether the last read of `collector` worked, and how long it took; `None` before the first. One that hangs has
    /// not worked, and has taken as long as it hangs.
    #[must_use]
    pub fn last(&self, collector: Collector, now: MonoTime) -> Option<(bool, Duration)> {
        let last = &self.last[collector as usize];
        let open = match last.open.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            began => now.since(MonoTime::from_nanos(began)),
        };
        if open > HANGS_AFTER {
            return Some((false, open));
        }
        let stored = |atomic: &AtomicU64| atomic.load(Ordering::Relaxed).checked_sub(1);
        let failed = stored(&last.failed).map(|took| (false, took));
        let (worked, took) = failed.or_else(|| stored(&last.succeeded).map(|took| (true, took)))?;
        Some((worked, Duration::from_nanos(took)))
    }

    /// Failed reads by source and reason.
    #[must_use]
    pub fn failures(&self) -> BTreeMap<(Collector, String), u64> {
        lock(&self.failures).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectors_stand_in_the_order_of_their_numbers() {
        assert!(Collector::ALL.iter().enumerate().all(|(index, collector)| *collector as usize == index));
    }

    #[test]
    fn the_last_read_counts_and_failures_add_up() {
        let reads = ReadStats::default();
        let now = MonoTime::from_millis(1);
        assert_eq!(reads.last(Collector::Ethtool, now), None);
        reads.note_read(Collector::Ethtool, Duration::from_millis(3), Err("ETIMEDOUT"));
        reads.note_read(Collector::Ethtool, Duration::from_millis(4), Err("ETIMEDOUT"));
        assert_eq!(reads.last(Collector::Ethtool, now), Some((false, Duration::from_millis(4))));
        reads.note_read(Collector::Ethtool, Duration::ZERO, Ok(()));
        assert_eq!(reads.last(Collector::Ethtool, now), Some((true, Duration::ZERO)));
        assert_eq!(reads.failures(), [((Collector::Ethtool, "ETIMEDOUT".to_owned()), 2)].into());
        assert_eq!(reads.last(Collector::Rdma, now), None);
    }

    #[test]
    fn a_read_that_hangs_has_not_worked_until_it_comes_back() {
        let reads = ReadStats::default();
        reads.note_read(Collector::Dcb, Duration::from_millis(3), Ok(()));
        reads.note_begin(Collector::Dcb, MonoTime::from_millis(1000));
        let at = |millis| reads.last(Collector::Dcb, MonoTime::from_millis(millis));
        assert_eq!(at(6000), Some((true, Duration::from_millis(3))));
        assert_eq!(at(6001), Some((false, Duration::from_millis(5001))));
        reads.note_read(Collector::Dcb, Duration::from_secs(8), Ok(()));
        assert_eq!(at(9000), Some((true, Duration::from_secs(8))));
    }
}
