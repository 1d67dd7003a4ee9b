//! From the snapshot to the metrics page. Nothing here is registered or kept: a page is made of one snapshot and of
//! the agent's own counts, so a port that is gone takes its series along.
//!
//! ```text
//! Snapshot ──▶ ports, queues, node ─┐
//!                                   ├─▶ Sheet (samples by family) ─▶ text ─▶ Page (plain, gzip)
//! AgentStats ─▶ agent ──────────────┘
//! ```

mod sheet;
mod text;
mod ports;
mod queues;
mod facts;
mod rdma;
mod nvmf;
mod node;
mod agent;
mod page;
/// The agent's own counts.
pub mod stats;
/// The host and the agent as the operating system sees them.
pub mod host;

use std::sync::Arc;
use std::time::Duration;

use rocewatch_core::units::MonoTime;

pub use page::{Page, PageCache, RenderFailed, render};
pub use ports::is_queue_shown;

/// The present on both clocks: decisions and ages use the first, people and Prometheus the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Since boot.
    pub now: MonoTime,
    /// From the beginning of 1970 to boot, as the calendar has it now.
    pub boot: Duration,
}

impl Moment {
    /// From the beginning of 1970 to `at`.
    #[must_use]
    pub fn wall(&self, at: MonoTime) -> Duration {
        self.boot + Duration::from_nanos(at.as_nanos())
    }

    /// How long ago `at` was; zero if it is still to come.
    #[must_use]
    pub const fn age(&self, at: MonoTime) -> Duration {
        self.now.since(at)
    }
}

/// Says what time it is. Serving asks when it answers, so that ages are right at the moment of the scrape.
pub type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;
