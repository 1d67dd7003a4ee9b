//! The spool of `exec`: a folder through which the agent, in its sandbox, has the operator's command run by a worker
//! outside of it.
//!
//! ```text
//! agent: NAME.job ──▶ worker: NAME.taken ──▶ runs its own command ──▶ NAME.result ──▶ agent
//! ```
//!
//! A name holds the boot and the number of the action. Each file is written beside and renamed, so that none is seen
//! half. A job holds the evidence and its deadline, and no command: that stands in the worker's own configuration, so
//! that who can write into the folder can make it run nothing else. When the agent gives up, it removes the job or the
//! claim, and the worker ends the command. Nothing outlives a boot, so that nothing is forced to disk.

mod folder;
mod submit;
mod worker;

pub use worker::{WorkerError, work};

use std::path::{Path, PathBuf};
use std::time::Duration;

use rocewatch_core::ids::ActionId;
use rocewatch_core::units::MonoTime;
use serde::{Deserialize, Serialize};

use folder::{Folder, FolderError};

use super::exec::DEATH_MAX;

/// The format written and read by this version.
const FORMAT: u32 = 1;
/// From its deadline on a command is ended, which may take [`DEATH_MAX`], and that has to be told: so much longer the agent
/// waits.
const GRACE: Duration = DEATH_MAX.saturating_add(Duration::from_millis(500));

/// A spool as the agent knows it.
#[derive(Debug)]
pub(super) struct Spool {
    path: PathBuf,
    procfs: PathBuf,
}

impl Spool {
    pub(super) fn new(path: &Path, procfs: &Path) -> Self {
        Self { path: path.to_owned(), procfs: procfs.to_owned() }
    }

    pub(super) fn open(&self) -> Result<Folder, FolderError> {
        Folder::open(&self.path)
    }
}

/// What the agent asks for.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    rocewatch_job: u32,
    /// After this the command is ended, or not begun.
    deadline: MonoTime,
    /// For its standard input.
    evidence: String,
}

/// What the worker answers.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    rocewatch_result: u32,
    /// That of the job: an agent without a journal gives the same number twice.
    deadline: MonoTime,
    /// In one line, how the command failed.
    failed: Option<String>,
    /// The end of what it wrote on standard error.
    stderr: String,
}

/// The stages of a job, as the ends of its files' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Job,
    Taken,
    Result,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Job, Self::Taken, Self::Result];

    const fn ending(self) -> &'static str {
        match self {
            Self::Job => ".job",
            Self::Taken => ".taken",
            Self::Result => ".result",
        }
    }
}

/// What a job is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    boot_id: String,
    action: u64,
}

impl Name {
    const fn new(boot_id: String, action: ActionId) -> Self {
        Self { boot_id, action: action.0 }
    }

    fn file(&self, stage: Stage) -> String {
        format!("{}-{}{}", self.boot_id, self.action, stage.ending())
    }

    /// What a file is, unless it is none of ours.
    fn parse(file: &str) -> Option<(Self, Stage)> {
        let stage = Stage::ALL.into_iter().find(|stage| file.ends_with(stage.ending()))?;
        let (boot_id, action) = file.strip_suffix(stage.ending())?.rsplit_once('-')?;
        let name = Self { boot_id: boot_id.to_owned(), action: action.parse().ok()? };
        // Only as it was written: no +7, no 007.
        (name.file(stage) == file).then_some((name, stage))
    }
}

#[cfg(test)]
mod tests;
