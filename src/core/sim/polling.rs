//! How the simulated agent reads: counters at the pace the engine sets, links each second, settings when told.

use std::collections::VecDeque;
use std::time::Duration;

use super::nic::Nic;
use super::scenario::{PortSpec, Told};
use super::world::{Happening, Sink, World};
use crate::action::{ActionKind, PortConfig};
use crate::binding::Binding;
use crate::drivers::Overflow;
use crate::ids::{PortIdentity, PortKey};
use crate::input::{
    BoundPort, DcbOwner, Input, PortDcb, PortLink, PortPause, ReadFailed, Reading, SourceRefresh,
};
use crate::units::MonoTime;

/// Readings whose times are kept: three seconds at the fast pace, for the windows that the judge looks at.
const READINGS_KEPT: usize = 64;

/// A port as the simulated agent sees it.
#[derive(Debug)]
pub(super) struct SimPort {
    pub(super) spec: PortSpec,
    pub(super) nic: Nic,
    /// A device that comes back is another device.
    pub(super) device: u32,
    /// Its key in this run of the agent; `None` while the device is away, or the agent.
    pub(super) key: Option<PortKey>,
    pub(super) present: bool,
    pub(super) original: PortConfig,
    pub(super) owner: DcbOwner,
    pub(super) interval: Duration,
    pub(super) readings_off_until: MonoTime,
    pub(super) errors_until: MonoTime,
    pub(super) frozen_since: MonoTime,
    pub(super) frozen_until: MonoTime,
    /// The carrier is away through an operation of ours until then.
    pub(super) own_flap_until: MonoTime,
    pub(super) acts_take: (Duration, Duration),
    /// When the last readings were taken, the newest last.
    pub(super) read_at: VecDeque<MonoTime>,
    /// The decision window before the newest reading.
    pub(super) detect: Duration,
    /// Nothing that the promise does not speak of has happened since then.
    pub(super) clean_since: MonoTime,
    /// Whether the agent was told last that there is a carrier.
    carrier: bool,
    name: String,
    pci_address: String,
    generation: u64,
    started: MonoTime,
    busy: Busy,
    binding: Option<Binding>,
    bound_revision: u64,
    sampled: Option<Sampled>,
}

/// Whether a read of the port is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Busy {
    Idle,
    Reading { took: Duration },
}

#[derive(Debug)]
struct Sampled {
    at: MonoTime,
    values: Vec<u64>,
    /// Of the names that the values belong to.
    revision: u64,
}

impl SimPort {
    pub(super) fn new(spec: PortSpec, nic: Nic, index: usize, start: MonoTime) -> Self {
        Self {
            original: nic.config(),
            nic,
            spec,
            device: index as u32,
            key: None,
            present: true,
            owner: DcbOwner::Host,
            interval: Duration::from_millis(250),
            readings_off_until: MonoTime::ZERO,
            errors_until: MonoTime::ZERO,
            frozen_since: MonoTime::ZERO,
            frozen_until: MonoTime::ZERO,
            own_flap_until: MonoTime::ZERO,
            acts_take: (Duration::from_millis(1), Duration::from_millis(40)),
            read_at: VecDeque::new(),
            detect: Duration::ZERO,
            clean_since: start,
            carrier: true,
            name: format!("sim{index}"),
            pci_address: format!("0000:{index:02x}:00.0"),
            generation: 0,
            started: start,
            busy: Busy::Idle,
            binding: None,
            bound_revision: 0,
            sampled: None,
        }
    }

    fn identity(&self) -> PortIdentity {
        PortIdentity {
            netdev: self.name.clone(),
            device: format!("roce{}", &self.name[3..]),
            port: "1".into(),
            link_layer: "Ethernet".into(),
            driver: self.spec.driver.clone(),
            driver_version: "6.12.0".into(),
            firmware_version: "1.0.0".into(),
            pci_address: self.pci_address.clone(),
            numa_node: Some(0),
            ifindex: Some(self.device),
            sysfs_inode: None,
        }
    }

    pub(super) fn rename(&mut self) {
        self.name.push('x');
    }

