//! `rocewatch replay`: a recording through the same engine again.

use std::path::PathBuf;

use clap::Args;

use crate::config::Assignment;

/// What `replay` takes.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// A recording or an incident file
    pub file: PathBuf,
    /// What would this value have done? A key of the configuration, such as watchdog.detect=300ms; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = Assignment::parse_set)]
    pub set: Vec<Assignment>,
    /// Compare every effect with the recorded one, byte for byte; exit status 1 if one differs
    #[arg(long, conflicts_with = "set")]
    pub check: bool,
}
