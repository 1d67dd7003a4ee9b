//! What the hosts want to send, and where a switch marks.

use super::STEP;
use super::flow::Flow;
use crate::sim::random::Random;
use crate::units::nanos;

/// A training step: so long it computes and communicates.
const ROUND_STEPS: u64 = steps(4000);
/// So much of it the network is busy.
const BUSY_STEPS: u64 = steps(3000);
/// While a job computes, this part of its traffic goes on.
const QUIET_PART: u64 = 20;
/// Bursts towards one host last so long, and come to one host in so many; in a small fabric to more of them.
const BURST_STEPS: u64 = steps(300);
const BURST_ONE_IN: u64 = 60;
const BURST_ONE_IN_SMALL: u64 = 10;
/// They bring so much more.
const BURST_TIMES: u64 = 6;
/// Hosts that work on one job.
const JOB_HOSTS: u64 = 32;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    seed: u64,
    burst_one_in: u64,
}

const fn steps(millis: u64) -> u64 {
    millis * 1_000_000 / nanos(STEP)
}

impl Load {
    pub(super) fn new(seed: u64, hosts: usize) -> Self {
        Self { seed, burst_one_in: (BURST_ONE_IN_SMALL + hosts as u64 / 2).min(BURST_ONE_IN) }
    }

    /// The bytes that a flow's application wants to send in a step.
    pub(super) fn bytes(&self, step: u64, flow: &Flow) -> u64 {
        let job = flow.from as u64 / JOB_HOSTS;
        let into = (step + self.draw(1, job) % ROUND_STEPS) % ROUND_STEPS;
        if into >= BUSY_STEPS {
            return flow.usual / QUIET_PART;
        }
        let burst = self.draw(2 + step / BURST_STEPS, flow.to as u64).is_multiple_of(self.burst_one_in);
        if burst { flow.usual * BURST_TIMES } else { flow.usual }
    }

    /// A number of a kind and a place, always the same.
    const fn draw(&self, kind: u64, place: u64) -> u64 {
        let mixed =
            self.seed ^ kind.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place.wrapping_mul(0xd6e8_feb8_6659_fd93);
        Random::new(mixed).next()
    }
}

/// The share of packets, in thousandths, that a switch marks whose egress queue stays as long as `queue` after a step, on
/// a link that carries `capacity` in one: none below a fourth of that, then more and more, all above a whole.
pub(super) const fn mark(queue: u64, capacity: u64) -> u64 {
    /// Marked where the straight line ends.
    const MOST: u64 = 200;
    let (least, most) = (capacity / 4, capacity);
    if queue <= least {
        0
    } else if queue >= most {
        1000
    } else {
        (queue - least) * MOST / (most - least)
    }
}
