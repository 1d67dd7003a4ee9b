//! From the readings of one queue and direction to what they show. It judges; it decides nothing.
//!
//! Words: E is the measured span between two readings, d the growth of the pause time counter in it, n that of
//! pause frames, p the packets moved in the paused direction. All rules stand in this file and nowhere else.

mod curve;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::settings::Rule;
use crate::units::{Direction, MonoTime, Permille, nanos};
use curve::Curve;

/// Bits of time the longest pause frame asks for: 65535 quanta of 512 bit times (802.3, 31B.2).
const FRAME_BITS: u64 = 65_535 * 512;
/// The spans and shares from which a broken pause throttles; it is left at half the share.
pub const THROTTLED: [(Duration, u16); 3] =
    [(Duration::from_secs(1), 500), (Duration::from_secs(10), 200), (Duration::from_secs(60), 100)];
/// Points of the curve for the long windows lie at least this far apart: an error of 5 % at the edge of 10 s.
const COARSE_STEP: Duration = Duration::from_millis(500);

/// One reading of one queue and direction, in nanoseconds and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Midpoint of the reading.
    pub at: MonoTime,
    /// Growth of the pause time counter, ns; an upper bound where `quality` says so.
    pub pause_ns: u64,
    /// Growth of pause frames, where they are counted.
    pub frames: Option<u64>,
    /// Packets moved in the paused direction, where they are counted for this queue alone.
    pub packets: Option<u64>,
    /// Where `pause_ns` comes from.
    pub quality: Quality,
    /// Pause frames that hold the queue for as long as this reading spans; `None` if the speed is not known.
    pub frames_to_hold: Option<u64>,
}

/// How well pause time is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// The NIC counted the time it did not send.
    Measured,
    /// Only an upper bound: computed from frames, or time that was asked for, or counted at the pause's end.
    Estimated,
}

/// Whether somebody wants to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// Packets were seen shortly before the pause, or the pause is our own.
    Known,
    /// No packet was seen, or packets are not counted.
    Unknown,
}

/// What one reading shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// At least half of the reading was paused and nothing escaped.
    pub blocked: bool,
    /// The rule for a storm holds.
    pub unbroken: bool,
    /// The pause is broken but heavy: see [`Rule::choppy`].
    pub choppy: bool,
    /// Frames enough to hold the queue, but no pause time.
    pub xon_storm: bool,
    /// Which of the windows [`THROTTLED`] are exceeded.
    pub throttled: [bool; 3],
    /// Paused share of the `detect` window that ends here.
    pub share: Permille,
    /// When the running pause began, as far as the readings tell.
    pub onset: Option<MonoTime>,
    /// Whether anybody wanted to send when it began.
    pub demand: Demand,
    /// Whether the pause time is a measurement.
    pub quality: Quality,
}

/// What a judgement needs of the settings, in nanoseconds, computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    direction: Direction,
    detect: Duration,
    share_ns: u64,
    choppy_ns: u64,
    demand: Duration,
    horizon: Duration,
}

impl Windows {
    /// The windows of `rule` with the port's effective `detect`.
    #[must_use]
    pub fn new(rule: &Rule, detect: Duration, direction: Direction) -> Self {
        Self {
            direction,
            detect,
            share_ns: rule.share.share_of(nanos(detect)),
            choppy_ns: rule.choppy.share_of(nanos(detect * 2)),
            demand: rule.demand_window,
            horizon: (detect * 2).max(THROTTLED[0].0),
        }
    }

    /// The length of the decision window.
    #[must_use]
    pub const fn detect(&self) -> Duration {
        self.detect
    }
}

/// The memory of one queue and direction.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Track {
    recent: Curve,
    coarse: Curve,
    coarse_pending_ns: u64,
    paused_before: bool,
    onset: Option<MonoTime>,
    last_packet: Option<MonoTime>,
    escapes: Run,
    heavy: Run,
    unbroken_at: Option<MonoTime>,
    choppy: bool,
    throttled: [bool; 3],
    xon_since: Option<MonoTime>,
}

/// Whether something was seen in the last reading, and in the one before as well: once may be the edge of
/// something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Run {
    #[default]
    No,
    Once,
    Twice,
}

impl Run {
    fn note(&mut self, seen: bool) -> bool {
        *self = match (seen, *self) {
            (false, _) => Self::No,
            (true, Self::No) => Self::Once,
            (true, Self::Once | Self::Twice) => Self::Twice,
        };
        *self == Self::Twice
    }
}

impl Track {
    /// Starts anew: nothing before `at` is known. The demand seen so far stays known.
    pub fn restart(&mut self, at: MonoTime) {
        self.recent.restart(at);
        if self.coarse.last_at().is_none() {
            self.coarse.restart(at);
        }
        self.paused_before = false;
        self.onset = None;
        self.escapes = Run::No;
        self.heavy = Run::No;
        self.unbroken_at = None;
        self.xon_since = None;
    }

    /// The midpoint of the last reading, `None` before the first.
    #[must_use]
    pub fn last_at(&self) -> Option<MonoTime> {
        self.recent.last_at()
    }

