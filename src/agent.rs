//! The whole agent, put together: threads, channels, server. It starts everything, waits for the word to end, and
//! ends everything in order: reading first, then what is owed, then serving.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rocewatch_core::durable::Durable;
use rocewatch_core::engine::Engine;
use rocewatch_core::input::{Command, Input, JournalState};
use rocewatch_core::settings::{Mode, Settings};
use rocewatch_core::snapshot::Snapshot;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::actuate::{Actuator, Journal, JournalError, Stored};
use crate::clock;
use crate::config::{Config, ListenAddress};
use crate::discovery::{Discovery, Reach, Wake};
use crate::export::Moment;
use crate::export::host::HostProbe;
use crate::export::stats::{AgentStats, Collector};
use crate::guard::Asker;
use crate::http::{AppState, EventHub, Limits, bind, serve};
use crate::node::Node;
use crate::notifications;
use crate::recorder::{IncidentLimits, Incidents, Recorder};
use crate::runtime::{EventSink, INPUTS_MAX, Outlets, Pollers, Runtime};
use crate::service::Supervisor;
use crate::sources::{Feed, RdmaCounters};

/// How often the host is looked at.
const HOST_EVERY: Duration = Duration::from_secs(5);
/// How often RDMA counters are read.
const RDMA_EVERY: Duration = Duration::from_secs(1);

/// What the agent runs on.
pub struct Setup {
    /// Its configuration.
    pub config: Config,
    /// Where its ports are.
    pub place: Place,
    /// Get every event, after the stream.
    pub sinks: Vec<Box<dyn EventSink>>,
    /// Where everything is recorded.
    pub record: Option<std::path::PathBuf>,
}

/// Where ports are found and read.
pub struct Place {
    /// Shows them.
    pub node: Box<dyn Node>,
    /// What reads of them are called on the metrics page.
    pub collector: Collector,
    /// Whether the kernel tells when a link changes.
    pub watch: Watch,
    /// RDMA counters that are read besides.
    pub rdma: Option<RdmaCounters>,
}

/// Who tells that a link has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The kernel.
    Kernel,
    /// Nobody: the node is looked at often enough.
    Nobody,
}

/// Why the agent cannot start, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It cannot serve.
    #[error(transparent)]
    Listen(#[from] crate::http::ListenError),
    /// The recording cannot be made.
    #[error("record to {path}", path = path.display())]
    Record {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A thread or a runtime cannot be made.
    #[error("start a thread")]
    Thread(#[from] std::io::Error),
    /// The thread that decides has ended by itself: what it owed stands in the journal, for the next start.
    #[error("the watchdog has ended by itself: this is a fault of the agent")]
    Engine,
}

/// Runs the agent until `end` says so. `started` is told the addresses it serves on.
///
/// # Errors
/// [`StartError`]; nothing runs then, or nothing any more.
pub fn run<F: Future<Output = ()>>(
    setup: Setup,
    end: impl FnOnce() -> F,
    started: impl FnOnce(&[std::net::SocketAddr]),
) -> Result<(), StartError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listeners = listen(&setup.config.web.listen_addresses)?;
        let addresses =
            listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect::<Vec<_>>();
        // The word to end is listened for before anybody is told that the agent runs.
        let end = end();
        let limits = Limits::of(&setup.config.web);
        let watches = setup.place.watch;
        let agent = Agent::start(setup)?;
        let stop = CancellationToken::new();
        let state = AppState {
            snapshots: agent.snapshots.clone(),
            events: agent.events.clone(),
            stats: Arc::clone(&agent.stats),
            clock: Arc::new(moment),
            limits,
        };
        let server = tokio::spawn(serve(listeners, state, stop.clone()));
        if watches == Watch::Kernel {
            tokio::spawn(notifications::of_links(agent.wakes.clone()));
            tokio::spawn(notifications::of_settings(agent.wakes.clone()));
        }
        let supervisor = Supervisor::of_environment();
        tokio::spawn(supervisor.clone().report(agent.snapshots.clone(), Arc::clone(&agent.stats)));
        started(&addresses);
        let decides = agent.decides.clone();
        let result = tokio::select! {
            () = end => Ok(()),
            // Pages that are served on show a node where nobody watches: a supervisor has to start it anew.
            () = decides.cancelled() => Err(StartError::Engine),
        };
        tracing::info!("stopping");
        supervisor.stopping();
        let ended = tokio::task::spawn_blocking(move || agent.stop());
        // A thread that panicked has told so itself.
        let _ = ended.await;
        stop.cancel();
        let _ = server.await;
        result
    })
}

