//! The one table of a profile's keys: section, name, type, range, meaning with unit, source. The types, the file, its
//! problems and the reference page all come from it.

use std::ops::RangeInclusive;
use std::time::Duration;

use rocewatch_core::units::Priority;

use crate::config::{Entry, Length, Mismatch, Setting, Size, Speed, TextRule, choice};

use super::table::{Field, Section, profile};

/// Speeds that Ethernet has or plans.
const SPEEDS: RangeInclusive<Speed> = Speed::new(1_000_000_000)..=Speed::new(3_200_000_000_000);
/// From a short copper cable to the longest stretch between two buildings of a region.
const CABLES: RangeInclusive<Length> = Length::new(100)..=Length::new(100_000_000);
/// Up to the largest buffer that a switch chip is sold with, and some.
const SIZES: RangeInclusive<Size> = Size::new(0)..=Size::new(64_000_000_000);
/// What fits the six bits of the header.
const DSCPS: RangeInclusive<u8> = 0..=63;
/// What a driver takes.
const ANY: RangeInclusive<u32> = 0..=u32::MAX;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

profile! {
    /// What the profile is called, and where it comes from.
    profile: Origin {
        name: String, TextRule::NotEmpty,
            "The name that findings give as their reason", "whoever wrote the profile";
        made_by: String, TextRule::NotEmpty,
            "The command line that made it, if one did", "`rocewatch plan`";
    }

    /// The link of every port that carries RoCE.
    link: Link {
        speed: Speed, SPEEDS,
            "What the port runs at; a slower link is a fault of cable, module or training", "`ethtool`: speed";
        cable: Length, CABLES,
            "The longest cable between a port and its switch, for the headroom", "your cabling; nothing measures it";
        global_pause: bool, (),
            "Whether 802.3x pause may be on, in either direction: it stops every priority, and most NICs refuse PFC beside it",
            "IEEE 802.3 annex 31B against 802.1Qbb; `ethtool -a`";
    }

    /// Maximum transmission units, in bytes.
    mtu: Mtu {
        netdev: u32, 256..=65_535,
            "Bytes of an IP packet, as `ip link` shows them", "rtnetlink: IFLA_MTU";
        equal: bool, (),
            "Whether ports of equal speed must have the same MTU", "peers that disagree lose whole messages";
        rdma_active: u32, 256..=4096,
            "Bytes of payload of an RDMA packet: 256, 512, 1024, 2048 or 4096. 4096 needs a netdev MTU of 4192",
            "ibverbs active_mtu; sysfs and RDMA netlink";
    }

    /// How RoCE packets are marked and sorted.
    roce: Roce {
        priority: Priority, (),
            "The 802.1p priority that carries RoCE", "3 in nearly all published guides";
        dscp: u8, DSCPS,
            "The DSCP that RoCE packets bear, and that the port maps to the priority", "26 (AF31) in NVIDIA's and SONiC's guides";
        traffic_class: u8, 0..=255,
            "The whole byte of the header: DSCP × 4 plus two ECN bits, which have to be 1 or 2 for switches to mark. Forced on the device, or set as ToS of rdma_cm",
            "106 is DSCP 26 with ECT(0); RFC 3168 section 5";
        trust: Trust, (),
            "What the port sorts received packets by", "DSCP survives routing, the VLAN tag does not";
        gid: GidKind, (),
            "The kind of GID each port needs; its index is for each host to find, and not always 3", "sysfs gid_attrs";
    }

    /// Congestion notification packets, which must not wait behind what they are about.
    cnp: Cnp {
        dscp: u8, DSCPS,
            "The DSCP that they bear", "48 (CS6), the default of mlx5 and of NVIDIA's guides";
        priority: Priority, (),
            "The priority that carries them", "6, the default of mlx5 and of NVIDIA's guides";
        strict: bool, (),
            "Whether the traffic class of that priority is sent before all others", "`dcb ets`: tc-tsa strict";
    }

    /// Priority flow control.
    pfc: Pfc {
        priorities: Vec<Priority>, (),
            "The priorities that have PFC: these and no others", "one lossless class is what guides publish";
        prevention_timeout: Duration, ms(1)..=ms(60_000),
            "After how long a NIC stops sending pause by itself", "mlx5: 100 ms to 8 s; `ethtool --get-tunable DEV pfc-prevention-tout`";
        switch_detection: Duration, ms(1)..=ms(60_000),
            "After how long the switch's own watchdog takes the port for stuck. The NIC has to give up earlier, or the switch drops what it holds",
            "SONiC `pfcwd`: 200 ms by default on up to 32 ports";
    }

    /// DCQCN on the lossless priority.
    ecn: Ecn {
        np: bool, (),
            "Whether marked packets are answered with notifications (notification point)", "mlx5: ecn/roce_np, for the port; otherwise by driver";
        rp: bool, (),
            "Whether notifications slow the sender down (reaction point)", "mlx5: ecn/roce_rp, by priority; otherwise by driver";
    }

    /// Room for what arrives after pause was asked for. Without `min` it follows from the port's speed and MTU,
    /// `link.cable` and the terms below; docs/plan.md has the formula.
    headroom: Headroom {
        min: Size, SIZES,
            "What the buffer of the lossless priority holds at least, whatever the formula says", "`rocewatch plan`; `dcb buffer`";
        cell: Size, Size::new(1)..=Size::new(65_536),
            "The pieces in which the buffer is given out; the need is rounded up to them", "the data sheet of the chip; 256 B on mlx5";
        peer_response_quanta: u32, 0..=1_000_000,
            "How long a peer takes to act on pause, in quanta of 512 bit times. Absent: by speed, as docs/plan.md lists it",
            "IEEE 802.3 annex 31B.3.7";
    }

    /// Parameters of DCQCN, by the names of mlx5's `cc_params`.
    dcqcn: Dcqcn {
        np_min_time_between_cnps: u32, ANY,
            "Least time between two notifications for one flow, in microseconds", "mlx5 cc_params; roce_np/min_time_between_cnps";
        rp_initial_alpha_value: u32, ANY,
            "Alpha at the first notification, in parts of 1023", "mlx5 cc_params; roce_rp/initial_alpha_value";
        rp_dce_tcp_g: u32, ANY,
            "What is kept of alpha when it is updated, in parts of 1024", "mlx5 cc_params; roce_rp/dce_tcp_g";
        rp_dce_tcp_rtt: u32, ANY,
            "How often alpha is updated, in microseconds", "mlx5 cc_params; roce_rp/dce_tcp_rtt";
        rp_rate_reduce_monitor_period: u32, ANY,
            "Least time between two cuts of the rate, in microseconds", "mlx5 cc_params; roce_rp/rate_reduce_monitor_period";
        rp_time_reset: u32, ANY,
            "Time between two raises of the rate, in microseconds", "mlx5 cc_params; roce_rp/rpg_time_reset";
        rp_byte_reset: u32, ANY,
            "Bytes between two raises of the rate", "mlx5 cc_params; roce_rp/rpg_byte_reset";
        rp_threshold: u32, ANY,
            "Raises before the rate rises additively", "mlx5 cc_params; roce_rp/rpg_threshold";
        rp_ai_rate: u32, ANY,
            "The additive step, in Mbit/s", "mlx5 cc_params; roce_rp/rpg_ai_rate";
        rp_hai_rate: u32, ANY,
            "The step of hyper increase, in Mbit/s", "mlx5 cc_params; roce_rp/rpg_hai_rate";
        rp_gd: u32, ANY,
            "By how much alpha cuts the rate: the share cut off is alpha (of 1023) / 2 to this power, so that 11 is half of it", "mlx5 cc_params; roce_rp/rpg_gd";
        rp_min_dec_fac: u32, ANY,
            "The deepest cut: what is left of the rate at least, in percent", "mlx5 cc_params; roce_rp/rpg_min_dec_fac";
        rp_min_rate: u32, ANY,
            "The rate below which no flow is cut, in Mbit/s", "mlx5 cc_params; roce_rp/rpg_min_rate";
        rp_max_rate: u32, ANY,
            "The rate above which no flow is raised, in Mbit/s; 0 is the line's", "mlx5 cc_params; roce_rp/rpg_max_rate";
    }

    /// Interrupt moderation that adapts itself.
    moderation: Moderation {
        adaptive_rx: bool, (),
            "Whether it is on for receiving", "`ethtool -c`; RDMA that polls does not notice";
        adaptive_tx: bool, (),
            "Whether it is on for sending", "`ethtool -c`";
    }

    /// What NCCL is told by its environment. The index of the GID is not here: it differs from host to host.
    nccl: Nccl {
        ib_tc: u8, 0..=255,
            "NCCL_IB_TC: the traffic class of its packets", "NCCL's documentation: 0 by default";
        ib_timeout: u8, 1..=22,
            "NCCL_IB_TIMEOUT: a lost packet is missed after 4.096 µs × 2 to this power", "NCCL's documentation: 20 by default";
        ib_retry_cnt: u8, 0..=7,
            "NCCL_IB_RETRY_CNT: how often it is sent again", "NCCL's documentation: 7 by default";
        ib_hca: String, TextRule::NotEmpty,
            "NCCL_IB_HCA: which RDMA devices are used", "your hosts";
        socket_ifname: String, TextRule::NotEmpty,
            "NCCL_SOCKET_IFNAME: which interface the ranks find each other by", "your hosts";
    }
}

