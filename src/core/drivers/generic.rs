//! Any driver nobody has tabled: only names whose meaning and unit are the same wherever they occur.
//! A pause time is never among them, since its unit differs from driver to driver.

use super::NativeUnit::{Events, Frames, Packets, Words4};
use super::{
    Caps, Driver, Levers, PacketScope, PauseCounted, PauseScope, PauseTime, Refresh, Row, XonFrames, row,
};
use crate::catalog::Counter as C;

/// The fallback.
pub(super) const DRIVER: Driver = Driver {
    name: "generic",
    aliases: &["generic"],
    ethtool: ETHTOOL,
    rdma: RDMA,
    caps: Caps {
        // Taken as live until a slower refresh is measured.
        refresh: Refresh::Live,
        pause_time: PauseTime::None,
        pause_counted: PauseCounted::Unknown,
        priority_packets: PacketScope::None,
        pause_scope: PauseScope::Priority,
        xon_frames: XonFrames::PerhapsAmong,
        levers: Levers::UNTABLED,
    },
};

/// 802.3x frames as the drivers of Intel and those modelled on them name them.
const ETHTOOL: &[Row] = &[
    row("rx_flow_control_xon", C::GlobalRxXonFrames, Frames),
    row("rx_flow_control_xoff", C::GlobalRxXoffFrames, Frames),
    row("tx_flow_control_xon", C::GlobalTxXonFrames, Frames),
    row("tx_flow_control_xoff", C::GlobalTxXoffFrames, Frames),
];

/// The port counters InfiniBand defines, which RDMA drivers on Ethernet fill too.
const RDMA: &[Row] = &[
    row("port_xmit_data", C::RdmaTxBytes, Words4),
    row("port_rcv_data", C::RdmaRxBytes, Words4),
    row("port_xmit_packets", C::RdmaTxPackets, Packets),
    row("port_rcv_packets", C::RdmaRxPackets, Packets),
    row("link_downed", C::LinkDowns, Events).sticking_at_8(),
];
