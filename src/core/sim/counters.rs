//! The counters of a simulated port: the numbers and names its driver makes of what happened.

use std::time::Duration;

use super::random::Random;
use super::scenario::Names;
use super::tally::{PACKET_BYTES, Tally};
use crate::catalog::Counter as C;
use crate::drivers::{Driver, NamesEffect, PRIORITY_MARK, Row};
use crate::engine::is_watched;
use crate::units::{Direction, Priority, PriorityMask, Queue};

/// Names that no table knows: every real device has some.
const UNTABLED: [&str; 3] = ["rx_sim_steered", "tx_sim_doorbells", "sim_temperature"];

/// What a native counter means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    PauseTime(Direction),
    Frames(Direction),
    Stops(Direction),
    Releases(Direction),
    Ends(Direction),
    Packets(Direction),
    Bytes(Direction),
    PortPackets(Direction),
    PortBytes(Direction),
    PortFrames(Direction),
    RdmaPackets(Direction),
    RdmaBytes(Direction),
    LinkDowns,
    Marked,
    Discards,
    CnpSent,
    CnpHandled,
    AckTimeouts,
    /// Something that does not move here.
    Still,
}

use Direction::{Rx, Tx};

const MEANINGS: &[(C, Meaning)] = &[
    (C::PfcRxPauseTime, Meaning::PauseTime(Rx)),
    (C::PfcTxPauseTime, Meaning::PauseTime(Tx)),
    (C::GlobalRxPauseTime, Meaning::PauseTime(Rx)),
    (C::GlobalTxPauseTime, Meaning::PauseTime(Tx)),
    (C::PfcRxPauseFrames, Meaning::Frames(Rx)),
    (C::PfcTxPauseFrames, Meaning::Frames(Tx)),
    (C::GlobalRxPauseFrames, Meaning::Frames(Rx)),
    (C::GlobalTxPauseFrames, Meaning::Frames(Tx)),
    (C::PfcRxXoffFrames, Meaning::Stops(Rx)),
    (C::PfcTxXoffFrames, Meaning::Stops(Tx)),
    (C::GlobalRxXoffFrames, Meaning::Stops(Rx)),
    (C::GlobalTxXoffFrames, Meaning::Stops(Tx)),
    (C::PfcRxXonFrames, Meaning::Releases(Rx)),
    (C::PfcTxXonFrames, Meaning::Releases(Tx)),
    (C::GlobalRxXonFrames, Meaning::Releases(Rx)),
    (C::GlobalTxXonFrames, Meaning::Releases(Tx)),
    (C::PfcRxPauseTransitions, Meaning::Ends(Rx)),
    (C::PfcTxPauseTransitions, Meaning::Ends(Tx)),
    (C::GlobalRxPauseTransitions, Meaning::Ends(Rx)),
    (C::GlobalTxPauseTransitions, Meaning::Ends(Tx)),
    (C::PriorityRxPackets, Meaning::Packets(Rx)),
    (C::PriorityTxPackets, Meaning::Packets(Tx)),
    (C::PriorityRxBytes, Meaning::Bytes(Rx)),
    (C::PriorityTxBytes, Meaning::Bytes(Tx)),
    (C::PortRxPackets, Meaning::PortPackets(Rx)),
    (C::PortTxPackets, Meaning::PortPackets(Tx)),
    (C::PortRxBytes, Meaning::PortBytes(Rx)),
    (C::PortTxBytes, Meaning::PortBytes(Tx)),
    (C::PortPfcRxPauseFrames, Meaning::PortFrames(Rx)),
    (C::PortPfcTxPauseFrames, Meaning::PortFrames(Tx)),
    (C::RdmaRxPackets, Meaning::RdmaPackets(Rx)),
    (C::RdmaTxPackets, Meaning::RdmaPackets(Tx)),
    (C::RdmaRxBytes, Meaning::RdmaBytes(Rx)),
    (C::RdmaTxBytes, Meaning::RdmaBytes(Tx)),
    (C::LinkDowns, Meaning::LinkDowns),
    (C::EcnMarkedPackets, Meaning::Marked),
    (C::PriorityRxDiscards, Meaning::Discards),
    (C::PriorityBufferDiscards, Meaning::Discards),
    (C::PortRxDiscards, Meaning::Discards),
    (C::CnpSent, Meaning::CnpSent),
    (C::CnpHandled, Meaning::CnpHandled),
    (C::LocalAckTimeouts, Meaning::AckTimeouts),
];

impl Meaning {
    fn of(counter: C) -> Self {
        MEANINGS.iter().find(|(known, _)| *known == counter).map_or(Self::Still, |(_, meaning)| *meaning)
    }

