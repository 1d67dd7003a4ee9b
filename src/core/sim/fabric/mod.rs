//! A small fabric of leaves and spines: flows between hosts, buffers that fill, and the pause that follows from it.
//!
//! ```text
//!  host ──up──▶ leaf ──────────────────down──▶ host        of the same leaf
//!  host ──up──▶ leaf ──▶ spine ──▶ leaf ──down──▶ host     of another one
//! ```
//!
//! A fluid: in each step a flow moves bytes over its links, as many as they carry. What a link has brought and its far
//! end could not send on stays there, on the account of that link. Where an account passes XOFF, the link is paused
//! until it falls below XON: with all flows on it, also those that could go on. So pause spreads from a host that does
//! not drain to those that send to it, and from them to the flows beside. Where an egress queue grows, packets are marked;
//! marks come back to the sender as CNPs, and it slows down. None of this is a curve: a fault changes how fast one thing
//! drains, or switches the marking off.
//!
//! Left out: headroom (a link stops within the step, so that nothing lossless is ever dropped), a buffer shared between
//! ports, the time that a pause frame takes, and adaptive routing. A step is [`STEP`], and buffers are as large as what a
//! link carries in a part of it: times of milliseconds are larger than in a switch, shares and seconds are not.

mod fault;
mod flow;
mod load;
mod make;
mod shape;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use fault::{Ailment, Bout, Fault, Schedule, UnknownFault};
pub use make::Make;
pub use shape::{HOSTS_MAX, Shape, TooManyHosts};

use self::flow::Flow;
use self::load::Load;
use self::shape::LAYERS;
use super::counters::holding_rate;
use super::tally::Tally;
use crate::units::{Direction, Permille, Priority, nanos};

/// The step of the fluid.
pub const STEP: Duration = Duration::from_millis(5);
/// The priority of RoCE, which has PFC on.
pub const LOSSLESS: Priority = Priority::ALL[3];
/// Everything else.
const LOSSY: Priority = Priority::ALL[0];
/// Mbit/s of a host's link.
pub const SPEED_MBPS: u64 = 100_000;
/// Bytes that a host's link carries in a step.
const HOST_BYTES: u64 = SPEED_MBPS * 125_000 / (1_000_000_000 / STEP.as_nanos() as u64);
/// What a host's lossy traffic brings in a step: about 900 packets a second.
const LOSSY_BYTES: u64 = 18_800;
/// A link is paused while more than an eighth of what it carries in a step lies behind it, until that is a sixteenth.
const XOFF_PART: u64 = 8;
const XON_PART: u64 = 16;
/// A slow host takes a hundredth of what its link brings: its memory or its PCIe does not give more.
const SLOW_PART: u64 = 100;

/// See the module.
#[derive(Clone, Debug)]
pub struct Fabric {
    shape: Shape,
    load: Load,
    links: Vec<Link>,
    flows: Vec<Flow>,
    tallies: Vec<Tally>,
    steps: u64,
}

/// One direction of a cable.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Bytes in a step.
    capacity: u64,
    /// Its far end has paused it.
    held: bool,
    /// Bytes that it has brought and that its far end still holds.
    behind: u64,
    /// Bytes that want to go over it in this step.
    wanted: u64,
}

impl Link {
    /// What goes over it in this step of `part`, one of those that want to.
    const fn share_of(&self, part: u64, goes: u64) -> u64 {
        if self.wanted <= goes { part } else { part * goes / self.wanted }
    }

    /// What of `wanted` goes in this step.
    const fn goes(&self) -> u64 {
        if self.held { 0 } else { self.capacity }
    }

    fn set_pause(&mut self) {
        let limit = self.capacity / if self.held { XON_PART } else { XOFF_PART };
        self.held = self.behind > limit;
    }
}

impl Fabric {
    /// A fabric at rest. The same shape and seed make the same run.
    #[must_use]
    pub fn new(shape: Shape, seed: u64) -> Self {
        let links = shape.capacities().map(|capacity| Link { capacity, ..Link::default() }).collect();
        Self {
            load: Load::new(seed, shape.hosts()),
            links,
            flows: flow::flows(&shape, seed),
            tallies: vec![Tally::default(); shape.hosts()],
            steps: 0,
            shape,
        }
    }

