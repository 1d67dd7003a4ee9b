//! ECN and congestion notifications: whether the control loop that should make pause rare works.

use super::Severity::Warning;
use super::{File, Group, Rule, alert, port, record};

pub(super) const FILE: File = File {
    name: "congestion",
    about: "ECN marks and congestion notifications: the loop that should make pause rare",
    groups: &[Group { name: "rocewatch-congestion", interval: None, rules: RULES }],
};

const RULES: &[Rule] = &[
    record(
        "rocewatch:ecn_marked:ratio_rate5m",
        "rate(rocewatch_ecn_marked_packets_received_total[$(long)])
/ (rate(rocewatch_rdma_receive_packets_total[$(long)]) > $(traffic))",
    ),
    record(
        "rocewatch:cnp_sent:rate15m",
        "sum by ($(cluster)) (
  rate(rocewatch_cnp_sent_total[$(cnp_window)]) and rate(rocewatch_cnp_handled_total[$(cnp_window)])
)",
    ),
    record(
        "rocewatch:cnp_handled_per_sent:ratio_rate15m",
        "sum by ($(cluster)) (
  rate(rocewatch_cnp_handled_total[$(cnp_window)]) and rate(rocewatch_cnp_sent_total[$(cnp_window)])
)
/ (rocewatch:cnp_sent:rate15m > $(cnp_rate))",
    ),
    alert(
        "RocewatchEcnMarksHigh",
        Warning,
        "rocewatch:ecn_marked:ratio_rate5m > $(ecn_marks)",
        port!("{{ $value | humanizePercentage }} of the packets arrive with the congestion mark"),
        "{{ $value | humanizePercentage }} of the RoCE packets that {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) received over $(long) carry the mark; fabrics are validated below $(ecn_marks). The way to this host is congested, all the time.",
    )
    .held("ecn_marks_for"),
    alert(
        "RocewatchPauseWithoutEcn",
        Warning,
        "avg by ($(cluster)) (
  rocewatch:pfc_rx_pause:ratio_rate5m and on ($(queue)) rocewatch_pfc_enabled == 1
) > $(without_ecn_pause)
and sum by ($(cluster)) (rate(rocewatch_ecn_marked_packets_received_total[$(cnp_window)])) == 0
and sum by ($(cluster)) (rate(rocewatch_rdma_receive_packets_total[$(cnp_window)])) > $(traffic)",
        "Fleet {{ $labels.$(cluster) }}: paused {{ $value | humanizePercentage }} of the time, and not one packet is marked",
        "Lossless priorities of fleet {{ $labels.$(cluster) }} are held {{ $value | humanizePercentage }} of the time on average, there is RDMA traffic, and no packet carried the congestion mark within $(cnp_window). ECN is not set up on the switches, or its threshold lies above that of PFC.",
    )
    .held("without_ecn_for"),
    alert(
        "RocewatchCnpLoopBroken",
        Warning,
        "rocewatch:cnp_handled_per_sent:ratio_rate15m < $(cnp_handled)",
        "Fleet {{ $labels.$(cluster) }}: only {{ $value | humanizePercentage }} of the congestion notifications slow a sender down",
        "Of the congestion notifications that receivers of fleet {{ $labels.$(cluster) }} sent within $(cnp_window), senders handled {{ $value | humanizePercentage }}; at least $(cnp_handled) is expected. The reaction point is off on some hosts, or notifications are lost on a lossy priority.",
    )
    .held("cnp_handled_for"),
    alert(
        "RocewatchCnpIgnored",
        Warning,
        "rate(rocewatch_cnp_ignored_total[$(long)])
/ (rate(rocewatch_cnp_ignored_total[$(long)]) + rate(rocewatch_cnp_handled_total[$(long)]) > 1)
> $(cnp_ignored)",
        port!("ignores {{ $value | humanizePercentage }} of the congestion notifications"),
        "{{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) ignored {{ $value | humanizePercentage }} of the congestion notifications it received over $(long). Its senders go on at full speed; others are paused for it.",
    )
    .held("cnp_ignored_for"),
];
