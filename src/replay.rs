//! Feeds a recording to an engine: what it decided, and what it would have decided under other settings.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use rocewatch_core::engine::Engine;
use rocewatch_core::input::{Effect, Input};
use rocewatch_core::record::{FORMAT, Header, Line};
use rocewatch_core::settings::{Mode, SPAN_MAX, Settings};
use rocewatch_core::units::MonoTime;
use serde_json::Value;

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("{path}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A line is no line of a recording.
    #[error("{path}:{number}: not a line of a recording", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        number: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// It begins with an engine that no agent has written.
    #[error("{path}:1: expected the engine of an agent, found one with {found}", path = path.display())]
    NoEngine {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        found: &'static str,
    },
    /// It does not begin as a recording does.
    #[error("{path}: expected a recording of format {FORMAT}, found {found}", path = path.display())]
    NoRecording {
        /// The file.
        path: PathBuf,
        /// What it begins with.
        found: String,
    },
}

/// One input of a recording and the effects it had then.
pub struct Recorded {
    /// The line of the input, from 1.
    pub number: usize,
    /// When.
    pub at: MonoTime,
    /// What came in.
    pub input: Input,
    /// What went out.
    pub effects: Vec<Effect>,
}

/// A recording, read line by line.
pub struct Recording {
    path: PathBuf,
    lines: std::iter::Peekable<std::iter::Enumerate<std::io::Lines<BufReader<File>>>>,
    header: Header,
    cut: Option<usize>,
}

impl Recording {
    /// Opens a recording and reads its header.
    ///
    /// # Errors
    /// [`ReplayError`] naming the file.
    pub fn open(path: &Path) -> Result<Self, ReplayError> {
        let read = |source| ReplayError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(read)?;
        let mut lines = BufReader::new(file).lines().enumerate().peekable();
        let wrong = |found: &str| ReplayError::NoRecording { path: path.to_owned(), found: found.into() };
        let first = match lines.next() {
            Some((_, line)) => line.map_err(read)?,
            None => return Err(wrong("an empty file")),
        };
        let value = serde_json::from_str::<Value>(&first).unwrap_or_default();
        let version = value.get("rocewatch_recording").and_then(Value::as_u64);
        match version {
            Some(version) if version == u64::from(FORMAT) => {}
            Some(version) => return Err(wrong(&format!("format {version}"))),
            None => return Err(wrong("something else")),
        }
        let header = serde_json::from_str::<Header>(&first).map_err(|source| ReplayError::Line {
            path: path.to_owned(),
            number: 1,
            source,
        })?;
        let found = match &header.engine {
            Some(_) if value.get("engine").is_some_and(has_long_span) => Some("a span of more than a year"),
            Some(engine) if !engine.is_whole() => Some("counters that are not there"),
            Some(_) | None => None,
        };
        match found {
            Some(found) => Err(ReplayError::NoEngine { path: path.to_owned(), found }),
            None => Ok(Self { path: path.to_owned(), lines, header, cut: None }),
        }
    }

    /// How it begins.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The last line, if it was read and is not whole: the agent was killed, or the file was copied while it grew.
    #[must_use]
    pub const fn cut(&self) -> Option<usize> {
        self.cut
    }

    /// The engine as it was at the beginning.
    #[must_use]
    pub fn engine(&self) -> Engine {
        match &self.header.engine {
            Some(engine) => (**engine).clone(),
            None => Engine::new(self.header.settings.clone()),
        }
    }

    fn line(&mut self) -> Option<Result<(usize, Line), ReplayError>> {
        let (index, line) = self.lines.next()?;
        let (path, number) = (self.path.clone(), index + 1);
        let text = match line {
            Ok(text) => text,
            Err(source) => return Some(Err(ReplayError::Read { path, source })),
        };
        match serde_json::from_str(&text) {
            Ok(line) => Some(Ok((number, line))),
            // The last line of a recording that was cut off: what came before still stands.
            Err(source) if source.is_eof() && self.lines.peek().is_none() => {
                self.cut = Some(number);
                None
            }
            Err(source) => Some(Err(ReplayError::Line { path, number, source })),
        }
    }

