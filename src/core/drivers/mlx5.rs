//! NVIDIA ConnectX-4 and later: mlx5_core and mlx5_ib.
//! Names from Linux 6.12 `mlx5/core/en_stats.c`, `infiniband/hw/mlx5/counters.c` and `mlx5/counters.rst`.

use super::NativeUnit::{Bits, Bytes, Events, Frames, Micros, Packets, Percent, Seconds, Words4};
use super::{
    Caps, Driver, Evidence, Levers, LinkEffect, NamesEffect, PacketScope, PauseCounted, PauseScope,
    PauseTime, PfcOff, Refresh, Row, XonFrames, row,
};
use crate::action::Disruption;
use crate::catalog::Counter as C;

/// mlx5.
pub(super) const DRIVER: Driver = Driver {
    name: "mlx5_core",
    hardware: "NVIDIA ConnectX-4 and later, BlueField",
    // mlx5e_rep is the uplink representor of a switchdev node, which is its physical port.
    aliases: &["mlx5_core", "mlx5e_rep", "mlx5_ib"],
    ethtool: ETHTOOL,
    rdma: RDMA,
    // Linux 6.17 and later; they mean something in pairs alone: congested while high is above low.
    no_counters: &["pci_bw_inbound_*", "pci_bw_outbound_*"],
    caps: Caps {
        // Every call asks the firmware, about 39 commands long.
        refresh: Refresh::Live,
        pause_time: PauseTime::Measured,
        pause_counted: PauseCounted::Unknown,
        priority_packets: PacketScope::Alone,
        pause_scope: PauseScope::Priority,
        xon_frames: XonFrames::PerhapsAmong,
        levers: Levers {
            prevention_timeout: Some(Disruption::Priority),
            // A changed mask takes the port down and up (mlx5e_dcbnl_ieee_setpfc), and the pause names exist only
            // while PFC is on for the priority.
            pfc_off: Some(PfcOff {
                disruption: Disruption::Link,
                link: LinkEffect::Flaps,
                pause_names: NamesEffect::Vanish,
            }),
            pause_off: Some(Disruption::Priority),
            devlink_recover: Some(Disruption::Device),
            link_bounce: Some(Disruption::Device),
        },
    },
    evidence: Evidence::Fixture,
    notes: &[
        "Pause counters of a priority exist only while PFC is on for it, those of 802.3x only while that is on: a name \
         that is missing says nothing about pause.",
        "The congestion counters of a RoCE LAG are sums over its ports.",
        "A virtual function has no port counters.",
    ],
};

const ETHTOOL: &[Row] = &[
    // Present only while PFC is on for the priority.
    row("rx_prio{prio}_pause", C::PfcRxPauseFrames, Frames),
    row("rx_prio{prio}_pause_duration", C::PfcRxPauseTime, Micros),
    row("rx_prio{prio}_pause_transition", C::PfcRxPauseTransitions, Events),
    row("tx_prio{prio}_pause", C::PfcTxPauseFrames, Frames),
    row("tx_prio{prio}_pause_duration", C::PfcTxPauseTime, Micros),
    // Present only while 802.3x pause is on.
    row("rx_global_pause", C::GlobalRxPauseFrames, Frames),
    row("rx_global_pause_duration", C::GlobalRxPauseTime, Micros),
    row("rx_global_pause_transition", C::GlobalRxPauseTransitions, Events),
    row("tx_global_pause", C::GlobalTxPauseFrames, Frames),
    row("tx_global_pause_duration", C::GlobalTxPauseTime, Micros),
    // Read from priority 0 only; present only with stall detection.
    row("tx_pause_storm_warning_events", C::NicPauseStormWarnings, Events),
    row("tx_pause_storm_error_events", C::NicPauseStormErrors, Events),
    row("rx_prio{prio}_bytes", C::PriorityRxBytes, Bytes),
    row("rx_prio{prio}_packets", C::PriorityRxPackets, Packets),
    row("tx_prio{prio}_bytes", C::PriorityTxBytes, Bytes),
    row("tx_prio{prio}_packets", C::PriorityTxPackets, Packets),
    row("rx_prio{prio}_discards", C::PriorityRxDiscards, Packets),
    row("rx_prio{prio}_buf_discard", C::PriorityBufferDiscards, Packets),
    row("rx_prio{prio}_cong_discard", C::PriorityCongestionDiscards, Packets),
    row("rx_prio{prio}_marked", C::PriorityEcnMarkedPackets, Packets),
    row("rx_bytes_phy", C::PortRxBytes, Bytes),
    row("tx_bytes_phy", C::PortTxBytes, Bytes),
    row("rx_packets_phy", C::PortRxPackets, Packets),
    row("tx_packets_phy", C::PortTxPackets, Packets),
    row("rx_vport_rdma_unicast_packets", C::RdmaRxPackets, Packets),
    row("rx_vport_rdma_unicast_bytes", C::RdmaRxBytes, Bytes),
    row("tx_vport_rdma_unicast_packets", C::RdmaTxPackets, Packets),
    row("tx_vport_rdma_unicast_bytes", C::RdmaTxBytes, Bytes),
    row("rx_discards_phy", C::PortRxDiscards, Packets),
    row("tx_discards_phy", C::PortTxDiscards, Packets),
    row("rx_out_of_buffer", C::RxNoBuffer, Packets).wrapping_at_32(),
    row("rx_buffer_passed_thres_phy", C::RxBufferOverThreshold, Events),
    row("link_down_events_phy", C::LinkDowns, Events).wrapping_at_32(),
    row("rx_crc_errors_phy", C::PhyCrcErrors, Packets),
    row("rx_symbol_err_phy", C::PhySymbolErrors, Events),
    row("rx_pcs_symbol_err_phy", C::PhyPcsSymbolErrors, Events),
    row("rx_corrected_bits_phy", C::PhyFecCorrectedBits, Bits),
    row("module_unplug", C::ModuleUnplugged, Events),
    row("module_bus_stuck", C::ModuleBusStuck, Events),
    row("module_high_temp", C::ModuleHighTemperature, Events),
    row("module_bad_shorted", C::ModuleShorted, Events),
    row("rx_pci_signal_integrity", C::PcieRxSignalErrors, Events).wrapping_at_32(),
    row("tx_pci_signal_integrity", C::PcieTxSignalErrors, Events).wrapping_at_32(),
    row("outbound_pci_buffer_overflow", C::PcieBufferOverflows, Packets),
    row("outbound_pci_stalled_rd", C::PcieReadStallShare, Percent).momentary_32(),
    row("outbound_pci_stalled_wr", C::PcieWriteStallShare, Percent).momentary_32(),
    row("outbound_pci_stalled_rd_events", C::PcieReadStallTime, Seconds).wrapping_at_32(),
    row("outbound_pci_stalled_wr_events", C::PcieWriteStallTime, Seconds).wrapping_at_32(),
];

