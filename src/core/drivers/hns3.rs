//! HiSilicon: hns3 and hns_roce. It counts pause frames by priority; its pause time is in a unit that is written down
//! nowhere, and so is none.
//! Names from Linux 6.12 `hisilicon/hns3/hns3pf/hclge_main.c` and `infiniband/hw/hns/hns_roce_main.c`.

use super::NativeUnit::{Bytes, Frames, Packets};
use super::{Caps, Driver, Evidence, Levers, LinkEffect, NamesEffect, PfcOff, Refresh, Row, row};
use crate::action::Disruption;
use crate::catalog::Counter as C;

/// hns3.
pub(super) const DRIVER: Driver = Driver {
    name: "hns3",
    hardware: "HiSilicon Kunpeng",
    aliases: &["hns3", "hns_roce"],
    ethtool: ETHTOOL,
    rdma: RDMA,
    no_counters: &[],
    caps: Caps {
        refresh: Refresh::Live,
        levers: Levers {
            prevention_timeout: None,
            // A new mask stops the interface, flushes its queues, deals out the buffers anew and starts it again
            // (hclge_ieee_setpfc); carrier goes meanwhile (hns3_nic_net_stop).
            pfc_off: Some(PfcOff {
                disruption: Disruption::Link,
                link: LinkEffect::Flaps,
                pause_names: NamesEffect::Stay,
            }),
            pause_off: Some(Disruption::Device),
            devlink_recover: None,
            link_bounce: Some(Disruption::Device),
        },
        ..Caps::UNTABLED
    },
    evidence: Evidence::Fixture,
    notes: &["`*_xoff_time` is a raw counter only: its unit is not known, so it is no time."],
};

const ETHTOOL: &[Row] = &[
    row("mac_rx_pfc_pri{prio}_pkt_num", C::PfcRxPauseFrames, Frames),
    row("mac_tx_pfc_pri{prio}_pkt_num", C::PfcTxPauseFrames, Frames),
    row("mac_rx_pfc_pkt_num", C::PortPfcRxPauseFrames, Frames),
    row("mac_tx_pfc_pkt_num", C::PortPfcTxPauseFrames, Frames),
    row("mac_rx_mac_pause_num", C::GlobalRxPauseFrames, Frames),
    row("mac_tx_mac_pause_num", C::GlobalTxPauseFrames, Frames),
    row("mac_rx_total_oct_num", C::PortRxBytes, Bytes),
    row("mac_tx_total_oct_num", C::PortTxBytes, Bytes),
    row("mac_rx_total_pkt_num", C::PortRxPackets, Packets),
    row("mac_tx_total_pkt_num", C::PortTxPackets, Packets),
    row("mac_rx_fcs_err_pkt_num", C::PhyCrcErrors, Packets),
];

const RDMA: &[Row] = &[
    row("rx_cnp_pkt", C::CnpReceived, Packets),
    row("tx_cnp_pkt", C::CnpSent, Packets),
    row("rx_err_pkt", C::RdmaRxErrors, Packets),
    row("tx_err_pkt", C::RdmaTxErrors, Packets),
    row("rx_pkt", C::RdmaRxPackets, Packets),
    row("tx_pkt", C::RdmaTxPackets, Packets),
];
