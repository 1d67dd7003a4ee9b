//! The watchdog's books: what it saw, what it did, what it refused, and whether it could have seen.

use super::board::{Board, Variable};
use super::panel::{Limits, Lines, Panel, Tint, Unit, bars, faults, lines, oddities, table};

/// The dashboard.
pub(super) fn board() -> Board {
    Board::of_nodes(
        "rocewatch-watchdog",
        "Watchdog audit",
        "What the watchdog saw, did and refused; what is still open; and whether it would have seen.",
        Variable::Priority,
    )
    .row("Is anything open?", now())
    .row("Queues, worst first", vec![queues()])
    .row("What it saw", seen())
    .row("What it did", done())
    .row("Whether it would have seen", judged())
    .row("Budgets and settings", settings())
}

fn now() -> Vec<Panel> {
    vec![
        faults("Undo failed", "Queues on which something the agent changed could not be put back. Go to the node: `rocewatch ctl status`. Healthy: 0.")
        .number(promql!("sum(rocewatch_watchdog_undo_failed{@queue})")),
        faults("Locked", "Queues on which nothing is done any more until somebody acknowledges, or the lock ends: they stormed too often. Healthy: 0.")
        .number(promql!("sum(rocewatch_watchdog_locked{@queue})")),
        faults("Journal not writable", "Nodes on which nothing that needs an undo is done, because the journal cannot be written; of those that enforce. Healthy: 0.")
        .number(promql!("sum((rocewatch_watchdog_journal_writable{@node} == bool 0) and on (job, instance) rocewatch_watchdog_mode{@node,mode='enforce'} == 1)")),
        oddities("Under an action", "Queues for which an action holds now. Lossless traffic on them may be dropped meanwhile. Healthy: 0.")
        .number(promql!("sum(rocewatch_watchdog_mitigated{@queue})")),
        oddities("In maintenance", "Nodes whose maintenance keeps the watchdog from acting. Forgotten ones are why nothing is done.")
        .number(promql!("sum(rocewatch_watchdog_maintenance{@node})")),
        oddities("Queues not judged", "Watched queues whose data is not good enough to decide now. Healthy: 0.")
        .number(promql!("sum(rocewatch_watchdog_armed{@queue} == bool 0)")),
    ]
}

fn queues() -> Panel {
    let books = table(
        "Queues",
        "One row for each watched queue. rx: the peer holds us. tx: we hold the peer. global is 802.3x pause. Storms and the time in them are of the last hour. No demand: held, and nothing shows that it has packets to send. XON only: pause frames without pause time.",
        &["instance", "netdev", "priority", "direction"],
    )
    .faults("In storm", promql!("max by (instance, netdev, priority, direction) (rocewatch_watchdog_storm{@queue})"),
    )
    .oddities("Storms", promql!("sum by (instance, netdev, priority, direction) (increase(rocewatch_watchdog_storms_total{@queue}[1h]))"),
    )
    .column(
        "In storms",
        Unit::Seconds,
        Limits::Unusual,
        promql!(
            "sum by (instance, netdev, priority, direction) (increase(rocewatch_watchdog_storm_seconds_total{@queue}[1h]))"
        ),
    )
    .column(
        "Judged",
        Unit::Count,
        Limits::AllRequired,
        promql!("min by (instance, netdev, priority, direction) (rocewatch_watchdog_armed{@queue})"),
    )
    .oddities("Action holds", promql!("max by (instance, netdev, priority, direction) (rocewatch_watchdog_mitigated{@queue})"),
    )
    ;
    signs(books).size(24, 9)
}

