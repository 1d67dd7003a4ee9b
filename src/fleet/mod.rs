//! A simulated fleet: many nodes in one process, each an engine of its own on the ports of one simulated fabric.
//!
//! ```text
//! Schedule ─▶ Fabric, one for each port of a node ─Reading─▶ Engine ─▶ Snapshot ─▶ /node/NAME/metrics
//! ```
//!
//! One thread drives them all, in the fabric's time: it moves the fabric up to the clock, hands each port that is due its
//! reading, and goes to sleep. Nothing is acted on: a fleet observes, or runs dry. What a node shows of its host is this
//! process, which is the same for all.

mod drive;
mod node;
mod port;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use rocewatch_core::sim::fabric::{Schedule, Shape};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::drive::Drive;
use crate::agent::{StartError, listen};
use crate::config::Config;
use crate::export::stats::AgentStats;
use crate::http::{FleetState, Limits, serve_fleet};

/// Pages that are rendered at the same time.
const RENDERERS: usize = 2;

/// What a fleet is made of.
pub struct Setup {
    /// The configuration of every node, and of the server.
    pub config: Config,
    /// How many nodes there are, and on which leaves.
    pub shape: Shape,
    /// What goes wrong, and when.
    pub schedule: Schedule,
    /// The same seed makes the same fabric.
    pub seed: u64,
    /// Is told what begins and what ends.
    pub told: Box<dyn FnMut(&str) + Send>,
}

/// Runs a fleet until `end` says so. `started` is told the addresses it serves on.
///
/// # Errors
/// [`StartError`]; nothing runs then, or nothing any more.
pub fn run<F: Future<Output = ()>>(
    setup: Setup,
    end: impl FnOnce() -> F,
    started: impl FnOnce(&[SocketAddr]),
) -> Result<(), StartError> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(RENDERERS).build()?;
    runtime.block_on(async {
        let listeners = listen(&setup.config.web.listen_addresses)?;
        let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok());
        let addresses = addresses.collect::<Vec<_>>();
        let end = end();
        let limits = Limits::of(&setup.config.web);
        let (health, shown) = watch::channel(String::new());
        let drive = Drive::new(setup, health);
        let stats = Arc::new(AgentStats::default());
        let fleet = FleetState { members: drive.members(&limits), health: shown, stats, limits };
        let stop = CancellationToken::new();
        let server = tokio::spawn(serve_fleet(listeners, fleet, stop.clone()));
        let (stopped, ended) = (stop.clone(), CancellationToken::new());
        let guard = ended.clone().drop_guard();
        thread::Builder::new().name("fleet".into()).spawn(move || {
            let _guard = guard;
            drive.run(&stopped);
        })?;
        started(&addresses);
        let result = tokio::select! {
            () = end => Ok(()),
            () = ended.cancelled() => Err(StartError::Engine),
        };
        stop.cancel();
        let _ = server.await;
        ended.cancelled().await;
        result
    })
}
