//! One network device as rtnetlink describes it, decoded attribute by attribute: one that is absent, too short or
//! unknown costs that one field, never the device.

use super::netdev::{BusDevice, NetdevName};
use super::netlink_wire::{Malformed, attributes, text_of, u32_of, u64_of};
use super::uapi::*;

/// `AF_UNSPEC`: the message is about the device itself. The same message types tell of a device's part in a bridge
/// (`AF_BRIDGE`), and a device that leaves a bridge is not gone.
const FAMILY_DEVICE: u8 = 0;

/// A network device. What its driver or the kernel does not say is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number in this network namespace; never given to another device while the namespace lives.
    pub ifindex: u32,
    /// Its name for now.
    pub name: NetdevName,
    /// What sort of software device it is ("veth", "bond", "vlan"); `None` for hardware.
    pub kind: Option<String>,
    /// Switched on by the administrator.
    pub is_up: bool,
    /// The loopback device.
    pub is_loopback: bool,
    /// The physical link is there.
    pub carrier: Option<bool>,
    /// Its state in the sense of RFC 2863.
    pub oper_state: Option<OperState>,
    /// Largest packet, in bytes.
    pub mtu: Option<u32>,
    /// The bond or bridge it belongs to.
    pub master_ifindex: Option<u32>,
    /// The device below it (vlan) or at its other end (veth), by its number in the namespace of `link_netns_id`.
    pub link_ifindex: Option<u32>,
    /// The namespace of `link_ifindex`, by the number this namespace has for it; `None` for the same one.
    pub link_netns_id: Option<i32>,
    /// The hardware address it was made with, "02:fc:00:00:00:01".
    pub permanent_address: Option<String>,
    /// The device on a bus that it is a function of.
    pub parent: Option<BusDevice>,
    /// The same for all functions of one physical port, in hexadecimal digits.
    pub phys_port_id: Option<String>,
    /// "p0" for a physical port, "pf0vf1" for a representor.
    pub phys_port_name: Option<String>,
    /// How often carrier came or went.
    pub carrier_changes: Option<u32>,
    /// How often carrier came.
    pub carrier_up_count: Option<u32>,
    /// How often carrier went.
    pub carrier_down_count: Option<u32>,
    /// Traffic; mlx5 refreshes these in the background, so they are one refresh old.
    pub stats: Option<LinkStats>,
}

/// States of RFC 2863.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperState {
    /// The driver does not say (loopback, some virtual devices).
    Unknown,
    /// Some part is missing.
    NotPresent,
    /// Down.
    Down,
    /// Down because of the device below.
    LowerLayerDown,
    /// In a test mode.
    Testing,
    /// Waiting for an event, such as authentication.
    Dormant,
    /// Up.
    Up,
}

/// What every device counts (`struct rtnl_link_stats64`), since its driver was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Received packets with an error.
    pub rx_errors: u64,
    /// Packets that could not be sent.
    pub tx_errors: u64,
    /// Received packets dropped by the host.
    pub rx_dropped: u64,
    /// Packets dropped on their way out.
    pub tx_dropped: u64,
    /// Received packets dropped by the device for want of a buffer (mlx5: `rx_out_of_buffer`).
    pub rx_missed: u64,
}

impl Link {
    /// The device that a `RTM_NEWLINK` or `RTM_DELLINK` message with this payload is about; `None` if the message is
    /// about a bridge port, or if the device's name is not text.
    ///
    /// # Errors
    ///
    /// If the payload is not such a message.
    pub fn decode(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let head = Head::decode(payload)?;
        let mut fields = Fields::default();
        for attribute in attributes(head.attributes) {
            let (kind, value) = attribute?;
            fields.take(kind, value);
        }
        let parent = fields.parent_bus.zip(fields.parent_name);
        Ok(fields.name.filter(|_| head.family == FAMILY_DEVICE).map(|name| Self {
            ifindex: head.ifindex,
            name,
            kind: fields.kind,
            is_up: head.flags & IFF_UP != 0,
            is_loopback: head.flags & IFF_LOOPBACK != 0,
            carrier: fields.carrier,
            oper_state: fields.oper_state,
            mtu: fields.mtu,
            master_ifindex: fields.master_ifindex,
            link_ifindex: fields.link_ifindex,
            link_netns_id: fields.link_netns_id,
            permanent_address: fields.permanent_address,
            parent: parent.map(|(bus, address)| BusDevice { bus, address }),
            phys_port_id: fields.phys_port_id,
            phys_port_name: fields.phys_port_name,
            carrier_changes: fields.carrier_changes,
            carrier_up_count: fields.carrier_up_count,
            carrier_down_count: fields.carrier_down_count,
            stats: fields.stats,
        }))
    }

