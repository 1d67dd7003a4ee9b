//! `rocewatch sim`: the engine against simulated nodes, with a judge.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Context;
use clap::Args;
use rocewatch_core::input::{Effect, Input};
use rocewatch_core::record::{FORMAT, Header, Line};
use rocewatch_core::sim::{self, RunReport, Scenario, promise};
use rocewatch_core::units::MonoTime;

use super::{Exit, print};
use crate::config::Config;

/// The name under which the measurements of the promise run.
const PROMISE: &str = "promise";
/// Trials of each measurement unless `--seeds` says otherwise.
const TRIALS: u64 = 10_000;

/// What `sim` takes.
#[derive(Clone, Debug, Args)]
pub struct SimArgs {
    /// Name of a built-in scenario, `all` of them, or a file that ends in .toml
    #[arg(value_name = "SCENARIO")]
    pub scenario: ScenarioChoice,
    /// Run once, with this seed
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    pub seed: Option<u64>,
    /// Run this many times, with the seeds from 1 on
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: Option<u64>,
}

/// Which scenarios run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioChoice {
    /// All built-in ones.
    All,
    /// The built-in one of this name.
    BuiltIn(String),
    /// That in a file.
    File(PathBuf),
}

impl FromStr for ScenarioChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "all" => Self::All,
            file if file.ends_with(".toml") => Self::File(file.into()),
            name => Self::BuiltIn(name.into()),
        })
    }
}

/// Runs the simulations.
///
/// # Errors
/// A scenario that is not known, a file that is none.
pub fn run(args: &SimArgs) -> anyhow::Result<Exit> {
    match &args.scenario {
        ScenarioChoice::BuiltIn(name) if name == PROMISE => measure(args),
        ScenarioChoice::BuiltIn(name) => {
            if sim::scenario(name, 1).is_none() {
                let known = sim::scenarios().join(", ");
                eprintln!(
                    "rocewatch: scenario {name:?} is not known: expected all, {PROMISE}, a .toml file, or {known}"
                );
                return Ok(Exit::Refused);
            }
            run_all(args, &[name.as_str()])
        }
        ScenarioChoice::All => run_all(args, &sim::scenarios()),
        ScenarioChoice::File(path) => {
            let scenario = read(path)?;
            run_seeds(args, &scenario.name.clone(), |_| Some(scenario.clone()))
        }
    }
}

fn measure(args: &SimArgs) -> anyhow::Result<Exit> {
    let rows = promise::table(args.seeds.unwrap_or(TRIALS), args.seed.unwrap_or(1));
    print(&promise_table(&rows))?;
    Ok(if rows.iter().all(promise::Row::holds) { Exit::Fine } else { Exit::Failed })
}

/// Latencies in milliseconds; counts of what else was seen below their row.
fn promise_table(rows: &[promise::Row]) -> String {
    let ms = |micros: u64| format!("{}.{}", micros / 1000, micros % 1000 / 100);
    let mut text = format!(
        "{:<48} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}  {}\n",
        "", "trials", "kept", "min", "median", "p99", "max", "promised"
    );
    for row in rows {
        let of = |value: fn(&promise::Latency) -> u64| {
            row.latency.as_ref().map_or_else(|| "-".into(), |l| ms(value(l)))
        };
        let (min, median, p99, max) =
            (of(|l| l.min_us), of(|l| l.median_us), of(|l| l.p99_us), of(|l| l.max_us));
        let (name, trials, kept, promise) = (row.name, row.trials, row.kept, row.promise);
        text +=
            &format!("{name:<48} {trials:>7} {kept:>7} {min:>7} {median:>7} {p99:>7} {max:>7}  {promise}\n");
        if !row.counted.is_empty() {
            let counted =
                row.counted.iter().map(|(what, count)| format!("{what} {count}")).collect::<Vec<_>>();
            text += &format!("{:<48} {}\n", "", counted.join(", "));
        }
    }
    text
}

