//! The only place that subtracts counters.
//!
//! A counter only grows, but what is read of it may not: it wraps at its width, is reset with its device, jumps
//! when a driver widens a reset (bnxt_en's `bnxt_add_one_ctr`), or reads 0 for a moment. None of these is growth,
//! and none is "nothing happened": each is a typed reason not to know.

use serde::{Deserialize, Serialize};

use crate::drivers::{Overflow, Width};

/// How much a counter has grown since the reading before, or why that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Grown by this much, in native units.
    By(u64),
    /// Not known.
    Unknown(Gap),
}

impl Change {
    /// The growth, if it is known.
    #[must_use]
    pub const fn known(self) -> Option<u64> {
        match self {
            Self::By(growth) => Some(growth),
            Self::Unknown(_) => None,
        }
    }
}

/// Why nothing can be said about a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// There is no earlier reading to compare with.
    FirstReading,
    /// The counter's name is not there.
    MissingName,
    /// The counter went back and stayed there.
    Reset,
    /// The counter grew by more than the line can carry.
    ImplausibleJump,
    /// No counter of the port moves although its interface carries packets.
    FrozenSource,
    /// The source says that it never refreshes its counters.
    NeverRefreshed,
    /// The readings are too far apart, or in the wrong order.
    ClockGap,
    /// No reading came for too long.
    NoReading,
}

impl Gap {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::FirstReading,
        Self::MissingName,
        Self::Reset,
        Self::ImplausibleJump,
        Self::FrozenSource,
        Self::NeverRefreshed,
        Self::ClockGap,
        Self::NoReading,
    ];

    /// As metrics and logs write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::FirstReading => "first_reading",
            Self::MissingName => "missing_name",
            Self::Reset => "reset",
            Self::ImplausibleJump => "implausible_jump",
            Self::FrozenSource => "frozen_source",
            Self::NeverRefreshed => "never_refreshed",
            Self::ClockGap => "clock_gap",
            Self::NoReading => "no_reading",
        }
    }
}

/// One counter followed through its readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracker {
    baseline: Option<u64>,
    /// A value that did not follow from the baseline, kept until the next reading confirms or refutes it.
    doubtful: Option<u64>,
    total: u64,
}

impl Tracker {
    /// Takes the next reading. `limit` is the most that can have been added in the time since the last one.
    ///
    /// A value that cannot follow from the one before is not believed at once: FBOSS saw counters that read 0 for
    /// one sample and then went on. The next reading decides whether it was a glitch or a new beginning.
    #[inline]
    pub fn advance(&mut self, raw: u64, width: Width, overflow: Overflow, limit: u64) -> Change {
        if is_no_value(raw, width) {
            return Change::Unknown(Gap::MissingName);
        }
        let Some(baseline) = self.baseline else {
            self.baseline = Some(raw);
            self.total = raw;
            return Change::Unknown(Gap::FirstReading);
        };
        let doubtful = self.doubtful.take();
        if let Some(growth) = growth(baseline, raw, width, overflow, limit) {
            self.baseline = Some(raw);
            self.total = self.total.saturating_add(growth);
            return Change::By(growth);
        }
        self.restart(baseline, doubtful, raw, width, overflow, limit)
    }

    #[cold]
    fn restart(
        &mut self,
        baseline: u64,
        doubtful: Option<u64>,
        raw: u64,
        width: Width,
        overflow: Overflow,
        limit: u64,
    ) -> Change {
        let gap = if raw < baseline { Gap::Reset } else { Gap::ImplausibleJump };
        let Some(growth) = doubtful.and_then(|from| growth(from, raw, width, overflow, limit)) else {
            self.doubtful = Some(raw);
            return Change::Unknown(gap);
        };
        self.baseline = Some(raw);
        // After a reset Prometheus sees the kernel's own, smaller value, as it does everywhere else. After a jump
        // it sees no jump: what was not plausible is not exported.
        self.total = if gap == Gap::Reset { raw } else { self.total.saturating_add(growth) };
        Change::Unknown(gap)
    }

    /// Whether the last value is still doubted: then the next growth counts from the reading before it.
    #[must_use]
    pub const fn is_doubtful(&self) -> bool {
        self.doubtful.is_some()
    }

    /// Forgets the readings, not the total: after a gap in time the next reading is a first one.
    pub fn rebase(&mut self) {
        self.baseline = None;
        self.doubtful = None;
    }

    /// The counter as exported: the kernel's value, widened to 64 bits, in native units. `None` before the first
    /// reading.
    #[must_use]
    pub const fn total(&self) -> Option<u64> {
        match self.baseline {
            Some(_) => Some(self.total),
            None => None,
        }
    }
}

#[inline]
fn growth(from: u64, to: u64, width: Width, overflow: Overflow, limit: u64) -> Option<u64> {
    let growth = match (to.checked_sub(from), overflow) {
        (Some(growth), _) => growth,
        (None, Overflow::Wrap) => to.wrapping_sub(from) & width.max(),
        (None, Overflow::Saturate | Overflow::None) => return None,
    };
    (growth <= limit).then_some(growth)
}

/// Whether a driver says in place of a number that it has none: `ionic_v1_stat_val` of ionic_rdma (Linux 6.18) answers
/// with all ones. No counter of 64 bits gets there by counting.
const fn is_no_value(raw: u64, width: Width) -> bool {
    matches!(width, Width::W64) && raw == u64::MAX
}

/// Whether a counter that stops at its largest value has done so.
#[must_use]
pub fn is_saturated(raw: u64, width: Width, overflow: Overflow) -> bool {
    overflow == Overflow::Saturate && raw >= width.max()
}