    /// Like [`Link::decode`], the number and the name only.
    ///
    /// # Errors
    ///
    /// If the payload is not such a message.
    pub fn decode_identity(payload: &[u8]) -> Result<Option<(u32, NetdevName)>, Malformed> {
        let head = Head::decode(payload)?;
        if head.family != FAMILY_DEVICE {
            return Ok(None);
        }
        for attribute in attributes(head.attributes) {
            let (kind, value) = attribute?;
            if kind == IFLA_IFNAME {
                return Ok(name_of(value).map(|name| (head.ifindex, name)));
            }
        }
        Ok(None)
    }
}

/// The kernel's `struct ifinfomsg` and what follows it.
struct Head<'a> {
    family: u8,
    ifindex: u32,
    flags: u32,
    attributes: &'a [u8],
}

impl<'a> Head<'a> {
    fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let Some((head, attributes)) = payload.split_at_checked(IFINFOMSG_LEN) else {
            return Err(Malformed { what: "link message", len: payload.len() });
        };
        let field = |offset: usize| u32_of(&head[offset..]).unwrap_or_default();
        let (ifindex, flags) = (field(IFINFOMSG_INDEX), field(IFINFOMSG_FLAGS));
        Ok(Self { family: head[IFINFOMSG_FAMILY], ifindex, flags, attributes })
    }
}

/// What the attributes say; the last of a kind counts.
#[derive(Default)]
struct Fields {
    name: Option<NetdevName>,
    kind: Option<String>,
    carrier: Option<bool>,
    oper_state: Option<OperState>,
    mtu: Option<u32>,
    master_ifindex: Option<u32>,
    link_ifindex: Option<u32>,
    link_netns_id: Option<i32>,
    permanent_address: Option<String>,
    parent_bus: Option<String>,
    parent_name: Option<String>,
    phys_port_id: Option<String>,
    phys_port_name: Option<String>,
    carrier_changes: Option<u32>,
    carrier_up_count: Option<u32>,
    carrier_down_count: Option<u32>,
    stats: Option<LinkStats>,
}

impl Fields {
    fn take(&mut self, kind: u16, value: &[u8]) {
        match kind {
            IFLA_IFNAME => self.name = name_of(value),
            IFLA_LINKINFO => self.kind = kind_of(value),
            IFLA_CARRIER => self.carrier = value.first().map(|carrier| *carrier != 0),
            IFLA_OPERSTATE => self.oper_state = value.first().copied().and_then(OperState::decode),
            IFLA_MTU => self.mtu = u32_of(value),
            IFLA_MASTER => self.master_ifindex = u32_of(value),
            IFLA_LINK => self.link_ifindex = u32_of(value),
            IFLA_LINK_NETNSID => self.link_netns_id = u32_of(value).map(u32::cast_signed),
            IFLA_PERM_ADDRESS => self.permanent_address = hex(value, ":"),
            IFLA_PARENT_DEV_BUS_NAME => self.parent_bus = text_of(value),
            IFLA_PARENT_DEV_NAME => self.parent_name = text_of(value),
            IFLA_PHYS_PORT_ID => self.phys_port_id = hex(value, ""),
            IFLA_PHYS_PORT_NAME => self.phys_port_name = text_of(value),
            IFLA_CARRIER_CHANGES => self.carrier_changes = u32_of(value),
            IFLA_CARRIER_UP_COUNT => self.carrier_up_count = u32_of(value),
            IFLA_CARRIER_DOWN_COUNT => self.carrier_down_count = u32_of(value),
            IFLA_STATS64 => self.stats = LinkStats::decode(value),
            _ => {}
        }
    }
}

