//! `rocewatch dashboards`: the Grafana dashboards as files.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::{Exit, print};
use crate::dashboards;

/// What `dashboards` takes.
#[derive(Clone, Debug, Args)]
pub struct DashboardsArgs {
    /// Write them into DIR, which is made if it is not there
    #[arg(long, value_name = "DIR", default_value = "dashboards")]
    pub out: PathBuf,
}

/// Writes a file for each dashboard, and prints their names.
///
/// # Errors
/// The folder cannot be made, a file cannot be written.
pub fn run(args: &DashboardsArgs) -> anyhow::Result<Exit> {
    fs::create_dir_all(&args.out).with_context(|| format!("making the folder {}", args.out.display()))?;
    for (name, text) in dashboards::files() {
        let path = args.out.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        print(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Fine)
}
