//! How a driver behaves beyond its names: how fresh and how honest its counters are, and what its levers disturb.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::{ActionKind, Disruption};

/// What is known about a driver's counters and levers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// How fresh a reading is.
    pub refresh: Refresh,
    /// What its pause time means.
    pub pause_time: PauseTime,
    /// When a running pause shows in it.
    pub pause_counted: PauseCounted,
    /// Whose packets its counters of a priority count.
    pub priority_packets: PacketScope,
    /// What one pause moves.
    pub pause_scope: PauseScope,
    /// Whether releases hide among its pause frames.
    pub xon_frames: XonFrames,
    /// What its recovery levers disturb.
    pub levers: Levers,
}

impl Caps {
    /// What nobody has looked into. Nothing honest is taken for granted: a table says of its driver what it knows, and
    /// leaves the rest at this.
    pub const UNTABLED: Self = Self {
        refresh: Refresh::Unknown,
        pause_time: PauseTime::None,
        pause_counted: PauseCounted::Unknown,
        priority_packets: PacketScope::None,
        pause_scope: PauseScope::Priority,
        xon_frames: XonFrames::PerhapsAmong,
        levers: Levers::UNTABLED,
    };

    /// Those of an RDMA device whose network interface is another driver's: it has counters and nothing else.
    pub const RDMA_ONLY: Self = Self { refresh: Refresh::Live, levers: Levers::NONE, ..Self::UNTABLED };
}

/// How fresh the values of a reading are. A refresh measured while running, or one the operator set on the NIC,
/// overrides this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refresh {
    /// Read from the hardware during the call.
    Live,
    /// Copied by the firmware or the driver once in so long.
    Every(Duration),
    /// Not settled; taken as live until a slower refresh is measured.
    Unknown,
}

impl Refresh {
    /// How old a value may be; zero for one that is read live, or taken as such.
    #[must_use]
    pub const fn period(self) -> Duration {
        match self {
            Self::Live | Self::Unknown => Duration::ZERO,
            Self::Every(period) => period,
        }
    }
}

/// What a driver's pause time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseTime {
    /// The time in which nothing was sent.
    Measured,
    /// The time that was asked for, an upper bound of the real one.
    Requested,
    /// Nobody has settled which of the two; taken as an upper bound.
    Unsettled,
    /// It has none, or none whose unit is known.
    None,
}

impl PauseTime {
    /// Whether it bounds the real time from above only.
    #[must_use]
    pub const fn is_upper_bound(self) -> bool {
        match self {
            Self::Requested | Self::Unsettled => true,
            Self::Measured | Self::None => false,
        }
    }
}

/// When a pause that is still going on shows in the pause time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseCounted {
    /// While it lasts.
    During,
    /// All at once when it ends.
    AtEnd,
    /// Not settled; `probe` measures it.
    Unknown,
}

/// Whose packets the counters of a priority count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PacketScope {
    /// Those of the priority alone.
    Alone,
    /// Those of its hardware queue, which other priorities may share.
    SharedQueue,
    /// There are none.
    None,
}

/// What one received or sent pause moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseScope {
    /// The counter of its priority.
    Priority,
    /// The counters of all priorities of its traffic class, in unison.
    TrafficClass,
}

/// Where frames that release a paused queue are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum XonFrames {
    /// By counters of their own.
    Apart,
    /// Perhaps among the pause frames: nobody has settled it, so frames alone prove no pause.
    PerhapsAmong,
}

/// What each lever disturbs; `None` where the driver has no such lever, as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Levers {
    /// The NIC's own limit on the pause it sends.
    pub prevention_timeout: Option<Disruption>,
    /// One bit of the PFC mask.
    pub pfc_off: Option<PfcOff>,
    /// 802.3x pause.
    pub pause_off: Option<Disruption>,
    /// Recovery of a devlink health reporter.
    pub devlink_recover: Option<Disruption>,
    /// Link down and up.
    pub link_bounce: Option<Disruption>,
}

/// What taking a priority out of the PFC mask does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcOff {
    /// How far it reaches.
    pub disruption: Disruption,
    /// What the link does, once on the way out and once on the way back.
    pub link: LinkEffect,
    /// What the priority's pause counters do.
    pub pause_names: NamesEffect,
}

impl PfcOff {
    /// What nobody has looked into.
    pub const UNTABLED: Self =
        Self { disruption: Disruption::Device, link: LinkEffect::Flaps, pause_names: NamesEffect::Vanish };
}

/// What a change does to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkEffect {
    /// Carrier stays.
    Stays,
    /// Carrier is lost and comes back.
    Flaps,
}

/// What a change does to the names of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamesEffect {
    /// They stay.
    Stay,
    /// They are gone as long as it holds.
    Vanish,
}

impl Levers {
    /// What nobody has tabled: every lever may exist and may disturb the whole device.
    pub const UNTABLED: Self = Self {
        prevention_timeout: Some(Disruption::Device),
        pfc_off: Some(PfcOff::UNTABLED),
        pause_off: Some(Disruption::Device),
        devlink_recover: Some(Disruption::Device),
        link_bounce: Some(Disruption::Device),
    };

    /// A device without a netdev of its own, on which nothing of all this can be set.
    pub const NONE: Self = Self {
        prevention_timeout: None,
        pfc_off: None,
        pause_off: None,
        devlink_recover: None,
        link_bounce: None,
    };

    /// A port whose PFC mask cannot be set: what is left is 802.3x pause and the link, and nobody has looked into what
    /// the first disturbs.
    pub const PAUSE_AND_LINK: Self =
        Self { pause_off: Some(Disruption::Device), link_bounce: Some(Disruption::Device), ..Self::NONE };

    /// How far `kind` reaches on this driver; `None` if it has no such lever. What `exec` disturbs is declared in the
    /// configuration; without that it counts as the whole device.
    #[must_use]
    pub const fn disruption(&self, kind: ActionKind) -> Option<Disruption> {
        match kind {
            ActionKind::Alert => Some(Disruption::None),
            ActionKind::Exec => Some(Disruption::Device),
            ActionKind::PreventionTimeout => self.prevention_timeout,
            ActionKind::PfcOff => match self.pfc_off {
                Some(effect) => Some(effect.disruption),
                None => None,
            },
            ActionKind::PauseOff => self.pause_off,
            ActionKind::DevlinkRecover => self.devlink_recover,
            ActionKind::LinkBounce => self.link_bounce,
        }
    }
}