impl OperState {
    /// `None` for a number that no kernel up to 7.0 has.
    const fn decode(number: u8) -> Option<Self> {
        match number {
            IF_OPER_UNKNOWN => Some(Self::Unknown),
            IF_OPER_NOTPRESENT => Some(Self::NotPresent),
            IF_OPER_DOWN => Some(Self::Down),
            IF_OPER_LOWERLAYERDOWN => Some(Self::LowerLayerDown),
            IF_OPER_TESTING => Some(Self::Testing),
            IF_OPER_DORMANT => Some(Self::Dormant),
            IF_OPER_UP => Some(Self::Up),
            _ => None,
        }
    }
}

impl LinkStats {
    /// `None` if a counter is missing: newer kernels append some, none ever took one away.
    fn decode(value: &[u8]) -> Option<Self> {
        let counter = |offset: usize| value.get(offset..).and_then(u64_of);
        Some(Self {
            rx_packets: counter(STATS64_RX_PACKETS)?,
            tx_packets: counter(STATS64_TX_PACKETS)?,
            rx_bytes: counter(STATS64_RX_BYTES)?,
            tx_bytes: counter(STATS64_TX_BYTES)?,
            rx_errors: counter(STATS64_RX_ERRORS)?,
            tx_errors: counter(STATS64_TX_ERRORS)?,
            rx_dropped: counter(STATS64_RX_DROPPED)?,
            tx_dropped: counter(STATS64_TX_DROPPED)?,
            rx_missed: counter(STATS64_RX_MISSED)?,
        })
    }
}

/// The name in an attribute, if it is text: the kernel would take any bytes.
pub(super) fn name_of(value: &[u8]) -> Option<NetdevName> {
    text_of(value).and_then(|name| NetdevName::new(&name).ok())
}

/// The kind of a device, from the nest that also holds that kind's own settings. Those are not looked at: every kernel
/// adds to them.
fn kind_of(nest: &[u8]) -> Option<String> {
    let (_, value) = attributes(nest).map_while(Result::ok).find(|(kind, _)| *kind == IFLA_INFO_KIND)?;
    text_of(value)
}

