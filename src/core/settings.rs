//! What the operator decides: thresholds, limits and the ladder of actions, already checked.
//! The agent reads them from its file and flags; the engine takes them as an input, so that a recording holds them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::{ActionKind, Disruption};
use crate::ids::PortIdentity;
use crate::units::{Direction, Permille};

/// What the watchdog may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Neither detect nor act.
    Off,
    /// Detect, count, alert.
    #[default]
    Observe,
    /// Also plan, and tell what would be done.
    DryRun,
    /// Act.
    Enforce,
}

impl Mode {
    /// All four, from the least to the most.
    pub const ALL: [Self; 4] = [Self::Off, Self::Observe, Self::DryRun, Self::Enforce];

    /// As config, metrics and logs write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Observe => "observe",
            Self::DryRun => "dry_run",
            Self::Enforce => "enforce",
        }
    }
}

/// How often counters are read. All spans are of one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    /// Between readings of a quiet port.
    pub calm: Duration,
    /// Between readings of a port that shows pause.
    pub fast: Duration,
    /// The pause share of one reading that switches a port to `fast`.
    pub fast_enter: Permille,
    /// How long a port has to stay below `fast_enter` to be calm again.
    pub quiet: Duration,
    /// The largest share of time that all reads of the node together may hold the kernel's rtnl lock.
    pub rtnl_share_max: Permille,
}

impl Default for Poll {
    fn default() -> Self {
        Self {
            calm: Duration::from_millis(250),
            fast: Duration::from_millis(50),
            fast_enter: permille(50),
            quiet: Duration::from_secs(2),
            rtnl_share_max: permille(50),
        }
    }
}

/// How one direction of pause is judged and answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The length of the window over which an unbroken pause is a storm.
    pub detect: Duration,
    /// The share of `detect` that has to be paused.
    pub share: Permille,
    /// The share of twice `detect` from which a broken pause counts as choppy.
    pub choppy: Permille,
    /// Whether a choppy storm is answered like an unbroken one.
    pub choppy_acts: bool,
    /// How long without a blocked reading ends a storm.
    pub restore: Duration,
    /// How long a mitigation lasts at least; doubled at each relapse.
    pub hold: Duration,
    /// The same for actions that disrupt the link or more.
    pub hold_link: Duration,
    /// How long a mitigation lasts at most.
    pub hold_max: Duration,
    /// How long before a pause a packet on the priority shows that somebody wants to send.
    pub demand_window: Duration,
    /// How long a pause without known demand lasts until it is alerted as a storm.
    pub idle_escalate: Duration,
    /// Between two questions for an action, and between two actions on one port.
    pub hold_off: Duration,
    /// This many mitigated storms of one queue within `lock_window` lock it; 0 never does.
    pub lock_storms: u32,
    /// See `lock_storms`.
    pub lock_window: Duration,
    /// How long a lock lasts unless it is acknowledged.
    pub lock_for: Duration,
    /// Actions per port and hour.
    pub budget_port: u32,
    /// The ladder: the first is taken, the next after it proved ineffective, failed or unsupported.
    pub actions: Vec<ActionKind>,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            detect: Duration::from_millis(200),
            share: permille(950),
            choppy: permille(800),
            choppy_acts: false,
            restore: Duration::from_secs(1),
            hold: Duration::from_secs(10),
            hold_link: Duration::from_secs(300),
            hold_max: Duration::from_secs(3600),
            demand_window: Duration::from_secs(10),
            idle_escalate: Duration::from_secs(2),
            hold_off: Duration::from_secs(60),
            lock_storms: 3,
            lock_window: Duration::from_secs(30 * 60),
            lock_for: Duration::from_secs(4 * 3600),
            budget_port: 3,
            actions: vec![ActionKind::Alert],
        }
    }
}

impl Rule {
    fn spans(&mut self) -> [&mut Duration; 10] {
        [
            &mut self.detect,
            &mut self.restore,
            &mut self.hold,
            &mut self.hold_link,
            &mut self.hold_max,
            &mut self.demand_window,
            &mut self.idle_escalate,
            &mut self.hold_off,
            &mut self.lock_window,
            &mut self.lock_for,
        ]
    }
}

/// The fleet guard: a PromQL query that says how many other nodes are in a storm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// The base address of the Prometheus asked.
    pub url: String,
    /// The query; its first sample is the answer.
    pub query: String,
    /// An answer above this vetoes.
    pub limit: u64,
    /// How long a storm is watched before the plan is made, give or take half of it.
    pub delay: Duration,
}

impl Guard {
    /// A Prometheus looks at a node every 15 to 60 s: an answer younger than that would rest on the same samples.
    const ANSWER_AGE: Duration = Duration::from_secs(60);

