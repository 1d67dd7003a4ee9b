//! Loss: what was dropped, what RDMA made of it, and what came first.

use super::board::{Board, Variable};
use super::panel::{Limits, Lines, Panel, Tint, Unit, faults, lines, stat, table};

/// The dashboard.
pub(super) fn board() -> Board {
    Board::of_nodes(
        "rocewatch-loss",
        "Loss and transport",
        "What was dropped, and what RDMA made of it. Most of it follows from something else: find what came first.",
        Variable::Priority,
    )
    .row("Is anything lost?", now())
    .row("What came first", vec![first()])
    .row("Dropped here", dropped())
    .row("Lost on the way", lost())
    .row("A slow receiver", slow())
    .row("Broken and refused", broken())
}

fn now() -> Vec<Panel> {
    vec![
        faults("Lossless drops, 1 h", "Packets dropped on priorities that have PFC. One is a fault. Healthy: 0.")
        .number(promql!(concat!("sum(", lossless_drops!("{@queue}", "1h"), ")"))),
        faults("Broken connections, 1 h", "Connections of these hosts that ended because nobody answered any more. A job has died of each. Healthy: 0.")
        .number(promql!("sum(increase(rocewatch_transport_retries_exceeded_total{@port}[1h]))")),
        faults("Damaged packets, 1 h", "RoCE packets whose invariant checksum was wrong: damaged on the way, by a cable, an optic or a switch. Healthy: 0.")
        .number(promql!("sum(increase(rocewatch_icrc_errors_total{@port}[1h]))")),
        stat(
            "Not acknowledged, 5 m",
            "Requests each second that were not acknowledged in time. Healthy: 0; above 1 for minutes, something loses packets.",
            Unit::PerSecond,
            Limits::Rising(0.1, 1.0),
        )
        .number(promql!("sum(rate(rocewatch_local_ack_timeouts_total{@port}[5m]))")),
        stat(
            "Out of order, 5 m",
            "Packets out of order, of those received. Normal where the fabric sprays packets; otherwise healthy: below 1 in 100,000.",
            Unit::Share,
            Limits::Rising(0.00001, 0.001),
        )
        .number(promql!(
            "sum(rate(rocewatch_out_of_sequence_total{@port}[5m])) / sum(rate(rocewatch_rdma_receive_packets_total{@port}[5m]))"
        )),
        stat(
            "No buffer posted, 5 m",
            "Messages each second that met no posted receive buffer: the application is slow. Healthy: 0.",
            Unit::PerSecond,
            Limits::Rising(0.1, 10.0),
        )
        .number(promql!("sum(rate(rocewatch_out_of_buffer_total{@port}[5m]))")),
    ]
}

fn first() -> Panel {
    lines(
        "All signs in one picture, on a scale of powers of ten",
        "The line that rises first is nearest to the cause. tx pause first: a slow host. Drops first: settings. Damaged packets first: a cable or an optic. Missing acknowledgements alone: the other end, or the way back.",
        Unit::PerSecond,
    )
    .drawn(Lines::Logarithmic)
    .ask(
        Tint::Rx,
        "ms paused by the fabric (rx)",
        promql!("sum(rate(rocewatch_pfc_rx_pause_seconds_total{@queue}[$__rate_interval])) * 1000 > 0"),
    )
    .ask_rare(
        Tint::Tx,
        "ms the fabric was paused by us (tx)",
        "a healthy host sends no pause",
        promql!("sum(rate(rocewatch_pfc_tx_pause_seconds_total{@queue}[$__rate_interval])) * 1000 > 0"),
    )
    .ask_rare(
        Tint::Fault,
        "lossless drops",
        "nothing is dropped where all is well",
        promql!(
            "sum(rate(rocewatch_priority_receive_discards_total{@queue}[$__rate_interval]) and rocewatch_pfc_enabled{@queue} == 1) > 0"
        ),
    )
    .ask_rare(
        Tint::Named("yellow"),
        "damaged packets",
        "nothing is damaged where all is well",
        promql!("sum(rate(rocewatch_icrc_errors_total{@port}[$__rate_interval])) > 0"),
    )
    .ask_rare(
        Tint::Named("green"),
        "out of order",
        "nothing is out of order where all is well",
        promql!("sum(rate(rocewatch_out_of_sequence_total{@port}[$__rate_interval])) > 0"),
    )
    .ask_rare(
        Tint::Named("dark-green"),
        "sequence errors",
        "nothing is lost where all is well",
        promql!("sum(rate(rocewatch_packet_sequence_errors_total{@port}[$__rate_interval])) > 0"),
    )
    .ask_rare(
        Tint::Named("dark-yellow"),
        "no buffer posted",
        "no application is slow where all is well",
        promql!("sum(rate(rocewatch_out_of_buffer_total{@port}[$__rate_interval])) > 0"),
    )
    .ask_rare(
        Tint::Named("orange"),
        "not acknowledged",
        "nothing is lost where all is well",
        promql!("sum(rate(rocewatch_local_ack_timeouts_total{@port}[$__rate_interval])) > 0"),
    )
    .ask_rare(
        Tint::Named("dark-red"),
        "connections broken",
        "nothing breaks where all is well",
        promql!("sum(rate(rocewatch_transport_retries_exceeded_total{@port}[$__rate_interval])) > 0"),
    )
    .size(24, 10)
}

