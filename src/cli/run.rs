//! `rocewatch run`: the agent on this node's devices.

use std::path::PathBuf;

use clap::Args;

use super::flags::ConfigFlags;

/// What `run` takes.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Write all inputs and effects to FILE, for `rocewatch replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigFlags,
}
