//! Lines of JSON to a file, written by a thread of its own. The queue is bounded; what finds no room is counted and
//! lost.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rocewatch_core::record::Line;

use crate::export::stats::{AgentStats, RecorderStats};

/// Lines that may wait: a second of eight ports at the fast pace, both lines of each reading, several times over.
const WAITING_MAX: usize = 4096;

/// A file being written.
#[derive(Debug)]
pub struct LineWriter {
    lines: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
    stats: Arc<AgentStats>,
    bytes: u64,
}

impl LineWriter {
    /// Makes a file, which must not be there yet: a recording is never overwritten.
    ///
    /// # Errors
    /// If the file is there, or it or its thread cannot be made.
    pub fn create(path: &Path, stats: Arc<AgentStats>) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let (lines, waiting) = sync_channel(WAITING_MAX);
        let shared = Arc::clone(&stats);
        let name = path.display().to_string();
        let thread = thread::Builder::new()
            .name("recorder".into())
            .spawn(move || write_all(BufWriter::new(file), &waiting, &shared.recorder, &name))?;
        Ok(Self { lines: Some(lines), thread: Some(thread), stats, bytes: 0 })
    }

    /// Writes one line.
    pub fn write(&mut self, line: &Line) {
        let Ok(mut text) = serde_json::to_vec(line) else {
            self.stats.recorder.dropped.one();
            return;
        };
        text.push(b'\n');
        self.bytes += text.len() as u64;
        if self.lines.as_ref().is_none_or(|lines| lines.try_send(text).is_err()) {
            self.stats.recorder.dropped.one();
        }
    }

    /// Bytes handed in.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Waits until everything is in the file.
    pub fn finish(mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has lost its lines; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

fn write_all(
    mut file: BufWriter<std::fs::File>,
    waiting: &Receiver<Vec<u8>>,
    counts: &RecorderStats,
    name: &str,
) {
    let mut broken = false;
    while let Ok(first) = waiting.recv() {
        for text in std::iter::once(first).chain(waiting.try_iter()) {
            if broken {
                counts.dropped.one();
                continue;
            }
            match file.write_all(&text) {
                Ok(()) => {
                    counts.records.one();
                    counts.bytes.add(text.len() as u64);
                }
                Err(error) => {
                    // Half a line is in the file now: what follows would not be understood.
                    broken = true;
                    counts.dropped.one();
                    tracing::error!(file = name, %error, "recording ends here");
                }
            }
        }
        if let Some(error) = file.flush().err().filter(|_| !broken) {
            broken = true;
            tracing::error!(file = name, %error, "recording ends here");
        }
    }
}
