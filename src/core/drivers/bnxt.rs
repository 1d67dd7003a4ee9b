//! Broadcom NetXtreme-E and -C: bnxt_en and bnxt_re.
//! Names from Linux 6.12 `bnxt/bnxt_ethtool.c` and `infiniband/hw/bnxt_re/hw_counters.c`.

use std::time::Duration;

use super::NativeUnit::{Bits, Bytes, Events, Frames, Micros, Packets};
use super::{
    Caps, Driver, Evidence, Levers, LinkEffect, NamesEffect, PacketScope, PauseCounted, PauseScope,
    PauseTime, PfcOff, Refresh, Row, XonFrames, row,
};
use crate::action::Disruption;
use crate::catalog::Counter as C;

/// bnxt.
pub(super) const DRIVER: Driver = Driver {
    name: "bnxt_en",
    hardware: "Broadcom NetXtreme-E and -C",
    aliases: &["bnxt_en", "bnxt_re"],
    ethtool: ETHTOOL,
    rdma: RDMA,
    no_counters: &["active_*", "watermark_*", "db_fifo_register"],
    caps: Caps {
        // The firmware writes the block once in `stats-block-usecs`, one second unless set otherwise, while the link
        // is up.
        refresh: Refresh::Every(Duration::from_secs(1)),
        pause_time: PauseTime::Measured,
        pause_counted: PauseCounted::Unknown,
        priority_packets: PacketScope::SharedQueue,
        pause_scope: PauseScope::Priority,
        xon_frames: XonFrames::PerhapsAmong,
        levers: Levers {
            // Since about Linux 6.18; older kernels refuse it.
            prevention_timeout: Some(Disruption::Priority),
            // One firmware command without a link flap, unless queues have to be mapped anew.
            pfc_off: Some(PfcOff {
                disruption: Disruption::Priority,
                link: LinkEffect::Stays,
                pause_names: NamesEffect::Stay,
            }),
            pause_off: Some(Disruption::Priority),
            devlink_recover: Some(Disruption::Device),
            link_bounce: Some(Disruption::Device),
        },
    },
    evidence: Evidence::Fixture,
    notes: &[
        "Firmware without extended port statistics counts pause frames and no pause time.",
        "Traffic of a priority is that of its hardware queue, and is there once the map to queues is known: the number \
         of counters changes at run time. `*_cosN` are queues and no priorities.",
        "A firmware reset can show as a jump of 2^40 and more (bnxt_add_one_ctr), which is not believed.",
        "After one failed query bnxt_re stops refreshing its error counters until it is loaded again.",
        "It refuses a PFC mask while a firmware agent owns it.",
    ],
};

const ETHTOOL: &[Row] = &[
    row("rx_pfc_ena_frames_pri{prio}", C::PfcRxPauseFrames, Frames),
    row("tx_pfc_ena_frames_pri{prio}", C::PfcTxPauseFrames, Frames),
    // Extended port statistics, which older firmware lacks.
    row("pfc_pri{prio}_rx_duration_us", C::PfcRxPauseTime, Micros),
    row("pfc_pri{prio}_rx_transitions", C::PfcRxPauseTransitions, Events),
    row("pfc_pri{prio}_tx_duration_us", C::PfcTxPauseTime, Micros),
    row("pfc_pri{prio}_tx_transitions", C::PfcTxPauseTransitions, Events),
    row("rx_pfc_frames", C::PortPfcRxPauseFrames, Frames),
    row("tx_pfc_frames", C::PortPfcTxPauseFrames, Frames),
    row("rx_pause_frames", C::GlobalRxPauseFrames, Frames),
    row("tx_pause_frames", C::GlobalTxPauseFrames, Frames),
    row("continuous_pause_events", C::NicContinuousPauseStarted, Events),
    row("resume_pause_events", C::NicContinuousPauseEnded, Events),
    row("continuous_roce_pause_events", C::NicContinuousRocePauseStarted, Events),
    row("resume_roce_pause_events", C::NicContinuousRocePauseEnded, Events),
    // Present only once the map from priority to queue is known.
    row("rx_bytes_pri{prio}", C::PriorityRxBytes, Bytes),
    row("tx_bytes_pri{prio}", C::PriorityTxBytes, Bytes),
    row("rx_packets_pri{prio}", C::PriorityRxPackets, Packets),
    row("tx_packets_pri{prio}", C::PriorityTxPackets, Packets),
    row("rx_bytes", C::PortRxBytes, Bytes),
    row("tx_bytes", C::PortTxBytes, Bytes),
    row("rx_total_frames", C::PortRxPackets, Frames),
    row("tx_total_frames", C::PortTxPackets, Frames),
    row("rx_stat_discard", C::PortRxDiscards, Packets),
    row("tx_stat_discard", C::PortTxDiscards, Packets),
    row("rx_total_ring_discards", C::RxNoBuffer, Packets),
    row("rx_buffer_passed_threshold", C::RxBufferOverThreshold, Events),
    row("link_down_events", C::LinkDowns, Events),
    row("rx_fcs_err_frames", C::PhyCrcErrors, Packets),
    row("rx_pcs_symbol_err", C::PhyPcsSymbolErrors, Events),
    row("rx_corrected_bits", C::PhyFecCorrectedBits, Bits),
    row("rx_fec_corrected_blocks", C::PhyFecCorrectedBlocks, Events),
    row("rx_fec_uncorrectable_blocks", C::PhyFecUncorrectableBlocks, Events),
];

const RDMA: &[Row] = &[
    row("rx_ecn_marked_pkts", C::EcnMarkedPackets, Packets),
    row("tx_cnp_pkts", C::CnpSent, Packets),
    row("rx_cnp_pkts", C::CnpReceived, Packets),
    row("oos_drop_count", C::OutOfSequence, Packets),
    row("to_retransmits", C::LocalAckTimeouts, Events),
    row("seq_err_naks_rcvd", C::PacketSequenceErrors, Events),
    row("rnr_naks_rcvd", C::RnrNaks, Events),
    row("max_retry_exceeded", C::TransportRetriesExceeded, Events),
    row("missing_resp", C::ImpliedNakSequenceErrors, Events),
    row("dup_req", C::DuplicateRequests, Events),
    row("rx_out_of_buffer", C::OutOfBuffer, Packets),
    row("rx_roce_discards", C::RdmaRxDiscards, Packets),
    row("tx_roce_discards", C::RdmaTxDiscards, Packets),
    row("rx_roce_errors", C::RdmaRxErrors, Packets),
    row("tx_roce_errors", C::RdmaTxErrors, Packets),
    row("rx_pkts", C::RdmaRxPackets, Packets),
    row("rx_bytes", C::RdmaRxBytes, Bytes),
    row("tx_pkts", C::RdmaTxPackets, Packets),
    row("tx_bytes", C::RdmaTxBytes, Bytes),
    row("remote_access_err", C::RequesterAccessErrors, Events),
    row("remote_invalid_req_err", C::RemoteInvalidRequests, Events),
    row("res_cmp_err", C::ResponderCqeErrors, Events),
    row("rx_write_req", C::RdmaWriteRequests, Events),
    row("rx_read_req", C::RdmaReadRequests, Events),
    row("rx_atomic_req", C::RdmaAtomicRequests, Events),
    row("rx_send_req", C::RdmaSendRequests, Events),
];