    /// Whether it is small on a port that has run for long: troubles, and what is not simulated.
    const fn is_rare(self) -> bool {
        match self {
            Self::Marked
            | Self::Discards
            | Self::CnpSent
            | Self::CnpHandled
            | Self::AckTimeouts
            | Self::RdmaPackets(_)
            | Self::RdmaBytes(_)
            | Self::Still => true,
            Self::PauseTime(_)
            | Self::Frames(_)
            | Self::Stops(_)
            | Self::Releases(_)
            | Self::Ends(_)
            | Self::Packets(_)
            | Self::Bytes(_)
            | Self::PortPackets(_)
            | Self::PortBytes(_)
            | Self::PortFrames(_)
            | Self::LinkDowns => false,
        }
    }

    const fn is_pause(self) -> bool {
        matches!(
            self,
            Self::PauseTime(_) | Self::Frames(_) | Self::Stops(_) | Self::Releases(_) | Self::Ends(_)
        )
    }
}

/// A native counter of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Native {
    pub(super) meaning: Meaning,
    pub(super) queue: Queue,
    pub(super) scale: u64,
    /// Where it stood when the simulation began: no real counter begins at 0.
    pub(super) origin: u64,
    /// All bits it has.
    pub(super) mask: u64,
}

/// The native counters of a device and their names, in the order the kernel gives them.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    pub(super) names: Vec<String>,
    pub(super) natives: Vec<Native>,
}

/// What decides which names a device has now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) which: Names,
    /// Priorities with PFC on.
    pub(super) pfc: PriorityMask,
    /// Whether 802.3x pause is on.
    pub(super) global: bool,
    /// All bits of a counter that has fewer than its row says.
    pub(super) mask: u64,
}

impl Directory {
    /// The names of `driver` under the present settings. `seed` decides where the counters began, by name; without one
    /// they begin at 0.
    pub(super) fn new(driver: &'static Driver, shown: Shown, seed: Option<u64>) -> Self {
        let vanish = driver.caps.levers.pfc_off.is_some_and(|off| off.pause_names == NamesEffect::Vanish);
        let mut directory = Self::default();
        for row in driver.ethtool {
            if shown.which == Names::Watched && !is_watched(row.counter) {
                continue;
            }
            directory.push_row(row, shown, vanish, seed);
        }
        if shown.which == Names::All {
            for name in UNTABLED {
                directory.push(name.to_owned(), Meaning::Still, Queue::Global, 1, u64::MAX, seed);
            }
        }
        directory
    }

    /// The names of the RDMA device that `driver` makes, without those that somebody has to switch on. They begin at 0.
    pub(super) fn rdma(driver: &'static Driver) -> Self {
        const OPTIONAL: u8 = 2;
        let mut directory = Self::default();
        for row in driver.rdma.iter().filter(|row| row.rank != OPTIONAL && !row.is_per_priority()) {
            let (meaning, mask) = (Meaning::of(row.counter), row.width.max());
            directory.push(row.pattern.to_owned(), meaning, Queue::Global, row.unit.scale(), mask, None);
        }
        directory
    }

    fn push_row(&mut self, row: &Row, shown: Shown, vanish: bool, seed: Option<u64>) {
        let meaning = Meaning::of(row.counter);
        // A share of the last second has no past, and here it is nothing.
        let mask = if row.counter.is_gauge() { 0 } else { row.width.max() & shown.mask };
        let scale = row.unit.scale();
        if let Some(upper) = row.upper_half {
            self.push(upper.to_owned(), Meaning::Still, Queue::Global, 1, 0, seed);
        }
        if !row.is_per_priority() {
            if !(vanish && meaning.is_pause() && !shown.global) {
                self.push(row.pattern.to_owned(), meaning, Queue::Global, scale, mask, seed);
            }
            return;
        }
        for priority in Priority::ALL {
            if vanish && meaning.is_pause() && !shown.pfc.contains(priority) {
                continue;
            }
            let name = row.pattern.replace(PRIORITY_MARK, &priority.to_string());
            self.push(name, meaning, Queue::Priority(priority), scale, mask, seed);
        }
    }

    fn push(
        &mut self,
        name: String,
        meaning: Meaning,
        queue: Queue,
        scale: u64,
        mask: u64,
        seed: Option<u64>,
    ) {
        let origin = seed.map_or(0, |seed| origin(&name, meaning, mask, seed));
        self.names.push(name);
        self.natives.push(Native { meaning, queue, scale, origin, mask });
    }

    /// Where the pause time of a queue stands among the values.
    pub(super) fn pause_time(&self, queue: Queue, direction: Direction) -> Option<usize> {
        self.find(Meaning::PauseTime(direction), queue)
    }

    /// Where the packets of a priority stand among the values.
    pub(super) fn packets(&self, priority: Priority, direction: Direction) -> Option<usize> {
        self.find(Meaning::Packets(direction), Queue::Priority(priority))
    }

