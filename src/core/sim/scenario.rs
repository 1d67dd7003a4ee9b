//! A scenario: the ports of a node, what their peers do to them, and what goes wrong. Plain data, so that it can be
//! written in a file; what a name stands for is in `builtin`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::faults::{GuardMood, PollFaults, Trouble};
use super::peer::Pattern;
use super::spans;
use crate::action::PauseConfig;
use crate::settings::Settings;
use crate::units::{Direction, MonoTime, PriorityMask, Queue};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// How long it lasts, before everything is left to calm down.
    #[serde(with = "spans")]
    pub lasts: Duration,
    /// When it begins, since boot.
    #[serde(with = "spans")]
    pub begins: Duration,
    /// The ports.
    pub ports: Vec<PortSpec>,
    /// What the peers do.
    pub pauses: Vec<PauseSpec>,
    /// What goes wrong.
    pub troubles: Vec<Trouble>,
    /// How well the counters are read.
    pub poll: PollFaults,
    /// What the fleet guard says, if one is configured.
    pub guard: GuardMood,
    /// Whether the journal can be written when the agent starts.
    pub journal_writable: bool,
    /// How it ends.
    pub ending: Ending,
    /// The operator's settings. A file gives them in the form of the configuration, which core does not read.
    #[serde(skip)]
    pub settings: Settings,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            name: "unnamed".into(),
            lasts: Duration::from_secs(30),
            begins: Duration::from_secs(1000),
            ports: vec![PortSpec::default()],
            pauses: Vec::new(),
            troubles: Vec::new(),
            poll: PollFaults::default(),
            guard: GuardMood::default(),
            journal_writable: true,
            ending: Ending::default(),
            settings: Settings::default(),
        }
    }
}

impl Scenario {
    /// Its first instant.
    #[must_use]
    pub fn start(&self) -> MonoTime {
        MonoTime::ZERO + self.begins
    }

    /// When everything is left to calm down.
    #[must_use]
    pub fn end(&self) -> MonoTime {
        self.start() + self.lasts
    }
}

/// How a scenario ends, once its peers and its troubles have stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The agent goes on until nothing is owed.
    #[default]
    Natural,
    /// The operator takes the mode back to observe.
    Observe,
    /// The agent is stopped.
    Stop,
}

/// A port of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PortSpec {
    /// The driver: what its table says is how the port behaves.
    pub driver: String,
    /// Mbit/s.
    pub speed_mbps: u64,
    /// Priorities with PFC on.
    pub pfc: PriorityMask,
    /// 802.3x pause.
    pub pause: PauseConfig,
    /// The NIC's own limit on the pause it sends, ms; none where it has no such thing.
    pub prevention_timeout_ms: Option<u16>,
    /// Traffic offered per priority.
    pub load: Vec<Load>,
    /// How often the counters are refreshed; the driver's habit if none is given.
    #[serde(with = "spans::optional", skip_serializing_if = "Option::is_none")]
    pub refresh: Option<Duration>,
    /// Whether the source tells how often it is refreshed.
    pub refresh_told: Told,
    /// The shortest time a link needs to come back after a flap.
    #[serde(with = "spans")]
    pub flap_min: Duration,
    /// The longest.
    #[serde(with = "spans")]
    pub flap_max: Duration,
    /// Width of the counters.
    pub counters: Counters,
    /// Which priorities share a hardware queue and show the packets of all of them.
    pub shared: PriorityMask,
    /// Which names the device shows.
    pub names: Names,
    /// The bond it is a slave of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bond: Option<String>,
    /// Whether it carries the default route.
    pub in_band: bool,
}

impl Default for PortSpec {
    fn default() -> Self {
        Self {
            driver: "mlx5_core".into(),
            speed_mbps: 100_000,
            pfc: PriorityMask(0b0000_1000),
            pause: PauseConfig { rx: false, tx: false },
            prevention_timeout_ms: Some(8000),
            load: vec![
                Load { priority: 3, rx: 800_000, tx: 700_000 },
                Load { priority: 0, rx: 900, tx: 700 },
            ],
            refresh: None,
            refresh_told: Told::No,
            flap_min: Duration::from_secs(2),
            flap_max: Duration::from_secs(5),
            counters: Counters::Wide,
            shared: PriorityMask(0),
            names: Names::All,
            bond: None,
            in_band: false,
        }
    }
}

impl PortSpec {
    /// A port of `driver`, with the means that it offers.
    #[must_use]
    pub fn of(driver: &str) -> Self {
        let prevention_timeout_ms = (driver == "mlx5_core").then_some(8000);
        Self { driver: driver.into(), prevention_timeout_ms, ..Self::default() }
    }
}

/// Traffic offered on one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The priority.
    pub priority: u8,
    /// Packets a second that the peer sends.
    pub rx: u64,
    /// Packets a second that this port sends.
    pub tx: u64,
}

/// Whether something is told to the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// At once.
    Yes,
    /// It has to find out.
    #[default]
    No,
}

/// How wide a port's counters are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counters {
    /// As the driver's table says.
    #[default]
    Wide,
    /// 32 bits, wrapping, and near their end.
    Narrow,
}

/// Which names a device shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// All that its driver has, and some that nobody has tabled.
    #[default]
    All,
    /// Those that can change a decision: for long runs.
    Watched,
}

/// What a peer does to one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseSpec {
    /// The port's place in the list of ports.
    #[serde(default)]
    pub port: usize,
    /// The queue.
    pub queue: Queue,
    /// Whose pause it is.
    #[serde(default = "rx")]
    pub direction: Direction,
    /// How it pauses.
    pub pattern: Pattern,
    /// When it begins, from the scenario's beginning.
    #[serde(with = "spans")]
    pub start: Duration,
    /// How long it lasts.
    #[serde(with = "spans")]
    pub length: Duration,
    /// From one beginning to the next, if it is repeated.
    #[serde(default, with = "spans::optional", skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
}

const fn rx() -> Direction {
    Direction::Rx
}

impl PauseSpec {
    /// A pause of `queue` that its peer makes.
    #[must_use]
    pub const fn rx(queue: Queue, pattern: Pattern, start: Duration, length: Duration) -> Self {
        Self { port: 0, queue, direction: Direction::Rx, pattern, start, length, every: None }
    }

    /// A pause that this port makes.
    #[must_use]
    pub const fn tx(queue: Queue, pattern: Pattern, start: Duration, length: Duration) -> Self {
        Self { direction: Direction::Tx, ..Self::rx(queue, pattern, start, length) }
    }

    /// The same on another port.
    #[must_use]
    pub const fn on(self, port: usize) -> Self {
        Self { port, ..self }
    }

    /// The same again and again.
    #[must_use]
    pub const fn every(self, span: Duration) -> Self {
        Self { every: Some(span), ..self }
    }
}
