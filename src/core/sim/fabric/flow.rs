//! What one host sends to another: how much of it waits where, and how fast its sender dares to send.

use super::shape::{LAYERS, SPINES, Shape};
use super::{HOST_BYTES, STEP};
use crate::sim::random::Random;
use crate::sim::tally::PACKET_BYTES;

/// A receiver answers marks with a CNP every 50 µs at most.
const CNPS_MAX: u64 = STEP.as_micros() as u64 / 50;
/// A sender has so many steps of its traffic outstanding and then waits for what is under way.
const OUTSTANDING_STEPS: u64 = 8;
/// Without marks a sender gains this part of its line in a step.
const GAIN_PART: u64 = 400;
/// It never falls below this part.
const LEAST_PART: u64 = 400;
/// A request that is not answered for half a second is sent again.
const TIMEOUT_STEPS: u32 = 100;
/// The leaves, so many further, on which a host has a peer.
const PEERS: [usize; 3] = [1, 2, 5];

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) from: usize,
    pub(super) to: usize,
    way: [Option<u32>; LAYERS],
    /// Bytes that wait for the link of each layer.
    pub(super) waiting: [u64; LAYERS],
    /// Bytes of a step, of those that it sends when everything is quiet.
    pub(super) usual: u64,
    /// Bytes of a step that its sender dares to send.
    rate: u64,
    /// The largest share of marked packets on its way in this step, thousandths.
    pub(super) mark: u64,
    told: Told,
    stalled_steps: u32,
}

/// What a step has brought the two ends of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// Bytes.
    pub(super) sent: u64,
    /// Bytes.
    pub(super) arrived: u64,
    /// Packets.
    pub(super) marked: u64,
    pub(super) cnps: u64,
    pub(super) timed_out: bool,
}

impl Flow {
    fn new(shape: &Shape, from: usize, to: usize, usual: u64, spine: usize) -> Self {
        Self {
            from,
            to,
            way: shape.way(from, to, spine).map(|link| link.map(|link| link as u32)),
            waiting: [0; LAYERS],
            usual,
            rate: HOST_BYTES,
            mark: 0,
            told: Told::default(),
            stalled_steps: 0,
        }
    }

    /// Its link of a layer.
    pub(super) fn link(&self, layer: usize) -> Option<usize> {
        self.way[layer].map(|link| link as usize)
    }

    /// The application has `bytes` more to send.
    pub(super) fn offer(&mut self, bytes: u64) {
        let under_way = self.waiting.iter().sum::<u64>();
        let room = (self.usual * OUTSTANDING_STEPS).max(bytes).saturating_sub(under_way);
        self.waiting[0] += bytes.min(self.rate).min(room);
    }

    /// Moves `moved` bytes over the link of `layer`, and returns the link over which they came before.
    pub(super) fn advance(&mut self, layer: usize, moved: u64) -> Option<usize> {
        self.waiting[layer] -= moved;
        match (layer + 1..LAYERS).find(|next| self.way[*next].is_some()) {
            Some(next) => self.waiting[next] += moved,
            None => self.told.arrived += moved,
        }
        let before = (0..layer).rev().find_map(|before| self.link(before));
        if before.is_none() {
            self.told.sent += moved;
        }
        before
    }

    /// Ends the step: the sender hears of the marks.
    pub(super) fn settle(&mut self) -> Told {
        let mut told = std::mem::take(&mut self.told);
        let mark = std::mem::take(&mut self.mark);
        told.marked = told.arrived / PACKET_BYTES * mark / 1000;
        told.cnps = told.marked.min(CNPS_MAX);
        self.rate = if told.marked > 0 {
            (self.rate.min(2 * self.usual) * (2000 - mark) / 2000).max(HOST_BYTES / LEAST_PART)
        } else {
            (self.rate + HOST_BYTES / GAIN_PART).min(HOST_BYTES)
        };
        let waits = told.arrived == 0 && self.waiting.iter().any(|bytes| *bytes > 0);
        self.stalled_steps = if waits { self.stalled_steps + 1 } else { 0 };
        told.timed_out = waits && self.stalled_steps.is_multiple_of(TIMEOUT_STEPS);
        told
    }
}

/// All flows: each host sends to all others of its leaf, as an all-to-all does, and to its peers on other leaves.
pub(super) fn flows(shape: &Shape, seed: u64) -> Vec<Flow> {
    // In quiet, four tenths of the line stay on the leaf and three leave it.
    const LOCAL: u64 = HOST_BYTES * 4 / 10;
    const REMOTE: u64 = HOST_BYTES * 3 / 10;
    let mut random = Random::new(seed);
    let mut flows = Vec::new();
    for from in 0..shape.hosts() {
        let mut peers = PEERS.iter().filter_map(|further| shape.peer(from, *further)).collect::<Vec<_>>();
        peers.sort_unstable();
        peers.dedup();
        let members = shape.members(shape.leaf(from));
        let (near, far) = (members.len() as u64 - 1, peers.len() as u64);
        let local = members.filter(|to| *to != from).map(|to| (to, LOCAL / near));
        let remote = peers.into_iter().map(|to| (to, REMOTE / far));
        for (to, usual) in local.chain(remote) {
            let spine = random.between(0, SPINES as u64 - 1) as usize;
            flows.push(Flow::new(shape, from, to, usual, spine));
        }
    }
    flows
}
