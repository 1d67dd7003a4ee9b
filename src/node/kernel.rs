//! The network devices of this machine, as its kernel tells of them.

use std::path::Path;
use std::time::Duration;

use rocewatch_core::ids::PortIdentity;

use super::{Node, NodeError, Seen};
use crate::sources::{EthtoolSource, Source};
use crate::sys::ethtool::{DriverInfo, Ethtool};
use crate::sys::link::Link;
use crate::sys::netdev::NetdevName;
use crate::sys::rtnl::Rtnl;
use crate::sys::sysfs_net::SysfsNet;

/// A list of links is one request; a kernel that takes longer is held up by somebody else's rtnl lock.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// See the module.
pub struct KernelNode {
    rtnl: Rtnl,
    ethtool: Ethtool,
    sysfs: SysfsNet,
}

impl KernelNode {
    /// Opens the sockets. `sysfs` is where sysfs is mounted.
    ///
    /// # Errors
    /// If the kernel gives none.
    pub fn open(sysfs: &Path) -> Result<Self, NodeError> {
        Ok(Self {
            rtnl: Rtnl::open(LIST_TIMEOUT).map_err(|error| NodeError::of(&error))?,
            ethtool: Ethtool::open().map_err(|error| NodeError::of(&error))?,
            sysfs: SysfsNet::new(sysfs),
        })
    }

    fn seen(&self, link: &Link, links: &[Link]) -> Seen {
        let master = link.master_ifindex.and_then(|index| links.iter().find(|other| other.ifindex == index));
        let bond = master.filter(|master| master.kind.as_deref() == Some("bond"));
        Seen {
            id: u64::from(link.ifindex),
            netdev: link.name.as_str().to_owned(),
            physical: self.is_physical(link),
            carrier: link.carrier,
            // A link without carrier has no speed, and asking costs some drivers a firmware command.
            speed_mbps: match link.carrier {
                Some(true) | None => self.sysfs.speed_mbps(link.name).map(u64::from),
                Some(false) => None,
            },
            mtu: link.mtu,
            bond: bond.map(|master| master.name.as_str().to_owned()),
            carrier_changes: link.carrier_changes.map(u64::from),
            stats: link.stats,
            pfc: None,
            pause: None,
        }
    }

    /// Hardware has a device on a bus; a virtual function of it says whose it is, a representor and every software
    /// device have none of their own.
    fn is_physical(&self, link: &Link) -> bool {
        let on_bus = link.parent.is_some() || self.sysfs.bus_device(link.name).is_some();
        on_bus
            && link.kind.is_none()
            && !link.is_loopback
            && self.sysfs.physical_function(link.name).is_none()
    }
}

impl Node for KernelNode {
    fn scan(&mut self) -> Result<Vec<Seen>, NodeError> {
        let links = self.rtnl.dump_links().map_err(|error| NodeError::of(&error))?;
        Ok(links.iter().map(|link| self.seen(link, &links)).collect())
    }

    fn identity(&mut self, seen: &Seen) -> PortIdentity {
        let Ok(name) = NetdevName::new(&seen.netdev) else {
            return PortIdentity { netdev: seen.netdev.clone(), ..PortIdentity::default() };
        };
        let info = self.ethtool.driver_info(name).unwrap_or(DriverInfo {
            driver: String::new(),
            version: None,
            firmware_version: None,
            bus_info: None,
        });
        let address = self.sysfs.bus_device(name).map(|device| device.address).or(info.bus_info);
        PortIdentity {
            netdev: seen.netdev.clone(),
            driver: info.driver,
            driver_version: info.version.unwrap_or_default(),
            firmware_version: info.firmware_version.unwrap_or_default(),
            pci_address: address.unwrap_or_default(),
            numa_node: self.sysfs.numa_node(name),
            ..PortIdentity::default()
        }
    }

    fn source(&mut self, seen: &Seen) -> Result<Option<Box<dyn Source>>, NodeError> {
        let name = NetdevName::new(&seen.netdev).map_err(|error| NodeError::of(&error))?;
        let source = EthtoolSource::open(name).map_err(|error| NodeError { what: error.to_string() })?;
        Ok(source.map(|source| Box::new(source) as Box<dyn Source>))
    }
}
