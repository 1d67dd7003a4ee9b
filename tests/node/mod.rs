//! A node made by the real engine from the names of the driver fixtures, for tests of what is shown of it.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rocewatch_core::action::{ActionKind, ActionResult, Order, Outcome, PauseConfig, PutBack, Report};
use rocewatch_core::binding::{Binding, Bound};
use rocewatch_core::catalog::{Counter, Slot};
use rocewatch_core::drivers::{self, Kind, Overflow, Width};
use rocewatch_core::engine::Engine;
use rocewatch_core::event::Event;
use rocewatch_core::ids::{PortIdentity, PortKey};
use rocewatch_core::input::{
    BoundPort, DcbOwner, Effect, Ended, Input, JournalState, PortDcb, PortLink, PortPause, Reading,
};
use rocewatch_core::settings::Settings;
use rocewatch_core::snapshot::Snapshot;
use rocewatch_core::units::{MonoTime, Priority, PriorityMask};

/// Between two readings of a port.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

/// The engine with the ports of one node, and what it has told.
pub(crate) struct Node {
    pub(crate) engine: Engine,
    pub(crate) now: MonoTime,
    pub(crate) events: Vec<Event>,
    /// Orders to the actuator that were not answered yet.
    pub(crate) orders: Vec<Order>,
    ports: BTreeMap<PortKey, NodePort>,
}

struct NodePort {
    layout: Vec<Bound>,
    /// Native values, in the order of the layout.
    values: Vec<u64>,
}

/// What a port of the node is like.
pub(crate) struct Plan<'a> {
    pub(crate) driver: &'a str,
    pub(crate) identity: PortIdentity,
    /// `None` if the kernel does not tell the mask.
    pub(crate) pfc: Option<PriorityMask>,
    pub(crate) pause: Option<PauseConfig>,
    pub(crate) speed_mbps: Option<u64>,
}

impl Node {
    pub(crate) fn new(settings: Settings) -> Self {
        let mut node = Self {
            engine: Engine::new(settings),
            now: MonoTime::from_millis(1_000_000),
            events: Vec::new(),
            orders: Vec::new(),
            ports: BTreeMap::new(),
        };
        let journal = JournalState { writable: true, seed: 1, ..JournalState::default() };
        node.tell(Input::Journal(Box::new(journal)));
        node
    }

    pub(crate) fn tell(&mut self, input: Input) {
        for effect in self.engine.handle(self.now, &input) {
            match effect {
                Effect::Emit(event) => self.events.push(*event),
                Effect::Act(order) => self.orders.push(*order),
                Effect::Withdraw(..) | Effect::Pace(..) | Effect::AskGuard => {}
            }
        }
    }

    /// Adds a port with all the counters of its driver, each at `value` of the fixture's number.
    pub(crate) fn add(&mut self, plan: Plan<'_>, value: impl Fn(u64) -> u64) -> PortKey {
        let (layout, values) = layout_of(plan.driver);
        self.add_port(plan, layout, values.into_iter().map(value).collect())
    }

    /// Adds a port with every counter of the catalogue, whatever its driver could count.
    pub(crate) fn add_complete(&mut self, plan: Plan<'_>) -> PortKey {
        let layout = complete_layout();
        let values = (1..).take(layout.len()).collect();
        self.add_port(plan, layout, values)
    }

    fn add_port(&mut self, plan: Plan<'_>, layout: Vec<Bound>, values: Vec<u64>) -> PortKey {
        let key = PortKey(u16::try_from(self.ports.len()).unwrap());
        let bound = BoundPort {
            port: key,
            identity: plan.identity.clone(),
            layout: layout.clone(),
            refresh: None,
            actions: ActionKind::ALL.to_vec(),
            unsupported: Vec::new(),
        };
        self.tell(Input::Bound(bound));
        self.tell(Input::Link(PortLink {
            port: key,
            netdev: plan.identity.netdev,
            carrier: Some(true),
            speed_mbps: plan.speed_mbps,
            mtu: Some(9000),
            bond: None,
            carrier_changes: Some(2),
            packets: Some(0),
        }));
        self.tell(Input::Dcb(PortDcb { port: key, pfc: plan.pfc, owner: DcbOwner::Host, headroom: None }));
        self.tell(Input::Pause(PortPause { port: key, pause: plan.pause, prevention_timeout_ms: None }));
        self.ports.insert(key, NodePort { layout, values });
        key
    }

    /// Takes the carrier from a port.
    pub(crate) fn lose_carrier(&mut self, key: PortKey) {
        let view = self.snapshot().ports.into_iter().find(|view| view.key == key).unwrap();
        self.tell(Input::Link(PortLink { carrier: Some(false), ..view.link }));
    }

