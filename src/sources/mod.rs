//! Where counters come from. A source reads and judges nothing; what its values mean is the binding's business.

mod directory;
mod ethtool;
mod facts;
mod nvmf;
mod poller;
mod raw;
mod rdma;
mod text;

use rocewatch_core::input::SourceRefresh;

pub use directory::{DirectorySource, FileError, read_file};
pub use ethtool::EthtoolSource;
pub use facts::{Facts, FactsReach, KernelFacts, PortFacts, Topic};
pub(crate) use facts::{headroom_of, reporters_of_port};
pub use nvmf::{
    NvmfController, NvmfControllers, NvmfFacts, NvmfSeen, NvmfSubsystem, NvmfTransport, NvmfView, TargetPort,
    TargetSubsystem,
};
pub use poller::{Feed, Poller};
pub use raw::RawTap;
pub use rdma::{Lag, RdmaCounters, RdmaName, RdmaView};

/// The counters of one port.
///
/// Synchronous on purpose: a read can hang under a kernel lock, so each port has a thread of its own.
pub trait Source: Send {
    /// The names of all counters, in the order of the values.
    ///
    /// # Errors
    /// [`ReadError`], none of which ends the port: whether the device is still there is for discovery to say.
    fn names(&mut self) -> Result<Vec<String>, ReadError>;

    /// Replaces `values` by one value for each name that [`Source::names`] gave last.
    ///
    /// # Errors
    /// [`ReadError::NamesChanged`] if the names are others by now; the sample is lost, the names are to be read again.
    fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError>;

    /// How often the source refreshes, if it tells. Asked after [`Source::names`], which may find it out.
    fn refresh(&self) -> Option<SourceRefresh> {
        None
    }
}

/// Why there is no sample.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The names have changed.
    #[error("the names of the counters have changed")]
    NamesChanged,
    /// The device has no such counters, and never will.
    #[error("the device has no statistics")]
    Unsupported,
    /// It failed this time.
    #[error("{what}")]
    Failed {
        /// In one line.
        what: String,
        /// The kernel's error number, if it was the kernel.
        errno: Option<i32>,
    },
}

impl ReadError {
    /// A short name for metrics: the kernel's error name, or the kind of error.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::NamesChanged => "names_changed".into(),
            Self::Unsupported => "EOPNOTSUPP".into(),
            Self::Failed { errno, .. } => failure_label(*errno),
        }
    }
}

/// A failed read as metrics name it: by the kernel's error, or as an answer that is none.
pub(crate) fn failure_label(errno: Option<i32>) -> String {
    let Some(errno) = errno else { return "invalid".into() };
    errno_name(errno).map_or_else(|| format!("errno_{errno}"), Into::into)
}

/// The names of the errors that reads of counters really give (errno(3)).
const fn errno_name(errno: i32) -> Option<&'static str> {
    Some(match errno {
        1 => "EPERM",
        2 => "ENOENT",
        4 => "EINTR",
        5 => "EIO",
        6 => "ENXIO",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        14 => "EFAULT",
        16 => "EBUSY",
        19 => "ENODEV",
        21 => "EISDIR",
        22 => "EINVAL",
        90 => "EMSGSIZE",
        95 => "EOPNOTSUPP",
        105 => "ENOBUFS",
        110 => "ETIMEDOUT",
        _ => return None,
    })
}

/// An error and what caused it, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