    /// How old an answer may be that still counts. It is asked for when the wait for it begins, and the longest wait is
    /// one and a half times [`Guard::delay`].
    #[must_use]
    pub fn answer_age_max(&self) -> Duration {
        self.delay.saturating_mul(2).max(Self::ANSWER_AGE)
    }
}

/// What goes with `exec`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecSettings {
    /// The program and its arguments; no shell.
    pub command: Vec<String>,
    /// It is ended after this.
    pub timeout: Duration,
    /// What the operator says it disrupts.
    pub disruption: Disruption,
}

/// A deviation for some ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortOverride {
    /// Netdev, RDMA device, PCI address or driver: whichever equals this text.
    pub select: String,
    /// The rule for received pause, already merged with the node's.
    pub rx: Rule,
    /// The rule for sent pause, already merged with the node's.
    pub tx: Rule,
    /// `detect` was set here, on this port: it is kept even where the source is too slow for it.
    pub detect_explicit: bool,
}

/// Everything the engine is told by the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Pace of reading.
    pub poll: Poll,
    /// What the watchdog may do.
    pub mode: Mode,
    /// Plans that disrupt more are vetoed.
    pub disruption_max: Disruption,
    /// Actions per node and hour.
    pub budget_node: u32,
    /// How many ports may be mitigated at once.
    pub ports_mitigated_max: u32,
    /// Received pause.
    pub rx: Rule,
    /// Sent pause.
    pub tx: Rule,
    /// The fleet guard, if one is configured.
    pub guard: Option<Guard>,
    /// The command of `exec`, if one is configured.
    pub exec: Option<ExecSettings>,
    /// The value that `prevention-timeout` sets, in milliseconds.
    pub prevention_timeout_ms: u16,
    /// Deviations; the first that matches a port counts.
    pub ports: Vec<PortOverride>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            poll: Poll::default(),
            mode: Mode::Observe,
            disruption_max: Disruption::Priority,
            budget_node: 6,
            ports_mitigated_max: 2,
            rx: Rule::default(),
            tx: Rule::default(),
            guard: None,
            exec: None,
            // What mlx5 calls automatic (en_ethtool.c): half of the switches' shortest detection time.
            prevention_timeout_ms: 100,
            ports: Vec::new(),
        }
    }
}

/// Longer than any span that a configuration may hold, and short enough to be added and multiplied without care.
pub const SPAN_MAX: Duration = Duration::from_secs(366 * 86_400);

impl Settings {
    /// The same with no span above [`SPAN_MAX`]: a file that says it is a recording may hold any.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let poll = &mut self.poll;
        let rules = self.ports.iter_mut().flat_map(|port| [&mut port.rx, &mut port.tx]);
        let spans = [&mut self.rx, &mut self.tx].into_iter().chain(rules).flat_map(Rule::spans);
        let spans = spans.chain([&mut poll.calm, &mut poll.fast, &mut poll.quiet]);
        for span in spans.chain(self.guard.as_mut().map(|guard| &mut guard.delay)) {
            *span = (*span).min(SPAN_MAX);
        }
        self
    }

    /// The rule for one direction of one port, and whether its `detect` was set for this port by name.
    #[must_use]
    pub fn rule(&self, identity: &PortIdentity, direction: Direction) -> (&Rule, DetectSource) {
        match self.ports.iter().find(|port| port.matches(identity)) {
            Some(port) => (port.rule(direction), port.detect_source()),
            None => match direction {
                Direction::Rx => (&self.rx, DetectSource::Node),
                Direction::Tx => (&self.tx, DetectSource::Node),
            },
        }
    }
}

/// Where a port's `detect` comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DetectSource {
    /// The node's setting: raised where a source is too slow for it.
    Node,
    /// An explicit setting for the port: never raised; a source too slow for it is not armed.
    Port,
}

impl PortOverride {
    fn matches(&self, identity: &PortIdentity) -> bool {
        [&identity.netdev, &identity.device, &identity.pci_address, &identity.driver]
            .into_iter()
            .any(|name| *name == self.select)
    }

    fn rule(&self, direction: Direction) -> &Rule {
        match direction {
            Direction::Rx => &self.rx,
            Direction::Tx => &self.tx,
        }
    }

    fn detect_source(&self) -> DetectSource {
        if self.detect_explicit { DetectSource::Port } else { DetectSource::Node }
    }
}

const fn permille(thousandths: u16) -> Permille {
    match Permille::new(thousandths) {
        Some(ratio) => ratio,
        None => Permille::ONE,
    }
}
