//! Ports of a simulated node, in real time: for the demo and for tests. Everything after this is the agent itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rocewatch_core::action::{Op, PortConfig};
use rocewatch_core::ids::PortIdentity;
use rocewatch_core::input::{DcbOwner, SourceRefresh};
use rocewatch_core::sim::nic::Nic;
use rocewatch_core::sim::path::Path;
use rocewatch_core::sim::peer::Script;
use rocewatch_core::sim::random::Random;
use rocewatch_core::sim::scenario::PortSpec;
use rocewatch_core::units::{Direction, MonoTime, Queue};

use super::{Node, NodeError, Offer, Offering, Seen};
use crate::actuate::Machine;
use crate::clock;
use crate::sources::{NvmfControllers, NvmfFacts, NvmfSeen, NvmfTransport, ReadError, Source};
use crate::sys::link::LinkStats;

/// Ethernet frames of storage and collectives: full ones of an MTU of 4200.
const FRAME_BYTES: u64 = 4200;

/// A keep-alive shorter than the kernel's 5 s, so that a storm of seconds is felt.
const KEEP_ALIVE: Duration = Duration::from_millis(1500);
/// What the kernel's 10 s are in the demo.
const RECONNECT_DELAY: Duration = Duration::from_secs(3);
/// How often the simulated controllers are looked at. Those of a kernel change more slowly, and are looked at less often.
const NVMF_EVERY: Duration = Duration::from_millis(100);

/// One port: what it is called, what it is, and what its peer does to it.
pub struct SimulatedPort {
    /// Its netdev.
    pub netdev: String,
    /// Its RDMA device.
    pub device: String,
    /// Its address on the bus.
    pub pci_address: String,
    /// What it is.
    pub spec: PortSpec,
    /// What happens to its queues.
    pub scripts: [[Script; 2]; Queue::COUNT],
}

struct Port {
    identity: PortIdentity,
    spec: PortSpec,
    nic: Shared,
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Nic>>);

impl Shared {
    /// The NIC, caught up with the present.
    fn now(&self) -> (MutexGuard<'_, Nic>, MonoTime) {
        let mut nic = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::now();
        nic.advance(now);
        (nic, now)
    }
}

/// See the module.
pub struct SimulatedNode {
    ports: Vec<Port>,
}

impl SimulatedNode {
    /// A node of these ports, which exist from `start` on. The same seed makes the same counters.
    #[must_use]
    pub fn new(ports: Vec<SimulatedPort>, start: MonoTime, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let ports = ports.into_iter().map(|port| Port {
            identity: PortIdentity {
                netdev: port.netdev,
                device: port.device,
                port: "1".into(),
                link_layer: "Ethernet".into(),
                driver: port.spec.driver.clone(),
                driver_version: "simulated".into(),
                pci_address: port.pci_address,
                ..PortIdentity::default()
            },
            nic: Shared(Arc::new(Mutex::new(Nic::new(&port.spec, port.scripts, start, random.fork())))),
            spec: port.spec,
        });
        Self { ports: ports.collect() }
    }

    /// One NVMe-oF controller over each port, on the priority `carried_by`: as many paths to one subsystem.
    #[must_use]
    pub fn controllers(&self, carried_by: Queue) -> NvmfControllers {
        let paths = self.ports.iter().zip(0..).map(|(port, number)| {
            let path = Path::new(KEEP_ALIVE, RECONNECT_DELAY, port.nic.now().1);
            (port.nic.clone(), path, controller(number, &port.identity.netdev))
        });
        let mut paths = paths.collect::<Vec<_>>();
        NvmfControllers::simulated(NVMF_EVERY, move |at| {
            let look = |(nic, path, seen): &mut (Shared, Path, NvmfSeen)| {
                let (nic, now) = nic.now();
                let paused = nic.paused_between(carried_by, Direction::Rx, at.before(NVMF_EVERY), now);
                let held = nic.honours(carried_by, Direction::Rx) && paused >= NVMF_EVERY / 2;
                NvmfSeen { state: Some(path.look(held, now)), ..seen.clone() }
            };
            paths.iter_mut().map(look).collect()
        })
    }

