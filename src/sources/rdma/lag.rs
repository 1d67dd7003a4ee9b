//! Whose port an RDMA port is where a bond joins several.
//!
//! One RDMA device serves all slaves of a RoCE LAG (`mlx5_bond_0`), and the kernel names one of the slaves or the bond as
//! its interface. What such a device counts of transport and congestion belongs to all of them, so it is shown under the
//! bond's name and meets no series of a single slave. What it counts of traffic is read from one function.

use std::collections::{BTreeMap, BTreeSet};

use super::RdmaView;
use crate::sys::netdev::NetdevName;
use crate::sys::sysfs_net::SysfsNet;

/// A bond whose slaves one RDMA device serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// The bond.
    pub bond: String,
    /// Its slaves that the device can serve, in the bond's order.
    pub members: Vec<String>,
    /// The slave from whose function traffic is counted; the bond itself for software.
    pub function: String,
}

/// Finds the LAGs among `ports` and gives those ports the bond's name. `function` tells the netdev of the bus device
/// behind an RDMA device.
pub(super) fn join(ports: &mut [RdmaView], net: &SysfsNet, function: impl Fn(&str) -> Option<String>) {
    let netdevs: Vec<_> = ports.iter().map(|port| port.netdev.clone()).collect();
    for port in ports {
        let Some((bond, slaves)) = bond(net, &port.netdev) else { continue };
        // The kernel names the slave that sends at present (`mlx5_lag_get_roce_netdev`), and reads traffic from the
        // device's own function whichever that is (`process_pma_cmd`, mlx5/mad.c, Linux 6.1).
        let function = function(&port.device).filter(|netdev| slaves.contains(netdev));
        let function = function.unwrap_or_else(|| port.netdev.clone());
        let members: Vec<_> = slaves.into_iter().filter(|slave| may_share(net, &function, slave)).collect();
        // Slaves with RDMA ports of their own are no LAG of this one.
        let is_others = |netdev: &String| *netdev != port.netdev && members.contains(netdev);
        if members.len() < 2 || netdevs.iter().any(is_others) {
            continue;
        }
        port.netdev.clone_from(&bond);
        port.lag = Some(Lag { bond, members, function });
    }
}

/// The bond that `netdev` is, or is a slave of, and all its slaves.
fn bond(net: &SysfsNet, netdev: &str) -> Option<(String, Vec<String>)> {
    let name = NetdevName::new(netdev).ok()?;
    let bond = net.bond(name).unwrap_or_else(|| netdev.to_owned());
    let members = net.slaves(NetdevName::new(&bond).ok()?);
    (!members.is_empty()).then_some((bond, members))
}

/// Whether two netdevs can be ports of one NIC: functions of one PCI device, or of devices that are none. A bond may hold
/// a NIC without RDMA beside one with it, and that is no LAG.
fn may_share(net: &SysfsNet, one: &str, other: &str) -> bool {
    let card = |netdev: &str| {
        let device = net.bus_device(NetdevName::new(netdev).ok()?)?;
        Some(device.address.rsplit_once('.')?.0.to_owned())
    };
    match (card(one), card(other)) {
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => true,
    }
}

/// Netdevs that several RDMA devices claim, each with a text that names these: a bond is set up wrongly, or software
/// RDMA runs beside hardware.
pub(super) fn shared(ports: &[RdmaView]) -> BTreeSet<(String, String)> {
    let mut devices: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for port in ports.iter().filter(|port| !port.netdev.is_empty()) {
        devices.entry(&port.netdev).or_default().insert(&port.device);
    }
    let several = devices.into_iter().filter(|(_, devices)| devices.len() > 1);
    several
        .map(|(netdev, devices)| (netdev.to_owned(), devices.into_iter().collect::<Vec<_>>().join(" ")))
        .collect()
}
