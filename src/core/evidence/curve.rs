//! Pause time as a function of time: a polyline through the readings.
//!
//! Between two readings the pause is taken as evenly spread, so a window that begins inside a reading takes its
//! share pro rata. Flat stretches are one segment however long they last: an idle queue costs two points.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::{MonoTime, nanos};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Point {
    at: MonoTime,
    paused_ns: u64,
}

/// The polyline of one queue and direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Curve {
    points: VecDeque<Point>,
}

impl Curve {
    /// Begins anew at `at`; what was before is not known.
    pub(super) fn restart(&mut self, at: MonoTime) {
        let paused_ns = self.paused_ns();
        self.points.clear();
        self.points.push_back(Point { at, paused_ns });
    }

    /// All pause time since the beginning.
    pub(super) fn paused_ns(&self) -> u64 {
        self.points.back().map_or(0, |point| point.paused_ns)
    }

    /// Goes on to `at` with `pause_ns` more, and forgets what no window up to `horizon` needs.
    pub(super) fn extend(&mut self, at: MonoTime, pause_ns: u64, horizon: Duration) {
        let paused_ns = self.paused_ns() + pause_ns;
        let flat = pause_ns == 0
            && self.points.len() >= 2
            && self.points[self.points.len() - 2].paused_ns == paused_ns;
        match self.points.back_mut() {
            Some(last) if flat => last.at = at,
            _ => self.points.push_back(Point { at, paused_ns }),
        }
        let start = at.before(horizon);
        while self.points.len() > 2 && self.points[1].at <= start {
            self.points.pop_front();
        }
    }

    /// When the last point was added.
    pub(super) fn last_at(&self) -> Option<MonoTime> {
        self.points.back().map(|point| point.at)
    }

    /// All the pause on the curve as far as it is kept: no window has more.
    pub(super) fn total(&self) -> u64 {
        self.points.front().map_or(0, |first| self.paused_ns() - first.paused_ns)
    }

    /// Pause within `window` before the last point, in nanoseconds. What lies before the curve counts as none.
    pub(super) fn within(&self, window: Duration) -> u64 {
        let Some(last) = self.points.back() else { return 0 };
        if self.total() == 0 {
            return 0;
        }
        let start = last.at.before(window);
        // The longest window begins in the first segment: no walk for it.
        if let (Some(first), Some(second)) = (self.points.front(), self.points.get(1))
            && second.at > start
        {
            let grown = second.paused_ns - first.paused_ns;
            let inside = if first.at <= start { pro_rata(grown, second.at, *first, start) } else { grown };
            return last.paused_ns - second.paused_ns + inside;
        }
        let mut later = *last;
        for point in self.points.iter().rev().skip(1) {
            if point.at <= start {
                let grown = later.paused_ns - point.paused_ns;
                return last.paused_ns - later.paused_ns + pro_rata(grown, later.at, *point, start);
            }
            later = *point;
        }
        last.paused_ns - later.paused_ns
    }
}

/// The part of `grown`, spread evenly from `from` to `until`, that lies after `start`.
fn pro_rata(grown: u64, until: MonoTime, from: Point, start: MonoTime) -> u64 {
    let span = until.nanos_since(from.at);
    if grown == 0 || span == 0 {
        return 0;
    }
    let inside = until.nanos_since(start);
    match grown.checked_mul(inside) {
        Some(product) => product / span,
        // Only spans above four seconds get here; a thousandth of them is precise enough.
        None => (grown / 1000) * (inside / 1000) / (span / 1_000_000).max(1),
    }
}

/// The pause of one reading in nanoseconds, at most the time it covers.
pub(super) fn capped(pause_ns: u64, span: Duration) -> u64 {
    pause_ns.min(nanos(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> MonoTime {
        MonoTime::from_millis(millis)
    }

    const HORIZON: Duration = Duration::from_secs(1);

    #[test]
    fn the_oldest_reading_counts_pro_rata() {
        let mut curve = Curve::default();
        curve.restart(ms(0));
        curve.extend(ms(250), 100_000_000, HORIZON);
        curve.extend(ms(300), 50_000_000, HORIZON);
        // 50 ms of the last reading and three fifths of the one before.
        assert_eq!(curve.within(Duration::from_millis(200)), 50_000_000 + 60_000_000);
        assert_eq!(curve.within(Duration::from_millis(300)), 150_000_000);
        assert_eq!(curve.within(Duration::from_secs(9)), 150_000_000, "before the curve there is nothing");
    }

    #[test]
    fn an_idle_queue_keeps_two_points() {
        let mut curve = Curve::default();
        curve.restart(ms(0));
        for i in 1..10_000 {
            curve.extend(ms(i * 50), 0, HORIZON);
        }
        assert_eq!(curve.points.len(), 2);
        assert_eq!(curve.within(HORIZON), 0);
        assert_eq!(curve.total(), 0);
    }

    #[test]
    fn what_no_window_needs_is_forgotten() {
        let mut curve = Curve::default();
        curve.restart(ms(0));
        for i in 1..10_000 {
            curve.extend(ms(i * 50), 25_000_000, HORIZON);
        }
        assert!(curve.points.len() <= 22);
        assert_eq!(curve.within(HORIZON), 500_000_000);
    }

    #[test]
    fn a_span_of_a_minute_does_not_overflow() {
        let mut curve = Curve::default();
        curve.restart(ms(0));
        curve.extend(ms(60_000), 60_000_000_000, Duration::from_secs(61));
        let half = curve.within(Duration::from_secs(30));
        assert!((29_990_000_000..=30_010_000_000).contains(&half), "{half}");
    }
}
