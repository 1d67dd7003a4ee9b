//! Quantities that must not be mixed up: instants, ratios, priorities, queues, directions.
//! Holds no state and never reads a clock.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant in nanoseconds since boot (`CLOCK_BOOTTIME`), so that an instant written to the journal means the
/// same after the agent was restarted. It comes in as a value; nothing here asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MonoTime {
    nanos: u64,
}

impl MonoTime {
    /// The instant of boot.
    pub const ZERO: Self = Self { nanos: 0 };
    /// Later than every instant that occurs.
    pub const MAX: Self = Self { nanos: u64::MAX };

    /// The instant `nanos` nanoseconds after boot.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self { nanos }
    }

    /// The instant `millis` milliseconds after boot.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self { nanos: millis.saturating_mul(1_000_000) }
    }

    /// Nanoseconds since boot.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.nanos
    }

    /// Time from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }

    /// Like [`MonoTime::since`], in nanoseconds.
    #[must_use]
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.nanos.saturating_sub(earlier.nanos)
    }

    /// `span` before `self`; boot at the earliest.
    #[must_use]
    pub const fn before(self, span: Duration) -> Self {
        Self { nanos: self.nanos.saturating_sub(nanos(span)) }
    }
}

impl std::ops::Add<Duration> for MonoTime {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self { nanos: self.nanos.saturating_add(nanos(span)) }
    }
}

impl fmt::Display for MonoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.nanos / 1_000_000_000, self.nanos / 1_000 % 1_000_000)
    }
}

/// The nanoseconds of a span, saturating after 584 years.
#[must_use]
pub const fn nanos(span: Duration) -> u64 {
    let nanos = span.as_nanos();
    if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 }
}

/// A ratio from 0 to 1 in thousandths: no floating-point comparison decides anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Permille(u16);

impl Permille {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The whole.
    pub const ONE: Self = Self(1000);

    /// A ratio of `thousandths` / 1000, if that is at most one.
    #[must_use]
    pub const fn new(thousandths: u16) -> Option<Self> {
        if thousandths <= 1000 { Some(Self(thousandths)) } else { None }
    }

    /// `part` / `whole`, rounded down, at most one; zero of nothing.
    #[must_use]
    pub const fn of(part: u64, whole: u64) -> Self {
        if part == 0 || whole == 0 {
            return Self(0);
        }
        if part >= whole {
            return Self::ONE;
        }
        // Above 2^53 ns (104 days) the multiplication could overflow; the division first loses nothing there.
        if part < u64::MAX / 1000 {
            Self((part * 1000 / whole) as u16)
        } else {
            Self((part / (whole / 1000)) as u16)
        }
    }

    /// Thousandths, 0 to 1000.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// This share of `whole`, rounded down.
    #[must_use]
    pub const fn share_of(self, whole: u64) -> u64 {
        (whole / 1000) * self.0 as u64 + (whole % 1000) * self.0 as u64 / 1000
    }
}

impl TryFrom<u16> for Permille {
    type Error = OutOfRange;

    fn try_from(thousandths: u16) -> Result<Self, OutOfRange> {
        Self::new(thousandths).ok_or(OutOfRange {
            what: "permille",
            value: u64::from(thousandths),
            max: 1000,
        })
    }
}

impl From<Permille> for u16 {
    fn from(ratio: Permille) -> Self {
        ratio.0
    }
}

impl fmt::Display for Permille {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// A number outside the range of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value} is above {max}")]
pub struct OutOfRange {
    /// What the number was meant to be.
    pub what: &'static str,
    /// The number.
    pub value: u64,
    /// The largest allowed.
    pub max: u64,
}

/// An 802.1p priority, 0 to 7 (IEEE 802.1Q, 6.9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

impl Priority {
    /// How many there are.
    pub const COUNT: usize = 8;
    /// All eight, ascending.
    pub const ALL: [Self; Self::COUNT] =
        [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];

    /// Priority `value`, if there is one.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value < 8 { Some(Self(value)) } else { None }
    }

    /// 0 to 7.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// 0 to 7, to index arrays of [`Priority::COUNT`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl TryFrom<u8> for Priority {
    type Error = OutOfRange;