    /// What the engine is told of the port's names.
    fn bound(&mut self) -> Option<BoundPort> {
        let port = self.key?;
        let binding = Binding::new(self.nic.driver(), self.nic.names());
        let mut layout = binding.layout().to_vec();
        if self.spec.counters == super::scenario::Counters::Narrow {
            for bound in layout.iter_mut().filter(|bound| bound.width == crate::drivers::Width::W64) {
                bound.width = crate::drivers::Width::W32;
                bound.overflow = Overflow::Wrap;
            }
        }
        self.binding = Some(binding);
        self.bound_revision = self.nic.names_revision();
        let levers = self.nic.driver().caps.levers;
        let acts = |kind: &ActionKind| *kind != ActionKind::Alert && levers.disruption(*kind).is_some();
        Some(BoundPort {
            port,
            identity: self.identity(),
            layout,
            refresh: (self.spec.refresh_told == Told::Yes)
                .then_some(SourceRefresh::Every(self.nic.refresh())),
            actions: ActionKind::ALL.into_iter().filter(acts).collect(),
            unsupported: Vec::new(),
        })
    }

    fn link(&self, port: PortKey) -> PortLink {
        let carrier = self.nic.has_carrier();
        PortLink {
            port,
            netdev: self.name.clone(),
            carrier: Some(carrier),
            // The kernel calls the speed of a link that is down unknown.
            speed_mbps: carrier.then_some(self.spec.speed_mbps),
            mtu: Some(4200),
            bond: self.spec.bond.clone(),
            carrier_changes: Some(self.nic.link_downs() * 2 + u64::from(!carrier)),
            packets: Some(self.nic.packets()),
        }
    }

    /// Ends whatever read is going on and forgets what the agent knew.
    pub(super) fn forget(&mut self) {
        self.generation += 1;
        self.busy = Busy::Idle;
        self.key = None;
        self.sampled = None;
        self.read_at.clear();
    }

    /// Whether nothing can be seen of the port at `now`, or what is seen is not true.
    pub(super) fn is_blinded(&self, now: MonoTime) -> bool {
        [self.readings_off_until, self.errors_until, self.frozen_until].into_iter().any(|until| now < until)
    }

    /// For how long the counters have not moved, whatever happened.
    pub(super) fn frozen_for(&self, now: MonoTime) -> Duration {
        if now < self.frozen_until { now.since(self.frozen_since) } else { Duration::ZERO }
    }
}

impl World {
    /// Tells the engine about a port, as an agent does that has just found it, and begins to read it.
    pub(super) fn introduce(&mut self, index: usize, key: PortKey, sink: &mut Sink<'_>) {
        let interval = self.settings.poll.calm;
        let now = self.now;
        let port = &mut self.ports[index];
        port.nic.advance(now);
        port.key = Some(key);
        port.interval = interval;
        port.clean_since = now;
        let Some(bound) = port.bound() else { return };
        let (device, owner, driver) = (port.device, port.owner, port.nic.driver());
        self.judge.port(key, device, &bound.identity, driver);
        self.feed(Input::Bound(bound), sink);
        let config = self.ports[index].nic.config();
        self.feed(Input::Dcb(PortDcb { port: key, pfc: config.pfc, owner, headroom: None }), sink);
        let prevention_timeout_ms = config.prevention_timeout_ms;
        self.feed(Input::Pause(PortPause { port: key, pause: config.pause, prevention_timeout_ms }), sink);
        let link = self.ports[index].link(key);
        self.feed(Input::Link(link), sink);
        let first = self.random.span(Duration::ZERO, interval);
        let generation = self.ports[index].generation;
        self.plan(now + first, Happening::Poll { port: index, generation });
    }

    pub(super) fn poll(&mut self, index: usize, generation: u64) {
        let now = self.now;
        let port = &mut self.ports[index];
        if port.generation != generation || port.key.is_none() {
            return;
        }
        port.started = now;
        if self.random.chance(self.poll.lost) || now < port.readings_off_until {
            self.poll_again(index);
            return;
        }
        let took = self.random.span(self.poll.took_min, self.poll.took_max);
        port.busy = Busy::Reading { took };
        self.plan(now + took / 2, Happening::Sample { port: index, generation });
        self.plan(now + took, Happening::Read { port: index, generation });
    }

    /// Plans the next read after one that began last.
    fn poll_again(&mut self, index: usize) {
        let interval = self.poll.jittered(self.ports[index].interval, &mut self.random);
        let port = &mut self.ports[index];
        port.busy = Busy::Idle;
        let (at, generation) = (port.started + interval, port.generation);
        self.plan(at, Happening::Poll { port: index, generation });
    }

