//! The minutes around a storm: kept in memory always, written to a file of their own when a storm is found.
//!
//! A file begins with the engine as it was a minute before, goes on until nothing is left to do about the storm, and
//! is read by `replay` like any recording. Files are bounded in number, size and duration.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rocewatch_core::engine::Engine;
use rocewatch_core::event::{Event, EventKind};
use rocewatch_core::input::{Effect, Input};
use rocewatch_core::record::Line;
use rocewatch_core::units::MonoTime;

use super::header;
use super::writer::LineWriter;
use crate::clock;
use crate::export::stats::AgentStats;

/// A file begins at least this long before its storm: two segments that are full, and the one being filled.
const SEGMENT: Duration = Duration::from_secs(30);
const SEGMENTS: usize = 3;
/// A file goes on for this long after the last storm of it has come to rest.
const TAIL: Duration = Duration::from_secs(5);
/// A storm that lasts longer is cut off: what it does after this is what it did before.
const LENGTH_MAX: Duration = Duration::from_secs(900);

/// Bounds of what incidents may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncidentLimits {
    /// Files kept; the oldest goes first.
    pub files_max: usize,
    /// Bytes per file.
    pub bytes_max: u64,
}

struct Segment {
    began: MonoTime,
    engine: Engine,
    lines: Vec<(MonoTime, Box<Input>, Vec<Effect>)>,
}

struct Open {
    writer: LineWriter,
    began: MonoTime,
    quiet_since: Option<MonoTime>,
    part: PathBuf,
    path: PathBuf,
}

/// See the module.
pub struct Incidents {
    folder: PathBuf,
    limits: IncidentLimits,
    segments: VecDeque<Segment>,
    open: Option<Open>,
    /// The files that are being closed.
    closing: Vec<std::thread::JoinHandle<()>>,
    stats: Arc<AgentStats>,
    told: bool,
}

impl Incidents {
    /// Incidents in `folder`, which is made with the first of them. What an earlier run has left there counts.
    #[must_use]
    pub fn new(folder: PathBuf, limits: IncidentLimits, stats: Arc<AgentStats>) -> Self {
        keep_unfinished(&folder);
        forget_oldest(&folder, limits.files_max);
        Self {
            folder,
            limits,
            segments: VecDeque::new(),
            open: None,
            closing: Vec::new(),
            stats,
            told: false,
        }
    }

    pub(super) fn before(&mut self, now: MonoTime, engine: &Engine) {
        if self.open.is_some() {
            return;
        }
        if self.segments.back().is_none_or(|segment| now.since(segment.began) >= SEGMENT) {
            if self.segments.len() >= SEGMENTS {
                self.segments.pop_front();
            }
            self.segments.push_back(Segment { began: now, engine: engine.checkpoint(), lines: Vec::new() });
        }
    }

    pub(super) fn after(
        &mut self,
        at: MonoTime,
        input: Box<Input>,
        effects: &[Effect],
        engine: &Engine,
        config: &str,
    ) {
        if let Some(open) = &mut self.open {
            write(&mut open.writer, at, input, effects);
            self.close_if_over(at, engine);
            return;
        }
        if let Some(segment) = self.segments.back_mut() {
            segment.lines.push((at, input, effects.to_vec()));
        }
        let storm = effects.iter().find_map(|effect| match effect {
            Effect::Emit(event) if matches!(event.kind, EventKind::StormDetected { .. }) => Some(event),
            Effect::Emit(_) | Effect::Act(_) | Effect::Pace(..) | Effect::AskGuard => None,
        });
        if let Some(event) = storm {
            self.begin(at, event, config);
        }
    }

    fn begin(&mut self, at: MonoTime, event: &Event, config: &str) {
        let segments = std::mem::take(&mut self.segments);
        match self.make(at, event) {
            Ok(mut open) => {
                self.told = false;
                if let Some(first) = segments.front() {
                    let engine = Some(Box::new(first.engine.clone()));
                    open.writer.write(&Line::Header(Box::new(header(config, &first.engine, engine))));
                }
                for (at, input, effects) in segments.into_iter().flat_map(|segment| segment.lines) {
                    write(&mut open.writer, at, input, &effects);
                }
                self.open = Some(open);
            }
            Err(error) => {
                self.stats.recorder.incidents_failed.one();
                if !std::mem::replace(&mut self.told, true) {
                    tracing::warn!(folder = %self.folder.display(), %error, "no incident can be written");
                }
            }
        }
    }