    /// How long it has run.
    #[must_use]
    pub const fn ran(&self) -> Duration {
        Duration::from_nanos(STEP.as_nanos() as u64 * self.steps)
    }

    /// Its shape.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The share of the bytes that came to a host of the fabric with a mark, since the beginning.
    #[must_use]
    pub fn marked(&self) -> Permille {
        let marked = self.tallies.iter().map(|tally| tally.congestion.marked[LOSSLESS.index()]).sum();
        let all = self.tallies.iter().map(|tally| tally.packets(LOSSLESS, Direction::Rx)).sum();
        Permille::of(marked, all)
    }

    /// How long a host was paused (`Rx`) or has paused its leaf (`Tx`), since the beginning.
    #[must_use]
    pub fn paused(&self, host: usize, direction: Direction) -> Duration {
        Duration::from_nanos(self.tallies[host].pauses[LOSSLESS.index()][direction.index()].time_ns)
    }

    /// Goes on by one step.
    pub fn step(&mut self, ailment: Ailment) {
        for flow in &mut self.flows {
            flow.offer(self.load.bytes(self.steps, flow));
        }
        for layer in 0..LAYERS {
            self.carry(layer, ailment);
        }
        self.drain(ailment);
        self.settle();
        for link in &mut self.links {
            link.set_pause();
        }
        self.count_pause();
        self.steps += 1;
    }

    /// Moves every flow over its link of this layer.
    fn carry(&mut self, layer: usize, ailment: Ailment) {
        for index in self.shape.layer(layer) {
            self.links[index].wanted = 0;
        }
        for flow in &self.flows {
            if let Some(link) = flow.link(layer) {
                self.links[link].wanted += flow.waiting[layer];
            }
        }
        for flow in &mut self.flows {
            let Some(index) = flow.link(layer) else { continue };
            let link = &self.links[index];
            let goes = if self.shape.is_stuck(index, ailment) { 0 } else { link.goes() };
            let moved = link.share_of(flow.waiting[layer], goes);
            if layer > 0 && ailment.marks() {
                flow.mark = flow.mark.max(load::mark(link.wanted.saturating_sub(goes), link.capacity));
            }
            if let Some(before) = flow.advance(layer, moved) {
                self.links[before].behind -= moved;
            }
            self.links[index].behind += moved;
        }
    }

    /// The hosts take what has come.
    fn drain(&mut self, ailment: Ailment) {
        for (host, tally) in self.tallies.iter_mut().enumerate() {
            let down = &mut self.links[self.shape.down(host)];
            let slow = ailment.slows(host);
            let takes = if slow { down.capacity / SLOW_PART } else { down.capacity };
            down.behind = down.behind.saturating_sub(takes);
            tally.carry(LOSSY, Direction::Rx, LOSSY_BYTES);
            tally.carry(LOSSY, Direction::Tx, LOSSY_BYTES);
            // What may be dropped is dropped where the lossless traffic waits.
            tally.congestion.discards[LOSSY.index()] += u64::from(slow);
        }
    }

    /// What this step has brought the two ends of each flow.
    fn settle(&mut self) {
        for flow in &mut self.flows {
            let told = flow.settle();
            self.tallies[flow.from].carry(LOSSLESS, Direction::Tx, told.sent);
            self.tallies[flow.from].congestion.cnp_handled += told.cnps;
            self.tallies[flow.from].congestion.ack_timeouts += u64::from(told.timed_out);
            self.tallies[flow.to].carry(LOSSLESS, Direction::Rx, told.arrived);
            self.tallies[flow.to].congestion.cnp_sent += told.cnps;
            self.tallies[flow.to].congestion.marked[LOSSLESS.index()] += told.marked;
        }
    }

    /// A host's uplink that is held is received pause, its downlink is sent one.
    fn count_pause(&mut self) {
        let refreshes = holding_rate(SPEED_MBPS) * nanos(STEP) / 1_000_000_000;
        for (host, tally) in self.tallies.iter_mut().enumerate() {
            let links = [self.shape.up(host), self.shape.down(host)];
            for (link, pause) in links.into_iter().zip(&mut tally.pauses[LOSSLESS.index()]) {
                pause.note(self.links[link].held, nanos(STEP), refreshes);
            }
        }
    }
}
