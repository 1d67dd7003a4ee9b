//! NVMe over fabrics: this host's controllers and, where nvmet serves some, what it serves.
//!
//! ```text
//! class/nvme, class/nvme-subsystem ─▶ tree ─▶ controllers ─▶ follow ─▶ NvmfView ─▶ metrics
//!      (states every second)                      │    ▲         └──▶ NvmfChange ─▶ engine
//! kernel/config/nvmet ─▶ target ──────────────────┘    └── carrier: routes, on a thread of its own
//! ```
//!
//! Only files with a name that stands here are read: others of a controller reset or remove it when written, and cannot be
//! read. PCIe, loop and FC are no fabric of this host's ports and are left out, as are controllers of a discovery service.
//! A file that cannot be read or understood costs what stands in it.

mod address;
mod tree;
mod target;
mod carrier;
mod follow;
mod controllers;

use std::time::Duration;

use rocewatch_core::nvmf::NvmfState;
use rocewatch_core::units::MonoTime;

pub use controllers::NvmfControllers;
pub use target::{TargetPort, TargetSubsystem};

/// What there is at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NvmfView {
    /// When it was looked at.
    pub at: MonoTime,
    /// The controllers, by name.
    pub controllers: Vec<NvmfController>,
    /// Their subsystems, by NQN, and those of which no path is left since the agent began.
    pub subsystems: Vec<NvmfSubsystem>,
    /// Ports that nvmet serves on.
    pub target_ports: Vec<TargetPort>,
    /// Subsystems that it has.
    pub target_subsystems: Vec<TargetSubsystem>,
}

/// A controller of this host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NvmfController {
    /// Its name, such as `nvme0`.
    pub name: String,
    /// What does not change while it is there, or seldom.
    pub facts: NvmfFacts,
    /// Its state; `None` if that is none that is known.
    pub state: Option<NvmfState>,
    /// Since when it has not been live, as far as that was seen.
    pub not_live_since: Option<MonoTime>,
    /// The interface it is reached over, as the kernel has it: a bond, perhaps.
    pub interface: String,
    /// The ports below that.
    pub netdevs: Vec<String>,
    /// Changes of its state.
    pub transitions: u64,
    /// Times it became live again.
    pub reconnects: u64,
}

/// What does not change while a controller is there, or seldom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NvmfFacts {
    /// The NQN of its subsystem; empty if that is not told.
    pub subsystem: String,
    /// What carries it.
    pub transport: NvmfTransport,
    /// Where it is reached, such as `192.0.2.1:4420`.
    pub address: String,
    /// Where it is reached from; empty if that is not told.
    pub host_address: String,
    /// Queues, that for administration included.
    pub queues: Option<u64>,
    /// Timeouts that are on, by name.
    pub timeouts: Vec<(&'static str, Duration)>,
}

/// What carries a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NvmfTransport {
    /// RDMA.
    #[default]
    Rdma,
    /// TCP.
    Tcp,
}

impl NvmfTransport {
    /// As the kernel and metrics write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Rdma => "rdma",
            Self::Tcp => "tcp",
        }
    }

    /// Of what the kernel writes; `None` for what is no fabric of network ports.
    fn of_sysfs(text: &str) -> Option<Self> {
        [Self::Rdma, Self::Tcp].into_iter().find(|transport| transport.label() == text)
    }
}

/// A subsystem that this host is or was connected to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NvmfSubsystem {
    /// Its NQN.
    pub nqn: String,
    /// Controllers that lead to it.
    pub paths: u64,
    /// Those of them that are live.
    pub live: u64,
    /// Those that were removed after they had failed.
    pub lost: u64,
}

/// One controller at one look, before anything is known of what it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NvmfSeen {
    /// Its name, and what tells two of one name apart: the kernel gives a name again.
    pub key: (String, u64),
    /// See [`NvmfController::facts`].
    pub facts: NvmfFacts,
    /// See [`NvmfController::state`].
    pub state: Option<NvmfState>,
    /// See [`NvmfController::interface`].
    pub interface: String,
    /// See [`NvmfController::netdevs`].
    pub netdevs: Vec<String>,
}

#[cfg(test)]
mod tests;
