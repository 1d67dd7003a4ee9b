//! One thread per port: it reads when it is time, and hands on what it read. It is never joined: a read that hangs
//! in the kernel must not keep the agent from ending.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Thread};
use std::time::Duration;

use rocewatch_core::binding::{Binding, Bound};
use rocewatch_core::drivers;
use rocewatch_core::ids::{PortIdentity, PortKey};
use rocewatch_core::input::{BoundPort, Input, ReadFailed, Reading, SourceRefresh};
use rocewatch_core::units::{MonoTime, nanos};

use super::{ReadError, Source};
use crate::clock;
use crate::export::stats::{AgentStats, Collector, PortStats};
use crate::node::Support;

/// Names are read again after this long even if nothing tells that they changed: two priorities can swap their PFC
/// bits and leave the count as it was.
const NAMES_AGE_MAX: Duration = Duration::from_secs(30);
/// The wait between reads that go on failing, so that a broken device costs no more than a calm one.
const FAILED_WAIT: Duration = Duration::from_secs(1);
/// The wait for what a device supports, before its first reading: one that works has answered by then, and is introduced
/// once.
const SUPPORT_WAIT: Duration = Duration::from_millis(500);
/// Memory for readings that waits to be used again. One reading is under way at a time unless the engine is late, and
/// then it is late for a few; more than these are made anew.
const SPARE_MAX: usize = 4;

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
    spare: SyncSender<Vec<u64>>,
}

impl Poller {
    /// Starts to read `source` every `interval`. The engine gets `introduction` once it knows the port.
    ///
    /// # Errors
    /// If no thread can be made.
    pub fn start(
        port: PortKey,
        identity: PortIdentity,
        support: Support,
        source: Box<dyn Source>,
        introduction: Vec<Input>,
        interval: Duration,
        feed: Feed,
    ) -> std::io::Result<Self> {
        let pace = Arc::new(Pace { interval_ns: AtomicU64::new(nanos(interval)), ..Pace::default() });
        let name = format!("read-{}", identity.netdev);
        let stats = feed.stats.port(port);
        let (spare, spares) = sync_channel(SPARE_MAX);
        let reader = Reader {
            port,
            identity,
            support,
            source,
            feed,
            stats,
            pace: Arc::clone(&pace),
            introduction,
            bound: None,
            is_introduced: false,
            refresh: None,
            values: Vec::new(),
            spares,
        };
        let handle = thread::Builder::new().name(name).spawn(move || reader.run())?;
        Ok(Self { pace, thread: handle.thread().clone(), spare })
    }

    /// Reads every `interval` from now on.
    pub fn set_interval(&self, interval: Duration) {
        self.pace.interval_ns.store(nanos(interval), Ordering::Relaxed);
        self.thread.unpark();
    }

    /// Gives back the memory of a reading that was taken, for one to come.
    pub fn give_back(&self, values: Vec<u64>) {
        // Where there is enough already, it is let go.
        let _ = self.spare.try_send(values);
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
    support: Support,
    source: Box<dyn Source>,
    introduction: Vec<Input>,
    feed: Feed,
    stats: Arc<PortStats>,
    pace: Arc<Pace>,
    bound: Option<(Vec<String>, Binding, MonoTime)>,
    /// The engine was told of the port.
    is_introduced: bool,
    /// What the source said of it when the port was last made known.
    refresh: Option<SourceRefresh>,
    values: Vec<u64>,
    spares: Receiver<Vec<u64>>,
}

impl Reader {
    fn run(mut self) {
        self.support.wait(SUPPORT_WAIT);
        let mut due = clock::now();
        let mut interval = self.interval();
        let mut failures = 0;
        while self.wait_until(&mut due, interval) {
            interval = self.interval();
            self.note_support();
            let began = clock::now();
            self.stats.reads.note_begin(self.feed.collector, began);
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
                Ok(()) => {
                    failures = 0;
                    due = (due + interval).max(ended);
                }
                Err(error) => {
                    // A port whose names cannot be had is a port all the same, and its failure has a place.
                    if self.bound.is_none() && failures == 0 {
                        self.introduce(Vec::new());
                    }
                    self.send(Input::ReadFailed(ReadFailed { port: self.port, error: error.to_string() }));
                    failures += 1;
                    due = ended + wait_after(failures, interval);
                }
            }
        }
    }

    fn interval(&self) -> Duration {
        Duration::from_nanos(self.pace.interval_ns.load(Ordering::Relaxed))
    }

