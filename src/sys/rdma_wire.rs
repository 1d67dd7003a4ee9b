//! What the RDMA subsystem answers, decoded: devices, ports, counters, resources. Safe code on bytes; no sockets here.
//! An attribute that is absent, too short or unknown costs the one fact it holds, never the device.

use super::netlink_wire::{Malformed, attributes, text_of, u32_of, u64_of};
use super::uapi::*;

/// The longest name of a counter or resource that is believed; the longest in Linux 6.12 has 40 bytes. Names may come
/// from firmware (ionic), and one of kilobytes is none.
const NAME_LEN_MAX: usize = 128;

/// An RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdmaDevice {
    /// Its number, which no other device gets while the kernel runs.
    pub index: u32,
    /// Its name for now.
    pub name: String,
    /// How many ports it has; numbered from 1.
    pub port_count: u32,
    /// What sort of device it is.
    pub node_type: Option<NodeType>,
    /// What it speaks, by its first port; `None` before Linux 5.1 and for what is none of these (EFA).
    pub protocol: Option<Protocol>,
}

/// A port of an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdmaPort {
    /// The device's number.
    pub device: u32,
    /// The port's number, from 1.
    pub port: u32,
    /// Its logical state.
    pub state: Option<PortState>,
    /// Its physical state.
    pub physical_state: Option<PhysicalState>,
    /// The network interface it belongs to: number and name. `None` also where that is in another network namespace.
    pub netdev: Option<(u32, String)>,
}

/// How many objects of each kind a device has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdmaResources {
    /// The device's number.
    pub device: u32,
    /// By the kernel's name for the kind ("qp", "mr").
    pub counts: Vec<(String, u64)>,
}

/// Who sees RDMA devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetnsMode {
    /// Every network namespace sees all devices.
    Shared,
    /// A device is in one network namespace, and only that sees it.
    Exclusive,
}

/// A list of the kernel's numbers with their names: in sysfs, and here.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident $number:literal $sysfs:literal $label:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$of])* $variant,)+ }

        impl $name {
            /// The one of this number; `None` for one that is newer than this list.
            #[must_use]
            pub const fn of_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)+ _ => None }
            }

            /// The one that sysfs writes so, "4: ACTIVE".
            #[must_use]
            pub fn of_sysfs(text: &str) -> Option<Self> {
                match text { $(concat!($number, ": ", $sysfs) => Some(Self::$variant),)+ _ => None }
            }

            /// As metrics write it.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)+ }
            }
        }
    };
}

numbered! {
    /// Sorts of RDMA devices (`enum rdma_node_type`, include/rdma/ib_verbs.h; `node_type_show`, core/sysfs.c).
    NodeType {
        /// A channel adapter: InfiniBand or RoCE.
        Ca 1 "CA" "ca";
        /// A switch.
        Switch 2 "switch" "switch";
        /// A router.
        Router 3 "router" "router";
        /// An iWARP NIC.
        Rnic 4 "RNIC" "rnic";
        /// Cisco's usNIC.
        Usnic 5 "usNIC" "usnic";
        /// Cisco's usNIC over UDP.
        UsnicUdp 6 "usNIC UDP" "usnic_udp";
        /// None of these: EFA.
        Unspecified 7 "unspecified" "unspecified";
    }
}

numbered! {
    /// Logical states of a port (`enum ib_port_state`, include/rdma/ib_verbs.h).
    PortState {
        /// Unchanged; no state of its own.
        Nop 0 "NOP" "nop";
        /// Down.
        Down 1 "DOWN" "down";
        /// The link is there, nobody has set it up.
        Init 2 "INIT" "init";
        /// Set up.
        Armed 3 "ARMED" "armed";
        /// Carries traffic.
        Active 4 "ACTIVE" "active";
        /// Carries traffic, and the link has just come back.
        ActiveDefer 5 "ACTIVE_DEFER" "active_defer";
    }
}

numbered! {
    /// Physical states of a port (`enum ib_port_phys_state`, include/rdma/ib_verbs.h).
    PhysicalState {
        /// Asleep.
        Sleep 1 "Sleep" "sleep";
        /// Looks for its peer.
        Polling 2 "Polling" "polling";
        /// Switched off.
        Disabled 3 "Disabled" "disabled";
        /// Negotiates.
        Training 4 "PortConfigurationTraining" "training";
        /// Up.
        LinkUp 5 "LinkUp" "link_up";
        /// Up, and repairs itself.
        Recovery 6 "LinkErrorRecovery" "recovery";
        /// In a test mode.
        PhyTest 7 "Phy Test" "phy_test";
    }
}

/// What a port speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// RDMA over Ethernet, the only one with PFC and CNP.
    Roce,
    /// InfiniBand.
    InfiniBand,
    /// RDMA over TCP.
    Iwarp,
    /// Omni-Path.
    OmniPath,
    /// Cisco's own.
    Usnic,
}

impl Protocol {
    /// As the kernel and metrics write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Roce => "roce",
            Self::InfiniBand => "ib",
            Self::Iwarp => "iw",
            Self::OmniPath => "opa",
            Self::Usnic => "usnic",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Roce, Self::InfiniBand, Self::Iwarp, Self::OmniPath, Self::Usnic]
            .into_iter()
            .find(|protocol| protocol.label() == name)
    }
}