/// What is known of a queue that is in no storm.
fn signs(queues: Panel) -> Panel {
    queues
        .oddities(
            "Throttled",
            promql!("max by (instance, netdev, priority, direction) (rocewatch_watchdog_throttled{@queue})"),
        )
        .oddities(
            "Choppy",
            promql!("max by (instance, netdev, priority, direction) (rocewatch_watchdog_choppy{@queue})"),
        )
        .column(
            "No demand",
            Unit::Count,
            Limits::None,
            promql!(
                "max by (instance, netdev, priority, direction) (rocewatch_watchdog_demand_unknown{@queue})"
            ),
        )
        .oddities(
            "XON only",
            promql!("max by (instance, netdev, priority, direction) (rocewatch_watchdog_xon_storm{@queue})"),
        )
        .faults(
            "Locked",
            promql!("max by (instance, netdev, priority, direction) (rocewatch_watchdog_locked{@queue})"),
        )
        .faults(
            "Undo failed",
            promql!(
                "max by (instance, netdev, priority, direction) (rocewatch_watchdog_undo_failed{@queue})"
            ),
        )
}

fn seen() -> Vec<Panel> {
    vec![
        lines("Queues in a storm", "When, and in which direction.", Unit::Count)
            .drawn(Lines::Stacked)
            .ask(
                Tint::Rx,
                "rx: the fabric stopped us",
                promql!("sum(rocewatch_watchdog_storm{@queue,direction='rx'})"),
            )
            .ask(
                Tint::Tx,
                "tx: we stopped the fabric",
                promql!("sum(rocewatch_watchdog_storm{@queue,direction='tx'})"),
            ),
        lines("Storms begun, in 5 m", "Also those that were over between two scrapes.", Unit::Count)
            .drawn(Lines::Stacked)
            .ask(
                Tint::Rx,
                "{{instance}} {{netdev}} prio {{priority}} rx",
                promql!("increase(rocewatch_watchdog_storms_total{@queue,direction='rx'}[5m]) > 0"),
            )
            .ask_rare(
                Tint::Tx,
                "{{instance}} {{netdev}} prio {{priority}} tx",
                "a healthy host holds nobody",
                promql!("increase(rocewatch_watchdog_storms_total{@queue,direction='tx'}[5m]) > 0"),
            ),
        lines(
            "Time to find a storm",
            "From the onset, as far as the readings show it, to the decision: mean, and what 9 of 10 stayed below. The promise is 190 to 490 ms with the default settings.",
            Unit::Seconds,
        )
        .ask_rare(
            Tint::Rx,
            "9 of 10 below",
            "a storm makes it",
            promql!(
                "histogram_quantile(0.9, sum by (le) (increase(rocewatch_watchdog_detection_seconds_bucket{@node}[5m])))"
            ),
        )
        .ask_rare(
            Tint::Quiet,
            "mean",
            "a storm makes it",
            promql!(
                "sum(increase(rocewatch_watchdog_detection_seconds_sum{@node}[5m])) / (sum(increase(rocewatch_watchdog_detection_seconds_count{@node}[5m])) > 0)"
            ),
        ),
    ]
}

fn done() -> Vec<Panel> {
    vec![
        lines(
            "Actions by result, in 5 m",
            "ok: done, read back, and the queue moves. ineffective: done, and it does not. unproven: nothing showed whether it moves. failed and expired: not done as planned. dry_run: only planned.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask_rare(
            Tint::Own,
            "{{action}}: {{result}}",
            "an action makes it",
            promql!(concat!("sum by (action, result) (", growth!("rocewatch_watchdog_actions_total{@port}", "5m"), ")")),
        ),
        lines(
            "Vetoes by reason, in 5 m",
            "Actions that were wanted and not done.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask_rare(
            Tint::Own,
            "{{reason}}",
            "a veto makes it",
            promql!(concat!("sum by (reason) (", growth!("rocewatch_watchdog_suppressed_total{@port}", "5m"), ")")),
        ),
        lines(
            "Time an action takes",
            "From its first operation to the last read-back: mean by action.",
            Unit::Seconds,
        )
        .ask_rare(
            Tint::Quiet,
            "{{action}}",
            "an action makes it",
            promql!(
                "sum by (action) (increase(rocewatch_watchdog_action_seconds_sum{@node}[5m])) / (sum by (action) (increase(rocewatch_watchdog_action_seconds_count{@node}[5m])) > 0)"
            ),
        ),
        table("Last actions", "What was done last on each port, the newest first.", &["instance", "netdev", "action"])
            .column_rare(
                "When",
                Unit::Ago,
                Limits::None,
                "an action makes it",
                promql!(
                    "max by (instance, netdev, action) (rocewatch_watchdog_last_action_timestamp_seconds{@port}) * 1000"
                ),
            )
            .size(12, 7),
        bars(
            "Vetoes by reason, 1 d",
            "What keeps the watchdog from acting. One reason far above the others is a setting to look at.",
            Unit::Count,
            Limits::None,
        )
        .ask_rare(
            Tint::Quiet,
            "{{reason}}",
            "a veto makes it",
            promql!(concat!("sort_desc(sum by (reason) (", growth!("rocewatch_watchdog_suppressed_total{@port}", "1d"), "))")),
        )
        .size(12, 7),
    ]
}

