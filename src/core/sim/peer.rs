//! What a peer does to one queue over time: when it pauses it, and how many frames that takes.
//! Everything is a closed formula of time, so that a year costs as much as a second.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::spans;
use crate::units::{MonoTime, Permille, nanos};

const SECOND: u64 = 1_000_000_000;

/// How a queue is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Without a break: a storm.
    Unbroken,
    /// For a part of each period: choppy, a slow receiver or a train of bursts, by the numbers.
    Periodic {
        /// Paused at the beginning of each period.
        #[serde(with = "spans")]
        paused: Duration,
        /// From one pause to the next.
        #[serde(with = "spans")]
        period: Duration,
    },
    /// Frames that release a queue which is not held: no pause at all.
    Releases {
        /// Frames in a second.
        per_second: u64,
    },
}

impl Pattern {
    /// Paused for `duty` of each `period`.
    #[must_use]
    pub fn of_duty(duty: Permille, period: Duration) -> Self {
        let paused = Duration::from_nanos(duty.share_of(nanos(period)));
        Self::Periodic { paused, period }
    }

    /// Bursts of equal length, each followed by a gap.
    #[must_use]
    pub fn bursts(burst: Duration, gap: Duration) -> Self {
        Self::Periodic { paused: burst, period: burst + gap }
    }
}

/// A pattern and when it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spell {
    /// Its beginning.
    pub from: MonoTime,
    /// Its end, [`MonoTime::MAX`] for none.
    pub until: MonoTime,
    /// What happens meanwhile.
    pub pattern: Pattern,
}

/// A limit that a port sets itself on the pause it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// A pause as long as this is broken off.
    pub after: Duration,
    /// The limit holds since then.
    pub since: MonoTime,
}

/// What came over the wire in a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Paused, ns.
    pub paused_ns: u64,
    /// Frames that stop.
    pub stops: u64,
    /// Frames that release.
    pub releases: u64,
    /// Ends of pauses.
    pub ends: u64,
}

impl Flow {
    const fn plus(self, other: Self) -> Self {
        Self {
            paused_ns: self.paused_ns + other.paused_ns,
            stops: self.stops + other.stops,
            releases: self.releases + other.releases,
            ends: self.ends + other.ends,
        }
    }

    const fn less(self, earlier: Self) -> Self {
        Self {
            paused_ns: self.paused_ns - earlier.paused_ns,
            stops: self.stops - earlier.stops,
            releases: self.releases - earlier.releases,
            ends: self.ends - earlier.ends,
        }
    }
}

impl Spell {
    /// The spell as `limit` leaves it.
    fn limited(self, limit: Option<Limit>) -> Self {
        let Some(limit) = limit else { return self };
        match self.pattern {
            Pattern::Unbroken => {
                Self { until: self.until.min(self.from.max(limit.since) + limit.after), ..self }
            }
            Pattern::Periodic { paused, period } => {
                Self { pattern: Pattern::Periodic { paused: paused.min(limit.after), period }, ..self }
            }
            Pattern::Releases { .. } => self,
        }
    }

    /// From the beginning of the spell to `at`. `rate` is the number of frames a second that hold a queue.
    fn up_to(&self, at: MonoTime, rate: u64) -> Flow {
        if at <= self.from {
            return Flow::default();
        }
        let lasted = at.min(self.until).nanos_since(self.from);
        match self.pattern {
            Pattern::Unbroken => {
                let over = u64::from(at > self.until);
                let stops = 1 + times(lasted, rate);
                Flow { paused_ns: lasted, stops, releases: over, ends: over }
            }
            Pattern::Periodic { paused, period } => {
                let (paused, period) = (nanos(paused), nanos(period).max(1));
                let (whole, rest) = (lasted / period, lasted % period);
                let ends = whole + u64::from(rest > paused);
                let stops = (whole + u64::from(rest > 0)) * (1 + times(paused, rate));
                Flow { paused_ns: whole * paused + rest.min(paused), stops, releases: ends, ends }
            }
            Pattern::Releases { per_second } => {
                Flow { releases: times(lasted, per_second), ..Flow::default() }
            }
        }
    }

    /// The last paused instant up to `at`; `at` itself if it is one.
    fn paused_last(&self, at: MonoTime) -> Option<MonoTime> {
        if at < self.from {
            return None;
        }
        let end = at.min(self.until);
        match self.pattern {
            Pattern::Unbroken => Some(end),
            Pattern::Periodic { paused, period } => {
                let into = end.nanos_since(self.from) % nanos(period).max(1);
                Some(end.before(Duration::from_nanos(into.saturating_sub(nanos(paused)))))
            }
            Pattern::Releases { .. } => None,
        }
    }
}

/// `span` nanoseconds times `per_second`.
const fn times(span: u64, per_second: u64) -> u64 {
    (span as u128 * per_second as u128 / SECOND as u128) as u64
}

/// All spells of one queue in one direction, ascending and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    spells: Vec<Spell>,
}

impl Script {
    /// The script of `spells`: one that begins while another lasts begins when that one ends.
    #[must_use]
    pub fn new(mut spells: Vec<Spell>) -> Self {
        spells.sort_by_key(|spell| spell.from);
        let mut free = MonoTime::ZERO;
        for spell in &mut spells {
            spell.from = spell.from.max(free);
            free = free.max(spell.until);
        }
        spells.retain(|spell| spell.from < spell.until);
        Self { spells }
    }