impl RdmaDevice {
    /// The device that an answer to `RDMA_GET` is about; `None` without number or name.
    ///
    /// # Errors
    ///
    /// If an attribute reaches beyond the answer.
    pub fn decode(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let (mut index, mut name, mut port_count) = (None, None, None);
        let (mut node_type, mut protocol) = (None, None);
        for attribute in attributes(payload) {
            let (kind, value) = attribute?;
            match kind {
                RDMA_ATTR_DEV_INDEX => index = u32_of(value),
                RDMA_ATTR_DEV_NAME => name = name_of(value),
                // In an answer about a device, its number of ports.
                RDMA_ATTR_PORT_INDEX => port_count = u32_of(value),
                RDMA_ATTR_DEV_NODE_TYPE => node_type = value.first().copied().and_then(NodeType::of_number),
                RDMA_ATTR_DEV_PROTOCOL => protocol = name_of(value).as_deref().and_then(Protocol::named),
                _ => {}
            }
        }
        let device = index.zip(name).map(|(index, name)| Self {
            index,
            name,
            port_count: port_count.unwrap_or_default(),
            node_type,
            protocol,
        });
        Ok(device)
    }
}

impl RdmaPort {
    /// The port that an answer to `RDMA_PORT_GET` is about; `None` without its numbers.
    ///
    /// # Errors
    ///
    /// If an attribute reaches beyond the answer.
    pub fn decode(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let (mut device, mut port, mut state, mut physical_state) = (None, None, None, None);
        let (mut ifindex, mut netdev) = (None, None);
        for attribute in attributes(payload) {
            let (kind, value) = attribute?;
            match kind {
                RDMA_ATTR_DEV_INDEX => device = u32_of(value),
                RDMA_ATTR_PORT_INDEX => port = u32_of(value),
                RDMA_ATTR_PORT_STATE => state = value.first().copied().and_then(PortState::of_number),
                RDMA_ATTR_PORT_PHYS_STATE => {
                    physical_state = value.first().copied().and_then(PhysicalState::of_number);
                }
                RDMA_ATTR_NDEV_INDEX => ifindex = u32_of(value),
                RDMA_ATTR_NDEV_NAME => netdev = name_of(value),
                _ => {}
            }
        }
        let netdev = ifindex.zip(netdev);
        Ok(device.zip(port).map(|(device, port)| Self { device, port, state, physical_state, netdev }))
    }
}

impl RdmaResources {
    /// The counts of an answer to `RDMA_RES_GET`; `None` without the device's number.
    ///
    /// # Errors
    ///
    /// If an attribute reaches beyond what holds it.
    pub fn decode(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let (mut device, mut counts) = (None, Vec::new());
        for attribute in attributes(payload) {
            match attribute? {
                (RDMA_ATTR_DEV_INDEX, value) => device = u32_of(value),
                (RDMA_ATTR_RES_SUMMARY, nest) => counts = decode_named(nest, &RESOURCES)?,
                _ => {}
            }
        }
        Ok(device.map(|device| Self { device, counts }))
    }
}

/// The counters in an answer to `RDMA_STAT_GET`, in the driver's order: those of the port, and the optional ones that
/// are switched on.
///
/// # Errors
///
/// If an attribute reaches beyond what holds it.
pub fn decode_counters(payload: &[u8]) -> Result<Vec<(String, u64)>, Malformed> {
    let mut counters = Vec::new();
    for attribute in attributes(payload) {
        if let (RDMA_ATTR_STAT_HWCOUNTERS, nest) = attribute? {
            counters = decode_named(nest, &COUNTERS)?;
        }
    }
    Ok(counters)
}

/// The mode in an answer to `RDMA_SYS_GET`; `None` for one that is newer than this list.
///
/// # Errors
///
/// If an attribute reaches beyond the answer.
pub fn decode_netns_mode(payload: &[u8]) -> Result<Option<NetnsMode>, Malformed> {
    for attribute in attributes(payload) {
        if let (RDMA_ATTR_SYS_NETNS_MODE, value) = attribute? {
            // The kernel names these numbers nowhere; `nldev_sys_set_doit` takes "shared" for any but 0.
            return Ok(match value.first() {
                Some(0) => Some(NetnsMode::Exclusive),
                Some(1) => Some(NetnsMode::Shared),
                Some(_) | None => None,
            });
        }
    }
    Ok(None)
}

/// How a list of named numbers is nested.
struct Nesting {
    entry: u16,
    name: u16,
    value: u16,
}

const RESOURCES: Nesting = Nesting {
    entry: RDMA_ATTR_RES_SUMMARY_ENTRY,
    name: RDMA_ATTR_RES_SUMMARY_ENTRY_NAME,
    value: RDMA_ATTR_RES_SUMMARY_ENTRY_CURR,
};

const COUNTERS: Nesting = Nesting {
    entry: RDMA_ATTR_STAT_HWCOUNTER_ENTRY,
    name: RDMA_ATTR_STAT_HWCOUNTER_ENTRY_NAME,
    value: RDMA_ATTR_STAT_HWCOUNTER_ENTRY_VALUE,
};

/// The entries of `nest`, without those that lack a name or a number.
fn decode_named(nest: &[u8], nesting: &Nesting) -> Result<Vec<(String, u64)>, Malformed> {
    let mut list = Vec::new();
    for entry in attributes(nest) {
        let (kind, entry) = entry?;
        if kind != nesting.entry {
            continue;
        }
        let (mut name, mut number) = (None, None);
        for field in attributes(entry) {
            let (kind, value) = field?;
            if kind == nesting.name {
                name = name_of(value);
            } else if kind == nesting.value {
                number = u64_of(value);
            }
        }
        list.extend(name.zip(number));
    }
    Ok(list)
}

/// A text of believable length.
fn name_of(value: &[u8]) -> Option<String> {
    text_of(value).filter(|name| name.len() <= NAME_LEN_MAX)
}

#[cfg(test)]
mod tests;
