//! The faults that each alert is for: what changes against the healthy base, and what the alert then says.

/// A fault, and the alert that has to fire on it.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) pace: Pace,
    pub(crate) alert: &'static str,
    /// What happens.
    pub(crate) what: &'static str,
    /// When the alert has to fire.
    pub(crate) at: &'static str,
    /// The value as its texts write it.
    pub(crate) value: &'static str,
    /// The labels of the alert, but for its name and severity.
    pub(crate) labels: &'static str,
    /// The series that are other than in the base, with their samples.
    pub(crate) series: &'static [(&'static str, &'static str)],
}

/// How fast time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// A sample every 15 s, an evaluation every minute; the fault comes at 30m15s.
    Fast,
    /// Both every 5 min, for what is looked back on over days; the fault comes at 10h5m or later.
    Slow,
}

impl Pace {
    pub(crate) const fn step(self) -> u32 {
        match self {
            Self::Fast => 15,
            Self::Slow => 300,
        }
    }

    pub(crate) const fn evaluation(self) -> &'static str {
        match self {
            Self::Fast => "1m",
            Self::Slow => "5m",
        }
    }

    /// A moment at which nothing is wrong yet.
    pub(crate) const fn before(self) -> &'static str {
        match self {
            Self::Fast => "30m",
            Self::Slow => "4h",
        }
    }
}

type Changed = &'static [(&'static str, &'static str)];

const fn fast(
    alert: &'static str,
    what: &'static str,
    at: &'static str,
    value: &'static str,
    labels: &'static str,
    series: Changed,
) -> Fault {
    Fault { pace: Pace::Fast, alert, what, at, value, labels, series }
}

const fn slow(
    alert: &'static str,
    what: &'static str,
    at: &'static str,
    value: &'static str,
    labels: &'static str,
    series: Changed,
) -> Fault {
    Fault { pace: Pace::Slow, ..fast(alert, what, at, value, labels, series) }
}

