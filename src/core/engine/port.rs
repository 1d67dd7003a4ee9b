//! One port: what is known of it, and how a reading of it becomes evidence for its queues.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::{ActionKind, ActionResult, Headroom, PauseConfig};
use crate::delta::{Gap, growth_of_statistics};
use crate::drivers::{self, Caps};
use crate::event::PauseKnown;
use crate::evidence::Windows;
use crate::ids::{PortIdentity, PortKey};
use crate::input::{BoundPort, DcbOwner, PortLink, Reading, SourceRefresh, UnsupportedAction};
use crate::policy::Veto;
use crate::settings::{self, DetectSource, Settings};
use crate::units::{Direction, MonoTime, PriorityMask, Queue};

use super::ledger::{Ledger, span_between};
use super::pace::Pacing;
use super::queue::{Fit, QueueState};
use super::refresh::RefreshMeter;

/// A read that takes longer than this, and many times as long as the reads before, has waited for a lock that somebody
/// else held. It is no measure of what reads cost: one wait of seconds would have the port read once a minute.
const TOOK_USUAL: Duration = Duration::from_millis(10);
const TOOK_GROWTH: u32 = 8;

/// Readings further apart than this say nothing about each other: a 32-bit counter may have wrapped twice.
const SPAN_MAX: Duration = Duration::from_secs(60);
/// Both clocks of a read are exact; what remains is the difference between two reads' insides.
const SLACK_MIN: Duration = Duration::from_millis(1);
/// The interface has to have carried packets, and the port's counters not have moved, over this many link updates.
const FROZEN_UPDATES: u32 = 2;

/// One port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Port {
    pub(super) key: PortKey,
    pub(super) identity: PortIdentity,
    pub(super) caps: Caps,
    pub(super) actions: Vec<ActionKind>,
    pub(super) ledger: Ledger,
    pub(super) queues: Vec<QueueState>,
    pub(super) link: PortLink,
    pub(super) pfc: Option<PriorityMask>,
    pub(super) owner: DcbOwner,
    #[serde(default)]
    pub(super) headroom: Option<Headroom>,
    #[serde(default)]
    pub(super) unsupported: Vec<UnsupportedAction>,
    /// Of these it was said that they cannot be done here.
    #[serde(default)]
    pub(super) unsupported_told: BTreeSet<ActionKind>,
    pub(super) pause: Option<PauseConfig>,
    pub(super) prevention_timeout_ms: Option<u16>,
    pub(super) reporters_in_error: BTreeSet<String>,
    pub(super) last_at: Option<MonoTime>,
    pub(super) last_sign: MonoTime,
    pub(super) took: Duration,
    pub(super) pacing: Pacing,
    pub(super) refresh_told: Option<SourceRefresh>,
    pub(super) meter: RefreshMeter,
    pub(super) blind: Option<Gap>,
    pub(super) last_action: Option<MonoTime>,
    /// An operation of ours that flaps the link; until then a lost carrier is our doing.
    pub(super) own_flap_until: Option<MonoTime>,
    /// A flap that has not shown by then does not come.
    pub(super) flap_seen_by: MonoTime,
    pub(super) failures: u64,
    pub(super) last_error: Option<String>,
    pub(super) detect_told: bool,
    pub(super) accounts: PortAccounts,
    #[serde(with = "pairs")]
    pub(super) results: BTreeMap<(ActionKind, ActionResult), u64>,
    /// Tests, counted apart.
    #[serde(default, with = "pairs")]
    pub(super) tests: BTreeMap<(ActionKind, ActionResult), u64>,
    pub(super) acted_at: BTreeMap<ActionKind, MonoTime>,
    pub(super) vetoes: BTreeMap<Veto, u64>,
    moved_at: MonoTime,
    /// When the link was last told about.
    link_at: MonoTime,
    frozen_updates: u32,
}

/// What the metrics count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortAccounts {
    /// Readings taken.
    pub readings: u64,
    /// Reads that failed.
    pub failures: u64,
    /// Times counters went back.
    pub resets: u64,
    /// Times counters jumped.
    pub implausible: u64,
    /// Times the source froze.
    pub frozen: u64,
}

/// What came of a reading, before any queue is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It can be judged.
    Fresh,
    /// The source has not refreshed yet: it is merged with the next.
    Merged,
    /// Nothing can be said about it.
    Blind(Gap),
}