    fn find(&self, meaning: Meaning, queue: Queue) -> Option<usize> {
        self.natives.iter().position(|native| native.meaning == meaning && native.queue == queue)
    }

    /// What `native` has counted according to `tally`, in its own unit.
    pub(super) fn counted(&self, native: &Native, tally: &Tally, shared: PriorityMask) -> u64 {
        let pause = |direction: Direction| &tally.pauses[native.queue.index()][direction.index()];
        let count = match native.meaning {
            Meaning::PauseTime(direction) => pause(direction).time_ns,
            // Where stop and go are not told apart, both count.
            Meaning::Frames(direction) => pause(direction).stops + pause(direction).releases,
            Meaning::Stops(direction) => pause(direction).stops,
            Meaning::Releases(direction) => pause(direction).releases,
            Meaning::Ends(direction) => pause(direction).ends,
            Meaning::Packets(direction) => packets(native.queue, direction, tally, shared),
            Meaning::Bytes(direction) => packets(native.queue, direction, tally, shared) * PACKET_BYTES,
            Meaning::PortPackets(direction) => tally.port_packets(direction),
            Meaning::PortBytes(direction) => tally.port_packets(direction) * PACKET_BYTES,
            Meaning::PortFrames(direction) => {
                let all = &tally.pauses[..Priority::COUNT];
                all.iter().map(|both| both[direction.index()].stops + both[direction.index()].releases).sum()
            }
            Meaning::RdmaPackets(direction) => tally.rdma_packets(direction),
            Meaning::RdmaBytes(direction) => tally.rdma_packets(direction) * PACKET_BYTES,
            Meaning::LinkDowns => tally.link_downs,
            Meaning::Marked => of(native.queue, &tally.congestion.marked),
            Meaning::Discards => of(native.queue, &tally.congestion.discards),
            Meaning::CnpSent => tally.congestion.cnp_sent,
            Meaning::CnpHandled => tally.congestion.cnp_handled,
            Meaning::AckTimeouts => tally.congestion.ack_timeouts,
            Meaning::Still => 0,
        };
        count / native.scale
    }

    /// Replaces `values` by what the natives show of `tally`.
    pub(super) fn read(&self, tally: &Tally, values: &mut Vec<u64>) {
        let value = |native: &Native| self.counted(native, tally, PriorityMask(0)) & native.mask;
        values.clear();
        values.extend(self.natives.iter().map(value));
    }
}

/// Where a counter of a device stood that had run before.
fn origin(name: &str, meaning: Meaning, mask: u64, seed: u64) -> u64 {
    let salt = name.bytes().fold(seed, |hash, byte| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
    let mut random = Random::new(salt);
    match mask {
        _ if meaning.is_rare() => random.between(0, 1000).min(mask),
        u64::MAX => random.between(0, 1 << 40),
        // A narrow counter begins shortly before its end: it wraps within seconds of traffic or pause.
        _ => mask - random.between(0, 2_000_000).min(mask),
    }
}

/// What was counted for one priority, or for the port as a whole.
fn of(queue: Queue, counted: &[u64; Priority::COUNT]) -> u64 {
    match queue {
        Queue::Priority(priority) => counted[priority.index()],
        Queue::Global => counted.iter().sum(),
    }
}

/// Packets of one priority, or of the hardware queue it shares with others.
fn packets(queue: Queue, direction: Direction, tally: &Tally, shared: PriorityMask) -> u64 {
    match queue {
        Queue::Priority(priority) if shared.contains(priority) => {
            shared.iter().map(|priority| tally.packets(priority, direction)).sum()
        }
        Queue::Priority(priority) => tally.packets(priority, direction),
        Queue::Global => tally.port_packets(direction),
    }
}

/// How many pause frames a second hold a queue on a link of this speed, with a quarter to spare: a peer refreshes
/// before the pause runs out.
pub(super) const fn holding_rate(speed_mbps: u64) -> u64 {
    crate::evidence::frames_to_hold(Duration::from_secs(1), speed_mbps) * 5 / 4 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_momentary_share_is_nothing_and_a_counter_has_a_past() {
        let driver = crate::drivers::ALL.iter().find(|driver| driver.name == "mlx5_core").unwrap();
        let shown = Shown { which: Names::All, pfc: PriorityMask::default(), global: false, mask: u64::MAX };
        for seed in 0..50 {
            let directory = Directory::new(driver, shown, Some(seed));
            let origin = |name: &str| {
                directory.natives[directory.names.iter().position(|other| other == name).unwrap()].origin
            };
            assert_eq!(origin("outbound_pci_stalled_rd"), 0);
            assert!(origin("rx_bytes_phy") > 0);
        }
    }
}
