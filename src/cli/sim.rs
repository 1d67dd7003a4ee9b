//! `rocewatch sim`: the engine against simulated nodes, with a judge.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

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
