//! One queue in one direction: its phase, its memory, and its accounts for the metrics.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::ActionKind;
use crate::delta::Gap;
use crate::evidence::{Demand, Evidence, Quality, THROTTLED, Track, Windows};
use crate::ids::StormId;
use crate::phase::{Class, Phase};
use crate::settings::Rule;
use crate::trigger::{Onset, Terms, Trigger};
use crate::units::{Direction, MonoTime, Permille, Queue};

use super::ledger::Places;

/// Upper bounds of the pause-ratio histogram, thousandths; the last bucket is everything.
pub const RATIO_BUCKETS: [u16; 9] = [1, 10, 50, 100, 250, 500, 750, 900, 1000];
/// The maximum pause ratio is kept over this many seconds.
const RATIO_SECONDS: usize = 60;

/// One queue in one direction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct QueueState {
    pub(super) queue: Queue,
    pub(super) direction: Direction,
    pub(super) rule: Rule,
    pub(super) windows: Windows,
    pub(super) places: Places,
    pub(super) phase: Phase,
    pub(super) track: Track,
    pub(super) evidence: Option<Evidence>,
    pub(super) blind: Option<Gap>,
    pub(super) detect_fits: Fit,
    /// The next question for an action, while in a storm.
    pub(super) ask_at: Option<MonoTime>,
    /// The end of the wait for the fleet guard.
    pub(super) guard_until: Option<MonoTime>,
    /// How far down the ladder.
    pub(super) rung: usize,
    /// Storms mitigated within the lock window.
    pub(super) mitigated: Vec<MonoTime>,
    /// The open storm: its number, and when the pause began.
    pub(super) storm: Option<(StormId, MonoTime)>,
    /// A storm that was open when an earlier run ended.
    pub(super) resumes: Option<Resumption>,
    pub(super) accounts: Accounts,
    pub(super) milder: Milder,
}

/// A storm of an earlier run, which goes on if it has not ended meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Resumption {
    /// When its pause began.
    pub(super) since: MonoTime,
    /// It has ended if no reading is blocked until then.
    until: MonoTime,
    /// Somebody wanted to send when it began. While it lasts nothing can show that again.
    demand: Demand,
}

impl Resumption {
    /// A storm since `since`, of which nothing was seen before `now`.
    pub(super) fn new(since: MonoTime, class: Option<Class>, now: MonoTime, rule: &Rule) -> Self {
        let demand = if class == Some(Class::Blocked) { Demand::Known } else { Demand::Unknown };
        Self { since, until: now + rule.restore, demand }
    }
}

/// Whether the source is fast enough for the `detect` that was set for this port by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Fit {
    Fits,
    TooSlow,
}

/// What the metrics count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounts {
    /// Storms found.
    pub storms: u64,
    /// Time in storms that have ended.
    pub storm_time: Duration,
    /// Observations per bucket, not cumulative; the last is above all bounds.
    pub ratio_counts: [u64; RATIO_BUCKETS.len() + 1],
    /// Sum of all observations, thousandths.
    pub ratio_sum: u64,
    /// Storms found per kind of pause, throttled by its windows.
    pub choppy: u64,
    /// Times each window was exceeded.
    pub throttled: [u64; THROTTLED.len()],
    /// Times an XON storm began.
    pub xon_storms: u64,
    /// Times a pause without known demand became a storm.
    pub demand_unknown: u64,
    second: Option<u64>,
    second_max: Permille,
    minute: std::collections::VecDeque<(u64, Permille)>,
}

/// The milder kinds of pause that are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Milder {
    /// Broken but heavy.
    pub choppy: bool,
    /// Frames without pause time.
    pub xon_storm: bool,
    /// Over each of the windows.
    pub throttled: [bool; THROTTLED.len()],
}

impl Accounts {
    /// Takes the share of one reading: the histogram gets the highest of each second.
    pub(super) fn note_share(&mut self, at: MonoTime, share: Permille) {
        let second = at.as_nanos() / 1_000_000_000;
        if let Some(before) = self.second.filter(|before| *before != second) {
            let max = self.second_max;
            let bucket = RATIO_BUCKETS.iter().position(|bound| max.get() <= *bound);
            self.ratio_counts[bucket.unwrap_or(RATIO_BUCKETS.len())] += 1;
            self.ratio_sum += u64::from(max.get());
            if max > Permille::ZERO {
                self.minute.push_back((before, max));
            }
            self.second_max = Permille::ZERO;
        }
        self.second = Some(second);
        self.second_max = self.second_max.max(share);
        while self.minute.front().is_some_and(|(then, _)| *then + RATIO_SECONDS as u64 <= second) {
            self.minute.pop_front();
        }
    }

    /// The highest share within the last minute.
    #[must_use]
    pub fn ratio_max(&self) -> Permille {
        self.minute.iter().map(|(_, share)| *share).max().unwrap_or_default().max(self.second_max)
    }

    /// The highest share within the last `span` before `now`, to the second.
    pub(super) fn ratio_since(&self, now: MonoTime, span: Duration) -> Permille {
        let first = now.before(span).as_nanos() / 1_000_000_000;
        let whole = self.minute.iter().filter(|(second, _)| *second >= first).map(|(_, share)| *share);
        let open = self.second.filter(|second| *second >= first).map(|_| self.second_max);
        whole.chain(open).max().unwrap_or_default()
    }