fn listen(addresses: &[ListenAddress]) -> Result<Vec<tokio::net::TcpListener>, crate::http::ListenError> {
    addresses.iter().map(bind).collect()
}

fn moment() -> Moment {
    let now = clock::now();
    Moment { now, boot: clock::since_1970().saturating_sub(Duration::from_nanos(now.as_nanos())) }
}

/// Everything that runs beside the server.
struct Agent {
    inputs: SyncSender<Input>,
    wakes: Sender<Wake>,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    events: EventHub,
    stats: Arc<AgentStats>,
    discovery: JoinHandle<()>,
    engine: JoinHandle<()>,
    /// Cancelled when the engine's thread has ended.
    decides: CancellationToken,
}

impl Agent {
    fn start(setup: Setup) -> Result<Self, StartError> {
        let Setup { config, place, sinks, record } = setup;
        let Place { node, collector, watch: _, rdma } = place;
        let stats = Arc::new(AgentStats::default());
        let (journal, durable, mode) = open_journal(&config);
        let settings = Settings { mode, ..config.settings.clone() };
        let recorder = recorder(&config, &settings, record, &stats)?;
        let (inputs, taken) = sync_channel(INPUTS_MAX);
        let (wakes, woken) = channel();
        let (snapshots, seen) = watch::channel(Arc::new(Snapshot::default()));
        let events = EventHub::new(Arc::clone(&stats));
        let state = JournalState { durable, writable: journal.is_writable(), seed: seed() };
        // Nothing else has been sent: there is room.
        let _ = inputs.send(Input::Journal(Box::new(state)));
        let journal = Arc::new(Mutex::new(journal));
        let actuator = Actuator::new(Arc::clone(&journal), inputs.clone());
        let actuator = Arc::new(actuator.with_spool(config.exec.spool.as_deref(), &config.path.procfs));
        let pollers: Pollers = Arc::new(Mutex::new(BTreeMap::new()));
        let guard = match settings.guard.clone() {
            Some(guard) => Some((guard, Asker::start(inputs.clone())?)),
            None => None,
        };
        let mut all: Vec<Box<dyn EventSink>> = vec![Box::new(Stream(events.clone()))];
        all.extend(sinks);
        let outlets = Outlets {
            actuator: Arc::clone(&actuator),
            pollers: Arc::clone(&pollers),
            journal,
            recorder,
            snapshots,
            sinks: all,
            guard,
        };
        let interval = settings.poll.calm;
        let runtime = Runtime::new(Engine::new(settings), taken, outlets);
        let decides = CancellationToken::new();
        let ended = decides.clone().drop_guard();
        let engine = thread::Builder::new().name("engine".into()).spawn(move || {
            let _ended = ended;
            runtime.run();
        })?;
        let feed = Feed { inputs: inputs.clone(), stats: Arc::clone(&stats), collector };
        let reach = Reach {
            feed,
            pollers,
            actuator,
            filter: config.devices.clone(),
            raw: config.metrics.raw.clone(),
            interval,
            snapshots: seen.clone(),
        };
        let discovery = Discovery::new(node, reach);
        let discovery =
            thread::Builder::new().name("discovery".into()).spawn(move || discovery.run(&woken))?;
        watch_host(&config.path.procfs, Arc::clone(&stats))?;
        match rdma {
            Some(counters) => {
                let counters = counters.watching(config.devices.clone(), config.metrics.raw.clone());
                read_rdma(counters, Arc::clone(&stats))?;
            }
            None => stats.note_rdma(Vec::new()),
        }
        note_config(&config, &stats);
        Ok(Self { inputs, wakes, snapshots: seen, events, stats, discovery, engine, decides })
    }

    /// Stops reading, takes back what is owed, flushes.
    fn stop(self) {
        let _ = self.wakes.send(Wake::Stop);
        let _ = self.inputs.send(Input::Command(Command::Stop));
        let _ = self.engine.join();
        // A list of links that hangs in the kernel is not waited for.
        drop(self.discovery);
    }
}

