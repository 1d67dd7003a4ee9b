//! The agents: are they there, do they read in time, what do they cost.

use super::board::{Board, Variable};
use super::panel::{Limits, Lines, Panel, Tint, Unit, faults, lines, oddities, stat, table};

/// The dashboard.
pub(super) fn board() -> Board {
    Board::of_nodes(
        "rocewatch-agent",
        "Agent health",
        "Whether the agents are there, read in time and lose nothing, and what they cost.",
        Variable::Netdev,
    )
    .row("Is an agent in trouble?", now())
    .row("Agents", vec![agents()])
    .row("Reading", reading())
    .row("Doubtful counters", doubtful())
    .row("Serving and writing", serving())
    .row("What it costs", costs())
}

fn now() -> Vec<Panel> {
    vec![
        faults("Agents silent", "Targets that do not answer, of jobs in which an agent answered within a day. Healthy: 0.")
        .number(promql!(
            "sum((up{@node} == bool 0) and on (job) group by (job) (last_over_time(rocewatch_build_info{@fleet}[1d])))"
        )),
        stat(
            "Oldest data",
            "Age of the newest reading of the slowest port, at the last scrape. Healthy: about a second at most.",
            Unit::Seconds,
            Limits::Rising(2.5, 10.0),
        )
        .number(promql!("max(rocewatch_watchdog_read_age_seconds{@port})")),
        faults("Sources failing", "Sources that were not read without error the last time, or hang. Healthy: 0.")
        .number(promql!("sum(rocewatch_collector_success{@node} == bool 0)")),
        faults("Configuration refused", "Agents that go on with their old configuration, because the new one had an error. Healthy: 0.")
        .number(promql!("sum(rocewatch_config_last_reload_successful{@node} == bool 0)")),
        faults("Doubtful ports", "Ports whose counters do not move while their traffic does. Their driver or firmware has stopped counting. Healthy: 0.")
        .number(promql!("sum(rocewatch_frozen{@port})")),
        oddities("Restarts, 1 d", "Times an agent began anew within a day.")
        .number(promql!("sum(changes(process_start_time_seconds{@node}[1d]) and on (instance, job) rocewatch_build_info{@node})")),
    ]
}

fn agents() -> Panel {
    table(
        "Agents",
        "One row for each agent: how long it runs, and what is on its page.",
        &["instance", "version", "revision"],
    )
    .column(
        "Started",
        Unit::Ago,
        Limits::None,
        promql!(
            "max by (instance, version, revision) (rocewatch_build_info{@node} * on (instance, job) group_left () process_start_time_seconds{@node}) * 1000"
        ),
    )
    .column(
        "Ports",
        Unit::Count,
        Limits::None,
        promql!(
            "max by (instance, version, revision) (rocewatch_build_info{@node} * on (instance, job) group_left () rocewatch_ports{@node})"
        ),
    )
    .column(
        "RDMA devices",
        Unit::Count,
        Limits::None,
        promql!(
            "max by (instance, version, revision) (rocewatch_build_info{@node} * on (instance, job) group_left () rocewatch_devices{@node})"
        ),
    )
    .column(
        "Series",
        Unit::Count,
        Limits::Rising(5000.0, 20000.0),
        promql!(
            "max by (instance, version, revision) (rocewatch_build_info{@node} * on (instance, job) group_left () rocewatch_series{@node})"
        ),
    )
    .column(
        "Page",
        Unit::Bytes,
        Limits::None,
        promql!(
            "max by (instance, version, revision) (rocewatch_build_info{@node} * on (instance, job) group_left () rocewatch_page_bytes{@node})"
        ),
    )
    .column(
        "Memory",
        Unit::Bytes,
        Limits::None,
        promql!(
            "max by (instance, version, revision) (rocewatch_build_info{@node} * on (instance, job) group_left () process_resident_memory_bytes{@node})"
        ),
    )
    .size(24, 7)
}

