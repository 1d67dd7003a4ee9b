//! Being told when somebody changes a device's settings through ethtool, and when a reporter of its health speaks.

use std::time::Duration;

use netlink_sys::protocols::NETLINK_GENERIC;

use super::genl::{Family, resolve, split};
use super::netdev::BusDevice;
use super::netlink::{Netlink, NetlinkError};
use super::netlink_wire::{Frame, Malformed};
use super::uapi::*;
use super::watch::{Subscription, Watch};
use super::{devlink, ethtool_genl};

/// What happened to settings. It tells that something changed, not what: the caller asks for the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsEvent {
    /// Pause, coalescing, channels or error correction of a device were set.
    Ethtool {
        /// Its number.
        ifindex: u32,
    },
    /// A reporter of the device saw an error, or a recovery of one.
    Health {
        /// The device.
        device: BusDevice,
    },
    /// Events were lost: everything may have changed, and has to be asked for.
    Lost,
}

/// The families that tell of settings, as this kernel numbers them; one that it does not have tells nothing.
#[derive(Clone, Debug, Default)]
pub struct SettingsFamilies {
    ethtool: Family,
    devlink: Family,
}

impl SettingsFamilies {
    /// Asks for them. Blocks, `timeout` at most for each.
    ///
    /// # Errors
    ///
    /// If the kernel does not say.
    pub fn resolve(timeout: Duration) -> Result<Self, NetlinkError> {
        let mut netlink = Netlink::open(NETLINK_GENERIC, timeout)?;
        Ok(Self {
            ethtool: resolve(&mut netlink, ethtool_genl::FAMILY)?.unwrap_or_default(),
            devlink: resolve(&mut netlink, devlink::FAMILY)?.unwrap_or_default(),
        })
    }

    /// The groups in which they tell.
    fn groups(&self) -> Vec<u32> {
        let monitor = self.ethtool.groups.get("monitor");
        monitor.into_iter().chain(self.devlink.groups.get("config")).copied().collect()
    }

    /// The event that a message tells of.
    fn decode(&self, frame: &Frame<'_>) -> Result<Option<SettingsEvent>, Malformed> {
        let (command, attributes) = split(frame.payload)?;
        if frame.message_type == self.ethtool.id {
            let header = match command {
                ETHTOOL_MSG_PAUSE_NTF => ETHTOOL_A_PAUSE_HEADER,
                ETHTOOL_MSG_COALESCE_NTF => ETHTOOL_A_COALESCE_HEADER,
                ETHTOOL_MSG_FEC_NTF => ETHTOOL_A_FEC_HEADER,
                // The names of the statistics follow the channels.
                ETHTOOL_MSG_CHANNELS_NTF => ETHTOOL_A_CHANNELS_HEADER,
                _ => return Ok(None),
            };
            let ifindex = ethtool_genl::device_of(attributes, header)?;
            return Ok(ifindex.map(|ifindex| SettingsEvent::Ethtool { ifindex }));
        }
        if frame.message_type == self.devlink.id && command == DEVLINK_CMD_HEALTH_REPORTER_RECOVER {
            let device = devlink::device_of(attributes)?;
            return Ok(device.map(|device| SettingsEvent::Health { device }));
        }
        Ok(None)
    }
}

/// A subscription to the events of this network namespace.
pub struct SettingsWatch(Watch<SettingsEvent>);

impl SettingsWatch {
    /// Subscribes; events from now on are kept until they are asked for, as far as the kernel has room.
    ///
    /// # Errors
    ///
    /// If no such socket can be had.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O enabled.
    pub fn open(families: SettingsFamilies) -> Result<Self, NetlinkError> {
        let watch = Watch::open(Subscription {
            protocol: NETLINK_GENERIC,
            groups: &families.groups(),
            name: "the notifications of ethtool and devlink",
            decode: Box::new(move |frame| families.decode(frame)),
            lost: SettingsEvent::Lost,
        })?;
        Ok(Self(watch))
    }

    /// The next event. May be dropped while it waits; no event is lost by that.
    ///
    /// # Errors
    ///
    /// If the socket fails for good.
    pub async fn next(&mut self) -> Result<SettingsEvent, NetlinkError> {
        self.0.next().await
    }
}
