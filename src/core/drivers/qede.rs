//! Marvell FastLinQ: qede and qedr. It counts PFC frames of all priorities together.
//! Names from Linux 6.12 `qlogic/qede/qede_ethtool.c`.

use super::NativeUnit::{Frames, Packets};
use super::{Caps, Driver, Evidence, Levers, PfcOff, Refresh, Row, row};
use crate::action::Disruption;
use crate::catalog::Counter as C;

/// qede.
pub(super) const DRIVER: Driver = Driver {
    name: "qede",
    hardware: "Marvell FastLinQ 41000 and 45000",
    aliases: &["qede", "qedr"],
    ethtool: ETHTOOL,
    rdma: &[],
    no_counters: &[],
    caps: Caps {
        refresh: Refresh::Live,
        levers: Levers {
            prevention_timeout: None,
            // The management firmware does it; what that does to the port is not settled.
            pfc_off: Some(PfcOff::UNTABLED),
            pause_off: Some(Disruption::Device),
            devlink_recover: Some(Disruption::Device),
            link_bounce: Some(Disruption::Device),
        },
        ..Caps::UNTABLED
    },
    evidence: Evidence::Fixture,
    notes: &[
        "Without counters by priority no PFC storm can be found on it, only 802.3x pause.",
        "qedr has no RDMA counters.",
        "A virtual function has no port counters.",
    ],
};

const ETHTOOL: &[Row] = &[
    row("rx_pfc_frames", C::PortPfcRxPauseFrames, Frames),
    row("tx_pfc_frames", C::PortPfcTxPauseFrames, Frames),
    row("rx_pause_frames", C::GlobalRxPauseFrames, Frames),
    row("tx_pause_frames", C::GlobalTxPauseFrames, Frames),
    row("brb_discards", C::PortRxDiscards, Packets),
    row("no_buff_discards", C::RxNoBuffer, Packets),
    row("rx_crc_errors", C::PhyCrcErrors, Packets),
];
