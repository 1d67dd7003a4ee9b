//! The fleet: is anything wrong, and where.

use super::board::Board;
use super::panel::{Limits, Lines, Panel, Tint, Unit, bars, faults, lines, oddities, stat, table};

/// The dashboard.
pub(super) fn board() -> Board {
    Board::of_fleet(
        "rocewatch-fleet",
        "Fleet",
        "Is anything wrong, and where? Colour means trouble; what is healthy has none. A number that is missing is unknown, not zero.",
    )
    .row("Is anything wrong now?", [now(), around()].concat())
    .row("Where? Worst nodes first", vec![nodes()])
    .row("Alerts that fire", vec![alerts()])
    .row("The fabric stopped us: received pause (rx)", received())
    .row("We stopped the fabric: sent pause (tx)", sent())
    .row("Storms and what was done", storms())
    .row("Congestion control and loss", congestion())
    .row("What is out there", inventory())
}

fn now() -> Vec<Panel> {
    vec![
        faults("rx storms", "Queues that a peer holds without a break now: the cause is in the fabric or behind it. Healthy: 0.")
        .number(promql!("sum(rocewatch_watchdog_storm{@fleet,direction='rx'})")),
        faults("tx storms", "Queues on which a host of ours holds its peer without a break now: that host is slow or sick. Healthy: 0.")
        .number(promql!("sum(rocewatch_watchdog_storm{@fleet,direction='tx'})")),
        faults("Nodes in an rx storm", "Nodes that the fabric holds on at least one queue now. Many at once: look for one sick host or switch that they share, not at each node. Healthy: 0.")
        .number(promql!("sum(max by (instance) (rocewatch_watchdog_storm{@fleet,direction='rx'}))")),
        faults("Lossless drops, 1 h", "Packets dropped on priorities that have PFC, in the last hour. One is a fault: headroom or settings of the port or its peer are wrong. Healthy: 0.")
        .number(promql!(concat!("sum(", lossless_drops!("{@fleet}", "1h"), ")"))),
        faults("Not undone", "Queues on which something the agent changed could not be put back, and queues that are locked until somebody acknowledges. A person is needed. Healthy: 0.")
        .number(promql!("sum(rocewatch_watchdog_undo_failed{@fleet}) + sum(rocewatch_watchdog_locked{@fleet})")),
        faults("Ports down", "Ports without carrier, or whose RDMA port is not active. Ports that are not cabled count too: exclude them in the agent's configuration. Healthy: 0.")
        .number(promql!("sum(rocewatch_port_up{@fleet} == bool 0)")),
    ]
}

fn around() -> Vec<Panel> {
    vec![
        faults("Agents silent", "Targets that do not answer, of jobs in which an agent answered within a day. Nothing is known of these nodes. Healthy: 0.")
        .number(promql!(
            "sum((up{@fleet} == bool 0) and on (job) group by (job) (last_over_time(rocewatch_build_info{@fleet}[1d])))"
        )),
        oddities("Queues not judged", "Watched queues whose data is not good enough to decide now: no storm of theirs would be found. Healthy: 0, apart from the first second of an agent.")
        .number(promql!("sum(rocewatch_watchdog_armed{@fleet} == bool 0)")),
        oddities("rx storms, 1 h", "Storms in which the fabric held us that began in the last hour, those between two scrapes among them. Healthy: 0.")
        .number(promql!("sum(increase(rocewatch_watchdog_storms_total{@fleet,direction='rx'}[1h]))")),
        oddities("tx storms, 1 h", "Storms in which a host of ours held its peer that began in the last hour. Healthy: 0.")
        .number(promql!("sum(increase(rocewatch_watchdog_storms_total{@fleet,direction='tx'}[1h]))")),
        stat("Nodes", "Nodes whose agent answers.", Unit::Count, Limits::None)
            .number(promql!("count(rocewatch_build_info{@fleet})")),
        stat(
            "Nodes that may act",
            "Nodes in mode enforce. The others tell and do nothing.",
            Unit::Count,
            Limits::None,
        )
        .number(promql!("sum(rocewatch_watchdog_mode{@fleet,mode='enforce'})")),
    ]
}

