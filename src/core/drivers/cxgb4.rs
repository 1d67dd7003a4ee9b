//! Chelsio T4 to T6: cxgb4 and iw_cxgb4. It counts pause frames by priority and no pause time.
//! Names from Linux 6.12 `chelsio/cxgb4/cxgb4_ethtool.c`, which pads them with blanks.

use super::NativeUnit::{Bytes, Frames, Packets};
use super::{Caps, Driver, Evidence, Levers, Refresh, Row, row};
use crate::catalog::Counter as C;

/// cxgb4.
pub(super) const DRIVER: Driver = Driver {
    name: "cxgb4",
    hardware: "Chelsio T4, T5 and T6",
    aliases: &["cxgb4", "iw_cxgb4"],
    ethtool: ETHTOOL,
    rdma: &[],
    // A heading.
    no_counters: &["-------Loopback*"],
    caps: Caps {
        refresh: Refresh::Live,
        // Its DCB operations know the older CEE only, which rocewatch does not speak.
        levers: Levers::PAUSE_AND_LINK,
        ..Caps::UNTABLED
    },
    evidence: Evidence::Fixture,
    notes: &[
        "Frames that its receive buffers drop are counted by buffer group, a raw counter each.",
        "Its RDMA is iWARP; the retransmissions of iw_cxgb4 are raw counters only.",
    ],
};

const ETHTOOL: &[Row] = &[
    row("rx_ppp{prio}_frames", C::PfcRxPauseFrames, Frames),
    row("tx_ppp{prio}_frames", C::PfcTxPauseFrames, Frames),
    row("rx_pause_frames", C::GlobalRxPauseFrames, Frames),
    row("tx_pause_frames", C::GlobalTxPauseFrames, Frames),
    row("rx_octets_ok", C::PortRxBytes, Bytes),
    row("tx_octets_ok", C::PortTxBytes, Bytes),
    row("rx_frames_ok", C::PortRxPackets, Packets),
    row("tx_frames_ok", C::PortTxPackets, Packets),
    row("tx_frames_dropped", C::PortTxDiscards, Packets),
    row("rx_fcs_errors", C::PhyCrcErrors, Packets),
];
