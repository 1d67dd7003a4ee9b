//! `rocewatch config`: what is wrong with a configuration, and what counts in it.

use clap::{Args, Subcommand};

use super::flags::ConfigFlags;
use super::{Exit, print};

/// What can be done with a configuration.
#[derive(Clone, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Report everything that is wrong with the configuration, or surely not as meant
    Check(ConfigArgs),
    /// Print what counts, as a configuration file, with where each value comes from
    Show(ConfigArgs),
}

/// What both take.
#[derive(Clone, Debug, Args)]
pub struct ConfigArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigFlags,
}

pub(super) fn run(command: ConfigCommand) -> anyhow::Result<Exit> {
    match command {
        ConfigCommand::Check(args) => check(&args.config),
        ConfigCommand::Show(args) => {
            print(&args.config.load()?.to_toml_with_origins())?;
            Ok(Exit::Fine)
        }
    }
}

fn check(flags: &ConfigFlags) -> anyhow::Result<Exit> {
    let config = flags.load()?;
    let warnings = config.warnings();
    if warnings.is_empty() {
        print("the configuration is fine\n")?;
        return Ok(Exit::Fine);
    }
    for warning in warnings {
        print(&format!("warning: {warning}\n"))?;
    }
    Ok(Exit::Failed)
}
