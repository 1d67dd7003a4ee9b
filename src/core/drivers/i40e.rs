//! Intel X700: i40e. It counts pause frames, stop and go apart, and no pause time.
//! Names from Linux 6.12 `i40e/i40e_ethtool.c`; those of rank 2 are of drivers that are not Linux's own.

use super::NativeUnit::{Bytes, Events, Frames, Packets};
use super::{
    Caps, Driver, Evidence, Levers, LinkEffect, NamesEffect, PauseScope, PfcOff, Refresh, Row, XonFrames,
    irdma, row,
};
use crate::action::Disruption;
use crate::catalog::Counter as C;

/// i40e.
pub(super) const DRIVER: Driver = Driver {
    name: "i40e",
    hardware: "Intel X710, XL710 and X722",
    aliases: &["i40e"],
    ethtool: ETHTOOL,
    rdma: irdma::RDMA,
    no_counters: &["port.tx_lpi_status", "port.rx_lpi_status", "port.fdir_atr_status", "port.fdir_sb_status"],
    caps: Caps {
        refresh: Refresh::Live,
        // Taken to be as on the E800, whose README says so: priorities that move in unison are one pause.
        pause_scope: PauseScope::TrafficClass,
        xon_frames: XonFrames::Apart,
        levers: Levers {
            prevention_timeout: None,
            // A new mask stops all queues, which takes carrier away, and halts the port's transmit side
            // (i40e_hw_dcb_config, i40e_down).
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
    notes: &[
        irdma::NOTES[0],
        irdma::NOTES[1],
        "Its RDMA (X722) is iWARP, which no priority pause protects.",
        "It refuses a PFC mask while the firmware's LLDP agent owns it (private flag `disable-fw-lldp`).",
        "Counters of its embedded switch (`veb.`) say nothing about the wire and are raw counters only.",
    ],
};

const ETHTOOL: &[Row] = &[
    row("port.rx_priority_{prio}_xoff_rx", C::PfcRxXoffFrames, Frames),
    row("port.rx_priority_{prio}_xoff", C::PfcRxXoffFrames, Frames).ranked(2),
    row("port.rx_priority_{prio}_xon_rx", C::PfcRxXonFrames, Frames),
    row("port.rx_priority_{prio}_xon", C::PfcRxXonFrames, Frames).ranked(2),
    row("port.tx_priority_{prio}_xoff_tx", C::PfcTxXoffFrames, Frames),
    row("port.tx_priority_{prio}_xoff", C::PfcTxXoffFrames, Frames).ranked(2),
    row("port.tx_priority_{prio}_xon_tx", C::PfcTxXonFrames, Frames),
    row("port.tx_priority_{prio}_xon", C::PfcTxXonFrames, Frames).ranked(2),
    // From go to stop, where others count from stop to go; over time that is the same number.
    row("port.rx_priority_{prio}_xon_2_xoff", C::PfcRxPauseTransitions, Events),
    row("port.link_xoff_rx", C::GlobalRxXoffFrames, Frames),
    row("port.link_xon_rx", C::GlobalRxXonFrames, Frames),
    row("port.link_xoff_tx", C::GlobalTxXoffFrames, Frames),
    row("port.link_xon_tx", C::GlobalTxXonFrames, Frames),
    // The port's packets come in three parts (unicast, multicast, broadcast) and a sum is not a reading: bytes only.
    row("port.rx_bytes", C::PortRxBytes, Bytes),
    row("port.tx_bytes", C::PortTxBytes, Bytes),
    row("port.rx_discards", C::PortRxDiscards, Packets),
    row("port.rx_dropped", C::PortRxDiscards, Packets).ranked(2),
    row("port.rx_crc_errors", C::PhyCrcErrors, Packets),
    row("port.mac_local_faults", C::PhyLocalFaults, Events),
    row("port.mac_remote_faults", C::PhyRemoteFaults, Events),
];
