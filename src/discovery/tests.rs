use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};

use rocewatch_core::action::{ActionKind, Op, Order, Outcome, PortConfig, Purpose, Undo, UndoOp, UndoResult};
use rocewatch_core::durable::Durable;
use rocewatch_core::engine::Engine;
use rocewatch_core::ids::{ActionId, PortIdentity};
use rocewatch_core::input::BoundPort;
use rocewatch_core::settings::Settings;

use super::*;
use crate::actuate::{Journal, Machine};
use crate::export::stats::AgentStats;
use crate::sources::{ReadError, Source};
use crate::sys::netdev::BusDevice;

/// Without devices; counts how often they are listed.
struct Empty(Arc<AtomicUsize>);

impl Node for Empty {
    fn scan(&mut self) -> Result<Vec<Seen>, NodeError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Vec::new())
    }

    fn identity(&mut self, _seen: &Seen) -> PortIdentity {
        PortIdentity::default()
    }

    fn source(&mut self, _seen: &Seen) -> Result<Option<Box<dyn Source>>, NodeError> {
        Ok(None)
    }
}

type Snapshots = watch::Sender<Arc<Snapshot>>;

/// A discovery of `node`, what the engine is told, and where it would show what it knows.
fn discovery(node: impl Node + 'static) -> (Discovery, Receiver<Input>, Snapshots) {
    let (inputs, taken) = sync_channel(64);
    let stats = Arc::new(AgentStats::default());
    stats.note_rdma(Vec::new());
    let (snapshots, seen) = watch::channel(Arc::new(Snapshot::default()));
    let actuator = Actuator::new(Arc::new(Mutex::new(Journal::absent())), inputs.clone());
    let reach = Reach {
        feed: Feed { inputs, stats, collector: Collector::Ethtool },
        pollers: Arc::default(),
        actuator: Arc::new(actuator),
        filter: DeviceFilter::default(),
        raw: Pattern::default(),
        interval: Duration::from_secs(1),
        snapshots: seen,
    };
    (Discovery::new(Box::new(node), reach), taken, snapshots)
}

#[test]
fn a_storm_of_events_is_one_reason_to_look_again() {
    let looks = Arc::new(AtomicUsize::new(0));
    let (discovery, _taken, _snapshots) = discovery(Empty(Arc::clone(&looks)));
    let (wakes, woken) = channel();
    (0..20 * BURST_MAX).for_each(|_| wakes.send(Wake::Changed).unwrap());
    wakes.send(Wake::Stop).unwrap();
    discovery.run(&woken);
    let looks = looks.load(Ordering::Relaxed);
    assert!((1..5).contains(&looks), "{looks}");
}

#[test]
fn a_change_concerns_the_device_it_is_told_of_and_lost_news_concern_all() {
    let seen = Seen { id: 7, netdev: "eth7".into(), ..Seen::default() };
    let known = Known { port: PortKey(0), seen, rdma: None, facts: None, role: Role::Read };
    let topics = |wake: Wake| topics_of(&wake, 7, &known);
    assert_eq!(topics(Wake::Dcb("eth7".into())), Some(&[Topic::Dcb][..]));
    assert_eq!(topics(Wake::Dcb("eth8".into())), None);
    let ethtool = |ifindex| Wake::Settings(SettingsEvent::Ethtool { ifindex });
    assert_eq!(topics(ethtool(7)), Some(&[Topic::Ethtool][..]));
    assert_eq!(topics(ethtool(8)), None);
    let device = BusDevice { bus: "pci".into(), address: "0000:3b:00.0".into() };
    assert_eq!(topics(Wake::Settings(SettingsEvent::Health { device })), None);
    assert_eq!(topics(Wake::Settings(SettingsEvent::Lost)), Some(&Topic::ALL[..]));
    assert_eq!(topics(Wake::Changed), None);
}

/// One device, which is a port or not, can be read or not, and notes what is done to it.
#[derive(Clone, Default)]
struct Bench {
    seen: Arc<Mutex<Seen>>,
    is_readable: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    /// The how manieth handle on its counters is refused whatever they are, from 1.
    refused: Arc<AtomicUsize>,
    done: Arc<Mutex<Vec<Op>>>,
}

impl Node for Bench {
    fn scan(&mut self) -> Result<Vec<Seen>, NodeError> {
        Ok(vec![self.seen.lock().unwrap().clone()])
    }

    fn identity(&mut self, seen: &Seen) -> PortIdentity {
        PortIdentity { netdev: seen.netdev.clone(), ifindex: Some(7), ..PortIdentity::default() }
    }

    fn source(&mut self, _seen: &Seen) -> Result<Option<Box<dyn Source>>, NodeError> {
        let place = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        if self.is_readable.load(Ordering::Relaxed) && place != self.refused.load(Ordering::Relaxed) {
            return Ok(Some(Box::new(Nothing)));
        }
        Err(NodeError { what: "busy".into() })
    }

    fn machine(&mut self, _seen: &Seen) -> Arc<dyn Machine> {
        Arc::new(self.clone())
    }
}

impl Machine for Bench {
    fn config(&self, _about: &[Op]) -> Result<PortConfig, String> {
        let is_on = !self.done.lock().unwrap().is_empty();
        Ok(PortConfig { link_up: Some(is_on), ..PortConfig::default() })
    }

    fn apply(&self, op: &Op) -> Result<(), String> {
        self.done.lock().unwrap().push(op.clone());
        Ok(())
    }
}

struct Nothing;

impl Source for Nothing {
    fn names(&mut self) -> Result<Vec<String>, ReadError> {
        Ok(Vec::new())
    }

    fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
        values.clear();
        Ok(())
    }
}

