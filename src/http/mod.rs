//! The read-only web server: metrics, a landing page, health, the state and the stream of events. It answers from the
//! newest snapshot and never asks the engine or a device anything.

mod listen;
mod serve;
mod timed;
mod routes;
mod negotiate;
mod landing;
mod state;
mod stream;
mod fleet;
/// The stream of events.
pub mod events;

use std::sync::Arc;
use std::time::Duration;

use rocewatch_core::snapshot::Snapshot;
use tokio::sync::watch;

use crate::config::WebConfig;
use crate::export::Clock;
use crate::export::stats::AgentStats;

pub use events::EventHub;
pub use fleet::{FleetState, Member, metrics_path};
pub use listen::{ListenError, bind};
pub use serve::{serve, serve_fleet};

/// What the server shows.
#[derive(Clone)]
pub struct AppState {
    /// The newest snapshot.
    pub snapshots: watch::Receiver<Arc<Snapshot>>,
    /// Events as they happen.
    pub events: EventHub,
    /// The agent's own counts.
    pub stats: Arc<AgentStats>,
    /// The time.
    pub clock: Clock,
    /// Bounds of what is served at once.
    pub limits: Limits,
}

/// Bounds, so that no client can take the node's memory, its descriptors or the scraper's turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections; the next one is told 503 and closed.
    pub connections: usize,
    /// Requests for a page or the state in work at once; the next one is told 503.
    pub requests: usize,
    /// Clients of the event stream; the next one is told 503.
    pub subscribers: usize,
    /// A request's head has to be there this long after the connection was opened or last answered.
    pub header_timeout: Duration,
    /// A client has to take what it is sent within this.
    pub write_timeout: Duration,
    /// Sent on a quiet event stream this often, so that both sides notice when the other is gone.
    pub keep_alive: Duration,
    /// Answers under way may take this long once the server is told to stop.
    pub grace: Duration,
}

impl Limits {
    /// As configured; what has no key of its own follows from the rest.
    #[must_use]
    pub fn of(web: &WebConfig) -> Self {
        let connections = web.max_connections as usize;
        Self {
            connections,
            requests: web.max_requests as usize,
            // However many dashboards are left open, scrapers find a place.
            subscribers: connections.div_ceil(4),
            header_timeout: web.header_timeout,
            // A page has some hundred kilobytes: slower than this is no scraper.
            write_timeout: Duration::from_secs(30),
            // Below the shortest idle time of common proxies, 30 s.
            keep_alive: Duration::from_secs(15),
            // The agent has 2 s to stop.
            grace: Duration::from_secs(1),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::of(&WebConfig::default())
    }
}
