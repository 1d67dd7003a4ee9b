//! The RDMA half of Intel's NICs: irdma, on top of ice (RoCEv2 and iWARP) and of i40e (iWARP alone).
//! Names from Linux 6.12 `infiniband/hw/irdma/verbs.c`, those of its third generation from Linux 6.18.

use super::NativeUnit::{Events, Packets};
use super::{Row, row};
use crate::catalog::Counter as C;

/// Hardware of 24 to 56 bits, summed by the driver once a minute and on each read.
pub(super) const RDMA: &[Row] = &[
    row("cnpHandled", C::CnpHandled, Packets),
    row("cnpIgnored", C::CnpIgnored, Packets),
    row("cnpSent", C::CnpSent, Packets),
    row("RxECNMrkd", C::EcnMarkedPackets, Packets),
    // Datagrams of the RDMA function.
    row("RxUDP", C::RdmaRxPackets, Packets),
    row("TxUDP", C::RdmaTxPackets, Packets),
    row("iwInRdmaReads", C::RdmaReadRequests, Events),
    row("iwInRdmaWrites", C::RdmaWriteRequests, Events),
    row("iwInRdmaSends", C::RdmaSendRequests, Events),
    // Third generation (E830 and IPU). These names do hold blanks, as sysfs files too.
    row("RetransSegs", C::Retransmits, Packets),
    row("RNR sent", C::RnrNaksSent, Events),
    row("RNR received", C::RnrNaks, Events),
    row("Nak Sequence Error", C::PacketSequenceErrors, Events),
    row("Nak Sequence Error Implied", C::ImpliedNakSequenceErrors, Events),
    row("RTO", C::LocalAckTimeouts, Events),
    row("Rcvd Out of order packets", C::OutOfSequence, Events),
    row("CRC errors", C::IcrcErrors, Events),
];

/// What an operator has to know about them.
pub(super) const NOTES: [&str; 2] = [
    "Before its third generation (Linux 6.18) irdma counts neither sequence errors nor timeouts of RoCE.",
    "irdma counts discards by IP version; they are raw counters only, since half of them would look like all.",
];
