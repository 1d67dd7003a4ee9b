//! The healthy base load that every case starts from: an mlx5 port that is busy, an ice port that counts frames only, a
//! management port, and the rest of a small fleet. All counters have a past: a lifetime total alone is no fault.

/// Seconds between two samples.
pub(crate) const STEP: u32 = 15;
/// Samples before something happens.
pub(crate) const BEFORE: u32 = 120;
/// Samples in all.
pub(crate) const ALL: u32 = 240;

/// What a series does over time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Stays.
    Gauge(f64),
    /// A counter of the kernel or the NIC: begins somewhere and grows by this much a sample.
    Nic(f64, f64),
    /// A counter of the agent, which begins anew with it.
    Own(f64, f64),
}
use Shape::{Gauge, Nic, Own};

/// Whose series it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Node,
    Mlx5,
    Ice,
    Management,
    /// Another node.
    Other(u32),
}
use Owner::{Ice, Management, Mlx5, Node};

impl Owner {
    pub(crate) fn labels(self) -> String {
        let target = |node: u32| format!(r#"cluster="c1",instance="node{node}",job="rocewatch""#);
        let port = |device: &str, port: &str, netdev: &str| {
            format!(r#"{},device="{device}",port="{port}",netdev="{netdev}""#, target(1))
        };
        match self {
            Node => target(1),
            Mlx5 => port("mlx5_0", "1", "eth0"),
            Ice => port("irdma0", "1", "ens3"),
            Management => port("", "", "eno1"),
            Self::Other(node) => target(node),
        }
    }
}

/// One series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Series {
    pub(crate) owner: Owner,
    pub(crate) name: &'static str,
    /// Labels beside those of its owner.
    pub(crate) labels: &'static str,
    pub(crate) shape: Shape,
}

impl Series {
    pub(crate) fn selector(&self) -> String {
        let extra = if self.labels.is_empty() { "" } else { "," };
        format!("{}{{{}{extra}{}}}", self.name, self.owner.labels(), self.labels)
    }
}

const fn of(owner: Owner, name: &'static str, labels: &'static str, shape: Shape) -> Series {
    Series { owner, name, labels, shape }
}

/// All of them.
pub(crate) fn series() -> impl Iterator<Item = Series> {
    let fleet = (2..=12).flat_map(|node| {
        [
            of(Owner::Other(node), "up", "", Gauge(1.0)),
            of(Owner::Other(node), "rocewatch_ports", "", Gauge(2.0)),
        ]
    });
    BASE.iter().copied().chain(fleet)
}

const RX3: &str = r#"priority="3",direction="rx""#;
const TX3: &str = r#"priority="3",direction="tx""#;
const THREE: &str = r#"priority="3""#;
const DISK: &str = r#"subsystem="nqn.2026-01.example:disk""#;
const ZERO: &str = r#"priority="0""#;

#[rustfmt::skip]
const BASE: &[Series] = &[
    of(Node, "up", "", Gauge(1.0)),
    of(Node, "process_start_time_seconds", "", Gauge(-1_000_000.0)),
    of(Node, "rocewatch_ports", "", Gauge(3.0)),
    of(Node, "rocewatch_devices", "", Gauge(2.0)),
    of(Node, "rocewatch_watchdog_mode", r#"mode="off""#, Gauge(0.0)),
    of(Node, "rocewatch_watchdog_mode", r#"mode="observe""#, Gauge(0.0)),
    of(Node, "rocewatch_watchdog_mode", r#"mode="dry_run""#, Gauge(0.0)),
    of(Node, "rocewatch_watchdog_mode", r#"mode="enforce""#, Gauge(1.0)),
    of(Node, "rocewatch_watchdog_journal_writable", "", Gauge(1.0)),
    of(Node, "rocewatch_config_last_reload_successful", "", Gauge(1.0)),
    of(Node, "rocewatch_collector_success", r#"collector="ethtool""#, Gauge(1.0)),
    of(Mlx5, "rocewatch_device_info", r#"driver="mlx5_core",driver_version="6.12.0",firmware_version="28.42.1000 (MT_0000000838)",pci_address="0000:3b:00.0""#, Gauge(1.0)),
    of(Ice, "rocewatch_device_info", r#"driver="ice",driver_version="6.12.0",firmware_version="4.60 0x8001e8b5 1.3682.0",pci_address="0000:5e:00.0""#, Gauge(1.0)),

    of(Node, "rocewatch_nvmf_paths", DISK, Gauge(2.0)),
    of(Node, "rocewatch_nvmf_paths_live", DISK, Gauge(2.0)),
    of(Node, "rocewatch_nvmf_paths_lost_total", DISK, Own(1.0, 0.0)),
    of(Node, "rocewatch_nvmf_reconnects_total", r#"controller="nvme0",subsystem="nqn.2026-01.example:disk""#, Own(4.0, 0.0)),

    of(Mlx5, "rocewatch_watchdog_armed", RX3, Gauge(1.0)),
    of(Mlx5, "rocewatch_watchdog_armed", TX3, Gauge(1.0)),
    of(Mlx5, "rocewatch_watchdog_storm", RX3, Gauge(0.0)),
    of(Mlx5, "rocewatch_watchdog_storm", TX3, Gauge(0.0)),
    of(Mlx5, "rocewatch_watchdog_storms_total", RX3, Own(3.0, 0.0)),
    of(Mlx5, "rocewatch_watchdog_storms_total", TX3, Own(0.0, 0.0)),
    of(Mlx5, "rocewatch_watchdog_mitigated", RX3, Gauge(0.0)),
    of(Mlx5, "rocewatch_watchdog_mitigated", TX3, Gauge(0.0)),
    of(Mlx5, "rocewatch_watchdog_undo_failed", RX3, Gauge(0.0)),
    of(Mlx5, "rocewatch_watchdog_locked", RX3, Gauge(0.0)),
    of(Mlx5, "rocewatch_watchdog_suppressed_total", r#"reason="hold_off""#, Own(2.0, 0.0)),
    of(Mlx5, "rocewatch_watchdog_actions_total", r#"action="pfc-off",result="ok""#, Own(5.0, 0.0)),
    of(Mlx5, "rocewatch_watchdog_actions_total", r#"action="pfc-off",result="failed""#, Own(2.0, 0.0)),
    of(Mlx5, "rocewatch_watchdog_actions_total", r#"action="pfc-off",result="ineffective""#, Own(1.0, 0.0)),
    of(Mlx5, "rocewatch_watchdog_estimated", "", Gauge(0.0)),
    of(Mlx5, "rocewatch_watchdog_poll_interval_seconds", "", Gauge(0.25)),
    of(Mlx5, "rocewatch_watchdog_read_age_seconds", "", Gauge(0.1)),
    of(Mlx5, "rocewatch_watchdog_polls_missed_total", "", Own(30.0, 0.0)),
    of(Mlx5, "rocewatch_watchdog_poll_lateness_seconds_bucket", r#"le="0.005""#, Own(90_000.0, 59.5)),
    of(Mlx5, "rocewatch_watchdog_poll_lateness_seconds_bucket", r#"le="0.5""#, Own(90_000.0, 60.0)),
    of(Mlx5, "rocewatch_watchdog_poll_lateness_seconds_bucket", r#"le="+Inf""#, Own(90_000.0, 60.0)),
    of(Mlx5, "rocewatch_watchdog_poll_lateness_seconds_count", "", Own(90_000.0, 60.0)),
    of(Mlx5, "rocewatch_source_supported", r#"family="rocewatch_pfc_rx_pause_seconds_total""#, Gauge(1.0)),
    // Shown only for a counter that sticks.
    of(Management, "rocewatch_saturated", r#"name="symbol_error""#, Gauge(0.0)),

    of(Mlx5, "rocewatch_port_up", "", Gauge(1.0)),
    of(Mlx5, "rocewatch_port_rate_bytes_per_second", "", Gauge(50e9)),
    of(Mlx5, "rocewatch_carrier_changes_total", "", Nic(8.0, 0.0)),
    of(Mlx5, "rocewatch_port_receive_bytes_total", "", Nic(9e12, 300e9)),
    of(Mlx5, "rocewatch_port_transmit_bytes_total", "", Nic(9e12, 300e9)),
    of(Mlx5, "rocewatch_rdma_receive_packets_total", "", Nic(9e9, 15e6)),
    of(Mlx5, "rocewatch_rdma_transmit_packets_total", "", Nic(9e9, 15e6)),

    of(Mlx5, "rocewatch_pfc_enabled", THREE, Gauge(1.0)),
    of(Mlx5, "rocewatch_pfc_enabled", ZERO, Gauge(0.0)),
    of(Mlx5, "rocewatch_pfc_peer_enabled", THREE, Gauge(1.0)),
    of(Mlx5, "rocewatch_pfc_peer_enabled", ZERO, Gauge(0.0)),
    of(Mlx5, "rocewatch_pause_seconds_supported", "", Gauge(1.0)),
    of(Mlx5, "rocewatch_pfc_rx_pause_seconds_total", THREE, Nic(5000.0, 0.03)),
    of(Mlx5, "rocewatch_pfc_tx_pause_seconds_total", THREE, Nic(700.0, 0.015)),
    of(Mlx5, "rocewatch_pfc_rx_pause_frames_total", THREE, Nic(132e6, 1500.0)),
    of(Mlx5, "rocewatch_pfc_tx_pause_frames_total", THREE, Nic(9e6, 150.0)),
    of(Mlx5, "rocewatch_pfc_rx_pause_frames_total", ZERO, Nic(9.0, 0.0)),
    of(Mlx5, "rocewatch_pfc_tx_pause_frames_total", ZERO, Nic(9.0, 0.0)),
    of(Mlx5, "rocewatch_pfc_rx_pause_ratio_bucket", r#"priority="3",le="0.01""#, Own(3000.0, 14.0)),
    of(Mlx5, "rocewatch_pfc_rx_pause_ratio_bucket", r#"priority="3",le="0.5""#, Own(3500.0, 15.0)),
    of(Mlx5, "rocewatch_pfc_rx_pause_ratio_bucket", r#"priority="3",le="1""#, Own(3500.0, 15.0)),
    of(Mlx5, "rocewatch_pfc_rx_pause_ratio_bucket", r#"priority="3",le="+Inf""#, Own(3500.0, 15.0)),
    of(Mlx5, "rocewatch_global_rx_pause_frames_total", "", Nic(132e6, 0.0)),
    of(Mlx5, "rocewatch_global_tx_pause_frames_total", "", Nic(7.0, 0.0)),
    of(Mlx5, "rocewatch_global_pause_enabled", r#"direction="rx""#, Gauge(0.0)),
    of(Mlx5, "rocewatch_global_pause_enabled", r#"direction="tx""#, Gauge(0.0)),
    of(Mlx5, "rocewatch_nic_pause_storm_events_total", r#"severity="warning""#, Nic(4.0, 0.0)),
    of(Mlx5, "rocewatch_nic_pause_storm_events_total", r#"severity="error""#, Nic(1.0, 0.0)),
    of(Mlx5, "rocewatch_nic_continuous_pause_started_total", r#"kind="roce""#, Nic(2.0, 0.0)),

    of(Mlx5, "rocewatch_ecn_marked_packets_received_total", "", Nic(9e7, 75_000.0)),
    of(Mlx5, "rocewatch_cnp_sent_total", "", Nic(9e7, 3000.0)),
    of(Mlx5, "rocewatch_cnp_handled_total", "", Nic(9e7, 2900.0)),
    of(Mlx5, "rocewatch_cnp_ignored_total", "", Nic(500.0, 1.0)),

    of(Mlx5, "rocewatch_priority_receive_discards_total", THREE, Nic(7.0, 0.0)),
    of(Mlx5, "rocewatch_priority_receive_discards_total", ZERO, Nic(700.0, 15.0)),
    of(Mlx5, "rocewatch_priority_buffer_discards_total", THREE, Nic(3.0, 0.0)),
    of(Mlx5, "rocewatch_out_of_buffer_total", "", Nic(12.0, 0.0)),
    of(Mlx5, "rocewatch_rnr_naks_sent_total", "", Nic(4.0, 0.0)),
    of(Mlx5, "rocewatch_transport_retries_exceeded_total", "", Nic(4.0, 0.0)),
    of(Mlx5, "rocewatch_rnr_retries_exceeded_total", "", Nic(1.0, 0.0)),
    of(Mlx5, "rocewatch_local_ack_timeouts_total", "", Nic(300.0, 1.0)),
    of(Mlx5, "rocewatch_out_of_sequence_total", "", Nic(3000.0, 30.0)),
    of(Mlx5, "rocewatch_packet_sequence_errors_total", "", Nic(3000.0, 30.0)),
    of(Mlx5, "rocewatch_adaptive_retransmits_total", "", Nic(3000.0, 15.0)),
    of(Mlx5, "rocewatch_slow_restarts_total", "", Nic(3000.0, 15.0)),
    of(Mlx5, "rocewatch_retransmits_total", "", Nic(3000.0, 15.0)),
    of(Mlx5, "rocewatch_icrc_errors_total", "", Nic(3.0, 0.0)),
    of(Mlx5, "rocewatch_phy_fec_uncorrectable_blocks_total", "", Nic(5.0, 0.0)),
    of(Mlx5, "rocewatch_phy_pcs_symbol_errors_total", "", Nic(5.0, 0.0)),
    of(Mlx5, "rocewatch_phy_crc_errors_total", "", Nic(4.0, 0.0)),
    of(Mlx5, "rocewatch_pcie_stalled_ratio", r#"direction="read""#, Gauge(0.01)),
    of(Mlx5, "rocewatch_pcie_stalled_ratio", r#"direction="write""#, Gauge(0.0)),

    of(Ice, "rocewatch_port_up", "", Gauge(1.0)),
    of(Ice, "rocewatch_port_rate_bytes_per_second", "", Gauge(12.5e9)),
    of(Ice, "rocewatch_pfc_enabled", THREE, Gauge(1.0)),
    of(Ice, "rocewatch_watchdog_armed", RX3, Gauge(1.0)),
    of(Ice, "rocewatch_watchdog_estimated", "", Gauge(1.0)),
    of(Ice, "rocewatch_pause_seconds_supported", "", Gauge(0.0)),
    of(Ice, "rocewatch_pfc_rx_xoff_frames_total", THREE, Nic(5e6, 150.0)),
    of(Ice, "rocewatch_pfc_tx_xoff_frames_total", THREE, Nic(5e5, 15.0)),

    of(Management, "rocewatch_port_up", "", Gauge(1.0)),
    of(Management, "rocewatch_port_rate_bytes_per_second", "", Gauge(125e6)),
    of(Management, "rocewatch_watchdog_armed", r#"priority="global",direction="rx""#, Gauge(0.0)),
    of(Management, "rocewatch_global_rx_pause_frames_total", "", Nic(40.0, 30.0)),
];
