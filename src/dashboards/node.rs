//! One node: which port, which queue, which side.

use super::board::{Board, Variable};
use super::panel::{Limits, Lines, Panel, Tint, Unit, faults, lines, stat, table};

/// What other dashboards link to.
pub(super) const UID: &str = "rocewatch-node";

/// The dashboard.
pub(super) fn board() -> Board {
    Board::of_nodes(
        UID,
        "Node",
        "One node: which port and queue is in trouble, and whether the fabric or this host is the cause.",
        Variable::Priority,
    )
    .row("Is anything wrong on this node?", now())
    .row("Ports, worst first", vec![ports()])
    .row("Pause", pause())
    .row("Traffic", traffic())
    .row("Loss, congestion and the way into the host", [symptoms(), transport()].concat())
    .row("What the watchdog did", watchdog())
}

fn now() -> Vec<Panel> {
    vec![
        faults("rx storms", "Queues of this node that the peer holds without a break now. The cause is in the fabric. Healthy: 0.")
        .number(promql!("sum(rocewatch_watchdog_storm{@port,direction='rx'})")),
        faults("tx storms", "Queues on which this node holds its peer without a break now. The cause is this host. Healthy: 0.")
        .number(promql!("sum(rocewatch_watchdog_storm{@port,direction='tx'})")),
        faults("Lossless drops, 1 h", "Packets dropped on priorities that have PFC. Healthy: 0.")
        .number(promql!(concat!("sum(", lossless_drops!("{@port}", "1h"), ")"))),
        stat("Ports up", "Share of the ports that have carrier and an active RDMA port. Healthy: all.", Unit::Share, Limits::AllRequired)
            .number(promql!("avg(rocewatch_port_up{@port})")),
        stat(
            "Age of the data",
            "Age of the newest reading of the slowest port, at the last scrape. Healthy: about a second at most; from ten intervals on, the watchdog is blind there.",
            Unit::Seconds,
            Limits::Rising(2.5, 10.0),
        )
        .number(promql!("max(rocewatch_watchdog_read_age_seconds{@port})")),
        stat("Mode", "What the watchdog may do: off, observe, dry_run or enforce.", Unit::Count, Limits::None)
            .ask(Tint::Quiet, "{{mode}}", promql!("rocewatch_watchdog_mode{@node} == 1"))
            .names(),
    ]
}

fn ports() -> Panel {
    table(
        "Ports",
        "One row for each port. rx pause: the fabric stopped us. tx pause: this host stopped the fabric. Utilisation is of the link's speed. A cell without a number: this NIC does not count it.",
        &["instance", "netdev"],
    )
    .faults("tx storm", promql!("sum by (instance, netdev) (rocewatch_watchdog_storm{@port,direction='tx'})"),
    )
    .faults("rx storm", promql!("sum by (instance, netdev) (rocewatch_watchdog_storm{@port,direction='rx'})"),
    )
    .column("Up", Unit::Count, Limits::AllRequired, promql!("min by (instance, netdev) (rocewatch_port_up{@port})"))
    .column(
        "Speed",
        Unit::BitsPerSecond,
        Limits::None,
        promql!("max by (instance, netdev) (rocewatch_port_rate_bytes_per_second{@port}) * 8"),
    )
    .column(
        "rx use, 5 m",
        Unit::Share,
        Limits::None,
        promql!(
            "max by (instance, netdev) (rate(rocewatch_port_receive_bytes_total{@port}[5m]) / rocewatch_port_rate_bytes_per_second{@port})"
        ),
    )
    .column(
        "tx use, 5 m",
        Unit::Share,
        Limits::None,
        promql!(
            "max by (instance, netdev) (rate(rocewatch_port_transmit_bytes_total{@port}[5m]) / rocewatch_port_rate_bytes_per_second{@port})"
        ),
    )
    .column(
        "rx pause, 5 m",
        Unit::Share,
        Limits::Rising(0.05, 0.25),
        promql!("max by (instance, netdev) (rate(rocewatch_pfc_rx_pause_seconds_total{@queue}[5m]))"),
    )
    .column(
        "tx pause, 5 m",
        Unit::Share,
        Limits::Rising(0.01, 0.1),
        promql!("max by (instance, netdev) (rate(rocewatch_pfc_tx_pause_seconds_total{@queue}[5m]))"),
    )
    .oddities("tx storms, 1 h", promql!("sum by (instance, netdev) (increase(rocewatch_watchdog_storms_total{@port,direction='tx'}[1h]))"),
    )
    .oddities("rx storms, 1 h", promql!("sum by (instance, netdev) (increase(rocewatch_watchdog_storms_total{@port,direction='rx'}[1h]))"),
    )
    .oddities("Downs, 1 d", promql!("sum by (instance, netdev) (increase(rocewatch_port_link_downs_total{@port}[1d]))"),
    )
    .column(
        "Found within",
        Unit::Seconds,
        Limits::Rising(1.0, 3.0),
        promql!("max by (instance, netdev) (rocewatch_watchdog_detect_bound_seconds{@port})"),
    )
    .size(24, 7)
}