fn judged() -> Vec<Panel> {
    vec![
        lines(
            "A storm would be found within",
            "By port, at its present pace. No line: no storm of that port would be found now.",
            Unit::Seconds,
        )
        .ask(
            Tint::Quiet,
            "{{instance}} {{netdev}}",
            promql!("topk(10, rocewatch_watchdog_detect_bound_seconds{@port})"),
        ),
        lines(
            "Queues not judged",
            "Watched queues whose data is not good enough. While there are any, silence means nothing.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask(
            Tint::Fault,
            "{{instance}}",
            promql!("sum by (instance) (rocewatch_watchdog_armed{@queue} == bool 0)"),
        ),
        lines(
            "Lateness of readings",
            "99 of 100 readings were at most so late. Half the fast interval, 25 ms, is where the promise begins to suffer.",
            Unit::Seconds,
        )
        .limits(Limits::Rising(0.025, 0.1))
        .ask(
            Tint::Quiet,
            "{{instance}} {{netdev}}",
            promql!(
                "topk(10, histogram_quantile(0.99, sum by (instance, netdev, le) (rate(rocewatch_watchdog_poll_lateness_seconds_bucket{@port}[$__rate_interval]))))"
            ),
        ),
    ]
}

fn settings() -> Vec<Panel> {
    vec![
        table(
            "Ports",
            "What is left of the hour's budget, how long nothing may be planned, and how long a storm has to last to be one.",
            &["instance", "netdev"],
        )
        .column(
            "Hold-off left",
            Unit::Seconds,
            Limits::Unusual,
            promql!("max by (instance, netdev) (rocewatch_watchdog_hold_off_remaining_seconds{@port})"),
        )
        .column(
            "Actions left",
            Unit::Count,
            Limits::AllRequired,
            promql!("min by (instance, netdev) (rocewatch_watchdog_budget_remaining{@port})"),
        )
        .column(
            "Window",
            Unit::Seconds,
            Limits::None,
            promql!("max by (instance, netdev) (rocewatch_watchdog_detect_seconds{@port})"),
        )
        .column(
            "Found within",
            Unit::Seconds,
            Limits::None,
            promql!("max by (instance, netdev) (rocewatch_watchdog_detect_bound_seconds{@port})"),
        )
        .column_rare(
            "Maintenance left",
            Unit::Seconds,
            Limits::Unusual,
            "only a port in maintenance has it",
            promql!("max by (instance, netdev) (rocewatch_watchdog_port_maintenance_remaining_seconds{@port})"),
        )
        .size(12, 8),
        table("Nodes", "Mode, and what is left of the node's budget. Undos pending are journalled and not done yet.", &["instance", "mode"])
            .column(
                "Actions left",
                Unit::Count,
                Limits::AllRequired,
                promql!(
                    "sum by (instance, mode) ((rocewatch_watchdog_mode{@node} == 1) * on (job, instance) group_left () rocewatch_watchdog_node_budget_remaining{@node})"
                ),
            )
            .oddities("Undos pending", promql!(
                    "sum by (instance, mode) ((rocewatch_watchdog_mode{@node} == 1) * on (job, instance) group_left () rocewatch_watchdog_undos_pending{@node})"
                ),
            )
            .size(12, 8),
    ]
}
