//! What is wrong with a fabric, and when.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::shape::SPINES;
use crate::sim::random::Random;

/// A stuck spine is stuck for the first part of each period: a storm that comes again and again.
const STUCK: Duration = Duration::from_secs(4);
const STUCK_PERIOD: Duration = Duration::from_secs(6);

/// A thing that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// One host takes what it is sent too slowly: it pauses its leaf, and the pause spreads.
    SlowHost,
    /// A spine does not pass anything on: hosts are paused, and none of them has begun it.
    FabricStorm,
    /// No switch marks: nobody slows down, and pause has to do it.
    EcnOff,
}

/// A text that names no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown fault {0:?}: expected {all} or none", all = Fault::ALL.map(Fault::label).join(", "))]
pub struct UnknownFault(String);

impl Fault {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::SlowHost, Self::FabricStorm, Self::EcnOff];

    /// Its name.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::SlowHost => "slow-host",
            Self::FabricStorm => "fabric-storm",
            Self::EcnOff => "ecn-off",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(name: &str) -> Result<Self, UnknownFault> {
        Self::ALL.into_iter().find(|fault| fault.label() == name).ok_or_else(|| UnknownFault(name.into()))
    }
}

/// When faults happen: in turn, again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Those that take turns; none leaves the fabric healthy.
    pub faults: Vec<Fault>,
    /// The first begins so long after the fabric.
    pub start: Duration,
    /// Each lasts so long.
    pub length: Duration,
    /// From one beginning to the next; without it, each happens once, one right after the other.
    pub every: Option<Duration>,
}

/// A fault that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bout {
    /// What.
    pub fault: Fault,
    /// The how manieth, from 0.
    pub round: u64,
    /// How long ago.
    pub into: Duration,
}

impl Schedule {
    /// What is wrong so long after the fabric's beginning.
    #[must_use]
    pub fn at(&self, ran: Duration) -> Option<Bout> {
        if ran < self.start {
            return None;
        }
        let since = ran.saturating_sub(self.start);
        let period = self.every.unwrap_or(self.length).max(Duration::from_nanos(1));
        let round = (since.as_nanos() / period.as_nanos()) as u64;
        let into = Duration::from_nanos((since.as_nanos() % period.as_nanos()) as u64);
        let count = self.faults.len() as u64;
        if count == 0 || into >= self.length || (self.every.is_none() && round >= count) {
            return None;
        }
        Some(Bout { fault: self.faults[(round % count) as usize], round, into })
    }
}

/// What is wrong with a fabric now, and with what of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ailment {
    /// Nothing.
    #[default]
    None,
    /// This host is slow.
    SlowHost(usize),
    /// This spine is stuck.
    StuckSpine(usize),
    /// Nothing is marked.
    Unmarked,
}

impl Ailment {
    /// What `bout` does to a fabric of so many hosts. Another host, or spine, each time.
    #[must_use]
    pub fn of(bout: Option<Bout>, hosts: usize, seed: u64) -> Self {
        let Some(bout) = bout else { return Self::None };
        let mut random = Random::new(seed.wrapping_add(bout.round));
        let mut one_of = |count: usize| random.between(0, count.max(1) as u64 - 1) as usize;
        match bout.fault {
            Fault::SlowHost => Self::SlowHost(one_of(hosts)),
            Fault::FabricStorm if bout.into.as_nanos() % STUCK_PERIOD.as_nanos() < STUCK.as_nanos() => {
                Self::StuckSpine(one_of(SPINES))
            }
            Fault::FabricStorm => Self::None,
            Fault::EcnOff => Self::Unmarked,
        }
    }

    /// Whether switches mark.
    pub(super) fn marks(self) -> bool {
        self != Self::Unmarked
    }

    pub(super) fn slows(self, host: usize) -> bool {
        self == Self::SlowHost(host)
    }

    pub(super) const fn stuck_spine(self) -> Option<usize> {
        match self {
            Self::StuckSpine(spine) => Some(spine),
            Self::None | Self::SlowHost(_) | Self::Unmarked => None,
        }
    }
}
