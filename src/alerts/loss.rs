//! Lost packets, and what the RDMA transport makes of them.

use super::Severity::{Critical, Warning};
use super::{File, Group, Rule, alert, port, queue};

pub(super) const FILE: File = File {
    name: "loss",
    about: "Lost packets, and what the RDMA transport makes of them",
    groups: &[Group { name: "rocewatch-loss", interval: None, rules: RULES }],
};

const RULES: &[Rule] = &[
    alert(
        "RocewatchLosslessDiscards",
        Critical,
        "(
  increase(rocewatch_priority_receive_discards_total[$(long)]) > 0
  or increase(rocewatch_priority_buffer_discards_total[$(long)]) > 0
)
and on ($(queue)) rocewatch_pfc_enabled == 1
unless on ($(queue)) max_over_time(rocewatch_watchdog_mitigated[$(long)]) == 1",
        queue!("packets dropped on a lossless priority"),
        "{{ $value | humanize }} packets of priority {{ $labels.priority }}, for which PFC is on, were dropped on arrival at {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) within $(long). The goal is zero: headroom is too small for the cable, or both ends have different settings.",
    )
    .held("discards_for"),
    alert(
        "RocewatchOutOfBuffer",
        Warning,
        "rate(rocewatch_out_of_buffer_total[$(long)]) > 0
and on ($(port)) (
  rocewatch:pfc_tx_pause:ratio_rate5m > 0
  or rate(rocewatch_rnr_naks_sent_total[$(long)]) > 0
)",
        port!("{{ $value | humanize }} messages a second meet no receive buffer"),
        "{{ $value | humanize }} RDMA messages a second meet no posted receive buffer on {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}), and the host holds its peers. The application does not post fast enough. For whoever owns the job or the host.",
    )
    .held("out_of_buffer_for"),
    alert(
        "RocewatchTransportRetriesExceeded",
        Critical,
        "increase(rocewatch_transport_retries_exceeded_total[$(long)]) > 0
or increase(rocewatch_rnr_retries_exceeded_total[$(long)]) > 0",
        port!("RDMA connections broke after all retries"),
        "{{ printf \"%.0f\" $value }} connection(s) of {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) broke within $(long), because all retries went unanswered. The job that owned them has most likely ended.",
    ),
    alert(
        "RocewatchAckTimeouts",
        Warning,
        "rate(rocewatch_local_ack_timeouts_total[$(long)]) > $(ack_timeouts)",
        port!("{{ $value | humanize }} acknowledgement timeouts a second"),
        "{{ $value | humanize }} requests a second of {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) are not acknowledged in time (limit $(ack_timeouts)). The peer, or the way there or back, is held or loses packets.",
    )
    .held("ack_timeouts_for"),
    alert(
        "RocewatchSequenceErrors",
        Warning,
        "rate(rocewatch_out_of_sequence_total[$(long)])
/ (rate(rocewatch_rdma_receive_packets_total[$(long)]) > $(traffic)) > $(sequence_errors)
or rate(rocewatch_packet_sequence_errors_total[$(long)])
/ (rate(rocewatch_rdma_transmit_packets_total[$(long)]) > $(traffic)) > $(sequence_errors)",
        port!("{{ $value | humanizePercentage }} of the RDMA packets lost or out of order"),
        "{{ $value | humanizePercentage }} of the RDMA packets to or from {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) over $(long) were lost or overtaken. On a fabric that sprays packets this is normal: set sequence_errors=1 there.",
    )
    .held("sequence_errors_for"),
    alert(
        "RocewatchRetransmits",
        Warning,
        "rate(rocewatch_adaptive_retransmits_total[$(long)]) > $(retransmits)
or rate(rocewatch_slow_restarts_total[$(long)]) > $(retransmits)
or rate(rocewatch_retransmits_total[$(long)]) > $(retransmits)",
        port!("{{ $value | humanize }} retransmissions a second"),
        "{{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) sends {{ $value | humanize }} times a second again, or begins again slowly (limit $(retransmits)). Packets are lost on the way to its peers.",
    )
    .held("retransmits_for"),
    alert(
        "RocewatchIcrcErrors",
        Warning,
        "increase(rocewatch_icrc_errors_total[$(icrc_window)]) > 0",
        port!("RoCE packets arrive damaged"),
        "{{ $value | humanize }} RoCE packets with a wrong invariant checksum arrived at {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) within $(icrc_window). Something between the two hosts changed them; the link's own checksum was right.",
    ),
];
