//! How often each port is read: calm or fast, and both stretched when all reads of the node together would hold
//! the kernel's rtnl lock for more than its share. Ports that show pause are served first.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::settings::Poll;
use crate::units::{MonoTime, Permille, nanos};

/// A new interval is worth telling if it differs by more than a sixteenth.
const WORTH_TELLING: u32 = 16;
/// Calm ports keep at least a quarter of the budget, so that none goes unread while others storm.
const CALM_SHARE_MIN: u64 = 4;
/// Stretch factors are counted in thousandths.
const UNIT: u64 = 1000;

/// The pace of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pacing {
    gait: Gait,
    active_at: MonoTime,
    stretch_fast: u64,
    told: Duration,
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Gait {
    Calm,
    Fast,
}

impl Pacing {
    pub(super) fn new(poll: &Poll) -> Self {
        Self { gait: Gait::Calm, active_at: MonoTime::ZERO, stretch_fast: UNIT, told: poll.calm }
    }

    /// The interval told last.
    pub(super) const fn interval(&self) -> Duration {
        self.told
    }

    pub(super) const fn gait(&self) -> Gait {
        self.gait
    }

    /// The longest that the fast interval is now: as stretched, and as it was told before a change that was not worth
    /// telling.
    pub(super) fn fast(&self, poll: &Poll) -> Duration {
        let interval = stretched(poll.fast, self.stretch_fast);
        let untold = if self.stretch_fast == UNIT { Duration::ZERO } else { interval / (WORTH_TELLING - 1) };
        interval + untold
    }

    /// Takes the pause share of a reading.
    pub(super) fn note(&mut self, at: MonoTime, share: Permille, poll: &Poll) {
        if share >= poll.fast_enter {
            self.gait = Gait::Fast;
            self.active_at = at;
        } else if at.since(self.active_at) >= poll.quiet {
            self.gait = Gait::Calm;
        }
    }
}

/// What a port asks of the node's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) gait: Gait,
    /// How long one read takes.
    pub(super) took: Duration,
}

/// The factors, in thousandths, by which the fast and the calm interval are stretched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) fast: u64,
    pub(super) calm: u64,
}

/// The stretch under which the reads of all ports keep to their share.
pub(super) fn stretch(loads: impl Iterator<Item = Load>, poll: &Poll) -> Stretch {
    // Millionths of the time.
    let budget = u64::from(poll.rtnl_share_max.get()) * 1000;
    let (mut fast, mut calm) = (0u64, 0u64);
    for load in loads {
        match load.gait {
            Gait::Fast => fast = fast.saturating_add(millionths(load.took, poll.fast)),
            Gait::Calm => calm = calm.saturating_add(millionths(load.took, poll.calm)),
        }
    }
    if fast.saturating_add(calm) <= budget || budget == 0 {
        return Stretch { fast: UNIT, calm: UNIT };
    }
    let for_fast = budget - calm.min(budget / CALM_SHARE_MIN);
    let fast_stretch = fast.saturating_mul(UNIT).div_ceil(for_fast.max(1)).max(UNIT);
    let left = budget.saturating_sub(fast.saturating_mul(UNIT) / fast_stretch).max(1);
    Stretch { fast: fast_stretch, calm: calm.saturating_mul(UNIT).div_ceil(left).max(UNIT) }
}

/// Applies a stretch; the interval to be told, if it has changed enough.
pub(super) fn apply(pacing: &mut Pacing, stretch: Stretch, poll: &Poll) -> Option<Duration> {
    pacing.stretch_fast = stretch.fast;
    let interval = match pacing.gait {
        Gait::Fast => stretched(poll.fast, stretch.fast),
        Gait::Calm => stretched(poll.calm, stretch.calm),
    };
    let close = interval.abs_diff(pacing.told) <= pacing.told / WORTH_TELLING;
    if close && interval != poll.fast && interval != poll.calm || interval == pacing.told {
        return None;
    }
    pacing.told = interval;
    Some(interval)
}

fn stretched(interval: Duration, thousandths: u64) -> Duration {
    Duration::from_nanos(nanos(interval).saturating_mul(thousandths) / UNIT)
}

fn millionths(part: Duration, whole: Duration) -> u64 {
    nanos(part).saturating_mul(1_000_000) / nanos(whole).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(gait: Gait, micros: u64) -> Load {
        Load { gait, took: Duration::from_micros(micros) }
    }

    #[test]
    fn cheap_reads_are_not_stretched() {
        let loads = [load(Gait::Calm, 1000); 8];
        assert_eq!(stretch(loads.into_iter(), &Poll::default()), Stretch { fast: 1000, calm: 1000 });
    }

    #[test]
    fn all_reads_together_keep_to_their_share() {
        let poll = Poll::default();
        for (fast, calm, micros) in [(8, 0, 3000), (1, 7, 3000), (0, 8, 20_000), (64, 64, 500)] {
            let loads = std::iter::repeat_n(load(Gait::Fast, micros), fast)
                .chain(std::iter::repeat_n(load(Gait::Calm, micros), calm));
            let stretch = stretch(loads, &poll);
            let share = fast as u64
                * millionths(Duration::from_micros(micros), stretched(poll.fast, stretch.fast))
                + calm as u64 * millionths(Duration::from_micros(micros), stretched(poll.calm, stretch.calm));
            assert!(share <= 50_500, "{fast} fast, {calm} calm: {share} millionths");
        }
    }

    #[test]
    fn suspect_ports_are_served_first() {
        let loads = [load(Gait::Fast, 1500), load(Gait::Calm, 10_000), load(Gait::Calm, 10_000)];
        let stretch = stretch(loads.into_iter(), &Poll::default());
        assert_eq!(stretch.fast, 1000);
        assert!(stretch.calm > 1000);
    }
}
