//! The one table of keys: section, name, type, range, meaning. The file, the flags, `config show`, the example file
//! and the reference page all come from it; defaults are those of the types it points into.

use std::path::PathBuf;
use std::time::Duration;

use rocewatch_core::action::{ActionKind, Disruption};
use rocewatch_core::settings::Mode;
use rocewatch_core::units::Permille;

use super::keys::{Access, Key, Lens, Section};
use super::listen::ListenAddress;
use super::setting::{Setting, TextRule};
use super::{LogFormat, LogLevel};

macro_rules! key {
    ($lens:ident, $name:literal, $($field:ident).+: $type:ty, $limit:expr, $doc:literal) => {
        Key {
            name: $name,
            doc: $doc,
            expected: || <$type as Setting>::expected(&$limit),
            placeholder: || <$type as Setting>::placeholder(&$limit),
            arity: <$type as Setting>::ARITY,
            lens: Lens::$lens(Access {
                read: |owner, entry| {
                    owner.$($field).+ = <$type as Setting>::read(entry, &$limit)?;
                    Ok(())
                },
                show: |owner| owner.$($field).+.show(),
            }),
        }
    };
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * 3600)
}

/// All sections in the order of the documents.
pub(super) const SECTIONS: &[Section] = &[
    Section { name: "poll", doc: "How often the counters of a port are read.", groups: &[POLL] },
    Section {
        name: "watchdog",
        doc: "What a storm is, and what may be done about it. The keys from `detect` on may also stand in \
              [watchdog.rx], [watchdog.tx] and [[ports]], where they go before those here.",
        groups: &[WATCHDOG, RULE],
    },
    Section {
        name: "watchdog.rx",
        doc: "Received pause: the peer told this port to stop, so the port's own transmit queue is the victim. \
              Takes the keys of [watchdog] from `detect` on, and the ladder of actions.",
        groups: &[LADDER, RULE],
    },
    Section {
        name: "watchdog.tx",
        doc: "Sent pause: this port told its peer to stop, so this host is the slow or sick one. Takes the keys of \
              [watchdog] from `detect` on, and the ladder of actions.",
        groups: &[LADDER, RULE],
    },
    Section {
        name: "ports",
        doc: "Deviations for some ports; may stand several times, and the first whose `select` matches a port counts. \
              Takes the keys of [watchdog] from `detect` on.",
        groups: &[SELECT, RULE],
    },
    Section {
        name: "ports.rx",
        doc: "Deviations for the received pause of these ports: the keys of [watchdog.rx].",
        groups: &[LADDER, RULE],
    },
    Section {
        name: "ports.tx",
        doc: "Deviations for the sent pause of these ports: the keys of [watchdog.tx].",
        groups: &[LADDER, RULE],
    },
    Section {
        name: "actions.exec",
        doc: "The command of the action `exec`. It gets the evidence as JSON on its standard input.",
        groups: &[EXEC],
    },
    Section {
        name: "actions.prevention-timeout",
        doc: "What the action `prevention-timeout` sets while a storm of sent pause lasts.",
        groups: &[PREVENTION_TIMEOUT],
    },
    Section {
        name: "devices",
        doc: "Which network devices are watched. Applied before anything is read from a device.",
        groups: &[DEVICES],
    },
    Section { name: "web", doc: "Metrics, state and events over HTTP; read-only.", groups: &[WEB] },
    Section { name: "metrics", doc: "What the metrics page holds beside the catalogue.", groups: &[METRICS] },
    Section { name: "log", doc: "Log lines, on standard error.", groups: &[LOG] },
    Section {
        name: "incidents",
        doc: "The file that every storm leaves: the readings around it, the decisions, the actions.",
        groups: &[INCIDENTS],
    },
    Section { name: "runtime", doc: "What a restart of the agent has to find again.", groups: &[RUNTIME] },
    Section { name: "source", doc: "Where the counters come from.", groups: &[SOURCE] },
    Section { name: "path", doc: "Where the kernel's file systems are mounted.", groups: &[PATH] },
];

const POLL: &[Key] = &[
    key!(Draft, "calm", settings.poll.calm: Duration, ms(10)..=secs(10), "Between two readings of a quiet port."),
    key!(
        Draft, "fast", settings.poll.fast: Duration, ms(5)..=secs(10),
        "Between two readings of a port that shows pause."
    ),
    key!(
        Draft, "fast_enter", settings.poll.fast_enter: Permille, 0..=1000,
        "The share of pause in one reading from which a port is read at `fast`; at 0 always."
    ),
    key!(
        Draft, "quiet", settings.poll.quiet: Duration, ms(1)..=hours(1),
        "How long a port has to stay below `fast_enter` until it is read at `calm` again."
    ),
    key!(
        Draft, "rtnl_share_max", settings.poll.rtnl_share_max: Permille, 1..=1000,
        "The largest share of time for which all reads of the node together hold the kernel's network lock (rtnl). \
         Intervals stretch to keep it."
    ),
];

