//! What a driver tells through `ethtool`: its name, its statistics, its pause settings; and the one of them that is set
//! this way, the limit on sent pause.
//!
//! The rules that keep the statistics honest (the number of them changes while the agent runs, and an answer of another
//! length is a success to the kernel) are all kept here: see [`Ethtool::stats`].

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with};

use super::ethtool_answer as answer;
use super::ethtool_ioctl::{Query, STATS_MAX, ask};
use super::netdev::NetdevName;
use super::renames::Renamed;
use super::uapi::*;

/// A socket for ethtool requests, and the buffer that readings of statistics reuse. One per reading thread.
///
/// A request blocks as long as the driver takes and as long as others hold the node's rtnl lock; nothing bounds that.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
    /// For names and values; grows to the largest set read so far. Kept, because nearly all of it is room that is never
    /// written and costs nothing: memory that an allocator hands out a second time is cleared, and then is there.
    buffer: Vec<u8>,
}

/// What a driver says of itself. What it leaves blank is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverInfo {
    /// "mlx5_core", "bnxt_en", "veth" and so on.
    pub driver: String,
    /// Its version; the kernel's own release for drivers that have none.
    pub version: Option<String>,
    /// The firmware's version as the driver writes it.
    pub firmware_version: Option<String>,
    /// The device's name on its bus; on PCI the address, "0000:3b:00.0".
    pub bus_info: Option<String>,
}

/// 802.3x (global) pause as configured; not what was negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseParam {
    /// Pause is negotiated with the peer.
    pub autoneg: bool,
    /// Received pause frames are obeyed.
    pub rx: bool,
    /// Pause frames are sent.
    pub tx: bool,
}

impl Ethtool {
    /// A socket in the calling thread's network namespace.
    ///
    /// # Errors
    ///
    /// If the process may open no more sockets.
    pub fn open() -> Result<Self, EthtoolError> {
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
            .map_err(|errno| EthtoolError::Open { source: errno.into() })?;
        Ok(Self { socket, buffer: Vec::new() })
    }

    /// Which driver `netdev` has, and where.
    ///
    /// # Errors
    ///
    /// If the device is gone, detached or of a kind without a driver.
    pub fn driver_info(&self, netdev: NetdevName) -> Result<DriverInfo, EthtoolError> {
        let mut buffer = [0; DRVINFO_LEN];
        request(&self.socket, netdev, Query::DriverInfo, &mut buffer)?;
        Ok(DriverInfo::decode(&buffer))
    }

    /// How many statistics `netdev` has at this moment; zero for a device that keeps none.
    ///
    /// # Errors
    ///
    /// If the device is gone or detached, or has more statistics than any driver is known to have.
    pub fn stat_count(&self, netdev: NetdevName) -> Result<u32, EthtoolError> {
        let mut buffer = [0; SSET_INFO_DATA + 4];
        request(&self.socket, netdev, Query::StatCount, &mut buffer)?;
        answer::stat_count(netdev, &buffer)
    }

    /// The names of `netdev`'s statistics, in the order of their values. They change while the agent runs (mlx5 has
    /// pause names only while PFC is on), and the same number of them can be other names.
    ///
    /// # Errors
    ///
    /// If the device is gone or detached, or if the number of names changed while they were read.
    pub fn stat_names(&mut self, netdev: NetdevName) -> Result<Vec<String>, EthtoolError> {
        let count = self.stat_count(netdev)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let query = Query::StatNames { count };
        self.grow_for(query);
        request(&self.socket, netdev, query, &mut self.buffer)?;
        answer::stat_names(netdev, count, &self.buffer)
    }

    /// Reads `netdev`'s statistics into `values`, which are the values of the `expected` names read before. On an error
    /// `values` is empty: there is no such thing as a part of a reading. Allocates nothing once both buffers have grown.
    ///
    /// The count is asked first, so that a set that has grown is never copied into a buffer made for the old one, and so
    /// that a device without statistics is not asked for any (the kernel warns). It is passed along, because kernels
    /// since January 2026 then answer nothing rather than too much; and it is compared with the answer.
    ///
    /// # Errors
    ///
    /// [`EthtoolError::CountChanged`] if the device has another number of statistics than `expected`: read the names
    /// again. Else if the device is gone, detached or refuses.
    pub fn stats(
        &mut self,
        netdev: NetdevName,
        expected: u32,
        values: &mut Vec<u64>,
    ) -> Result<(), EthtoolError> {
        values.clear();
        answer::expect_count(netdev, expected, self.stat_count(netdev)?)?;
        if expected == 0 {
            return Ok(());
        }
        let query = Query::Stats { count: expected };
        self.grow_for(query);
        request(&self.socket, netdev, query, &mut self.buffer)?;
        answer::stats(netdev, expected, &self.buffer, values)
    }

    fn grow_for(&mut self, query: Query) {
        if self.buffer.len() < query.buffer_len() {
            // A new one, not a longer one: fresh zeroed pages cost no memory until they are written.
            self.buffer = vec![0; query.buffer_len()];
        }
    }

    /// How 802.3x pause is configured on `netdev`.
    ///
    /// # Errors
    ///
    /// [`EthtoolError::Unsupported`] if the driver has no such setting; else if the device is gone or detached.
    pub fn pause_param(&self, netdev: NetdevName) -> Result<PauseParam, EthtoolError> {
        let mut buffer = [0; PAUSEPARAM_LEN];
        request(&self.socket, netdev, Query::Pause, &mut buffer)?;
        Ok(PauseParam::decode(&buffer))
    }

