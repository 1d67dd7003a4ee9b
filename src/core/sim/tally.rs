//! What really happened on a simulated port, in whole numbers and without names.

use crate::units::{Direction, Priority, Queue};

/// Bytes of a packet: what RoCE sends over an MTU of 4096.
pub(super) const PACKET_BYTES: u64 = 4178;
/// A second in nanoseconds.
const SECOND: u128 = 1_000_000_000;

/// What really happened on a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) pauses: [[PauseTally; 2]; Queue::COUNT],
    packets: [[Packets; 2]; Priority::COUNT],
    pub(super) link_downs: u64,
    pub(super) congestion: Congestion,
}

/// What a congested fabric leaves behind on a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Congestion {
    /// Packets that came with a mark.
    pub(super) marked: [u64; Priority::COUNT],
    /// Packets that found no buffer.
    pub(super) discards: [u64; Priority::COUNT],
    pub(super) cnp_sent: u64,
    pub(super) cnp_handled: u64,
    pub(super) ack_timeouts: u64,
}

/// The pause of one queue in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PauseTally {
    pub(super) time_ns: u64,
    pub(super) stops: u64,
    pub(super) releases: u64,
    pub(super) ends: u64,
    /// Held at the end of the span that was noted last.
    is_held: bool,
}

impl PauseTally {
    /// Takes that the queue was, or was not, held for a span in which its peer sent so many frames to keep it held.
    pub(super) const fn note(&mut self, held: bool, span_ns: u64, refreshes: u64) {
        let was = self.is_held;
        if held {
            self.time_ns += span_ns;
            self.stops += if was { refreshes } else { refreshes + 1 };
        } else if was {
            self.releases += 1;
            self.ends += 1;
        }
        self.is_held = held;
    }
}

/// Packets, and the part of the next one that is already through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Packets {
    whole: u64,
    rest: u64,
}

impl Tally {
    /// Adds the packets of `nanos` at `rate` a second.
    pub(super) fn flow(&mut self, priority: Priority, direction: Direction, nanos: u64, rate: u64) {
        let packets = &mut self.packets[priority.index()][direction.index()];
        let all = u128::from(nanos) * u128::from(rate) + u128::from(packets.rest);
        packets.whole += (all / SECOND) as u64;
        packets.rest = (all % SECOND) as u64;
    }

    /// Adds the packets that `bytes` are.
    pub(super) fn carry(&mut self, priority: Priority, direction: Direction, bytes: u64) {
        let packets = &mut self.packets[priority.index()][direction.index()];
        let all = u128::from(bytes) * SECOND / u128::from(PACKET_BYTES) + u128::from(packets.rest);
        packets.whole += (all / SECOND) as u64;
        packets.rest = (all % SECOND) as u64;
    }

    /// Packets of one priority: received ones for `Rx`, sent ones for `Tx`.
    pub(super) fn packets(&self, priority: Priority, direction: Direction) -> u64 {
        self.packets[priority.index()][direction.index()].whole
    }

    /// Packets of RDMA: all but those of the priority that everything else uses.
    pub(super) fn rdma_packets(&self, direction: Direction) -> u64 {
        self.packets.iter().skip(1).map(|both| both[direction.index()].whole).sum()
    }

    /// All packets in one direction.
    pub(super) fn port_packets(&self, direction: Direction) -> u64 {
        self.packets.iter().map(|both| both[direction.index()].whole).sum()
    }
}
