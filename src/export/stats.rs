//! The agent's own counts, which no snapshot holds: what it read, served, recorded and was refused.
//! Whoever does a thing counts it here. What is counted while polling is an atomic; what is written a few times an
//! hour lies behind a lock. Nothing here decides anything.

mod count;
mod port;
mod read;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use rocewatch_core::ids::PortKey;

use super::host::HostFacts;
use crate::sources::{NvmfView, RdmaView};

pub use count::{Count, Level, LevelGuard};
pub use port::PortStats;
pub use read::{Collector, ReadStats};

/// Everything the agent counts itself.
#[derive(Debug, Default)]
pub struct AgentStats {
    /// The agent's build.
    pub build: BuildInfo,
    /// Serving.
    pub http: HttpStats,
    /// The event stream.
    pub events: EventStats,
    /// Recording and incidents.
    pub recorder: RecorderStats,
    /// Reads that belong to no port, such as a list of all links.
    pub reads: ReadStats,
    /// Nothing before RDMA ports were looked for.
    rdma: Mutex<Option<Arc<Vec<RdmaView>>>>,
    rdma_listed: Condvar,
    nvmf: Mutex<Arc<NvmfView>>,
    ports: RwLock<BTreeMap<PortKey, Arc<PortStats>>>,
    config: Mutex<ConfigFacts>,
    host: Mutex<Option<HostFacts>>,
    page: Mutex<Option<PageFacts>>,
    discovered: AtomicBool,
}

/// What was built. A part that the build did not tell is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildInfo {
    /// The package's version.
    pub version: &'static str,
    /// The source revision; the build sets it as `ROCEWATCH_REVISION`.
    pub revision: &'static str,
    /// The compiler; the build sets it as `ROCEWATCH_RUSTC`.
    pub rustc: &'static str,
    /// Processor and operating system, as `x86_64-linux`.
    pub target: String,
}

impl Default for BuildInfo {
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            revision: option_env!("ROCEWATCH_REVISION").unwrap_or_default(),
            rustc: option_env!("ROCEWATCH_RUSTC").unwrap_or_default(),
            target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        }
    }
}

/// What was served.
#[derive(Debug, Default)]
pub struct HttpStats {
    /// Requests and connections turned away because too many were open.
    pub rejected: Count,
    /// Open connections.
    pub connections: Level,
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
}

impl HttpStats {
    /// Counts an answer. `path` is one of the few known ones, or `other`.
    pub fn note_request(&self, path: &'static str, code: u16) {
        *lock(&self.requests).entry((path, code)).or_default() += 1;
    }

    /// Answers by path and status code.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<(&'static str, u16), u64> {
        lock(&self.requests).clone()
    }
}

/// What became of the event stream.
#[derive(Debug, Default)]
pub struct EventStats {
    /// Clients that follow it.
    pub subscribers: Level,
    /// Events that a slow client missed.
    pub dropped: Count,
}

/// What was recorded.
#[derive(Debug, Default)]
pub struct RecorderStats {
    /// Inputs and effects written.
    pub records: Count,
    /// Bytes written.
    pub bytes: Count,
    /// Inputs and effects that were not written because the disk was slow or failed.
    pub dropped: Count,
    /// Incident files written.
    pub incidents: Count,
    /// Incident files that could not be written.
    pub incidents_failed: Count,
}

/// The configuration in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigFacts {
    /// Its hash.
    pub hash: Option<String>,
    /// Whether the last one offered was accepted.
    pub accepted: Option<bool>,
    /// When one was last accepted, since 1970.
    pub accepted_at: Option<Duration>,
}

/// The page rendered last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFacts {
    /// Its size as text.
    pub bytes: u64,
    /// The time it took.
    pub took: Duration,
}

impl AgentStats {
    /// The counts of an agent that has just started.
    #[must_use]
    pub fn new(build: BuildInfo) -> Self {
        Self { build, ..Self::default() }
    }

    /// The counts of a port, made at first asking. A reader keeps what it gets and counts without a lock.
    #[must_use]
    pub fn port(&self, key: PortKey) -> Arc<PortStats> {
        if let Some(port) = self.known_port(key) {
            return port;
        }
        let mut ports = self.ports.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(ports.entry(key).or_default())
    }

    /// The counts of a port, if anything was counted.
    #[must_use]
    pub fn known_port(&self, key: PortKey) -> Option<Arc<PortStats>> {
        self.ports.read().unwrap_or_else(PoisonError::into_inner).get(&key).map(Arc::clone)
    }

    /// Forgets a port that is gone.
    pub fn forget_port(&self, key: PortKey) {
        self.ports.write().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    /// Notes that a configuration was accepted, at `at` since 1970.
    pub fn note_config_accepted(&self, hash: String, at: Duration) {
        *lock(&self.config) = ConfigFacts { hash: Some(hash), accepted: Some(true), accepted_at: Some(at) };
    }

    /// Notes that a configuration was refused: the one before stays in force.
    pub fn note_config_refused(&self) {
        lock(&self.config).accepted = Some(false);
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> ConfigFacts {
        lock(&self.config).clone()
    }

    /// Notes how the host is.
    pub fn note_host(&self, facts: HostFacts) {
        *lock(&self.host) = Some(facts);
    }

    /// How the host is, once that was noted.
    #[must_use]
    pub fn host(&self) -> Option<HostFacts> {
        lock(&self.host).clone()
    }

    /// Takes the RDMA counters as just read.
    pub fn note_rdma(&self, views: Vec<RdmaView>) {
        *lock(&self.rdma) = Some(Arc::new(views));
        self.rdma_listed.notify_all();
    }

    /// The RDMA counters as last read.
    #[must_use]
    pub fn rdma(&self) -> Arc<Vec<RdmaView>> {
        lock(&self.rdma).clone().unwrap_or_default()
    }

    /// Waits until RDMA ports were looked for once, but not longer than `patience`.
    pub fn wait_for_rdma(&self, patience: Duration) {
        let views = lock(&self.rdma);
        // Whether it was in time makes no difference to whoever waits.
        drop(self.rdma_listed.wait_timeout_while(views, patience, |views| views.is_none()));
    }

    /// Takes NVMe-oF as just read.
    pub fn note_nvmf(&self, view: NvmfView) {
        *lock(&self.nvmf) = Arc::new(view);
    }

    /// NVMe-oF as last read.
    #[must_use]
    pub fn nvmf(&self) -> Arc<NvmfView> {
        Arc::clone(&lock(&self.nvmf))
    }

    /// Notes that a page was rendered.
    pub fn note_page(&self, facts: PageFacts) {
        *lock(&self.page) = Some(facts);
    }

    /// The page rendered last.
    #[must_use]
    pub fn page(&self) -> Option<PageFacts> {
        *lock(&self.page)
    }

    /// Notes that all ports present at the start are in the snapshot: from now on readiness is theirs to say.
    pub fn note_discovered(&self) {
        self.discovered.store(true, Ordering::Release);
    }

    /// Whether the ports present at the start are in the snapshot.
    #[must_use]
    pub fn is_discovered(&self) -> bool {
        self.discovered.load(Ordering::Acquire)
    }
}

/// The value behind a lock. A thread that panicked while it held it left a whole value: each is set in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
