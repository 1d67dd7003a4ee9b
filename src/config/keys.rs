//! What a key is, and what it writes into. The keys themselves are rows of the table in `rows`.

use std::time::Duration;

use rocewatch_core::action::Disruption;
use rocewatch_core::settings::{ExecSettings, Guard, Rule, Settings};

use super::given::Entry;
use super::rows::{LADDER, SECTIONS};
use super::setting::{Arity, Mismatch};
use super::{ExecConfig, IncidentConfig, LogConfig, PathConfig, RuntimeConfig, SourceConfig, WebConfig};

/// Every key's value before the values are looked at together.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// Without guard, exec, rules and ports, which need more than one key.
    pub(super) settings: Settings,
    /// The keys of `[watchdog]` that `[watchdog.rx]`, `[watchdog.tx]` and `[[ports]]` may override.
    pub(super) rule: Rule,
    /// Not configured while one of its texts is empty.
    pub(super) guard: Guard,
    /// Not configured while its command is empty and nobody else is there to run one.
    pub(super) exec: ExecSettings,
    /// The rest of `[actions.exec]`.
    pub(super) spool: ExecConfig,
    /// The select of one `[[ports]]` table.
    pub(super) select: String,
    pub(super) devices: Patterns,
    /// `metrics.raw_include` as written.
    pub(super) raw: String,
    pub(super) web: WebConfig,
    pub(super) log: LogConfig,
    pub(super) incidents: IncidentConfig,
    pub(super) runtime: RuntimeConfig,
    pub(super) source: SourceConfig,
    pub(super) path: PathConfig,
}

/// The patterns of `[devices]` as written.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns {
    pub(super) include: String,
    pub(super) exclude: String,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            rule: Rule::default(),
            guard: Guard {
                url: String::new(),
                query: String::new(),
                limit: 2,
                delay: Duration::from_secs(30),
            },
            exec: ExecSettings {
                command: Vec::new(),
                timeout: Duration::from_secs(10),
                // What nobody has declared counts as the worst, as for a lever that no driver table knows.
                disruption: Disruption::Device,
            },
            spool: ExecConfig::default(),
            select: String::new(),
            devices: Patterns::default(),
            raw: String::new(),
            web: WebConfig::default(),
            log: LogConfig::default(),
            incidents: IncidentConfig::default(),
            runtime: RuntimeConfig::default(),
            source: SourceConfig::default(),
            path: PathConfig::default(),
        }
    }
}

/// A table of the file.
pub(super) struct Section {
    /// As in its header.
    pub(super) name: &'static str,
    /// What it is about, for the example file and the reference page.
    pub(super) doc: &'static str,
    pub(super) groups: &'static [&'static [Key]],
}

impl Section {
    /// Its keys in the order of the documents.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// The key of this name.
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }

    /// Whether its keys stand for those of `[watchdog]`, so that one that is not given has no value here.
    pub(super) fn overrides(&self) -> bool {
        self.is_of_ports() || matches!(self.name, "watchdog.rx" | "watchdog.tx")
    }

    /// Whether a key that is not given has a value here: one that stands for another section's has not.
    pub(super) fn has_default(&self, key: &Key) -> bool {
        !self.overrides() || (!self.is_of_ports() && LADDER.iter().any(|ladder| ladder.name == key.name))
    }

    /// Whether there is one for each `[[ports]]`.
    pub(super) fn is_of_ports(&self) -> bool {
        self.name == PORTS || self.name.starts_with("ports.")
    }
}

/// The section that may stand several times.
pub(super) const PORTS: &str = "ports";

/// A key of a section.
pub(super) struct Key {
    /// As in the file.
    pub(super) name: &'static str,
    /// Meaning and unit, one or more sentences.
    pub(super) doc: &'static str,
    /// What it takes, to follow the word "expected".
    pub(super) expected: fn() -> String,
    /// How help texts call its value.
    pub(super) placeholder: fn() -> &'static str,
    /// How its flag takes it.
    pub(super) arity: Arity,
    pub(super) lens: Lens,
}

/// Into what a key is written.
pub(super) enum Lens {
    Draft(Access<Draft>),
    Rule(Access<Rule>),
}

/// How one field is written and shown.
pub(super) struct Access<T> {
    pub(super) read: fn(&mut T, &Entry) -> Result<(), Mismatch>,
    pub(super) show: fn(&T) -> String,
}

impl Key {
    /// Writes an entry into the draft; a key of a rule goes into the node's.
    pub(super) fn read(&self, draft: &mut Draft, entry: &Entry) -> Result<(), Mismatch> {
        match &self.lens {
            Lens::Draft(access) => (access.read)(draft, entry),
            Lens::Rule(access) => (access.read)(&mut draft.rule, entry),
        }
    }

    /// Writes an entry into a rule, if the key belongs to one.
    pub(super) fn read_rule(&self, rule: &mut Rule, entry: &Entry) -> Result<(), Mismatch> {
        match &self.lens {
            Lens::Draft(_) => Ok(()),
            Lens::Rule(access) => (access.read)(rule, entry),
        }
    }

    /// The value of an entry as TOML, or the default where there is none.
    pub(super) fn text(&self, entry: Option<&Entry>) -> String {
        let mut draft = Draft::default();
        if let Some(entry) = entry {
            // A value that is refused leaves the default, and no configuration comes of it.
            let _ = self.read(&mut draft, entry);
        }
        match &self.lens {
            Lens::Draft(access) => (access.show)(&draft),
            Lens::Rule(access) => (access.show)(&draft.rule),
        }
    }
}

/// The section of this name.
pub(super) fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

/// Every key that a flag or `--set` can give, with its section.
pub(super) fn settable() -> impl Iterator<Item = (&'static Section, &'static Key)> {
    SECTIONS
        .iter()
        .filter(|section| !section.is_of_ports())
        .flat_map(|section| section.keys().map(move |key| (section, key)))
}

/// The name of a key's flag without the dashes before it: `watchdog.hold-off`.
pub(super) fn flag_name(section: &Section, key: &Key) -> String {
    format!("{}.{}", section.name, key.name.replace('_', "-"))
}
