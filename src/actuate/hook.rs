//! Which way the operator's command goes: run by the agent itself, or by a worker beside it.

use std::path::Path;
use std::sync::Arc;

use rocewatch_core::action::ExecCall;
use rocewatch_core::ids::ActionId;
use tokio_util::sync::CancellationToken;

use super::exec;
use super::spool::Spool;

/// The way, and the word to end everything that is under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Hook {
    spool: Option<Arc<Spool>>,
    pub(super) stop: CancellationToken,
}

impl Hook {
    /// The way through the spool at `path`, if there is one. One that cannot be used is told now, and not only in the
    /// first storm.
    pub(super) fn new(path: Option<&Path>, procfs: &Path) -> Self {
        let spool = path.map(|path| Arc::new(Spool::new(path, procfs)));
        if let Some(Err(error)) = spool.as_ref().map(|spool| spool.open()) {
            tracing::warn!(%error, "the spool of exec cannot be used now");
        }
        Self { spool, stop: CancellationToken::new() }
    }

    /// Has the command run, and waits for its end.
    pub(super) fn run(&self, action: ActionId, call: &ExecCall) -> Result<(), String> {
        let ended = || self.stop.is_cancelled().then_some("with the agent");
        match &self.spool {
            Some(spool) => spool.have_run(action, call, &ended),
            None => exec::run(call, &ended).map_err(|failure| failure.to_string()),
        }
    }
}
