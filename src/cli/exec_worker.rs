//! `rocewatch exec-worker`: runs the operator's command for an agent whose sandbox would not let it.

use clap::Args;
use tokio_util::sync::CancellationToken;

use super::Exit;
use super::flags::ConfigFlags;
use super::run::told_to_end;
use crate::actuate::{WorkerError, work_off};
use crate::agent::Hangup;
use crate::clock;
use crate::telemetry;

/// What `exec-worker` takes.
#[derive(Clone, Debug, Args)]
pub struct ExecWorkerArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigFlags,
}

/// Works off the spool until it is told to end.
///
/// # Errors
/// A configuration that is refused or that names no command or no spool; a file or a folder that others can write to.
pub fn run(args: &ExecWorkerArgs) -> anyhow::Result<Exit> {
    // The command stands in this file.
    let config = args.config.load_trusted()?;
    let _lines = telemetry::init(config.log)?;
    let missing = |key: &str| WorkerError::Refused(format!("{key} is not set: the worker has nothing to do"));
    let spool = config.exec.spool.clone().ok_or_else(|| missing("actions.exec.spool"))?;
    let exec = config.settings.exec.clone().filter(|exec| !exec.command.is_empty());
    let exec = exec.ok_or_else(|| missing("actions.exec.command"))?;
    let boot_id = clock::boot_id(&config.path.procfs)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (end, stop) = (told_to_end(Hangup::Ends), CancellationToken::new());
        let asked = stop.clone();
        tokio::spawn(async move {
            end.await;
            tracing::info!("stopping");
            stop.cancel();
        });
        tracing::info!(spool = %spool.display(), program = exec.command[0], "working off the spool");
        let works = move || work_off(&spool, (&exec.command, exec.timeout), &boot_id, &asked);
        tokio::task::spawn_blocking(works).await??;
        Ok(Exit::Fine)
    })
}
