//! Emulex OneConnect: be2net and ocrdma. It counts PFC frames of all priorities together, in 32 bits.
//! Names from Linux 6.12 `emulex/benet/be_ethtool.c`.

use std::time::Duration;

use super::NativeUnit::{Bytes, Frames, Packets};
use super::{Caps, Driver, Evidence, Levers, Refresh, Row, generic, row};
use crate::catalog::Counter as C;

/// be2net.
pub(super) const DRIVER: Driver = Driver {
    name: "be2net",
    hardware: "Emulex OneConnect",
    aliases: &["be2net", "ocrdma"],
    ethtool: ETHTOOL,
    rdma: generic::PORT_COUNTERS,
    no_counters: &[],
    caps: Caps {
        // A worker asks the firmware once a second (be_worker).
        refresh: Refresh::Every(Duration::from_secs(1)),
        // It has no DCB operations.
        levers: Levers::PAUSE_AND_LINK,
        ..Caps::UNTABLED
    },
    evidence: Evidence::Fixture,
    notes: &[
        "Without counters by priority no PFC storm can be found on it, only 802.3x pause.",
        "ocrdma shows its own counters in debugfs alone, where rocewatch does not look.",
    ],
};

const ETHTOOL: &[Row] = &[
    row("rx_priority_pause_frames", C::PortPfcRxPauseFrames, Frames).wrapping_at_32(),
    row("tx_priority_pauseframes", C::PortPfcTxPauseFrames, Frames).wrapping_at_32(),
    row("rx_pause_frames", C::GlobalRxPauseFrames, Frames).wrapping_at_32(),
    row("tx_pauseframes", C::GlobalTxPauseFrames, Frames).wrapping_at_32(),
    row("rx_drops_no_pbuf", C::PortRxDiscards, Packets).wrapping_at_32(),
    row("rx_crc_errors", C::PhyCrcErrors, Packets).wrapping_at_32(),
    row("rx_roce_frames", C::RdmaRxPackets, Packets).wrapping_at_32(),
    row("rx_roce_bytes_lsd", C::RdmaRxBytes, Bytes).with_upper_half("rx_roce_bytes_msd"),
    row("roce_drops_crc", C::IcrcErrors, Packets).wrapping_at_32(),
    row("roce_drops_payload_len", C::RdmaRxDiscards, Packets).wrapping_at_32(),
];