/// Publishes events to the stream.
struct Stream(EventHub);

impl EventSink for Stream {
    fn take(&mut self, event: &Arc<rocewatch_core::event::Event>) {
        self.0.publish(Arc::clone(event));
    }
}

/// Opens the journal. Without one the agent watches, and acts only where nothing has to be taken back; beside
/// another agent it only watches.
fn open_journal(config: &Config) -> (Journal, Durable, Mode) {
    let mode = config.settings.mode;
    let boot_id = match clock::boot_id(&config.path.procfs) {
        Ok(boot_id) => boot_id,
        Err(error) => {
            tracing::warn!(%error, "no journal: nothing that has to be taken back will be done");
            return (Journal::absent(), Durable::default(), mode);
        }
    };
    match Journal::open(&config.runtime.path, &boot_id) {
        Ok((journal, stored)) => {
            if let Some(error) = journal.trouble() {
                let cause = std::error::Error::source(error).map(ToString::to_string);
                tracing::warn!(%error, cause, "no journal: nothing that has to be taken back will be done");
            }
            (journal, durable(stored), mode)
        }
        Err(error @ JournalError::Locked(_)) => {
            let mode = mode.min(Mode::Observe);
            tracing::warn!(%error, mode = mode.label(), "another agent runs here: this one only observes");
            (Journal::absent(), Durable::default(), mode)
        }
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(%error, cause, "no journal: nothing that has to be taken back will be done");
            (Journal::absent(), Durable::default(), mode)
        }
    }
}

fn durable(stored: Stored) -> Durable {
    match stored {
        Stored::Nothing => Durable::default(),
        Stored::Of(durable) => *durable,
        Stored::Unusable(reason) => {
            tracing::warn!(reason, "the journal of an earlier run is not used; it is kept as journal.old");
            Durable::default()
        }
    }
}

fn recorder(
    config: &Config,
    settings: &Settings,
    record: Option<std::path::PathBuf>,
    stats: &Arc<AgentStats>,
) -> Result<Recorder, StartError> {
    let limits = IncidentLimits {
        files_max: config.incidents.max_files as usize,
        bytes_max: config.incidents.max_bytes,
    };
    let incidents = Incidents::new(config.incidents.path.clone(), limits, Arc::clone(stats));
    let watched = settings.mode != Mode::Off && limits.files_max > 0;
    let mut recorder = Recorder::new(config.to_toml(), watched.then_some(incidents));
    if let Some(path) = record {
        recorder.record_to(&path, stats).map_err(|source| StartError::Record { path, source })?;
    }
    Ok(recorder)
}

/// A number of this start of this node.
fn seed() -> u64 {
    clock::now().as_nanos() ^ clock::wall().as_nanosecond() as u64
}

fn note_config(config: &Config, stats: &AgentStats) {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    config.to_toml().hash(&mut hasher);
    stats.note_config_accepted(format!("{:016x}", hasher.finish()), clock::since_1970());
}

fn watch_host(procfs: &Path, stats: Arc<AgentStats>) -> Result<(), StartError> {
    let mut probe = match HostProbe::new(procfs) {
        Ok(probe) => probe,
        Err(error) => {
            tracing::warn!(%error, "no facts of the host");
            return Ok(());
        }
    };
    thread::Builder::new().name("host".into()).spawn(move || {
        loop {
            let began = clock::now();
            let facts = probe.read();
            stats.note_host(facts);
            stats.reads.note_read(Collector::Host, clock::now().since(began), Ok(()));
            thread::sleep(HOST_EVERY);
        }
    })?;
    Ok(())
}

fn read_rdma(mut counters: RdmaCounters, stats: Arc<AgentStats>) -> Result<(), StartError> {
    thread::Builder::new().name("rdma".into()).spawn(move || {
        loop {
            let began = clock::now();
            let views = counters.read(began, &stats.reads);
            stats.note_rdma(views);
            stats.reads.note_read(Collector::Rdma, clock::now().since(began), counters.outcome());
            thread::sleep(RDMA_EVERY);
        }
    })?;
    Ok(())
}