fn nodes() -> Panel {
    table(
        "Nodes",
        "One row for each node; those that hold the fabric (tx) first, then those that it holds (rx): where both are, look at the first. Click a node for its own page. Drops are those on priorities with PFC, Broken are connections. A cell without a number: not counted there.",
        &["instance"],
    )
    .faults("tx storm", promql!("sum by (instance) (rocewatch_watchdog_storm{@fleet,direction='tx'})"),
    )
    .faults("rx storm", promql!("sum by (instance) (rocewatch_watchdog_storm{@fleet,direction='rx'})"),
    )
    .oddities("tx storms, 1 h", promql!("sum by (instance) (increase(rocewatch_watchdog_storms_total{@fleet,direction='tx'}[1h]))"),
    )
    .oddities("rx storms, 1 h", promql!("sum by (instance) (increase(rocewatch_watchdog_storms_total{@fleet,direction='rx'}[1h]))"),
    )
    .column(
        "tx pause, 5 m",
        Unit::Share,
        Limits::Rising(0.01, 0.1),
        promql!("max by (instance) (rate(rocewatch_pfc_tx_pause_seconds_total{@fleet}[5m]))"),
    )
    .column(
        "rx pause, 5 m",
        Unit::Share,
        Limits::Rising(0.05, 0.25),
        promql!("max by (instance) (rate(rocewatch_pfc_rx_pause_seconds_total{@fleet}[5m]))"),
    )
    .faults("Drops, 1 h", promql!(concat!("sum by (instance) (", lossless_drops!("{@fleet}", "1h"), ")")),
    )
    .faults("Broken, 1 h", promql!("sum by (instance) (increase(rocewatch_transport_retries_exceeded_total{@fleet}[1h]))"),
    )
    .faults("Ports down", promql!("sum by (instance) (rocewatch_port_up{@fleet} == bool 0)"),
    )
    .oddities("Not judged", promql!("sum by (instance) (rocewatch_watchdog_armed{@fleet} == bool 0)"),
    )
    .faults("Not undone", promql!("sum by (instance) (rocewatch_watchdog_undo_failed{@fleet})"),
    )
    .column_rare(
        "Last action",
        Unit::Ago,
        Limits::None,
        "an action makes it",
        promql!("max by (instance) (rocewatch_watchdog_last_action_timestamp_seconds{@fleet}) * 1000"),
    )
    .size(24, 9)
}

fn alerts() -> Panel {
    table(
        "Alerts that fire",
        "By alert, as far as this Prometheus evaluates alerts/*.yml. Each alert has a runbook of its name.",
        &["alertname", "severity"],
    )
    .column_rare(
        "Firing",
        Unit::Count,
        Limits::None,
        "nothing fires where all is well",
        promql!(
            "count by (alertname, severity) (ALERTS{@fleet,alertname=~'Rocewatch.*',alertstate='firing'})"
        ),
    )
    .size(24, 6)
}

fn received() -> Vec<Panel> {
    vec![
        lines(
            "rx pause: spread over the fleet",
            "Share of time in which queues with PFC were held by their peers. A high median is load or a wrong setting everywhere; a high maximum over a low median is one place. Healthy: the maximum stays below 5 % outside of bursts.",
            Unit::Share,
        )
        .limits(Limits::Rising(0.05, 0.25))
        .ask(
            Tint::Rx,
            "maximum",
            promql!("max(clamp_max(rate(rocewatch_pfc_rx_pause_seconds_total{@fleet}[$__rate_interval]), 1))"),
        )
        .ask(
            Tint::Quiet,
            "9 of 10 below",
            promql!("quantile(0.9, clamp_max(rate(rocewatch_pfc_rx_pause_seconds_total{@fleet}[$__rate_interval]), 1) and rocewatch_pfc_enabled{@fleet} == 1)"),
        )
        .ask(
            Tint::Quiet,
            "median",
            promql!("quantile(0.5, clamp_max(rate(rocewatch_pfc_rx_pause_seconds_total{@fleet}[$__rate_interval]), 1) and rocewatch_pfc_enabled{@fleet} == 1)"),
        )
        .size(12, 8),
        bars(
            "rx pause: the ten most held queues, 5 m",
            "Where the fabric stops us most. The cause lies behind the switch these queues send to: compare what they have in common.",
            Unit::Share,
            Limits::Rising(0.05, 0.25),
        )
        .ask(
            Tint::Rx,
            "{{instance}} {{netdev}} prio {{priority}}",
            promql!(
                "sort_desc(topk(10, sum by (instance, netdev, priority) (rate(rocewatch_pfc_rx_pause_seconds_total{@fleet}[5m]))))"
            ),
        ),
    ]
}

fn sent() -> Vec<Panel> {
    vec![
        lines(
            "tx pause: spread over the fleet",
            "Share of time in which our ports held their peers. A host should hardly ever do so: the one that does spreads pause to everybody who sends to it. Healthy: below 1 %.",
            Unit::Share,
        )
        .limits(Limits::Rising(0.01, 0.1))
        .ask(
            Tint::Tx,
            "maximum",
            promql!("max(clamp_max(rate(rocewatch_pfc_tx_pause_seconds_total{@fleet}[$__rate_interval]), 1))"),
        )
        .ask(
            Tint::Quiet,
            "9 of 10 below",
            promql!("quantile(0.9, clamp_max(rate(rocewatch_pfc_tx_pause_seconds_total{@fleet}[$__rate_interval]), 1) and rocewatch_pfc_enabled{@fleet} == 1)"),
        )
        .ask(
            Tint::Quiet,
            "median",
            promql!("quantile(0.5, clamp_max(rate(rocewatch_pfc_tx_pause_seconds_total{@fleet}[$__rate_interval]), 1) and rocewatch_pfc_enabled{@fleet} == 1)"),
        )
        .size(12, 8),
        bars(
            "tx pause: the ten hosts that stop the fabric most, 5 m",
            "The first suspects of a storm that others receive: PCIe, memory, IOMMU, receive buffers, or an application that does not post.",
            Unit::Share,
            Limits::Rising(0.01, 0.1),
        )
        .ask(
            Tint::Tx,
            "{{instance}} {{netdev}} prio {{priority}}",
            promql!(
                "sort_desc(topk(10, sum by (instance, netdev, priority) (rate(rocewatch_pfc_tx_pause_seconds_total{@fleet}[5m]))))"
            ),
        ),
    ]
}

