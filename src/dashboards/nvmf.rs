//! Storage over NVMe-oF: whether it can be reached, and what the ports that carry it went through.

use super::board::{Board, Variable};
use super::panel::{Limits, Lines, Panel, Tint, Unit, faults, lines, oddities, stat, table};

const ALL_LIVE: &str = "every controller is live";

/// The dashboard.
pub(super) fn board() -> Board {
    Board::of_nodes(
        "rocewatch-nvmf",
        "NVMe-oF",
        "Paths to storage over RDMA and TCP, how they fail and come back, and the pause on the ports that carry them.",
        Variable::Instance,
    )
    .row("Can storage be reached?", now())
    .row("Subsystems, worst first", vec![subsystems()])
    .row("Paths and pause", paths())
    .row("Controllers", controllers())
    .row("What this host serves", served())
}

fn now() -> Vec<Panel> {
    vec![
        faults("Subsystems without a path", "Storage subsystems of which no path is live: their I/O waits, and fails later. Healthy: 0.")
            .number(promql!("sum(rocewatch_nvmf_paths_live{@node} == bool 0)")),
        oddities("Controllers not live", "Paths that are being reset, connected or removed now. Healthy: 0.")
            .number(promql!("sum(rocewatch_nvmf_controller_live{@node} == bool 0)")),
        faults("Paths lost, 1 d", "Paths that failed for longer than their ctrl_loss_tmo, so that the kernel removed them. Healthy: 0.")
            .number(promql!("sum(increase(rocewatch_nvmf_paths_lost_total{@node}[1d]))")),
        oddities("Reconnects, 1 h", "Times a path was lost and came back. Each time nothing got through for at least the keep-alive. Healthy: 0.")
            .number(promql!("sum(increase(rocewatch_nvmf_reconnects_total{@node}[1h]))")),
        stat(
            "Longest away",
            "Time since the path that is away for longest was live. Compare it with ctrl_loss below. Healthy: no number.",
            Unit::Seconds,
            Limits::Rising(5.0, 60.0),
        )
        .number_rare(ALL_LIVE, promql!("max(rocewatch_nvmf_controller_not_live_seconds{@node})")),
        stat("Subsystems", "Storage subsystems that are connected.", Unit::Count, Limits::None)
            .number(promql!("count(rocewatch_nvmf_paths{@node})")),
    ]
}

fn subsystems() -> Panel {
    table(
        "Subsystems",
        "One row for each node and subsystem. One without paths is not listed: all that it had were removed.",
        &["instance", "subsystem"],
    )
    .oddities(
        "Not live",
        promql!(
            "sum by (instance, subsystem) (rocewatch_nvmf_paths{@node}) - sum by (instance, subsystem) (rocewatch_nvmf_paths_live{@node})"
        ),
    )
    .column(
        "Live",
        Unit::Count,
        Limits::AllRequired,
        promql!("sum by (instance, subsystem) (rocewatch_nvmf_paths_live{@node})"),
    )
    .column(
        "Paths",
        Unit::Count,
        Limits::None,
        promql!("sum by (instance, subsystem) (rocewatch_nvmf_paths{@node})"),
    )
    .oddities(
        "Reconnects, 1 d",
        promql!("sum by (instance, subsystem) (increase(rocewatch_nvmf_reconnects_total{@node}[1d]))"),
    )
    .faults(
        "Lost, 1 d",
        promql!("sum by (instance, subsystem) (increase(rocewatch_nvmf_paths_lost_total{@node}[1d]))"),
    )
    .size(24, 7)
}