impl Port {
    pub(super) fn new(bound: BoundPort, settings: &Settings, now: MonoTime) -> Self {
        let caps = drivers::for_driver(&bound.identity.driver).caps;
        let link = PortLink {
            port: bound.port,
            netdev: bound.identity.netdev.clone(),
            carrier: None,
            speed_mbps: None,
            mtu: None,
            bond: None,
            carrier_changes: None,
            packets: None,
        };
        let queues = Queue::all()
            .flat_map(|queue| Direction::ALL.map(|direction| (queue, direction)))
            .map(|(queue, direction)| {
                QueueState::new(queue, direction, settings.rule(&bound.identity, direction).0)
            })
            .collect();
        let mut port = Self {
            key: bound.port,
            identity: PortIdentity::default(),
            caps,
            actions: Vec::new(),
            ledger: Ledger::default(),
            queues,
            link,
            pfc: None,
            owner: DcbOwner::Host,
            headroom: None,
            unsupported: Vec::new(),
            unsupported_told: BTreeSet::new(),
            pause: None,
            prevention_timeout_ms: None,
            reporters_in_error: BTreeSet::new(),
            last_at: None,
            last_sign: now,
            took: Duration::ZERO,
            pacing: Pacing::new(&settings.poll),
            refresh_told: None,
            meter: RefreshMeter::default(),
            blind: Some(Gap::FirstReading),
            last_action: None,
            own_flap_until: None,
            flap_seen_by: MonoTime::ZERO,
            failures: 0,
            last_error: None,
            detect_told: false,
            accounts: PortAccounts::default(),
            results: BTreeMap::new(),
            tests: BTreeMap::new(),
            acted_at: BTreeMap::new(),
            vetoes: BTreeMap::new(),
            moved_at: now,
            link_at: now,
            frozen_updates: 0,
        };
        port.bind(bound);
        port.configure(settings);
        port
    }

    /// Takes a new layout of the same port.
    pub(super) fn bind(&mut self, bound: BoundPort) {
        self.identity = bound.identity;
        self.actions = bound.actions;
        if self.unsupported != bound.unsupported {
            self.unsupported = bound.unsupported;
            self.unsupported_told.clear();
        }
        self.refresh_told = bound.refresh.map(|refresh| match refresh {
            SourceRefresh::Every(period) => SourceRefresh::Every(period.min(settings::SPAN_MAX)),
            SourceRefresh::Never => SourceRefresh::Never,
        });
        self.ledger.bind(bound.layout);
        for queue in &mut self.queues {
            queue.places = self.ledger.places(queue.queue, queue.direction);
        }
    }

    /// Takes settings anew, and whatever else the windows depend on.
    pub(super) fn configure(&mut self, settings: &Settings) {
        let refresh = self.refresh();
        let floor = (refresh * 2).max(self.pacing.fast(&settings.poll) * 2);
        for queue in &mut self.queues {
            let (rule, source) = settings.rule(&self.identity, queue.direction);
            if queue.rule != *rule {
                queue.rule = rule.clone();
            }
            let detect = match source {
                DetectSource::Node => rule.detect.max(floor),
                DetectSource::Port => rule.detect,
            };
            queue.detect_fits = if detect < refresh * 2 { Fit::TooSlow } else { Fit::Fits };
            queue.windows = Windows::new(rule, detect, queue.direction);
        }
    }

    /// The longest `detect` of the port's queues.
    pub(super) fn detect(&self) -> Duration {
        self.queues.iter().map(|queue| queue.windows.detect()).max().unwrap_or_default()
    }

    /// How a pause on this port is known, judged by the names present.
    pub(super) fn pause_known(&self) -> PauseKnown {
        if self.queues.iter().any(|queue| queue.places.time.is_some()) {
            PauseKnown::Time
        } else if self.queues.iter().any(QueueState::is_counted) {
            PauseKnown::Frames
        } else {
            PauseKnown::Absent
        }
    }

    /// Whether a queue is watched: its PFC bit is on, or the mask cannot be read and it has a counter.
    pub(super) fn is_watched(&self, queue: &QueueState) -> bool {
        match queue.queue {
            Queue::Priority(priority) => match self.pfc {
                Some(mask) => mask.contains(priority) && self.pause_known() != PauseKnown::Absent,
                None => queue.is_counted(),
            },
            Queue::Global => match self.pause {
                Some(pause) => queue.is_counted() && pause_enabled(pause, queue.direction),
                None => queue.is_counted(),
            },
        }
    }