    /// Sleeps until it is time, or sooner if the interval is shorter than the one by which `due` was reckoned: the
    /// engine may have answered the last reading before this is called. False when it is to end.
    fn wait_until(&self, due: &mut MonoTime, mut interval: Duration) -> bool {
        loop {
            if self.pace.stop.load(Ordering::Relaxed) {
                return false;
            }
            let (now, shorter) = (clock::now(), self.interval());
            if shorter < interval {
                *due = now.max(due.before(interval) + shorter).min(*due);
                interval = shorter;
            }
            if now >= *due {
                return true;
            }
            thread::park_timeout(due.since(now));
        }
    }

    fn read(&mut self, now: MonoTime) -> Result<(), ReadError> {
        let stale = self.pace.names_stale.swap(false, Ordering::Relaxed);
        let old = self.bound.as_ref().is_none_or(|(_, _, at)| now.since(*at) >= NAMES_AGE_MAX);
        if stale || old {
            // Names that could not be had are as stale as before.
            self.bind(now).inspect_err(|_| self.pace.names_stale.store(true, Ordering::Relaxed))?;
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
        let mut values = self.spares.try_recv().unwrap_or_default();
        binding.pick(&self.values, &mut values).map_err(|_| ReadError::NamesChanged)?;
        let took = ended.since(began);
        self.send(Input::Reading(Reading { port: self.port, at: began + took / 2, took, values }));
        Ok(())
    }

    fn bind(&mut self, now: MonoTime) -> Result<(), ReadError> {
        let names = self.source.names()?;
        if let Some((known, _, at)) = &mut self.bound
            && *known == names
            && self.refresh == self.source.refresh()
        {
            *at = now;
            return Ok(());
        }
        let binding = Binding::new(drivers::for_driver(&self.identity.driver), &names);
        self.introduce(binding.layout().to_vec());
        self.bound = Some((names, binding, now));
        Ok(())
    }

    /// Makes the port known anew if it has answered what it supports.
    fn note_support(&mut self) {
        if self.support.is_new() && self.is_introduced {
            let layout = self.bound.as_ref().map(|(_, binding, _)| binding.layout().to_vec());
            self.introduce(layout.unwrap_or_default());
        }
    }

    /// Makes the port known under its layout; the first time with everything else that is known of it.
    fn introduce(&mut self, layout: Vec<Bound>) {
        self.refresh = self.source.refresh();
        self.is_introduced = true;
        let offer = self.support.offer();
        self.send(Input::Bound(BoundPort {
            port: self.port,
            identity: self.identity.clone(),
            layout,
            refresh: self.refresh,
            actions: offer.actions.clone(),
            unsupported: offer.unsupported.clone(),
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

/// The wait after a read that has failed for the `failures`th time in a row. One that fails once must not blind a
/// port for longer than one that is lost.
fn wait_after(failures: u32, interval: Duration) -> Duration {
    let doubled = interval.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.min(FAILED_WAIT).max(interval)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use rocewatch_core::sim::scenario::PortSpec;

    use super::*;
    use crate::node::{Node, Offer, Offering, SimulatedNode, SimulatedPort};
    use crate::sources::EthtoolSource;
    use crate::sys::allocations;
    use crate::sys::namespace::{in_namespace, ip};
    use crate::sys::netdev::NetdevName;

    /// A reader of `source`, what it sends, and where the memory of a reading is given back.
    fn reader(source: Box<dyn Source>, pace: Arc<Pace>) -> (Reader, Receiver<Input>, SyncSender<Vec<u64>>) {
        let (inputs, taken) = sync_channel(16);
        let (spare, spares) = sync_channel(SPARE_MAX);
        let feed = Feed { inputs, stats: Arc::default(), collector: Collector::Simulation };
        let reader = Reader {
            port: PortKey(0),
            identity: PortIdentity::default(),
            support: Offer::default().into(),
            source,
            introduction: Vec::new(),
            stats: feed.stats.port(PortKey(0)),
            feed,
            pace,
            bound: None,
            is_introduced: false,
            refresh: None,
            values: Vec::new(),
            spares,
        };
        (reader, taken, spare)
    }

    /// Whose pace the engine changes while it is being read.
    struct Hurried(Arc<Pace>);

    impl Source for Hurried {
        fn names(&mut self) -> Result<Vec<String>, ReadError> {
            Ok(Vec::new())
        }

        fn read(&mut self, _values: &mut Vec<u64>) -> Result<(), ReadError> {
            self.0.interval_ns.store(1_000_000, Ordering::Relaxed);
            Ok(())
        }
    }

    /// Whose driver is told, after the first reading, not to refresh its counters any more.
    struct Stopped {
        pace: Arc<Pace>,
        refresh: Option<SourceRefresh>,
    }

    impl Source for Stopped {
        fn names(&mut self) -> Result<Vec<String>, ReadError> {
            Ok(Vec::new())
        }

        fn read(&mut self, _values: &mut Vec<u64>) -> Result<(), ReadError> {
            self.refresh = Some(SourceRefresh::Never);
            self.pace.names_stale.store(true, Ordering::Relaxed);
            Ok(())
        }

        fn refresh(&self) -> Option<SourceRefresh> {
            self.refresh
        }
    }

    /// Reads `source` at `pace` on a thread of its own.
    fn read(source: Box<dyn Source>, pace: &Arc<Pace>) -> Receiver<Input> {
        let (reader, taken, _) = reader(source, Arc::clone(pace));
        thread::spawn(move || reader.run());
        taken
    }

    #[test]
    fn a_source_that_refreshes_otherwise_is_made_known_anew_under_the_same_names() {
        let pace = Arc::new(Pace { interval_ns: AtomicU64::new(1_000_000), ..Pace::default() });
        let taken = read(Box::new(Stopped { pace: Arc::clone(&pace), refresh: None }), &pace);
        let told = taken.iter().filter_map(|input| {
            let Input::Bound(bound) = input else { return None };
            Some(bound.refresh)
        });
        assert_eq!(told.take(2).collect::<Vec<_>>(), [None, Some(SourceRefresh::Never)]);
        pace.stop.store(true, Ordering::Relaxed);
    }

    /// Whose names change while they cannot be had.
    struct Renaming {
        pace: Arc<Pace>,
        asked: u32,
    }

    impl Source for Renaming {
        fn names(&mut self) -> Result<Vec<String>, ReadError> {
            self.asked += 1;
            match self.asked {
                1 => Ok(vec!["rx_prio3_pause".into()]),
                2 => Err(ReadError::Unsupported),
                _ => Ok(vec!["rx_prio4_pause".into()]),
            }
        }

        fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
            if self.asked == 1 {
                self.pace.names_stale.store(true, Ordering::Relaxed);
            }
            *values = vec![u64::from(self.asked)];
            Ok(())
        }
    }

    #[test]
    fn stale_names_that_cannot_be_had_are_not_taken_for_the_new_ones() {
        let pace = Arc::new(Pace { interval_ns: AtomicU64::new(1_000_000), ..Pace::default() });
        let taken = read(Box::new(Renaming { pace: Arc::clone(&pace), asked: 0 }), &pace);
        let mut told = taken.iter();
        assert!(told.any(|input| matches!(input, Input::ReadFailed(_))));
        let next = told.next();
        assert!(matches!(next, Some(Input::Bound(_))), "{next:?}");
        pace.stop.store(true, Ordering::Relaxed);
    }

    #[test]
    fn a_port_is_made_known_anew_when_its_device_has_answered_what_it_supports() {
        let (mut reader, taken, _spare) = reader(Box::new(Hurried(Arc::default())), Arc::default());
        let (release, held) = sync_channel::<()>(1);
        let ask = move || held.recv().map_or_else(|_| Offer::default(), |()| Offer::of(|_| None));
        reader.support = Support::of("eth0", Offering::Asked(Box::new(ask)));
        reader.note_support();
        reader.read(clock::now()).unwrap();
        release.send(()).unwrap();
        let mut bound = Vec::new();
        while bound.len() < 2 {
            reader.note_support();
            let inputs = taken.try_iter().filter_map(|input| {
                let Input::Bound(bound) = input else { return None };
                Some(bound.unsupported.is_empty())
            });
            bound.extend(inputs);
        }
        assert_eq!(bound, [false, true]);
    }

    #[test]
    fn an_engine_that_answers_at_once_is_heard_before_the_next_wait() {
        let slow = nanos(Duration::from_secs(3600));
        let pace = Arc::new(Pace { interval_ns: AtomicU64::new(slow), ..Pace::default() });
        let taken = read(Box::new(Hurried(Arc::clone(&pace))), &pace);
        let readings = taken.iter().filter(|input| matches!(input, Input::Reading(_)));
        assert_eq!(readings.take(3).count(), 3);
        pace.stop.store(true, Ordering::Relaxed);
    }

    /// Counts what the reading thread allocates, and takes its readings as the engine does, between two of them.
    struct Weighed {
        source: Box<dyn Source>,
        pace: Arc<Pace>,
        taken: Receiver<Input>,
        spare: SyncSender<Vec<u64>>,
        reads: u64,
        /// The count when all memory had been made, and at the end.
        counts: Arc<Mutex<[u64; 2]>>,
    }

    /// By then everything has grown to its size.
    const WARM: u64 = 16;
    const READS: u64 = 1000;

    impl Source for Weighed {
        fn names(&mut self) -> Result<Vec<String>, ReadError> {
            self.source.names()
        }

        fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
            for input in self.taken.try_iter() {
                if let Input::Reading(reading) = input {
                    self.spare.try_send(reading.values).unwrap();
                }
            }
            self.reads += 1;
            let mut counts = self.counts.lock().unwrap();
            if self.reads == WARM {
                counts[0] = allocations::of_this_thread();
            } else if self.reads == WARM + READS {
                counts[1] = allocations::of_this_thread();
                self.pace.stop.store(true, Ordering::Relaxed);
            }
            self.source.read(values)
        }
    }

    /// How often a thread that reads `source` allocates in a thousand reads.
    fn allocations_of(source: Box<dyn Source>, driver: &str) -> u64 {
        let interval = nanos(Duration::from_micros(20));
        let pace = Arc::new(Pace { interval_ns: AtomicU64::new(interval), ..Pace::default() });
        let (mut reader, taken, spare) = reader(source, Arc::clone(&pace));
        let counts = Arc::new(Mutex::new([0; 2]));
        reader.identity.driver = driver.into();
        let source = std::mem::replace(&mut reader.source, Box::new(Hurried(Arc::clone(&pace))));
        reader.source =
            Box::new(Weighed { source, pace, taken, spare, reads: 0, counts: Arc::clone(&counts) });
        reader.run();
        let [warm, end] = *counts.lock().unwrap();
        assert!(warm > 0, "making the memory is counted");
        end - warm
    }

    #[test]
    fn the_count_of_allocations_counts() {
        /// Allocates once in each read.
        struct Wasteful;

        impl Source for Wasteful {
            fn names(&mut self) -> Result<Vec<String>, ReadError> {
                Ok(vec!["rx_prio3_pause".into()])
            }

            fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
                *values = vec![7];
                Ok(())
            }
        }
        assert_eq!(allocations_of(Box::new(Wasteful), "mlx5_core"), READS);
    }

    #[test]
    fn reading_a_simulated_port_allocates_nothing() {
        for driver in ["mlx5_core", "bnxt_en", "ice"] {
            let port = SimulatedPort {
                netdev: "eth0".into(),
                device: String::new(),
                pci_address: String::new(),
                spec: PortSpec::of(driver),
                scripts: Default::default(),
            };
            let mut node = SimulatedNode::new(vec![port], clock::now(), 1);
            let seen = node.scan().unwrap();
            let source = node.source(&seen[0]).unwrap().unwrap();
            assert_eq!(allocations_of(source, driver), 0, "{driver}");
        }
    }

    #[test]
    fn reading_a_real_device_allocates_nothing() {
        in_namespace("sources::poller::tests::reading_a_real_device_allocates_nothing", || {
            ip("link add v0 index 7 numrxqueues 16 numtxqueues 16 type veth peer name v1");
            let source = EthtoolSource::open(NetdevName::new("v0").unwrap(), 7).unwrap().unwrap();
            assert_eq!(allocations_of(Box::new(source), "veth"), 0);
        });
    }

    #[test]
    fn one_failure_costs_one_reading_and_many_cost_no_more_than_a_calm_port() {
        let (fast, calm, slow) =
            (Duration::from_millis(50), Duration::from_millis(250), Duration::from_secs(7));
        assert_eq!([1, 2, 3, 6, 99].map(|n| wait_after(n, fast).as_millis()), [50, 100, 200, 1000, 1000]);
        assert_eq!(
            [1, 2, 3, 4, u32::MAX].map(|n| wait_after(n, calm).as_millis()),
            [250, 500, 1000, 1000, 1000]
        );
        assert_eq!(wait_after(3, slow), slow);
    }
}
