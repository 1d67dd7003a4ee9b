//! The configuration: one TOML file, and a flag for every key, which goes before the file.
//!
//! All problems of a configuration are reported at once. Nothing here is global: a [`Config`] is a value that is
//! handed on. This module reads the file and nothing else.

use std::path::PathBuf;
use std::time::Duration;

use rocewatch_core::settings::Settings;

mod given;
mod span;
mod quantity;
mod listen;
mod pattern;
mod devices;
mod setting;
mod list;
mod keys;
mod rows;
mod values;
mod problem;
mod table;
mod assignment;
mod check;
mod settle;
mod load;
mod show;
mod reference;

pub use assignment::{Assignment, BadAssignment, Flag, flags};
pub use devices::{Admission, DeviceFilter};
pub use given::Place;
pub(crate) use given::{Entry, shorten};
pub use listen::{BadListenAddress, ListenAddress, ListenHost};
pub(crate) use load::read as read_file;
pub use load::{Author, FileChoice, Request};
pub use pattern::{BadPattern, Pattern};
pub use problem::{ConfigError, Problem, Problems, Style, Subject};
pub use quantity::{BadQuantity, Length, Size, Speed};
pub use reference::{example, page};
pub use setting::Arity;
pub(crate) use setting::{Mismatch, Setting, TextRule, choice, quoted, text};
pub use span::{BadSpan, parse_span, span_text};
pub(crate) use table::{nearest, syntax};

use values::Values;

/// Where the file is looked for unless one is named; the agent runs without it.
pub const DEFAULT_FILE: &str = "/etc/rocewatch/rocewatch.toml";

/// A valid configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// What the engine is told.
    pub settings: Settings,
    /// HTTP.
    pub web: WebConfig,
    /// Which network devices are watched.
    pub devices: DeviceFilter,
    /// What the metrics page holds beside the catalogue.
    pub metrics: MetricsConfig,
    /// Log lines.
    pub log: LogConfig,
    /// Who runs the operator's command.
    pub exec: ExecConfig,
    /// Incident files.
    pub incidents: IncidentConfig,
    /// What a restart has to find again.
    pub runtime: RuntimeConfig,
    /// Where the counters come from.
    pub source: SourceConfig,
    /// Where the kernel's file systems are mounted.
    pub path: PathConfig,
    /// What the operator gave, and where: the fields above follow from it.
    values: Values,
    warnings: Vec<Problem>,
}

/// Equal in effect, wherever the values came from.
impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings && self.differences_beside_settings(other).is_empty()
    }
}

impl Config {
    /// What differs from `other` beside the settings of the engine: sections, and keys of sections that have such
    /// settings too.
    #[must_use]
    pub fn differences_beside_settings(&self, other: &Self) -> Vec<&'static str> {
        let Self {
            settings: _,
            web,
            devices,
            metrics,
            log,
            exec,
            incidents,
            runtime,
            source,
            path,
            values: _,
            warnings: _,
        } = self;
        let differs = [
            ("[web]", *web != other.web),
            ("[devices]", *devices != other.devices),
            ("[metrics]", *metrics != other.metrics),
            ("[log]", *log != other.log),
            ("actions.exec.spool", *exec != other.exec),
            ("[incidents]", *incidents != other.incidents),
            ("[runtime]", *runtime != other.runtime),
            ("[source]", *source != other.source),
            ("[path]", *path != other.path),
        ];
        differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

/// `[web]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebConfig {
    /// Where to listen.
    pub listen_addresses: Vec<ListenAddress>,
    /// Requests answered at the same time.
    pub max_requests: u32,
    /// Connections open at the same time.
    pub max_connections: u32,
    /// How long a connection may take to send its request header.
    pub header_timeout: Duration,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            listen_addresses: vec![ListenAddress { host: ListenHost::Any, port: 10019 }],
            // As node_exporter: enough for two Prometheus servers and a few people.
            max_requests: 40,
            max_connections: 128,
            header_timeout: Duration::from_secs(10),
        }
    }
}

