//! Numbers that several threads may move and one may read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds `more`.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Adds one.
    pub fn one(&self) {
        self.add(1);
    }

    /// How many there were.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many of something there are now.
#[derive(Clone, Debug, Default)]
pub struct Level(Arc<AtomicU64>);

impl Level {
    /// One more, until the guard is dropped.
    #[must_use = "it counts for as long as the guard lives"]
    pub fn enter(&self) -> LevelGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        LevelGuard(Arc::clone(&self.0))
    }

    /// How many there are.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// See [`Level::enter`].
#[derive(Debug)]
pub struct LevelGuard(Arc<AtomicU64>);

impl Drop for LevelGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_falls_when_its_guard_goes() {
        let level = Level::default();
        let first = level.enter();
        let second = level.enter();
        assert_eq!(level.get(), 2);
        drop(first);
        assert_eq!(level.get(), 1);
        drop(second);
        assert_eq!(level.get(), 0);
    }
}
