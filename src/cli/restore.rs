//! `rocewatch restore`: takes back what an agent that has ended left changed.

use anyhow::Context;
use clap::Args;
use rocewatch_core::action::UndoResult;

use super::flags::ConfigFlags;
use super::{Exit, print};
use crate::actuate::{Journal, JournalError, RestoreEnd, Restored, Stored, restore};
use crate::clock;
use crate::config::{Config, FileChoice, Request};
use crate::node::KernelNode;

/// What `restore` takes.
#[derive(Clone, Debug, Args)]
pub struct RestoreArgs {
    /// The configuration: `--runtime.path` says where the journal is.
    #[command(flatten)]
    pub config: ConfigFlags,
}

/// Plays the journal back. Refused beside a live agent, which does so itself.
///
/// A configuration that is refused must not keep anybody from taking back what is owed: without it the folder is looked at
/// that the flags name, or the usual one. What stands in another one is not found, so that this never ends well.
///
/// # Errors
/// A journal or devices that cannot be reached.
pub fn run(args: &RestoreArgs) -> anyhow::Result<Exit> {
    let refused = match args.config.load() {
        Ok(config) => return take_back(&config),
        Err(refused) => refused,
    };
    let without_file = Request { file: FileChoice::None, ..args.config.request(FileChoice::None) };
    let config = Config::load(&without_file)?;
    eprintln!("rocewatch: the configuration is refused, and its file left aside: {refused}");
    eprintln!(
        "rocewatch: the journal is looked for in {}; if the file names another folder, what is owed there stays",
        config.runtime.path.display()
    );
    if let Err(error) = take_back(&config) {
        eprintln!("rocewatch: {error:#}");
    }
    Ok(Exit::Refused)
}

fn take_back(config: &Config) -> anyhow::Result<Exit> {
    let folder = &config.runtime.path;
    if !folder.join("journal").exists() {
        print(&format!("{}: no journal, nothing is owed\n", folder.display()))?;
        return Ok(Exit::Fine);
    }
    let boot_id = clock::boot_id(&config.path.procfs)?;
    let (mut journal, stored) = match Journal::open(folder, &boot_id) {
        Ok(opened) => opened,
        Err(error @ JournalError::Locked(_)) => {
            print(&format!("{error}: a live agent takes back itself what it owes\n"))?;
            return Ok(Exit::Refused);
        }
        Err(error) => return Err(error.into()),
    };
    let durable = match stored {
        Stored::Nothing => return Ok(Exit::Fine),
        Stored::Of(durable) => *durable,
        Stored::Unusable(why) => {
            print(&format!("{why}: nothing is taken back; it is kept as journal.old\n"))?;
            return Ok(Exit::Failed);
        }
    };
    if durable.owed.is_empty() {
        print("nothing is owed\n")?;
        return Ok(Exit::Fine);
    }
    let mut node = KernelNode::open(&config.path.sysfs)?;
    let (restored, kept) = restore(&mut node, &mut journal, durable)?;
    print(&restored.iter().map(line).collect::<String>())?;
    kept.context("what was taken back still stands in the journal; the next start finds that it is done")?;
    Ok(if restored.iter().any(Restored::is_failed) { Exit::Failed } else { Exit::Fine })
}

fn line(one: &Restored) -> String {
    let steps = one.undo.ops.iter().map(|step| step.op.to_string()).collect::<Vec<_>>().join(", ");
    let end = match &one.end {
        RestoreEnd::Absent => "the device is not there; it stays owed until it is".to_owned(),
        RestoreEnd::AnotherDevice => "nothing to do, the device is a new one".to_owned(),
        RestoreEnd::Undone(result, why) => {
            let result = match result {
                UndoResult::Done => "done",
                UndoResult::NotNeeded => "it reads so already",
                UndoResult::Foreign => "somebody else has changed it meanwhile; theirs stays",
                UndoResult::Failed => "FAILED",
            };
            why.as_ref().map_or_else(|| result.to_owned(), |why| format!("{result}: {why}"))
        }
    };
    format!("{} {} (action {}): {steps}: {end}\n", one.netdev, one.undo.kind, one.undo.id.0)
}