    /// Answers every plan that was ordered: done, and the queue moves.
    pub(crate) fn carry_out(&mut self) {
        for order in std::mem::take(&mut self.orders) {
            let Order::Do(plan) = order else { continue };
            let outcome = Outcome::Acted { result: ActionResult::Ok, put_back: PutBack::NotNeeded };
            self.now = self.now + Duration::from_millis(20);
            let report = Report::new(outcome, None);
            self.tell(Input::Outcome(Ended { action: plan.id, report }));
        }
    }

    /// Lets `INTERVAL` pass and reads every port, after `change` has moved the counters of each.
    pub(crate) fn read(&mut self, mut change: impl FnMut(PortKey, Slot, &mut u64)) {
        self.now = self.now + INTERVAL;
        let keys: Vec<_> = self.ports.keys().copied().collect();
        for key in keys {
            let port = self.ports.get_mut(&key).unwrap();
            for (bound, value) in port.layout.iter().zip(&mut port.values) {
                // Told in held units, kept as the driver counts.
                let mut held = *value * bound.scale;
                change(key, bound.slot, &mut held);
                *value = held / bound.scale;
            }
            let (at, took, values) = (self.now, Duration::from_micros(800), port.values.clone());
            self.tell(Input::Reading(Reading { port: key, at, took, values }));
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.engine.snapshot(self.now)
    }
}

/// Port `index` of `driver`, as a node of eight has them.
pub(crate) fn identity(driver: &str, device: &str, index: usize) -> PortIdentity {
    PortIdentity {
        link_layer: "Ethernet".into(),
        netdev: format!("eth{index}"),
        device: format!("{device}_{index}"),
        port: "1".into(),
        driver: driver.into(),
        driver_version: "6.12.0".into(),
        firmware_version: "28.42.1000".into(),
        pci_address: format!("0000:{index:02x}:00.0"),
        numa_node: Some(0),
        ifindex: None,
        sysfs_inode: None,
    }
}

/// Every counter of the catalogue, of every priority.
fn complete_layout() -> Vec<Bound> {
    let slots = Counter::ALL.iter().flat_map(|counter| {
        let of_priorities = Priority::ALL.iter().filter_map(|p| Slot::of_priority(*counter, *p).ok());
        of_priorities.chain(Slot::of_port(*counter).ok())
    });
    let bound = |(from, slot): (u32, Slot)| {
        let kind = if slot.counter().is_gauge() { Kind::Gauge } else { Kind::Counter };
        let (width, overflow) = (Width::W64, Overflow::Wrap);
        Bound { slot, from, from_upper: None, scale: 1, width, overflow, kind, rank: 0 }
    };
    (0..).zip(slots).map(bound).collect()
}

/// Every counter that the fixture of `driver` names, RDMA counters among them, with its number. mlx5 names pause
/// counters of the priorities whose PFC is on: of priority 3 in the fixture, here of 4 as well.
fn layout_of(driver: &str) -> (Vec<Bound>, Vec<u64>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(driver);
    let table = drivers::for_driver(driver);
    let mut bound: BTreeMap<Slot, (Bound, u64)> = BTreeMap::new();
    let text = fs::read_to_string(folder.join("ethtool.txt")).unwrap();
    let fourth = text.lines().filter(|line| line.contains("_prio3_pause"));
    let fourth: Vec<_> = fourth.map(|line| line.replace("_prio3_", "_prio4_")).collect();
    let (names, values) = lines(&format!("{text}{}", fourth.join("\n")));
    take(&mut bound, &Binding::new(table, &names), &values);
    if let Ok(text) = fs::read_to_string(folder.join("rdma.txt")) {
        let (names, values) = lines(&text);
        take(&mut bound, &Binding::rdma(table, &names), &values);
    }
    bound.into_values().unzip()
}

fn take(all: &mut BTreeMap<Slot, (Bound, u64)>, binding: &Binding, values: &[u64]) {
    let mut picked = Vec::new();
    binding.pick(values, &mut picked).unwrap();
    for (bound, value) in binding.layout().iter().zip(picked) {
        all.entry(bound.slot).or_insert((*bound, value));
    }
}

/// `name: value` per line, the value behind the last colon.
fn lines(text: &str) -> (Vec<String>, Vec<u64>) {
    let pair = |line: &str| {
        let (name, value) = line.rsplit_once(':')?;
        Some((name.trim().to_owned(), value.trim().parse::<u64>().ok()?))
    };
    text.lines().filter_map(pair).unzip()
}
