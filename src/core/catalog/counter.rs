//! The normalised counters: what the counters of all NIC drivers mean, under one name each and one per direction.
//! A value is held in the base unit of its family ([`Unit`](super::Unit)): nanoseconds, bytes, thousandths or a count.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::family::native_family;
use super::{Family, FamilyKind};
use crate::units::Direction;

/// The facts about one normalised counter.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The counter.
    pub counter: Counter,
    /// Its name in recordings, fixtures and logs.
    pub name: &'static str,
    /// The metric family it is shown in, which carries its unit, type, labels and meaning.
    pub family: &'static Family,
    /// Labels that tell it from other counters of the same family, with their values.
    pub labels: &'static [(&'static str, &'static str)],
    /// What it counts, in the vocabulary that all drivers share.
    pub quantity: &'static str,
    /// Which way: received (and our transmit side held) or sent (and our peer held); `None` where neither applies.
    pub direction: Option<Direction>,
    /// Where its meaning is written down.
    pub source: &'static str,
}

/// Where a counter belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One per port.
    Port,
    /// One per priority of a port.
    Priority,
}

macro_rules! counters {
    (@direction rx) => { Some(Direction::Rx) };
    (@direction tx) => { Some(Direction::Tx) };
    (@direction none) => { None };
    ($($(#[doc = $doc:literal])* $variant:ident $name:literal = $quantity:ident $direction:ident
        -> $family:literal $([$($label:ident $value:literal),+])?, $source:expr;)+) => {
        /// A normalised counter. Each variant stands for one quantity and one direction, whatever a driver calls it;
        /// its [`Entry`] says what it means.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the meaning is data: entry().family.meaning")]
        pub enum Counter { $($variant,)+ }

        impl Counter {
            /// Every counter, in the order of its declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
        }

        static ENTRIES: [Entry; Counter::ALL.len()] = [$(Entry {
            counter: Counter::$variant,
            name: $name,
            family: native_family($family),
            labels: &[$($((stringify!($label), $value),)+)?],
            quantity: stringify!($quantity),
            direction: counters!(@direction $direction),
            source: $source,
        },)+];
    };
}

impl Counter {
    /// The facts about it.
    #[must_use]
    pub fn entry(self) -> &'static Entry {
        &ENTRIES[self.index()]
    }

    /// 0 to `ALL.len() - 1`, to index arrays.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its name in recordings, fixtures and logs, such as `pfc_rx_pause_time`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Whether there is one per port or one per priority.
    #[must_use]
    pub fn scope(self) -> Scope {
        if self.entry().family.is_per_priority() { Scope::Priority } else { Scope::Port }
    }

    /// Whether there is one for each of the eight priorities.
    #[must_use]
    pub fn is_per_priority(self) -> bool {
        self.scope() == Scope::Priority
    }

    /// Whether it is a momentary value, of which no growth can be taken.
    #[must_use]
    pub fn is_gauge(self) -> bool {
        self.entry().family.kind == FamilyKind::Gauge
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Counter {
    type Err = UnknownCounter;

    fn from_str(name: &str) -> Result<Self, UnknownCounter> {
        let entry = ENTRIES.iter().find(|entry| entry.name == name);
        entry.map(|entry| entry.counter).ok_or_else(|| UnknownCounter(name.into()))
    }
}

/// A text that names no counter of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("counter {0:?} is not in the catalogue")]
pub struct UnknownCounter(String);

impl Serialize for Counter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Counter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Linux, Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst.
const MLX5: &str = "kernel: mlx5/counters.rst";
/// Linux, drivers/infiniband/hw/mlx5/counters.c, and the RDMA counters NVIDIA documents.
const MLX5_IB: &str = "kernel: infiniband/hw/mlx5/counters.c";
/// Linux, drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c and bnxt_hsi.h.
const BNXT: &str = "kernel: bnxt/bnxt_ethtool.c";
/// Linux, drivers/infiniband/hw/bnxt_re/hw_counters.c.
const BNXT_RE: &str = "kernel: infiniband/hw/bnxt_re/hw_counters.c";
/// Linux, drivers/net/ethernet/intel/ice/ice_ethtool.c.
const ICE: &str = "kernel: ice/ice_ethtool.c";
/// Linux, Documentation/ABI/stable/sysfs-class-infiniband.
const PMA: &str = "kernel: ABI/stable/sysfs-class-infiniband";
/// IEEE 802.1Qbb, priority-based flow control.
const QBB: &str = "IEEE 802.1Qbb";
/// IEEE 802.3, annex 31B.
const X31B: &str = "IEEE 802.3 annex 31B";

// variant "name" = quantity direction -> "family" [label "value"], source
counters! {
    PfcRxPauseTime "pfc_rx_pause_time" = pfc_pause_duration rx -> "rocewatch_pfc_rx_pause_seconds_total", MLX5;
    PfcTxPauseTime "pfc_tx_pause_time" = pfc_pause_duration tx -> "rocewatch_pfc_tx_pause_seconds_total", MLX5;
    PfcRxPauseFrames "pfc_rx_pause_frames" = pfc_frames rx -> "rocewatch_pfc_rx_pause_frames_total", QBB;
    PfcTxPauseFrames "pfc_tx_pause_frames" = pfc_frames tx -> "rocewatch_pfc_tx_pause_frames_total", QBB;
    PfcRxPauseTransitions "pfc_rx_pause_transitions" = pfc_pause_transitions rx
        -> "rocewatch_pfc_rx_pause_transitions_total", MLX5;
    PfcTxPauseTransitions "pfc_tx_pause_transitions" = pfc_pause_transitions tx
        -> "rocewatch_pfc_tx_pause_transitions_total", BNXT;
    PfcRxXoffFrames "pfc_rx_xoff_frames" = pfc_xoff_frames rx -> "rocewatch_pfc_rx_xoff_frames_total", ICE;
    PfcTxXoffFrames "pfc_tx_xoff_frames" = pfc_xoff_frames tx -> "rocewatch_pfc_tx_xoff_frames_total", ICE;
    PfcRxXonFrames "pfc_rx_xon_frames" = pfc_xon_frames rx -> "rocewatch_pfc_rx_xon_frames_total", ICE;
    PfcTxXonFrames "pfc_tx_xon_frames" = pfc_xon_frames tx -> "rocewatch_pfc_tx_xon_frames_total", ICE;
    PortPfcRxPauseFrames "port_pfc_rx_pause_frames" = pfc_frames_all_priorities rx
        -> "rocewatch_port_pfc_rx_pause_frames_total", BNXT;
    PortPfcTxPauseFrames "port_pfc_tx_pause_frames" = pfc_frames_all_priorities tx
        -> "rocewatch_port_pfc_tx_pause_frames_total", BNXT;
    GlobalRxPauseTime "global_rx_pause_time" = global_pause_duration rx
        -> "rocewatch_global_rx_pause_seconds_total", MLX5;
    GlobalTxPauseTime "global_tx_pause_time" = global_pause_duration tx
        -> "rocewatch_global_tx_pause_seconds_total", MLX5;
    GlobalRxPauseFrames "global_rx_pause_frames" = global_pause_frames rx
        -> "rocewatch_global_rx_pause_frames_total", X31B;
    GlobalTxPauseFrames "global_tx_pause_frames" = global_pause_frames tx
        -> "rocewatch_global_tx_pause_frames_total", X31B;
    GlobalRxPauseTransitions "global_rx_pause_transitions" = global_pause_transitions rx
        -> "rocewatch_global_rx_pause_transitions_total", MLX5;
    GlobalTxPauseTransitions "global_tx_pause_transitions" = global_pause_transitions tx
        -> "rocewatch_global_tx_pause_transitions_total", "kernel: mlx4/mlx4_stats.h";
    GlobalRxXoffFrames "global_rx_xoff_frames" = global_pause_xoff_frames rx
        -> "rocewatch_global_rx_xoff_frames_total", X31B;
    GlobalTxXoffFrames "global_tx_xoff_frames" = global_pause_xoff_frames tx
        -> "rocewatch_global_tx_xoff_frames_total", X31B;
    GlobalRxXonFrames "global_rx_xon_frames" = global_pause_xon_frames rx
        -> "rocewatch_global_rx_xon_frames_total", X31B;
    GlobalTxXonFrames "global_tx_xon_frames" = global_pause_xon_frames tx
        -> "rocewatch_global_tx_xon_frames_total", X31B;
    NicPauseStormWarnings "nic_pause_storm_warnings" = pause_storm_warnings tx
        -> "rocewatch_nic_pause_storm_events_total" [severity "warning"], MLX5;
    NicPauseStormErrors "nic_pause_storm_errors" = pause_storm_errors tx
        -> "rocewatch_nic_pause_storm_events_total" [severity "error"], MLX5;
    NicContinuousPauseStarted "nic_continuous_pause_started" = pause_storm_continuous none
        -> "rocewatch_nic_continuous_pause_started_total" [kind "any"], BNXT;
    NicContinuousPauseEnded "nic_continuous_pause_ended" = pause_storm_resumed none
        -> "rocewatch_nic_continuous_pause_ended_total" [kind "any"], BNXT;
    NicContinuousRocePauseStarted "nic_continuous_roce_pause_started" = pause_storm_continuous_roce none
        -> "rocewatch_nic_continuous_pause_started_total" [kind "roce"], BNXT;
    NicContinuousRocePauseEnded "nic_continuous_roce_pause_ended" = pause_storm_resumed_roce none
        -> "rocewatch_nic_continuous_pause_ended_total" [kind "roce"], BNXT;

    PriorityRxPackets "priority_rx_packets" = prio_packets rx -> "rocewatch_priority_receive_packets_total", MLX5;
    PriorityTxPackets "priority_tx_packets" = prio_packets tx -> "rocewatch_priority_transmit_packets_total", MLX5;
    PriorityRxBytes "priority_rx_bytes" = prio_bytes rx -> "rocewatch_priority_receive_bytes_total", MLX5;
    PriorityTxBytes "priority_tx_bytes" = prio_bytes tx -> "rocewatch_priority_transmit_bytes_total", MLX5;
    PortRxPackets "port_rx_packets" = port_packets rx -> "rocewatch_port_receive_packets_total", MLX5;
    PortTxPackets "port_tx_packets" = port_packets tx -> "rocewatch_port_transmit_packets_total", MLX5;
    PortRxBytes "port_rx_bytes" = port_bytes rx -> "rocewatch_port_receive_bytes_total", MLX5;
    PortTxBytes "port_tx_bytes" = port_bytes tx -> "rocewatch_port_transmit_bytes_total", MLX5;
    RdmaRxPackets "rdma_rx_packets" = rdma_packets rx -> "rocewatch_rdma_receive_packets_total", MLX5;
    RdmaTxPackets "rdma_tx_packets" = rdma_packets tx -> "rocewatch_rdma_transmit_packets_total", MLX5;
    RdmaRxBytes "rdma_rx_bytes" = rdma_bytes rx -> "rocewatch_rdma_receive_bytes_total", PMA;
    RdmaTxBytes "rdma_tx_bytes" = rdma_bytes tx -> "rocewatch_rdma_transmit_bytes_total", PMA;
    RdmaWriteRequests "rdma_write_requests" = rdma_write_requests rx
        -> "rocewatch_rdma_requests_total" [kind "write"], MLX5_IB;
    RdmaReadRequests "rdma_read_requests" = rdma_read_requests rx
        -> "rocewatch_rdma_requests_total" [kind "read"], MLX5_IB;
    RdmaSendRequests "rdma_send_requests" = rdma_send_requests rx
        -> "rocewatch_rdma_requests_total" [kind "send"], BNXT_RE;
    RdmaAtomicRequests "rdma_atomic_requests" = rdma_atomic_requests rx
        -> "rocewatch_rdma_requests_total" [kind "atomic"], MLX5_IB;

    EcnMarkedPackets "ecn_marked_packets" = ecn_marked rx -> "rocewatch_ecn_marked_packets_received_total", MLX5_IB;
    PriorityEcnMarkedPackets "priority_ecn_marked_packets" = prio_ecn_marked rx
        -> "rocewatch_priority_ecn_marked_packets_total", MLX5;
    CnpSent "cnp_sent" = cnp tx -> "rocewatch_cnp_sent_total", MLX5_IB;
    CnpReceived "cnp_received" = cnp rx -> "rocewatch_cnp_received_total", BNXT_RE;
    CnpHandled "cnp_handled" = cnp rx -> "rocewatch_cnp_handled_total", MLX5_IB;
    CnpIgnored "cnp_ignored" = cnp_ignored rx -> "rocewatch_cnp_ignored_total", MLX5_IB;

    PriorityRxDiscards "priority_rx_discards" = prio_discards rx
        -> "rocewatch_priority_receive_discards_total", MLX5;
    PriorityBufferDiscards "priority_buffer_discards" = prio_buf_discards rx
        -> "rocewatch_priority_buffer_discards_total", MLX5;
    PriorityCongestionDiscards "priority_congestion_discards" = prio_congestion_discards rx
        -> "rocewatch_priority_congestion_discards_total", MLX5;
    PortRxDiscards "port_rx_discards" = port_discards rx -> "rocewatch_receive_discards_total", MLX5;
    PortTxDiscards "port_tx_discards" = port_discards tx -> "rocewatch_transmit_discards_total", MLX5;
    RxNoBuffer "rx_no_buffer" = rx_no_buffer rx -> "rocewatch_receive_no_buffer_total", MLX5;
    RxBufferOverThreshold "rx_buffer_over_threshold" = rx_buffer_over_threshold rx
        -> "rocewatch_receive_buffer_over_threshold_total", MLX5;
    RdmaRxDiscards "rdma_rx_discards" = rdma_discards rx -> "rocewatch_rdma_receive_discards_total", BNXT_RE;
    RdmaTxDiscards "rdma_tx_discards" = rdma_discards tx -> "rocewatch_rdma_transmit_discards_total", BNXT_RE;
    RdmaRxErrors "rdma_rx_errors" = rdma_errors rx -> "rocewatch_rdma_receive_errors_total", BNXT_RE;
    RdmaTxErrors "rdma_tx_errors" = rdma_errors tx -> "rocewatch_rdma_transmit_errors_total", BNXT_RE;
    OutOfBuffer "out_of_buffer" = rdma_no_recv_wqe rx -> "rocewatch_out_of_buffer_total", MLX5_IB;
    OutOfSequence "out_of_sequence" = rdma_out_of_sequence rx -> "rocewatch_out_of_sequence_total", MLX5_IB;
    PacketSequenceErrors "packet_sequence_errors" = rdma_sequence_naks_received rx
        -> "rocewatch_packet_sequence_errors_total", MLX5_IB;
    ImpliedNakSequenceErrors "implied_nak_sequence_errors" = rdma_implied_naks rx
        -> "rocewatch_implied_nak_sequence_errors_total", MLX5_IB;
    LocalAckTimeouts "local_ack_timeouts" = rdma_ack_timeouts tx -> "rocewatch_local_ack_timeouts_total", MLX5_IB;
    TransportRetriesExceeded "transport_retries_exceeded" = rdma_retries_exceeded tx
        -> "rocewatch_transport_retries_exceeded_total", MLX5_IB;
    RnrNaks "rnr_naks" = rdma_rnr_naks_received rx -> "rocewatch_rnr_naks_total", MLX5_IB;
    RnrNaksSent "rnr_naks_sent" = rdma_rnr_naks_sent tx -> "rocewatch_rnr_naks_sent_total",
        "kernel: infiniband/sw/rxe/rxe_hw_counters.c";
    RnrRetriesExceeded "rnr_retries_exceeded" = rdma_rnr_retries_exceeded tx
        -> "rocewatch_rnr_retries_exceeded_total", MLX5_IB;
    Retransmits "retransmits" = rdma_retransmits tx -> "rocewatch_retransmits_total",
        "kernel: infiniband/sw/rxe/rxe_hw_counters.c";
    AdaptiveRetransmits "adaptive_retransmits" = rdma_adaptive_retransmits tx
        -> "rocewatch_adaptive_retransmits_total", MLX5_IB;
    AdaptiveRetransmitTimeouts "adaptive_retransmit_timeouts" = rdma_adaptive_retransmit_timeouts tx
        -> "rocewatch_adaptive_retransmit_timeouts_total", MLX5_IB;
    SlowRestarts "slow_restarts" = rdma_slow_restarts tx -> "rocewatch_slow_restarts_total", MLX5_IB;
    DuplicateRequests "duplicate_requests" = rdma_duplicate_requests rx
        -> "rocewatch_duplicate_requests_total", MLX5_IB;
    IcrcErrors "icrc_errors" = icrc_errors rx -> "rocewatch_icrc_errors_total", MLX5_IB;
    RequesterCqeErrors "requester_cqe_errors" = rdma_requester_cqe_errors tx
        -> "rocewatch_cqe_errors_total" [side "requester", kind "any"], MLX5_IB;
    RequesterFlushErrors "requester_flush_errors" = rdma_requester_flush_errors tx
        -> "rocewatch_cqe_errors_total" [side "requester", kind "flush"], MLX5_IB;
    ResponderCqeErrors "responder_cqe_errors" = rdma_responder_cqe_errors rx
        -> "rocewatch_cqe_errors_total" [side "responder", kind "any"], MLX5_IB;
    ResponderFlushErrors "responder_flush_errors" = rdma_responder_flush_errors rx
        -> "rocewatch_cqe_errors_total" [side "responder", kind "flush"], MLX5_IB;
    RequesterAccessErrors "requester_access_errors" = rdma_requester_remote_access_errors tx
        -> "rocewatch_remote_access_errors_total" [side "requester"], MLX5_IB;
    ResponderAccessErrors "responder_access_errors" = rdma_responder_remote_access_errors rx
        -> "rocewatch_remote_access_errors_total" [side "responder"], MLX5_IB;
    RemoteInvalidRequests "remote_invalid_requests" = rdma_requester_remote_invalid_request tx
        -> "rocewatch_remote_invalid_requests_total", MLX5_IB;

    LinkDowns "link_downs" = link_down_events none -> "rocewatch_port_link_downs_total", MLX5;
    PhySymbolErrors "phy_symbol_errors" = symbol_errors rx -> "rocewatch_phy_symbol_errors_total", MLX5;
    PhyPcsSymbolErrors "phy_pcs_symbol_errors" = pcs_symbol_errors rx
        -> "rocewatch_phy_pcs_symbol_errors_total", MLX5;
    PhyCrcErrors "phy_crc_errors" = fcs_errors rx -> "rocewatch_phy_crc_errors_total", MLX5;
    PhyLocalFaults "phy_local_faults" = mac_local_faults rx -> "rocewatch_phy_faults_total" [seen_by "port"], ICE;
    PhyRemoteFaults "phy_remote_faults" = mac_remote_faults tx -> "rocewatch_phy_faults_total" [seen_by "peer"], ICE;
    PhyFecCorrectedBits "phy_fec_corrected_bits" = fec_corrected_bits rx
        -> "rocewatch_phy_fec_corrected_bit_errors_total", MLX5;
    PhyFecCorrectedBlocks "phy_fec_corrected_blocks" = fec_corrected_blocks rx
        -> "rocewatch_phy_fec_corrected_blocks_total", BNXT;
    PhyFecUncorrectableBlocks "phy_fec_uncorrectable_blocks" = fec_uncorrectable_blocks rx
        -> "rocewatch_phy_fec_uncorrectable_blocks_total", BNXT;
    ModuleUnplugged "module_unplugged" = module_unplugged none
        -> "rocewatch_phy_module_events_total" [kind "unplugged"], MLX5;
    ModuleBusStuck "module_bus_stuck" = module_bus_stuck none
        -> "rocewatch_phy_module_events_total" [kind "bus_stuck"], MLX5;
    ModuleHighTemperature "module_high_temperature" = module_high_temperature none
        -> "rocewatch_phy_module_events_total" [kind "high_temperature"], MLX5;
    ModuleShorted "module_shorted" = module_shorted none
        -> "rocewatch_phy_module_events_total" [kind "shorted"], MLX5;
    PcieReadStallTime "pcie_read_stall_time" = pcie_stalled_read_seconds none
        -> "rocewatch_pcie_stalled_seconds_total" [direction "read"], MLX5;
    PcieWriteStallTime "pcie_write_stall_time" = pcie_stalled_write_seconds none
        -> "rocewatch_pcie_stalled_seconds_total" [direction "write"], MLX5;
    PcieReadStallShare "pcie_read_stall_share" = pcie_stalled_read_ratio none
        -> "rocewatch_pcie_stalled_ratio" [direction "read"], MLX5;
    PcieWriteStallShare "pcie_write_stall_share" = pcie_stalled_write_ratio none
        -> "rocewatch_pcie_stalled_ratio" [direction "write"], MLX5;
    PcieBufferOverflows "pcie_buffer_overflows" = pcie_buffer_overflow rx
        -> "rocewatch_pcie_buffer_overflows_total", MLX5;
    PcieRxSignalErrors "pcie_rx_signal_errors" = pcie_signal_integrity_errors rx
        -> "rocewatch_pcie_signal_integrity_errors_total" [direction "rx"], MLX5;
    PcieTxSignalErrors "pcie_tx_signal_errors" = pcie_signal_integrity_errors tx
        -> "rocewatch_pcie_signal_integrity_errors_total" [direction "tx"], MLX5;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_counter_stands_at_its_own_place_and_reads_back_from_its_name() {
        for (index, counter) in Counter::ALL.iter().enumerate() {
            assert_eq!(counter.index(), index);
            assert_eq!(counter.entry().counter, *counter);
            assert_eq!(counter.name().parse(), Ok(*counter));
        }
        assert!("pfc_rx_pause".parse::<Counter>().is_err());
    }

    #[test]
    fn a_counter_is_named_as_its_variant() {
        for counter in Counter::ALL {
            let variant = format!("{counter:?}");
            let joined: String = counter.name().split('_').collect();
            assert_eq!(joined, variant.to_lowercase());
        }
    }

    #[test]
    fn no_two_counters_are_the_same_series() {
        let series: BTreeSet<_> =
            Counter::ALL.iter().map(|c| (c.entry().family.name, c.entry().labels)).collect();
        assert_eq!(series.len(), Counter::ALL.len());
    }

    #[test]
    fn counters_of_one_family_carry_the_same_label_names() {
        let names = |c: &Counter| c.entry().labels.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        for left in Counter::ALL {
            for right in Counter::ALL.iter().filter(|c| c.entry().family == left.entry().family) {
                assert_eq!(names(left), names(right), "{left} and {right}");
            }
        }
    }

    #[test]
    fn a_received_counter_is_not_shown_as_a_sent_one() {
        for entry in &ENTRIES {
            let (name, wrong) = match entry.direction {
                Some(Direction::Rx) => (entry.family.name, ["_tx_", "_transmit_"]),
                Some(Direction::Tx) => (entry.family.name, ["_rx_", "_receive_"]),
                None => continue,
            };
            assert!(!wrong.iter().any(|word| name.contains(word)), "{} in {name}", entry.name);
        }
    }
}
