//! `ethtool -S` by its ioctl: the only way to the values.

use super::{ReadError, Source};
use crate::sys::ethtool::{Ethtool, EthtoolError};
use crate::sys::netdev::NetdevName;

/// The statistics of one network device.
pub struct EthtoolSource {
    ethtool: Ethtool,
    netdev: NetdevName,
    count: u32,
}

impl EthtoolSource {
    /// Opens a socket for `netdev`; `None` if it has no statistics.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn open(netdev: NetdevName) -> Result<Option<Self>, ReadError> {
        let ethtool = Ethtool::open().map_err(|error| read_error(&error))?;
        match ethtool.stat_count(netdev) {
            Ok(0) | Err(EthtoolError::Unsupported { .. }) => Ok(None),
            Ok(_) => Ok(Some(Self { ethtool, netdev, count: 0 })),
            Err(error) => Err(read_error(&error)),
        }
    }
}

impl Source for EthtoolSource {
    fn names(&mut self) -> Result<Vec<String>, ReadError> {
        let names = self.ethtool.stat_names(self.netdev).map_err(|error| read_error(&error))?;
        self.count = u32::try_from(names.len()).map_err(|_| ReadError::NamesChanged)?;
        Ok(names)
    }

    fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
        self.ethtool.stats(self.netdev, self.count, values).map_err(|error| read_error(&error))
    }
}

fn read_error(error: &EthtoolError) -> ReadError {
    match error {
        EthtoolError::CountChanged { .. } => ReadError::NamesChanged,
        EthtoolError::Unsupported { .. } => ReadError::Unsupported,
        EthtoolError::Open { .. }
        | EthtoolError::NoSuchDevice { .. }
        | EthtoolError::Detached { .. }
        | EthtoolError::TooManyStats { .. }
        | EthtoolError::Failed { .. } => {
            let what = super::with_causes(error);
            ReadError::Failed { what, errno: error.errno() }
        }
    }
}
