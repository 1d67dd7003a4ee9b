//! From which queue length on a switch marks packets as having met congestion.

use serde::Serialize;

use crate::config::{Size, Speed};

/// The thresholds of ECN, as WRED has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Marking {
    /// Below it, nothing is marked.
    pub min: Size,
    /// From here on, everything is; in between, a share that rises evenly.
    pub max: Size,
    /// The share at `max`, in percent.
    pub probability: u8,
}

/// One published pair: the default of `nv set qos roce` on NVIDIA's switches, with a probability of 100 %.
pub(super) const PUBLISHED: Marking =
    Marking { min: Size::new(150_000), max: Size::new(1_500_000), probability: 100 };
/// The speed at which the pair is taken to hold. It is published without one; at 100 Gbit/s it lies between what others
/// publish for that speed.
pub(super) const PUBLISHED_AT: Speed = Speed::new(100_000_000_000);

impl Marking {
    /// The published pair, scaled with the speed: the same queue in microseconds.
    #[must_use]
    pub fn at(speed: Speed) -> Self {
        let scaled = |size: Size| {
            let bytes = u128::from(size.get()) * u128::from(speed.get()) / u128::from(PUBLISHED_AT.get());
            Size::new(u64::try_from(bytes).unwrap_or(u64::MAX))
        };
        Self { min: scaled(PUBLISHED.min), max: scaled(PUBLISHED.max), ..PUBLISHED }
    }
}