fn dropped() -> Vec<Panel> {
    vec![
        lines(
            "By priority, for want of port buffer",
            "On a lossless priority the headroom was overrun: cable length, MTU or buffer settings, or a peer that goes on sending.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Fault,
            "{{instance}} {{netdev}} prio {{priority}}",
            promql!("topk(10, rate(rocewatch_priority_receive_discards_total{@queue}[$__rate_interval]))"),
        ),
        lines(
            "By priority, for want of this host's share",
            "Several hosts or functions share the NIC's buffer, and this one had used up its part.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Fault,
            "{{instance}} {{netdev}} prio {{priority}}",
            promql!("topk(10, rate(rocewatch_priority_buffer_discards_total{@queue}[$__rate_interval]))"),
        ),
        lines(
            "By priority, towards this host",
            "Dropped by the NIC's own congestion control because the host does not take what comes: PCIe or memory.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Fault,
            "{{instance}} {{netdev}} prio {{priority}}",
            promql!("topk(10, rate(rocewatch_priority_congestion_discards_total{@queue}[$__rate_interval]))"),
        ),
        lines(
            "By port",
            "Received and sent packets that the port dropped, on whatever priority. Sent ones also when they grew too old while paused.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Rx,
            "{{instance}} {{netdev}} received",
            promql!("topk(10, rate(rocewatch_receive_discards_total{@port}[$__rate_interval]))"),
        )
        .ask(
            Tint::Tx,
            "{{instance}} {{netdev}} to be sent",
            promql!("topk(10, rate(rocewatch_transmit_discards_total{@port}[$__rate_interval]))"),
        ),
        lines(
            "Ethernet without a receive buffer",
            "Packets of the network stack that met no posted buffer. RDMA is not among them.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Quiet,
            "{{instance}} {{netdev}}",
            promql!("topk(10, rate(rocewatch_receive_no_buffer_total{@port}[$__rate_interval]))"),
        ),
        lines(
            "Receive buffer above its mark, times",
            "How often the port's receive buffer passed its high mark: pause or drops are near.",
            Unit::PerSecond,
        )
        .ask(
            Tint::Quiet,
            "{{instance}} {{netdev}}",
            promql!("topk(10, rate(rocewatch_receive_buffer_over_threshold_total{@port}[$__rate_interval]))"),
        ),
    ]
}

