//! Writes down what the engine was told and what it wanted: the whole run where that is asked for, and the minutes
//! around every storm always. A disk that is slow or full costs lines of the recording, never a decision.

mod incidents;
mod kept;
mod writer;

pub use incidents::{IncidentLimits, Incidents};
pub use writer::LineWriter;

use std::io;
use std::path::Path;
use std::sync::Arc;

use rocewatch_core::engine::Engine;
use rocewatch_core::input::{Effect, Input};
use rocewatch_core::record::{FORMAT, Header, Line, Narrowing};
use rocewatch_core::units::MonoTime;

use crate::clock;
use crate::export::stats::AgentStats;

/// See the module.
pub struct Recorder {
    narrowing: Narrowing,
    file: Option<LineWriter>,
    incidents: Option<Incidents>,
    config: String,
    started: bool,
}

impl Recorder {
    /// A recorder that writes nothing yet. `config` is the configuration as its file would have it.
    #[must_use]
    pub fn new(config: String, incidents: Option<Incidents>) -> Self {
        Self { narrowing: Narrowing::default(), file: None, incidents, config, started: false }
    }

    /// Records the whole run into a file, which must not be there yet.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn record_to(&mut self, path: &Path, stats: &Arc<AgentStats>) -> io::Result<()> {
        self.file = Some(LineWriter::create(path, Arc::clone(stats))?);
        Ok(())
    }

    /// Has to be called before the engine takes an input.
    pub fn before(&mut self, now: MonoTime, engine: &Engine) {
        if !self.started {
            self.started = true;
            if let Some(file) = &mut self.file {
                file.write(&Line::Header(Box::new(header(&self.config, engine, None))));
            }
        }
        if let Some(incidents) = &mut self.incidents {
            incidents.before(now, engine);
        }
    }

    /// Has to be called after the engine has taken an input.
    pub fn after(&mut self, at: MonoTime, input: &Input, effects: &[Effect], engine: &Engine) {
        if self.file.is_none() && self.incidents.is_none() {
            return;
        }
        let narrowed = Box::new(self.narrowing.narrow(input));
        if let Some(file) = &mut self.file {
            file.write(&Line::Input { at, input: narrowed.clone() });
            if !effects.is_empty() {
                file.write(&Line::Effects { effects: effects.to_vec() });
            }
        }
        if let Some(incidents) = &mut self.incidents {
            incidents.after(at, narrowed, effects, engine, &self.config);
        }
    }

    /// Waits until everything is on disk.
    pub fn finish(self) {
        if let Some(file) = self.file {
            file.finish();
        }
        if let Some(incidents) = self.incidents {
            incidents.finish();
        }
    }
}

fn header(config: &str, engine: &Engine, checkpoint: Option<Box<Engine>>) -> Header {
    let since_boot_ms = (clock::now().as_nanos() / 1_000_000) as i64;
    Header {
        rocewatch_recording: FORMAT,
        version: env!("CARGO_PKG_VERSION").into(),
        boot_unix_ms: clock::wall().as_millisecond() - since_boot_ms,
        config: config.into(),
        settings: engine.settings().clone(),
        engine: checkpoint,
    }
}
