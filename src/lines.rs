//! Lines for a terminal, a pipe or a socket, written by a thread of its own: a pager that waits for its user, or a log
//! daemon that hangs, holds up nobody else. The queue is bounded; lines that find no room are lost, and once there is
//! room again the reader is told how many.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock;

/// Lines that may wait: what the storm of a whole node tells within a second, several times over.
const WAITING_MAX: usize = 4096;
/// Between two looks whether there is room for the last word.
const LOOK: Duration = Duration::from_millis(5);

/// See the module. Copies write to the same place.
#[derive(Clone, Debug)]
pub struct Lines {
    queue: SyncSender<Piece>,
    lost: Arc<AtomicU64>,
    closed: CancellationToken,
}

/// How much of what was to be written is with the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// All of it, unless the reader has gone.
    All,
    /// Only a part: the reader does not read.
    Part,
}

#[derive(Debug)]
enum Piece {
    Line(Vec<u8>),
    /// Everything before has been written, or has failed.
    Flushed(SyncSender<()>),
}

impl Lines {
    /// Lines to what `stream` stands for. `told` makes the line that tells how many were lost.
    ///
    /// # Errors
    /// The stream cannot be used twice, or no thread can be made.
    pub fn start(stream: impl AsFd, told: fn(u64) -> String) -> io::Result<Self> {
        let file = File::from(stream.as_fd().try_clone_to_owned()?);
        let (queue, waiting) = sync_channel(WAITING_MAX);
        let lines = Self { queue, lost: Arc::default(), closed: CancellationToken::new() };
        let (lost, closed) = (Arc::clone(&lines.lost), lines.closed.clone());
        thread::Builder::new()
            .name("lines".into())
            .spawn(move || write_all(file, &waiting, &lost, &closed, told))?;
        Ok(lines)
    }

    /// Writes a line, its end included, as soon as the reader takes it.
    pub fn write(&self, line: Vec<u8>) {
        if self.queue.try_send(Piece::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written, but not longer than `within`.
    pub fn flush(&self, within: Duration) -> Flushed {
        let until = clock::now() + within;
        let (done, flushed) = sync_channel(1);
        while self.queue.try_send(Piece::Flushed(done.clone())).is_err() {
            if clock::now() >= until {
                return Flushed::Part;
            }
            thread::sleep(LOOK);
        }
        match flushed.recv_timeout(until.since(clock::now())) {
            Ok(()) => Flushed::All,
            Err(_) => Flushed::Part,
        }
    }

    /// Cancelled when the reader has closed its end: nobody will see any more lines.
    #[must_use]
    pub fn closed(&self) -> CancellationToken {
        self.closed.clone()
    }
}

impl Write for Lines {
    /// Takes the whole of `bytes`, which is one line.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::write(self, bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_all(
    mut file: File,
    waiting: &Receiver<Piece>,
    lost: &AtomicU64,
    closed: &CancellationToken,
    told: fn(u64) -> String,
) {
    while let Ok(piece) = waiting.recv() {
        let line = match piece {
            Piece::Line(line) => line,
            Piece::Flushed(done) => {
                // Who asked may have stopped waiting.
                let _ = done.try_send(());
                continue;
            }
        };
        let gap = match lost.swap(0, Ordering::Relaxed) {
            0 => String::new(),
            count => told(count),
        };
        // What is wrong with the place where errors are told can be told nowhere.
        match file.write_all(gap.as_bytes()).and_then(|()| file.write_all(&line)) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => closed.cancel(),
            Ok(()) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn told(count: u64) -> String {
        format!("{count} lost\n")
    }

    #[test]
    fn a_reader_that_does_not_read_holds_nobody_up_and_hears_how_much_it_missed() {
        let (mut reader, writer) = io::pipe().unwrap();
        let lines = Lines::start(&writer, told).unwrap();
        drop(writer);
        // More than the pipe and the queue hold.
        for _ in 0..20_000 {
            lines.write(b"0123456789012345678901234567890123456789\n".to_vec());
        }
        assert_eq!(lines.flush(Duration::from_millis(1)), Flushed::Part);
        let mut text = vec![0; 20_000 * 41];
        let mut length = 0;
        while !String::from_utf8_lossy(&text[..length]).contains("lost") {
            length += reader.read(&mut text[length..]).unwrap();
            lines.write(b"later\n".to_vec());
        }
    }

    #[test]
    fn everything_is_written_once_it_is_flushed() {
        let (mut reader, writer) = io::pipe().unwrap();
        let lines = Lines::start(&writer, told).unwrap();
        lines.write(b"one\n".to_vec());
        lines.write(b"two\n".to_vec());
        assert_eq!(lines.flush(Duration::from_secs(30)), Flushed::All);
        let mut text = [0; 64];
        let length = reader.read(&mut text).unwrap();
        assert_eq!(&text[..length], b"one\ntwo\n");
    }

    #[test]
    fn a_reader_that_has_gone_is_noticed() {
        let (reader, writer) = io::pipe().unwrap();
        let lines = Lines::start(&writer, told).unwrap();
        drop(reader);
        assert!(!lines.closed().is_cancelled());
        lines.write(b"one\n".to_vec());
        lines.flush(Duration::from_secs(30));
        assert!(lines.closed().is_cancelled());
    }
}
