//! `rocewatch demo`: the agent on a simulated node.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::flags::ConfigFlags;
use crate::config::parse_span;

/// What `demo` takes.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// End after this, such as 30s; otherwise Ctrl-C ends it
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_span)]
    pub length: Option<Duration>,
    /// Write all inputs and effects to FILE, for `rocewatch replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The configuration; the file in the usual place does not count here.
    #[command(flatten)]
    pub config: ConfigFlags,
}
