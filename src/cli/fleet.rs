//! `rocewatch demo --fleet N`: many simulated nodes on one fabric, behind one address.

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;
use rocewatch_core::settings::Mode;
use rocewatch_core::sim::fabric::{Fault, Schedule, Shape, UnknownFault};

use super::{Exit, print, tell};
use crate::config::{Config, parse_span, span_text};
use crate::fleet::{self, Setup};

/// What a fleet is set to unless a flag says otherwise, besides what every demo is.
pub(super) const PRESETS: &[(&str, &str)] = &[
    // Plans are told, and nothing is changed: a fleet shows how pause spreads, and not how it is stopped.
    ("watchdog.mode", "dry_run"),
    ("watchdog.disruption_max", "link"),
    ("watchdog.lock_storms", "0"),
    ("watchdog.rx.actions", "alert,pfc-off"),
    ("web.listen_address", "127.0.0.1:10019"),
    // A scraper keeps a connection for each target that it reads at the same time.
    ("web.max_connections", "4096"),
    ("log.level", "warn"),
];

/// What `demo` takes for a fleet.
#[derive(Clone, Debug, Args)]
pub struct FleetArgs {
    /// Simulate N nodes, 1 to 2000, with two ports each on a leaf-spine fabric; they observe and act on nothing
    #[arg(long, value_name = "N", value_parser = parse_shape, conflicts_with = "record")]
    pub fleet: Option<Shape>,
    /// What goes wrong: slow-host, fabric-storm, ecn-off, or none; several take turns [default: all three]
    #[arg(long, value_name = "FAULT", value_parser = parse_fault, value_delimiter = ',', requires = "fleet")]
    pub fault: Vec<Choice>,
    /// The first fault begins after this
    #[arg(long, value_name = "DURATION", value_parser = parse_span, default_value = "30s", requires = "fleet")]
    pub fault_start: Duration,
    /// Each fault lasts so long, at most until the next one
    #[arg(long, value_name = "DURATION", value_parser = parse_span, default_value = "1m", requires = "fleet")]
    pub fault_for: Duration,
    /// From one fault to the next; 0s for each of them once, one after the other
    #[arg(long, value_name = "DURATION", value_parser = parse_span, default_value = "3m", requires = "fleet")]
    pub fault_every: Duration,
    /// The same seed makes the same traffic and strikes the same hosts
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "fleet")]
    pub seed: u64,
}

/// A fault, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The fabric stays healthy.
    None,
    /// It does not.
    Fault(Fault),
}

fn parse_fault(name: &str) -> Result<Choice, UnknownFault> {
    if name == "none" { Ok(Choice::None) } else { name.parse().map(Choice::Fault) }
}

fn parse_shape(text: &str) -> anyhow::Result<Shape> {
    Ok(Shape::of(text.parse()?)?)
}

impl FleetArgs {
    /// When what goes wrong.
    fn schedule(&self) -> Schedule {
        let named = self.fault.iter().filter_map(|choice| match choice {
            Choice::None => None,
            Choice::Fault(fault) => Some(*fault),
        });
        let faults = if self.fault.is_empty() { Fault::ALL.to_vec() } else { named.collect() };
        let every = (!self.fault_every.is_zero()).then_some(self.fault_every);
        Schedule { faults, start: self.fault_start, length: self.fault_for, every }
    }
}

/// Runs a fleet of `shape` until `end`.
///
/// # Errors
/// An address that cannot be listened on.
pub(super) fn run<F: Future<Output = ()>>(
    args: &FleetArgs,
    shape: Shape,
    config: Config,
    end: impl FnOnce() -> F,
) -> anyhow::Result<Exit> {
    if config.settings.mode > Mode::DryRun {
        tell("rocewatch: watchdog.mode: a simulated fleet acts on nothing: expected off, observe or dry_run");
        return Ok(Exit::Refused);
    }
    let schedule = args.schedule();
    if schedule.every.is_some_and(|every| every < schedule.length) {
        let (length, every) = (span_text(args.fault_for), span_text(args.fault_every));
        tell(&format!(
            "rocewatch: --fault-for: {length} is longer than from one fault to the next: expected at most the {every} of \
             --fault-every"
        ));
        return Ok(Exit::Refused);
    }
    print(&greeting(shape, &schedule, &config))?;
    let setup = Setup { config, shape, schedule, seed: args.seed, told: Box::new(line) };
    fleet::run(setup, end, |addresses| {
        let urls = addresses.iter().map(|address| format!("http://{address}/")).collect::<Vec<_>>();
        let _ = print(&format!(
            "Look at {}; Prometheus finds the nodes at {}sd\n\n",
            urls.join(" "),
            urls.concat()
        ));
    })?;
    Ok(Exit::Fine)
}

/// Nobody can be told that the output is closed.
fn line(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

fn greeting(shape: Shape, schedule: &Schedule, config: &Config) -> String {
    let faults = schedule.faults.iter().map(|fault| fault.label()).collect::<Vec<_>>();
    let faults = match (faults.is_empty(), schedule.every) {
        (true, _) => "nothing goes wrong".to_owned(),
        (false, Some(every)) => {
            format!(
                "{} for {} s of every {} s",
                faults.join(", "),
                schedule.length.as_secs(),
                every.as_secs()
            )
        }
        (false, None) => format!("{} for {} s, once", faults.join(", "), schedule.length.as_secs()),
    };
    format!(
        "rocewatch {} on {} simulated nodes on {} leaves: {faults}.\n\nSettings that differ from the defaults:\n\n{}\n",
        env!("CARGO_PKG_VERSION"),
        shape.hosts(),
        shape.leaves(),
        config.to_toml_given()
    )
}