    fn try_from(value: u8) -> Result<Self, OutOfRange> {
        Self::new(value).ok_or(OutOfRange { what: "priority", value: u64::from(value), max: 7 })
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of priorities as DCB writes it: bit n is priority n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriorityMask(pub u8);

impl PriorityMask {
    /// Whether `priority` is in the set.
    #[must_use]
    pub const fn contains(self, priority: Priority) -> bool {
        self.0 & (1 << priority.0) != 0
    }

    /// The set with `priority` in it.
    #[must_use]
    pub const fn with(self, priority: Priority) -> Self {
        Self(self.0 | 1 << priority.0)
    }

    /// The set of `priority` alone.
    #[must_use]
    pub const fn of(priority: Priority) -> Self {
        Self(1 << priority.0)
    }

    /// What is in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in this set and not in `other`.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether nothing is in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set with `priority` not in it.
    #[must_use]
    pub const fn without(self, priority: Priority) -> Self {
        Self(self.0 & !(1 << priority.0))
    }

    /// Its members, ascending.
    pub fn iter(self) -> impl Iterator<Item = Priority> {
        Priority::ALL.into_iter().filter(move |p| self.contains(*p))
    }
}

/// What a pause stops: one priority (PFC, 802.1Qbb) or the whole link (802.3x, clause 31B).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Queue {
    /// One 802.1p priority.
    Priority(Priority),
    /// All of them: 802.3x pause.
    Global,
}

impl Queue {
    /// How many there are.
    pub const COUNT: usize = Priority::COUNT + 1;

    /// All nine, the priorities first.
    pub fn all() -> impl Iterator<Item = Self> {
        Priority::ALL.into_iter().map(Self::Priority).chain([Self::Global])
    }

    /// 0 to 8, to index arrays of [`Queue::COUNT`].
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Priority(priority) => priority.index(),
            Self::Global => Priority::COUNT,
        }
    }

    /// The label `priority` as metrics and logs write it: "0" to "7" or "global".
    #[must_use]
    pub const fn label(self) -> &'static str {
        ["0", "1", "2", "3", "4", "5", "6", "7", "global"][self.index()]
    }
}

impl std::str::FromStr for Queue {
    type Err = BadQueue;

    fn from_str(text: &str) -> Result<Self, BadQueue> {
        Self::all().find(|queue| queue.label() == text).ok_or_else(|| BadQueue(text.into()))
    }
}

/// A text that names no queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("priority {0:?} is none of 0 to 7 and not \"global\"")]
pub struct BadQueue(String);

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl Serialize for Queue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

impl<'de> Deserialize<'de> for Queue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Whose pause it is, seen from this port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Pause received: the peer told us to stop, our transmit queue is the victim.
    Rx,
    /// Pause sent: we told the peer to stop, this host is the slow or sick one.
    Tx,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Rx, Self::Tx];

    /// 0 or 1, to index arrays of two.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Rx => 0,
            Self::Tx => 1,
        }
    }

    /// "rx" or "tx".
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Rx => "rx",
            Self::Tx => "tx",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_saturate_instead_of_wrapping() {
        let early = MonoTime::from_millis(5);
        let late = MonoTime::from_millis(8);
        assert_eq!(late.since(early), Duration::from_millis(3));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(MonoTime::MAX + Duration::from_secs(1), MonoTime::MAX);
        assert_eq!(early.before(Duration::from_secs(1)), MonoTime::ZERO);
    }

    #[test]
    fn a_share_of_a_year_neither_overflows_nor_rounds_up() {
        let year = 365 * 86_400 * 1_000_000_000;
        assert_eq!(Permille::new(950).unwrap().share_of(year), year / 1000 * 950);
        assert_eq!(Permille::of(year, year), Permille::ONE);
        assert_eq!(Permille::of(year / 2 - 1, year).get(), 499);
        assert_eq!(Permille::of(u64::MAX - 1, u64::MAX).get(), 1000);
        assert_eq!(Permille::of(1, 0), Permille::ZERO);
    }

    #[test]
    fn a_ratio_above_one_and_a_ninth_priority_are_refused() {
        assert_eq!(Permille::new(1001), None);
        assert_eq!(Priority::new(8), None);
        assert_eq!(Priority::try_from(9).unwrap_err().to_string(), "priority 9 is above 7");
    }

    #[test]
    fn every_queue_reads_back_from_its_label() {
        for queue in Queue::all() {
            assert_eq!(queue.label().parse::<Queue>(), Ok(queue));
        }
        assert!("8".parse::<Queue>().is_err());
    }

    #[test]
    fn a_mask_changes_one_bit_only() {
        let three = Priority::new(3).unwrap();
        let mask = PriorityMask(0b1010_0001);
        assert_eq!(mask.with(three).0, 0b1010_1001);
        assert_eq!(mask.with(three).without(three), mask);
        assert_eq!(mask.iter().map(Priority::get).collect::<Vec<_>>(), [0, 5, 7]);
    }
}
