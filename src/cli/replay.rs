//! `rocewatch replay`: a recording through the same engine again.

use std::io;
use std::path::PathBuf;

use clap::Args;
use rocewatch_core::input::Effect;
use rocewatch_core::settings::Settings;

use super::{Exit, print};
use crate::config::{Assignment, Config};
use crate::console::Console;
use crate::replay::{Recording, check, replay};
use crate::runtime::EventSink;

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

/// Replays a recording.
///
/// # Errors
/// A file that is no recording, a value of `--set` that is refused.
pub fn run(args: &ReplayArgs) -> anyhow::Result<Exit> {
    let mut recording = Recording::open(&args.file)?;
    let exit = if args.check { compare(&mut recording) } else { tell(&mut recording, args) }?;
    if let Some(number) = recording.cut() {
        eprintln!("{}:{number}: the last line is cut off, and left out", args.file.display());
    }
    Ok(exit)
}

fn compare(recording: &mut Recording) -> anyhow::Result<Exit> {
    let checked = check(recording)?;
    let (inputs, effects) = (checked.inputs, checked.effects);
    match checked.difference {
        None => {
            print(&format!("identical: {inputs} inputs, {effects} effects\n"))?;
            Ok(Exit::Fine)
        }
        Some(found) => {
            print(&format!(
                "line {}: after {effects} effects that are the same\nrecorded: {}\nreplayed: {}\n",
                found.number, found.recorded, found.replayed
            ))?;
            Ok(Exit::Failed)
        }
    }
}

fn tell(recording: &mut Recording, args: &ReplayArgs) -> anyhow::Result<Exit> {
    let settings = settings(recording, args)?;
    let mut console: Option<Console<io::Stdout>> = None;
    replay(recording, settings, |at, effects| {
        let console = console.get_or_insert_with(|| Console::new(at, io::stdout()));
        for effect in effects {
            match effect {
                Effect::Emit(event) => console.take(&event.into()),
                Effect::Act(_) | Effect::Withdraw(..) | Effect::Pace(..) | Effect::AskGuard => {}
            }
        }
    })?;
    if let Some(console) = console {
        print(&format!("\n{}", console.summary()))?;
    }
    Ok(Exit::Fine)
}

/// The recording's own settings with those of `--set`, if there are any.
fn settings(recording: &Recording, args: &ReplayArgs) -> anyhow::Result<Option<Settings>> {
    if args.set.is_empty() {
        return Ok(None);
    }
    let name = format!("configuration in {}", args.file.display());
    let config = Config::parse(&name, &recording.header().config)?;
    Ok(Some(config.assign(&args.set)?.settings))
}
