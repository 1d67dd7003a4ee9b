//! `ethtool -S` by its ioctl: the only way to the values.

use std::time::Duration;

use rocewatch_core::input::SourceRefresh;

use super::{ReadError, Source};
use crate::sys::ethtool::{Ethtool, EthtoolError};
use crate::sys::ethtool_genl::EthtoolNetlink;
use crate::sys::ethtool_replies::Coalescing;
use crate::sys::netdev::NetdevName;
use crate::sys::netlink::NetlinkError;

/// Longer than a driver takes to tell a number of its own.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The statistics of one network device.
pub struct EthtoolSource {
    ethtool: Ethtool,
    netdev: NetdevName,
    ifindex: u32,
    count: u32,
    netlink: Option<EthtoolNetlink>,
    refresh: Option<SourceRefresh>,
}

impl EthtoolSource {
    /// Opens a socket for `netdev`, which has the number `ifindex`; `None` if it has no statistics.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn open(netdev: NetdevName, ifindex: u32) -> Result<Option<Self>, ReadError> {
        let ethtool = Ethtool::open().map_err(|error| read_error(&error))?;
        match ethtool.stat_count(netdev) {
            Ok(0) | Err(EthtoolError::Unsupported { .. }) => Ok(None),
            Ok(_) => Ok(Some(Self { ethtool, netdev, ifindex, count: 0, netlink: None, refresh: None })),
            Err(error) => Err(read_error(&error)),
        }
    }

    /// How often the driver copies its statistics from the NIC; `None` where it does not say.
    fn asked_refresh(&mut self) -> Result<Option<SourceRefresh>, NetlinkError> {
        if self.netlink.is_none() {
            self.netlink = EthtoolNetlink::open(TIMEOUT)?;
        }
        let Some(netlink) = &mut self.netlink else { return Ok(None) };
        Ok(netlink.coalescing(self.ifindex)?.as_ref().and_then(refresh_of))
    }
}

/// What `stats-block-usecs` says; absent, it says nothing.
fn refresh_of(coalescing: &Coalescing) -> Option<SourceRefresh> {
    coalescing.stats_block_us.map(|micros| match micros {
        0 => SourceRefresh::Never,
        micros => SourceRefresh::Every(Duration::from_micros(micros.into())),
    })
}

impl Source for EthtoolSource {
    fn names(&mut self) -> Result<Vec<String>, ReadError> {
        let names = self.ethtool.stat_names(self.netdev).map_err(|error| read_error(&error))?;
        self.count = u32::try_from(names.len()).map_err(|_| ReadError::NamesChanged)?;
        // Where it cannot be asked now, what it said before stands.
        self.refresh = self.asked_refresh().unwrap_or(self.refresh);
        Ok(names)
    }

    fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
        self.ethtool.stats(self.netdev, self.count, values).map_err(|error| read_error(&error))
    }

    fn refresh(&self) -> Option<SourceRefresh> {
        self.refresh
    }
}

fn read_error(error: &EthtoolError) -> ReadError {
    match error {
        EthtoolError::CountChanged { .. } => ReadError::NamesChanged,
        EthtoolError::Unsupported { .. } => ReadError::Unsupported,
        EthtoolError::Open { .. }
        | EthtoolError::NoSuchDevice { .. }
        | EthtoolError::Detached { .. }
        | EthtoolError::Renamed(_)
        | EthtoolError::TooManyStats { .. }
        | EthtoolError::Failed { .. } => {
            let what = super::with_causes(error);
            ReadError::Failed { what, errno: error.errno() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_that_are_never_copied_are_told_apart_from_those_of_which_nothing_is_said() {
        let refresh = |stats_block_us| refresh_of(&Coalescing { stats_block_us, ..Coalescing::default() });
        assert_eq!(refresh(Some(0)), Some(SourceRefresh::Never));
        assert_eq!(refresh(Some(250_000)), Some(SourceRefresh::Every(Duration::from_millis(250))));
        assert_eq!(refresh(None), None);
    }
}
