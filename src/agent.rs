//! The whole agent, put together: threads, channels, server. It starts everything, waits for the word to end, and
//! ends everything in order: reading first, then what is owed, then serving.

mod beside;
mod memory;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use beside::{look_beside, watch_nvmf};
use memory::{LOCK_PATIENCE, Memory, is_to_act, vacancy};
use rocewatch_core::engine::Engine;
use rocewatch_core::input::{Command, Input, JournalState};
use rocewatch_core::settings::{Mode, Settings};
use rocewatch_core::snapshot::Snapshot;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::actuate::Actuator;
use crate::clock;
use crate::config::{Config, ListenAddress};
use crate::control::{Answer, Desk, Load, Reload, Replies, Server};
use crate::discovery::{Discovery, Reach, Wake};
use crate::export::Moment;
use crate::export::stats::{AgentStats, Collector};
use crate::guard::Asker;
use crate::http::{AppState, EventHub, Limits, bind, serve};
use crate::node::Node;
use crate::notifications;
use crate::privileges::Ports;
use crate::recorder::{IncidentLimits, Incidents, Recorder};
use crate::runtime::{EventSink, INPUTS_MAX, Outlets, Pollers, Runtime};
use crate::service::Supervisor;
use crate::sources::{Feed, NvmfControllers, RdmaCounters};

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
    /// Reads the configuration again.
    pub load: Load,
    /// What SIGHUP means.
    pub hangup: Hangup,
}

/// What SIGHUP means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hangup {
    /// The terminal closes: the agent ends, since it must not leave a port changed.
    Ends,
    /// The configuration is read again, as of any service.
    Reloads,
}

/// Where ports are found and read.
pub struct Place {
    /// Shows them.
    pub node: Box<dyn Node>,
    /// What reads of them are called on the metrics page.
    pub collector: Collector,
    /// Whether the kernel tells when a link changes.
    pub watch: Watch,
    /// What actions would change.
    pub ports: Ports,
    /// RDMA counters that are read besides.
    pub rdma: Option<RdmaCounters>,
    /// NVMe-oF controllers that are looked at besides.
    pub nvmf: Option<NvmfControllers>,
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
    /// It only watched because another agent held the lock, and that one has ended. Rights, mode and what is owed are found
    /// by a start.
    #[error("the other agent has ended: start anew to act")]
    Vacant,
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
        let mut end = std::pin::pin!(end());
        let limits = Limits::of(&setup.config.web);
        let (watches, hangup) = (setup.place.watch, setup.hangup);
        let hangups = (hangup == Hangup::Reloads).then(|| signal(SignalKind::hangup())).transpose()?;
        let supervisor = Supervisor::of_environment();
        let memory = tokio::select! {
            memory = Memory::open(&setup.config, || supervisor.waiting(LOCK_PATIENCE)) => memory,
            () = &mut end => return Ok(()),
        };
        let (folder, waits_for_vacancy) =
            (setup.config.runtime.path.clone(), memory.is_beside_another() && is_to_act(&setup.config));
        let agent = Agent::start(setup, memory)?;
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
        tokio::spawn(supervisor.clone().report(agent.snapshots.clone(), Arc::clone(&agent.stats)));
        if let Some(hangups) = hangups {
            tokio::spawn(reload_at(hangups, Arc::clone(&agent.desk)));
        }
        started(&addresses);
        let decides = agent.decides.clone();
        let result = tokio::select! {
            () = end => Ok(()),
            () = vacancy(&folder), if waits_for_vacancy => Err(StartError::Vacant),
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

pub(crate) fn listen(
    addresses: &[ListenAddress],
) -> Result<Vec<tokio::net::TcpListener>, crate::http::ListenError> {
    addresses.iter().map(bind).collect()
}

pub(crate) fn moment() -> Moment {
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
    desk: Arc<Desk>,
    /// None if there is no socket.
    control: Option<Server>,
    /// Cancelled when the engine's thread has ended.
    decides: CancellationToken,
}

impl Agent {
    fn start(setup: Setup, memory: Memory) -> Result<Self, StartError> {
        let Setup { config, place, sinks, record, load, hangup: _ } = setup;
        let Place { node, collector, watch: _, ports, rdma, nvmf } = place;
        let stats = Arc::new(AgentStats::default());
        let Memory { journal, durable, mode_max, maintenance, maintenance_file } = memory;
        let mode = config.settings.mode.min(mode_max);
        let settings = Settings { mode, ..config.settings.clone() };
        let recorder = recorder(&config, &settings, record, &stats)?;
        let (inputs, taken) = sync_channel(INPUTS_MAX);
        let (wakes, woken) = channel();
        let (snapshots, seen) = watch::channel(Arc::new(Snapshot::default()));
        let events = EventHub::new(Arc::clone(&stats));
        let state = JournalState { durable, writable: journal.is_writable(), seed: seed(), maintenance };
        let is_ours = journal.is_ours();
        // Nothing else has been sent: there is room.
        let _ = inputs.send(Input::Journal(Box::new(state)));
        let journal = Arc::new(Mutex::new(journal));
        let actuator = Actuator::new(Arc::clone(&journal), inputs.clone());
        let actuator = Arc::new(actuator.with_spool(config.exec.spool.as_deref(), &config.path.procfs));
        let pollers: Pollers = Arc::new(Mutex::new(BTreeMap::new()));
        let guard = Asker::start(inputs.clone())?;
        let replies = Replies::default();
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
            replies: replies.clone(),
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
        look_beside(&config, rdma, &stats)?;
        if let Some(controllers) = nvmf {
            watch_nvmf(controllers, inputs.clone(), Arc::clone(&stats))?;
        }
        let desk = Arc::new(Desk {
            inputs: inputs.clone(),
            replies,
            snapshots: seen.clone(),
            maintenance: Mutex::new(maintenance_file),
            reload: Mutex::new(Reload::new(load, (config.clone(), mode_max, ports), Arc::clone(&stats))),
        });
        let control = is_ours.then(|| control(&config, &desk)).flatten();
        if !is_ours {
            tracing::warn!("no control socket: this agent does not hold the lock of the runtime folder");
        }
        let snapshots = seen;
        Ok(Self { inputs, wakes, snapshots, events, stats, discovery, engine, desk, control, decides })
    }

    /// Stops reading, takes back what is owed, flushes.
    fn stop(self) {
        // Nothing more can be asked for.
        drop(self.control);
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

/// Without its socket an agent goes on.
fn control(config: &Config, desk: &Arc<Desk>) -> Option<Server> {
    match Server::start(&config.runtime.path, Arc::clone(desk)) {
        Ok(server) => Some(server),
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(%error, cause, "no control socket: `rocewatch ctl` cannot reach this agent");
            None
        }
    }
}

/// What comes of it is logged by whoever does it.
async fn reload_at(mut hangups: Signal, desk: Arc<Desk>) {
    while hangups.recv().await.is_some() {
        let desk = Arc::clone(&desk);
        let reload = tokio::task::spawn_blocking(move || match desk.reload() {
            Answer::Done(lines) => tracing::info!(told = lines.join("; "), "SIGHUP: configuration reloaded"),
            Answer::Refused(_) => tracing::warn!("SIGHUP: nothing is reloaded"),
            Answer::Unknown(lines) => tracing::warn!(told = lines.join("; "), "SIGHUP: configuration read"),
            Answer::Status(_) => {}
        });
        // A thread that panicked has told so itself.
        let _ = reload.await;
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