/// What received packets are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The DSCP of the IP header.
    Dscp,
    /// The priority of the VLAN tag.
    Pcp,
}

impl Trust {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Dscp, Self::Pcp];

    /// As the profile writes it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Dscp => "dscp",
            Self::Pcp => "pcp",
        }
    }
}

/// What kind of GID is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GidKind {
    /// RoCEv2 with an IPv4 address.
    RoceV2Ipv4,
    /// RoCEv2 with an IPv6 address.
    RoceV2Ipv6,
}

impl GidKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::RoceV2Ipv4, Self::RoceV2Ipv6];

    /// As the profile writes it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::RoceV2Ipv4 => "rocev2-ipv4",
            Self::RoceV2Ipv6 => "rocev2-ipv6",
        }
    }
}

choice!(Trust: "TRUST", GidKind: "KIND");

impl Setting for Priority {
    type Limit = ();
    const IS_NAME: bool = true;

    fn read(entry: &Entry, _limit: &()) -> Result<Self, Mismatch> {
        let number = <u8 as Setting>::read(entry, &(0..=7)).ok();
        number.and_then(Self::new).ok_or_else(|| Mismatch::of(Self::expected(&())))
    }

    fn placeholder(_limit: &()) -> &'static str {
        "PRIORITY"
    }

    fn expected(_limit: &()) -> String {
        "a priority, from 0 to 7".into()
    }

    fn show(&self) -> String {
        self.to_string()
    }
}
