//! Any driver nobody has tabled: only names whose meaning and unit are the same wherever they occur.
//! A pause time is never among them, since its unit differs from driver to driver.

use super::NativeUnit::{Events, Frames, Packets, Words4};
use super::{Caps, Driver, Evidence, Row, row};
use crate::catalog::Counter as C;

/// The fallback.
pub(super) const DRIVER: Driver = Driver {
    name: "generic",
    hardware: "any other",
    aliases: &["generic"],
    ethtool: ETHTOOL,
    rdma: PORT_COUNTERS,
    // veth puts the number of its other end among its counters.
    no_counters: &["peer_ifindex"],
    caps: Caps::UNTABLED,
    // Read on veth and virtio interfaces, which have no pause.
    evidence: Evidence::RealKernel,
    notes: &[
        "Whatever a driver calls a pause time is left out, since its unit differs from driver to driver.",
        "InfiniBand devices are read for their traffic alone; pause and congestion notification are Ethernet's.",
    ],
};

/// 802.3x frames as the drivers of Intel and those modelled on them name them, then as Broadcom's tg3 and Solarflare's
/// sfc do.
const ETHTOOL: &[Row] = &[
    row("rx_flow_control_xon", C::GlobalRxXonFrames, Frames),
    row("rx_flow_control_xoff", C::GlobalRxXoffFrames, Frames),
    row("tx_flow_control_xon", C::GlobalTxXonFrames, Frames),
    row("tx_flow_control_xoff", C::GlobalTxXoffFrames, Frames),
    row("rx_xon_pause_rcvd", C::GlobalRxXonFrames, Frames).ranked(2),
    row("rx_xoff_pause_rcvd", C::GlobalRxXoffFrames, Frames).ranked(2),
    row("tx_xon_sent", C::GlobalTxXonFrames, Frames).ranked(2),
    row("tx_xoff_sent", C::GlobalTxXoffFrames, Frames).ranked(2),
    row("port_rx_pause", C::GlobalRxPauseFrames, Frames),
    row("port_tx_pause", C::GlobalTxPauseFrames, Frames),
];

/// The port counters InfiniBand defines, which RDMA drivers on Ethernet fill too.
pub(super) const PORT_COUNTERS: &[Row] = &[
    row("port_xmit_data", C::RdmaTxBytes, Words4),
    row("port_rcv_data", C::RdmaRxBytes, Words4),
    row("port_xmit_packets", C::RdmaTxPackets, Packets),
    row("port_rcv_packets", C::RdmaRxPackets, Packets),
    row("link_downed", C::LinkDowns, Events).sticking_at_8(),
];
