//! Intel 82599, X500 and X550: ixgbe. It counts pause frames, stop and go apart, and no pause time.
//! Names from Linux 6.12 `ixgbe/ixgbe_ethtool.c`, their meaning from `ixgbe/ixgbe_main.c`.

use super::NativeUnit::{Bytes, Frames, Packets};
use super::{Caps, Driver, Evidence, Levers, LinkEffect, NamesEffect, PfcOff, Refresh, Row, XonFrames, row};
use crate::action::Disruption;
use crate::catalog::Counter as C;

/// ixgbe.
pub(super) const DRIVER: Driver = Driver {
    name: "ixgbe",
    hardware: "Intel 82599, X500 and X550",
    aliases: &["ixgbe"],
    ethtool: ETHTOOL,
    rdma: &[],
    no_counters: &[],
    caps: Caps {
        // Registers that are cleared by reading, summed by the driver.
        refresh: Refresh::Live,
        xon_frames: XonFrames::Apart,
        levers: Levers {
            prevention_timeout: None,
            // Written into the registers, without a link flap (ixgbe_dcbnl_ieee_setpfc).
            pfc_off: Some(PfcOff {
                disruption: Disruption::Priority,
                link: LinkEffect::Stays,
                pause_names: NamesEffect::Stay,
            }),
            pause_off: Some(Disruption::Device),
            devlink_recover: None,
            link_bounce: Some(Disruption::Device),
        },
        ..Caps::UNTABLED
    },
    evidence: Evidence::Fixture,
    notes: &["An empty PFC mask switches 802.3x pause on again.", "It has no RDMA."],
};

const ETHTOOL: &[Row] = &[
    // The number is the user priority, whatever "pb" says: the driver looks its class up
    // (ixgbe_update_xoff_received).
    row("rx_pb_{prio}_pxoff", C::PfcRxXoffFrames, Frames),
    row("rx_pb_{prio}_pxon", C::PfcRxXonFrames, Frames),
    row("tx_pb_{prio}_pxoff", C::PfcTxXoffFrames, Frames),
    row("tx_pb_{prio}_pxon", C::PfcTxXonFrames, Frames),
    row("rx_flow_control_xoff", C::GlobalRxXoffFrames, Frames),
    row("rx_flow_control_xon", C::GlobalRxXonFrames, Frames),
    row("tx_flow_control_xoff", C::GlobalTxXoffFrames, Frames),
    row("tx_flow_control_xon", C::GlobalTxXonFrames, Frames),
    row("rx_bytes_nic", C::PortRxBytes, Bytes),
    row("tx_bytes_nic", C::PortTxBytes, Bytes),
    row("rx_pkts_nic", C::PortRxPackets, Packets),
    row("tx_pkts_nic", C::PortTxPackets, Packets),
    row("rx_missed_errors", C::PortRxDiscards, Packets),
    // On an 82598 only `rx_no_buffer_count` moves; both are always there, so no rank could tell which one counts.
    row("rx_no_dma_resources", C::RxNoBuffer, Packets),
    row("rx_crc_errors", C::PhyCrcErrors, Packets),
];