    /// How long `netdev` may send pause before it gives up and drops, in milliseconds as the kernel writes it: 0 is
    /// never, 65535 is the driver's own choice. `None` if the driver has no such limit.
    ///
    /// # Errors
    ///
    /// If the device is gone, detached or refuses.
    pub fn prevention_timeout(&self, netdev: NetdevName) -> Result<Option<u16>, EthtoolError> {
        let mut buffer = [0; TUNABLE_DATA + 2];
        match request(&self.socket, netdev, Query::PreventionTimeout, &mut buffer) {
            Ok(()) => Ok(Some(u16::from_ne_bytes([buffer[TUNABLE_DATA], buffer[TUNABLE_DATA + 1]]))),
            Err(EthtoolError::Unsupported { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets that limit. mlx5 takes 80 to 8000 ms (`mlx5e_set_pfc_prevention_tout`, 6.12). Needs CAP_NET_ADMIN.
    ///
    /// # Errors
    ///
    /// If the device is gone, has no such limit, or does not take this one.
    pub fn set_prevention_timeout(&self, netdev: NetdevName, ms: u16) -> Result<(), EthtoolError> {
        let mut buffer = [0; TUNABLE_DATA + 2];
        request(&self.socket, netdev, Query::SetPreventionTimeout { ms }, &mut buffer)
    }
}

fn request(
    socket: &OwnedFd,
    netdev: NetdevName,
    query: Query,
    buffer: &mut [u8],
) -> Result<(), EthtoolError> {
    ask(socket.as_fd(), netdev, query, buffer).map_err(|errno| {
        let (command, _) = query.command();
        // The kernel has one number for a device that is absent and one that is being reset.
        if errno == Errno::NODEV && netdevice::name_to_index(socket, netdev.as_str()).is_ok() {
            return EthtoolError::Detached { netdev, command };
        }
        EthtoolError::of(errno, netdev, command)
    })
}

/// Why a driver's answer could not be had.
#[derive(Debug, thiserror::Error)]
pub enum EthtoolError {
    /// No socket.
    #[error("cannot open a socket for ethtool requests")]
    Open {
        /// The kernel's reason.
        source: io::Error,
    },
    /// There is no device of this name in the network namespace.
    #[error("no network device {netdev} to ask for {command}")]
    NoSuchDevice {
        /// The name.
        netdev: NetdevName,
        /// What was asked, as the kernel's headers call it.
        command: &'static str,
    },
    /// The device was renamed meanwhile: whether it was set, and which device was, is not known.
    #[error(transparent)]
    Renamed(#[from] Renamed),
    /// The device is there but detached, as during a reset. It passes: keep what belongs to it and call it stale.
    #[error("{netdev} is detached, as during a reset: no answer to {command} for now")]
    Detached {
        /// The device.
        netdev: NetdevName,
        /// What was asked.
        command: &'static str,
    },
    /// The driver has no answer to this question, now or later.
    #[error("the driver of {netdev} does not support {command}")]
    Unsupported {
        /// The device.
        netdev: NetdevName,
        /// What was asked.
        command: &'static str,
    },
    /// The device has another number of statistics than the caller has names. Read the names again; the sample is lost.
    #[error("{netdev} answers with {got} statistics, expected {expected}")]
    CountChanged {
        /// The device.
        netdev: NetdevName,
        /// How many names the caller has.
        expected: u32,
        /// How many the device has; 0 from a kernel that noticed the difference itself.
        got: u32,
    },
    /// A number of statistics that no driver has.
    #[error("{netdev} claims {count} statistics, expected at most {STATS_MAX}")]
    TooManyStats {
        /// The device.
        netdev: NetdevName,
        /// The number.
        count: u32,
    },
    /// Any other refusal.
    #[error("{command} of {netdev} failed")]
    Failed {
        /// The device.
        netdev: NetdevName,
        /// What was asked.
        command: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
}

impl EthtoolError {
    fn of(errno: Errno, netdev: NetdevName, command: &'static str) -> Self {
        match errno {
            Errno::NODEV => Self::NoSuchDevice { netdev, command },
            Errno::OPNOTSUPP => Self::Unsupported { netdev, command },
            _ => Self::Failed { netdev, command, source: errno.into() },
        }
    }

    /// The kernel's error number, if it gave one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Open { source } | Self::Failed { source, .. } => source.raw_os_error(),
            Self::NoSuchDevice { .. } | Self::Detached { .. } => Some(Errno::NODEV.raw_os_error()),
            Self::Unsupported { .. } => Some(Errno::OPNOTSUPP.raw_os_error()),
            Self::Renamed(_) | Self::CountChanged { .. } | Self::TooManyStats { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn netdev() -> NetdevName {
        NetdevName::new("eth7").unwrap()
    }

    #[test]
    fn errors_keep_the_kernels_number_and_name_device_and_command() {
        let of = |errno| EthtoolError::of(errno, netdev(), "ETHTOOL_GSTATS");
        assert!(matches!(of(Errno::NODEV), EthtoolError::NoSuchDevice { .. }));
        assert!(matches!(of(Errno::OPNOTSUPP), EthtoolError::Unsupported { .. }));
        for errno in [Errno::NODEV, Errno::OPNOTSUPP, Errno::PERM, Errno::BUSY, Errno::TIMEDOUT] {
            let error = of(errno);
            assert_eq!(error.errno(), Some(errno.raw_os_error()));
            let text = error.to_string();
            assert!(text.contains("eth7") && text.contains("ETHTOOL_GSTATS"), "{text}");
        }
    }
}