fn run_all(args: &SimArgs, names: &[&str]) -> anyhow::Result<Exit> {
    let mut exit = Exit::Fine;
    for name in names {
        if run_seeds(args, name, |seed| sim::scenario(name, seed))? == Exit::Failed {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

/// Runs one scenario with each seed; a line for all of them, and what was broken.
fn run_seeds(args: &SimArgs, name: &str, scenario: impl Fn(u64) -> Option<Scenario>) -> anyhow::Result<Exit> {
    let seeds = match (args.seed, args.seeds) {
        (Some(seed), _) => seed..=seed,
        (None, Some(count)) => 1..=count,
        (None, None) => 1..=1,
    };
    let (mut runs, mut storms, mut plans, mut undos, mut broken) = (0u64, 0, 0, 0, 0u64);
    for seed in seeds {
        let Some(scenario) = scenario(seed) else { continue };
        let report = sim::run(&scenario, seed);
        runs += 1;
        storms += report.events.get("storm_detected").copied().unwrap_or(0);
        plans += report.plans;
        undos += report.undos;
        if !report.violations.is_empty() {
            broken += 1;
            tell(&scenario, seed, &report)?;
        }
    }
    print(&format!(
        "{name:<20} {runs:>6} runs  {storms:>7} storms  {plans:>6} plans  {undos:>6} undos  {broken} broken\n"
    ))?;
    Ok(if broken == 0 { Exit::Fine } else { Exit::Failed })
}

/// Says what was broken, and leaves a recording of it.
fn tell(scenario: &Scenario, seed: u64, report: &RunReport) -> anyhow::Result<()> {
    for violation in &report.violations {
        print(&format!("{} seed {seed}: {violation}\n", scenario.name))?;
    }
    let stem = format!("sim-{}-{seed}", scenario.name);
    let (mut lives, mut text) = (Vec::new(), header(scenario)?);
    let _ = sim::run_with(scenario, seed, &mut |at: MonoTime, input: &Input, effects: &[Effect]| {
        // Another life of the agent is another recording.
        if matches!(input, Input::Journal(_)) && text.lines().count() > 1 {
            lives.push(std::mem::take(&mut text));
            text = header(scenario).unwrap_or_default();
        }
        let lines =
            [Line::Input { at, input: Box::new(input.clone()) }, Line::Effects { effects: effects.to_vec() }];
        for line in lines.iter().take(1 + usize::from(!effects.is_empty())) {
            text.push_str(&serde_json::to_string(line).unwrap_or_default());
            text.push('\n');
        }
    });
    lives.push(text);
    for (life, text) in lives.iter().enumerate() {
        let path = format!("{stem}-{}.jsonl", life + 1);
        std::fs::write(&path, text).with_context(|| path.clone())?;
        print(&format!("recorded in {path}\n"))?;
    }
    Ok(())
}

fn header(scenario: &Scenario) -> anyhow::Result<String> {
    let header = Header {
        rocewatch_recording: FORMAT,
        version: env!("CARGO_PKG_VERSION").into(),
        boot_unix_ms: 0,
        config: String::new(),
        settings: scenario.settings.clone(),
        engine: None,
    };
    Ok(serde_json::to_string(&Line::Header(Box::new(header)))? + "\n")
}

/// A scenario from a file: its own keys, and the settings under `[config]` as the configuration has them.
fn read(path: &std::path::Path) -> anyhow::Result<Scenario> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| name.clone())?;
    let mut table: toml::Table = text.parse().with_context(|| name.clone())?;
    let config = table.remove("config").map(|config| toml::to_string(&config)).transpose()?;
    let mut scenario: Scenario = table.try_into().with_context(|| name.clone())?;
    if let Some(config) = config {
        scenario.settings = Config::parse(&format!("[config] of {name}"), &config)?.settings;
    }
    Ok(scenario)
}