    /// Whether the queue is known not to be paused by anything: its PFC bit, or 802.3x pause, is off.
    pub(super) fn is_pause_off(&self, queue: &QueueState) -> bool {
        match queue.queue {
            Queue::Priority(priority) => self.pfc.is_some_and(|mask| !mask.contains(priority)),
            Queue::Global => self.pause.is_some_and(|pause| !pause_enabled(pause, queue.direction)),
        }
    }

    /// Takes a reading into the ledger.
    pub(super) fn take(&mut self, reading: &Reading) -> Taken {
        self.last_sign = reading.at.max(self.last_sign);
        let took = reading.took.min(settings::SPAN_MAX);
        let believed = took.min((self.took * TOOK_GROWTH).max(TOOK_USUAL));
        // An eighth of each new value: one slow read moves the pace, one in a hundred does not.
        self.took = if self.accounts.readings == 0 { believed } else { (self.took * 7 + believed) / 8 };
        self.accounts.readings += 1;
        let Some(before) = self.last_at else {
            return self.start(reading, Gap::FirstReading);
        };
        let span = match span_between(before, reading.at, SPAN_MAX) {
            Ok(span) => span,
            Err(gap) => return self.start(reading, gap),
        };
        let refresh = self.refresh();
        let differs = self.ledger.differs(&reading.values);
        self.meter.note(reading.at, differs);
        // Unchanged for one refresh and a half, it has refreshed and nothing has happened.
        let never = self.is_never_refreshed();
        if !never && !refresh.is_zero() && !differs && span < refresh * 3 / 2 {
            return Taken::Merged;
        }
        let slack = SLACK_MIN + took * 2 + refresh / 4;
        let moved = self.ledger.advance(&reading.values, span, slack, self.link.speed_mbps);
        self.last_at = Some(reading.at);
        self.meter.note_traffic(self.ledger.traffic_moved());
        self.accounts.resets += moved.resets;
        self.accounts.implausible += moved.jumps;
        if moved.any || differs {
            self.moved_at = reading.at;
            self.frozen_updates = 0;
        }
        if never {
            Taken::Blind(Gap::NeverRefreshed)
        } else if self.is_frozen() {
            Taken::Blind(Gap::FrozenSource)
        } else {
            Taken::Fresh
        }
    }

    fn start(&mut self, reading: &Reading, gap: Gap) -> Taken {
        self.ledger.rebase();
        self.ledger.advance(&reading.values, Duration::ZERO, SLACK_MIN, self.link.speed_mbps);
        self.last_at = Some(reading.at);
        Taken::Blind(gap)
    }

    fn is_frozen(&self) -> bool {
        self.frozen_updates >= FROZEN_UPDATES
    }

    /// Takes an update of the link; says whether the source has just turned out to be frozen.
    pub(super) fn note_link(&mut self, link: PortLink, now: MonoTime) -> Freeze {
        let grown = match (self.link.packets, link.packets) {
            (Some(before), Some(after)) => growth_of_statistics(before, after),
            _ => 0,
        };
        if self.link.carrier == Some(false) {
            // Without a link nothing can move.
            self.moved_at = now;
            self.frozen_updates = 0;
        }
        let still = now.since(self.moved_at) >= self.detect() * 2;
        let was_frozen = self.is_frozen();
        // What the interface has carried since the last update shows only if the counters were read since then.
        let read = self.last_sign > std::mem::replace(&mut self.link_at, now);
        if grown == 0 || !still || !read || !self.ledger.counts_traffic() {
            // An idle interface tells nothing, one way or the other.
            if !still {
                self.frozen_updates = 0;
            }
        } else {
            self.frozen_updates += 1;
        }
        self.link = link;
        if self.is_frozen() && !was_frozen {
            self.accounts.frozen += 1;
            return Freeze::Begun;
        }
        Freeze::No
    }
}

/// Whether a link update showed that the source is frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freeze {
    No,
    Begun,
}

/// Whether 802.3x pause is on in one direction.
pub(super) fn pause_enabled(pause: PauseConfig, direction: Direction) -> bool {
    match direction {
        Direction::Rx => pause.rx,
        Direction::Tx => pause.tx,
    }
}

/// JSON keys are texts; these keys are not, so the map is written as pairs.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::action::{ActionKind, ActionResult};

    type Results = BTreeMap<(ActionKind, ActionResult), u64>;

    pub(super) fn serialize<S: Serializer>(results: &Results, serializer: S) -> Result<S::Ok, S::Error> {
        results.iter().collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Results, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}
