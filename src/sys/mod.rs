//! The kernel's edge: what the agent asks of Linux, and the decoding of what comes back. In reading order.
//!
//! The only folder with `unsafe`, and of that only `ethtool_ioctl`, `peer`, `oom` and the counting of allocations in tests.
//! Nothing here decides or reads a clock. What changes the machine is called by the ports of `node` alone, on an order of the engine.

pub mod uapi;
pub mod netdev;

mod ethtool_ioctl;
pub mod ethtool_answer;
pub mod ethtool;

pub mod netlink_wire;
pub mod netlink;
mod multicast;
pub mod link;
mod route;
pub mod rtnl;
pub mod link_watch;
pub mod renames;
pub mod dcb;

pub mod genl;
pub mod ethtool_replies;
pub mod ethtool_genl;
pub mod devlink;
pub mod settings_watch;

pub mod rdma_wire;
pub mod rdma;

pub mod sysfs_net;
pub mod peer;
pub mod oom;

#[cfg(test)]
pub(crate) mod allocations;
#[cfg(test)]
#[path = "../../tests/namespace/mod.rs"]
pub(crate) mod namespace;
