//! Software RoCE: rdma_rxe, on top of any network interface.
//! Names from Linux 6.12 `infiniband/sw/rxe/rxe_hw_counters.c`.

use super::NativeUnit::Events;
use super::{Caps, Driver, Evidence, Row, row};
use crate::catalog::Counter as C;

/// rxe.
pub(super) const DRIVER: Driver = Driver {
    name: "rdma_rxe",
    hardware: "software RoCE of Linux",
    aliases: &["rdma_rxe"],
    ethtool: &[],
    rdma: RDMA,
    no_counters: &[],
    caps: Caps::RDMA_ONLY,
    evidence: Evidence::Fixture,
    notes: &[],
};

const RDMA: &[Row] = &[
    row("sent_pkts", C::RdmaTxPackets, Events),
    row("rcvd_pkts", C::RdmaRxPackets, Events),
    row("duplicate_request", C::DuplicateRequests, Events),
    row("out_of_seq_request", C::OutOfSequence, Events),
    row("rcvd_rnr_err", C::RnrNaks, Events),
    row("send_rnr_err", C::RnrNaksSent, Events),
    row("rcvd_seq_err", C::PacketSequenceErrors, Events),
    row("completer_retry_err", C::Retransmits, Events),
    row("retry_exceeded_err", C::TransportRetriesExceeded, Events),
    row("retry_rnr_exceeded_err", C::RnrRetriesExceeded, Events),
    row("send_err", C::RdmaTxErrors, Events),
    row("link_downed", C::LinkDowns, Events),
];
