//! One port of a simulated node: a host's link to one fabric, and when it is read.

use std::sync::Arc;
use std::time::Duration;

use rocewatch_core::action::PauseConfig;
use rocewatch_core::binding::{Binding, Bound};
use rocewatch_core::ids::{PortIdentity, PortKey};
use rocewatch_core::input::{BoundPort, DcbOwner, Input, Reading};
use rocewatch_core::sim::fabric::{Fabric, LOSSLESS, Make, SPEED_MBPS};
use rocewatch_core::snapshot::CounterView;
use rocewatch_core::units::{MonoTime, PriorityMask};

use crate::export::stats::{Collector, PortStats};
use crate::node::{Offer, Seen};
use crate::sources::{PortFacts, RdmaView};
use crate::sys::dcb::{DcbSettings, Trust};
use crate::sys::ethtool_replies::FecCounts;
use crate::sys::link::LinkStats;
use crate::sys::rdma_wire::{NodeType, PhysicalState, PortState, Protocol};

/// Bytes of a packet: what RoCE sends over an MTU of 4096.
const PACKET_BYTES: u64 = 4178;
const MTU_BYTES: u32 = 4200;
/// What mlx5 breaks a pause of its own off after.
const PREVENTION_MS: u16 = 8000;
/// What a read of mlx5 takes.
const READ_TAKES: Duration = Duration::from_micros(300);

/// What all ports of a fleet have in common.
pub(super) struct Kind {
    pub(super) make: Make,
    binding: Binding,
    rdma: Binding,
    facts: PortFacts,
}

impl Default for Kind {
    fn default() -> Self {
        let make = Make::default();
        let lossless = Some(PriorityMask::of(LOSSLESS).0);
        let dcb = DcbSettings {
            pfc: lossless,
            peer_pfc: lossless,
            trust: Some(Trust::Dscp),
            dcbx: None,
            buffers: None,
        };
        let fec =
            FecCounts { corrected_blocks: Some(0), uncorrectable_blocks: Some(0), corrected_bits: Some(0) };
        let facts = PortFacts {
            dcb: Some(dcb),
            prevention_timeout_ms: Some(PREVENTION_MS),
            fec: Some(fec),
            ..PortFacts::default()
        };
        Self {
            binding: Binding::new(make.driver(), make.names()),
            rdma: Binding::rdma(make.driver(), make.rdma_names()),
            make,
            facts,
        }
    }
}

/// See the module.
pub(super) struct Port {
    pub(super) key: PortKey,
    identity: PortIdentity,
    host: usize,
    stats: Arc<PortStats>,
    interval: Duration,
    pub(super) due: MonoTime,
    /// Memory for what is read.
    raw: Vec<u64>,
    values: Vec<u64>,
}

impl Port {
    /// The port of a host to the fabric with number `plane`, first read at `due`.
    pub(super) fn new(
        plane: usize,
        host: usize,
        stats: Arc<PortStats>,
        interval: Duration,
        due: MonoTime,
    ) -> Self {
        let number = plane as u32 + 1;
        let identity = PortIdentity {
            netdev: format!("ens{number}f0np0"),
            device: format!("mlx5_{plane}"),
            port: "1".into(),
            link_layer: "Ethernet".into(),
            driver: "mlx5_core".into(),
            driver_version: "simulated".into(),
            firmware_version: "simulated".into(),
            pci_address: format!("0000:{:02x}:00.0", 0x3b + plane * 0x20),
            numa_node: Some(plane as u32),
            ifindex: Some(number),
            sysfs_inode: None,
        };
        Self {
            key: PortKey(plane as u16),
            identity,
            host,
            stats,
            interval,
            due,
            raw: Vec::new(),
            values: Vec::new(),
        }
    }

