//! pfcsim, the software NIC of the test bed (`tests/vm/pfcsim`): mlx5's counter names, read live, and levers that reach
//! no further than their priority.

use super::{
    Caps, Driver, Evidence, Levers, LinkEffect, NamesEffect, PacketScope, PauseCounted, PauseScope,
    PauseTime, PfcOff, Refresh, XonFrames, mlx5,
};
use crate::action::Disruption;

/// pfcsim.
pub(super) const DRIVER: Driver = Driver {
    name: "pfcsim",
    hardware: "none: the software NIC of the test bed",
    aliases: &["pfcsim"],
    ethtool: mlx5::DRIVER.ethtool,
    rdma: mlx5::DRIVER.rdma,
    no_counters: &[],
    caps: Caps {
        refresh: Refresh::Live,
        pause_time: PauseTime::Measured,
        pause_counted: PauseCounted::During,
        priority_packets: PacketScope::Alone,
        pause_scope: PauseScope::Priority,
        xon_frames: XonFrames::PerhapsAmong,
        levers: Levers {
            prevention_timeout: Some(Disruption::Priority),
            pfc_off: Some(PfcOff {
                disruption: Disruption::Priority,
                link: LinkEffect::Stays,
                pause_names: NamesEffect::Stay,
            }),
            pause_off: Some(Disruption::Priority),
            devlink_recover: Some(Disruption::Priority),
            link_bounce: Some(Disruption::Priority),
        },
    },
    evidence: Evidence::RealKernel,
    notes: &["It exists to be acted on: no job has ever run on one."],
};