    fn make(&self, at: MonoTime, event: &Event) -> std::io::Result<Open> {
        fs::create_dir_all(&self.folder)?;
        let when = clock::wall().strftime("%Y%m%dT%H%M%S").to_string();
        let place = &event.place;
        let queue = place.priority.map(|queue| format!("-{queue}")).unwrap_or_default();
        let direction = place.direction.map(|d| format!("-{d}")).unwrap_or_default();
        let netdev = place.netdev.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        // The number of the event tells two storms of one second apart.
        let path =
            self.folder.join(format!("incident-{when}-{:06}-{netdev}{queue}{direction}.jsonl", event.seq));
        let part = path.with_extension("part");
        let writer = LineWriter::create(&part, Arc::clone(&self.stats))?;
        Ok(Open { writer, began: at, quiet_since: None, part, path })
    }

    fn close_if_over(&mut self, at: MonoTime, engine: &Engine) {
        let Some(open) = &mut self.open else { return };
        open.quiet_since = engine.is_quiet().then(|| open.quiet_since.unwrap_or(at));
        let quiet = open.quiet_since.is_some_and(|since| at.since(since) >= TAIL);
        if quiet || at.since(open.began) >= LENGTH_MAX || open.writer.bytes() >= self.limits.bytes_max {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let (stats, limits, folder) = (Arc::clone(&self.stats), self.limits, self.folder.clone());
        let work = move || {
            open.writer.finish();
            match fs::rename(&open.part, &open.path) {
                Ok(()) => stats.recorder.incidents.one(),
                Err(_) => stats.recorder.incidents_failed.one(),
            };
            forget_oldest(&folder, limits.files_max);
        };
        self.closing.retain(|thread| !thread.is_finished());
        if let Ok(thread) = std::thread::Builder::new().name("incident".into()).spawn(work) {
            self.closing.push(thread);
        }
    }

    pub(super) fn finish(mut self) {
        self.close();
        for thread in self.closing {
            let _ = thread.join();
        }
    }
}

fn write(writer: &mut LineWriter, at: MonoTime, input: Box<Input>, effects: &[Effect]) {
    writer.write(&Line::Input { at, input });
    if !effects.is_empty() {
        writer.write(&Line::Effects { effects: effects.to_vec() });
    }
}

/// A file that an earlier run could not finish is a recording that ends early. Left aside, each crash in a storm would
/// leave one more that no bound counts.
fn keep_unfinished(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !(name.starts_with("incident-") && name.ends_with(".part")) {
            continue;
        }
        if let Err(error) = fs::rename(&path, path.with_extension("jsonl")) {
            tracing::warn!(file = %path.display(), %error, "an unfinished incident stays aside");
        }
    }
}

/// Their names begin with their date, so the order of names is the order of time.
fn forget_oldest(folder: &Path, files_max: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let is_incident = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("incident-") && name.ends_with(".jsonl")
    };
    let mut files = entries.flatten().map(|entry| entry.path()).filter(is_incident).collect::<Vec<_>>();
    files.sort();
    let surplus = files.len().saturating_sub(files_max);
    for path in &files[..surplus] {
        if let Err(error) = fs::remove_file(path) {
            tracing::warn!(file = %path.display(), %error, "an old incident stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_run_did_not_finish_is_kept_and_counts() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["incident-1.jsonl", "incident-2.part", "incident-3.part", "other.part"] {
            fs::write(folder.path().join(name), "{}\n").unwrap();
        }
        let limits = IncidentLimits { files_max: 2, bytes_max: 1 << 20 };
        drop(Incidents::new(folder.path().to_owned(), limits, Arc::default()));
        let mut names = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<Vec<_>>();
        names.sort();
        assert_eq!(names, ["incident-2.jsonl", "incident-3.jsonl", "other.part"]);
    }
}