fn pause() -> Vec<Panel> {
    vec![
        lines(
            "The fabric stopped us (rx): share of time",
            "How much of the time a queue was held by its peer. Above zero is normal under load; near 100 % is a queue that is stuck. Queues that had PFC within ten minutes, so that one that is taken out of it stays in sight. Where the port is estimated, an upper bound.",
            Unit::Share,
        )
        .limits(Limits::Rising(0.05, 0.25))
        .ask(
            Tint::Rx,
            "{{netdev}} prio {{priority}}",
            promql!("clamp_max(rate(rocewatch_pfc_rx_pause_seconds_total{@queue}[$__rate_interval]), 1) and max_over_time(rocewatch_pfc_enabled{@queue}[10m]) == 1"),
        )
        .ask_rare(
            Tint::Fault,
            "{{netdev}} 802.3x",
            "most NICs count no time of 802.3x pause",
            promql!("clamp_max(rate(rocewatch_global_rx_pause_seconds_total{@port}[$__rate_interval]), 1) > 0"),
        )
        .size(12, 9),
        lines(
            "We stopped the fabric (tx): share of time",
            "How much of the time this host held its peer. Healthy: next to nothing. Above 1 % this host is slow: PCIe, memory, IOMMU, receive buffers, or an application that does not post.",
            Unit::Share,
        )
        .limits(Limits::Rising(0.01, 0.1))
        .ask(
            Tint::Tx,
            "{{netdev}} prio {{priority}}",
            promql!("clamp_max(rate(rocewatch_pfc_tx_pause_seconds_total{@queue}[$__rate_interval]), 1) and max_over_time(rocewatch_pfc_enabled{@queue}[10m]) == 1"),
        )
        .ask_rare(
            Tint::Fault,
            "{{netdev}} 802.3x",
            "most NICs count no time of 802.3x pause",
            promql!("clamp_max(rate(rocewatch_global_tx_pause_seconds_total{@port}[$__rate_interval]), 1) > 0"),
        )
        .size(12, 9),
        lines(
            "rx: worst moment of the last minute",
            "The highest share of any detection window within 60 s. High here and low above: short bursts that an average hides.",
            Unit::Share,
        )
        .ask(Tint::Rx, "{{netdev}} prio {{priority}}", promql!("rocewatch_pfc_rx_pause_ratio_max{@queue}"))
        .size(12, 7),
        lines(
            "tx: worst moment of the last minute",
            "The highest share of any detection window within 60 s. High here and low above: short bursts that an average hides.",
            Unit::Share,
        )
        .ask(Tint::Tx, "{{netdev}} prio {{priority}}", promql!("rocewatch_pfc_tx_pause_ratio_max{@queue}"))
        .size(12, 7),
    ]
}

fn traffic() -> Vec<Panel> {
    vec![
        lines("Received", "Bits on the wire that came in, RDMA included.", Unit::BitsPerSecond)
            .ask(
                Tint::Rx,
                "{{netdev}}",
                promql!("rate(rocewatch_port_receive_bytes_total{@port}[$__rate_interval]) * 8"),
            ),
        lines("Sent", "Bits on the wire that went out, RDMA included. A fall while rx pause rises is what the fabric takes away.", Unit::BitsPerSecond)
            .ask(
                Tint::Tx,
                "{{netdev}}",
                promql!("rate(rocewatch_port_transmit_bytes_total{@port}[$__rate_interval]) * 8"),
            ),
        lines(
            "Sent by priority with PFC",
            "Bits that the lossless priorities sent. A queue that is paused and sends nothing is stuck; one that sends is only slowed down.",
            Unit::BitsPerSecond,
        )
        .ask(
            Tint::Tx,
            "{{netdev}} prio {{priority}}",
            promql!("rate(rocewatch_priority_transmit_bytes_total{@queue}[$__rate_interval]) * 8 and max_over_time(rocewatch_pfc_enabled{@queue}[10m]) == 1"),
        ),
    ]
}

