//! The operations that actions are made of: the only vocabulary the actuator knows.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ExecCall, PauseConfig};
use crate::units::PriorityMask;

/// One change of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Takes these priorities out of the PFC mask as it stands at that moment, all in one set: where a new mask takes
    /// the link down, it goes down once.
    PfcDisable(#[serde(with = "listed")] PriorityMask),
    /// Puts these priorities into the PFC mask as it stands at that moment.
    PfcEnable(#[serde(with = "listed")] PriorityMask),
    /// Sets the prevention timeout, in the driver's own milliseconds (0 off, 0xffff automatic).
    PreventionTimeout(u16),
    /// Sets 802.3x pause, autonegotiation off.
    Pause(PauseConfig),
    /// Recovers a devlink health reporter.
    DevlinkRecover(String),
    /// Takes the link down.
    LinkDown,
    /// Takes the link up.
    LinkUp,
    /// Runs a command.
    Exec(ExecCall),
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PfcDisable(mask) => write!(f, "take {} out of the PFC mask", Priorities(*mask)),
            Self::PfcEnable(mask) => write!(f, "put {} into the PFC mask", Priorities(*mask)),
            Self::PreventionTimeout(ms) => write!(f, "limit the pause the NIC sends to {ms} ms"),
            Self::Pause(pause) => write!(f, "802.3x pause rx {} tx {}", on(pause.rx), on(pause.tx)),
            Self::DevlinkRecover(reporter) => write!(f, "recover devlink reporter {reporter}"),
            Self::LinkDown => f.write_str("link down"),
            Self::LinkUp => f.write_str("link up"),
            Self::Exec(call) => write!(f, "run {}", call.command.join(" ")),
        }
    }
}

/// Priorities as a sentence names them.
struct Priorities(PriorityMask);

impl fmt::Display for Priorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.0.iter().map(|priority| priority.to_string()).collect::<Vec<_>>();
        let noun = if list.len() == 1 { "priority" } else { "priorities" };
        write!(f, "{noun} {}", list.join(" "))
    }
}

const fn on(state: bool) -> &'static str {
    if state { "on" } else { "off" }
}

/// A set of priorities as the list of its members, which people read in events and recordings.
mod listed {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::units::{Priority, PriorityMask};

    pub(super) fn serialize<S: Serializer>(mask: &PriorityMask, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(mask.iter())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PriorityMask, D::Error> {
        let members = Vec::<Priority>::deserialize(deserializer)?;
        Ok(members.into_iter().fold(PriorityMask::default(), PriorityMask::with))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_named_and_written_one_by_one() {
        let op = Op::PfcDisable(PriorityMask(0b1_1000));
        assert_eq!(op.to_string(), "take priorities 3 4 out of the PFC mask");
        assert_eq!(Op::PfcEnable(PriorityMask(8)).to_string(), "put priority 3 into the PFC mask");
        let text = serde_json::to_string(&op).unwrap();
        assert_eq!(text, r#"{"pfc_disable":[3,4]}"#);
        assert_eq!(serde_json::from_str::<Op>(&text).unwrap(), op);
    }
}
