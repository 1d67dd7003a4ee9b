//! AMD Pensando: ionic and ionic_rdma. It counts pause time by priority, and frames for all of them together.
//! Names from Linux 6.12 `pensando/ionic/ionic_stats.c`. The names of RDMA counters come from the firmware; these are
//! those of an AINIC that `rdma statistic` was run on.

use super::NativeUnit::{Bytes, Events, Frames, Micros, Packets};
use super::{Caps, Driver, Evidence, Levers, PacketScope, PauseTime, Refresh, Row, row};
use crate::catalog::Counter as C;

/// ionic.
pub(super) const DRIVER: Driver = Driver {
    name: "ionic",
    hardware: "AMD Pensando DSC and Pollara",
    aliases: &["ionic", "ionic_rdma"],
    ethtool: ETHTOOL,
    rdma: RDMA,
    no_counters: &[],
    caps: Caps {
        // The firmware writes a block into the host's memory, how often is written down nowhere.
        refresh: Refresh::Unknown,
        // Microseconds by their name, of what is written down nowhere.
        pause_time: PauseTime::Unsettled,
        priority_packets: PacketScope::Alone,
        // It has no DCB operations.
        levers: Levers::PAUSE_AND_LINK,
        ..Caps::UNTABLED
    },
    evidence: Evidence::Fixture,
    notes: &[
        "Its PFC mask cannot be read, so all eight priorities are watched.",
        "`frames_rx_pri_N` are data frames of a priority, no pause frames.",
        "RDMA bypasses the interface statistics; only the port's counters show the load.",
        "A counter that the firmware does not have reads as all ones and is left out.",
    ],
};

const ETHTOOL: &[Row] = &[
    row("rx_pripause_{prio}_1us_count", C::PfcRxPauseTime, Micros),
    row("tx_pripause_{prio}_1us_count", C::PfcTxPauseTime, Micros),
    row("frames_rx_pripause", C::PortPfcRxPauseFrames, Frames),
    row("frames_tx_pripause", C::PortPfcTxPauseFrames, Frames),
    row("frames_rx_pause", C::GlobalRxPauseFrames, Frames),
    row("frames_tx_pause", C::GlobalTxPauseFrames, Frames),
    row("rx_pause_1us_count", C::GlobalRxPauseTime, Micros),
    row("frames_rx_pri_{prio}", C::PriorityRxPackets, Packets),
    row("frames_tx_pri_{prio}", C::PriorityTxPackets, Packets),
    row("frames_rx_ok", C::PortRxPackets, Packets),
    row("frames_tx_ok", C::PortTxPackets, Packets),
    row("octets_rx_ok", C::PortRxBytes, Bytes),
    row("octets_tx_ok", C::PortTxBytes, Bytes),
    row("frames_rx_dropped", C::PortRxDiscards, Packets),
    row("hw_rx_dropped", C::RxNoBuffer, Packets),
    row("frames_rx_bad_fcs", C::PhyCrcErrors, Packets),
];

const RDMA: &[Row] = &[
    row("rx_rdma_ecn_pkts", C::EcnMarkedPackets, Packets),
    row("tx_rdma_cnp_pkts", C::CnpSent, Packets),
    row("rx_rdma_cnp_pkts", C::CnpReceived, Packets),
    // Traffic but for multicast, which RoCE hardly ever sends.
    row("rx_rdma_ucast_pkts", C::RdmaRxPackets, Packets),
    row("rx_rdma_ucast_bytes", C::RdmaRxBytes, Bytes),
    row("tx_rdma_ucast_pkts", C::RdmaTxPackets, Packets),
    row("tx_rdma_ucast_bytes", C::RdmaTxBytes, Bytes),
    row("req_rx_pkt_seq_err", C::PacketSequenceErrors, Events),
    row("req_rx_impl_nak_seq_err", C::ImpliedNakSequenceErrors, Events),
    row("req_tx_retry_excd_err", C::TransportRetriesExceeded, Events),
    row("req_rx_rmt_acc_err", C::RequesterAccessErrors, Events),
    row("req_rx_rmt_req_err", C::RemoteInvalidRequests, Events),
    row("resp_tx_rmt_acc_err", C::ResponderAccessErrors, Events),
    // Misspelt by the firmware.
    row("resp_rx_outouf_seq", C::OutOfSequence, Events),
    row("resp_rx_dup_request", C::DuplicateRequests, Events),
    row("resp_rx_outof_buf", C::OutOfBuffer, Events),
];