fn reading() -> Vec<Panel> {
    vec![
        lines("Age of the data", "Of the newest reading, when it was scraped. Healthy: about a second at most.", Unit::Seconds)
            .limits(Limits::Rising(2.5, 10.0))
            .ask(Tint::Quiet, "{{instance}} {{netdev}}", promql!("topk(10, rocewatch_watchdog_read_age_seconds{@port})")),
        lines(
            "Time of a reading, and between two",
            "A reading asks the driver, under a lock that all of networking shares. Healthy: far below the interval.",
            Unit::Seconds,
        )
        .ask(Tint::Rx, "{{instance}} {{netdev}} reading", promql!("topk(10, rocewatch_watchdog_read_seconds{@port})"))
        .ask(
            Tint::Quiet,
            "{{instance}} {{netdev}} interval",
            promql!("topk(10, rocewatch_watchdog_poll_interval_seconds{@port})"),
        ),
        lines(
            "Readings missed",
            "Those that failed or came more than an interval late. Healthy: none; a few on a busy host.",
            Unit::PerSecond,
        )
        .ask(
            Tint::Fault,
            "{{instance}} {{netdev}}",
            promql!("topk(10, rate(rocewatch_watchdog_polls_missed_total{@port}[$__rate_interval]))"),
        ),
        lines("Time of a source", "By source, on the slowest port, the last time.", Unit::Seconds)
            .ask(Tint::Own, "{{instance}} {{collector}}", promql!("topk(10, rocewatch_collector_duration_seconds{@node})")),
        lines("Failed reads, in 5 m", "By source and the kernel's name of the error. Healthy: none.", Unit::Count)
            .drawn(Lines::Stacked)
            .ask_rare(
                Tint::Fault,
                "{{instance}} {{netdev}} {{collector}} {{error}}",
                "a failed read makes it",
                promql!(growth!("rocewatch_read_errors_total{@node}", "5m")),
            ),
        lines(
            "Share of time under the kernel's network lock",
            "Time in which the counters of ports were read. Others who set up or read network devices wait meanwhile. Healthy: below 5 %.",
            Unit::Share,
        )
        .limits(Limits::Rising(0.05, 0.2))
        .ask(Tint::Quiet, "{{instance}}", promql!("topk(10, rocewatch_watchdog_rtnl_share_ratio{@node})")),
    ]
}

fn doubtful() -> Vec<Panel> {
    vec![
        lines(
            "Counters that fell back, in 5 m",
            "A reset of the driver or firmware, a link that flapped, or an action that took the counters away. A new baseline was taken.",
            Unit::Count,
        )
        .ask(Tint::Quiet, "{{instance}} {{netdev}}", promql!("topk(10, increase(rocewatch_resets_total{@port}[5m]))")).size(6, 8),
        lines(
            "Readings that cannot be, in 5 m",
            "A counter grew faster than the link can carry. The reading was not used. Healthy: none.",
            Unit::Count,
        )
        .ask(Tint::Fault, "{{instance}} {{netdev}}", promql!("topk(10, increase(rocewatch_implausible_total{@port}[5m]))")).size(6, 8),
        table(
            "Not given by the driver",
            "Families the watchdog and the alerts rest on that a port's driver does not have. Nothing can be said about them there.",
            &["instance", "netdev", "family"],
        )
        .column_rare(
            "Ports",
            Unit::Count,
            Limits::None,
            "a driver that gives everything has no row",
            promql!("count by (instance, netdev, family) (rocewatch_source_supported{@port} == 0)"),
        )
        .size(12, 8),
    ]
}

fn serving() -> Vec<Panel> {
    vec![
        lines("Requests", "By path and status code. Healthy: 200 alone.", Unit::PerSecond)
            .ask(
                Tint::Own,
                "{{path}} {{code}}",
                promql!("sum by (path, code) (rate(rocewatch_http_requests_total{@node}[$__rate_interval]))"),
            ),
        lines("Time to render a page", "Healthy: a few milliseconds.", Unit::Seconds)
            .ask(Tint::Quiet, "{{instance}}", promql!("topk(10, rocewatch_page_render_seconds{@node})")),
        lines(
            "Lost on the way out, in 5 m",
            "Events that a slow subscriber missed, records missing from a recording, incident files that could not be written, requests turned away. Healthy: none.",
            Unit::Count,
        )
        .ask(Tint::Own, "{{instance}} events", promql!("topk(10, increase(rocewatch_events_dropped_total{@node}[5m]))"))
        .ask(Tint::Own, "{{instance}} records", promql!("topk(10, increase(rocewatch_recorder_dropped_total{@node}[5m]))"))
        .ask(Tint::Own, "{{instance}} incidents", promql!("topk(10, increase(rocewatch_incidents_failed_total{@node}[5m]))"))
        .ask(
            Tint::Own,
            "{{instance}} requests",
            promql!("topk(10, increase(rocewatch_http_requests_rejected_total{@node}[5m]))"),
        ),
    ]
}

fn costs() -> Vec<Panel> {
    vec![
        lines("Processor", "Of one core. Healthy: a few percent.", Unit::Share)
            .ask(
                Tint::Quiet,
                "{{instance}}",
                promql!(
                    "topk(10, rate(process_cpu_seconds_total{@node}[$__rate_interval]) and on (instance, job) rocewatch_build_info{@node})"
                ),
            ),
        lines("Memory", "Resident. Healthy: a straight line.", Unit::Bytes)
            .ask(
                Tint::Quiet,
                "{{instance}}",
                promql!("topk(10, process_resident_memory_bytes{@node} and on (instance, job) rocewatch_build_info{@node})"),
            ),
        lines("Open files", "Share of those it may open.", Unit::Share)
            .limits(Limits::Rising(0.5, 0.8))
            .ask(
                Tint::Quiet,
                "{{instance}}",
                promql!(
                    "topk(10, process_open_fds{@node} / process_max_fds{@node} and on (instance, job) rocewatch_build_info{@node})"
                ),
            ),
    ]
}
