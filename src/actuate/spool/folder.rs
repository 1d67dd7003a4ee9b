//! The folder itself: opened once and then worked in by its descriptor, so that nobody can put another in its place
//! between a look and a deed. No link is followed, nothing but a regular file is opened.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RawDir, Stat, fchmod, flock, fstat, openat, renameat,
    statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Larger than any evidence, and small enough to be read at once.
const FILE_MAX: u64 = 1 << 20;
/// Names looked at in one pass. The agent has a few jobs at once.
const NAMES_MAX: usize = 1000;
/// Who may write: group and others.
const OTHERS: u32 = 0o022;

/// A folder that only its owner can write to.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    owner: u32,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderError {
    /// It cannot be opened.
    #[error("spool {path}: {source}", path = path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody could put jobs into it who is none of those that may.
    #[error(
        "spool {path}: mode {mode:04o}, owner {owner}: expected one that group and others cannot write to, \
         of user {own} or root",
        path = path.display()
    )]
    Unsafe {
        /// The folder.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// The number of the user it belongs to.
        owner: u32,
        /// The number of the user who looks.
        own: u32,
    },
}

impl FolderError {
    /// Whether it is only not there yet.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Open { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Whose files are believed.
#[derive(Clone, Copy)]
pub(super) enum Author {
    /// Those of the folder's owner, who writes jobs.
    Owner,
    /// Those of root and of this user too, one of whom is the worker.
    Worker,
}

impl Folder {
    /// Opens it, if only its owner can write to it and that is this user or root. Root itself works for any owner: what
    /// it runs, nobody else decides.
    pub(super) fn open(path: &Path) -> Result<Self, FolderError> {
        let failed = |errno: Errno| FolderError::Open { path: path.to_owned(), source: errno.into() };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
        let Stat { st_mode, st_uid: owner, .. } = fstat(&fd).map_err(failed)?;
        let (mode, own) = (st_mode & 0o7777, geteuid().as_raw());
        if mode & OTHERS != 0 || ![0, own].contains(&owner) && own != 0 {
            return Err(FolderError::Unsafe { path: path.to_owned(), mode, owner, own });
        }
        Ok(Self { fd, owner })
    }

    /// Keeps other workers out for as long as the folder is open; whether they were out already.
    pub(super) fn lock(&self) -> io::Result<bool> {
        match flock(&self.fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether a worker keeps others out now.
    pub(super) fn is_locked(&self) -> bool {
        let asked = flock(&self.fd, FlockOperation::NonBlockingLockShared);
        if asked.is_ok() {
            let _ = flock(&self.fd, FlockOperation::Unlock);
        }
        asked == Err(Errno::WOULDBLOCK)
    }

    /// The names of the regular files in it.
    pub(super) fn files(&self) -> io::Result<Vec<String>> {
        // A descriptor of its own, because a place in the list is kept with it.
        let list =
            openat(&self.fd, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let mut buffer = Vec::with_capacity(8192);
        let mut entries = RawDir::new(list, buffer.spare_capacity_mut());
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            let is_file = |name| match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode).is_file(),
                Err(_) => false,
            };
            if names.len() < NAMES_MAX && is_file(name) {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Reads a file that was written by whom it is believed.
    pub(super) fn read(&self, name: &str, author: Author) -> io::Result<String> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, Mode::empty())?;
        let Stat { st_mode, st_uid, .. } = fstat(&fd)?;
        let believed = match author {
            Author::Owner => st_uid == self.owner,
            Author::Worker => [0, self.owner, geteuid().as_raw()].contains(&st_uid),
        };
        if !FileType::from_raw_mode(st_mode).is_file() || !believed {
            return Err(io::Error::other(format!("it belongs to user {st_uid}, or is no file")));
        }
        let mut text = String::new();
        File::from(fd).take(FILE_MAX + 1).read_to_string(&mut text)?;
        if text.len() as u64 > FILE_MAX {
            return Err(io::Error::other(format!("larger than {FILE_MAX} bytes")));
        }
        Ok(text)
    }

    /// Writes a file whole: whoever sees its name sees all of it.
    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let beside = format!("{name}.new");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || openat(&self.fd, &beside, flags, Mode::from_raw_mode(0o600));
        let fd = match create() {
            // Of one who was ended in between.
            Err(Errno::EXIST) => {
                self.remove(&beside)?;
                create()
            }
            other => other,
        }?;
        // Root's answer is for a user of another number, whatever root's mask is. The folder keeps strangers out.
        fchmod(&fd, Mode::from_raw_mode(0o644))?;
        File::from(fd).write_all(text.as_bytes())?;
        self.rename(&beside, name)
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.fd, from, &self.fd, to)?)
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Whether a name is there, or else cannot be looked for.
    pub(super) fn holds(&self, name: &str) -> bool {
        !matches!(statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
    }
}