/// `[metrics]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsConfig {
    /// Native counters shown under the driver's own name although the catalogue has no row for them.
    pub raw: Pattern,
}

/// `[log]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogConfig {
    /// The least important lines that are written.
    pub level: LogLevel,
    /// How they look.
    pub format: LogFormat,
}

/// Importance of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    /// The agent cannot do its job.
    Error,
    /// An operator should look.
    Warn,
    /// Transitions, start and stop.
    #[default]
    Info,
    /// Also what the libraries have to say.
    Debug,
    /// All of that.
    Trace,
}

impl LogLevel {
    /// All, from the most important.
    pub const ALL: [Self; 5] = [Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];

    /// Its name, such as `info`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// Looks of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines to read.
    #[default]
    Human,
    /// One object per line.
    Json,
}

impl LogFormat {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Human, Self::Json];

    /// Its name, such as `json`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Json => "json",
        }
    }
}

/// What of `[actions.exec]` is decided outside of the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecConfig {
    /// The folder through which a worker gets its jobs; without one the agent runs the command itself.
    pub spool: Option<PathBuf>,
}

/// `[incidents]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentConfig {
    /// The folder.
    pub path: PathBuf,
    /// How many files are kept.
    pub max_files: u32,
    /// The largest size of one file.
    pub max_bytes: u64,
}

impl Default for IncidentConfig {
    fn default() -> Self {
        // Together at most 400 MiB.
        Self { path: "/var/lib/rocewatch".into(), max_files: 100, max_bytes: 4 << 20 }
    }
}

/// `[runtime]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeConfig {
    /// The folder of the journal.
    pub path: PathBuf,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self { path: "/run/rocewatch".into() }
    }
}

/// `[source]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceConfig {
    /// Devices are read from the files under it instead of the kernel.
    pub directory: Option<PathBuf>,
}

/// `[path]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathConfig {
    /// Mount point of sysfs.
    pub sysfs: PathBuf,
    /// Mount point of procfs.
    pub procfs: PathBuf,
}

impl Default for PathConfig {
    fn default() -> Self {
        Self { sysfs: "/sys".into(), procfs: "/proc".into() }
    }
}

#[cfg(test)]
mod tests {
    use super::keys::settable;
    use super::*;

    /// Of each kind of value one or more, some of which every key takes.
    const VALUES: &str = "7 70 700 7000 65537 90ms 300ms 2s 30s 2h 0.7 true false dry_run link none exec http://b x /x \
                          127.0.0.1:1 debug json";

    fn set(config: &Config, key: &str, value: &str) -> Option<Config> {
        config.assign(&[Assignment::parse_set(&format!("{key}={value}")).ok()?]).ok()
    }

    #[test]
    fn every_key_is_a_setting_of_the_engine_or_named_among_the_differences() {
        let text = "[watchdog]\nguard_url = \"http://a\"\nguard_query = \"q\"\n\
                    [actions.exec]\ncommand = [\"true\"]\nspool = \"/spool\"\n";
        let before = Config::parse("base", text).unwrap_or_else(|error| panic!("{error}"));
        for (section, key) in settable() {
            let path = format!("{}.{}", section.name, key.name);
            let after = VALUES.split_whitespace().filter_map(|value| set(&before, &path, value));
            let Some(after) = after.into_iter().find(|after| after.to_toml() != before.to_toml()) else {
                panic!("no value of VALUES changes {path}: expected {}", (key.expected)());
            };
            let named = before.differences_beside_settings(&after);
            if before.settings == after.settings {
                let names = [path.as_str(), &format!("[{}]", section.name)].map(str::to_owned);
                assert!(matches!(named[..], [name] if names.contains(&name.to_owned())), "{path}: {named:?}");
            } else {
                assert_eq!(named, Vec::<&str>::new(), "{path}");
            }
            assert_ne!(before, after, "{path}");
        }
    }
}
