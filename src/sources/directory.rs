//! Counters in files: `ethtool.txt` of a port's folder, read anew each time.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rocewatch_core::input::SourceRefresh;
use rustix::fs::{Mode, OFlags};

use super::{ReadError, Source, text};

/// Larger than any real output by far; a file that grows without end must not fill the memory.
const FILE_MAX: u64 = 4 << 20;

/// Why a file of a directory source cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refuses.
    #[error("{path}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is a pipe, a device or a folder.
    #[error("{path} is no regular file", path = .0.display())]
    NotRegular(PathBuf),
    /// It is too large.
    #[error("{path} is larger than {FILE_MAX} bytes", path = .0.display())]
    TooLarge(PathBuf),
    /// It is not text.
    #[error("{path} is not UTF-8", path = .0.display())]
    NotText(PathBuf),
}

impl FileError {
    /// Whether it is simply not there.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// The kernel's error number, if it was the kernel.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Io { source, .. } => source.raw_os_error(),
            Self::NotRegular(_) | Self::TooLarge(_) | Self::NotText(_) => None,
        }
    }
}

/// Reads a regular file of reasonable size. A pipe put in its place cannot hold the reader up.
///
/// # Errors
/// [`FileError`] naming the file.
pub fn read_file(path: &Path) -> Result<String, FileError> {
    let failed = |source| FileError::Io { path: path.to_owned(), source };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
    let file = File::from(file);
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(FileError::NotRegular(path.to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(FileError::TooLarge(path.to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| FileError::NotText(path.to_owned()))
}

/// The counters of one port in a directory.
pub struct DirectorySource {
    file: PathBuf,
    names: Vec<String>,
    refresh: Option<Duration>,
}

impl DirectorySource {
    /// The counters in `file`.
    #[must_use]
    pub const fn new(file: PathBuf, refresh: Option<Duration>) -> Self {
        Self { file, names: Vec::new(), refresh }
    }

    fn text(&self) -> Result<String, ReadError> {
        read_file(&self.file)
            .map_err(|error| ReadError::Failed { what: super::with_causes(&error), errno: error.errno() })
    }
}

impl Source for DirectorySource {
    fn names(&mut self) -> Result<Vec<String>, ReadError> {
        let text = self.text()?;
        self.names = text::parse(&text).into_iter().map(|(name, _)| name.to_owned()).collect();
        Ok(self.names.clone())
    }

    /// A text whose names differ, even in their order, is another set: half of a file that is being written is no
    /// reading.
    fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
        let text = self.text()?;
        let counters = text::parse(&text);
        values.clear();
        if counters.len() != self.names.len() || counters.iter().zip(&self.names).any(|((a, _), b)| a != b) {
            return Err(ReadError::NamesChanged);
        }
        values.extend(counters.into_iter().map(|(_, value)| value));
        Ok(())
    }

    fn refresh(&self) -> Option<SourceRefresh> {
        self.refresh.map(SourceRefresh::Every)
    }
}
