//! How often a port's counters are refreshed, as it is said, and as it is measured from the readings alone.
//!
//! Two readings in a row that both differ show a source that is at least as fast as the readings. A source is slow
//! if its values change in steps of equal length with several unchanged readings between them, although it carries
//! more traffic than one packet a step: an idle port with a heartbeat looks slow and is not.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::input::SourceRefresh;
use crate::units::MonoTime;

use super::port::Port;

/// Steps of equal length that have to be seen.
const STEPS: u32 = 8;
/// Readings without change between two changes, at least.
const UNCHANGED_MIN: u32 = 2;
/// Packets per step, at least.
const PACKETS_MIN: u64 = 50;
/// Readings this close that differ twice in a row show a source that is as good as live.
const LIVE: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RefreshMeter {
    changed_at: Option<MonoTime>,
    /// When the last reading was, and the longest time between two of them within a step.
    read_at: Option<MonoTime>,
    grain: Duration,
    unchanged: u32,
    rapid: u32,
    steps: u32,
    shortest: Duration,
    longest: Duration,
    packets: u64,
    measured: Option<Duration>,
}

impl RefreshMeter {
    /// The refresh as measured; zero for a live source, `None` if nothing is known.
    pub(super) const fn measured(&self) -> Option<Duration> {
        self.measured
    }

    /// Notes a reading.
    pub(super) fn note(&mut self, at: MonoTime, differs: bool) {
        let grain = self.read_at.replace(at).map_or(Duration::ZERO, |before| at.since(before));
        self.grain = self.grain.max(grain);
        if !differs {
            self.unchanged += 1;
            return;
        }
        let step = self.changed_at.map(|before| at.since(before));
        let between = std::mem::take(&mut self.unchanged);
        self.changed_at = Some(at);
        let Some(step) = step else { return };
        if between < UNCHANGED_MIN {
            self.note_rapid(step, between);
            return;
        }
        self.rapid = 0;
        self.shortest = if self.steps == 0 { step } else { self.shortest.min(step) };
        self.longest = self.longest.max(step);
        self.steps += 1;
        if self.longest > self.shortest * 5 / 4 + self.grain {
            self.forget_steps();
        } else if self.steps >= STEPS && self.packets >= PACKETS_MIN * u64::from(self.steps) {
            self.measured = Some((self.shortest + self.longest) / 2);
        }
    }

    fn note_rapid(&mut self, step: Duration, between: u32) {
        self.rapid = if between == 0 && step <= LIVE { self.rapid + 1 } else { 0 };
        self.forget_steps();
        if self.rapid >= 2 {
            self.measured = Some(Duration::ZERO);
        } else if self.measured.is_some_and(|refresh| step < refresh / 2) {
            self.measured = None;
        }
    }

    fn forget_steps(&mut self) {
        self.steps = 0;
        self.grain = Duration::ZERO;
        self.longest = Duration::ZERO;
        self.packets = 0;
    }

    /// Notes packets that the last changed reading showed.
    pub(super) fn note_traffic(&mut self, packets: u64) {
        self.packets = self.packets.saturating_add(packets);
    }
}

impl Port {
    /// How often the source refreshes: what was measured, else what it tells, else what its driver's table says.
    /// Zero for a source that is read live.
    pub(super) fn refresh(&self) -> Duration {
        self.meter.measured().unwrap_or(match self.refresh_told {
            Some(SourceRefresh::Every(period)) => period,
            Some(SourceRefresh::Never) | None => self.caps.refresh.period(),
        })
    }

    /// Whether the source says that it never refreshes, and nothing has shown otherwise.
    pub(super) fn is_never_refreshed(&self) -> bool {
        self.refresh_told == Some(SourceRefresh::Never) && self.meter.measured().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads every 50 ms a source that changes every `refresh` ms and carries `packets` each time.
    fn meter(refresh: u64, packets: u64) -> RefreshMeter {
        let mut meter = RefreshMeter::default();
        for reading in 1..600u64 {
            let now = reading * 50;
            let differs = now / refresh != (now - 50) / refresh;
            meter.note(MonoTime::from_millis(now), differs);
            if differs {
                meter.note_traffic(packets);
            }
        }
        meter
    }

    #[test]
    fn a_block_written_once_a_second_is_measured() {
        assert_eq!(meter(1000, 5000).measured(), Some(Duration::from_secs(1)));
    }

    #[test]
    fn a_refresh_of_a_few_readings_is_measured_although_no_reading_meets_it() {
        let mut meter = RefreshMeter::default();
        let (mut now, mut before) = (0u64, 0u64);
        for reading in 0..200u64 {
            // 45 to 55 ms, without a pattern.
            now += 45 + reading * reading * 7 % 11;
            let differs = now / 230 != before / 230;
            before = now;
            meter.note(MonoTime::from_millis(now), differs);
            if differs {
                meter.note_traffic(5000);
            }
        }
        let measured = meter.measured().unwrap();
        assert!(measured.abs_diff(Duration::from_millis(230)) < Duration::from_millis(40), "{measured:?}");
    }

    #[test]
    fn a_live_source_is_seen_at_its_second_change_in_a_row() {
        assert_eq!(meter(50, 5000).measured(), Some(Duration::ZERO));
    }

    #[test]
    fn a_heartbeat_on_an_idle_port_is_no_slow_source() {
        assert_eq!(meter(1000, 1).measured(), None);
    }

    #[test]
    fn a_slow_source_that_becomes_fast_is_believed_at_once() {
        let mut meter = meter(1000, 5000);
        let late = 40_000;
        for reading in 0..3 {
            meter.note(MonoTime::from_millis(late + reading * 50), true);
        }
        assert_eq!(meter.measured(), Some(Duration::ZERO));
    }
}
