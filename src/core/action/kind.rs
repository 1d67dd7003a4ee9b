//! The recovery actions by name, and how much each may disturb. What an action does is planned elsewhere.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A recovery action as the configuration, the metrics and the events call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionKind {
    /// Nothing but the event.
    Alert,
    /// Runs the operator's command with the evidence.
    Exec,
    /// Sets the NIC's own limit on the pause it sends (tx only).
    PreventionTimeout,
    /// Takes the priority out of the PFC mask and puts it back once.
    PfcOff,
    /// Switches 802.3x pause off while the storm lasts.
    PauseOff,
    /// Recovers a devlink health reporter that is in error.
    DevlinkRecover,
    /// Takes the link down and up again.
    LinkBounce,
}

impl ActionKind {
    /// All, from the least to the most disruptive.
    pub const ALL: [Self; 7] = [
        Self::Alert,
        Self::Exec,
        Self::PreventionTimeout,
        Self::PfcOff,
        Self::PauseOff,
        Self::DevlinkRecover,
        Self::LinkBounce,
    ];

    /// Its name, such as `pfc-off`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Alert => "alert",
            Self::Exec => "exec",
            Self::PreventionTimeout => "prevention-timeout",
            Self::PfcOff => "pfc-off",
            Self::PauseOff => "pause-off",
            Self::DevlinkRecover => "devlink-recover",
            Self::LinkBounce => "link-bounce",
        }
    }
}

impl ActionKind {
    /// Whether it leaves something set that has to be taken back after the hold.
    #[must_use]
    pub const fn lasts(self) -> bool {
        match self {
            Self::PreventionTimeout | Self::PfcOff | Self::PauseOff => true,
            Self::Alert | Self::Exec | Self::DevlinkRecover | Self::LinkBounce => false,
        }
    }
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl std::str::FromStr for ActionKind {
    type Err = UnknownAction;

    fn from_str(text: &str) -> Result<Self, UnknownAction> {
        Self::ALL.into_iter().find(|kind| kind.label() == text).ok_or_else(|| UnknownAction(text.into()))
    }
}

/// A text that names no action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "action {0:?} is unknown: expected alert, exec, prevention-timeout, pfc-off, pause-off, devlink-recover or link-bounce"
)]
pub struct UnknownAction(String);

impl Serialize for ActionKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

impl<'de> Deserialize<'de> for ActionKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How much of the node a change may disturb; ordered, so that a limit can be compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disruption {
    /// Nothing.
    None,
    /// One priority of one port: its traffic may be dropped.
    Priority,
    /// One port: its link goes down and up.
    Link,
    /// The whole device, and every port of it.
    Device,
}

impl Disruption {
    /// All, ascending.
    pub const ALL: [Self; 4] = [Self::None, Self::Priority, Self::Link, Self::Device];

    /// Its name, such as `priority`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Priority => "priority",
            Self::Link => "link",
            Self::Device => "device",
        }
    }
}

impl fmt::Display for Disruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl std::str::FromStr for Disruption {
    type Err = UnknownDisruption;

    fn from_str(text: &str) -> Result<Self, UnknownDisruption> {
        Self::ALL
            .into_iter()
            .find(|level| level.label() == text)
            .ok_or_else(|| UnknownDisruption(text.into()))
    }
}

/// A text that names no disruption.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("disruption {0:?} is unknown: expected none, priority, link or device")]
pub struct UnknownDisruption(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_and_disruption_reads_back_from_its_name() {
        for kind in ActionKind::ALL {
            assert_eq!(kind.label().parse(), Ok(kind));
        }
        for level in Disruption::ALL {
            assert_eq!(level.label().parse(), Ok(level));
        }
        assert!("pfc_off".parse::<ActionKind>().unwrap_err().to_string().contains("\"pfc_off\""));
    }

    #[test]
    fn a_disruption_compares_by_how_far_it_reaches() {
        assert!(Disruption::ALL.is_sorted());
    }
}
