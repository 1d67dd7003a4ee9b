//! All counters of one port: followed, widened and kept for export, and the few of them that the watchdog looks at.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::binding::Bound;
use crate::catalog::{Counter, PauseSlots, Slot, Unit};
use crate::delta::{Change, Gap, Tracker, is_saturated};
use crate::drivers::{Kind, PacketScope};
use crate::units::{Direction, MonoTime, Priority, Queue, nanos};

/// Assumed where the kernel does not tell the speed: twice the fastest port there is, so that nothing real is
/// called implausible.
const SPEED_UNKNOWN_MBPS: u64 = 1_600_000;
/// The shortest Ethernet frame; more than this many packets cannot have come.
const FRAME_BYTES_MIN: u64 = 64;

/// The counters of one port.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ledger {
    layout: Vec<Bound>,
    limits: Vec<LimitOf>,
    trackers: Vec<Tracker>,
    changes: Vec<Change>,
    raw: Vec<u64>,
    traffic: Vec<usize>,
    /// Whether any counter is one that the watchdog looks at.
    watched: bool,
    /// Readings since the layout was bound.
    readings: u64,
    span_before: Duration,
}

/// Which limit holds for a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum LimitOf {
    Time,
    Bytes,
    Packets,
    Events,
}

/// The most that can have been added between two readings.
#[derive(Clone, Copy, Debug)]
struct Limits {
    time_ns: u64,
    bytes: u64,
    packets: u64,
    events: u64,
}

/// The places of one queue's counters in the layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Places {
    pub(super) time: Option<usize>,
    pub(super) frames: Option<usize>,
    pub(super) xoff: Option<usize>,
    packets: [Option<usize>; Priority::COUNT],
}

/// What a reading did to the counters as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    /// Any counter the watchdog looks at has grown.
    pub(super) any: bool,
    /// Counters that were reset.
    pub(super) resets: u64,
    /// Counters that jumped.
    pub(super) jumps: u64,
}

impl Ledger {
    /// Takes a new layout. A counter that is in both keeps its history: its identity is its name.
    pub(super) fn bind(&mut self, layout: Vec<Bound>) {
        let trackers = layout
            .iter()
            .map(|bound| {
                let before = self.layout.iter().position(|b| b.slot == bound.slot && b.scale == bound.scale);
                before.map_or_else(Tracker::default, |index| self.trackers[index])
            })
            .collect::<Vec<_>>();
        self.limits = layout.iter().map(|bound| LimitOf::counter(bound.slot.counter())).collect();
        self.traffic = (0..layout.len()).filter(|&i| is_traffic(layout[i].slot.counter())).collect();
        self.watched = layout.iter().any(|bound| is_watched(bound.slot.counter()));
        self.changes = vec![Change::Unknown(Gap::FirstReading); layout.len()];
        self.raw = vec![0; layout.len()];
        self.trackers = trackers;
        self.layout = layout;
        self.readings = 0;
    }

    pub(super) fn layout(&self) -> &[Bound] {
        &self.layout
    }

    /// Whether the port has any counter that the watchdog looks at: a recording tells the same.
    pub(super) const fn is_watched(&self) -> bool {
        self.watched
    }

    /// Whether the port counts any traffic at all: without, an idle port and a frozen one look alike.
    pub(super) fn counts_traffic(&self) -> bool {
        !self.traffic.is_empty()
    }

    /// Whether `values` differ from the last reading in anything the watchdog looks at.
    pub(super) fn differs(&self, values: &[u64]) -> bool {
        self.readings == 0
            || self
                .layout
                .iter()
                .enumerate()
                .any(|(i, b)| is_watched(b.slot.counter()) && self.raw[i] != values[i])
    }

