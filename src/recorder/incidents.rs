//! The minutes around a storm: kept in memory always, written to a file of their own when a storm is found.
//!
//! A file begins with the engine as it was a minute before, goes on until nothing is left to do about the storm, and
//! is read by `replay` like any recording. Files are bounded in number, size and duration. Storms that overlap are in
//! one file, since none of them can be replayed without the others; the file has a name for each queue that had one.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rocewatch_core::action::{Order, Purpose};
use rocewatch_core::engine::Engine;
use rocewatch_core::event::{Event, EventKind, Place};
use rocewatch_core::input::{Effect, Input};
use rocewatch_core::record::Line;
use rocewatch_core::units::MonoTime;

use super::header;
use super::kept::Kept;
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
    /// Files kept, however many names they have; the oldest goes first.
    pub files_max: usize,
    /// Bytes per file.
    pub bytes_max: u64,
}

struct Segment {
    began: MonoTime,
    engine: Engine,
    lines: Kept,
}

struct Open {
    writer: LineWriter,
    began: MonoTime,
    quiet_since: Option<MonoTime>,
    part: PathBuf,
    /// The queues that had a storm, and what the file will be called for each.
    names: Vec<((Place, Purpose), PathBuf)>,
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
    /// Whether it was told that no file can be made, and none could be made since.
    told: Arc<AtomicBool>,
}

impl Incidents {
    /// Incidents in `folder`, which is made where it is missing. What an earlier run has left there counts.
    #[must_use]
    pub fn new(folder: PathBuf, limits: IncidentLimits, stats: Arc<AgentStats>) -> Self {
        keep_unfinished(&folder);
        forget_oldest(&folder, limits.files_max);
        let unwritable = try_out(&folder).inspect_err(|error| tell_unwritable(&folder, error)).is_err();
        Self {
            folder,
            limits,
            segments: VecDeque::new(),
            open: None,
            closing: Vec::new(),
            stats,
            told: Arc::new(unwritable.into()),
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
            let lines = Kept::default();
            self.segments.push_back(Segment { began: now, engine: engine.checkpoint(), lines });
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
            storms(effects).for_each(|event| open.note(&self.folder, event));
            lines_of(at, input, effects).for_each(|line| open.writer.write(&line));
            self.close_if_over(at, engine);
            return;
        }
        if let Some(segment) = self.segments.back_mut() {
            segment.lines.push(at, input, effects);
        }
        if let Some(first) = storms(effects).next() {
            self.begin(at, first, effects, config);
        }
    }

    /// Only hands over what was kept: a disk that hangs, or a minute of lines, holds up no decision.
    fn begin(&mut self, at: MonoTime, first: &Event, effects: &[Effect], config: &str) {
        let beginning = beginning(std::mem::take(&mut self.segments), config.into());
        let part = path_of(&self.folder, first).with_extension("part");
        let failed = self.failed();
        match LineWriter::create_aside(part.clone(), beginning, failed.clone(), Arc::clone(&self.stats)) {
            Ok(writer) => {
                let mut open = Open { writer, began: at, quiet_since: None, part, names: Vec::new() };
                storms(effects).for_each(|event| open.note(&self.folder, event));
                self.open = Some(open);
            }
            Err(error) => failed(error),
        }
    }

