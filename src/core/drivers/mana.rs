//! Microsoft Azure: mana and mana_ib. It counts pause frames by traffic class, if at all.
//! Names from Linux 6.12 `microsoft/mana/mana_ethtool.c`; those of the wire and of RDMA from later kernels,
//! `infiniband/hw/mana/counters.c` among them.

use super::NativeUnit::{Bytes, Events, Packets};
use super::{Caps, Driver, Evidence, Levers, PauseScope, Refresh, Row, row};
use crate::action::Disruption;
use crate::catalog::Counter as C;

/// mana.
pub(super) const DRIVER: Driver = Driver {
    name: "mana",
    hardware: "Microsoft Azure Network Adapter",
    aliases: &["mana", "mana_ib"],
    ethtool: ETHTOOL,
    rdma: RDMA,
    // A rate of its congestion control.
    no_counters: &["current_rate"],
    caps: Caps {
        refresh: Refresh::Live,
        pause_scope: PauseScope::TrafficClass,
        // It has neither DCB operations nor pause parameters.
        levers: Levers { link_bounce: Some(Disruption::Device), ..Levers::NONE },
        ..Caps::UNTABLED
    },
    evidence: Evidence::Fixture,
    notes: &[
        "It counts pause by traffic class (since a kernel after 6.12), and nothing tells which priorities a class \
         carries: those frames are raw counters only, and no PFC storm can be found on it.",
        "While its port is down all its counters read 0, which shows as a reset.",
    ],
};

const ETHTOOL: &[Row] = &[
    row("hc_rx_pkt_drop_phy", C::PortRxDiscards, Packets),
    row("hc_tx_pkt_drop_phy", C::PortTxDiscards, Packets),
    row("hc_rx_discards_no_wqe", C::RxNoBuffer, Packets),
];

const RDMA: &[Row] = &[
    row("received_ecns", C::EcnMarkedPackets, Packets),
    row("sent_cnps", C::CnpSent, Packets),
    row("received_cnp_count", C::CnpReceived, Packets),
    row("requester_timeout", C::LocalAckTimeouts, Events),
    row("requester_oos_nak", C::PacketSequenceErrors, Events),
    row("requester_implicit_nak", C::ImpliedNakSequenceErrors, Events),
    row("requester_rnr_nak", C::RnrNaks, Events),
    row("requester_rnr_nak_retries_exceeded", C::RnrRetriesExceeded, Events),
    row("requester_retries_exceeded", C::TransportRetriesExceeded, Events),
    row("responder_rnr_nak", C::RnrNaksSent, Events),
    row("responder_oos", C::OutOfSequence, Events),
    row("responder_dup_request", C::DuplicateRequests, Events),
    row("rx_bytes", C::RdmaRxBytes, Bytes),
    row("tx_bytes", C::RdmaTxBytes, Bytes),
    row("rx_packets", C::RdmaRxPackets, Packets),
    row("tx_packets", C::RdmaTxPackets, Packets),
    row("rx_send_requests", C::RdmaSendRequests, Events),
    row("rx_write_requests", C::RdmaWriteRequests, Events),
    row("rx_read_requests", C::RdmaReadRequests, Events),
];
