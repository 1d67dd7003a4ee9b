//! The two lines of a conversation, one JSON object each. An unknown field is refused: a command must not be carried
//! out without what its sender has added to it.

use std::time::Duration;

use rocewatch_core::units::{Direction, Queue};
use serde::{Deserialize, Serialize};

use super::PROTOCOL;
use super::status::Status;

/// What is asked, with the protocol's version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Versioned {
    /// The version.
    pub rocewatch_control: u32,
    /// The command.
    pub request: Request,
}

/// The version alone, which is read first: another version may have other commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Version {
    /// The version.
    pub rocewatch_control: u32,
}

/// What can be asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// How the node is.
    Status,
    /// Acknowledges a lock, or an undo that failed.
    Ack {
        /// The port.
        netdev: String,
        /// The queue.
        priority: Queue,
        /// One direction, or both.
        direction: Option<Direction>,
    },
    /// Begins maintenance.
    MaintenanceOn {
        /// The port; all if none.
        netdev: Option<String>,
        /// For so long.
        seconds: u64,
    },
    /// Ends maintenance.
    MaintenanceOff {
        /// The port; all maintenance if none.
        netdev: Option<String>,
    },
    /// Reads the configuration again.
    Reload,
    /// Tries out what a storm would lead to.
    TestStorm {
        /// The port.
        netdev: String,
        /// The queue.
        priority: Queue,
        /// The direction of the storm.
        direction: Direction,
        /// How far it goes.
        depth: Depth,
    },
}

/// How far a test goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// The plan is told.
    Plan,
    /// It is carried out.
    Act,
}

/// What is answered, with the protocol's version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The version.
    pub rocewatch_control: u32,
    /// The answer.
    pub answer: Answer,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// How the node is.
    Status(Box<Status>),
    /// Done; what there is to say about it.
    Done(Vec<String>),
    /// Not done, and why.
    Refused(Vec<String>),
    /// Nobody knows whether it is done, and why.
    Unknown(Vec<String>),
}

impl Answer {
    /// Done, with one line.
    pub fn done(line: impl Into<String>) -> Self {
        Self::Done(vec![line.into()])
    }

    /// Not done, with one line.
    pub fn refused(line: impl Into<String>) -> Self {
        Self::Refused(vec![line.into()])
    }
}

impl Request {
    /// Its name, as logs write it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Ack { .. } => "ack",
            Self::MaintenanceOn { .. } => "maintenance on",
            Self::MaintenanceOff { .. } => "maintenance off",
            Self::Reload => "reload",
            Self::TestStorm { .. } => "test-storm",
        }
    }

    /// One line.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn to_line(&self) -> serde_json::Result<String> {
        let versioned = Versioned { rocewatch_control: PROTOCOL, request: self.clone() };
        serde_json::to_string(&versioned).map(|line| line + "\n")
    }

    /// Reads one line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let version = serde_json::from_slice::<Version>(line)
            .map_err(|error| format!("the request is no JSON object with `rocewatch_control`: {error}"))?;
        if version.rocewatch_control != PROTOCOL {
            let other = version.rocewatch_control;
            return Err(format!("the request speaks version {other}: this agent speaks {PROTOCOL}"));
        }
        let versioned = serde_json::from_slice::<Versioned>(line);
        versioned.map(|versioned| versioned.request).map_err(|error| format!("the request: {error}"))
    }
}

/// The longest maintenance: a port that is forgotten in it is a port without a watchdog.
pub(super) const MAINTENANCE_MAX: Duration = Duration::from_secs(30 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let request = Request::TestStorm {
            netdev: "eth0".into(),
            priority: Queue::Global,
            direction: Direction::Tx,
            depth: Depth::Act,
        };
        assert_eq!(Request::parse(request.to_line().unwrap().as_bytes()), Ok(request));
    }

    #[test]
    fn what_is_no_request_is_told_apart() {
        for (line, expected) in [
            ("", "no JSON object"),
            ("[]", "no JSON object"),
            (r#"{"rocewatch_control":2,"request":"dance"}"#, "version 2: this agent speaks 1"),
            (r#"{"rocewatch_control":1,"request":"dance"}"#, "unknown variant `dance`"),
            (r#"{"rocewatch_control":1,"request":"status","loud":true}"#, "unknown field `loud`"),
            (
                r#"{"rocewatch_control":1,"request":{"maintenance_off":{"netdev":null,"all":1}}}"#,
                "unknown field `all`",
            ),
            (
                r#"{"rocewatch_control":1,"request":{"ack":{"netdev":"a","priority":"9","direction":null}}}"#,
                "9",
            ),
        ] {
            let told = Request::parse(line.as_bytes()).unwrap_err();
            assert!(told.contains(expected), "{line}: {told}");
        }
    }
}
