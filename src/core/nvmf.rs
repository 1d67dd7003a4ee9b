//! NVMe over fabrics, as far as decisions and their record know of it: the states of a host's controllers.

use serde::{Deserialize, Serialize};

use crate::event::Level;
use crate::units::Permille;

/// The state of a controller (`nvme_sysfs_show_state`, drivers/nvme/host).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NvmfState {
    /// It was made, and is not connected yet.
    New,
    /// It takes commands.
    Live,
    /// Its connections are being torn down, after an error or on request.
    Resetting,
    /// It is being connected, for the first time or again.
    Connecting,
    /// It is being removed.
    Deleting,
    /// The same, and its commands fail already.
    DeletingNoIo,
    /// It was given up.
    Dead,
}

impl NvmfState {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::New,
        Self::Live,
        Self::Resetting,
        Self::Connecting,
        Self::Deleting,
        Self::DeletingNoIo,
        Self::Dead,
    ];

    /// As events and metrics write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Live => "live",
            Self::Resetting => "resetting",
            Self::Connecting => "connecting",
            Self::Deleting => "deleting",
            Self::DeletingNoIo => "deleting_no_io",
            Self::Dead => "dead",
        }
    }

    /// Of what the kernel writes; `None` for anything else.
    #[must_use]
    pub fn of_sysfs(text: &str) -> Option<Self> {
        match text {
            "deleting (no IO)" => Some(Self::DeletingNoIo),
            "deleting_no_io" => None,
            _ => Self::ALL.into_iter().find(|state| state.label() == text),
        }
    }

    /// Whether it is on its way out because somebody wants it so.
    #[must_use]
    pub const fn is_being_removed(self) -> bool {
        match self {
            Self::Deleting | Self::DeletingNoIo => true,
            Self::New | Self::Live | Self::Resetting | Self::Connecting | Self::Dead => false,
        }
    }
}

/// A controller came, went, or was seen in another state than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmfChange {
    /// The controller, such as `nvme0`.
    pub controller: String,
    /// The NQN of its subsystem.
    pub subsystem: String,
    /// What carries it: `rdma` or `tcp`.
    pub transport: String,
    /// Where it is reached, such as `192.0.2.1:4420`.
    pub address: String,
    /// The network devices that lead there; several slaves of a bond, none where nothing tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub netdevs: Vec<String>,
    /// Its state before; `None` if it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NvmfState>,
    /// Its state now; `None` if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<NvmfState>,
}

impl NvmfChange {
    /// How loud it is: bad news is a path that was usable and is not, or one that is gone and that nobody had removed.
    #[must_use]
    pub fn level(&self) -> Level {
        let is_loss = match (self.from, self.to) {
            (_, Some(NvmfState::Dead)) => true,
            (Some(NvmfState::Live), Some(to)) => !to.is_being_removed(),
            (Some(from), None) => !from.is_being_removed() && from != NvmfState::Live,
            (Some(_) | None, Some(_)) | (None, None) => false,
        };
        if is_loss { Level::Warn } else { Level::Info }
    }
}

/// A change as it is told. Where the port that carries the controller was paused shortly before, the place of the event is
/// the queue that was paused most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmfTold {
    /// Which controller, and what.
    #[serde(flatten)]
    pub change: NvmfChange,
    /// The largest paused share of a detection window shortly before; `None` where no queue was held for half of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Permille>,
    /// Whether that is only an upper bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_states_and_no_others_are() {
        let words = ["new", "live", "resetting", "connecting", "deleting", "deleting (no IO)", "dead"];
        assert_eq!(words.map(NvmfState::of_sysfs), NvmfState::ALL.map(Some));
        for other in ["", "Live", "deleting_no_io", "only-admin", "reconnecting", "live "] {
            assert_eq!(NvmfState::of_sysfs(other), None, "{other}");
        }
    }
}