    pub(super) fn sample(&mut self, index: usize, generation: u64) {
        let now = self.now;
        let port = &mut self.ports[index];
        if port.generation != generation || port.key.is_none() {
            return;
        }
        let values = port.nic.values_at(now);
        port.sampled = Some(Sampled { at: now, values, revision: port.nic.names_revision() });
    }

    pub(super) fn read(&mut self, index: usize, generation: u64, sink: &mut Sink<'_>) {
        let now = self.now;
        let failed = self.random.chance(self.poll.failed) || now < self.ports[index].errors_until;
        let port = &mut self.ports[index];
        let (Some(key), true) = (port.key, port.generation == generation) else { return };
        let Busy::Reading { took } = port.busy else { return };
        port.busy = Busy::Idle;
        let Some(sampled) = port.sampled.take() else { return };
        if failed {
            self.feed(Input::ReadFailed(ReadFailed { port: key, error: "simulated failure".into() }), sink);
        } else {
            self.take_sample(index, key, sampled, took, sink);
        }
        let port = &self.ports[index];
        // The engine may have set another pace meanwhile, which has planned the next read already.
        if port.generation == generation && port.key.is_some() {
            self.poll_again(index);
        }
    }

    fn take_sample(
        &mut self,
        index: usize,
        port: PortKey,
        sampled: Sampled,
        took: Duration,
        sink: &mut Sink<'_>,
    ) {
        if sampled.revision != self.ports[index].bound_revision {
            if let Some(bound) = self.ports[index].bound() {
                self.feed(Input::Bound(bound), sink);
            }
            self.ports[index].clean_since = self.now;
        }
        let state = &mut self.ports[index];
        // Names that changed within the read: an agent counts them before and after, and tries again.
        if sampled.revision != state.bound_revision {
            return;
        }
        let Some(binding) = &state.binding else { return };
        let mut values = Vec::with_capacity(binding.layout().len());
        if binding.pick(&sampled.values, &mut values).is_err() {
            return;
        }
        state.read_at.push_back(sampled.at);
        if state.read_at.len() > READINGS_KEPT {
            state.read_at.pop_front();
        }
        if let Some(detect) = self.engine.as_ref().and_then(|engine| engine.detect(port)) {
            state.detect = detect;
        }
        self.feed(Input::Reading(Reading { port, at: sampled.at, took, values }), sink);
        self.check_promise(index);
    }

    pub(super) fn set_pace(&mut self, key: PortKey, interval: Duration) {
        let Some(index) = self.ports.iter().position(|port| port.key == Some(key)) else { return };
        self.ports[index].interval = interval;
        if self.ports[index].busy == Busy::Idle {
            self.ports[index].generation += 1;
            self.poll_again(index);
        }
    }

    pub(super) fn tell_link(&mut self, index: usize, sink: &mut Sink<'_>) {
        let now = self.now;
        self.ports[index].nic.advance(now);
        let Some(key) = self.ports[index].key else { return };
        let link = self.ports[index].link(key);
        let carrier = link.carrier == Some(true);
        if std::mem::replace(&mut self.ports[index].carrier, carrier) != carrier {
            self.ports[index].clean_since = now;
        }
        self.feed(Input::Link(link), sink);
    }

    pub(super) fn tell_config(&mut self, index: usize, sink: &mut Sink<'_>) {
        let Some(port) = self.ports[index].key else { return };
        let (config, owner) = (self.ports[index].nic.config(), self.ports[index].owner);
        self.feed(Input::Dcb(PortDcb { port, pfc: config.pfc, owner, headroom: None }), sink);
        let prevention_timeout_ms = config.prevention_timeout_ms;
        self.feed(Input::Pause(PortPause { port, pause: config.pause, prevention_timeout_ms }), sink);
    }

    /// Has the kernel tell about the carrier of a port, now and when it is back.
    pub(super) fn watch_carrier(&mut self, index: usize) {
        let delay = self.random.span(Duration::from_millis(1), Duration::from_millis(30));
        self.plan(self.now + delay, Happening::LinkTold(index));
        if let Some(back) = self.ports[index].nic.carrier_back() {
            self.plan(back + delay, Happening::LinkTold(index));
        }
    }
}
