//! The command line: one file per subcommand. What a subcommand prints goes to standard output, what went wrong and
//! log lines to standard error.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::actuate::WorkerError;
use crate::alerts::SettingError;
use crate::config::{ConfigError, Style};
use crate::privileges;
use crate::replay::ReplayError;

pub mod flags;
pub mod run;
pub mod restore;
pub mod exec_worker;
pub mod demo;
pub mod fleet;
pub mod replay;
pub mod sim;
pub mod config;
pub mod counters;
pub mod alerts;
pub mod dashboards;
pub mod plan;
pub mod ctl;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "rocewatch",
    version,
    about = "Watches the lossless Ethernet fabric under this node: finds stuck queues (PFC storms), acts within a \
             budget, and shows everything as Prometheus metrics",
    after_help = "Exit status: 0 all is well; 1 failed, a mismatch or warnings; 2 usage, configuration or input refused. \
                  `ctl` has its own: see `rocewatch ctl --help`.",
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch this node's ports
    Run(run::RunArgs),
    /// Take back what an agent that has ended left changed on this node's ports
    Restore(restore::RestoreArgs),
    /// Run the command of the action exec for an agent in a sandbox
    ExecWorker(exec_worker::ExecWorkerArgs),
    /// Show the agent at work on a simulated node, or on a fleet of them
    Demo(demo::DemoArgs),
    /// Feed a recording or an incident to the same engine again
    Replay(replay::ReplayArgs),
    /// Run the engine against simulated nodes, with a judge; or measure the promise
    Sim(sim::SimArgs),
    /// Ask or tell the agent that runs on this node
    Ctl(ctl::CtlArgs),
    /// Check or show the configuration
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Print every metric: name, labels, unit, meaning, and what it is called on each NIC
    Counters,
    /// Write the alert and recording rules for Prometheus
    Alerts(alerts::AlertsArgs),
    /// Write the Grafana dashboards as files
    Dashboards(dashboards::DashboardsArgs),
    /// Work out a fabric's settings: headroom, marking, watchdog times, commands, SONiC, and the profile to check
    Plan(plan::PlanArgs),
}

/// How a subcommand ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Fine,
    /// It did its work and found a mismatch or something to look at, or it could not do its work.
    Failed,
    /// What it was given was refused: usage, configuration, a file.
    Refused,
}

impl Exit {
    /// The number that the shell gets.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Failed => 1,
            Self::Refused => 2,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl Command {
    /// Does it.
    ///
    /// # Errors
    /// What kept it from doing so.
    pub fn dispatch(self) -> anyhow::Result<Exit> {
        match self {
            Self::Run(args) => run::run(args),
            Self::Restore(args) => restore::run(&args),
            Self::ExecWorker(args) => exec_worker::run(&args),
            Self::Demo(args) => demo::run(args),
            Self::Replay(args) => replay::run(&args),
            Self::Sim(args) => sim::run(&args),
            Self::Ctl(args) => ctl::run(&args),
            Self::Config(command) => config::run(command),
            Self::Counters => counters::run(),
            Self::Alerts(args) => alerts::run(&args),
            Self::Dashboards(args) => dashboards::run(&args),
            Self::Plan(args) => plan::run(&args),
        }
    }
}

/// Tells the operator why a subcommand could not do its work.
#[must_use]
pub fn report(error: &anyhow::Error) -> Exit {
    let Some(refused) = error.downcast_ref::<ConfigError>() else {
        tell(&format!("rocewatch: {error:#}"));
        let refused = error.is::<ReplayError>()
            || error.is::<SettingError>()
            || error.is::<privileges::Missing>()
            || matches!(error.downcast_ref(), Some(WorkerError::Refused(_)));
        return if refused { Exit::Refused } else { Exit::Failed };
    };
    let style = match (io::stderr().is_terminal(), std::env::var_os("NO_COLOR")) {
        (false, _) => Style::Lines,
        (true, Some(_)) => Style::Snippets,
        (true, None) => Style::Coloured,
    };
    tell(&refused.render(style));
    Exit::Refused
}

/// Nobody can be told that standard error is closed.
fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints what a subcommand was asked for. A reader that has seen enough (`| head`) is no failure.
///
/// # Errors
/// Standard output cannot be written to.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::{Args, CommandFactory, FromArgMatches};

    use super::demo::DemoArgs;
    use super::replay::ReplayArgs;
    use super::run::RunArgs;
    use super::sim::{ScenarioChoice, SimArgs};
    use super::*;

    fn parse<T: Args + FromArgMatches>(args: &[&str]) -> Result<T, clap::Error> {
        let command = T::augment_args(clap::Command::new("x"));
        T::from_arg_matches(&command.try_get_matches_from([&["x"], args].concat())?)
    }

    #[test]
    fn clap_accepts_the_whole_command_line() {
        Cli::command().debug_assert();
        for augment in
            [RunArgs::augment_args, DemoArgs::augment_args, ReplayArgs::augment_args, SimArgs::augment_args]
        {
            augment(clap::Command::new("x")).debug_assert();
        }
    }

    #[test]
    fn run_and_demo_take_the_configuration_beside_their_own() {
        let run: RunArgs = parse(&["--record", "a", "--path.sysfs=/x", "--config.file", "b"]).unwrap();
        assert_eq!(run.record.unwrap().to_str(), Some("a"));
        assert_eq!((run.config.file.is_some(), run.config.assignments.len()), (true, 1));
        let demo: DemoArgs = parse(&["--for", "1m30s"]).unwrap();
        assert_eq!(demo.length, Some(Duration::from_secs(90)));
        let refused = parse::<DemoArgs>(&["--for", "30"]).unwrap_err().to_string();
        assert!(refused.contains("expected one with its unit"), "{refused}");
    }

    #[test]
    fn a_replay_compares_or_changes_but_not_both() {
        let replay: ReplayArgs =
            parse(&["a.jsonl", "--set", "watchdog.detect=1s", "--set=poll.fast=20ms"]).unwrap();
        assert_eq!((replay.set.len(), replay.check), (2, false));
        assert!(parse::<ReplayArgs>(&["a.jsonl", "--check", "--set", "watchdog.detect=1s"]).is_err());
        assert!(parse::<ReplayArgs>(&["a.jsonl", "--set", "watchdog.detect"]).is_err());
        assert!(parse::<ReplayArgs>(&[]).is_err());
    }

    #[test]
    fn a_simulation_has_one_seed_or_a_number_of_them() {
        let scenario = |text| parse::<SimArgs>(&[text]).unwrap().scenario;
        assert_eq!(scenario("all"), ScenarioChoice::All);
        assert_eq!(scenario("incast"), ScenarioChoice::BuiltIn("incast".into()));
        assert_eq!(scenario("my/world.toml"), ScenarioChoice::File("my/world.toml".into()));
        assert_eq!(parse::<SimArgs>(&["all", "--seeds", "1000"]).unwrap().seeds, Some(1000));
        for args in [&["all", "--seeds", "0"][..], &["all", "--seed", "1", "--seeds", "2"], &[]] {
            assert!(parse::<SimArgs>(args).is_err(), "{args:?}");
        }
    }
}