    /// Whether anything was ever observed.
    #[must_use]
    pub fn observed(&self) -> bool {
        self.ratio_counts.iter().any(|count| *count > 0)
    }
}

impl QueueState {
    pub(super) fn new(queue: Queue, direction: Direction, rule: &Rule) -> Self {
        Self {
            queue,
            direction,
            rule: rule.clone(),
            windows: Windows::new(rule, rule.detect, direction),
            places: Places::default(),
            phase: Phase::Healthy,
            track: Track::default(),
            evidence: None,
            blind: Some(Gap::FirstReading),
            detect_fits: Fit::Fits,
            ask_at: None,
            guard_until: None,
            rung: 0,
            mitigated: Vec::new(),
            storm: None,
            resumes: None,
            accounts: Accounts::default(),
            milder: Milder::default(),
        }
    }

    /// Whether the port has a counter of this queue's pause.
    pub(super) fn is_counted(&self) -> bool {
        self.places.time.is_some() || self.places.frames.is_some() || self.places.xoff.is_some()
    }

    pub(super) fn terms(&self, now: MonoTime, hold: Duration) -> Terms {
        Terms {
            now,
            restore: self.rule.restore,
            blind_max: self.blind_max(),
            hold,
            hold_max: self.rule.hold_max,
            lock_for: self.rule.lock_for,
            lock_due: self.lock_due(now),
        }
    }

    pub(super) fn blind_max(&self) -> Duration {
        self.windows.detect() * 2
    }

    fn lock_due(&self, now: MonoTime) -> bool {
        let within = self.mitigated.iter().filter(|at| now.since(**at) <= self.rule.lock_window).count();
        self.rule.lock_storms > 0 && within >= self.rule.lock_storms as usize
    }

    /// Counts a mitigated storm, and forgets those that no lock rule looks at any more.
    pub(super) fn note_mitigated(&mut self, now: MonoTime) {
        let window = self.rule.lock_window;
        self.mitigated.retain(|at| now.since(*at) <= window);
        self.mitigated.push(now);
    }

    /// Goes on with a storm of an earlier run, or forgets it when it has ended.
    pub(super) fn resume(&mut self, evidence: &mut Evidence, at: MonoTime) {
        let Some(resumption) = &mut self.resumes else { return };
        if evidence.blocked {
            resumption.until = at + self.rule.restore;
            if resumption.demand == Demand::Known {
                evidence.demand = Demand::Known;
            }
        } else if at >= resumption.until {
            self.resumes = None;
        }
    }

    /// What a reading means for the phase.
    pub(super) fn trigger(&self, evidence: &Evidence, now: MonoTime) -> Trigger {
        let onset = evidence.onset.unwrap_or(now);
        let choppy = evidence.choppy && self.rule.choppy_acts;
        let class = match (evidence.unbroken, evidence.demand) {
            (true, Demand::Known) => Some(Class::Blocked),
            (true, Demand::Unknown) if now.since(onset) >= self.rule.idle_escalate => {
                Some(Class::DemandUnknown)
            }
            (true, Demand::Unknown) => None,
            (false, _) => choppy.then_some(Class::Choppy),
        };
        if !evidence.blocked && !choppy {
            return Trigger::Clear;
        }
        Trigger::Blocked(class.map(|class| Onset { since: onset, class }))
    }

    /// Whether an action may be asked for now: in a storm, nothing under way, and the newest reading shows the storm
    /// itself. A pause that has just ended, or another one that has just begun, is no reason to act. A queue that
    /// cannot be seen is asked for, so that the refusal tells why.
    pub(super) fn wants_action(&self) -> bool {
        let idle = matches!(self.phase, Phase::Storm(storm) if storm.acting.is_none());
        let shows = |e: Evidence| e.unbroken || (e.choppy && self.rule.choppy_acts);
        idle && self.evidence.is_none_or(shows)
    }

    /// The action of the ladder that is next. An alert is the event of the storm itself, which has been told.
    pub(super) fn next_action(&self) -> Option<ActionKind> {
        self.actions().nth(self.rung).or_else(|| self.actions().next_back())
    }

    /// The ladder without its alerts.
    pub(super) fn actions(&self) -> impl DoubleEndedIterator<Item = ActionKind> {
        self.rule.actions.iter().copied().filter(|kind| *kind != ActionKind::Alert)
    }

    /// Whether nobody is known to want to send: what kind of pause it is makes no difference to that.
    pub(super) fn is_without_demand(&self) -> bool {
        let Phase::Storm(storm) = self.phase else { return false };
        let unknown = |evidence: Evidence| evidence.demand == Demand::Unknown;
        storm.class == Class::DemandUnknown
            || (storm.class == Class::Choppy && self.evidence.is_some_and(unknown))
    }

    pub(super) fn is_estimated(&self) -> bool {
        self.evidence.is_some_and(|evidence| evidence.quality == Quality::Estimated)
    }
}
