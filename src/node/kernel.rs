//! The network devices of this machine, as its kernel tells of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rocewatch_core::ids::PortIdentity;

use super::flavours::{Flavours, Ports};
use super::in_band::InBand;
use super::kernel_port::KernelPort;
use super::{Node, NodeError, Offering, Seen};
use crate::actuate::Machine;
use crate::clock;
use crate::sources::{EthtoolSource, KernelFacts, Source};
use crate::sys::devlink::{DevlinkPort, Flavour};
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
    flavours: Flavours,
    in_band: InBand,
    /// Functions of a port that another one stands for, so that each is named once.
    spared: BTreeSet<u64>,
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
            flavours: Flavours::start(),
            in_band: InBand::default(),
            spared: BTreeSet::new(),
        })
    }

    fn seen(&self, link: &Link, links: &[Link], port: Option<&DevlinkPort>) -> Seen {
        let master = link.master_ifindex.and_then(|index| links.iter().find(|other| other.ifindex == index));
        let bond = master.filter(|master| master.kind.as_deref() == Some("bond"));
        Seen {
            id: u64::from(link.ifindex),
            netdev: link.name.as_str().to_owned(),
            physical: self.is_physical(link, port.and_then(|port| port.flavour)),
            flavour: port.and_then(|port| port.flavour).map_or("", Flavour::label),
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
            in_band: self.in_band.holds(link.ifindex, links),
        }
    }

    fn port(&self, seen: &Seen) -> KernelPort {
        let device = NetdevName::new(&seen.netdev).ok().and_then(|name| self.sysfs.bus_device(name));
        KernelPort::new(ifindex_of(seen), device)
    }

    /// Devlink knows, where it tells: the one port of a switchdev node has a driver that calls itself a representor.
    /// Elsewhere hardware has a device on a bus; a virtual function of it says whose it is, a representor and every
    /// software device have none of their own.
    fn is_physical(&self, link: &Link, flavour: Option<Flavour>) -> bool {
        match flavour {
            Some(Flavour::Physical) => true,
            Some(
                Flavour::Cpu
                | Flavour::Dsa
                | Flavour::PciPf
                | Flavour::PciVf
                | Flavour::PciSf
                | Flavour::Virtual
                | Flavour::Unused,
            ) => false,
            None => {
                let on_bus = link.parent.is_some() || self.sysfs.bus_device(link.name).is_some();
                let is_function = self.sysfs.physical_function(link.name).is_some();
                on_bus && link.kind.is_none() && !link.is_loopback && !is_function
            }
        }
    }

    /// Takes from the physical devices those whose port another function stands for already.
    fn spare(&mut self, seen: &mut [Seen], links: &[Link], ports: &Ports) {
        let functions = links.iter().zip(&*seen).filter(|(_, seen)| seen.physical);
        let functions = functions.filter_map(|(link, _)| Function::of(link, ports.get(&link.ifindex)));
        let standing = standing_in(functions);
        for seen in seen {
            let Some(other) = standing.get(&seen.id) else { continue };
            seen.physical = false;
            if self.spared.insert(seen.id) {
                let (netdev, watched) = (&seen.netdev, other);
                tracing::info!(netdev, watched, "another function of the same port is watched in its place");
            }
        }
        self.spared.retain(|id| standing.contains_key(id));
    }
}

/// A function of a physical port, among several perhaps.
#[derive(Clone, Debug)]
struct Function {
    /// What the functions of one port have in common.
    port: (String, Option<u32>),
    /// The lowest stands for the port: one that devlink calls physical, then the lowest address on the bus.
    rank: (bool, String, u32),
    netdev: String,
}

impl Function {
    fn of(link: &Link, port: Option<&DevlinkPort>) -> Option<Self> {
        let id = link.phys_port_id.clone()?;
        let told = port.and_then(|port| port.flavour) == Some(Flavour::Physical);
        let address = link.parent.as_ref().map(|parent| parent.address.clone()).unwrap_or_default();
        Some(Self {
            port: (id, port.and_then(|port| port.number)),
            rank: (!told, address, link.ifindex),
            netdev: link.name.as_str().to_owned(),
        })
    }
}

