//! Measures the promise of detection over many seeded trials, in virtual time. Every sample counts, not the median.
//!
//! Each trial is a world of its own: its own jitter, lost and late readings, its own phase between pause and reading.

mod detection;
mod many;
mod probe;

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::random::Random;
use crate::units::nanos;

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What is measured.
    pub name: &'static str,
    /// What has to hold in every trial.
    pub promise: &'static str,
    /// Trials.
    pub trials: u64,
    /// Trials in which it held.
    pub kept: u64,
    /// Trials that were below the lower bound, or in which something was found that was not there.
    pub early: u64,
    /// Trials that were above the upper bound, or in which nothing was found.
    pub late: u64,
    /// How long it took, where that is measured.
    pub latency: Option<Latency>,
    /// What else was counted, such as refusals by their reason.
    pub counted: Vec<(String, u64)>,
}

/// A distribution of latencies, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// The smallest.
    pub min_us: u64,
    /// Half are at most this.
    pub median_us: u64,
    /// Of a hundred, 99 are at most this.
    pub p99_us: u64,
    /// The largest.
    pub max_us: u64,
    /// The least that any sample came closer to its upper bound than this.
    pub margin_us: u64,
}

impl Row {
    const fn new(name: &'static str, promise: &'static str) -> Self {
        Self { name, promise, trials: 0, kept: 0, early: 0, late: 0, latency: None, counted: Vec::new() }
    }

    /// Whether the promise held in all trials.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.kept == self.trials && self.trials > 0
    }
}

/// What became of one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sample {
    /// It took so long, and might have taken so much longer.
    Took { latency: Duration, lower: Duration, upper: Duration },
    /// Nothing was to be found, and nothing was.
    Quiet,
    /// Something was found that was not there.
    False,
    /// What was there was not found.
    Missed,
}

/// Adds the samples of a row up.
fn summed(mut row: Row, samples: impl IntoIterator<Item = Sample>) -> Row {
    let mut latencies = Vec::new();
    let mut margin = Duration::MAX;
    for sample in samples {
        row.trials += 1;
        match sample {
            Sample::Quiet => row.kept += 1,
            Sample::False => row.early += 1,
            Sample::Missed => row.late += 1,
            Sample::Took { latency, lower, upper } => {
                latencies.push(nanos(latency) / 1000);
                margin = margin.min(upper.saturating_sub(latency));
                row.early += u64::from(latency < lower);
                row.late += u64::from(latency > upper);
                row.kept += u64::from(latency >= lower && latency <= upper);
            }
        }
    }
    latencies.sort_unstable();
    let at = |permille: usize| latencies.get((latencies.len() * permille / 1000).min(latencies.len() - 1));
    row.latency = latencies.first().map(|min| Latency {
        min_us: *min,
        median_us: at(500).copied().unwrap_or(*min),
        p99_us: at(990).copied().unwrap_or(*min),
        max_us: latencies.last().copied().unwrap_or(*min),
        margin_us: nanos(margin) / 1000,
    });
    row
}

/// The whole table: `trials` of each kind of storm and burst, a tenth of that for longer ones, and a hundredth for
/// whole nodes.
#[must_use]
pub fn table(trials: u64, seed: u64) -> Vec<Row> {
    let mut random = Random::new(seed);
    let tenth = trials.div_ceil(10);
    let few = trials.div_ceil(500);
    vec![
        detection::from_calm(trials, &mut random),
        detection::from_fast(trials, &mut random),
        detection::from_calm_on_time(trials, &mut random),
        detection::from_fast_on_time(trials, &mut random),
        detection::below_the_share(trials, &mut random),
        detection::bursts_of_half_the_calm_interval(trials, &mut random),
        detection::bursts_of_half_the_fast_interval(trials, &mut random),
        detection::storms_of_half_the_window(tenth, &mut random),
        detection::xoff_to_xon(tenth, &mut random),
        detection::slow_source(tenth, &mut random),
        detection::slow_source_bursts(tenth, &mut random),
        detection::pauses_that_are_over(trials, &mut random),
        many::all_found(few, &mut random),
        many::all_restored(few, &mut random),
        many::default_limits(few, &mut random),
        many::two_at_once(few, &mut random),
    ]
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {} ({})", self.name, self.kept, self.trials, self.promise)?;
        if let Some(latency) = self.latency {
            let Latency { min_us, median_us, p99_us, max_us, margin_us } = latency;
            write!(f, "; ms min {} median {}", millis(min_us), millis(median_us))?;
            write!(f, " p99 {} max {}, margin {}", millis(p99_us), millis(max_us), millis(margin_us))?;
        }
        if self.early + self.late > 0 {
            write!(f, "; {} early or false, {} late or missed", self.early, self.late)?;
        }
        for (what, count) in &self.counted {
            write!(f, "; {what} {count}")?;
        }
        Ok(())
    }
}

/// Microseconds as milliseconds with one decimal.
fn millis(micros: u64) -> String {
    format!("{}.{}", micros / 1000, micros % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_promise_holds_in_every_trial() {
        for row in table(300, 1) {
            assert!(row.holds(), "{row}");
        }
    }

    #[test]
    fn a_sample_outside_its_bounds_is_counted_by_the_bound_it_breaks() {
        let took = |millis| Sample::Took {
            latency: Duration::from_millis(millis),
            lower: Duration::from_millis(190),
            upper: Duration::from_millis(490),
        };
        let samples = [took(189), took(190), took(490), took(491), Sample::Missed, Sample::False];
        let row = summed(Row::new("test", "test"), samples);
        assert_eq!((row.trials, row.kept, row.early, row.late), (6, 2, 2, 2));
        assert!(!row.holds());
        let latency = row.latency.unwrap();
        assert_eq!((latency.min_us, latency.max_us, latency.margin_us), (189_000, 491_000, 0));
    }
}
