//! The Prometheus rules that belong to the metrics: recording rules and alerts, written from tables into plain rule
//! files. Renders text and reads nothing; the names in it are held against the catalogue by `tests/alerts.rs`.

use std::fmt::Write as _;

mod settings;
mod table;
mod yaml;
mod page;
mod storm;
mod pause;
mod congestion;
mod loss;
mod link;
mod nvmf;
mod agent;

pub use page::reference;
pub use settings::{Kind, Setting, SettingError, Settings};
pub use table::SETTINGS;

/// All rules, by file.
pub const FILES: &[File] =
    &[storm::FILE, pause::FILE, congestion::FILE, loss::FILE, link::FILE, nvmf::FILE, agent::FILE];

/// One rule file.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name, without `.yml`.
    pub name: &'static str,
    /// What it is about, in one sentence without final dot.
    pub about: &'static str,
    /// What is evaluated together, in order.
    pub groups: &'static [Group],
}

/// Rules that Prometheus evaluates one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Its name.
    pub name: &'static str,
    /// The setting that says how often; Prometheus's own interval if none.
    pub interval: Option<&'static str>,
    /// Its rules; one that uses another comes after it.
    pub rules: &'static [Rule],
}

/// One rule. Texts hold settings as `$(key)`, or `$(key.seconds)` where PromQL wants a number.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name of the alert, or of the recorded series.
    pub name: &'static str,
    /// The PromQL expression.
    pub expr: &'static str,
    /// What makes it an alert; a recording rule if none.
    pub alert: Option<Alert>,
}

/// What an alert has beside its expression.
#[derive(Clone, Copy, Debug)]
pub struct Alert {
    /// Who is to be disturbed.
    pub severity: Severity,
    /// The setting that says how long the expression has to hold; at once if none.
    pub hold: Option<&'static str>,
    /// One line: where, and what is wrong.
    pub summary: &'static str,
    /// The value, what it means, and whose it is.
    pub description: &'static str,
}

/// Who is to be disturbed by an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Somebody is woken.
    Critical,
    /// Somebody looks at it on the same day.
    Warning,
    /// Good to know when something else is looked at.
    Info,
}

impl Severity {
    /// The value of the label `severity`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

const fn record(name: &'static str, expr: &'static str) -> Rule {
    Rule { name, expr, alert: None }
}

const fn alert(
    name: &'static str,
    severity: Severity,
    expr: &'static str,
    summary: &'static str,
    description: &'static str,
) -> Rule {
    Rule { name, expr, alert: Some(Alert { severity, hold: None, summary, description }) }
}

impl Rule {
    /// The alert once its expression has held for the setting `key`.
    const fn held(mut self, key: &'static str) -> Self {
        if let Some(alert) = &mut self.alert {
            alert.hold = Some(key);
        }
        self
    }
}

/// Growth of a counter that is shown only once it has counted something: its first sample is growth too, unless the
/// series is new to Prometheus and not to the agent.
macro_rules! growth {
    ($series:literal, $window:literal) => {
        concat!(
            "(\n  (",
            $series,
            " unless ",
            $series,
            " offset $(",
            $window,
            "))\n",
            "  and on (job, instance) (\n",
            "    process_start_time_seconds offset $(",
            $window,
            ")\n",
            "    or process_start_time_seconds > time() - $(",
            $window,
            ".seconds)\n",
            "  )\n",
            "  or increase(",
            $series,
            "[$(",
            $window,
            ")]) > 0\n)"
        )
    };
}
/// A summary about a queue.
macro_rules! queue {
    ($text:literal) => {
        concat!("{{ $labels.instance }} {{ $labels.netdev }} priority {{ $labels.priority }}: ", $text)
    };
}
/// A summary about a port.
macro_rules! port {
    ($text:literal) => {
        concat!("{{ $labels.instance }} {{ $labels.netdev }}: ", $text)
    };
}
/// A summary about a node.
macro_rules! node {
    ($text:literal) => {
        concat!("{{ $labels.instance }}: ", $text)
    };
}
use {growth, node, port, queue};

/// All rules of all files.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    FILES.iter().flat_map(|file| file.groups).flat_map(|group| group.rules)
}

/// A rule file as Prometheus reads it.
#[must_use]
pub fn render(file: &File, settings: &Settings) -> String {
    let mut text = head(settings);
    let _ = writeln!(text, "# {}.\n\ngroups:", file.about);
    yaml::groups(&mut text, file.groups, settings);
    text
}

/// All rule files as one.
#[must_use]
pub fn render_all(settings: &Settings) -> String {
    let mut text = head(settings);
    text.push_str("\ngroups:\n");
    for file in FILES {
        yaml::groups(&mut text, file.groups, settings);
    }
    text
}

fn head(settings: &Settings) -> String {
    let mut command = "rocewatch alerts".to_owned();
    for (setting, value) in settings.changed() {
        let _ = write!(command, " --set {}={value}", setting.key);
    }
    format!(
        "# Generated by `{command}`. To change a threshold, generate it anew: docs/alerts.md lists the settings.\n"
    )
}
