//! What only sysfs tells of a network device. Each fact is one file, and a file that is absent or cannot be read is a
//! fact that is not known.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::num::NonZeroU64;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::netdev::{BusDevice, NetdevName};

/// More network devices than a node has.
const NAMES_MAX: usize = 65_536;

/// No file of sysfs that holds text is longer than a page.
const FILE_MAX: u64 = 4096;

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

    /// The inode of `netdev`'s folder, which no other device of this boot gets: kernfs numbers what it holds, and a rename and
    /// a move between namespaces keep the folder.
    #[must_use]
    pub fn inode(&self, netdev: NetdevName) -> Option<NonZeroU64> {
        NonZeroU64::new(fs::metadata(self.class_net.join(netdev.as_str())).ok()?.ino())
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
        let slaves = self.text(bond, "bonding/slaves").unwrap_or_default();
        slaves.split_whitespace().map(str::to_owned).collect()
    }

    /// The devices that `netdev` sits on: the slaves of a bond, what a VLAN is on.
    #[must_use]
    pub fn lower(&self, netdev: NetdevName) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.class_net.join(netdev.as_str())) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let lower = names.filter_map(|name| name.strip_prefix("lower_").map(str::to_owned));
        let mut lower = lower.take(NAMES_MAX).collect::<Vec<_>>();
        lower.sort();
        lower
    }

    /// Whether `netdev` stands for a virtual or a sub-function on the switch inside the NIC ("pf0vf1", "c1pf0sf7").
    #[must_use]
    pub fn is_representor(&self, netdev: NetdevName) -> bool {
        let name = self.text(netdev, "phys_port_name").unwrap_or_default();
        name.split_once("pf").is_some_and(|(_, function)| function.contains("vf") || function.contains("sf"))
    }

    /// The number in a file; `None` if it is negative, which in these files is "unknown".
    fn number(&self, netdev: NetdevName, file: &str) -> Option<u32> {
        self.text(netdev, file)?.trim().parse().ok()
    }

    /// What stands in a file. The tree may be anything that a path leads to: a pipe holds nobody up, and what has no end
    /// is no fact.
    fn text(&self, netdev: NetdevName, file: &str) -> Option<String> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(rustix::fs::open(self.path(netdev, file), flags, Mode::empty()).ok()?);
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut text = String::new();
        file.take(FILE_MAX).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// The names of all network devices.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        let Ok(entries) = fs::read_dir(&self.class_net) else { return BTreeSet::new() };
        entries.flatten().take(NAMES_MAX).filter_map(|entry| entry.file_name().into_string().ok()).collect()
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