    /// Whether nothing ever happens.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.spells.is_empty()
    }

    /// All spells.
    #[must_use]
    pub fn spells(&self) -> &[Spell] {
        &self.spells
    }

    /// What happens between two instants.
    #[must_use]
    pub fn between(&self, from: MonoTime, until: MonoTime, rate: u64, limit: Option<Limit>) -> Flow {
        let mut sum = Flow::default();
        // The end of a spell is told by the first instant after it.
        let first = self.spells.partition_point(|spell| spell.until < from);
        for spell in self.spells[first..].iter().take_while(|spell| spell.from < until) {
            let spell = spell.limited(limit);
            sum = sum.plus(spell.up_to(until, rate).less(spell.up_to(from, rate)));
        }
        sum
    }

    /// The last paused instant up to `at`; `at` itself if it is one; `None` before the first pause.
    #[must_use]
    pub fn paused_last(&self, at: MonoTime, limit: Option<Limit>) -> Option<MonoTime> {
        let begun = self.spells.partition_point(|spell| spell.from <= at);
        self.spells[..begun].iter().rev().find_map(|spell| spell.limited(limit).paused_last(at))
    }

    /// The unbroken pause that lasts at `at`.
    #[must_use]
    pub fn unbroken_at(&self, at: MonoTime) -> Option<Spell> {
        let begun = self.spells.partition_point(|spell| spell.from <= at);
        let last = self.spells[..begun].last().copied();
        last.filter(|spell| spell.pattern == Pattern::Unbroken && at < spell.until)
    }

    /// Ends everything at `at`.
    pub fn end(&mut self, at: MonoTime) {
        self.spells.retain(|spell| spell.from < at);
        for spell in &mut self.spells {
            spell.until = spell.until.min(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> MonoTime {
        MonoTime::from_millis(millis)
    }

    fn script(pattern: Pattern, from: u64, until: u64) -> Script {
        Script::new(vec![Spell { from: ms(from), until: ms(until), pattern }])
    }

    #[test]
    fn an_unbroken_pause_is_as_long_as_its_spell() {
        let script = script(Pattern::Unbroken, 100, 300);
        let flow = script.between(ms(0), ms(1000), 3000, None);
        assert_eq!(flow, Flow { paused_ns: 200_000_000, stops: 601, releases: 1, ends: 1 });
        assert_eq!(script.between(ms(150), ms(160), 3000, None).paused_ns, 10_000_000);
        assert_eq!(script.paused_last(ms(200), None), Some(ms(200)));
        assert_eq!(script.paused_last(ms(900), None), Some(ms(300)));
        assert_eq!(script.paused_last(ms(99), None), None);
    }

    #[test]
    fn what_is_added_up_in_pieces_is_the_whole() {
        let pattern =
            Pattern::Periodic { paused: Duration::from_micros(4700), period: Duration::from_millis(5) };
        let mut spells = vec![Spell { from: ms(3), until: ms(700), pattern }];
        spells.push(Spell { from: ms(800), until: ms(850), pattern: Pattern::Unbroken });
        let script = Script::new(spells);
        let whole = script.between(ms(0), ms(2000), 2980, None);
        let mut sum = Flow::default();
        let mut at = MonoTime::ZERO;
        while at < ms(2000) {
            let next = at + Duration::from_nanos(1_234_567);
            sum = sum.plus(script.between(at, next.min(ms(2000)), 2980, None));
            at = next;
        }
        assert_eq!(sum, whole);
        assert_eq!(whole.paused_ns, 139 * 4_700_000 + 2_000_000 + 50_000_000);
    }

    #[test]
    fn a_limit_breaks_a_pause_off_and_counts_from_when_it_is_set() {
        let script = script(Pattern::Unbroken, 100, 10_000);
        let limit = |since| Some(Limit { after: Duration::from_millis(100), since: ms(since) });
        assert_eq!(script.between(ms(0), ms(20_000), 0, limit(0)).paused_ns, 100_000_000);
        assert_eq!(script.between(ms(0), ms(20_000), 0, limit(400)).paused_ns, 400_000_000);
        assert_eq!(script.paused_last(ms(900), limit(400)), Some(ms(500)));
    }

    #[test]
    fn releases_are_frames_without_pause() {
        let flow = script(Pattern::Releases { per_second: 5000 }, 0, 1000).between(ms(0), ms(500), 1, None);
        assert_eq!(flow, Flow { releases: 2500, ..Flow::default() });
    }

    #[test]
    fn spells_that_overlap_follow_each_other() {
        let spell = |from, until| Spell { from: ms(from), until: ms(until), pattern: Pattern::Unbroken };
        let script = Script::new(vec![spell(50, 200), spell(0, 100), spell(60, 90)]);
        assert_eq!(script.spells(), [spell(0, 100), spell(100, 200)]);
        assert_eq!(script.unbroken_at(ms(150)), Some(spell(100, 200)));
        assert_eq!(script.unbroken_at(ms(200)), None);
    }
}