    /// Takes a reading that came `span` after the last one.
    pub(super) fn advance(
        &mut self,
        values: &[u64],
        span: Duration,
        slack: Duration,
        speed_mbps: Option<u64>,
    ) -> Moved {
        // A value that was doubted is compared with the reading before it, so two spans have passed at most.
        let limits = Limits::new(span + self.span_before + slack, speed_mbps);
        self.span_before = span;
        self.readings += 1;
        let mut moved = Moved::default();
        for (index, raw) in values.iter().copied().enumerate() {
            let bound = &self.layout[index];
            self.raw[index] = raw;
            if bound.kind == Kind::Gauge {
                continue;
            }
            let limit = limits.native(self.limits[index], bound.scale);
            let change = self.trackers[index].advance(raw, bound.width, bound.overflow, limit);
            self.changes[index] = change;
            match change {
                Change::By(0) => {}
                Change::By(_) => moved.any |= is_watched(bound.slot.counter()),
                // Doubted first, then confirmed: counted once.
                Change::Unknown(Gap::Reset) if !self.trackers[index].is_doubtful() => moved.resets += 1,
                Change::Unknown(Gap::ImplausibleJump) if !self.trackers[index].is_doubtful() => {
                    moved.jumps += 1
                }
                Change::Unknown(_) => {}
            }
        }
        moved
    }

    /// Whether there is one of everything for each counter, as [`Ledger::bind`] makes them.
    pub(super) fn is_whole(&self) -> bool {
        let counts = [self.limits.len(), self.trackers.len(), self.changes.len(), self.raw.len()];
        let count = self.layout.len();
        counts.iter().all(|other| *other == count) && self.traffic.iter().all(|place| *place < count)
    }

    /// Forgets the counters that no decision looks at.
    pub(super) fn narrow(&mut self) {
        let kept =
            (0..self.layout.len()).filter(|&i| is_watched(self.layout[i].slot.counter())).collect::<Vec<_>>();
        self.limits = kept.iter().map(|&i| self.limits[i]).collect();
        self.trackers = kept.iter().map(|&i| self.trackers[i]).collect();
        self.changes = kept.iter().map(|&i| self.changes[i]).collect();
        self.raw = kept.iter().map(|&i| self.raw[i]).collect();
        self.layout = kept.iter().map(|&i| self.layout[i]).collect();
        self.traffic =
            (0..self.layout.len()).filter(|&i| is_traffic(self.layout[i].slot.counter())).collect();
    }

    /// Forgets the last reading, not the totals.
    pub(super) fn rebase(&mut self) {
        self.trackers.iter_mut().for_each(Tracker::rebase);
        self.readings = 0;
    }

    pub(super) fn place(&self, slot: Slot) -> Option<usize> {
        self.layout.iter().position(|bound| bound.slot == slot)
    }

    pub(super) fn places(&self, queue: Queue, direction: Direction) -> Places {
        let slots = PauseSlots::of(queue, direction);
        let own = |priority| self.place(PauseSlots::of(Queue::Priority(priority), direction).packets);
        let packets = match queue {
            Queue::Priority(priority) => {
                let mut packets = [None; Priority::COUNT];
                packets[0] = own(priority);
                packets
            }
            // 802.3x stops all priorities: it moves as soon as one of them does.
            Queue::Global => Priority::ALL.map(own),
        };
        Places {
            time: self.place(slots.time),
            frames: self.place(slots.frames),
            xoff: self.place(slots.xoff_frames),
            packets,
        }
    }

    /// The growth of a counter in the last reading, in held units (ns, bytes, counts).
    pub(super) fn change(&self, place: usize) -> Change {
        match self.changes[place] {
            Change::By(native) => Change::By(native.saturating_mul(self.layout[place].scale)),
            unknown => unknown,
        }
    }

    /// Whether the last value of a counter is not believed yet.
    pub(super) fn is_doubted(&self, place: usize) -> bool {
        self.trackers[place].is_doubtful()
    }

    /// The last native value of a counter.
    pub(super) fn native(&self, place: usize) -> u64 {
        self.raw[place]
    }

    /// Packets moved in the last reading, and altogether, where they are counted for this queue alone.
    pub(super) fn packets(&self, places: &Places, queue: Queue, scope: PacketScope) -> Option<(u64, u64)> {
        match queue {
            Queue::Priority(_) => {
                let place = places.packets[0]?;
                (!self.is_shared(place, scope)).then_some(())?;
                Some((self.changes[place].known()?, self.raw[place]))
            }
            Queue::Global => {
                let mut sum = (0u64, 0u64);
                for place in places.packets {
                    let place = place?;
                    sum.0 = sum.0.saturating_add(self.changes[place].known()?);
                    sum.1 = sum.1.wrapping_add(self.raw[place]);
                }
                Some(sum)
            }
        }
    }

