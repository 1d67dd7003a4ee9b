//! What goes wrong: in reading, in acting, with the devices, with the agent itself. Plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::random::Random;
use super::scenario::{Load, Told};
use super::spans;
use crate::input::DcbOwner;
use crate::settings::Mode;
use crate::units::{Direction, Permille, PriorityMask, Queue};

/// How well counters are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PollFaults {
    /// The interval varies by up to this share of it, either way.
    pub jitter: Permille,
    /// Share of readings that never come.
    pub lost: Permille,
    /// Share of readings that are late.
    pub late: Permille,
    /// How late at most.
    #[serde(with = "spans")]
    pub late_max: Duration,
    /// Share of reads that fail.
    pub failed: Permille,
    /// The shortest time a read takes.
    #[serde(with = "spans")]
    pub took_min: Duration,
    /// The longest.
    #[serde(with = "spans")]
    pub took_max: Duration,
}

impl Default for PollFaults {
    fn default() -> Self {
        Self {
            jitter: permille(20),
            lost: Permille::ZERO,
            late: Permille::ZERO,
            late_max: Duration::from_millis(100),
            failed: Permille::ZERO,
            took_min: Duration::from_micros(300),
            took_max: Duration::from_micros(1500),
        }
    }
}

impl PollFaults {
    /// `interval` as the machine keeps it this time.
    pub(super) fn jittered(&self, interval: Duration, random: &mut Random) -> Duration {
        let share = u64::from(self.jitter.get());
        let factor = 1000 - share.min(1000) + random.between(0, 2 * share);
        let nanos = crate::units::nanos(interval);
        let kept = Duration::from_nanos((nanos / 1000).saturating_mul(factor));
        if random.chance(self.late) { kept + random.span(Duration::ZERO, self.late_max) } else { kept }
    }
}

pub(super) const fn permille(thousandths: u16) -> Permille {
    match Permille::new(thousandths) {
        Some(ratio) => ratio,
        None => Permille::ONE,
    }
}

/// Something that happens once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trouble {
    /// When, from the scenario's beginning.
    #[serde(with = "spans")]
    pub at: Duration,
    /// The port's place in the list of ports, where it concerns one.
    #[serde(default)]
    pub port: usize,
    /// What.
    pub what: What,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The link goes down, not through us, and comes back.
    LinkFlap {
        /// Down for so long.
        #[serde(with = "spans")]
        lasts: Duration,
    },
    /// All counters start again at 0.
    CounterReset,
    /// The next reading is all zeros.
    ZeroGlitch,
    /// Counters jump up by far more than the line can carry.
    Jump,
    /// Nothing that is read moves any more, while the interface carries packets.
    Freeze {
        /// For so long.
        #[serde(with = "spans")]
        lasts: Duration,
    },
    /// Every read fails.
    ReadErrors {
        /// For so long.
        #[serde(with = "spans")]
        lasts: Duration,
    },
    /// No reading comes.
    NoReadings {
        /// For so long.
        #[serde(with = "spans")]
        lasts: Duration,
    },
    /// What becomes of operations on the port from now on.
    Acts(ActMood),
    /// How long an operation takes from now on.
    ActsTake {
        /// At least.
        #[serde(with = "spans")]
        min: Duration,
        /// At most.
        #[serde(with = "spans")]
        max: Duration,
    },
    /// Writing the journal takes so long from now on.
    JournalTakes {
        /// At most; a tenth of it at least.
        #[serde(with = "spans")]
        max: Duration,
    },
    /// Writing the journal fails from now on, or works again.
    Journal(JournalMood),
    /// Somebody else sets the PFC mask.
    ForeignMask {
        /// To this.
        pfc: PriorityMask,
        /// Whether the kernel tells.
        told: Told,
    },
    /// Somebody else sets the bit of one priority.
    ForeignBit {
        /// The priority.
        priority: u8,
        /// To this.
        on: Switch,
        /// Whether the kernel tells.
        told: Told,
    },
    /// Who decides about the mask from now on.
    Owner(DcbOwner),
    /// The device is removed.
    Remove,
    /// It comes back as a new one.
    Return,
    /// The agent ends and is started again.
    Restart {
        /// How it ends.
        how: AgentEnd,
        /// How long it is away.
        #[serde(with = "spans")]
        away: Duration,
    },
    /// What the fleet guard says from now on.
    Guard(GuardMood),
    /// Maintenance of the port.
    Maintenance {
        /// For so long.
        #[serde(with = "spans")]
        lasts: Duration,
    },
    /// The operator sets the mode.
    Mode(Mode),
    /// The operator acknowledges.
    Ack {
        /// The queue.
        queue: Queue,
        /// The direction.
        direction: Direction,
    },
    /// Traffic changes.
    Load(Load),
    /// The interface gets another name, whether or not the agent is there to see it.
    Rename,
}

/// A bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    /// Set.
    On,
    /// Not set.
    Off,
}

/// What becomes of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActMood {
    /// They do what they say.
    #[default]
    Work,
    /// They fail.
    Fail,
    /// They succeed and nothing has changed.
    Ignore,
    /// They succeed, read back, and the queue stays as it was.
    Useless,
    /// The first works, every one after it fails.
    WorkOnce,
}

/// Whether the journal can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalMood {
    /// It can.
    #[default]
    Works,
    /// It cannot.
    Fails,
}

/// How the agent ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentEnd {
    /// Killed, whatever it is doing.
    Killed,
    /// Asked to stop; killed after five seconds.
    Stopped,
}

/// What the fleet guard says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardMood {
    /// A number below the limit.
    #[default]
    Agrees,
    /// A number above the limit.
    Refuses,
    /// An error.
    Fails,
    /// Nothing at all.
    Silent,
}