/// The functions that need not be watched, each with the device that stands for its port.
fn standing_in(functions: impl Iterator<Item = Function>) -> BTreeMap<u64, String> {
    let mut ports: BTreeMap<_, Vec<Function>> = BTreeMap::new();
    for function in functions {
        ports.entry(function.port.clone()).or_default().push(function);
    }
    let mut spared = BTreeMap::new();
    for mut functions in ports.into_values() {
        functions.sort_by(|left, right| left.rank.cmp(&right.rank));
        let [first, others @ ..] = &functions[..] else { continue };
        spared.extend(others.iter().map(|other| (u64::from(other.rank.2), first.netdev.clone())));
    }
    spared
}

impl Node for KernelNode {
    fn scan(&mut self) -> Result<Vec<Seen>, NodeError> {
        let links = self.rtnl.dump_links().map_err(|error| NodeError::of(&error))?;
        self.in_band.look(&mut self.rtnl, clock::now());
        let on_bus = links.iter().filter(|link| link.kind.is_none() && !link.is_loopback);
        let ports = self.flavours.of(on_bus.map(|link| link.ifindex).collect(), clock::now()).clone();
        let seen = links.iter().map(|link| self.seen(link, &links, ports.get(&link.ifindex)));
        let mut seen = seen.collect::<Vec<_>>();
        self.spare(&mut seen, &links, &ports);
        Ok(seen)
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
            ifindex: Some(ifindex_of(seen)),
            sysfs_inode: self.sysfs.inode(name),
            ..PortIdentity::default()
        }
    }

    fn source(&mut self, seen: &Seen) -> Result<Option<Box<dyn Source>>, NodeError> {
        let name = NetdevName::new(&seen.netdev).map_err(|error| NodeError::of(&error))?;
        let source = EthtoolSource::open(name, ifindex_of(seen))
            .map_err(|error| NodeError { what: error.to_string() })?;
        Ok(source.map(|source| Box::new(source) as Box<dyn Source>))
    }

    fn machine(&mut self, seen: &Seen) -> Arc<dyn Machine> {
        Arc::new(self.port(seen))
    }

    fn offer(&mut self, seen: &Seen) -> Offering {
        let port = self.port(seen);
        Offering::Asked(Box::new(move || port.offer()))
    }

    fn facts(&mut self, seen: &Seen) -> Option<KernelFacts> {
        let name = NetdevName::new(&seen.netdev).ok()?;
        Some(KernelFacts::new(ifindex_of(seen), seen.netdev.clone(), self.sysfs.bus_device(name)))
    }
}

/// What [`KernelNode`] numbers its devices by.
const fn ifindex_of(seen: &Seen) -> u32 {
    seen.id as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(port: &str, number: Option<u32>, told: bool, address: &str, ifindex: u32) -> Function {
        let (port, rank) = ((port.to_owned(), number), (!told, address.to_owned(), ifindex));
        Function { port, rank, netdev: format!("eth{ifindex}") }
    }

    fn spared(functions: &[Function]) -> Vec<(u64, String)> {
        standing_in(functions.iter().cloned()).into_iter().collect()
    }

    #[test]
    fn of_several_functions_of_one_port_the_lowest_on_the_bus_is_watched() {
        let functions = [
            function("b83f", None, false, "0000:3b:00.2", 4),
            function("b83f", None, false, "0000:3b:00.0", 6),
            function("b83f", None, false, "0000:3b:00.4", 5),
            function("a111", None, false, "0000:3b:00.1", 7),
        ];
        assert_eq!(spared(&functions), [(4, "eth6".into()), (5, "eth6".into())]);
    }

    #[test]
    fn the_one_that_devlink_calls_physical_stands_for_a_port_whatever_its_address() {
        let functions = [
            function("b83f", Some(0), false, "0000:3b:00.0", 4),
            function("b83f", Some(0), true, "0000:3b:00.1", 5),
        ];
        assert_eq!(spared(&functions), [(4, "eth5".into())]);
    }

    #[test]
    fn two_ports_of_one_card_are_two_ports_even_where_a_driver_gives_both_one_id() {
        let functions = [
            function("b83f", Some(0), true, "0000:3b:00.0", 4),
            function("b83f", Some(1), true, "0000:3b:00.1", 5),
        ];
        assert!(spared(&functions).is_empty());
    }
}
