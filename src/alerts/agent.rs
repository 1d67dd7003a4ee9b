//! The agent itself: whether its silence can be trusted.

use super::Severity::{Critical, Info, Warning};
use super::{File, Group, Rule, alert, node, port, record};

pub(super) const FILE: File = File {
    name: "agent",
    about: "The agents themselves: whether their silence can be trusted",
    groups: &[
        Group { name: "rocewatch-agent-remembered", interval: Some("hourly"), rules: REMEMBERED },
        Group { name: "rocewatch-agent", interval: None, rules: AGENT },
    ],
};

const REMEMBERED: &[Rule] = &[record(
    "rocewatch:enforcing:last1h",
    "last_over_time(rocewatch_watchdog_mode{mode=\"enforce\"}[$(hourly)])",
)];

const AGENT: &[Rule] = &[
    alert(
        "RocewatchAgentDown",
        Warning,
        "up{job=\"$(job)\"} == 0",
        node!("the agent does not answer"),
        "Prometheus has not reached the agent on {{ $labels.instance }} for $(agent_down_for) (up is {{ $value }}). Nothing is known of its ports: no alert of them means anything.",
    )
    .held("agent_down_for"),
    alert(
        "RocewatchEnforcingAgentDown",
        Critical,
        "up{job=\"$(job)\"} == 0
and on (job, instance) (
  last_over_time(rocewatch_watchdog_mode{mode=\"enforce\"}[$(hourly)])
  or last_over_time(rocewatch:enforcing:last1h[$(seen)])
) == 1",
        node!("an agent that acts does not answer"),
        "Prometheus has not reached the agent on {{ $labels.instance }} for $(agent_down_for) (up is {{ $value }}), and its mode was enforce. What it had changed may not have been put back: see the runbook for how to tell.",
    )
    .held("agent_down_for"),
    alert(
        "RocewatchAgentsMissing",
        Critical,
        "1 - (
  count by ($(cluster)) (up{job=\"$(job)\"})
  or 0 * count by ($(cluster)) (up{job=\"$(job)\"} offset $(missing_window))
) / count by ($(cluster)) (up{job=\"$(job)\"} offset $(missing_window)) > $(missing_share)",
        "Fleet {{ $labels.$(cluster) }}: {{ $value | humanizePercentage }} of the agents are no longer scraped",
        "{{ $value | humanizePercentage }} of the agents of fleet {{ $labels.$(cluster) }} that were scraped $(missing_window) ago are no targets any more. They are not down, they are unknown: service discovery, or a label.",
    )
    .held("missing_for"),
    alert(
        "RocewatchPollerStale",
        Critical,
        "rocewatch_watchdog_read_age_seconds
> clamp_min($(stale_intervals) * rocewatch_watchdog_poll_interval_seconds, $(stale_age.seconds))",
        port!("not read for {{ $value | humanizeDuration }}"),
        "The last reading of {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) is {{ $value | humanizeDuration }} old, over $(stale_intervals) intervals and over $(stale_age). A storm there is not found. The read hangs in the kernel or in the firmware, or the agent gets no processor time.",
    )
    .held("stale_for"),
    alert(
        "RocewatchPollerLate",
        Warning,
        "histogram_quantile(0.99, rate(rocewatch_watchdog_poll_lateness_seconds_bucket[$(long)]))
> rocewatch_watchdog_poll_interval_seconds
or rate(rocewatch_watchdog_polls_missed_total[$(long)])
/ rate(rocewatch_watchdog_poll_lateness_seconds_count[$(long)]) > $(missed_polls)",
        port!("readings come late or fail ({{ $value | humanize }})"),
        "On {{ $labels.instance }} {{ $labels.netdev }} one reading in a hundred is more than an interval late, or more than $(missed_polls) of them fail; the value is seconds or a share: {{ $value | humanize }}. Storms are found later than promised.",
    )
    .held("late_for"),
    alert(
        "RocewatchCollectorFailing",
        Warning,
        "rocewatch_collector_success == 0",
        node!("source {{ $labels.collector }} fails"),
        "The source {{ $labels.collector }} on {{ $labels.instance }} cannot be read on some port (success is {{ $value }}). What comes from it is missing, not zero. rocewatch_read_errors_total has the kernel's error.",
    )
    .held("collector_for"),
    alert(
        "RocewatchCounterLost",
        Warning,
        "rocewatch_source_supported == 0
and rocewatch_source_supported offset $(lost_ago) == 1",
        port!("{{ $labels.family }} is gone"),
        "{{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) gave {{ $labels.family }} $(lost_ago) ago and does not any more (supported is {{ $value }}). Alerts that rest on it are silent. A driver or firmware was changed.",
    )
    .held("lost_for"),
    alert(
        "RocewatchCounterSaturated",
        Info,
        "rocewatch_saturated == 1",
        port!("counter {{ $labels.name }} sticks at its largest value"),
        "Native counter {{ $labels.name }} of {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) sticks at its largest value (saturated is {{ $value }}): it does not grow any more, so that its rate is unknown, not zero.",
    ),
    alert(
        "RocewatchConfigReloadFailed",
        Warning,
        "rocewatch_config_last_reload_successful == 0",
        node!("the last configuration was refused"),
        "The agent on {{ $labels.instance }} refused its configuration at the last reload (successful is {{ $value }}) and goes on with the one before. It would not start with the new one.",
    )
    .held("reload_for"),
];
