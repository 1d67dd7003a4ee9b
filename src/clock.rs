//! The only file that reads clocks; everything else gets instants as values.
//! Never waits, never converts between the two clocks it reads.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use jiff::Timestamp;
use rocewatch_core::units::MonoTime;
use rustix::time::{ClockId, clock_gettime};

/// Where the kernel tells one boot from another, in procfs.
const BOOT_ID: &str = "sys/kernel/random/boot_id";

/// This instant since boot, time asleep included (`CLOCK_BOOTTIME`).
#[must_use]
pub fn now() -> MonoTime {
    let since_boot = clock_gettime(ClockId::Boottime);
    // Both parts of this clock are never negative, so the casts lose nothing.
    MonoTime::from_nanos((since_boot.tv_sec as u64) * 1_000_000_000 + since_boot.tv_nsec as u64)
}

/// This instant in the calendar, for people and other machines to read. It may jump; no decision is made from it.
#[must_use]
pub fn wall() -> Timestamp {
    Timestamp::now()
}

/// The time since the beginning of 1970; zero for a clock set before that.
#[must_use]
pub fn since_1970() -> Duration {
    Duration::try_from(wall().duration_since(Timestamp::UNIX_EPOCH)).unwrap_or_default()
}

/// Which boot a [`MonoTime`] counts from: another value, and stored instants mean nothing any more. `procfs` is where
/// procfs is mounted.
///
/// # Errors
///
/// If the kernel's file cannot be read, as where nothing is mounted there.
pub fn boot_id(procfs: &Path) -> Result<String, BootIdError> {
    let path = procfs.join(BOOT_ID);
    let read = fs::read_to_string(&path).map(|text| text.trim_end().to_owned());
    read.map_err(|source| BootIdError { path, source })
}

/// The boot cannot be told from others.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the id of this boot from {path}", path = path.display())]
pub struct BootIdError {
    path: PathBuf,
    source: io::Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_since_boot_grows_and_is_not_the_calendar() {
        let first = now();
        let second = now();
        assert!(second >= first);
        assert!(i64::try_from(second.as_nanos()).unwrap() < i64::try_from(wall().as_nanosecond()).unwrap());
    }
}
