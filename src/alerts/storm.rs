//! Storms and what the watchdog did about them.

use super::Severity::{Critical, Info, Warning};
use super::{File, Group, Rule, alert, growth, node, port, queue, record};

pub(super) const FILE: File = File {
    name: "storm",
    about: "Pause storms, and what the watchdog did about them",
    groups: &[
        Group { name: "rocewatch-storm", interval: None, rules: STORMS },
        Group { name: "rocewatch-watchdog", interval: None, rules: WATCHDOG },
        Group { name: "rocewatch-dry-run", interval: Some("hourly"), rules: HOURLY },
    ],
};

const STORMS: &[Rule] = &[
    record("rocewatch:nodes:count", "count by ($(cluster)) (rocewatch_ports)"),
    record(
        "rocewatch:nodes_in_storm:count",
        "count by ($(cluster)) (
  max without (device, port, netdev, priority, direction) (
    rocewatch_watchdog_storm == 1
    or increase(rocewatch_watchdog_storms_total[$(storm_window)]) > 0
  )
)",
    ),
    alert(
        "RocewatchStormFleetWide",
        Critical,
        "rocewatch:nodes_in_storm:count >= $(fleet_nodes)
and rocewatch:nodes_in_storm:count / rocewatch:nodes:count >= $(fleet_share)",
        "Fleet {{ $labels.$(cluster) }}: pause storms on {{ $value }} nodes",
        "{{ $value }} nodes of fleet {{ $labels.$(cluster) }} are or were in a pause storm within $(storm_window). Pause spreads from one sick host or switch through the fabric: look for the host that sends pause (RocewatchTxPauseStorm) or the switch the nodes share, not at each node.",
    ),
    alert(
        "RocewatchRxPauseStorm",
        Critical,
        "rocewatch_watchdog_storm{direction=\"rx\"} == 1
or increase(rocewatch_watchdog_storms_total{direction=\"rx\"}[$(storm_window)]) > 0",
        queue!("the fabric stopped this port (received pause storm)"),
        "{{ printf \"%.0f\" $value }} storm(s) within $(storm_window) on {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}), priority {{ $labels.priority }}: the peer's pause held the queue without a gap, with packets waiting. This node is the victim; the cause is in the fabric or at a receiver. For whoever owns the fabric.",
    ),
    alert(
        "RocewatchTxPauseStorm",
        Critical,
        "rocewatch_watchdog_storm{direction=\"tx\"} == 1
or increase(rocewatch_watchdog_storms_total{direction=\"tx\"}[$(storm_window)]) > 0",
        queue!("this host stopped the fabric (sent pause storm)"),
        "{{ printf \"%.0f\" $value }} storm(s) within $(storm_window) on {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}), priority {{ $labels.priority }}: the port sent pause without a gap. This host is the sick one and may stall others through the fabric. For whoever owns the host.",
    ),
    alert(
        "RocewatchStormNotMitigated",
        Critical,
        concat!(
            "rocewatch_watchdog_storm == 1\nand on ($(port)) ",
            growth!("rocewatch_watchdog_suppressed_total{reason!~\"mode|maintenance\"}", "veto_window"),
            "\nand on (job, instance) rocewatch_watchdog_mode{mode=\"enforce\"} == 1"
        ),
        queue!("storm ({{ $labels.direction }}) goes on, and the action against it is refused"),
        "The storm of priority {{ $labels.priority }} ({{ $labels.direction }}) on {{ $labels.instance }} {{ $labels.netdev }} is open (value {{ $value }}), the mode is enforce, and a plan was refused within $(veto_window). rocewatch_watchdog_suppressed_total says for which reason. Nothing will help by itself.",
    )
    .held("not_mitigated_for"),
];

const WATCHDOG: &[Rule] = &[
    alert(
        "RocewatchWatchdogActed",
        Warning,
        growth!("rocewatch_watchdog_actions_total{result=\"ok\"}", "acted_window"),
        port!("the watchdog did {{ $labels.action }}, and it helped"),
        "{{ printf \"%.0f\" $value }} action(s) {{ $labels.action }} within $(acted_window) on {{ $labels.instance }} {{ $labels.netdev }}, read back and effective. It is taken back after the hold. The storm before it still has a cause.",
    ),
    alert(
        "RocewatchResetLoop",
        Critical,
        concat!(
            "sum without (action, result) (\n",
            growth!("rocewatch_watchdog_actions_total{result!~\"dry_run|expired\"}", "loop_window"),
            "\n) >= $(loop_actions)"
        ),
        port!("{{ printf \"%.0f\" $value }} actions within $(loop_window): the storm comes back each time"),
        "The watchdog acted {{ printf \"%.0f\" $value }} times within $(loop_window) on {{ $labels.instance }} {{ $labels.netdev }}. The cause is still there, and each action costs the jobs something. Find the cause, or put the port in maintenance.",
    ),
    alert(
        "RocewatchActionFailed",
        Critical,
        growth!("rocewatch_watchdog_actions_total{result=\"failed\"}", "acted_window"),
        port!("action {{ $labels.action }} failed"),
        "{{ printf \"%.0f\" $value }} action(s) {{ $labels.action }} within $(acted_window) on {{ $labels.instance }} {{ $labels.netdev }} could not be set, or do not read back. The storm is not mitigated, and the port may not be as it was.",
    ),
    alert(
        "RocewatchActionIneffective",
        Warning,
        growth!("rocewatch_watchdog_actions_total{result=\"ineffective\"}", "acted_window"),
        port!("action {{ $labels.action }} changed nothing"),
        "{{ printf \"%.0f\" $value }} action(s) {{ $labels.action }} within $(acted_window) on {{ $labels.instance }} {{ $labels.netdev }} were set and read back, and the queue stays paused. The NIC does not do what its settings say, or something else holds it.",
    ),
    alert(
        "RocewatchUndoFailed",
        Critical,
        "rocewatch_watchdog_undo_failed == 1",
        queue!("what the watchdog changed could not be put back ({{ $labels.direction }})"),
        "rocewatch_watchdog_undo_failed is {{ $value }} on {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}), priority {{ $labels.priority }}, {{ $labels.direction }}: the port is still as the action left it, which for pfc-off means without PFC on this priority. It has to be set right by hand.",
    ),
    alert(
        "RocewatchLockedOut",
        Critical,
        "rocewatch_watchdog_locked == 1",
        queue!("locked ({{ $labels.direction }}): no action is taken any more"),
        "rocewatch_watchdog_locked is {{ $value }} on {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}), priority {{ $labels.priority }}, {{ $labels.direction }}: too many storms, an undo that another owner overtook, or a failure. Storms are still found; nothing is done about them until it is acknowledged or the lock ends.",
    )
    .held("locked_for"),
    alert(
        "RocewatchNotArmed",
        Warning,
        "(
  rocewatch_watchdog_armed{priority!=\"global\"} == 0
  unless on ($(queue)) rocewatch_pfc_enabled == 0
  or rocewatch_watchdog_armed{priority=\"global\", device!=\"\"} == 0
)
and on ($(port)) rocewatch_port_up == 1
unless on (job, instance) rocewatch_watchdog_mode{mode=\"off\"} == 1",
        queue!("watched ({{ $labels.direction }}), but cannot be judged"),
        "rocewatch_watchdog_armed is {{ $value }} on {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}), priority {{ $labels.priority }}, {{ $labels.direction }}, while the link is up: a storm there would not be found. The silence of this queue means nothing.",
    )
    .held("not_armed_for"),
    alert(
        "RocewatchNoLosslessPriority",
        Warning,
        "max without (device, port, netdev, priority) (rocewatch_pfc_enabled) == 0
unless on (job, instance) rocewatch_watchdog_mitigated == 1
unless on (job, instance) rocewatch_watchdog_undo_failed == 1
unless on (job, instance) rocewatch_watchdog_mode{mode=\"off\"} == 1",
        node!("PFC is on for no priority of any port"),
        "rocewatch_pfc_enabled is {{ $value }} for all priorities of all ports of {{ $labels.instance }}. Where this node should be lossless, its settings were forgotten or lost: it drops what others hold back for, and no queue on it is watched.",
    )
    .held("no_lossless_for"),
    alert(
        "RocewatchJournalNotWritable",
        Critical,
        "rocewatch_watchdog_journal_writable == 0
and on (job, instance) rocewatch_watchdog_mode{mode=\"enforce\"} == 1",
        node!("the journal cannot be written: the watchdog will not act"),
        "rocewatch_watchdog_journal_writable is {{ $value }} on {{ $labels.instance }}, whose mode is enforce: nothing that needs an undo is done. Look at the disk of the runtime folder.",
    )
    .held("journal_for"),
];

const HOURLY: &[Rule] = &[
    record(
        "rocewatch:storms:increase1h",
        "sum without (device, port, netdev, priority, direction) (increase(rocewatch_watchdog_storms_total[$(hourly)]))",
    ),
    alert(
        "RocewatchStuckInDryRun",
        Info,
        "sum_over_time(rocewatch:storms:increase1h[$(seen)]) > 0
and on (job, instance) rocewatch_watchdog_mode{mode=\"dry_run\"} == 1",
        node!("storms within $(seen), and the mode is still dry_run"),
        "About {{ printf \"%.0f\" $value }} storm(s) within $(seen) on {{ $labels.instance }}, and nothing was done about them, because the mode is dry_run. Look at what would have been done, then enforce it or go back to observe.",
    ),
];
