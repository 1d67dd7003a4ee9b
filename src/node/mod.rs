//! Where ports are found: in the kernel, in a directory, in a simulation. Each shows the same things of a port, so
//! that everything after it is the same.

mod directory;
mod flavours;
mod in_band;
pub mod port_files;
mod kernel;
mod kernel_port;
mod offer;
mod simulated;

pub use directory::DirectoryNode;
pub use kernel::KernelNode;
pub use offer::{Offer, Offering, Support};
pub use simulated::{SimulatedNode, SimulatedPort};

use std::sync::Arc;
use std::time::Duration;

use rocewatch_core::action::{Op, PauseConfig, PortConfig};
use rocewatch_core::ids::{PortIdentity, PortKey};
use rocewatch_core::input::{DcbOwner, Input, PortDcb, PortLink, PortPause};
use rocewatch_core::units::PriorityMask;

use crate::actuate::Machine;
use crate::sources::{KernelFacts, Source};
use crate::sys::link::LinkStats;

/// One network device, as it is now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The same for as long as the device is there, whatever it is called.
    pub id: u64,
    /// Its name.
    pub netdev: String,
    /// Whether it is a port of the machine: hardware, and no virtual function.
    pub physical: bool,
    /// What sort of port devlink says it is; empty where it says nothing.
    pub flavour: &'static str,
    /// Whether it has a carrier.
    pub carrier: Option<bool>,
    /// Mbit/s.
    pub speed_mbps: Option<u64>,
    /// Bytes.
    pub mtu: Option<u32>,
    /// The bond it is a slave of.
    pub bond: Option<String>,
    /// Times the carrier came or went.
    pub carrier_changes: Option<u64>,
    /// What its interface has carried.
    pub stats: Option<LinkStats>,
    /// PFC mask; outer `None` where nothing tells about DCB at all, inner where it cannot be read.
    pub pfc: Option<(Option<PriorityMask>, DcbOwner)>,
    /// 802.3x pause and prevention timeout, where something tells about them.
    pub pause: Option<(Option<PauseConfig>, Option<u16>)>,
    /// Whether a default route of the node leads over it, or nobody can tell.
    pub in_band: bool,
}

impl Seen {
    /// Its link, as `port`'s.
    #[must_use]
    pub fn link(&self, port: PortKey) -> PortLink {
        PortLink {
            port,
            netdev: self.netdev.clone(),
            carrier: self.carrier,
            speed_mbps: self.speed_mbps,
            mtu: self.mtu,
            bond: self.bond.clone(),
            carrier_changes: self.carrier_changes,
            packets: self.stats.map(|stats| stats.rx_packets.wrapping_add(stats.tx_packets)),
        }
    }

    /// Its settings as far as they come along, as `port`'s.
    #[must_use]
    pub fn settings(&self, port: PortKey) -> Vec<Input> {
        let dcb = self.pfc.map(|(pfc, owner)| Input::Dcb(PortDcb { port, pfc, owner, headroom: None }));
        let pause = self.pause.map(|(pause, prevention_timeout_ms)| {
            Input::Pause(PortPause { port, pause, prevention_timeout_ms })
        });
        dcb.into_iter().chain(pause).collect()
    }
}

/// A place where ports are found.
pub trait Node: Send {
    /// All devices there are.
    ///
    /// # Errors
    /// If none can be listed.
    fn scan(&mut self) -> Result<Vec<Seen>, NodeError>;

    /// Who a device is. Asked once, when it comes or is renamed.
    fn identity(&mut self, seen: &Seen) -> PortIdentity;

    /// Its counters; `None` if it has none.
    ///
    /// # Errors
    /// If they cannot be reached.
    fn source(&mut self, seen: &Seen) -> Result<Option<Box<dyn Source>>, NodeError>;

    /// Who tells what is known of it beside its counters; `None` where that comes with [`Seen`], or not at all.
    fn facts(&mut self, _seen: &Seen) -> Option<KernelFacts> {
        None
    }

    /// What can be done to it: unless the place offers more, commands of the operator run, and nothing is set.
    fn machine(&mut self, _seen: &Seen) -> Arc<dyn Machine> {
        Arc::new(CommandsOnly)
    }

    /// The actions it offers. The operator's command needs nothing from the port. Asked once, when it comes or is renamed.
    fn offer(&mut self, _seen: &Seen) -> Offering {
        Offering::Known(Offer::commands_only("this port is not a device of the kernel"))
    }

    /// How often it is worth a look, apart from events: interface statistics come with it, and what is frozen is
    /// judged by them.
    fn pace(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// A port on which nothing is set.
pub(crate) struct CommandsOnly;

impl Machine for CommandsOnly {
    fn config(&self, _about: &[Op]) -> Result<PortConfig, String> {
        Ok(PortConfig::default())
    }

    fn apply(&self, op: &Op) -> Result<(), String> {
        Err(format!("{op}: not supported on this device"))
    }
}

/// Why nothing can be found.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct NodeError {
    /// In one line, with its cause.
    pub what: String,
}

impl NodeError {
    /// An error and everything that caused it.
    pub fn of(error: &dyn std::error::Error) -> Self {
        let what = crate::sources::with_causes(error);
        Self { what }
    }
}
