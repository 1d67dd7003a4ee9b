//! What an earlier run has left: the journal, and maintenance that goes on.

use std::path::Path;
use std::time::Duration;

use rocewatch_core::durable::{Durable, Maintained};
use rocewatch_core::settings::Mode;
use rocewatch_core::units::MonoTime;

use crate::actuate::{Journal, JournalError, Stored};
use crate::clock;
use crate::config::Config;
use crate::control::{Kept, MaintenanceFile};

/// What this run begins with.
pub(super) struct Memory {
    pub(super) journal: Journal,
    pub(super) durable: Durable,
    /// The mode this agent may have at most: beside another one it only watches.
    pub(super) mode_max: Mode,
    pub(super) maintenance: Vec<Maintained>,
    /// Where maintenance is kept; none for an agent that nobody can ask.
    pub(super) maintenance_file: Option<MaintenanceFile>,
}

/// How long an agent that is to act waits for the lock: the one before it may be about to end, and a
/// `rocewatch restore` that its supervisor has started may still be at work.
pub(super) const LOCK_PATIENCE: Duration = Duration::from_secs(15);
/// From one attempt to the next, at the start.
const LOCK_LOOK: Duration = Duration::from_millis(100);
/// And beside another agent.
const VACANCY_LOOK: Duration = Duration::from_secs(1);

impl Memory {
    /// Waits a while for the lock if the agent is to act; `waits` is called once if it has to. Without a journal the agent
    /// watches, and acts only where nothing has to be taken back.
    pub(super) async fn open(config: &Config, waits: impl FnOnce()) -> Self {
        let boot_id = match clock::boot_id(&config.path.procfs) {
            Ok(boot_id) => boot_id,
            Err(error) => {
                tracing::warn!(%error, "no journal: nothing that has to be taken back will be done");
                return Self::nothing(Mode::Enforce);
            }
        };
        let folder = &config.runtime.path;
        let patience = if is_to_act(config) { LOCK_PATIENCE } else { Duration::ZERO };
        let waits = |error: &JournalError| {
            tracing::warn!(%error, patience = ?LOCK_PATIENCE, "the runtime folder is in use: waiting for it");
            waits();
        };
        let attempt = || Journal::open(folder, &boot_id);
        match patiently(attempt, patience, waits, clock::now, tokio::time::sleep).await {
            Ok((journal, stored)) => {
                if let Some(error) = journal.trouble() {
                    let cause = std::error::Error::source(error).map(ToString::to_string);
                    tracing::warn!(%error, cause, "no journal: nothing that has to be taken back will be done");
                }
                let file = MaintenanceFile::new(folder, &boot_id);
                Self {
                    journal,
                    durable: durable(stored),
                    mode_max: Mode::Enforce,
                    maintenance: maintenance(&file),
                    maintenance_file: Some(file),
                }
            }
            Err(error @ JournalError::Locked(_)) => {
                let mode_max = Mode::Observe;
                let mode = config.settings.mode.min(mode_max).label();
                tracing::warn!(%error, mode, "another agent runs here: this one only observes");
                Self::nothing(mode_max)
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, cause, "no journal: nothing that has to be taken back will be done");
                Self::nothing(Mode::Enforce)
            }
        }
    }

    /// Whether it only watches because of another agent.
    pub(super) fn is_beside_another(&self) -> bool {
        self.mode_max < Mode::Enforce
    }

    fn nothing(mode_max: Mode) -> Self {
        Self {
            journal: Journal::absent(),
            durable: Durable::default(),
            mode_max,
            maintenance: Vec::new(),
            maintenance_file: None,
        }
    }
}

/// Whether it would do more than watch if it were alone.
pub(super) fn is_to_act(config: &Config) -> bool {
    config.settings.mode > Mode::Observe
}

/// Comes back when the other agent of this folder has ended.
pub(super) async fn vacancy(folder: &Path) {
    while !Journal::is_vacant(folder) {
        tokio::time::sleep(VACANCY_LOOK).await;
    }
}

/// Tries again and again while somebody holds the lock, for as long as `patience` lasts.
async fn patiently<T, R: Future<Output = ()>>(
    mut attempt: impl FnMut() -> Result<T, JournalError>,
    patience: Duration,
    waits: impl FnOnce(&JournalError),
    mut now: impl FnMut() -> MonoTime,
    mut rest: impl FnMut(Duration) -> R,
) -> Result<T, JournalError> {
    let (until, mut waits) = (now() + patience, Some(waits));
    loop {
        match attempt() {
            Err(error @ JournalError::Locked(_)) if now() < until => {
                if let Some(waits) = waits.take() {
                    waits(&error);
                }
                rest(LOCK_LOOK).await;
            }
            other => return other,
        }
    }
}

fn durable(stored: Stored) -> Durable {
    match stored {
        Stored::Nothing => Durable::default(),
        Stored::Of(durable) => *durable,
        Stored::Unusable(reason) => {
            tracing::warn!(reason, "the journal of an earlier run is not used; it is kept as journal.old");
            Durable::default()
        }
    }
}

fn maintenance(file: &MaintenanceFile) -> Vec<Maintained> {
    let kept = file.read();
    if let Kept::Unreadable(reason) = &kept {
        tracing::error!(
            reason,
            "maintenance cannot be read: all ports are in maintenance until `rocewatch ctl maintenance off`"
        );
    }
    kept.in_force(clock::now())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::ready;

    use futures_util::FutureExt;

    use super::*;

    /// When it had the lock, or gave up, and how often it said that it waits, if the lock is free from `free_at` on.
    fn waited(free_at: Duration, patience: Duration) -> (Result<MonoTime, MonoTime>, usize) {
        let (now, told) = (Cell::new(MonoTime::ZERO), Cell::new(0));
        let attempt = || {
            let is_free = now.get() >= MonoTime::ZERO + free_at;
            if is_free { Ok(()) } else { Err(JournalError::Locked("journal.lock".into())) }
        };
        let rest = |span| {
            now.set(now.get() + span);
            ready(())
        };
        let waits = |_: &JournalError| told.set(told.get() + 1);
        let result = patiently(attempt, patience, waits, || now.get(), rest).now_or_never().unwrap();
        (result.map(|()| now.get()).map_err(|_| now.get()), told.get())
    }

    #[test]
    fn a_lock_that_is_given_back_soon_is_waited_for_and_one_that_is_not_is_left_after_the_patience() {
        let at = |seconds| MonoTime::ZERO + Duration::from_secs(seconds);
        assert_eq!(waited(Duration::ZERO, LOCK_PATIENCE), (Ok(at(0)), 0));
        assert_eq!(waited(Duration::from_secs(9), LOCK_PATIENCE), (Ok(at(9)), 1));
        assert_eq!(waited(Duration::from_secs(60), LOCK_PATIENCE), (Err(at(15)), 1));
        assert_eq!(waited(Duration::from_secs(60), Duration::ZERO), (Err(at(0)), 0));
    }

    #[test]
    fn what_is_no_lock_of_another_is_not_waited_for() {
        let rest = |_| -> std::future::Ready<()> { panic!("it waits") };
        let attempt = || Err::<(), _>(JournalError::Absent);
        let end = patiently(attempt, LOCK_PATIENCE, |_| (), || MonoTime::ZERO, rest).now_or_never().unwrap();
        assert!(matches!(end, Err(JournalError::Absent)));
    }
}