    fn effects(&mut self) -> Result<Vec<Effect>, ReplayError> {
        let is_effects = match self.lines.peek() {
            Some((_, Ok(text))) => text.starts_with(r#"{"effects""#),
            Some((_, Err(_))) | None => false,
        };
        if !is_effects {
            return Ok(Vec::new());
        }
        match self.line() {
            Some(Ok((_, Line::Effects { effects }))) => Ok(effects),
            Some(Ok((_, Line::Header(_) | Line::Input { .. }))) | None => Ok(Vec::new()),
            Some(Err(error)) => Err(error),
        }
    }
}

impl Iterator for Recording {
    type Item = Result<Recorded, ReplayError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.line()? {
                Err(error) => return Some(Err(error)),
                Ok((number, Line::Input { at, input })) => {
                    let effects = match self.effects() {
                        Ok(effects) => effects,
                        Err(error) => return Some(Err(error)),
                    };
                    return Some(Ok(Recorded { number, at, input: *input, effects }));
                }
                Ok((_, Line::Header(_) | Line::Effects { .. })) => {}
            }
        }
    }
}

/// Whether any span in it is longer than one that can be reckoned with without care.
fn has_long_span(value: &Value) -> bool {
    match value {
        // As `Duration` is written.
        Value::Object(fields) => {
            let secs = fields.get("secs").filter(|_| fields.contains_key("nanos")).and_then(Value::as_u64);
            secs.is_some_and(|secs| secs > SPAN_MAX.as_secs()) || fields.values().any(has_long_span)
        }
        Value::Array(items) => items.iter().any(has_long_span),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The first difference between what was recorded and what is decided now.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of the input.
    pub number: usize,
    /// The effects recorded, as JSON.
    pub recorded: String,
    /// The effects now, as JSON.
    pub replayed: String,
}

/// What a check found.
#[derive(Debug, PartialEq, Eq)]
pub struct Checked {
    /// Inputs replayed.
    pub inputs: usize,
    /// Effects that came out the same.
    pub effects: usize,
    /// Where they first differ.
    pub difference: Option<Difference>,
}

/// Replays a recording and compares its effects byte for byte.
///
/// # Errors
/// [`ReplayError`] at the first line that cannot be read.
pub fn check(recording: &mut Recording) -> Result<Checked, ReplayError> {
    let mut engine = recording.engine();
    let mut checked = Checked { inputs: 0, effects: 0, difference: None };
    for recorded in recording {
        let recorded = recorded?;
        let effects = engine.handle(recorded.at, &recorded.input);
        let (then, now) = (json(&recorded.effects), json(&effects));
        checked.inputs += 1;
        if then != now {
            let difference = Difference { number: recorded.number, recorded: then, replayed: now };
            return Ok(Checked { difference: Some(difference), ..checked });
        }
        checked.effects += effects.len();
    }
    Ok(checked)
}

/// Replays a recording, under other settings if there are any, and hands out what is decided.
///
/// Under other settings the recorded outcomes answer plans that may not be made now, so nothing is carried out:
/// a plan is told as in a dry run.
///
/// # Errors
/// [`ReplayError`] at the first line that cannot be read.
pub fn replay(
    recording: &mut Recording,
    settings: Option<Settings>,
    mut told: impl FnMut(MonoTime, Vec<Effect>),
) -> Result<(), ReplayError> {
    let mut engine = recording.engine();
    let other = settings.map(what_if);
    let mut due = other.is_some();
    for recorded in recording {
        let recorded = recorded?;
        if let Some(settings) = other.as_ref().filter(|_| std::mem::take(&mut due)) {
            told(recorded.at, engine.handle(recorded.at, &Input::Reconfigure(Box::new(settings.clone()))));
        }
        // The run's own settings and outcomes belong to what was decided then.
        let outdated = matches!(recorded.input, Input::Reconfigure(_) | Input::Outcome(_));
        let input = if outdated && other.is_some() { Input::Tick } else { recorded.input };
        told(recorded.at, engine.handle(recorded.at, &input));
    }
    Ok(())
}

fn what_if(settings: Settings) -> Settings {
    match settings.mode {
        Mode::Enforce => Settings { mode: Mode::DryRun, ..settings },
        Mode::Off | Mode::Observe | Mode::DryRun => settings,
    }
}

fn json(effects: &[Effect]) -> String {
    // Effects are plain data; what cannot be written as JSON could not have been recorded.
    serde_json::to_string(effects).unwrap_or_else(|error| error.to_string())
}
