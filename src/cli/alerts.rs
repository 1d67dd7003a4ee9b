//! `rocewatch alerts`: the Prometheus rules.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::{Exit, print};
use crate::alerts::{FILES, Settings, render, render_all};

/// What `alerts` takes.
#[derive(Clone, Debug, Args)]
pub struct AlertsArgs {
    /// A threshold or duration, such as tx_pause_high=0.02; may be repeated. docs/alerts.md lists them
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write the rule files into this folder; without it, all rules are printed as one file
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Writes or prints the rules.
///
/// # Errors
/// A setting that is refused, a folder that cannot be written to.
pub fn run(args: &AlertsArgs) -> anyhow::Result<Exit> {
    let mut settings = Settings::default();
    args.set.iter().try_for_each(|assignment| settings.set(assignment))?;
    match &args.out {
        None => print(&render_all(&settings))?,
        Some(folder) => print(&write(folder, &settings)?)?,
    }
    Ok(Exit::Fine)
}

/// Writes the files, and tells which.
fn write(folder: &Path, settings: &Settings) -> anyhow::Result<String> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut told = String::new();
    for file in FILES {
        let path = folder.join(file.name).with_extension("yml");
        fs::write(&path, render(file, settings))
            .with_context(|| format!("cannot write {}", path.display()))?;
        told += &format!("{}\n", path.display());
    }
    Ok(told)
}