    /// Judges the next reading. [`Track::restart`] has to come before the first.
    pub fn observe(&mut self, sample: &Sample, windows: &Windows) -> Evidence {
        let since = self.recent.last_at().unwrap_or(sample.at);
        let span = sample.at.since(since);
        let pause_ns = curve::capped(sample.pause_ns, span);
        self.recent.extend(sample.at, pause_ns, windows.horizon);
        let coarse_grown = self.extend_coarse(sample.at, pause_ns);
        if sample.packets.is_some_and(|packets| packets > 0) {
            self.last_packet = Some(sample.at);
        }
        if pause_ns == 0 {
            self.onset = None;
        } else if self.onset.is_none() {
            self.onset = Some(sample.at.before(Duration::from_nanos(pause_ns)));
        }
        let in_window = self.recent.within(windows.detect);
        let still = sample.packets.is_none_or(|packets| packets == 0);
        let blocked = pause_ns >= nanos(span) / 2 && pause_ns > 0 && still;
        let unbroken = blocked && self.paused_before && in_window >= windows.share_ns;
        self.judge_choppy(sample, in_window, blocked, windows);
        self.judge_throttled(coarse_grown);
        let evidence = Evidence {
            blocked,
            unbroken,
            choppy: self.choppy,
            xon_storm: self.judge_xon(sample, pause_ns, since, windows.detect),
            throttled: self.throttled,
            share: Permille::of(in_window, nanos(windows.detect)),
            onset: self.onset,
            demand: self.demand(sample, windows),
            quality: sample.quality,
        };
        self.paused_before = pause_ns > 0;
        evidence
    }

    /// Says whether the curve for the long windows has a new point.
    fn extend_coarse(&mut self, at: MonoTime, pause_ns: u64) -> bool {
        self.coarse_pending_ns += pause_ns;
        let due = self.coarse.last_at().is_none_or(|last| at.since(last) >= COARSE_STEP);
        if due {
            let pending = std::mem::take(&mut self.coarse_pending_ns);
            self.coarse.extend(at, pending, THROTTLED[2].0);
        }
        due
    }

    /// Sent pause is its own evidence; received pause hurts only who wants to send.
    fn demand(&self, sample: &Sample, windows: &Windows) -> Demand {
        if windows.direction == Direction::Tx {
            return Demand::Known;
        }
        let onset = self.onset.unwrap_or(sample.at);
        match (sample.packets, self.last_packet) {
            (Some(_), Some(last)) if last >= onset.before(windows.demand) => Demand::Known,
            _ => Demand::Unknown,
        }
    }

    /// Choppy is heavy but broken. An unbroken pause is never choppy, with demand or without, and neither is its
    /// tail while it still lies in the window.
    fn judge_choppy(&mut self, sample: &Sample, in_window: u64, blocked: bool, windows: &Windows) {
        // All the pause that is remembered is too little, even if it lay in one window.
        if self.recent.total() < windows.choppy_ns / 2 {
            self.choppy = false;
            self.heavy = Run::No;
            self.escapes = Run::No;
            return;
        }
        let span = windows.detect * 2;
        let double = self.recent.within(span);
        let full = in_window >= windows.share_ns;
        if full && blocked {
            self.unbroken_at = Some(sample.at);
        }
        let tail = self.unbroken_at.is_some_and(|at| sample.at.since(at) < span);
        let escaping = sample.packets.is_some_and(|packets| packets > 0);
        let escapes = self.escapes.note(full && escaping);
        let heavy = self.heavy.note(double >= windows.choppy_ns);
        self.choppy = !tail && (escapes || heavy || (self.choppy && double >= windows.choppy_ns / 2));
    }

    /// The long windows change slowly: they are judged when their curve has a new point.
    fn judge_throttled(&mut self, coarse_grown: bool) {
        for (index, (window, share)) in THROTTLED.into_iter().enumerate() {
            let curve = match index {
                0 => &self.recent,
                _ if coarse_grown => &self.coarse,
                _ => continue,
            };
            let threshold = nanos(window) / 1000 * u64::from(share);
            let limit = if self.throttled[index] { threshold / 2 } else { threshold };
            self.throttled[index] = curve.total() >= limit && curve.within(window) >= limit;
        }
    }

    fn judge_xon(&mut self, sample: &Sample, pause_ns: u64, since: MonoTime, detect: Duration) -> bool {
        let holding = match (sample.frames, sample.frames_to_hold) {
            (Some(frames), Some(needed)) => frames > 0 && frames >= needed,
            _ => false,
        };
        if pause_ns > 0 || !holding {
            self.xon_since = None;
            return false;
        }
        let began = *self.xon_since.get_or_insert(since);
        sample.at.since(began) >= detect
    }
}

/// The most pause that `frames` pause frames can ask for on a link of `speed_mbps`, ns.
#[must_use]
pub const fn pause_of_frames(frames: u64, speed_mbps: u64) -> u64 {
    if speed_mbps == 0 {
        return 0;
    }
    // bits / (Mbit/s) = µs; times 1000 first would overflow above 5e8 frames, far beyond any reading.
    frames.saturating_mul(FRAME_BITS * 1000) / speed_mbps
}

/// How many pause frames of the longest kind hold a queue for `span`.
#[must_use]
pub const fn frames_to_hold(span: Duration, speed_mbps: u64) -> u64 {
    nanos(span).saturating_mul(speed_mbps) / (FRAME_BITS * 1000)
}
