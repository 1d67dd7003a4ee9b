//! Alibaba Cloud: erdma, an RDMA device beside a virtio interface.
//! Names from Linux 6.12 `infiniband/hw/erdma/erdma_verbs.c`.

use super::NativeUnit::{Bytes, Packets};
use super::{Caps, Driver, Evidence, Row, row};
use crate::catalog::Counter as C;

/// erdma.
pub(super) const DRIVER: Driver = Driver {
    name: "erdma",
    hardware: "Alibaba Cloud Elastic RDMA Adapter",
    aliases: &["erdma"],
    ethtool: &[],
    rdma: RDMA,
    no_counters: &[],
    caps: Caps::RDMA_ONLY,
    evidence: Evidence::Fixture,
    notes: &[
        "Packets dropped for being over a limit of the cloud (`*_limit_drop_cnt`) are raw counters only: no fault of a \
         fabric.",
    ],
};

const RDMA: &[Row] = &[
    row("rx_packets_cnt", C::RdmaRxPackets, Packets),
    row("rx_bytes_cnt", C::RdmaRxBytes, Bytes),
    row("tx_packets_cnt", C::RdmaTxPackets, Packets),
    row("tx_bytes_cnt", C::RdmaTxBytes, Bytes),
    row("rx_disable_drop_cnt", C::RdmaRxDiscards, Packets),
    row("tx_disable_drop_cnt", C::RdmaTxDiscards, Packets),
];
