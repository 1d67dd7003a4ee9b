//! The journal: what the engine must not forget, on disk before anything is changed.
//!
//! One JSON file, replaced whole: written beside, forced to disk, renamed, and the folder forced to disk. It is a
//! page at most, and a half-written one cannot be seen. A lock beside it keeps a second agent from acting.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rocewatch_core::durable::Durable;
use rustix::fs::{FlockOperation, Mode as FileMode, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::sources::{read_file, with_causes};

/// The format written and read by this version. In format 1 an operation on the PFC mask had one priority.
const FORMAT: u32 = 2;
/// The file beside it that is locked.
const LOCK: &str = "journal.lock";

/// The journal, open for as long as the agent lives.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    boot_id: String,
    revision: u64,
    /// Held for the lock on it.
    lock: Option<File>,
    writable: bool,
    /// Of the first write.
    trouble: Option<JournalError>,
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
    /// There is none.
    #[error("there is no journal")]
    Absent,
    /// Another agent holds the lock.
    #[error("{path} is locked by another agent", path = .0.display())]
    Locked(PathBuf),
    /// What is to be written cannot be.
    #[error("encode the journal")]
    Encode(#[source] serde_json::Error),
}

impl Journal {
    /// Opens the journal in `folder`, which is made if it is not there, and says what an earlier run left. Where that
    /// can be read and nothing can be written, as on a full disk, [`Journal::trouble`] says why: what is owed has to
    /// be taken back all the same.
    ///
    /// # Errors
    /// [`JournalError::Locked`] beside a live agent; [`JournalError::Write`] if nobody can tell whether there is one.
    pub fn open(folder: &Path, boot_id: &str) -> Result<(Self, Stored), JournalError> {
        let path = folder.join("journal");
        fs::create_dir_all(folder)
            .map_err(|source| JournalError::Write { path: folder.to_owned(), source })?;
        let lock = lock(folder.join(LOCK))?;
        let stored = read(&path, boot_id);
        if let Stored::Unusable(_) = &stored {
            // A person, or the version that wrote it, may still read in it what is owed. One from before is replaced.
            let _ = fs::rename(&path, path.with_extension("old"));
        }
        let (boot_id, lock) = (boot_id.to_owned(), Some(lock));
        let mut journal = Self { path, boot_id, revision: 0, lock, writable: true, trouble: None };
        // Writing now what was found shows that it can be written at all, and loses nothing.
        journal.trouble = match &stored {
            Stored::Of(durable) => journal.store(durable, 0).err(),
            Stored::Nothing | Stored::Unusable(_) => journal.store(&Durable::default(), 0).err(),
        };
        Ok((journal, stored))
    }

    /// Whether nobody holds the lock of `folder` any more.
    #[must_use]
    pub fn is_vacant(folder: &Path) -> bool {
        lock(folder.join(LOCK)).is_ok()
    }

    /// A journal that cannot be written, for an agent that only watches.
    #[must_use]
    pub fn absent() -> Self {
        let trouble = Some(JournalError::Absent);
        let (path, boot_id) = (PathBuf::new(), String::new());
        Self { path, boot_id, revision: 0, lock: None, writable: false, trouble }
    }

    /// Whether this agent holds the lock: then no other one lives here.
    #[must_use]
    pub const fn is_ours(&self) -> bool {
        self.lock.is_some()
    }

    /// Whether it could be written when that was tried last.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        self.writable
    }

    /// Why it could not be written when it was opened, if it could not.
    #[must_use]
    pub const fn trouble(&self) -> Option<&JournalError> {
        self.trouble.as_ref()
    }

    /// Writes the engine's memory and forces it to disk, also where that has failed before. One older than what was
    /// written last is left alone.
    ///
    /// # Errors
    /// [`JournalError`] naming the file; what was written before still stands.
    pub fn store(&mut self, durable: &Durable, revision: u64) -> Result<(), JournalError> {
        if !self.is_ours() {
            return Err(JournalError::Absent);
        }
        if revision < self.revision {
            return Ok(());
        }
        let written = self.write(durable);
        self.writable = written.is_ok();
        written?;
        self.revision = revision;
        Ok(())
    }

    fn write(&self, durable: &Durable) -> Result<(), JournalError> {
        let contents =
            Contents { rocewatch_journal: FORMAT, boot_id: self.boot_id.clone(), durable: durable.clone() };
        let text = serde_json::to_vec(&contents).map_err(JournalError::Encode)?;
        replace(&self.path, &text).map_err(|source| JournalError::Write { path: self.path.clone(), source })
    }
}