    /// What is to be done when no file can be made. Of several in a row the first is told.
    fn failed(&self) -> impl FnOnce(io::Error) + Clone + Send + use<> {
        let (folder, stats, told) = (self.folder.clone(), Arc::clone(&self.stats), Arc::clone(&self.told));
        move |error| {
            stats.recorder.incidents_failed.one();
            if !told.swap(true, Ordering::Relaxed) {
                tell_unwritable(&folder, &error);
            }
        }
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
        let told = Arc::clone(&self.told);
        let work = move || {
            if !open.writer.finish() {
                return;
            }
            told.store(false, Ordering::Relaxed);
            let mut last = open.part.clone();
            for (index, (_, path)) in open.names.iter().enumerate() {
                let named = if index == 0 { fs::rename(&last, path) } else { fs::hard_link(&last, path) };
                match named {
                    Ok(()) => stats.recorder.incidents.one(),
                    Err(_) => stats.recorder.incidents_failed.one(),
                }
                if index == 0 {
                    last.clone_from(path);
                }
            }
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

impl Open {
    /// A queue whose storm comes back while the file is open is in it under its name already.
    fn note(&mut self, folder: &Path, event: &Event) {
        let named = (event.place.clone(), purpose(event));
        if !self.names.iter().any(|(known, _)| *known == named) {
            self.names.push((named, path_of(folder, event)));
        }
    }
}

/// What begins an incident: a storm, or a test that is carried out.
fn storms(effects: &[Effect]) -> impl Iterator<Item = &Event> {
    let is_test = |order: &Order| matches!(order, Order::Do(plan) if plan.purpose == Purpose::Test);
    let tested = effects.iter().any(|effect| matches!(effect, Effect::Act(order) if is_test(order)));
    let begins = move |event: &Event| {
        matches!(event.kind, EventKind::StormDetected { .. }) || (tested && purpose(event) == Purpose::Test)
    };
    effects.iter().filter_map(move |effect| match effect {
        Effect::Emit(event) if begins(event) => Some(&**event),
        Effect::Emit(_) | Effect::Act(_) | Effect::Withdraw(..) | Effect::Pace(..) | Effect::AskGuard => None,
    })
}

/// Whether it is a test's plan that `event` tells of.
const fn purpose(event: &Event) -> Purpose {
    if let EventKind::ActionPlanned { purpose, .. } = event.kind { purpose } else { Purpose::Storm }
}

/// The name of the file for the storm that `event` tells of.
fn path_of(folder: &Path, event: &Event) -> PathBuf {
    let when = clock::wall().strftime("%Y%m%dT%H%M%S").to_string();
    let place = &event.place;
    let queue = place.priority.map(|queue| format!("-{queue}")).unwrap_or_default();
    let direction = place.direction.map(|d| format!("-{d}")).unwrap_or_default();
    let netdev = place.netdev.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    // The number of the event tells two storms of one second apart.
    let test = if purpose(event) == Purpose::Test { "-test" } else { "" };
    folder.join(format!("incident-{when}-{:06}-{netdev}{queue}{direction}{test}.jsonl", event.seq))
}

/// The lines that a file begins with: the engine as it was before the oldest that is kept, and what it took since.
fn beginning(segments: VecDeque<Segment>, config: String) -> impl Iterator<Item = Line> + Send {
    segments.into_iter().enumerate().flat_map(move |(index, Segment { engine, lines, .. })| {
        let checkpoint = (index == 0)
            .then(|| Line::Header(Box::new(header(&config, &engine, Some(Box::new(engine.clone()))))));
        checkpoint
            .into_iter()
            .chain(lines.into_lines().flat_map(|(at, input, effects)| lines_of(at, input, &effects)))
    })
}

fn lines_of(at: MonoTime, input: Box<Input>, effects: &[Effect]) -> impl Iterator<Item = Line> + use<> {
    let led_to = (!effects.is_empty()).then(|| Line::Effects { effects: effects.to_vec() });
    std::iter::once(Line::Input { at, input }).chain(led_to)
}

/// Makes a file in `folder` and removes it: the first storm is too late to learn that none can be made.
fn try_out(folder: &Path) -> io::Result<()> {
    let probe = folder.join("probe");
    fs::create_dir_all(folder)?;
    fs::File::create(&probe)?;
    fs::remove_file(probe)
}

fn tell_unwritable(folder: &Path, error: &io::Error) {
    tracing::warn!(folder = %folder.display(), %error, "no incident can be written");
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

/// Their names begin with their date, so the order of names is the order of time. A file goes with all its names.
fn forget_oldest(folder: &Path, files_max: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let is_incident = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("incident-") && name.ends_with(".jsonl")
    };
    let names = entries.flatten().map(|entry| entry.path()).filter(is_incident);
    let mut names =
        names.filter_map(|path| Some((fs::metadata(&path).ok()?.ino(), path))).collect::<Vec<_>>();
    names.sort_by(|(_, one), (_, other)| one.cmp(other));
    let mut files = Vec::new();
    for (inode, _) in &names {
        if !files.contains(inode) {
            files.push(*inode);
        }
    }
    let surplus: BTreeSet<u64> = files[..files.len().saturating_sub(files_max)].iter().copied().collect();
    for (_, path) in names.iter().filter(|(inode, _)| surplus.contains(inode)) {
        if let Err(error) = fs::remove_file(path) {
            tracing::warn!(file = %path.display(), %error, "an old incident stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use rocewatch_core::ids::{PortKey, StormId};
    use rocewatch_core::phase::Class;
    use rocewatch_core::settings::Settings;
    use rocewatch_core::units::{Direction, Permille, Priority, Queue};

    use super::*;

    #[test]
    fn what_an_earlier_run_did_not_finish_is_kept_and_counts() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["incident-1.jsonl", "incident-2.part", "incident-3.part", "other.part"] {
            fs::write(folder.path().join(name), "{}\n").unwrap();
        }
        let limits = IncidentLimits { files_max: 2, bytes_max: 1 << 20 };
        drop(Incidents::new(folder.path().to_owned(), limits, Arc::default()));
        assert_eq!(names_in(folder.path()), ["incident-2.jsonl", "incident-3.jsonl", "other.part"]);
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Effects of a step in which storms were found on priority 3 of `netdevs`.
    fn found(seq: u64, netdevs: &[&str]) -> Vec<Effect> {
        let storm = |(index, netdev): (usize, &&str)| {
            let place = Place {
                port: Some(PortKey(0)),
                netdev: (*netdev).into(),
                priority: Some(Queue::Priority(Priority::ALL[3])),
                direction: Some(Direction::Rx),
            };
            let kind = EventKind::StormDetected {
                storm: StormId(seq),
                class: Class::Blocked,
                onset: MonoTime::ZERO,
                paused: Duration::ZERO,
                share: Permille::ONE,
                estimated: false,
                resumed: false,
            };
            let seq = seq + index as u64;
            Effect::Emit(Box::new(Event { seq, at: MonoTime::ZERO, place, kind }))
        };
        netdevs.iter().enumerate().map(storm).collect()
    }

    #[test]
    fn storms_that_overlap_are_in_one_file_with_a_name_for_each() {
        let folder = tempfile::tempdir().unwrap();
        let limits = IncidentLimits { files_max: 2, bytes_max: 1 << 20 };
        let stats = Arc::<AgentStats>::default();
        let mut incidents = Incidents::new(folder.path().to_owned(), limits, Arc::clone(&stats));
        let engine = Engine::new(Settings::default());
        let steps = [found(1, &["eth0", "eth1"]), found(5, &["eth2"]), found(9, &["eth0"])];
        for (second, effects) in steps.iter().enumerate() {
            let now = MonoTime::from_millis(1000 * second as u64);
            incidents.before(now, &engine);
            incidents.after(now, Box::new(Input::Tick), effects, &engine, "");
        }
        incidents.finish();
        let names = names_in(folder.path());
        let ends = ["000001-eth0-3-rx.jsonl", "000002-eth1-3-rx.jsonl", "000005-eth2-3-rx.jsonl"];
        assert_eq!(names.len(), ends.len(), "{names:?}");
        assert!(names.iter().zip(ends).all(|(name, end)| name.ends_with(end)), "{names:?}");
        let texts = names.iter().map(|name| fs::read_to_string(folder.path().join(name)).unwrap());
        let texts = texts.collect::<BTreeSet<_>>();
        assert_eq!(texts.len(), 1);
        assert!(texts.iter().all(|text| text.matches("storm_detected").count() == 4));
        assert_eq!(stats.recorder.incidents.get(), 3);
    }

    #[test]
    fn a_file_with_many_names_counts_once_and_goes_with_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["incident-1.jsonl", "incident-3.jsonl", "incident-5.jsonl"] {
            fs::write(path(name), name).unwrap();
        }
        fs::hard_link(path("incident-1.jsonl"), path("incident-2.jsonl")).unwrap();
        fs::hard_link(path("incident-3.jsonl"), path("incident-4.jsonl")).unwrap();
        forget_oldest(folder.path(), 2);
        assert_eq!(names_in(folder.path()), ["incident-3.jsonl", "incident-4.jsonl", "incident-5.jsonl"]);
    }
}
