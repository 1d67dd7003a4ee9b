//! What only sysfs tells of a network device. Each fact is one file, and a file that is absent or cannot be read is a
//! fact that is not known.

use std::fs;
use std::path::{Path, PathBuf};

use super::netdev::{BusDevice, NetdevName};

/// The sysfs tree of a machine. Shows the network devices of the namespace in which it was mounted.
#[derive(Clone, Debug)]
pub struct SysfsNet {
    class_net: PathBuf,
}

impl SysfsNet {
    /// The tree under `root`, "/sys" on a live machine.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { class_net: root.join("class/net") }
    }

    /// The speed of `netdev`'s link in Mbit/s. `None` without carrier, and for drivers that do not say. Some drivers ask
    /// their firmware.
    #[must_use]
    pub fn speed_mbps(&self, netdev: NetdevName) -> Option<u32> {
        // -1 is "unknown"; older drivers write it as 65535 or 4294967295 (SPEED_UNKNOWN cast).
        self.number(netdev, "speed").filter(|speed| !matches!(*speed, 0 | 65_535 | u32::MAX))
    }

    /// The device on a bus that `netdev` is a function of; `None` for software devices.
    #[must_use]
    pub fn bus_device(&self, netdev: NetdevName) -> Option<BusDevice> {
        let address = self.link_target(netdev, "device")?;
        let bus = self.link_target(netdev, "device/subsystem")?;
        Some(BusDevice { bus, address })
    }

    /// The PCI address of the physical function that `netdev`'s own, a virtual one, belongs to; `None` for everything
    /// else.
    #[must_use]
    pub fn physical_function(&self, netdev: NetdevName) -> Option<String> {
        self.link_target(netdev, "device/physfn")
    }

    /// The NUMA node that `netdev`'s device is attached to; `None` on machines with one.
    #[must_use]
    pub fn numa_node(&self, netdev: NetdevName) -> Option<u32> {
        self.number(netdev, "device/numa_node")
    }

    /// How often `netdev`'s carrier has come or gone. Takes no lock, unlike other facts about a link.
    #[must_use]
    pub fn carrier_changes(&self, netdev: NetdevName) -> Option<u32> {
        self.number(netdev, "carrier_changes")
    }

    /// The bond that `netdev` is a slave of.
    #[must_use]
    pub fn bond(&self, netdev: NetdevName) -> Option<String> {
        let master = self.link_target(netdev, "master")?;
        // A bridge is a master too.
        self.class_net.join(&master).join("bonding").is_dir().then_some(master)
    }

    /// The slaves of `bond`; none if it is no bond.
    #[must_use]
    pub fn slaves(&self, bond: NetdevName) -> Vec<String> {
        let slaves = fs::read_to_string(self.path(bond, "bonding/slaves")).unwrap_or_default();
        slaves.split_whitespace().map(str::to_owned).collect()
    }

    /// Whether `netdev` stands for a virtual or a sub-function on the switch inside the NIC ("pf0vf1", "c1pf0sf7").
    #[must_use]
    pub fn is_representor(&self, netdev: NetdevName) -> bool {
        let name = fs::read_to_string(self.path(netdev, "phys_port_name")).unwrap_or_default();
        name.split_once("pf").is_some_and(|(_, function)| function.contains("vf") || function.contains("sf"))
    }

    /// The number in a file; `None` if it is negative, which in these files is "unknown".
    fn number(&self, netdev: NetdevName, file: &str) -> Option<u32> {
        let text = fs::read_to_string(self.path(netdev, file)).ok()?;
        text.trim().parse().ok()
    }

    /// The last part of where a symbolic link leads.
    fn link_target(&self, netdev: NetdevName, file: &str) -> Option<String> {
        let target = fs::read_link(self.path(netdev, file)).ok()?;
        target.file_name()?.to_str().map(str::to_owned)
    }

    fn path(&self, netdev: NetdevName, file: &str) -> PathBuf {
        self.class_net.join(netdev.as_str()).join(file)
    }
}