/// The growth between two reads taken for one decision, in native units; `None` if the counter went back. A wrap does
/// that too; so shortly after one nothing is known.
#[must_use]
pub const fn growth_between(from: u64, to: u64) -> Option<u64> {
    to.checked_sub(from)
}

/// The growth of a plain 64-bit number that never resets while its device lives (interface statistics).
#[must_use]
pub const fn growth_of_statistics(from: u64, to: u64) -> u64 {
    to.saturating_sub(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLENTY: u64 = 1 << 40;

    fn follow(values: &[u64], width: Width, overflow: Overflow, limit: u64) -> (Vec<Change>, Option<u64>) {
        let mut tracker = Tracker::default();
        let changes = values.iter().map(|raw| tracker.advance(*raw, width, overflow, limit)).collect();
        (changes, tracker.total())
    }

    #[test]
    fn the_first_reading_is_a_baseline_and_no_change() {
        let (changes, total) = follow(&[700], Width::W64, Overflow::None, PLENTY);
        assert_eq!(changes, [Change::Unknown(Gap::FirstReading)]);
        assert_eq!(total, Some(700));
    }

    #[test]
    fn a_plausible_wrap_of_32_bits_is_data() {
        let (changes, total) = follow(&[u64::from(u32::MAX) - 4, 10], Width::W32, Overflow::Wrap, 1000);
        assert_eq!(changes[1], Change::By(15));
        assert_eq!(total, Some(u64::from(u32::MAX) + 11), "the exported counter goes on above 32 bits");
    }

    #[test]
    fn all_ones_in_64_bits_are_no_value_and_disturb_nothing() {
        let (changes, total) = follow(&[u64::MAX, u64::MAX], Width::W64, Overflow::None, PLENTY);
        assert_eq!(changes, [Change::Unknown(Gap::MissingName); 2]);
        assert_eq!(total, None, "what was never counted is not shown");
        let (changes, total) = follow(&[500, u64::MAX, 520], Width::W64, Overflow::None, PLENTY);
        assert_eq!(changes[1..], [Change::Unknown(Gap::MissingName), Change::By(20)]);
        assert_eq!(total, Some(520));
        let (changes, _) = follow(&[7, u64::from(u32::MAX)], Width::W32, Overflow::Wrap, PLENTY);
        assert_eq!(changes[1], Change::By(u64::from(u32::MAX) - 7), "32 bits may well be full");
    }

    #[test]
    fn an_implausible_wrap_is_a_reset() {
        let (changes, total) = follow(&[1_000_000, 10, 20], Width::W32, Overflow::Wrap, 1000);
        assert_eq!(changes[1..], [Change::Unknown(Gap::Reset), Change::Unknown(Gap::Reset)]);
        assert_eq!(total, Some(20));
    }

    #[test]
    fn a_counter_that_reads_zero_once_is_neither_a_reset_nor_a_burst() {
        let (changes, total) = follow(&[500, 0, 520], Width::W64, Overflow::None, PLENTY);
        assert_eq!(changes[1..], [Change::Unknown(Gap::Reset), Change::By(20)]);
        assert_eq!(total, Some(520));
    }

    #[test]
    fn a_counter_that_starts_again_has_a_new_baseline_after_the_second_reading() {
        let (changes, total) = follow(&[500, 3, 9, 12], Width::W64, Overflow::None, PLENTY);
        assert_eq!(changes[1..], [Change::Unknown(Gap::Reset), Change::Unknown(Gap::Reset), Change::By(3)]);
        assert_eq!(total, Some(12));
    }

    #[test]
    fn a_jump_above_the_line_rate_is_never_exported() {
        let jump = 1 << 44;
        let (changes, total) = follow(&[100, jump, jump + 5, jump + 9], Width::W64, Overflow::None, PLENTY);
        assert_eq!(
            changes[1..],
            [Change::Unknown(Gap::ImplausibleJump), Change::Unknown(Gap::ImplausibleJump), Change::By(4)]
        );
        assert_eq!(total, Some(109));
    }

    #[test]
    fn a_jump_that_is_taken_back_leaves_the_counter_as_it_was() {
        let (changes, total) = follow(&[100, 1 << 44, 130], Width::W64, Overflow::None, PLENTY);
        assert_eq!(changes[1..], [Change::Unknown(Gap::ImplausibleJump), Change::By(30)]);
        assert_eq!(total, Some(130));
    }

    #[test]
    fn a_saturated_counter_stands_and_is_named() {
        let (changes, _) = follow(&[250, 255, 255], Width::W8, Overflow::Saturate, PLENTY);
        assert_eq!(changes[1..], [Change::By(5), Change::By(0)]);
        assert!(is_saturated(255, Width::W8, Overflow::Saturate));
        assert!(!is_saturated(255, Width::W16, Overflow::Saturate));
        assert!(!is_saturated(255, Width::W8, Overflow::Wrap));
    }

    #[test]
    fn after_a_gap_in_time_the_next_reading_is_a_first_one() {
        let mut tracker = Tracker::default();
        tracker.advance(5, Width::W64, Overflow::None, PLENTY);
        tracker.rebase();
        assert_eq!(
            tracker.advance(50, Width::W64, Overflow::None, PLENTY),
            Change::Unknown(Gap::FirstReading)
        );
    }

    #[test]
    fn no_sequence_of_values_gives_a_growth_above_the_limit() {
        let mut state = 1u64;
        let mut tracker = Tracker::default();
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let raw = state >> (state & 63);
            if let Change::By(growth) = tracker.advance(raw, Width::W32, Overflow::Wrap, 5000) {
                assert!(growth <= 5000);
            }
        }
    }
}
