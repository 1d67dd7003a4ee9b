//! The lines of a recording: a header, then every input with its time, and the effects it had.
//!
//! A recording holds only the counters that can change a decision. A replay of it decides the same, byte for byte.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::{Engine, is_watched};
use crate::ids::PortKey;
use crate::input::{BoundPort, Effect, Input, Reading};
use crate::settings::Settings;
use crate::units::MonoTime;

/// The format written and read by this version.
pub const FORMAT: u32 = 1;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// The first.
    Header(Box<Header>),
    /// An input.
    Input {
        /// When the engine took it.
        at: MonoTime,
        /// The input.
        input: Box<Input>,
    },
    /// What the input before led to. Left out where that is nothing.
    Effects {
        /// In order.
        effects: Vec<Effect>,
    },
}

/// How a recording begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub rocewatch_recording: u32,
    /// The version that wrote it.
    pub version: String,
    /// Milliseconds since 1970 at `boot`, so that times can be told as dates.
    pub boot_unix_ms: i64,
    /// The configuration, as its file would have it.
    pub config: String,
    /// The same as the engine has it.
    pub settings: Settings,
    /// The engine, where the recording does not begin with the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Box<Engine>>,
}

/// Leaves the counters out of inputs that no decision looks at.
#[derive(Clone, Debug, Default)]
pub struct Narrowing {
    kept: BTreeMap<PortKey, Vec<usize>>,
}

impl Narrowing {
    /// The input as a recording holds it.
    pub fn narrow(&mut self, input: &Input) -> Input {
        match input {
            Input::Bound(bound) => {
                let kept = (0..bound.layout.len())
                    .filter(|&place| is_watched(bound.layout[place].slot.counter()))
                    .collect::<Vec<_>>();
                let layout = kept.iter().map(|&place| bound.layout[place]).collect();
                self.kept.insert(bound.port, kept);
                Input::Bound(BoundPort { layout, ..bound.clone() })
            }
            Input::Reading(reading) => {
                let kept = self.kept.get(&reading.port).map_or(&[][..], Vec::as_slice);
                let values = kept.iter().filter_map(|&place| reading.values.get(place)).copied().collect();
                Input::Reading(Reading { values, ..*reading })
            }
            Input::Gone(port) => {
                self.kept.remove(port);
                input.clone()
            }
            Input::ReadFailed(_)
            | Input::Link(_)
            | Input::Dcb(_)
            | Input::Pause(_)
            | Input::Health(_)
            | Input::Route(_)
            | Input::Nvmf(_)
            | Input::Maintenance(_)
            | Input::GuardAnswer(_)
            | Input::Outcome(_)
            | Input::Command(_)
            | Input::Reconfigure(_)
            | Input::Journal(_)
            | Input::JournalWritable(_)
            | Input::Tick => input.clone(),
        }
    }
}