fn storms() -> Vec<Panel> {
    vec![
        lines(
            "Queues in a storm",
            "How many, and in which direction. A step that starts with tx on one node and goes on with rx on others is a sick host that spreads.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask(
            Tint::Rx,
            "rx: the fabric stopped us",
            promql!("sum(rocewatch_watchdog_storm{@fleet,direction='rx'})"),
        )
        .ask(
            Tint::Tx,
            "tx: we stopped the fabric",
            promql!("sum(rocewatch_watchdog_storm{@fleet,direction='tx'})"),
        ),
        lines(
            "Actions by result, in 5 m",
            "What the agents did. ok: done, read back, and the queue moves. ineffective, unproven, failed and expired want a look at the node.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask_rare(
            Tint::Own,
            "{{action}}: {{result}}",
            "an action makes it",
            promql!(concat!("sum by (action, result) (", growth!("rocewatch_watchdog_actions_total{@fleet}", "5m"), ")")),
        ),
        lines(
            "Actions vetoed by reason, in 5 m",
            "Actions that were wanted and not done. mode: the node only observes. fleet_guard: too many nodes suffer at once. node_wide: too many ports of one node do. budget and hold_off: the same port again and again.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask_rare(
            Tint::Own,
            "{{reason}}",
            "a veto makes it",
            promql!(concat!("sum by (reason) (", growth!("rocewatch_watchdog_suppressed_total{@fleet}", "5m"), ")")),
        ),
    ]
}

fn congestion() -> Vec<Panel> {
    vec![
        lines(
            "Marked packets of those received",
            "Share of RDMA packets that arrive with the congestion mark. Healthy: below 2 %. None at all while there is pause: the switches do not mark, and PFC does the work of ECN.",
            Unit::Share,
        )
        .limits(Limits::Rising(0.02, 0.1))
        .ask(
            Tint::Rx,
            "marked",
            promql!(
                "sum(rate(rocewatch_ecn_marked_packets_received_total{@fleet}[$__rate_interval])) / sum(rate(rocewatch_rdma_receive_packets_total{@fleet}[$__rate_interval]))"
            ),
        ),
        lines(
            "Notifications: sent by receivers, handled by senders",
            "CNPs over the whole fleet. Healthy: handled is about as much as sent. Far less handled: senders do not slow down, or CNPs get lost.",
            Unit::PacketsPerSecond,
        )
        .ask(Tint::Rx, "sent", promql!("sum(rate(rocewatch_cnp_sent_total{@fleet}[$__rate_interval]))"))
        .ask(
            Tint::Quiet,
            "handled",
            promql!("sum(rate(rocewatch_cnp_handled_total{@fleet}[$__rate_interval]))"),
        ),
        lines(
            "Signs of loss",
            "Over the whole fleet. Drops on lossless priorities are never healthy; packets out of order are normal where the fabric sprays packets.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Fault,
            "lossless drops",
            promql!(
                "sum(rate(rocewatch_priority_receive_discards_total{@fleet}[$__rate_interval]) and rocewatch_pfc_enabled{@fleet} == 1)"
            ),
        )
        .ask(
            Tint::Quiet,
            "out of order",
            promql!("sum(rate(rocewatch_out_of_sequence_total{@fleet}[$__rate_interval]))"),
        )
        .ask(
            Tint::Named("orange"),
            "acknowledgements missing",
            promql!("sum(rate(rocewatch_local_ack_timeouts_total{@fleet}[$__rate_interval]))"),
        ),
    ]
}

fn inventory() -> Vec<Panel> {
    vec![
        lines("Traffic of all ports", "Bits on the wire of all ports, RDMA included. A fall while pause rises is throughput lost to it.", Unit::BitsPerSecond)
            .ask(
                Tint::Rx,
                "received",
                promql!("sum(rate(rocewatch_port_receive_bytes_total{@fleet}[$__rate_interval])) * 8"),
            )
            .ask(
                Tint::Tx,
                "sent",
                promql!("sum(rate(rocewatch_port_transmit_bytes_total{@fleet}[$__rate_interval])) * 8"),
            ),
        table(
            "Drivers and firmware",
            "Ports by driver and firmware. An odd one out is worth a look before anything else.",
            &["driver", "driver_version", "firmware_version"],
        )
        .column(
            "Ports",
            Unit::Count,
            Limits::None,
            promql!("count by (driver, driver_version, firmware_version) (rocewatch_device_info{@fleet})"),
        )
        .size(8, 8),
        table("Agents", "Nodes by the version of the agent and its configuration. Healthy: one row, outside of a roll-out.", &["version", "revision"])
            .column(
                "Nodes",
                Unit::Count,
                Limits::None,
                promql!("count by (version, revision) (rocewatch_build_info{@fleet})"),
            )
            .size(8, 8),
    ]
}
