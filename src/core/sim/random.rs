//! The simulation's own source of chance: seeded, whole numbers only, the same everywhere.

use std::time::Duration;

use crate::units::{Permille, nanos};

/// A stream of numbers that follows from its seed alone (splitmix64).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both possible; `low` if there is none between.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        let drawn = self.next();
        if high <= low {
            return low;
        }
        match (high - low).checked_add(1) {
            Some(count) => low + drawn % count,
            None => drawn,
        }
    }

    /// A span from `low` to `high`.
    pub const fn span(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_nanos(self.between(nanos(low), nanos(high)))
    }

    /// True with the given probability.
    pub const fn chance(&mut self, probability: Permille) -> bool {
        self.between(0, 999) < probability.get() as u64
    }

    /// One of `items`.
    ///
    /// # Panics
    /// There is none: the lists of the simulation are constant and not empty.
    pub const fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        assert!(!items.is_empty(), "a list to pick from has an item");
        items[self.between(0, items.len() as u64 - 1) as usize]
    }

    /// Another stream, independent of what is drawn here later.
    #[must_use]
    pub const fn fork(&mut self) -> Self {
        Self::new(self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_stream() {
        let mut first = Random::new(7);
        let mut second = Random::new(7);
        let draws = (0..100).map(|_| first.next()).collect::<Vec<_>>();
        assert!(draws.iter().all(|draw| *draw == second.next()));
        assert_ne!(Random::new(8).next(), draws[0]);
    }

    #[test]
    fn draws_stay_within_their_bounds_and_reach_them() {
        let mut random = Random::new(1);
        let draws = (0..1000).map(|_| random.between(3, 6)).collect::<Vec<_>>();
        assert_eq!((draws.iter().min(), draws.iter().max()), (Some(&3), Some(&6)));
        assert_eq!(random.between(9, 2), 9);
        assert!((0..1000).all(|_| !random.chance(Permille::ZERO)));
        assert!((0..1000).all(|_| random.chance(Permille::ONE)));
        random.between(0, u64::MAX);
    }
}
