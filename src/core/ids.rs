//! Names of the things watched. Strings stay at the edge; the decision path works with the dense keys.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// A port of this node, numbered in order of arrival and never reused while the agent runs: a device that
/// comes back is a new port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PortKey(pub u16);

/// One recovery action, from its plan to its undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActionId(pub u64);

/// One storm of one queue, from its detection to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StormId(pub u64);

/// Who a port is. An empty text means that there is no such thing (a netdev without RDMA device).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortIdentity {
    /// The network device, as named now.
    pub netdev: String,
    /// The RDMA device of the port.
    #[serde(default)]
    pub device: String,
    /// The port number within the RDMA device.
    #[serde(default)]
    pub port: String,
    /// What the RDMA port runs over, as the kernel says: `Ethernet` or `InfiniBand`.
    #[serde(default)]
    pub link_layer: String,
    /// The kernel driver.
    #[serde(default)]
    pub driver: String,
    /// Driver version as the driver reports it.
    #[serde(default)]
    pub driver_version: String,
    /// Firmware version as the driver reports it.
    #[serde(default)]
    pub firmware_version: String,
    /// Address on the parent bus, `0000:65:00.0` for PCI.
    #[serde(default)]
    pub pci_address: String,
    /// NUMA node of the device, where the kernel tells.
    #[serde(default)]
    pub numa_node: Option<u32>,
    /// The kernel's number of the network device. One that was lent to a container can have another afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ifindex: Option<u32>,
    /// The inode of the device's folder in sysfs, which it keeps for its life, whatever it is called and wherever it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sysfs_inode: Option<NonZeroU64>,
}