    fn port(&self, seen: &Seen) -> Option<&Port> {
        self.ports.iter().find(|port| port.identity.netdev == seen.netdev)
    }
}

fn controller(number: u64, netdev: &str) -> NvmfSeen {
    let facts = NvmfFacts {
        subsystem: "nqn.2026-01.demo:storage".into(),
        transport: NvmfTransport::Rdma,
        address: format!("192.0.2.{}:4420", number + 1),
        host_address: String::new(),
        queues: Some(9),
        timeouts: vec![
            ("keep_alive", KEEP_ALIVE),
            ("reconnect_delay", RECONNECT_DELAY),
            ("ctrl_loss", Duration::from_secs(600)),
        ],
    };
    let (key, interface) = ((format!("nvme{number}"), number), netdev.to_owned());
    NvmfSeen { key, facts, state: None, netdevs: vec![interface.clone()], interface }
}

impl Node for SimulatedNode {
    fn scan(&mut self) -> Result<Vec<Seen>, NodeError> {
        let seen = self.ports.iter().zip(1..).map(|(port, id)| {
            let (nic, _) = port.nic.now();
            let config = nic.config();
            let packets = nic.packets();
            Seen {
                id,
                netdev: port.identity.netdev.clone(),
                physical: true,
                flavour: "",
                carrier: Some(nic.has_carrier()),
                speed_mbps: nic.has_carrier().then_some(port.spec.speed_mbps),
                mtu: Some(FRAME_BYTES as u32),
                bond: port.spec.bond.clone(),
                carrier_changes: Some(nic.link_downs() * 2),
                stats: Some(LinkStats {
                    rx_packets: packets / 2,
                    tx_packets: packets - packets / 2,
                    rx_bytes: packets / 2 * FRAME_BYTES,
                    tx_bytes: (packets - packets / 2) * FRAME_BYTES,
                    ..LinkStats::default()
                }),
                pfc: Some((config.pfc, DcbOwner::Host)),
                pause: Some((config.pause, config.prevention_timeout_ms)),
                in_band: false,
            }
        });
        Ok(seen.collect())
    }

    fn identity(&mut self, seen: &Seen) -> PortIdentity {
        self.port(seen).map(|port| port.identity.clone()).unwrap_or_default()
    }

    fn source(&mut self, seen: &Seen) -> Result<Option<Box<dyn Source>>, NodeError> {
        let source = self.port(seen).map(|port| SimulatedSource { nic: port.nic.clone(), revision: 0 });
        Ok(source.map(|source| Box::new(source) as Box<dyn Source>))
    }

    fn machine(&mut self, seen: &Seen) -> Arc<dyn Machine> {
        match self.port(seen) {
            Some(port) => Arc::new(SimulatedMachine(port.nic.clone())),
            None => Arc::new(super::CommandsOnly),
        }
    }

    fn offer(&mut self, _seen: &Seen) -> Offering {
        Offering::Known(Offer::of(|_| None))
    }

    /// Nobody tells when a simulated link or mask changes.
    fn pace(&self) -> Duration {
        Duration::from_millis(100)
    }
}

struct SimulatedSource {
    nic: Shared,
    revision: u64,
}

impl Source for SimulatedSource {
    fn names(&mut self) -> Result<Vec<String>, ReadError> {
        let (nic, _) = self.nic.now();
        self.revision = nic.names_revision();
        Ok(nic.names().to_vec())
    }

    fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
        let (mut nic, now) = self.nic.now();
        if nic.names_revision() != self.revision {
            return Err(ReadError::NamesChanged);
        }
        nic.read(now, values);
        Ok(())
    }

    fn refresh(&self) -> Option<SourceRefresh> {
        Some(SourceRefresh::Every(self.nic.now().0.refresh()))
    }
}

struct SimulatedMachine(Shared);

impl Machine for SimulatedMachine {
    fn config(&self, _about: &[Op]) -> Result<PortConfig, String> {
        Ok(self.0.now().0.config())
    }

    fn apply(&self, op: &Op) -> Result<(), String> {
        let (mut nic, now) = self.0.now();
        nic.apply(op, now)
    }
}
