//! Reads the configuration again as the start has read it. What is wrong with it is told as a whole, and then nothing
//! changes; what only a start can change is named.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use rocewatch_core::settings::{Mode, Settings};

use crate::clock;
use crate::config::{Config, ConfigError, Style};
use crate::export::stats::AgentStats;
use crate::privileges::{self, Ports};

/// Reads the configuration: the same file and flags as at the start.
pub type Load = Box<dyn Fn() -> Result<Config, ConfigError> + Send + Sync>;

/// See the module.
pub struct Reload {
    load: Load,
    started: Config,
    mode_max: Mode,
    ports: Ports,
    stats: Arc<AgentStats>,
}

/// A configuration that was accepted.
#[derive(Debug)]
pub(super) struct Accepted {
    config: Config,
    /// What the engine is told.
    pub(super) settings: Settings,
    /// What there is to say.
    pub(super) lines: Vec<String>,
}

impl Reload {
    /// Reloads for an agent that was started with `started` on `ports`, and may not go beyond `mode_max`.
    #[must_use]
    pub fn new(
        load: Load,
        (started, mode_max, ports): (Config, Mode, Ports),
        stats: Arc<AgentStats>,
    ) -> Self {
        note_accepted(&stats, &started);
        Self { load, started, mode_max, ports, stats }
    }

    /// The new configuration, or everything that is wrong with it.
    pub(super) fn read(&self) -> Result<Accepted, Vec<String>> {
        let config = (self.load)().map_err(|error| {
            self.stats.note_config_refused();
            error.render(Style::Lines).lines().map(str::to_owned).collect::<Vec<_>>()
        })?;
        let mode = config.settings.mode.min(self.mode_max);
        let settings = Settings { mode, ..config.settings.clone() };
        privileges::check(&settings, self.ports).map_err(|missing| {
            self.stats.note_config_refused();
            vec![missing.to_string()]
        })?;
        let mut lines = config.warnings().iter().map(ToString::to_string).collect::<Vec<_>>();
        if mode != config.settings.mode {
            lines.push(format!("watchdog.mode stays {}: another agent acts here", mode.label()));
        }
        let kept = kept_until_restart(&self.started, &config);
        if !kept.is_empty() {
            lines.push(format!("changed only by a restart, until then as before: {}", kept.join(", ")));
        }
        Ok(Accepted { config, settings, lines })
    }

    /// The engine has taken it.
    pub(super) fn took(&self, accepted: &Accepted) {
        note_accepted(&self.stats, &accepted.config);
    }
}

/// Has the page of `stats` show that `config` is in force.
pub fn note_accepted(stats: &AgentStats, config: &Config) {
    let mut hasher = DefaultHasher::new();
    config.to_toml().hash(&mut hasher);
    stats.note_config_accepted(format!("{:016x}", hasher.finish()), clock::since_1970());
}

/// What differs from the start and cannot be changed while the agent runs: sockets, threads and files hang on it. The
/// engine's settings alone can.
fn kept_until_restart(started: &Config, config: &Config) -> Vec<&'static str> {
    const INCIDENTS: &str = "[incidents]";
    let mut kept = started.differences_beside_settings(config);
    let watched = |config: &Config| config.settings.mode != Mode::Off;
    // Who was started to watch nothing writes none.
    if !watched(started) && watched(config) && !kept.contains(&INCIDENTS) {
        kept.push(INCIDENTS);
    }
    kept
}
