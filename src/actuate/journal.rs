//! The journal: what the engine must not forget, on disk before anything is changed.
//!
//! One JSON file, replaced whole: written beside, forced to disk, renamed, and the folder forced to disk. It is a
//! page at most, and a half-written one cannot be seen. A lock beside it keeps a second agent from acting.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rocewatch_core::durable::Durable;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// The format written and read by this version.
const FORMAT: u32 = 1;

/// The journal, open for as long as the agent lives.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    boot_id: String,
    revision: u64,
    /// Held for the lock on it.
    _lock: Option<File>,
    writable: bool,
}

/// What was found of an earlier run.
#[derive(Debug)]
pub enum Stored {
    /// Nothing.
    Nothing,
    /// Its memory.
    Of(Box<Durable>),
    /// Something that cannot be used, and why. Another boot's undos no longer apply: the machine started anew.
    Unusable(String),
}

#[derive(Serialize, Deserialize)]
struct Contents {
    rocewatch_journal: u32,
    boot_id: String,
    durable: Durable,
}

/// What can go wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The journal cannot be written.
    #[error("write {path}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Another agent holds the lock.
    #[error("{path} is locked by another agent", path = .0.display())]
    Locked(PathBuf),
    /// What is to be written cannot be.
    #[error("encode the journal")]
    Encode(#[source] serde_json::Error),
}

impl Journal {
    /// Opens the journal in `folder`, which is made if it is not there, and says what an earlier run left.
    ///
    /// # Errors
    /// [`JournalError::Locked`] beside a live agent; [`JournalError::Write`] if nothing can be written there.
    pub fn open(folder: &Path, boot_id: &str) -> Result<(Self, Stored), JournalError> {
        let path = folder.join("journal");
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| JournalError::Write { path, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let lock_path = folder.join("journal.lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(failed(&lock_path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| JournalError::Locked(lock_path))?;
        let stored = read(&path, boot_id);
        let mut journal =
            Self { path, boot_id: boot_id.to_owned(), revision: 0, _lock: Some(lock), writable: true };
        // Writing now what was found shows that it can be written at all, and loses nothing.
        if let Stored::Of(durable) = &stored {
            journal.store(durable, 0)?;
        } else {
            journal.store(&Durable::default(), 0)?;
        }
        Ok((journal, stored))
    }

    /// A journal that cannot be written, for an agent that only watches.
    #[must_use]
    pub fn absent() -> Self {
        Self { path: PathBuf::new(), boot_id: String::new(), revision: 0, _lock: None, writable: false }
    }

    /// Whether it can be written.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        self.writable
    }

    /// Writes the engine's memory and forces it to disk. One older than what was written last is left alone.
    ///
    /// # Errors
    /// [`JournalError`] naming the file; what was written before still stands.
    pub fn store(&mut self, durable: &Durable, revision: u64) -> Result<(), JournalError> {
        if !self.writable {
            let source = io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "there is no journal");
            return Err(JournalError::Write { path: self.path.clone(), source });
        }
        if revision < self.revision {
            return Ok(());
        }
        let contents =
            Contents { rocewatch_journal: FORMAT, boot_id: self.boot_id.clone(), durable: durable.clone() };
        let text = serde_json::to_vec(&contents).map_err(JournalError::Encode)?;
        replace(&self.path, &text)
            .map_err(|source| JournalError::Write { path: self.path.clone(), source })?;
        self.revision = revision;
        Ok(())
    }
}

fn read(path: &Path, boot_id: &str) -> Stored {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Stored::Nothing,
        Err(error) => return Stored::Unusable(format!("{}: {error}", path.display())),
    };
    match serde_json::from_slice::<Contents>(&text) {
        Ok(contents) if contents.rocewatch_journal != FORMAT => Stored::Unusable(format!(
            "{}: format {} is not {FORMAT}",
            path.display(),
            contents.rocewatch_journal
        )),
        Ok(contents) if contents.boot_id != boot_id => {
            Stored::Unusable(format!("{}: it is of an earlier boot", path.display()))
        }
        Ok(contents) => Stored::Of(Box::new(contents.durable)),
        Err(error) => Stored::Unusable(format!("{}: {error}", path.display())),
    }
}

fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durable(next_action: u64) -> Durable {
        Durable { next_action, ..Durable::default() }
    }

    #[test]
    fn what_was_stored_is_found_by_the_next_run_of_the_same_boot() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, stored) = Journal::open(folder.path(), "boot").unwrap();
        assert!(matches!(stored, Stored::Nothing));
        journal.store(&durable(9), 1).unwrap();
        drop(journal);
        let (_, stored) = Journal::open(folder.path(), "boot").unwrap();
        assert!(matches!(stored, Stored::Of(found) if found.next_action == 9));
    }

    #[test]
    fn an_undo_of_an_earlier_boot_is_not_applied() {
        let folder = tempfile::tempdir().unwrap();
        drop(Journal::open(folder.path(), "before").unwrap());
        let (_, stored) = Journal::open(folder.path(), "after").unwrap();
        assert!(matches!(stored, Stored::Unusable(why) if why.contains("earlier boot")));
    }

    #[test]
    fn a_second_agent_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let _first = Journal::open(folder.path(), "boot").unwrap();
        assert!(matches!(Journal::open(folder.path(), "boot"), Err(JournalError::Locked(_))));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Journal::open(&file.path().join("below"), "boot").unwrap_err();
        assert!(error.to_string().contains("below"), "{error}");
    }

    #[test]
    fn rubbish_is_told_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("journal"), b"{\"rocewatch_journal\":1,").unwrap();
        let (_, stored) = Journal::open(folder.path(), "boot").unwrap();
        assert!(matches!(stored, Stored::Unusable(_)));
    }

    #[test]
    fn an_older_state_never_replaces_a_newer_one() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path(), "boot").unwrap();
        journal.store(&durable(5), 7).unwrap();
        journal.store(&durable(4), 6).unwrap();
        drop(journal);
        let (_, stored) = Journal::open(folder.path(), "boot").unwrap();
        assert!(matches!(stored, Stored::Of(found) if found.next_action == 5));
    }
}