fn lost() -> Vec<Panel> {
    vec![
        lines(
            "Noticed by the receiver",
            "Packets out of order, answers that never came, requests that came twice. Out of order is normal where the fabric sprays packets.",
            Unit::PerSecond,
        )
        .ask(
            Tint::Own,
            "{{instance}} {{netdev}} out of order",
            promql!("topk(10, rate(rocewatch_out_of_sequence_total{@port}[$__rate_interval]))"),
        )
        .ask(
            Tint::Own,
            "{{instance}} {{netdev}} answer never came",
            promql!("topk(10, rate(rocewatch_implied_nak_sequence_errors_total{@port}[$__rate_interval]))"),
        )
        .ask(
            Tint::Own,
            "{{instance}} {{netdev}} came twice",
            promql!("topk(10, rate(rocewatch_duplicate_requests_total{@port}[$__rate_interval]))"),
        ),
        lines(
            "Noticed by the sender",
            "Sequence errors that peers report, and requests that nobody acknowledged in time. Each timeout is a stall of milliseconds or more.",
            Unit::PerSecond,
        )
        .ask(
            Tint::Own,
            "{{instance}} {{netdev}} reported lost",
            promql!("topk(10, rate(rocewatch_packet_sequence_errors_total{@port}[$__rate_interval]))"),
        )
        .ask(
            Tint::Own,
            "{{instance}} {{netdev}} not acknowledged",
            promql!("topk(10, rate(rocewatch_local_ack_timeouts_total{@port}[$__rate_interval]))"),
        ),
        lines(
            "Sent again",
            "Adaptive retransmissions, those that timed out, and connections that began again slowly after a loss.",
            Unit::PerSecond,
        )
        .ask(
            Tint::Own,
            "{{instance}} {{netdev}} adaptive",
            promql!("topk(10, rate(rocewatch_adaptive_retransmits_total{@port}[$__rate_interval]))"),
        )
        .ask(
            Tint::Own,
            "{{instance}} {{netdev}} adaptive, timed out",
            promql!("topk(10, rate(rocewatch_adaptive_retransmit_timeouts_total{@port}[$__rate_interval]))"),
        )
        .ask(
            Tint::Own,
            "{{instance}} {{netdev}} slow restart",
            promql!("topk(10, rate(rocewatch_slow_restarts_total{@port}[$__rate_interval]))"),
        ),
    ]
}

fn slow() -> Vec<Panel> {
    vec![
        lines(
            "This host is slow",
            "Messages that met no posted receive buffer. With tx pause: the host as a whole; without: the application.",
            Unit::PerSecond,
        )
        .ask(
            Tint::Tx,
            "{{instance}} {{netdev}}",
            promql!("topk(10, rate(rocewatch_out_of_buffer_total{@port}[$__rate_interval]))"),
        )
        .size(12, 8),
        lines("The peer is slow", "Requests of this host that were answered by receiver not ready.", Unit::PerSecond)
            .ask(
                Tint::Rx,
                "{{instance}} {{netdev}}",
                promql!("topk(10, rate(rocewatch_rnr_naks_total{@port}[$__rate_interval]))"),
            )
            .size(12, 8),
    ]
}

fn broken() -> Vec<Panel> {
    vec![
        table(
            "Broken and refused, 1 h",
            "Connections that ended, work requests that ended in an error, and requests that were refused. Flushed requests only follow from a connection that was torn down.",
            &["instance", "netdev"],
        )
        .faults("Nobody answered", promql!("sum by (instance, netdev) (increase(rocewatch_transport_retries_exceeded_total{@port}[1h]))"),
        )
        .faults("Never ready", promql!("sum by (instance, netdev) (increase(rocewatch_rnr_retries_exceeded_total{@port}[1h]))"),
        )
        .faults("Damaged packets", promql!("sum by (instance, netdev) (increase(rocewatch_icrc_errors_total{@port}[1h]))"),
        )
        .oddities("Work requests in error", promql!("sum by (instance, netdev) (increase(rocewatch_cqe_errors_total{@port,kind='any'}[1h]))"),
        )
        .column(
            "of these flushed",
            Unit::Count,
            Limits::None,
            promql!("sum by (instance, netdev) (increase(rocewatch_cqe_errors_total{@port,kind='flush'}[1h]))"),
        )
        .oddities("Access refused", promql!("sum by (instance, netdev) (increase(rocewatch_remote_access_errors_total{@port}[1h]))"),
        )
        .oddities("Invalid requests", promql!("sum by (instance, netdev) (increase(rocewatch_remote_invalid_requests_total{@port}[1h]))"),
        ),
    ]
}