const WATCHDOG: &[Key] = &[
    key!(
        Draft, "mode", settings.mode: Mode, (),
        "off: neither detect nor act. observe: detect, count, alert. dry_run: also tell what would be done. \
         enforce: act, which needs CAP_NET_ADMIN for every action but `alert` and `exec`; without it the agent does not \
         start."
    ),
    key!(
        Draft, "disruption_max", settings.disruption_max: Disruption, (),
        "An action that disturbs more than this is never taken: nothing, the traffic of one priority, the link of \
         one port, or a whole device."
    ),
    key!(Draft, "budget_node", settings.budget_node: u32, 0..=10_000, "Actions per hour on all ports together."),
    key!(
        Draft, "ports_mitigated_max", settings.ports_mitigated_max: u32, 0..=1024,
        "How many ports may have an action in force at once."
    ),
    key!(
        Draft, "guard_url", guard.url: String, TextRule::HttpUrl,
        "The fleet guard: base address of the Prometheus that is asked before an action that disturbs a link or \
         more. Without a guard such actions are never taken."
    ),
    key!(
        Draft, "guard_query", guard.query: String, TextRule::Any,
        "The PromQL query that is asked; its first sample is the answer, such as the number of nodes in a storm, this one \
         among them. No sample is no answer, and forbids the action: `sum` has one for as long as anything is scraped, \
         `count` of nothing has none."
    ),
    key!(Draft, "guard_limit", guard.limit: u64, 0..=1_000_000, "An answer above this forbids the action."),
    key!(
        Draft, "guard_delay", guard.delay: Duration, secs(0)..=hours(1),
        "How long a storm is watched before such an action is planned, give or take half of it by chance, so that \
         the nodes of a fleet do not act at once. \
         An answer counts for twice as long, and for a minute at least."
    ),
];

const RULE: &[Key] = &[
    key!(
        Rule, "detect", detect: Duration, ms(10)..=secs(30),
        "The window over which an unbroken pause is a storm. At least two fast intervals. A port whose counters \
         refresh more slowly gets a longer one, unless it was set for that port."
    ),
    key!(Rule, "share", share: Permille, 1..=1000, "The share of `detect` that has to be paused."),
    key!(
        Rule, "choppy", choppy: Permille, 1..=1000,
        "The share of twice `detect` from which a pause with gaps is reported as choppy."
    ),
    key!(Rule, "choppy_acts", choppy_acts: bool, (), "Whether a choppy pause is acted on like an unbroken one."),
    key!(Rule, "restore", restore: Duration, ms(1)..=hours(1), "How long without a blocked reading ends a storm."),
    key!(
        Rule, "hold", hold: Duration, ms(1)..=hours(24),
        "How long an action stays in force at least, give or take a fifth by chance; doubled after each relapse."
    ),
    key!(Rule, "hold_link", hold_link: Duration, ms(1)..=hours(24), "The same for actions that disturb a link or more."),
    key!(Rule, "hold_max", hold_max: Duration, ms(1)..=hours(168), "How long an action stays in force at most."),
    key!(
        Rule, "demand_window", demand_window: Duration, ms(1)..=hours(1),
        "How long before a received pause a packet of the priority shows that somebody wants to send."
    ),
    key!(
        Rule, "idle_escalate", idle_escalate: Duration, secs(0)..=hours(1),
        "How long a received pause without known demand lasts until it is alerted as a storm; never acted on."
    ),
    key!(
        Rule, "hold_off", hold_off: Duration, ms(100)..=hours(24),
        "Between two actions on one port, and between two questions whether to act on one storm."
    ),
    key!(
        Rule, "lock_storms", lock_storms: u32, 0..=1000,
        "After this many storms acted on within `lock_window` a queue is locked: watched and alerted, not acted on. \
         0 never locks."
    ),
    key!(Rule, "lock_window", lock_window: Duration, secs(1)..=hours(168), "See `lock_storms`."),
    key!(
        Rule, "lock_for", lock_for: Duration, secs(1)..=hours(720),
        "How long a lock lasts unless it is acknowledged before."
    ),
    key!(Rule, "budget_port", budget_port: u32, 0..=1000, "Actions per port and hour."),
];