/// Bytes as pairs of hexadecimal digits; `None` of none.
fn hex(bytes: &[u8], separator: &str) -> Option<String> {
    let pairs: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(pairs.join(separator)).filter(|text| !text.is_empty())
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::netlink_wire::tests::attribute;
    use super::*;

    /// The payload of a link message: the device `ifindex` of `family`, and attributes.
    pub(in crate::sys) fn payload(family: u8, ifindex: u32, flags: u32, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![0; IFINFOMSG_LEN];
        bytes[IFINFOMSG_FAMILY] = family;
        bytes[IFINFOMSG_INDEX..][..4].copy_from_slice(&ifindex.to_ne_bytes());
        bytes[IFINFOMSG_FLAGS..][..4].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend(attributes.concat());
        bytes
    }

    /// `struct rtnl_link_stats64` of kernel 6.1: 25 counters, each holding its own place.
    fn counters() -> Vec<u8> {
        (0_u64..25).flat_map(u64::to_ne_bytes).collect()
    }

    fn full() -> Vec<u8> {
        let bond = [attribute(IFLA_INFO_KIND, b"bond\0"), attribute(2, &[7; 9])].concat();
        payload(
            FAMILY_DEVICE,
            4,
            IFF_UP,
            &[
                attribute(IFLA_IFNAME, b"ens1f0\0"),
                attribute(IFLA_MTU, &9000_u32.to_ne_bytes()),
                attribute(IFLA_OPERSTATE, &[IF_OPER_UP]),
                attribute(IFLA_CARRIER, &[1]),
                attribute(IFLA_MASTER, &9_u32.to_ne_bytes()),
                attribute(IFLA_LINKINFO | 0x8000, &bond),
                attribute(IFLA_STATS64, &counters()),
                attribute(IFLA_PHYS_PORT_ID, &[0xb8, 0x3f, 1]),
                attribute(IFLA_PERM_ADDRESS, &[0xb8, 0x3f, 0xd2, 0, 1, 2]),
                attribute(IFLA_PARENT_DEV_NAME, b"0000:3b:00.0\0"),
                attribute(IFLA_PARENT_DEV_BUS_NAME, b"pci\0"),
                attribute(9999, &[1; 3]),
            ],
        )
    }

    #[test]
    fn a_port_is_decoded_field_by_field() {
        let link = Link::decode(&full()).unwrap().unwrap();
        assert_eq!((link.ifindex, link.name.as_str()), (4, "ens1f0"));
        assert!(link.is_up && !link.is_loopback);
        assert_eq!(link.mtu, Some(9000));
        assert_eq!(link.oper_state, Some(OperState::Up));
        assert_eq!(link.carrier, Some(true));
        assert_eq!(link.master_ifindex, Some(9));
        assert_eq!(link.kind.as_deref(), Some("bond"));
        assert_eq!(link.phys_port_id.as_deref(), Some("b83f01"));
        assert_eq!(link.permanent_address.as_deref(), Some("b8:3f:d2:00:01:02"));
        let address = BusDevice { bus: "pci".into(), address: "0000:3b:00.0".into() };
        assert_eq!(link.parent, Some(address));
        let stats = link.stats.unwrap();
        assert_eq!((stats.rx_packets, stats.tx_dropped, stats.rx_missed), (0, 7, 15));
    }

    #[test]
    fn what_the_kernel_leaves_out_is_absent_and_not_zero() {
        let bare = payload(FAMILY_DEVICE, 1, IFF_LOOPBACK, &[attribute(IFLA_IFNAME, b"lo\0")]);
        let link = Link::decode(&bare).unwrap().unwrap();
        assert!(link.is_loopback && !link.is_up);
        assert_eq!((link.mtu, link.carrier, link.stats, link.parent), (None, None, None, None));
    }

    #[test]
    fn statistics_that_stop_short_are_absent_as_a_whole() {
        let name = attribute(IFLA_IFNAME, b"eth0\0");
        let cut = attribute(IFLA_STATS64, &counters()[..STATS64_RX_MISSED]);
        let link = Link::decode(&payload(FAMILY_DEVICE, 2, 0, &[name, cut])).unwrap().unwrap();
        assert_eq!(link.stats, None);
    }

    #[test]
    fn a_bridge_port_and_a_nameless_device_are_no_devices() {
        const FAMILY_BRIDGE: u8 = 7;
        let name = || attribute(IFLA_IFNAME, b"eth0\0");
        let bridge_port = payload(FAMILY_BRIDGE, 2, 0, &[name()]);
        assert_eq!(Link::decode(&bridge_port), Ok(None));
        assert_eq!(Link::decode_identity(&bridge_port), Ok(None));
        let not_text = payload(FAMILY_DEVICE, 2, 0, &[attribute(IFLA_IFNAME, &[0xff, 0])]);
        assert_eq!(Link::decode(&not_text), Ok(None));
        assert_eq!(Link::decode_identity(&payload(FAMILY_DEVICE, 2, 0, &[])), Ok(None));
    }

    #[test]
    fn every_truncation_is_malformed_or_a_device_with_fewer_fields() {
        let whole = full();
        for len in 0..whole.len() {
            let cut = Link::decode(&whole[..len]);
            assert!(len >= IFINFOMSG_LEN || cut.is_err(), "{len} bytes");
        }
    }

    #[test]
    fn no_single_byte_makes_decoding_panic() {
        let whole = full();
        for at in 0..whole.len() {
            for byte in [0, 1, 3, 4, 0x7f, 0x80, 0xff] {
                let mut hostile = whole.clone();
                hostile[at] = byte;
                let _ = Link::decode(&hostile);
                let _ = Link::decode_identity(&hostile);
            }
        }
    }
}