fn bench(netdev: &str) -> (Bench, Discovery, Receiver<Input>, Snapshots) {
    let bench = Bench::default();
    *bench.seen.lock().unwrap() = Seen { id: 7, netdev: netdev.into(), physical: true, ..Seen::default() };
    let (discovery, taken, snapshots) = discovery(bench.clone());
    (bench, discovery, taken, snapshots)
}

/// Orders an undo at `port`; how it ended.
fn undone(discovery: &Discovery, taken: &Receiver<Input>, port: PortKey) -> Outcome {
    let undo = Undo {
        id: ActionId(1),
        port,
        kind: ActionKind::LinkBounce,
        purpose: Purpose::Storm,
        queues: Vec::new(),
        ops: vec![UndoOp { done: Op::LinkDown, op: Op::LinkUp }],
        headroom: None,
    };
    discovery.reach.actuator.carry_out(Order::Undo(undo), Durable::default(), 1).unwrap();
    let ended = taken.iter().find_map(|input| {
        let Input::Outcome(ended) = input else { return None };
        Some(ended.report.outcome)
    });
    ended.unwrap()
}

/// Who came, and who went.
fn comings(taken: &Receiver<Input>) -> Vec<(&'static str, PortKey)> {
    let known = taken.try_iter().filter_map(|input| {
        if let Input::Bound(bound) = &input {
            return Some(("bound", bound.port));
        }
        let Input::Gone(port) = input else { return None };
        Some(("gone", port))
    });
    known.collect()
}

#[test]
fn what_is_owed_to_a_port_is_taken_back_though_its_counters_cannot_be_read() {
    let (bench, mut discovery, taken, _snapshots) = bench("eth7");
    discovery.look();
    assert_eq!(comings(&taken), [("bound", PortKey(0))]);
    assert_eq!(undone(&discovery, &taken, PortKey(0)), Outcome::Undone(UndoResult::Done));
    assert_eq!(*bench.done.lock().unwrap(), [Op::LinkUp]);
}

#[test]
fn counters_that_could_not_be_read_are_tried_again_now_and_then_until_they_can() {
    let (bench, mut discovery, taken, _snapshots) = bench("eth7");
    discovery.look();
    let asked = || bench.asked.load(Ordering::Relaxed);
    assert_eq!(asked(), 1, "a port without counters needs not be asked twice");
    (0..10).for_each(|_| discovery.look());
    assert_eq!(asked(), 1, "it is not yet time");
    let later = clock::now() + Duration::from_secs(11);
    discovery.try_again(later);
    discovery.try_again(later);
    assert_eq!(asked(), 2);
    assert_eq!(comings(&taken).len(), 1);
    bench.is_readable.store(true, Ordering::Relaxed);
    discovery.try_again(later + Duration::from_secs(11));
    assert_eq!(discovery.known[&7].role, Role::Read);
    assert!(taken.iter().any(|input| matches!(input, Input::Reading(_))));
}

#[test]
fn a_port_of_which_only_one_can_read_the_counters_is_tried_again() {
    let (bench, mut discovery, _taken, _snapshots) = bench("eth7");
    bench.is_readable.store(true, Ordering::Relaxed);
    bench.refused.store(2, Ordering::Relaxed);
    discovery.look();
    assert!(matches!(discovery.known[&7].role, Role::Unreadable(_)), "{:?}", discovery.known[&7].role);
    discovery.try_again(clock::now() + Duration::from_secs(11));
    assert_eq!(discovery.known[&7].role, Role::Read);
}

#[test]
fn a_device_that_is_not_wanted_any_more_stays_until_nothing_is_owed_to_it() {
    let (bench, mut discovery, taken, snapshots) = bench("eth7");
    discovery.look();
    undone(&discovery, &taken, PortKey(0));
    bench.seen.lock().unwrap().physical = false;
    discovery.look();
    assert_eq!(comings(&taken), [("gone", PortKey(0)), ("bound", PortKey(1))]);
    discovery.look();
    assert_eq!(comings(&taken), [], "nobody has said that nothing is owed");
    bench.done.lock().unwrap().clear();
    assert_eq!(undone(&discovery, &taken, PortKey(1)), Outcome::Undone(UndoResult::Done));
    let mut engine = Engine::new(Settings::default());
    engine.handle(
        clock::now(),
        &Input::Bound(BoundPort {
            port: PortKey(1),
            identity: PortIdentity::default(),
            layout: Vec::new(),
            refresh: None,
            actions: Vec::new(),
            unsupported: Vec::new(),
        }),
    );
    snapshots.send_replace(Arc::new(engine.snapshot(clock::now())));
    discovery.look();
    assert_eq!(comings(&taken), [("gone", PortKey(1))]);
    discovery.look();
    assert!(discovery.known.is_empty());
}

#[test]
fn a_device_that_is_wanted_again_is_another_port_and_one_that_was_never_acted_on_just_goes() {
    let (bench, mut discovery, taken, _snapshots) = bench("eth7");
    let physical = |is| bench.seen.lock().unwrap().physical = is;
    discovery.look();
    physical(false);
    discovery.look();
    assert_eq!(comings(&taken), [("bound", PortKey(0)), ("gone", PortKey(0))]);
    physical(true);
    discovery.look();
    let port = discovery.known[&7].port;
    undone(&discovery, &taken, port);
    physical(false);
    discovery.look();
    comings(&taken);
    let owed = discovery.known[&7].port;
    physical(true);
    discovery.look();
    let port = discovery.known[&7].port;
    assert_eq!(comings(&taken), [("gone", owed), ("bound", port)]);
    assert_ne!(discovery.known[&7].role, Role::Owed);
}
