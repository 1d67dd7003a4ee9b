//! What an earlier run has left: the journal, and maintenance that goes on.

use rocewatch_core::durable::{Durable, Maintained};
use rocewatch_core::settings::Mode;

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

impl Memory {
    /// Without a journal the agent watches, and acts only where nothing has to be taken back.
    pub(super) fn open(config: &Config) -> Self {
        let boot_id = match clock::boot_id(&config.path.procfs) {
            Ok(boot_id) => boot_id,
            Err(error) => {
                tracing::warn!(%error, "no journal: nothing that has to be taken back will be done");
                return Self::nothing(Mode::Enforce);
            }
        };
        let folder = &config.runtime.path;
        match Journal::open(folder, &boot_id) {
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
