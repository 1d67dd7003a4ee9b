//! What the agent measures on one port beside its counters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rocewatch_core::catalog::{Family, FamilyKind};
use rocewatch_core::units::nanos;

use super::super::sheet::Distribution;
use super::{Collector, Count, ReadStats, lock};
use crate::sources::PortFacts;
use crate::sys::link::LinkStats;

/// The counts of one port.
#[derive(Debug, Default)]
pub struct PortStats {
    /// Its reads.
    pub reads: ReadStats,
    /// Readings that failed, were thrown away or came more than an interval late.
    pub(in crate::export) missed: Count,
    pub(in crate::export) lateness: Lateness,
    statistics: Mutex<Option<LinkStats>>,
    facts: Mutex<Arc<PortFacts>>,
    flavour: Mutex<&'static str>,
    raw: Mutex<Raw>,
}

/// Counters under the driver's own names; no values before the first reading under these names.
#[derive(Debug, Default)]
struct Raw {
    names: Vec<String>,
    values: Vec<u64>,
}

impl PortStats {
    /// Takes a reading of the watchdog's counters that began `late` after its time, with one due every `interval`.
    pub fn note_poll(&self, late: Duration, interval: Duration) {
        self.lateness.observe(late);
        if late > interval {
            self.missed.one();
        }
    }

    /// Takes the end of a read of the watchdog's counters that took `took`: one that failed is a missed one.
    pub fn note_read(&self, collector: Collector, took: Duration, result: Result<(), &str>) {
        if result.is_err() {
            self.missed.one();
        }
        self.reads.note_read(collector, took, result);
    }

    /// Takes that a reading was thrown away because the engine had no room for it.
    pub fn note_dropped(&self) {
        self.missed.one();
    }

    /// Takes the interface statistics.
    pub fn note_statistics(&self, statistics: LinkStats) {
        *lock(&self.statistics) = Some(statistics);
    }

    /// Takes the names of the counters that are shown as the driver calls them.
    pub fn name_raw(&self, names: Vec<String>) {
        *lock(&self.raw) = Raw { names, values: Vec::new() };
    }

    /// Takes their values, in the order of the names.
    pub fn note_raw(&self, values: impl Iterator<Item = u64>) {
        let raw = &mut *lock(&self.raw);
        raw.values.clear();
        raw.values.extend(values);
    }

    /// The counters that are shown as the driver calls them.
    #[must_use]
    pub fn raw(&self) -> Vec<(String, u64)> {
        let raw = lock(&self.raw);
        raw.names.iter().cloned().zip(raw.values.iter().copied()).collect()
    }

    /// Takes what sort of port devlink says it is.
    pub fn note_flavour(&self, flavour: &'static str) {
        *lock(&self.flavour) = flavour;
    }

    /// What sort of port devlink says it is; empty where it says nothing.
    #[must_use]
    pub fn flavour(&self) -> &'static str {
        *lock(&self.flavour)
    }

    /// Takes what was found out beside the counters.
    pub fn note_facts(&self, facts: PortFacts) {
        *lock(&self.facts) = Arc::new(facts);
    }

    /// What was found out beside the counters.
    #[must_use]
    pub fn facts(&self) -> Arc<PortFacts> {
        Arc::clone(&lock(&self.facts))
    }

    /// The interface statistics, once they were read.
    #[must_use]
    pub fn statistics(&self) -> Option<LinkStats> {
        *lock(&self.statistics)
    }
}

/// How late readings were, as a distribution. One thread observes, so that no bucket needs a lock.
#[derive(Debug)]
pub(in crate::export) struct Lateness {
    bounds: &'static [u64],
    counts: Vec<AtomicU64>,
    sum: AtomicU64,
}

impl Default for Lateness {
    fn default() -> Self {
        let family = Family::named("rocewatch_watchdog_poll_lateness_seconds");
        let bounds = match family.map(|family| family.kind) {
            Some(FamilyKind::Histogram(bounds)) => bounds,
            Some(FamilyKind::Counter | FamilyKind::Gauge | FamilyKind::Info) | None => &[],
        };
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0) }
    }
}

impl Lateness {
    fn observe(&self, late: Duration) {
        let late = nanos(late);
        let bucket = self.bounds.iter().position(|bound| late <= *bound).unwrap_or(self.bounds.len());
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(late, Ordering::Relaxed);
    }

    pub(in crate::export) fn distribution(&self) -> Distribution {
        Distribution {
            bounds: self.bounds.to_vec(),
            counts: self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_more_than_an_interval_late_and_a_failed_one_are_missed() {
        let port = PortStats::default();
        let interval = Duration::from_millis(50);
        port.note_poll(interval, interval);
        port.note_read(Collector::Ethtool, Duration::from_millis(1), Ok(()));
        assert_eq!(port.missed.get(), 0);
        port.note_poll(Duration::from_millis(51), interval);
        port.note_read(Collector::Ethtool, Duration::from_millis(1), Err("EIO"));
        assert_eq!(port.missed.get(), 2);
        let lateness = port.lateness.distribution();
        assert_eq!(lateness.counts.iter().sum::<u64>(), 2);
        assert_eq!(lateness.sum, 101_000_000);
        assert!(!lateness.bounds.is_empty());
    }
}