pub(super) const LADDER: &[Key] = &[key!(
    Rule, "actions", actions: Vec<ActionKind>, (),
    "The ladder: `alert` always happens; of the others the first is taken, and the next one after it has proved \
     ineffective, failed or unsupported."
)];

const SELECT: &[Key] = &[key!(
    Draft, "select", select: String, TextRule::NotEmpty,
    "Network device, RDMA device, PCI address or driver: the ports for which one of them is this text."
)];

const EXEC: &[Key] = &[
    key!(
        Draft, "command", exec.command: Vec<String>, TextRule::Any,
        "The program and its arguments, one item each; no shell."
    ),
    key!(Draft, "timeout", exec.timeout: Duration, ms(100)..=hours(1), "The command is ended after this."),
    key!(
        Draft, "spool", spool.spool: Option<PathBuf>, (),
        "A folder in which the evidence is left for `rocewatch exec-worker`, which runs its own command outside of the \
         agent's sandbox. Only its owner may write to it. Empty: the agent runs the command itself."
    ),
    key!(
        Draft, "disruption", exec.disruption: Disruption, (),
        "What the command disturbs; compared with watchdog.disruption_max."
    ),
];

const PREVENTION_TIMEOUT: &[Key] = &[key!(
    // 0 and 65535 are the kernel's "off" and "automatic" (PFC_STORM_PREVENTION_*, linux/ethtool.h).
    Draft, "milliseconds", settings.prevention_timeout_ms: u16, 1..=65_534,
    "How long the NIC may send pause without a break before it stops by itself, in milliseconds. mlx5 takes 100 to 8000."
)];

const DEVICES: &[Key] = &[
    key!(
        Draft, "include", devices.include: String, TextRule::Pattern,
        "Only ports whose netdev or RDMA device has a name that this regular expression matches as a whole; they need \
         not be physical ports then. \
         Empty: all physical ports."
    ),
    key!(
        Draft, "exclude", devices.exclude: String, TextRule::Pattern,
        "No port whose netdev or RDMA device has a name that this regular expression matches as a whole, even if it \
         is included."
    ),
];

const WEB: &[Key] = &[
    key!(
        Draft, "listen_address", web.listen_addresses: Vec<ListenAddress>, (),
        "The addresses to listen on, such as \":10019\" for all of the node's, \"127.0.0.1:10019\", \
         \"[::1]:10019\" or \"host:10019\". An empty list serves nothing."
    ),
    key!(
        Draft, "max_requests", web.max_requests: u32, 1..=10_000,
        "Requests answered at the same time; those above get status 503."
    ),
    key!(Draft, "max_connections", web.max_connections: u32, 1..=65_536, "Connections open at the same time."),
    key!(
        Draft, "header_timeout", web.header_timeout: Duration, ms(100)..=hours(1),
        "A connection that has not sent its request header after this is closed."
    ),
];

const METRICS: &[Key] = &[key!(
    Draft, "raw_include", raw: String, TextRule::Pattern,
    "Native counters without a metric of their own whose whole name, as `ethtool -S` or `rdma statistic` prints it, \
     matches this regular expression are shown as rocewatch_raw_total. Empty: none."
)];

const LOG: &[Key] = &[
    key!(
        Draft, "level", log.level: LogLevel, (),
        "error: the agent cannot do its job. warn: an operator should look. info: transitions, start and stop. \
         debug and trace add lines of the libraries, and one of the agent about privileges that it does not need."
    ),
    key!(Draft, "format", log.format: LogFormat, (), "human: lines to read. json: one object per line."),
];

const INCIDENTS: &[Key] = &[
    key!(Draft, "path", incidents.path: PathBuf, (), "The folder they are written to."),
    key!(
        Draft, "max_files", incidents.max_files: u32, 1..=100_000,
        "How many are kept; the oldest are removed first. One that holds several storms has a name for each and counts \
         once."
    ),
    key!(Draft, "max_bytes", incidents.max_bytes: u64, 65_536..=1 << 40, "The largest size of one file, in bytes."),
];

const RUNTIME: &[Key] = &[key!(
    Draft, "path", runtime.path: PathBuf, (),
    "The folder of the journal of undos. Must not lie on a network file system: that can hang in the very storm."
)];

const SOURCE: &[Key] = &[key!(
    Draft, "directory", source.directory: Option<PathBuf>, (),
    "Read the devices from the files under this folder instead of the kernel. Empty: from the kernel."
)];

const PATH: &[Key] = &[
    key!(Draft, "sysfs", path.sysfs: PathBuf, (), "Mount point of sysfs."),
    key!(Draft, "procfs", path.procfs: PathBuf, (), "Mount point of procfs."),
];