fn paths() -> Vec<Panel> {
    vec![
        lines("Live paths", "Paths to each subsystem that are live. Healthy: a level line.", Unit::Count).ask(
            Tint::Own,
            "{{instance}} {{subsystem}}",
            promql!("bottomk(10, sum by (instance, subsystem) (rocewatch_nvmf_paths_live{@node}))"),
        ),
        lines(
            "Controllers by state",
            "How many controllers are in which state. Healthy: all live.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask(Tint::Own, "{{state}}", promql!("count by (state) (rocewatch_nvmf_controller_state_info{@node})")),
        lines(
            "Received pause on their ports",
            "Highest share of a detection window for which the fabric held a priority, over the last minute, on ports that carry a controller. Which priority storage uses is told nowhere: compare the shape with that of the paths.",
            Unit::Share,
        )
        .limits(Limits::Rising(0.5, 0.95))
        .ask(
            Tint::Rx,
            "{{instance}} {{netdev}} priority {{priority}}",
            promql!(
                "topk(10, max by (instance, netdev, priority) (rocewatch_pfc_rx_pause_ratio_max{@node}) and on (instance, netdev) rocewatch_nvmf_controller_info{@node})"
            ),
        ),
        lines(
            "Time since live",
            "Of paths that are away. A line that rises to ctrl_loss ends there: the path is removed. Healthy: no line.",
            Unit::Seconds,
        )
        .ask_rare(
            Tint::Fault,
            "{{instance}} {{controller}}",
            ALL_LIVE,
            promql!("topk(10, rocewatch_nvmf_controller_not_live_seconds{@node})"),
        ),
        lines(
            "Changes of state, in 5 m",
            "Looked at once a second: what comes and goes in between is missed. Healthy: none.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask(
            Tint::Own,
            "{{instance}} {{controller}}",
            promql!("topk(10, increase(rocewatch_nvmf_transitions_total{@node}[5m]))"),
        ),
        lines(
            "Sent pause on their ports",
            "The same, for pause that this host sent: it takes too slowly what storage sends.",
            Unit::Share,
        )
        .limits(Limits::Rising(0.1, 0.5))
        .ask(
            Tint::Tx,
            "{{instance}} {{netdev}} priority {{priority}}",
            promql!(
                "topk(10, max by (instance, netdev, priority) (rocewatch_pfc_tx_pause_ratio_max{@node}) and on (instance, netdev) rocewatch_nvmf_controller_info{@node})"
            ),
        ),
    ]
}

fn controllers() -> Vec<Panel> {
    let timeout =
        |panel: Panel, head, expression| panel.column(head, Unit::Seconds, Limits::None, expression);
    let books = table(
        "Controllers",
        "One row for each path. A timeout without a number is off: ctrl_loss without one tries for ever.",
        &["instance", "controller", "subsystem"],
    )
    .oddities(
        "Reconnects, 1 h",
        promql!(
            "sum by (instance, controller, subsystem) (increase(rocewatch_nvmf_reconnects_total{@node}[1h]))"
        ),
    )
    .column(
        "Live",
        Unit::Count,
        Limits::AllRequired,
        promql!("min by (instance, controller, subsystem) (rocewatch_nvmf_controller_live{@node})"),
    )
    .column(
        "Queues",
        Unit::Count,
        Limits::None,
        promql!("max by (instance, controller, subsystem) (rocewatch_nvmf_queues{@node})"),
    );
    let books = timeout(
        books,
        "keep_alive",
        promql!(
            "max by (instance, controller, subsystem) (rocewatch_nvmf_timeout_seconds{@node,timeout='keep_alive'})"
        ),
    );
    let books = timeout(
        books,
        "ctrl_loss",
        promql!(
            "max by (instance, controller, subsystem) (rocewatch_nvmf_timeout_seconds{@node,timeout='ctrl_loss'})"
        ),
    );
    let places = table(
        "Where they lead",
        "Each path with its address and the port that carries it; an empty cell is told nowhere.",
        &["instance", "controller", "transport", "address", "host_address", "netdev"],
    )
    .column(
        "Controllers",
        Unit::Count,
        Limits::None,
        promql!(
            "count by (instance, controller, transport, address, host_address, netdev) (rocewatch_nvmf_controller_info{@node})"
        ),
    );
    vec![books.size(12, 8), places.size(12, 8)]
}

fn served() -> Vec<Panel> {
    vec![
        table(
            "Served subsystems",
            "What nvmet of this host offers. Allowed hosts without a number: any host may connect.",
            &["instance", "subsystem"],
        )
        .column(
            "Namespaces",
            Unit::Count,
            Limits::None,
            promql!("max by (instance, subsystem) (rocewatch_nvmet_namespaces{@node})"),
        )
        .column(
            "Ports",
            Unit::Count,
            Limits::AllRequired,
            promql!("count by (instance, subsystem) (rocewatch_nvmet_port_subsystem_info{@node})"),
        )
        .column(
            "Allowed hosts",
            Unit::Count,
            Limits::None,
            promql!("max by (instance, subsystem) (rocewatch_nvmet_hosts_allowed{@node})"),
        )
        .size(12, 7),
        table(
            "Ports they are served on",
            "Where nvmet of this host listens.",
            &["instance", "target_port", "transport", "address"],
        )
        .column(
            "Ports",
            Unit::Count,
            Limits::None,
            promql!(
                "count by (instance, target_port, transport, address) (rocewatch_nvmet_port_info{@node})"
            ),
        )
        .size(12, 7),
    ]
}