const RDMA: &[Row] = &[
    // Q counters: 32 bits wide.
    row("rx_write_requests", C::RdmaWriteRequests, Events).wrapping_at_32(),
    row("rx_read_requests", C::RdmaReadRequests, Events).wrapping_at_32(),
    row("rx_atomic_requests", C::RdmaAtomicRequests, Events).wrapping_at_32(),
    row("out_of_buffer", C::OutOfBuffer, Packets).wrapping_at_32(),
    row("out_of_sequence", C::OutOfSequence, Packets).wrapping_at_32(),
    row("duplicate_request", C::DuplicateRequests, Events).wrapping_at_32(),
    row("rnr_nak_retry_err", C::RnrNaks, Events).wrapping_at_32(),
    row("packet_seq_err", C::PacketSequenceErrors, Events).wrapping_at_32(),
    row("implied_nak_seq_err", C::ImpliedNakSequenceErrors, Events).wrapping_at_32(),
    row("local_ack_timeout_err", C::LocalAckTimeouts, Events).wrapping_at_32(),
    row("resp_cqe_error", C::ResponderCqeErrors, Events).wrapping_at_32(),
    row("req_cqe_error", C::RequesterCqeErrors, Events).wrapping_at_32(),
    row("req_remote_invalid_request", C::RemoteInvalidRequests, Events).wrapping_at_32(),
    row("req_remote_access_errors", C::RequesterAccessErrors, Events).wrapping_at_32(),
    row("resp_remote_access_errors", C::ResponderAccessErrors, Events).wrapping_at_32(),
    row("resp_cqe_flush_error", C::ResponderFlushErrors, Events).wrapping_at_32(),
    row("req_cqe_flush_error", C::RequesterFlushErrors, Events).wrapping_at_32(),
    row("req_transport_retries_exceeded", C::TransportRetriesExceeded, Events).wrapping_at_32(),
    row("req_rnr_retries_exceeded", C::RnrRetriesExceeded, Events).wrapping_at_32(),
    row("roce_adp_retrans", C::AdaptiveRetransmits, Events).wrapping_at_32(),
    row("roce_adp_retrans_to", C::AdaptiveRetransmitTimeouts, Events).wrapping_at_32(),
    row("roce_slow_restart", C::SlowRestarts, Events).wrapping_at_32(),
    // Congestion counters: summed over the ports of a LAG.
    row("np_ecn_marked_roce_packets", C::EcnMarkedPackets, Packets),
    row("np_cnp_sent", C::CnpSent, Packets),
    row("rp_cnp_handled", C::CnpHandled, Packets),
    row("rp_cnp_ignored", C::CnpIgnored, Packets),
    row("rx_icrc_encapsulated", C::IcrcErrors, Packets),
    // Optional counters: over netlink only, and only once somebody has switched them on.
    row("cc_rx_ce_pkts", C::EcnMarkedPackets, Packets).ranked(2),
    row("cc_rx_cnp_pkts", C::CnpReceived, Packets).ranked(2),
    row("cc_tx_cnp_pkts", C::CnpSent, Packets).ranked(2),
    row("rdma_rx_packets", C::RdmaRxPackets, Packets).ranked(2),
    row("rdma_rx_bytes", C::RdmaRxBytes, Bytes).ranked(2),
    row("rdma_tx_packets", C::RdmaTxPackets, Packets).ranked(2),
    row("rdma_tx_bytes", C::RdmaTxBytes, Bytes).ranked(2),
    // The port's InfiniBand counters.
    row("port_xmit_data", C::RdmaTxBytes, Words4).ranked(3),
    row("port_rcv_data", C::RdmaRxBytes, Words4).ranked(3),
    row("port_xmit_packets", C::RdmaTxPackets, Packets).ranked(3),
    row("port_rcv_packets", C::RdmaRxPackets, Packets).ranked(3),
    row("link_downed", C::LinkDowns, Events).sticking_at_8().ranked(2),
];
