//! Pause below a storm: by time where the NIC measures it, by a bound where it counts frames only.

use super::Severity::{Critical, Info, Warning};
use super::{File, Group, Rule, alert, port, queue, record};

pub(super) const FILE: File = File {
    name: "pause",
    about: "Pause below a storm: received, sent, estimated, and where it should not be",
    groups: &[
        Group { name: "rocewatch-pause", interval: None, rules: RULES },
        Group { name: "rocewatch-pause-settings", interval: None, rules: SETTINGS },
    ],
};

/// The pause share of a direction over a window.
macro_rules! ratio {
    ($direction:literal, $name:literal, $window:literal) => {
        record(
            concat!("rocewatch:pfc_", $direction, "_pause:ratio_rate", $name),
            concat!("rate(rocewatch_pfc_", $direction, "_pause_seconds_total[$(", $window, ")])"),
        )
    };
}
/// Where pause time is only asked for, that; where only frames are counted, each as the longest pause it could ask for:
/// 65,535 quanta of 512 bit times are 4,194,240 bytes at the speed of the link. Never more than all of the time.
macro_rules! bound {
    ($direction:literal) => {
        record(
            concat!("rocewatch:pfc_", $direction, "_pause_bound:ratio_rate5m"),
            concat!(
                "rocewatch:pfc_",
                $direction,
                "_pause:ratio_rate5m\n",
                "  and on ($(port)) rocewatch_watchdog_estimated == 1\n",
                "or clamp_max(\n",
                "  (\n",
                "    rate(rocewatch_pfc_",
                $direction,
                "_xoff_frames_total[$(long)])\n",
                "    or rate(rocewatch_pfc_",
                $direction,
                "_pause_frames_total[$(long)])\n",
                "  )\n",
                "  * on ($(port)) group_left () (4194240 / rocewatch_port_rate_bytes_per_second),\n",
                "  1\n",
                ")\n",
                "  and on ($(port)) rocewatch_pause_seconds_supported == 0"
            ),
        )
    };
}
/// Measured pause on a priority that is lossless, or not known not to be.
macro_rules! measured {
    ($direction:literal, $name:literal, $limit:literal) => {
        concat!(
            "rocewatch:pfc_",
            $direction,
            "_pause:ratio_rate",
            $name,
            " > $(",
            $limit,
            ")\n",
            "unless on ($(port)) rocewatch_watchdog_estimated == 1\n",
            "unless on ($(queue)) rocewatch_pfc_enabled == 0"
        )
    };
}
macro_rules! estimated {
    ($direction:literal) => {
        concat!(
            "rocewatch:pfc_",
            $direction,
            "_pause_bound:ratio_rate5m > $(estimated_pause)\n",
            "unless on ($(queue)) rocewatch_pfc_enabled == 0"
        )
    };
}
/// The queue is not as it was before the watchdog acted.
macro_rules! changed_by_us {
    () => {
        "(rocewatch_watchdog_mitigated == 1 or rocewatch_watchdog_undo_failed == 1)"
    };
}
/// Two rates of one port, told apart by a label.
macro_rules! both_directions {
    ($rx:literal, $tx:literal) => {
        concat!(
            "(\n",
            "  label_replace(rate(",
            $rx,
            "[$(long)]), \"direction\", \"rx\", \"\", \"\")\n",
            "  or label_replace(rate(",
            $tx,
            "[$(long)]), \"direction\", \"tx\", \"\", \"\")\n",
            ") > 0"
        )
    };
}

