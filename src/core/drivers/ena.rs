//! Amazon EC2: ena, and efa beside it. EC2 has no pause.
//! Names from Linux 6.12 `amazon/ena/ena_ethtool.c` and `infiniband/hw/efa/efa_verbs.c`, and from later ones where it
//! says so.

use super::NativeUnit::{Bytes, Events, Packets};
use super::{Caps, Driver, Evidence, Levers, Refresh, Row, row};
use crate::action::Disruption;
use crate::catalog::Counter as C;

/// ena.
pub(super) const DRIVER: Driver = Driver {
    name: "ena",
    hardware: "Amazon Elastic Network and Elastic Fabric Adapter",
    aliases: &["ena", "efa"],
    ethtool: &[],
    rdma: RDMA,
    no_counters: &["conntrack_allowance_available", "ena_srd_mode", "ena_srd_resource_utilization"],
    caps: Caps {
        refresh: Refresh::Live,
        levers: Levers { link_bounce: Some(Disruption::Device), ..Levers::NONE },
        ..Caps::UNTABLED
    },
    evidence: Evidence::Fixture,
    notes: &[
        "What EC2 holds back for being over an allowance (`*_allowance_exceeded`) is a raw counter only: a limit of \
         the cloud and no fault of a fabric.",
        "EFA carries SRD and not RoCE, counts bytes as bytes, and calls its link layer InfiniBand.",
    ],
};

const RDMA: &[Row] = &[
    row("rx_bytes", C::RdmaRxBytes, Bytes),
    row("tx_bytes", C::RdmaTxBytes, Bytes),
    row("rx_pkts", C::RdmaRxPackets, Packets),
    row("tx_pkts", C::RdmaTxPackets, Packets),
    row("rx_drops", C::RdmaRxDiscards, Packets),
    // Of later kernels.
    row("retrans_pkts", C::Retransmits, Packets),
    row("retrans_timeout_events", C::LocalAckTimeouts, Events),
];
