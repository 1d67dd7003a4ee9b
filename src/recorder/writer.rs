//! Lines of JSON to a file, written by a thread of its own. The queue is bounded; what finds no room is counted and
//! lost.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use rocewatch_core::record::Line;

use crate::export::stats::{AgentStats, RecorderStats};

/// Lines that may wait: a second of eight ports at the fast pace, both lines of each reading, several times over.
const WAITING_MAX: usize = 4096;

/// A file being written.
#[derive(Debug)]
pub struct LineWriter {
    lines: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<bool>>,
    stats: Arc<AgentStats>,
    bytes: Arc<AtomicU64>,
}

impl LineWriter {
    /// Makes a file, which must not be there yet: a recording is never overwritten.
    ///
    /// # Errors
    /// If the file is there, or it or its thread cannot be made.
    pub fn create(path: &Path, stats: Arc<AgentStats>) -> io::Result<Self> {
        let file = open_new(path)?;
        Self::start(path.to_owned(), move |_| Some(file), std::iter::empty(), stats)
    }

    /// The same, but its thread makes the file and the folder, and writes what it begins with: neither a disk that
    /// hangs nor a long beginning holds up the caller. Why no file can be made is told to `failed`, and the lines are
    /// lost then.
    ///
    /// # Errors
    /// If the thread cannot be made.
    pub fn create_aside(
        path: PathBuf,
        beginning: impl Iterator<Item = Line> + Send + 'static,
        failed: impl FnOnce(io::Error) + Send + 'static,
        stats: Arc<AgentStats>,
    ) -> io::Result<Self> {
        let open = move |path: &Path| {
            let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
            folder.and_then(|()| open_new(path)).map_err(failed).ok()
        };
        Self::start(path, open, beginning, stats)
    }

    fn start(
        path: PathBuf,
        open: impl FnOnce(&Path) -> Option<File> + Send + 'static,
        beginning: impl Iterator<Item = Line> + Send + 'static,
        stats: Arc<AgentStats>,
    ) -> io::Result<Self> {
        let (lines, waiting) = sync_channel(WAITING_MAX);
        let bytes = Arc::<AtomicU64>::default();
        let (shared, counted) = (Arc::clone(&stats), Arc::clone(&bytes));
        let work = move || {
            let Some(file) = open(&path) else { return false };
            let counts = &shared.recorder;
            let mut output =
                Output { file: BufWriter::new(file), broken: false, counts, bytes: &counted, path: &path };
            for line in beginning {
                match text_of(&line) {
                    Some(text) => output.write(&text),
                    None => counts.dropped.one(),
                }
            }
            output.write_all(&waiting);
            true
        };
        let thread = thread::Builder::new().name("recorder".into()).spawn(work)?;
        Ok(Self { lines: Some(lines), thread: Some(thread), stats, bytes })
    }

    /// Writes one line. Where no file could be made, `failed` has told so, and lines are not counted as well.
    pub fn write(&mut self, line: &Line) {
        let sent = match (text_of(line), &self.lines) {
            (Some(text), Some(lines)) => !matches!(lines.try_send(text), Err(TrySendError::Full(_))),
            (None, _) | (_, None) => false,
        };
        if !sent {
            self.stats.recorder.dropped.one();
        }
    }

    /// Bytes written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Waits until everything is in the file. Whether there is one.
    pub fn finish(mut self) -> bool {
        self.lines = None;
        // A writer that panicked has lost its lines; there is nobody left to tell.
        self.thread.take().is_some_and(|thread| thread.join().unwrap_or(false))
    }
}

fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn text_of(line: &Line) -> Option<Vec<u8>> {
    let mut text = serde_json::to_vec(line).ok()?;
    text.push(b'\n');
    Some(text)
}

/// The file as its thread sees it.
struct Output<'a> {
    file: BufWriter<File>,
    broken: bool,
    counts: &'a RecorderStats,
    bytes: &'a AtomicU64,
    path: &'a Path,
}

impl Output<'_> {
    /// Takes lines until there will be no more.
    fn write_all(&mut self, waiting: &Receiver<Vec<u8>>) {
        self.flush();
        while let Ok(first) = waiting.recv() {
            for text in std::iter::once(first).chain(waiting.try_iter()) {
                self.write(&text);
            }
            self.flush();
        }
    }

    fn write(&mut self, text: &[u8]) {
        if self.broken {
            self.counts.dropped.one();
            return;
        }
        match self.file.write_all(text) {
            Ok(()) => {
                self.counts.records.one();
                self.counts.bytes.add(text.len() as u64);
                self.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
            }
            Err(error) => {
                self.counts.dropped.one();
                self.give_up(&error);
            }
        }
    }

    fn flush(&mut self) {
        if !self.broken
            && let Err(error) = self.file.flush()
        {
            self.give_up(&error);
        }
    }

    /// Half a line may be in the file now: what follows would not be understood.
    fn give_up(&mut self, error: &io::Error) {
        self.broken = true;
        tracing::error!(file = %self.path.display(), %error, "recording ends here");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use rocewatch_core::input::Input;
    use rocewatch_core::units::MonoTime;

    use super::*;

    fn tick(millis: u64) -> Line {
        Line::Input { at: MonoTime::from_millis(millis), input: Box::new(Input::Tick) }
    }

    #[test]
    fn a_beginning_that_takes_long_holds_up_nobody_and_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("not/there/yet");
        let (goes_on, wait) = channel::<()>();
        let beginning = (1..=3).map(tick).inspect(move |_| wait.recv().unwrap_or(()));
        let stats = Arc::<AgentStats>::default();
        let failed = |error| panic!("{error}");
        let mut writer =
            LineWriter::create_aside(path.clone(), beginning, failed, Arc::clone(&stats)).unwrap();
        // The thread has nothing to begin with yet, and still these calls return.
        writer.write(&tick(4));
        writer.write(&tick(5));
        assert_eq!(writer.bytes(), 0);
        drop(goes_on);
        assert!(writer.finish());
        let wanted: Vec<u8> = (1..=5).flat_map(|millis| text_of(&tick(millis)).unwrap()).collect();
        assert_eq!(fs::read(path).unwrap(), wanted);
        assert_eq!((stats.recorder.records.get(), stats.recorder.dropped.get()), (5, 0));
    }

    #[test]
    fn a_file_that_cannot_be_made_is_told_once_and_its_lines_are_not_counted_as_lost() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let (tell, told) = channel();
        let failed = move |error: io::Error| tell.send(error.kind()).unwrap();
        let path = folder.path().join("file/incident");
        let stats = Arc::<AgentStats>::default();
        let mut writer =
            LineWriter::create_aside(path, std::iter::once(tick(1)), failed, Arc::clone(&stats)).unwrap();
        assert_eq!(told.recv().unwrap(), io::ErrorKind::AlreadyExists);
        writer.write(&tick(2));
        assert!(!writer.finish());
        assert!(told.recv().is_err());
        assert_eq!(stats.recorder.dropped.get(), 0);
    }
}