    /// What an engine is told of it first.
    pub(super) fn introduction(&self, kind: &Kind, fabric: &Fabric) -> Vec<Input> {
        self.stats.note_facts(kind.facts.clone());
        let levers = kind.make.driver().caps.levers;
        let offer =
            Offer::of(|kind| levers.disruption(kind).is_none().then(|| "mlx5 has no lever for it".into()));
        let bound = BoundPort {
            port: self.key,
            identity: self.identity.clone(),
            layout: kind.binding.layout().to_vec(),
            refresh: None,
            actions: offer.actions,
            unsupported: offer.unsupported,
        };
        let seen = self.seen(fabric);
        let link = Input::Link(seen.link(self.key));
        [Input::Bound(bound), link].into_iter().chain(seen.settings(self.key)).collect()
    }

    /// Its link, at a look that comes each second.
    pub(super) fn look(&self, fabric: &Fabric) -> Input {
        let seen = self.seen(fabric);
        if let Some(stats) = seen.stats {
            self.stats.note_statistics(stats);
        }
        Input::Link(seen.link(self.key))
    }

    fn seen(&self, fabric: &Fabric) -> Seen {
        let [rx_packets, tx_packets] = fabric.packets(self.host);
        let (rx_bytes, tx_bytes) = (rx_packets * PACKET_BYTES, tx_packets * PACKET_BYTES);
        Seen {
            id: u64::from(self.key.0),
            netdev: self.identity.netdev.clone(),
            physical: true,
            carrier: Some(true),
            speed_mbps: Some(SPEED_MBPS),
            mtu: Some(MTU_BYTES),
            carrier_changes: Some(0),
            stats: Some(LinkStats { rx_packets, tx_packets, rx_bytes, tx_bytes, ..LinkStats::default() }),
            pfc: Some((Some(PriorityMask::of(LOSSLESS)), DcbOwner::Host)),
            pause: Some((Some(PauseConfig { rx: false, tx: false }), Some(PREVENTION_MS))),
            ..Seen::default()
        }
    }

    /// The reading of the time `at`, up to which the fabric has moved. Its memory is given back with [`Port::take_back`].
    pub(super) fn read(&mut self, kind: &Kind, fabric: &Fabric, at: MonoTime) -> Reading {
        self.stats.note_poll(at.since(self.due), self.interval);
        kind.make.read(fabric, self.host, &mut self.raw);
        let mut values = std::mem::take(&mut self.values);
        kind.binding.pick(&self.raw, &mut values).expect("the names of a fabric's port never change");
        self.stats.note_read(Collector::Simulation, READ_TAKES, Ok(()));
        self.due = (self.due + self.interval).max(at);
        Reading { port: self.key, at, took: READ_TAKES, values }
    }

    pub(super) fn take_back(&mut self, reading: Reading) {
        self.values = reading.values;
    }

    /// Is read every `interval` from `now` on.
    pub(super) fn set_interval(&mut self, interval: Duration, now: MonoTime) {
        self.due = self.due.min(now + interval);
        self.interval = interval;
    }

    /// Its RDMA device, with what that counts.
    pub(super) fn rdma(&mut self, kind: &Kind, fabric: &Fabric) -> RdmaView {
        kind.make.read_rdma(fabric, self.host, &mut self.raw);
        let counter = |bound: &Bound| CounterView {
            slot: bound.slot,
            value: self.raw[bound.from as usize] * bound.scale,
            saturated: false,
        };
        RdmaView {
            device: self.identity.device.clone(),
            port: self.identity.port.clone(),
            netdev: self.identity.netdev.clone(),
            ifindex: self.identity.ifindex,
            link_layer: self.identity.link_layer.clone(),
            protocol: Some(Protocol::Roce),
            node_type: Some(NodeType::Ca),
            driver: self.identity.driver.clone(),
            state: Some(PortState::Active),
            physical_state: Some(PhysicalState::LinkUp),
            counters: kind.rdma.layout().iter().map(counter).collect(),
            ..RdmaView::default()
        }
    }
}