const RULES: &[Rule] = &[
    ratio!("rx", "1m", "short"),
    ratio!("tx", "1m", "short"),
    ratio!("rx", "5m", "long"),
    ratio!("tx", "5m", "long"),
    bound!("rx"),
    bound!("tx"),
    record(
        "rocewatch:pfc_tx_pause:ratio_rate5m:median",
        "quantile by ($(cluster), netdev, priority) (0.5, rocewatch:pfc_tx_pause:ratio_rate5m)
and count by ($(cluster), netdev, priority) (rocewatch:pfc_tx_pause:ratio_rate5m) >= $(outlier_ports)",
    ),
    alert(
        "RocewatchPfcRxPauseHigh",
        Warning,
        measured!("rx", "5m", "rx_pause_high"),
        queue!("held by the fabric {{ $value | humanizePercentage }} of the time"),
        "Received pause held {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}), priority {{ $labels.priority }}, for {{ $value | humanizePercentage }} of the last $(long), measured; more than $(rx_pause_high) is throughput that is missing. The cause is in the fabric or at a receiver.",
    )
    .held("rx_pause_high_for"),
    alert(
        "RocewatchPfcRxPauseCritical",
        Critical,
        measured!("rx", "1m", "rx_pause_critical"),
        queue!("held by the fabric {{ $value | humanizePercentage }} of the time"),
        "Received pause held {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}), priority {{ $labels.priority }}, for {{ $value | humanizePercentage }} of the last $(short), measured; the limit is $(rx_pause_critical). Jobs on this node stall. The cause is in the fabric or at a receiver.",
    )
    .held("rx_pause_critical_for"),
    alert(
        "RocewatchPfcTxPauseHigh",
        Warning,
        measured!("tx", "5m", "tx_pause_high"),
        queue!("this host holds the fabric {{ $value | humanizePercentage }} of the time"),
        "{{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}), priority {{ $labels.priority }}, sent pause for {{ $value | humanizePercentage }} of the last $(long), measured; a host should hardly ever ($(tx_pause_high)). It takes packets more slowly than they come: PCIe, memory, IOMMU, receive buffers. For whoever owns the host.",
    )
    .held("tx_pause_high_for"),
    alert(
        "RocewatchPfcTxPauseCritical",
        Critical,
        measured!("tx", "1m", "tx_pause_critical"),
        queue!("this host holds the fabric {{ $value | humanizePercentage }} of the time"),
        "{{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}), priority {{ $labels.priority }}, sent pause for {{ $value | humanizePercentage }} of the last $(short), measured; the limit is $(tx_pause_critical). Everybody who sends to it, and who shares a switch buffer with them, is slowed down. For whoever owns the host.",
    )
    .held("tx_pause_critical_for"),
    alert(
        "RocewatchPfcRxPauseEstimated",
        Warning,
        estimated!("rx"),
        queue!("held by the fabric up to {{ $value | humanizePercentage }} of the time (estimated)"),
        "Estimated: this NIC measures no pause time. The pause frames that {{ $labels.instance }} {{ $labels.netdev }} received on priority {{ $labels.priority }} could hold it for at most {{ $value | humanizePercentage }} of the last $(long). The truth is lower, often several times. The cause, if any, is in the fabric.",
    )
    .held("estimated_pause_for"),
    alert(
        "RocewatchPfcTxPauseEstimated",
        Warning,
        estimated!("tx"),
        queue!("this host holds the fabric up to {{ $value | humanizePercentage }} of the time (estimated)"),
        "Estimated: this NIC measures no pause time. The pause frames that {{ $labels.instance }} {{ $labels.netdev }} sent on priority {{ $labels.priority }} could hold its peer for at most {{ $value | humanizePercentage }} of the last $(long). The truth is lower, often several times. For whoever owns the host.",
    )
    .held("estimated_pause_for"),
    alert(
        "RocewatchPfcRxPauseFrames",
        Info,
        "rate(rocewatch_pfc_rx_pause_frames_total[$(long)]) > $(pause_frames)",
        queue!("{{ $value | humanize }} pause frames a second received"),
        "{{ $labels.instance }} {{ $labels.netdev }} receives {{ $value | humanize }} PFC frames a second on priority {{ $labels.priority }}; fabrics are validated below $(pause_frames). Frames alone prove no storm: the pause ratio says how much was lost.",
    )
    .held("pause_frames_for"),
    alert(
        "RocewatchPfcTxPauseFrames",
        Info,
        "rate(rocewatch_pfc_tx_pause_frames_total[$(long)]) > $(pause_frames)",
        queue!("{{ $value | humanize }} pause frames a second sent"),
        "{{ $labels.instance }} {{ $labels.netdev }} sends {{ $value | humanize }} PFC frames a second on priority {{ $labels.priority }}; fabrics are validated below $(pause_frames). Frames alone prove no storm: the pause ratio says how much was lost.",
    )
    .held("pause_frames_for"),
    alert(
        "RocewatchPauseBursts",
        Info,
        "histogram_quantile(0.99, rate(rocewatch_pfc_rx_pause_ratio_bucket[$(burst_window)])) > $(burst_ratio)
unless rocewatch:pfc_rx_pause:ratio_rate5m > $(rx_pause_high)",
        queue!("short bursts of received pause, up to {{ $value | humanizePercentage }} of a window"),
        "On {{ $labels.instance }} {{ $labels.netdev }}, priority {{ $labels.priority }}, one second in a hundred has a window that is paused {{ $value | humanizePercentage }} or more, while the mean of $(long) looks harmless. Bursts such as these are what latency suffers from.",
    )
    .held("burst_for"),
    alert(
        "RocewatchPauseOutlier",
        Warning,
        "rocewatch:pfc_tx_pause:ratio_rate5m > $(outlier_min)
and rocewatch:pfc_tx_pause:ratio_rate5m > on ($(cluster), netdev, priority) group_left ()
  ($(outlier_times) * rocewatch:pfc_tx_pause:ratio_rate5m:median)",
        queue!("sends far more pause than its rail: {{ $value | humanizePercentage }} of the time"),
        "{{ $labels.instance }} {{ $labels.netdev }}, priority {{ $labels.priority }}, sends pause {{ $value | humanizePercentage }} of the time, over $(outlier_times) times the median of the ports of that name in its fleet. One host is slow, not the job. For whoever owns the host.",
    )
    .held("outlier_for"),
];

