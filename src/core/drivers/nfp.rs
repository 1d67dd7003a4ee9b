//! Corigine (Netronome) Agilio: nfp. It counts pause frames by priority and no pause time.
//! Names from Linux 6.12 `netronome/nfp/nfp_net_ethtool.c`.

use super::NativeUnit::{Bytes, Frames, Packets};
use super::{Caps, Driver, Evidence, Levers, Refresh, Row, row};
use crate::catalog::Counter as C;

/// nfp.
pub(super) const DRIVER: Driver = Driver {
    name: "nfp",
    hardware: "Corigine (Netronome) Agilio",
    aliases: &["nfp"],
    ethtool: ETHTOOL,
    rdma: &[],
    no_counters: &[],
    caps: Caps {
        // Memory of the card; how often the card writes it is written down nowhere.
        refresh: Refresh::Unknown,
        // Its DCB operations do not set PFC.
        levers: Levers::PAUSE_AND_LINK,
        ..Caps::UNTABLED
    },
    evidence: Evidence::Fixture,
    notes: &["It has no RDMA."],
};

const ETHTOOL: &[Row] = &[
    // The counters of the MAC, present where the driver can map them.
    row("mac.rx_pause_frames_class{prio}", C::PfcRxPauseFrames, Frames),
    row("mac.tx_pause_frames_class{prio}", C::PfcTxPauseFrames, Frames),
    row("mac.rx_pause_mac_ctrl_frames", C::GlobalRxPauseFrames, Frames),
    row("mac.tx_pause_mac_ctrl_frames", C::GlobalTxPauseFrames, Frames),
    row("mac.rx_octets", C::PortRxBytes, Bytes),
    row("mac.tx_octets", C::PortTxBytes, Bytes),
    row("mac.rx_frames_received_ok", C::PortRxPackets, Packets),
    row("mac.tx_frames_transmitted_ok", C::PortTxPackets, Packets),
    row("mac.rx_drop_events", C::PortRxDiscards, Packets),
    row("mac.rx_frame_check_sequence_errors", C::PhyCrcErrors, Packets),
    row("dev_rx_discards", C::RxNoBuffer, Packets),
];