    /// Whether the counter shows a hardware queue that other priorities use too: then they show the same number
    /// (bnxt_en). Two queues that never carried anything look so as well, and then nothing is lost.
    fn is_shared(&self, place: usize, scope: PacketScope) -> bool {
        match scope {
            PacketScope::Alone => false,
            PacketScope::None => true,
            PacketScope::SharedQueue => {
                let counter = self.layout[place].slot.counter();
                self.layout.iter().enumerate().any(|(index, bound)| {
                    index != place && bound.slot.counter() == counter && self.raw[index] == self.raw[place]
                })
            }
        }
    }

    /// Packets the port has moved in the last reading, if it tells: for judging how often its source refreshes.
    pub(super) fn traffic_moved(&self) -> u64 {
        let moved = self.traffic.iter().filter_map(|&place| self.changes[place].known());
        moved.fold(0, u64::saturating_add)
    }

    /// A counter as exported, held units: widened and cumulative, or the momentary value of a gauge.
    pub(super) fn exported(&self, place: usize) -> Option<u64> {
        let bound = &self.layout[place];
        if self.readings == 0 && self.trackers[place].total().is_none() {
            return None;
        }
        match bound.kind {
            Kind::Gauge => Some(self.raw[place].saturating_mul(bound.scale)),
            Kind::Counter => self.trackers[place].total().map(|native| native.saturating_mul(bound.scale)),
        }
    }

    /// Whether a counter stands at its largest value.
    pub(super) fn saturated(&self, place: usize) -> bool {
        let bound = &self.layout[place];
        self.readings > 0 && is_saturated(self.raw[place], bound.width, bound.overflow)
    }
}

impl LimitOf {
    fn counter(counter: Counter) -> Self {
        match counter.entry().family.unit {
            Unit::Seconds => Self::Time,
            Unit::Bytes => Self::Bytes,
            _ if is_traffic(counter) || is_watched(counter) => Self::Packets,
            Unit::Count | Unit::Flag | Unit::Timestamp | Unit::BytesPerSecond | Unit::Ratio => Self::Events,
        }
    }
}

impl Limits {
    fn new(span: Duration, speed_mbps: Option<u64>) -> Self {
        let micros = nanos(span) / 1000;
        let speed = speed_mbps.unwrap_or(SPEED_UNKNOWN_MBPS);
        // Mbit/s times µs is bits; a quarter more for what the clock and the preamble leave uncertain, and a block
        // for short spans.
        let bytes = (micros.saturating_mul(speed) / 8).saturating_mul(5) / 4 + (1 << 20);
        Self {
            time_ns: nanos(span),
            bytes,
            packets: bytes / FRAME_BYTES_MIN,
            events: micros.saturating_mul(1000),
        }
    }

    fn native(&self, limit: LimitOf, scale: u64) -> u64 {
        let held = match limit {
            LimitOf::Time => self.time_ns,
            LimitOf::Bytes => self.bytes,
            LimitOf::Packets => self.packets,
            LimitOf::Events => self.events,
        };
        held / scale.max(1) + 1
    }
}

/// Counters that show whether the port carries anything.
const fn is_traffic(counter: Counter) -> bool {
    matches!(
        counter,
        Counter::PriorityRxPackets
            | Counter::PriorityTxPackets
            | Counter::PortRxPackets
            | Counter::PortTxPackets
    )
}

/// Counters that can change a decision: the only ones a recording needs.
#[must_use]
pub(crate) const fn is_watched(counter: Counter) -> bool {
    is_traffic(counter)
        || matches!(
            counter,
            Counter::PfcRxPauseTime
                | Counter::PfcTxPauseTime
                | Counter::PfcRxPauseFrames
                | Counter::PfcTxPauseFrames
                | Counter::PfcRxXoffFrames
                | Counter::PfcTxXoffFrames
                | Counter::GlobalRxPauseTime
                | Counter::GlobalTxPauseTime
                | Counter::GlobalRxPauseFrames
                | Counter::GlobalTxPauseFrames
                | Counter::GlobalRxXoffFrames
                | Counter::GlobalTxXoffFrames
        )
}

/// The place of the midpoint of a reading after the one before, or why the two cannot be compared.
pub(super) fn span_between(before: MonoTime, at: MonoTime, max: Duration) -> Result<Duration, Gap> {
    let span = at.since(before);
    if span.is_zero() || span > max { Err(Gap::ClockGap) } else { Ok(span) }
}
