//! One thread per port: it reads when it is time, and hands on what it read. It is never joined: a read that hangs
//! in the kernel must not keep the agent from ending.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread::{self, Thread};
use std::time::Duration;

use rocewatch_core::action::ActionKind;
use rocewatch_core::binding::{Binding, Bound};
use rocewatch_core::drivers;
use rocewatch_core::ids::{PortIdentity, PortKey};
use rocewatch_core::input::{BoundPort, Input, ReadFailed, Reading};
use rocewatch_core::units::{MonoTime, nanos};

use super::{ReadError, Source};
use crate::clock;
use crate::export::stats::{AgentStats, Collector, PortStats};

/// Names are read again after this long even if nothing tells that they changed: two priorities can swap their PFC
/// bits and leave the count as it was.
const NAMES_AGE_MAX: Duration = Duration::from_secs(30);
/// The wait after a failed read, so that a broken device costs no more than a calm one.
const FAILED_WAIT_MIN: Duration = Duration::from_secs(1);

/// Where a poller sends what it has read.
#[derive(Clone)]
pub struct Feed {
    /// The engine's inputs. Bounded: a full one drops the reading, which the engine sees as a longer span.
    pub inputs: SyncSender<Input>,
    /// The agent's own counts.
    pub stats: Arc<AgentStats>,
    /// What reads are called there.
    pub collector: Collector,
}

/// The interval of one poller, set by the engine.
#[derive(Debug, Default)]
struct Pace {
    interval_ns: AtomicU64,
    names_stale: AtomicBool,
    stop: AtomicBool,
}

/// A running poller.
#[derive(Debug)]
pub struct Poller {
    pace: Arc<Pace>,
    thread: Thread,
}

impl Poller {
    /// Starts to read `source` every `interval`. The engine gets `introduction` once it knows the port.
    ///
    /// # Errors
    /// If no thread can be made.
    pub fn start(
        port: PortKey,
        identity: PortIdentity,
        actions: Vec<ActionKind>,
        source: Box<dyn Source>,
        introduction: Vec<Input>,
        interval: Duration,
        feed: Feed,
    ) -> std::io::Result<Self> {
        let pace = Arc::new(Pace { interval_ns: AtomicU64::new(nanos(interval)), ..Pace::default() });
        let name = format!("read-{}", identity.netdev);
        let stats = feed.stats.port(port);
        let reader = Reader {
            port,
            identity,
            actions,
            source,
            feed,
            stats,
            pace: Arc::clone(&pace),
            introduction,
            bound: None,
            values: Vec::new(),
            picked: Vec::new(),
        };
        let handle = thread::Builder::new().name(name).spawn(move || reader.run())?;
        Ok(Self { pace, thread: handle.thread().clone() })
    }

    /// Reads every `interval` from now on.
    pub fn set_interval(&self, interval: Duration) {
        self.pace.interval_ns.store(nanos(interval), Ordering::Relaxed);
        self.thread.unpark();
    }

    /// Reads the names again before the next read.
    pub fn names_are_stale(&self) {
        self.pace.names_stale.store(true, Ordering::Relaxed);
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.pace.stop.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

struct Reader {
    port: PortKey,
    identity: PortIdentity,
    actions: Vec<ActionKind>,
    source: Box<dyn Source>,
    introduction: Vec<Input>,
    feed: Feed,
    stats: Arc<PortStats>,
    pace: Arc<Pace>,
    bound: Option<(Vec<String>, Binding, MonoTime)>,
    values: Vec<u64>,
    picked: Vec<u64>,
}

impl Reader {
    fn run(mut self) {
        let mut due = clock::now();
        while self.wait_until(&mut due) {
            let interval = self.interval();
            let began = clock::now();
            let result = self.read(began);
            let ended = clock::now();
            self.stats.note_poll(began.since(due), interval);
            let error = result.as_ref().err().map(ReadError::label);
            self.stats.note_read(
                self.feed.collector,
                ended.since(began),
                error.as_deref().map_or(Ok(()), Err),
            );
            match result {
                Ok(()) => due = (due + interval).max(ended),
                Err(error) => {
                    // A port whose names cannot be had is a port all the same, and its failure has a place.
                    if self.bound.is_none() {
                        self.introduce(Vec::new());
                    }
                    self.send(Input::ReadFailed(ReadFailed { port: self.port, error: error.to_string() }));
                    due = ended + interval.max(FAILED_WAIT_MIN);
                }
            }
        }
    }

    fn interval(&self) -> Duration {
        Duration::from_nanos(self.pace.interval_ns.load(Ordering::Relaxed))
    }

    /// Sleeps until it is time, or sooner if the interval has become shorter. False when it is to end.
    fn wait_until(&self, due: &mut MonoTime) -> bool {
        let mut interval = self.interval();
        loop {
            if self.pace.stop.load(Ordering::Relaxed) {
                return false;
            }
            let now = clock::now();
            if now >= *due {
                return true;
            }
            thread::park_timeout(due.since(now));
            let shorter = self.interval();
            if shorter < interval {
                *due = clock::now().max(due.before(interval) + shorter).min(*due);
                interval = shorter;
            }
        }
    }

    fn read(&mut self, now: MonoTime) -> Result<(), ReadError> {
        let stale = self.pace.names_stale.swap(false, Ordering::Relaxed);
        let old = self.bound.as_ref().is_none_or(|(_, _, at)| now.since(*at) >= NAMES_AGE_MAX);
        if stale || old {
            self.bind(now)?;
        }
        let began = clock::now();
        match self.source.read(&mut self.values) {
            // Once more with the new names; if they change again, the next read finds out.
            Err(ReadError::NamesChanged) => {
                self.bind(now)?;
                self.source.read(&mut self.values)?;
            }
            other => other?,
        }
        let ended = clock::now();
        let Some((_, binding, _)) = &self.bound else { return Err(ReadError::NamesChanged) };
        binding.pick(&self.values, &mut self.picked).map_err(|_| ReadError::NamesChanged)?;
        let took = ended.since(began);
        let reading = Reading { port: self.port, at: began + took / 2, took, values: self.picked.clone() };
        self.send(Input::Reading(reading));
        Ok(())
    }

    fn bind(&mut self, now: MonoTime) -> Result<(), ReadError> {
        let names = self.source.names()?;
        if let Some((known, _, at)) = &mut self.bound
            && *known == names
        {
            *at = now;
            return Ok(());
        }
        let binding = Binding::new(drivers::for_driver(&self.identity.driver), &names);
        self.introduce(binding.layout().to_vec());
        self.bound = Some((names, binding, now));
        Ok(())
    }

    /// Makes the port known under its layout; the first time with everything else that is known of it.
    fn introduce(&mut self, layout: Vec<Bound>) {
        self.send(Input::Bound(BoundPort {
            port: self.port,
            identity: self.identity.clone(),
            layout,
            refresh: self.source.refresh(),
            actions: self.actions.clone(),
        }));
        for input in std::mem::take(&mut self.introduction) {
            self.send(input);
        }
    }

    /// A reading that finds no room is lost, and counted; names are not lost, they are needed for what follows.
    fn send(&self, input: Input) {
        let is_sample = matches!(input, Input::Reading(_) | Input::ReadFailed(_));
        let inputs = &self.feed.inputs;
        let lost = if is_sample { inputs.try_send(input).is_err() } else { inputs.send(input).is_err() };
        if lost {
            self.stats.note_dropped();
        }
    }
}
