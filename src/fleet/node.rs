//! One node of the fleet: its engine, its ports, and what others may see of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rocewatch_core::engine::Engine;
use rocewatch_core::event::{Event, EventKind};
use rocewatch_core::input::{Effect, Input, JournalState};
use rocewatch_core::sim::fabric::{Fabric, Shape};
use rocewatch_core::snapshot::Snapshot;
use rocewatch_core::units::MonoTime;
use tokio::sync::watch;

use super::port::{Kind, Port};
use crate::agent::moment;
use crate::config::Config;
use crate::control::note_accepted;
use crate::export::stats::AgentStats;
use crate::http::{AppState, EventHub, Limits, Member};

/// Ports of a node, each on a fabric of its own.
pub(super) const PORTS: usize = 2;
/// The node is looked at, and shown, this often, and soon after an event.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const SHOW_AFTER_EVENT: Duration = Duration::from_millis(100);
/// Events that are kept, and that wait for a follower: a fleet has many nodes, and few are followed.
const EVENTS: usize = 64;

/// See the module.
pub(super) struct Node {
    name: String,
    place: BTreeMap<&'static str, String>,
    engine: Engine,
    ports: Vec<Port>,
    pub(super) stats: Arc<AgentStats>,
    events: EventHub,
    snapshots: watch::Sender<Arc<Snapshot>>,
    look_at: MonoTime,
    show_at: MonoTime,
    /// When the engine has something to do by itself.
    deadline: Option<MonoTime>,
    /// Storms that began.
    pub(super) storms: u64,
}

/// The fabrics, and what is the same for all of their ports.
pub(super) struct World {
    pub(super) kind: Kind,
    pub(super) planes: [Fabric; PORTS],
}

impl Node {
    /// The node of a host. `offset` of a second keeps the nodes from doing everything at the same time.
    pub(super) fn new(host: usize, config: &Config, world: &World, now: MonoTime, offset: Duration) -> Self {
        let stats = Arc::new(AgentStats::default());
        note_accepted(&stats, config);
        let interval = config.settings.poll.calm;
        let first = now + offset.min(interval);
        let ports = (0..PORTS).zip([first, first + interval / 2]).map(|(plane, due)| {
            let port = rocewatch_core::ids::PortKey(plane as u16);
            Port::new(plane, host, stats.port(port), interval, due)
        });
        let mut node = Self {
            name: name(host),
            place: place(host, world.planes[0].shape()),
            engine: Engine::new(config.settings.clone()),
            ports: ports.collect(),
            events: EventHub::of_size(EVENTS, EVENTS, Arc::clone(&stats)),
            snapshots: watch::channel(Arc::new(Snapshot::default())).0,
            stats,
            look_at: now + offset,
            show_at: now,
            deadline: None,
            storms: 0,
        };
        let journal = JournalState { writable: true, seed: host as u64, ..JournalState::default() };
        node.take(now, &Input::Journal(Box::new(journal)));
        for plane in 0..PORTS {
            for input in node.ports[plane].introduction(&world.kind, &world.planes[plane]) {
                node.take(now, &input);
            }
        }
        node.show(now);
        node.stats.note_discovered();
        node
    }

    /// What a server shows of it.
    pub(super) fn member(&self, limits: &Limits) -> Member {
        let state = AppState {
            snapshots: self.snapshots.subscribe(),
            events: self.events.clone(),
            stats: Arc::clone(&self.stats),
            clock: Arc::new(moment),
            limits: limits.clone(),
        };
        Member { name: self.name.clone(), labels: self.place.clone(), state }
    }

    /// Does what is due at `now`, up to which the fabrics have moved.
    pub(super) fn advance(&mut self, world: &World, now: MonoTime) {
        for plane in 0..PORTS {
            if self.ports[plane].due <= now {
                let reading = self.ports[plane].read(&world.kind, &world.planes[plane], now);
                let input = Input::Reading(reading);
                self.take(now, &input);
                if let Input::Reading(reading) = input {
                    self.ports[plane].take_back(reading);
                }
            }
        }
        if self.deadline.is_some_and(|at| at <= now) {
            self.take(now, &Input::Tick);
        }
        if self.look_at <= now {
            self.look(world, now);
        }
        if self.show_at <= now {
            self.show(now);
        }
    }

    fn look(&mut self, world: &World, now: MonoTime) {
        self.look_at = (self.look_at + LOOK_EVERY).max(now);
        self.show_at = now;
        for plane in 0..PORTS {
            let link = self.ports[plane].look(&world.planes[plane]);
            self.take(now, &link);
        }
        let devices = self.ports.iter_mut().zip(&world.planes);
        self.stats.note_rdma(devices.map(|(port, fabric)| port.rdma(&world.kind, fabric)).collect());
    }

    fn show(&mut self, now: MonoTime) {
        self.show_at = MonoTime::MAX;
        self.snapshots.send_replace(Arc::new(self.engine.snapshot(now)));
    }

    fn take(&mut self, now: MonoTime, input: &Input) {
        for effect in self.engine.handle(now, input) {
            match effect {
                Effect::Emit(event) => self.tell(Arc::from(event), now),
                Effect::Pace(key, interval) => {
                    if let Some(port) = self.ports.iter_mut().find(|port| port.key == key) {
                        port.set_interval(interval, now);
                    }
                }
                // Nothing is acted on in a mode below enforce, and there is no fleet beyond this one to ask.
                Effect::Act(_) | Effect::Withdraw(..) | Effect::AskGuard => {}
            }
        }
        self.deadline = self.engine.next_deadline();
    }

    fn tell(&mut self, event: Arc<Event>, now: MonoTime) {
        self.storms += u64::from(matches!(event.kind, EventKind::StormDetected { .. }));
        self.show_at = self.show_at.min(now + SHOW_AFTER_EVENT);
        self.events.publish(event);
    }
}

/// The name of a host's node.
pub(super) fn name(host: usize) -> String {
    format!("node-{host:04}")
}

/// Where a host's node is, as labels.
fn place(host: usize, shape: &Shape) -> BTreeMap<&'static str, String> {
    let leaf = shape.leaf(host);
    BTreeMap::from([
        ("cluster", "demo".to_owned()),
        ("rack", format!("rack-{leaf:03}")),
        ("leaf", format!("leaf-{leaf:03}")),
    ])
}