/// The lock, held. Who may not write it can still see whether another agent holds it. A pipe in its place holds
/// nobody up.
fn lock(path: PathBuf) -> Result<File, JournalError> {
    let open = |flags| {
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        rustix::fs::open(&path, flags, FileMode::from_raw_mode(0o644)).map(File::from)
    };
    let writable = open(OFlags::WRONLY | OFlags::CREATE);
    let refused = writable.as_ref().err().copied();
    let failed = |errno: Errno| JournalError::Write { path: path.clone(), source: errno.into() };
    let file = writable.or_else(|errno| open(OFlags::RDONLY).map_err(|_| errno)).map_err(failed)?;
    match (flock(&file, FlockOperation::NonBlockingLockExclusive), refused) {
        (Ok(()), None) => Ok(file),
        (Ok(()), Some(errno)) => Err(failed(errno)),
        (Err(Errno::WOULDBLOCK), _) => Err(JournalError::Locked(path)),
        (Err(errno), _) => Err(failed(errno)),
    }
}

fn read(path: &Path, boot_id: &str) -> Stored {
    let text = match read_file(path) {
        Ok(text) => text,
        Err(error) if error.is_absent() => return Stored::Nothing,
        Err(error) => return Stored::Unusable(with_causes(&error)),
    };
    match serde_json::from_str::<Contents>(&text) {
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

/// Replaces a file whole, and forces it to disk. Whatever stands in the place of the new one is removed: neither is a
/// pipe waited for nor a link followed.
pub(crate) fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
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
        assert!(!Journal::is_vacant(folder.path()));
        assert!(Journal::is_vacant(tempfile::tempdir().unwrap().path()));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Journal::open(&file.path().join("below"), "boot").unwrap_err();
        assert!(error.to_string().contains("below"), "{error}");
    }

    #[test]
    fn rubbish_is_told_and_kept_aside() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("journal"), b"{\"rocewatch_journal\":2,").unwrap();
        let (_, stored) = Journal::open(folder.path(), "boot").unwrap();
        assert!(matches!(stored, Stored::Unusable(_)));
        let kept = fs::read(folder.path().join("journal.old")).unwrap();
        assert_eq!(kept, b"{\"rocewatch_journal\":2,");
    }

    #[test]
    fn what_is_owed_is_found_where_nothing_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path(), "boot").unwrap();
        journal.store(&durable(9), 1).unwrap();
        drop(journal);
        // A folder in the place of the new file: as on a full disk, the old one can be read.
        fs::create_dir(folder.path().join("journal.new")).unwrap();
        let (mut journal, stored) = Journal::open(folder.path(), "boot").unwrap();
        assert!(matches!(stored, Stored::Of(found) if found.next_action == 9));
        assert!(!journal.is_writable() && journal.trouble().is_some());
        assert!(journal.store(&durable(10), 2).is_err());
    }

    #[test]
    fn whether_it_can_be_written_follows_each_write() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path(), "one boot").unwrap();
        // What cannot be removed stands in the way of the new file.
        fs::create_dir(folder.path().join("journal.new")).unwrap();
        journal.store(&durable(2), 1).unwrap_err();
        assert!(!journal.is_writable());
        fs::remove_dir(folder.path().join("journal.new")).unwrap();
        journal.store(&durable(3), 2).unwrap();
        assert!(journal.is_writable());
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_holds_nobody_up() {
        for name in ["journal", "journal.lock"] {
            let folder = tempfile::tempdir().unwrap();
            let made = std::process::Command::new("mkfifo").arg(folder.path().join(name)).status().unwrap();
            assert!(made.success());
            match Journal::open(folder.path(), "boot") {
                Ok((_, stored)) => assert!(matches!(stored, Stored::Unusable(_))),
                Err(error) => assert!(error.to_string().contains(name), "{error}"),
            }
        }
    }

    #[test]
    fn a_pipe_in_the_place_of_the_new_file_is_removed_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("journal.new")).status();
        assert!(made.unwrap().success());
        let (journal, _) = Journal::open(folder.path(), "boot").unwrap();
        assert!(journal.is_writable());
    }

    #[test]
    fn who_may_not_write_the_lock_sees_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = Journal::open(folder.path(), "boot").unwrap();
        let path = folder.path().join("journal.lock");
        // Root may write everything, so a folder that only looks like the lock stands for a lock of somebody else.
        drop(first);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(Journal::open(folder.path(), "boot"), Err(JournalError::Write { .. })));
        let held = File::open(&path).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(matches!(Journal::open(folder.path(), "boot"), Err(JournalError::Locked(_))));
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
