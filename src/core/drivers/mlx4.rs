//! NVIDIA ConnectX-3: mlx4_en and mlx4_ib.
//! Names from Linux 6.12 `mlx4/en_ethtool.c`, `mlx4/mlx4_stats.h` and `infiniband/hw/mlx4/main.c`.

use std::time::Duration;

use super::NativeUnit::{Bytes, Events, Frames, Micros, Packets, Words4};
use super::{
    Caps, Driver, Evidence, Levers, LinkEffect, NamesEffect, PacketScope, PauseTime, PfcOff, Refresh, Row,
    row,
};
use crate::action::Disruption;
use crate::catalog::Counter as C;

/// mlx4.
pub(super) const DRIVER: Driver = Driver {
    name: "mlx4_en",
    hardware: "NVIDIA ConnectX-3",
    aliases: &["mlx4_en", "mlx4_core", "mlx4_ib"],
    ethtool: ETHTOOL,
    rdma: RDMA,
    no_counters: &[],
    caps: Caps {
        // A delayed work dumps the firmware's counters every 250 ms (STATS_DELAY, mlx4_en.h).
        refresh: Refresh::Every(Duration::from_millis(250)),
        // mlx4_stats.h: the microseconds that the far end asked this port to pause.
        pause_time: PauseTime::Requested,
        priority_packets: PacketScope::Alone,
        levers: Levers {
            prevention_timeout: None,
            // One SET_PORT command; the pause names follow the mask (mlx4_en_update_pfc_stats_bitmap).
            pfc_off: Some(PfcOff {
                disruption: Disruption::Priority,
                link: LinkEffect::Stays,
                pause_names: NamesEffect::Vanish,
            }),
            pause_off: Some(Disruption::Device),
            devlink_recover: None,
            link_bounce: Some(Disruption::Device),
        },
        ..Caps::UNTABLED
    },
    evidence: Evidence::Fixture,
    notes: &[
        "Its RDMA counters stand with the port or, on older firmware, with the device; both may be missing.",
    ],
};

const ETHTOOL: &[Row] = &[
    // Present only while PFC is on for the priority.
    row("rx_pause_prio_{prio}", C::PfcRxPauseFrames, Frames),
    row("rx_pause_duration_prio_{prio}", C::PfcRxPauseTime, Micros),
    row("rx_pause_transition_prio_{prio}", C::PfcRxPauseTransitions, Events),
    row("tx_pause_prio_{prio}", C::PfcTxPauseFrames, Frames),
    row("tx_pause_duration_prio_{prio}", C::PfcTxPauseTime, Micros),
    row("tx_pause_transition_prio_{prio}", C::PfcTxPauseTransitions, Events),
    // Present only while 802.3x pause is on.
    row("rx_pause", C::GlobalRxPauseFrames, Frames),
    row("rx_pause_duration", C::GlobalRxPauseTime, Micros),
    row("rx_pause_transition", C::GlobalRxPauseTransitions, Events),
    row("tx_pause", C::GlobalTxPauseFrames, Frames),
    row("tx_pause_duration", C::GlobalTxPauseTime, Micros),
    row("tx_pause_transition", C::GlobalTxPauseTransitions, Events),
    row("rx_prio_{prio}_packets", C::PriorityRxPackets, Packets),
    row("rx_prio_{prio}_bytes", C::PriorityRxBytes, Bytes),
    row("tx_prio_{prio}_packets", C::PriorityTxPackets, Packets),
    row("tx_prio_{prio}_bytes", C::PriorityTxBytes, Bytes),
    row("rx_packets_phy", C::PortRxPackets, Packets),
    row("rx_bytes_phy", C::PortRxBytes, Bytes),
    row("tx_packets_phy", C::PortTxPackets, Packets),
    row("tx_bytes_phy", C::PortTxBytes, Bytes),
    row("rx_dropped", C::PortRxDiscards, Packets),
];

const RDMA: &[Row] = &[
    row("rq_num_oos", C::OutOfSequence, Events).wrapping_at_32(),
    row("sq_num_oos", C::PacketSequenceErrors, Events).wrapping_at_32(),
    row("rq_num_rnr", C::RnrNaksSent, Events).wrapping_at_32(),
    row("sq_num_rnr", C::RnrNaks, Events).wrapping_at_32(),
    row("sq_num_to", C::LocalAckTimeouts, Events).wrapping_at_32(),
    row("rq_num_dup", C::DuplicateRequests, Events).wrapping_at_32(),
    row("sq_num_tree", C::TransportRetriesExceeded, Events).wrapping_at_32(),
    row("sq_num_rree", C::RnrRetriesExceeded, Events).wrapping_at_32(),
    row("sq_num_rae", C::RequesterAccessErrors, Events).wrapping_at_32(),
    row("rq_num_rae", C::ResponderAccessErrors, Events).wrapping_at_32(),
    // The port's InfiniBand counters.
    row("port_xmit_data", C::RdmaTxBytes, Words4),
    row("port_rcv_data", C::RdmaRxBytes, Words4),
    row("port_xmit_packets", C::RdmaTxPackets, Packets),
    row("port_rcv_packets", C::RdmaRxPackets, Packets),
    row("link_downed", C::LinkDowns, Events).sticking_at_8(),
];
