//! The NIC drivers as tables: which native name means which counter, and how the driver behaves.
//! Constant data without logic; what a port really offers is decided by the names present, in [`binding`](crate::binding).
//!
//! A new driver is one file here, one entry in [`ALL`] and one folder under `tests/fixtures/`.

mod bnxt;
mod capability;
mod generic;
mod ice;
mod mlx5;

use serde::{Deserialize, Serialize};

pub use capability::{
    Caps, Levers, LinkEffect, NamesEffect, PacketScope, PauseCounted, PauseScope, PauseTime, PfcOff, Refresh,
    XonFrames,
};

use crate::catalog::Counter;
use crate::units::Priority;

/// Every tabled driver, the generic one last.
pub const ALL: &[&Driver] = &[&mlx5::DRIVER, &bnxt::DRIVER, &ice::DRIVER, &generic::DRIVER];

/// The table of the driver that calls itself `name` (as ethtool's driver information gives it); the generic table if
/// nobody has tabled it.
#[must_use]
pub fn for_driver(name: &str) -> &'static Driver {
    let name = name.trim();
    ALL.iter().find(|driver| driver.aliases.contains(&name)).copied().unwrap_or(&generic::DRIVER)
}

/// One NIC driver.
#[derive(Debug)]
pub struct Driver {
    /// The name it goes by in metrics, logs and documents.
    pub name: &'static str,
    /// What it may call itself, its RDMA half included.
    pub aliases: &'static [&'static str],
    /// Names of `ethtool -S`.
    pub ethtool: &'static [Row],
    /// Names of RDMA counters: those of `hw_counters` and those of the port's `counters`.
    pub rdma: &'static [Row],
    /// How its counters and levers behave.
    pub caps: Caps,
}

/// One native counter of a driver.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The native name; `{prio}` in it stands for one digit from 0 to 7.
    pub pattern: &'static str,
    /// What it counts.
    pub counter: Counter,
    /// The unit the driver counts in.
    pub unit: NativeUnit,
    /// Width of the value the driver shows.
    pub width: Width,
    /// What happens beyond that width.
    pub overflow: Overflow,
    /// Whether it grows or is a momentary value.
    pub kind: Kind,
    /// Among several names for one counter the lowest rank present is used, never a sum.
    pub rank: u8,
}

/// What stands for the priority in a pattern.
pub const PRIORITY_MARK: &str = "{prio}";

impl Row {
    /// Whether `name` is this row's, and for which priority if the row has one per priority.
    #[must_use]
    pub fn matches(&self, name: &str) -> Option<Option<Priority>> {
        let Some((before, after)) = self.pattern.split_once(PRIORITY_MARK) else {
            return (name == self.pattern).then_some(None);
        };
        let digit = name.strip_prefix(before)?.strip_suffix(after)?;
        let &[digit @ b'0'..=b'7'] = digit.as_bytes() else { return None };
        Priority::new(digit - b'0').map(Some)
    }

    /// Whether the pattern holds a priority.
    #[must_use]
    pub fn is_per_priority(&self) -> bool {
        self.pattern.contains(PRIORITY_MARK)
    }

    const fn wrapping_at_32(mut self) -> Self {
        self.width = Width::W32;
        self.overflow = Overflow::Wrap;
        self
    }

    const fn sticking_at_8(mut self) -> Self {
        self.width = Width::W8;
        self.overflow = Overflow::Saturate;
        self
    }

    const fn momentary_32(mut self) -> Self {
        self.width = Width::W32;
        self.kind = Kind::Gauge;
        self
    }

    const fn ranked(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }
}

/// The usual row: 64 bits that never overflow in practice, growing, first rank.
const fn row(pattern: &'static str, counter: Counter, unit: NativeUnit) -> Row {
    Row { pattern, counter, unit, width: Width::W64, overflow: Overflow::None, kind: Kind::Counter, rank: 1 }
}

/// The unit a driver counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeUnit {
    /// Seconds.
    Seconds,
    /// Millionths of a second.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// Ethernet frames.
    Frames,
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Groups of four bytes, as InfiniBand counts data.
    Words4,
    /// Bits, each counted as one thing.
    Bits,
    /// Anything else that is counted one by one.
    Events,
    /// Hundredths of a whole.
    Percent,
}

impl NativeUnit {
    /// How many held units ([`Unit::base`](crate::catalog::Unit::base)) one native unit is.
    #[must_use]
    pub const fn scale(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Micros => 1_000,
            Self::Words4 => 4,
            Self::Percent => 10,
            Self::Nanos | Self::Frames | Self::Packets | Self::Bytes | Self::Bits | Self::Events => 1,
        }
    }
}

/// Width of a native counter in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Width {
    /// 8.
    W8,
    /// 16.
    W16,
    /// 32.
    W32,
    /// 64.
    W64,
}

impl Width {
    /// The largest value that fits.
    #[must_use]
    pub const fn max(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The number of bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::W8 => 8,
            Self::W16 => 16,
            Self::W32 => 32,
            Self::W64 => 64,
        }
    }
}

/// What a native counter does beyond its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// It starts again at 0.
    Wrap,
    /// It stays at its largest value.
    Saturate,
    /// It does not get there.
    None,
}

/// Whether differences of a native value mean anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It grows; a fall is a reset or a wrap.
    Counter,
    /// It goes up and down.
    Gauge,
}