fn symptoms() -> Vec<Panel> {
    vec![
        lines(
            "Drops",
            "Packets that this node dropped on arrival: on priorities with PFC for want of port buffer, and of the port as a whole. On a lossless priority never healthy.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Fault,
            "{{netdev}} on priorities with PFC",
            promql!(
                "sum by (netdev) (rate(rocewatch_priority_receive_discards_total{@queue}[$__rate_interval]) and max_over_time(rocewatch_pfc_enabled{@queue}[10m]) == 1)"
            ),
        )
        .ask(
            Tint::Quiet,
            "{{netdev}} port",
            promql!("rate(rocewatch_receive_discards_total{@port}[$__rate_interval])"),
        ),
        lines(
            "Marks and notifications",
            "Marked packets that arrived, and CNPs sent and handled by this node. Pause without marks: ECN is not set up on the way.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Rx,
            "{{netdev}} marked",
            promql!("rate(rocewatch_ecn_marked_packets_received_total{@port}[$__rate_interval])"),
        )
        .ask(
            Tint::Tx,
            "{{netdev}} CNP sent",
            promql!("rate(rocewatch_cnp_sent_total{@port}[$__rate_interval])"),
        )
        .ask(
            Tint::Quiet,
            "{{netdev}} CNP handled",
            promql!("rate(rocewatch_cnp_handled_total{@port}[$__rate_interval])"),
        ),
        lines(
            "PCIe stall",
            "Share of the last second in which the bus held up the NIC. With tx pause: this host cannot take what comes. Healthy: near 0.",
            Unit::Share,
        )
        .limits(Limits::Rising(0.1, 0.3))
        .ask(
            Tint::Quiet,
            "{{netdev}} {{direction}}",
            promql!("rocewatch_pcie_stalled_ratio{@port}"),
        ),
    ]
}

fn transport() -> Vec<Panel> {
    vec![
        lines(
            "Transport: packets lost or late",
            "What RDMA notices of loss: packets out of order, sequence errors that peers report, requests without acknowledgement. Mostly consequences: look for the first in time.",
            Unit::PerSecond,
        )
        .ask(
            Tint::Quiet,
            "{{netdev}} out of order",
            promql!("rate(rocewatch_out_of_sequence_total{@port}[$__rate_interval])"),
        )
        .ask(
            Tint::Rx,
            "{{netdev}} sequence errors",
            promql!("rate(rocewatch_packet_sequence_errors_total{@port}[$__rate_interval])"),
        )
        .ask(
            Tint::Fault,
            "{{netdev}} not acknowledged",
            promql!("rate(rocewatch_local_ack_timeouts_total{@port}[$__rate_interval])"),
        ),
        lines(
            "Transport: a slow receiver",
            "Messages that met no posted buffer here, and requests of ours that were answered by receiver not ready. Healthy: 0.",
            Unit::PerSecond,
        )
        .ask(
            Tint::Tx,
            "{{netdev}} no buffer here",
            promql!("rate(rocewatch_out_of_buffer_total{@port}[$__rate_interval])"),
        )
        .ask(
            Tint::Rx,
            "{{netdev}} peer not ready",
            promql!("rate(rocewatch_rnr_naks_total{@port}[$__rate_interval])"),
        ),
        lines(
            "Pressure on the host",
            "Share of time in which some task waited for processor, memory or disk. With tx pause: a reason why this host is slow.",
            Unit::Share,
        )
        .ask(
            Tint::Own,
            "{{resource}}",
            promql!("rate(rocewatch_host_pressure_seconds_total{@node}[1m])"),
        ),
    ]
}

fn watchdog() -> Vec<Panel> {
    vec![
        lines(
            "Queues in a storm",
            "When, and in which direction.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask(
            Tint::Rx,
            "{{netdev}} prio {{priority}} rx",
            promql!("rocewatch_watchdog_storm{@queue,direction='rx'}"),
        )
        .ask(
            Tint::Tx,
            "{{netdev}} prio {{priority}} tx",
            promql!("rocewatch_watchdog_storm{@queue,direction='tx'}"),
        ),
        lines(
            "Queues under an action",
            "When an action holds: the priority is out of the PFC mask, or what else was done. Lossless traffic on it may be dropped meanwhile.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask(
            Tint::Quiet,
            "{{netdev}} prio {{priority}} {{direction}}",
            promql!("rocewatch_watchdog_mitigated{@queue}"),
        ),
        lines(
            "Actions and vetoes, in 5 m",
            "What was done, and what was wanted and refused, by reason.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask_rare(
            Tint::Own,
            "{{netdev}} {{action}}: {{result}}",
            "an action makes it",
            promql!(concat!("sum by (netdev, action, result) (", growth!("rocewatch_watchdog_actions_total{@port}", "5m"), ")")),
        )
        .ask_rare(
            Tint::Quiet,
            "{{netdev}} veto: {{reason}}",
            "a veto makes it",
            promql!(concat!("sum by (netdev, reason) (", growth!("rocewatch_watchdog_suppressed_total{@port}", "5m"), ")")),
        ),
    ]
}