macro_rules! node_labels {
    ($node:literal) => {
        concat!(r#"cluster="c1",instance="node"#, $node, r#"",job="rocewatch""#)
    };
    ($node:literal, $more:literal) => {
        concat!(node_labels!($node), ",", $more)
    };
}
macro_rules! mlx5_labels {
    () => {
        peer_labels!(1)
    };
    ($more:literal) => {
        concat!(peer_labels!(1), ",", $more)
    };
}
/// The port of a node that every node has.
macro_rules! peer_labels {
    ($node:literal) => {
        node_labels!($node, r#"device="mlx5_0",port="1",netdev="eth0""#)
    };
}
macro_rules! ice_labels {
    ($more:literal) => {
        concat!(node_labels!(1, r#"device="irdma0",port="1",netdev="ens3""#), ",", $more)
    };
}
macro_rules! node {
    ($node:literal, $name:literal) => {
        concat!($name, "{", node_labels!($node), "}")
    };
    ($node:literal, $name:literal, $more:literal) => {
        concat!($name, "{", node_labels!($node, $more), "}")
    };
}
macro_rules! mlx5 {
    ($name:literal) => {
        concat!($name, "{", mlx5_labels!(), "}")
    };
    ($name:literal, $more:literal) => {
        concat!($name, "{", mlx5_labels!($more), "}")
    };
}
macro_rules! peer {
    ($node:literal, $name:literal, $more:literal) => {
        concat!($name, "{", peer_labels!($node), ",", $more, "}")
    };
}
macro_rules! ice {
    ($name:literal, $more:literal) => {
        concat!($name, "{", ice_labels!($more), "}")
    };
}

/// All of them: alert, what happens, when it has to fire, its value, its labels, and what is other than in the base.
#[rustfmt::skip]
pub(crate) const FAULTS: &[Fault] = &[
    fast("RocewatchStormFleetWide", "three of twelve nodes are in a storm", "31m", "3", r#"cluster="c1""#, &[(mlx5!("rocewatch_watchdog_storm", r#"priority="3",direction="rx""#), "0x120 1x60"), (peer!(2, "rocewatch_watchdog_storm", r#"priority="3",direction="rx""#), "0x120 1x60"), (peer!(3, "rocewatch_watchdog_storm", r#"priority="3",direction="rx""#), "0x120 1x60")]),
    fast("RocewatchRxPauseStorm", "a storm shorter than a scrape", "31m", "1", mlx5_labels!(r#"priority="3",direction="rx""#), &[(mlx5!("rocewatch_watchdog_storms_total", r#"priority="3",direction="rx""#), "3x120 4x60")]),
    fast("RocewatchRxPauseStorm", "a storm that lasts", "45m", "1", mlx5_labels!(r#"priority="3",direction="rx""#), &[(mlx5!("rocewatch_watchdog_storm", r#"priority="3",direction="rx""#), "0x120 1x60")]),
    fast("RocewatchTxPauseStorm", "a storm that lasts", "31m", "1", mlx5_labels!(r#"priority="3",direction="tx""#), &[(mlx5!("rocewatch_watchdog_storm", r#"priority="3",direction="tx""#), "0x120 1x60")]),
    fast("RocewatchStormNotMitigated", "the first refusal of a port", "32m", "1", mlx5_labels!(r#"priority="3",direction="rx""#), &[(mlx5!("rocewatch_watchdog_storm", r#"priority="3",direction="rx""#), "0x120 1x60"), (mlx5!("rocewatch_watchdog_suppressed_total", r#"reason="disruption""#), "_x121 1x60")]),
    fast("RocewatchStormNotMitigated", "one more refusal", "32m", "1", mlx5_labels!(r#"priority="3",direction="rx""#), &[(mlx5!("rocewatch_watchdog_storm", r#"priority="3",direction="rx""#), "0x120 1x60"), (mlx5!("rocewatch_watchdog_suppressed_total", r#"reason="hold_off""#), "2x120 3x60")]),
    fast("RocewatchWatchdogActed", "one more action", "31m", "1", mlx5_labels!(r#"action="pfc-off",result="ok""#), &[(mlx5!("rocewatch_watchdog_actions_total", r#"action="pfc-off",result="ok""#), "5x120 6x60")]),
    fast("RocewatchWatchdogActed", "the first action of a port", "31m", "1", mlx5_labels!(r#"action="pause-off",result="ok""#), &[(mlx5!("rocewatch_watchdog_actions_total", r#"action="pause-off",result="ok""#), "_x121 1x60")]),
    fast("RocewatchResetLoop", "three actions within an hour", "44m", "3", mlx5_labels!(), &[(mlx5!("rocewatch_watchdog_actions_total", r#"action="pfc-off",result="ok""#), "5x120 6x20 7x20 8x60")]),
    fast("RocewatchActionFailed", "the first action of a port", "31m", "1", mlx5_labels!(r#"action="pause-off",result="failed""#), &[(mlx5!("rocewatch_watchdog_actions_total", r#"action="pause-off",result="failed""#), "_x121 1x60")]),
    fast("RocewatchActionIneffective", "one more action", "31m", "1", mlx5_labels!(r#"action="pfc-off",result="ineffective""#), &[(mlx5!("rocewatch_watchdog_actions_total", r#"action="pfc-off",result="ineffective""#), "1x120 2x60")]),
    fast("RocewatchUndoFailed", "an undo fails", "31m", "1", mlx5_labels!(r#"priority="3",direction="rx""#), &[(mlx5!("rocewatch_watchdog_undo_failed", r#"priority="3",direction="rx""#), "0x120 1x60")]),
    fast("RocewatchLockedOut", "a queue is locked", "32m", "1", mlx5_labels!(r#"priority="3",direction="rx""#), &[(mlx5!("rocewatch_watchdog_locked", r#"priority="3",direction="rx""#), "0x120 1x60")]),
    fast("RocewatchNoLosslessPriority", "its settings are gone", "46m", "0", node_labels!(1), &[(mlx5!("rocewatch_pfc_enabled", r#"priority="3""#), "1x120 0x120"), (ice!("rocewatch_pfc_enabled", r#"priority="3""#), "1x120 0x120")]),
    fast("RocewatchNotArmed", "a queue turns blind", "36m", "0", mlx5_labels!(r#"priority="3",direction="rx""#), &[(mlx5!("rocewatch_watchdog_armed", r#"priority="3",direction="rx""#), "1x120 0x60")]),
    fast("RocewatchJournalNotWritable", "the disk is full", "33m", "0", node_labels!(1), &[(node!(1, "rocewatch_watchdog_journal_writable"), "1x120 0x60")]),
    // promtool evaluates every group at the pace of the test, so that what is added up hourly is added up twelve times.
    slow("RocewatchStuckInDryRun", "storms in dry_run", "19h", "24", node_labels!(1), &[(node!(1, "rocewatch_watchdog_mode", r#"mode="dry_run""#), "1x240"), (node!(1, "rocewatch_watchdog_mode", r#"mode="enforce""#), "0x240"), (mlx5!("rocewatch_watchdog_storms_total", r#"priority="3",direction="rx""#), "3x120 5x120")]),
    fast("RocewatchPfcRxPauseHigh", "held a tenth of the time", "46m", "10%", mlx5_labels!(r#"priority="3""#), &[(mlx5!("rocewatch_pfc_rx_pause_seconds_total", r#"priority="3""#), "5000+0.03x120 5003.6+1.5x120")]),
    fast("RocewatchPfcRxPauseCritical", "held two fifths of the time", "34m", "40%", mlx5_labels!(r#"priority="3""#), &[(mlx5!("rocewatch_pfc_rx_pause_seconds_total", r#"priority="3""#), "5000+0.03x120 5003.6+6x120")]),
    fast("RocewatchPfcTxPauseHigh", "holds the fabric a little", "42m", "4%", mlx5_labels!(r#"priority="3""#), &[(mlx5!("rocewatch_pfc_tx_pause_seconds_total", r#"priority="3""#), "700+0.015x120 701.8+0.6x120")]),
    fast("RocewatchPfcTxPauseCritical", "holds the fabric a fifth of the time", "34m", "20%", mlx5_labels!(r#"priority="3""#), &[(mlx5!("rocewatch_pfc_tx_pause_seconds_total", r#"priority="3""#), "700+0.015x120 701.8+3x120")]),
    fast("RocewatchPfcRxPauseEstimated", "many frames and no time", "46m", "67.11%", ice_labels!(r#"priority="3""#), &[(ice!("rocewatch_pfc_rx_xoff_frames_total", r#"priority="3""#), "5000000+150x120 5018000+30000x120")]),
    fast("RocewatchPfcRxPauseEstimated", "time that was only asked for", "46m", "60%", mlx5_labels!(r#"priority="3""#), &[(mlx5!("rocewatch_watchdog_estimated"), "1x240"), (mlx5!("rocewatch_pfc_rx_pause_seconds_total", r#"priority="3""#), "5000+0.03x120 5003.6+9x120")]),
    fast("RocewatchPfcTxPauseEstimated", "many frames and no time", "46m", "67.11%", ice_labels!(r#"priority="3""#), &[(ice!("rocewatch_pfc_tx_xoff_frames_total", r#"priority="3""#), "500000+15x120 501800+30000x120")]),
    fast("RocewatchPfcRxPauseFrames", "many frames", "46m", "2k", mlx5_labels!(r#"priority="3""#), &[(mlx5!("rocewatch_pfc_rx_pause_frames_total", r#"priority="3""#), "132000000+1500x120 132180000+30000x120")]),
    fast("RocewatchPfcTxPauseFrames", "many frames", "46m", "2k", mlx5_labels!(r#"priority="3""#), &[(mlx5!("rocewatch_pfc_tx_pause_frames_total", r#"priority="3""#), "9000000+150x120 9018000+30000x120")]),
    fast("RocewatchPauseBursts", "one second in thirty has a burst", "59m", "85%", mlx5_labels!(r#"priority="3""#), &[(mlx5!("rocewatch_pfc_rx_pause_ratio_bucket", r#"priority="3",le="0.5""#), "3500+15x120 5300+14.5x120")]),
    fast("RocewatchPauseOutlier", "one host of four", "46m", "4%", mlx5_labels!(r#"priority="3""#), &[(mlx5!("rocewatch_pfc_tx_pause_seconds_total", r#"priority="3""#), "700+0.015x120 701.8+0.6x120"), (peer!(2, "rocewatch_pfc_tx_pause_seconds_total", r#"priority="3""#), "0+0.015x240"), (peer!(3, "rocewatch_pfc_tx_pause_seconds_total", r#"priority="3""#), "0+0.015x240"), (peer!(4, "rocewatch_pfc_tx_pause_seconds_total", r#"priority="3""#), "0+0.015x240")]),
    fast("RocewatchPauseUnexpectedPriority", "frames on a lossy priority", "46m", "10", mlx5_labels!(r#"priority="0",direction="rx""#), &[(mlx5!("rocewatch_pfc_rx_pause_frames_total", r#"priority="0""#), "9x120 9+150x120")]),
    fast("RocewatchGlobalPauseActive", "frames arrive", "46m", "10", mlx5_labels!(r#"direction="rx""#), &[(mlx5!("rocewatch_global_rx_pause_frames_total"), "132000000x120 132000000+150x120")]),
    fast("RocewatchGlobalPauseActive", "switched on beside PFC", "46m", "1", mlx5_labels!(r#"direction="tx""#), &[(mlx5!("rocewatch_global_pause_enabled", r#"direction="tx""#), "0x120 1x120")]),
    fast("RocewatchNicStormDetected", "the NIC stops pausing", "31m", "1", mlx5_labels!(), &[(mlx5!("rocewatch_nic_pause_storm_events_total", r#"severity="error""#), "1x120 2x60")]),
    fast("RocewatchNicStormWarning", "the NIC warns", "31m", "1", mlx5_labels!(), &[(mlx5!("rocewatch_nic_pause_storm_events_total", r#"severity="warning""#), "4x120 5x60")]),
    fast("RocewatchPfcPeerMismatch", "the peer switches PFC off", "42m", "1", mlx5_labels!(r#"priority="3""#), &[(mlx5!("rocewatch_pfc_peer_enabled", r#"priority="3""#), "1x120 0x120")]),
    fast("RocewatchEcnMarksHigh", "three of a hundred are marked", "51m", "3%", mlx5_labels!(), &[(mlx5!("rocewatch_ecn_marked_packets_received_total"), "90000000+75000x120 99000000+450000x120")]),
    fast("RocewatchPauseWithoutEcn", "pause and not one mark", "55m", "2%", r#"cluster="c1""#, &[(mlx5!("rocewatch_ecn_marked_packets_received_total"), "90000000x240"), (mlx5!("rocewatch_pfc_rx_pause_seconds_total", r#"priority="3""#), "5000+0.03x120 5003.6+0.3x120")]),
    fast("RocewatchCnpLoopBroken", "a fifth is handled", "59m", "20%", r#"cluster="c1""#, &[(mlx5!("rocewatch_cnp_handled_total"), "90000000+2900x120 90348000+600x120")]),
    fast("RocewatchCnpIgnored", "one in eleven is ignored", "46m", "9.375%", mlx5_labels!(), &[(mlx5!("rocewatch_cnp_ignored_total"), "500+1x120 620+300x120")]),
    fast("RocewatchLosslessDiscards", "two packets are dropped", "32m", "2", mlx5_labels!(r#"priority="3""#), &[(mlx5!("rocewatch_priority_receive_discards_total", r#"priority="3""#), "7x120 9x60")]),
    fast("RocewatchOutOfBuffer", "no buffers while the host pauses", "41m", "10", mlx5_labels!(), &[(mlx5!("rocewatch_out_of_buffer_total"), "12x120 12+150x120")]),
    fast("RocewatchTransportRetriesExceeded", "a connection breaks", "31m", "1", mlx5_labels!(), &[(mlx5!("rocewatch_transport_retries_exceeded_total"), "4x120 5x60")]),
    fast("RocewatchAckTimeouts", "five a second", "41m", "5", mlx5_labels!(), &[(mlx5!("rocewatch_local_ack_timeouts_total"), "300+1x120 420+75x120")]),
    fast("RocewatchSequenceErrors", "one in ten thousand", "46m", "0.01%", mlx5_labels!(), &[(mlx5!("rocewatch_out_of_sequence_total"), "3000+30x120 6600+1500x120")]),
    fast("RocewatchRetransmits", "twenty a second", "46m", "20", mlx5_labels!(), &[(mlx5!("rocewatch_adaptive_retransmits_total"), "3000+15x120 4800+300x120")]),
    fast("RocewatchIcrcErrors", "two damaged packets", "31m", "2", mlx5_labels!(), &[(mlx5!("rocewatch_icrc_errors_total"), "3x120 5x60")]),
    fast("RocewatchPortDown", "the link goes down", "32m", "0", mlx5_labels!(), &[(mlx5!("rocewatch_port_up"), "1x120 0x60")]),
    slow("RocewatchPortDown", "it does not come back after a reboot", "15h", "0", mlx5_labels!(), &[(mlx5!("rocewatch_port_up"), "1x120 stale _x40 0x40")]),
    fast("RocewatchLinkFlapping", "two flaps in a row", "31m", "4", mlx5_labels!(), &[(mlx5!("rocewatch_carrier_changes_total"), "8x120 10 12x60")]),
    fast("RocewatchSpeedDegraded", "a quarter of the speed", "36m", "12.5G", mlx5_labels!(), &[(mlx5!("rocewatch_port_rate_bytes_per_second"), "50000000000x120 12500000000x60")]),
    fast("RocewatchDeviceMissing", "one of two falls off the bus", "33m", "1", node_labels!(1), &[(node!(1, "rocewatch_devices"), "2x120 1x60")]),
    fast("RocewatchFecUncorrectable", "errors go on", "46m", "20", mlx5_labels!(), &[(mlx5!("rocewatch_phy_fec_uncorrectable_blocks_total"), "5x120 5+1x120")]),
    fast("RocewatchCrcErrors", "errors go on", "46m", "20", mlx5_labels!(), &[(mlx5!("rocewatch_phy_crc_errors_total"), "4x120 4+1x120")]),
    fast("RocewatchPcieStall", "a fifth of the time", "42m", "20%", mlx5_labels!(r#"direction="read""#), &[(mlx5!("rocewatch_pcie_stalled_ratio", r#"direction="read""#), "0.01x120 0.2x120")]),
    slow("RocewatchFirmwareSpread", "one node has another release", "31h", "2", r#"cluster="c1",driver="mlx5_core",generation="28""#, &[(mlx5!("rocewatch_device_info", r#"driver="mlx5_core",driver_version="6.12.0",firmware_version="28.42.1000 (MT_0000000838)",pci_address="0000:3b:00.0""#), "1x400"), (peer!(2, "rocewatch_device_info", r#"driver="mlx5_core",driver_version="6.12.0",firmware_version="28.42.1000 (MT_0000000900)",pci_address="0000:3b:00.0""#), "1x400"), (peer!(3, "rocewatch_device_info", r#"driver="mlx5_core",driver_version="6.12.0",firmware_version="28.39.2048 (MT_0000000838)",pci_address="0000:3b:00.0""#), "_x60 1x340")]),
    fast("RocewatchNvmfPathLost", "one of two does not connect", "32m", "1", node_labels!(1, r#"subsystem="nqn.2026-01.example:disk""#), &[(node!(1, "rocewatch_nvmf_paths_live", r#"subsystem="nqn.2026-01.example:disk""#), "2x120 1x60")]),
    fast("RocewatchNvmfPathLost", "one of two fails and is removed", "45m", "1", node_labels!(1, r#"subsystem="nqn.2026-01.example:disk""#), &[(node!(1, "rocewatch_nvmf_paths_live", r#"subsystem="nqn.2026-01.example:disk""#), "2x120 1x60"), (node!(1, "rocewatch_nvmf_paths", r#"subsystem="nqn.2026-01.example:disk""#), "2x130 1x50"), (node!(1, "rocewatch_nvmf_paths_lost_total", r#"subsystem="nqn.2026-01.example:disk""#), "1x130 2x50")]),
    fast("RocewatchNvmfAllPathsLost", "none of two connects", "32m", "0", node_labels!(1, r#"subsystem="nqn.2026-01.example:disk""#), &[(node!(1, "rocewatch_nvmf_paths_live", r#"subsystem="nqn.2026-01.example:disk""#), "2x120 0x60")]),
    fast("RocewatchNvmfAllPathsLost", "both fail and are removed", "45m", "0", node_labels!(1, r#"subsystem="nqn.2026-01.example:disk""#), &[(node!(1, "rocewatch_nvmf_paths_live", r#"subsystem="nqn.2026-01.example:disk""#), "2x120 0x10 stale"), (node!(1, "rocewatch_nvmf_paths_lost_total", r#"subsystem="nqn.2026-01.example:disk""#), "1x130 3x50")]),
    fast("RocewatchNvmfReconnects", "three within ten minutes", "44m", "3", node_labels!(1, r#"controller="nvme0",subsystem="nqn.2026-01.example:disk""#), &[(node!(1, "rocewatch_nvmf_reconnects_total", r#"controller="nvme0",subsystem="nqn.2026-01.example:disk""#), "4x120 5x20 6x20 7x20")]),
    fast("RocewatchAgentDown", "it does not answer", "36m", "0", node_labels!(2), &[(node!(2, "up"), "1x120 0x60")]),
    fast("RocewatchEnforcingAgentDown", "one that acts does not answer", "36m", "0", node_labels!(1), &[(node!(1, "up"), "1x120 0x60"), (node!(1, "rocewatch_watchdog_mode", r#"mode="enforce""#), "1x120 stale")]),
    slow("RocewatchAgentsMissing", "two of twelve vanish", "630m", "16.67%", r#"cluster="c1""#, &[(node!(11, "up"), "1x120 stale"), (node!(12, "up"), "1x120 stale")]),
    fast("RocewatchPollerStale", "a read hangs", "32m", "20s", mlx5_labels!(), &[(mlx5!("rocewatch_watchdog_read_age_seconds"), "0.1x120 20x60")]),
    fast("RocewatchPollerLate", "one reading in ten fails", "41m", "100m", mlx5_labels!(), &[(mlx5!("rocewatch_watchdog_polls_missed_total"), "30x120 30+6x120")]),
    fast("RocewatchCollectorFailing", "a source fails", "36m", "0", node_labels!(1, r#"collector="ethtool""#), &[(node!(1, "rocewatch_collector_success", r#"collector="ethtool""#), "1x120 0x60")]),
    slow("RocewatchCounterLost", "gone since an upgrade", "1530m", "0", mlx5_labels!(r#"family="rocewatch_pfc_rx_pause_seconds_total""#), &[(mlx5!("rocewatch_source_supported", r#"family="rocewatch_pfc_rx_pause_seconds_total""#), "1x300 0x20")]),
    fast("RocewatchCounterSaturated", "a counter sticks", "31m", "1", mlx5_labels!(r#"name="rx_discards_phy""#), &[(mlx5!("rocewatch_saturated", r#"name="rx_discards_phy""#), "_x121 1x60")]),
    fast("RocewatchConfigReloadFailed", "a bad file is loaded", "36m", "0", node_labels!(1), &[(node!(1, "rocewatch_config_last_reload_successful"), "1x120 0x60")]),
];