const SETTINGS: &[Rule] = &[
    alert(
        "RocewatchPauseUnexpectedPriority",
        Warning,
        concat!(
            both_directions!("rocewatch_pfc_rx_pause_frames_total", "rocewatch_pfc_tx_pause_frames_total"),
            "\nand on ($(queue)) rocewatch_pfc_enabled == 0",
            "\nunless on ($(queue)) ",
            changed_by_us!()
        ),
        queue!("pause frames ({{ $labels.direction }}) on a priority without PFC"),
        "{{ $value | humanize }} pause frames a second ({{ $labels.direction }}) on {{ $labels.instance }} {{ $labels.netdev }}, priority {{ $labels.priority }}, for which PFC is off here. One end has other lossless priorities than the other, or traffic is marked wrongly.",
    )
    .held("unexpected_for"),
    alert(
        "RocewatchGlobalPauseActive",
        Warning,
        concat!(
            both_directions!(
                "rocewatch_global_rx_pause_frames_total{device!=\"\"}",
                "rocewatch_global_tx_pause_frames_total{device!=\"\"}"
            ),
            "\nor rocewatch_global_pause_enabled == 1",
            "\n  and on ($(port)) rocewatch_pfc_enabled == 1"
        ),
        port!("802.3x pause ({{ $labels.direction }}) on an RDMA port"),
        "802.3x pause ({{ $labels.direction }}) is in use on {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}): {{ $value | humanize }} frames a second, or switched on beside PFC (1). It stops all priorities at once, and no drop counter shows what that costs.",
    )
    .held("global_pause_for"),
    alert(
        "RocewatchNicStormDetected",
        Critical,
        "increase(rocewatch_nic_pause_storm_events_total{severity=\"error\"}[$(long)]) > 0",
        port!("the NIC itself found that it sends a pause storm, and stopped pausing"),
        "{{ printf \"%.0f\" $value }} pause storm(s) of {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) within $(long), by the NIC's own stall detector. It now drops what the host does not take. For whoever owns the host.",
    ),
    alert(
        "RocewatchNicStormWarning",
        Warning,
        "increase(rocewatch_nic_pause_storm_events_total{severity=\"warning\"}[$(long)]) > 0
or increase(rocewatch_nic_continuous_pause_started_total{kind=\"roce\"}[$(long)]) > 0",
        port!("the NIC's own detector saw a long pause"),
        "{{ printf \"%.0f\" $value }} long pause(s) on {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) within $(long), by the NIC's own detector. It has not intervened yet.",
    ),
    alert(
        "RocewatchPfcPeerMismatch",
        Warning,
        concat!(
            "rocewatch_pfc_enabled != rocewatch_pfc_peer_enabled\nunless on ($(queue)) ",
            changed_by_us!()
        ),
        queue!("PFC is on at one end of the link only"),
        "PFC of priority {{ $labels.priority }} is {{ $value }} on {{ $labels.instance }} {{ $labels.netdev }} (1 is on) and the other way round at its peer, as that told by DCBX. Such a priority is not lossless.",
    )
    .held("peer_for"),
];
