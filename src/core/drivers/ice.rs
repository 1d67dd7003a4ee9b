//! Intel E800: ice. It counts pause frames, stop and go apart, and no pause time.
//! Names from Linux 6.12 `ice/ice_ethtool.c`.

use super::NativeUnit::{Bytes, Events, Frames, Packets};
use super::{
    Caps, Driver, Evidence, Levers, LinkEffect, NamesEffect, PauseScope, PfcOff, Refresh, Row, XonFrames,
    irdma, row,
};
use crate::action::Disruption;
use crate::catalog::Counter as C;

/// ice.
pub(super) const DRIVER: Driver = Driver {
    name: "ice",
    hardware: "Intel E810, E823 and E830",
    aliases: &["ice", "irdma"],
    ethtool: ETHTOOL,
    rdma: irdma::RDMA,
    no_counters: &[],
    caps: Caps {
        refresh: Refresh::Live,
        // Intel's README of the E800: PFC is counted for all priorities of a traffic class together.
        pause_scope: PauseScope::TrafficClass,
        xon_frames: XonFrames::Apart,
        levers: Levers {
            prevention_timeout: None,
            // A new mask closes and opens the port (ice_pf_dcb_cfg).
            pfc_off: Some(PfcOff {
                disruption: Disruption::Link,
                link: LinkEffect::Flaps,
                pause_names: NamesEffect::Stay,
            }),
            // What a change of 802.3x pause does to the link of an E800 is not settled.
            pause_off: Some(Disruption::Device),
            // It has no health reporters up to Linux 6.12.
            devlink_recover: None,
            link_bounce: Some(Disruption::Device),
        },
        ..Caps::UNTABLED
    },
    evidence: Evidence::Fixture,
    notes: &[
        irdma::NOTES[0],
        irdma::NOTES[1],
        "It refuses a PFC mask while the firmware's LLDP agent owns it (private flag `fw-lldp-agent`), and in a bond.",
    ],
};

const ETHTOOL: &[Row] = &[
    row("rx_priority_{prio}_xoff.nic", C::PfcRxXoffFrames, Frames),
    row("rx_priority_{prio}_xon.nic", C::PfcRxXonFrames, Frames),
    row("tx_priority_{prio}_xoff.nic", C::PfcTxXoffFrames, Frames),
    row("tx_priority_{prio}_xon.nic", C::PfcTxXonFrames, Frames),
    row("link_xoff_rx.nic", C::GlobalRxXoffFrames, Frames),
    row("link_xon_rx.nic", C::GlobalRxXonFrames, Frames),
    row("link_xoff_tx.nic", C::GlobalTxXoffFrames, Frames),
    row("link_xon_tx.nic", C::GlobalTxXonFrames, Frames),
    // The port's packets come in three parts (unicast, multicast, broadcast) and a sum is not a reading: bytes only.
    row("rx_bytes.nic", C::PortRxBytes, Bytes),
    row("tx_bytes.nic", C::PortTxBytes, Bytes),
    row("rx_dropped.nic", C::PortRxDiscards, Packets),
    // Without the suffix it counts the function, not the port.
    row("rx_dropped", C::RxNoBuffer, Packets),
    row("rx_crc_errors.nic", C::PhyCrcErrors, Packets),
    row("mac_local_faults.nic", C::PhyLocalFaults, Events),
    row("mac_remote_faults.nic", C::PhyRemoteFaults, Events),
];
