//! Being told when somebody changes a device's settings through ethtool, and when a reporter of its health speaks.

use std::time::Duration;

use netlink_sys::protocols::NETLINK_GENERIC;

use super::genl::{Family, resolve, split};
use super::multicast::{Subscription, Watch};
use super::netdev::BusDevice;
use super::netlink::{Netlink, NetlinkError};
use super::netlink_wire::{Frame, Malformed};
use super::uapi::*;
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

#[cfg(test)]
mod tests {
    use super::super::multicast::events;
    use super::super::netlink_wire::tests::{attribute, message};
    use super::*;

    const ETHTOOL: u16 = 20;
    const DEVLINK: u16 = 21;

    fn decoded(datagram: &[u8]) -> Vec<SettingsEvent> {
        let family = |id, group: &str| Family { id, groups: [(group.to_owned(), u32::from(id))].into() };
        let families =
            SettingsFamilies { ethtool: family(ETHTOOL, "monitor"), devlink: family(DEVLINK, "config") };
        assert_eq!(families.groups(), [u32::from(ETHTOOL), u32::from(DEVLINK)]);
        events(datagram, |frame| families.decode(frame), &SettingsEvent::Lost)
    }

    fn notification(family: u16, command: u8, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut payload = vec![command, 1, 0, 0];
        payload.extend(attributes.concat());
        message(family, 0, 0, &payload)
    }

    fn of_device(ifindex: u32) -> Vec<u8> {
        let index = attribute(ETHTOOL_A_HEADER_DEV_INDEX, &ifindex.to_ne_bytes());
        attribute(ETHTOOL_A_PAUSE_HEADER | NLA_F_NESTED, &index)
    }

    fn of_handle() -> Vec<Vec<u8>> {
        vec![attribute(DEVLINK_ATTR_BUS_NAME, b"pci\0"), attribute(DEVLINK_ATTR_DEV_NAME, b"0000:3b:00.0\0")]
    }

    #[test]
    fn settings_that_matter_are_told_with_their_device() {
        let told =
            [ETHTOOL_MSG_PAUSE_NTF, ETHTOOL_MSG_COALESCE_NTF, ETHTOOL_MSG_FEC_NTF, ETHTOOL_MSG_CHANNELS_NTF];
        for command in told {
            let events = decoded(&notification(ETHTOOL, command, &[of_device(7)]));
            assert_eq!(events, [SettingsEvent::Ethtool { ifindex: 7 }], "{command}");
        }
        let device = BusDevice { bus: "pci".into(), address: "0000:3b:00.0".into() };
        let health = notification(DEVLINK, DEVLINK_CMD_HEALTH_REPORTER_RECOVER, &of_handle());
        assert_eq!(decoded(&health), [SettingsEvent::Health { device }]);
    }

    #[test]
    fn other_commands_and_other_families_are_no_events() {
        const ETHTOOL_MSG_DEBUG_NTF: u8 = 8;
        assert_eq!(decoded(&notification(ETHTOOL, ETHTOOL_MSG_DEBUG_NTF, &[of_device(7)])), []);
        assert_eq!(decoded(&notification(DEVLINK, DEVLINK_CMD_PORT_GET, &of_handle())), []);
        assert_eq!(decoded(&notification(30, ETHTOOL_MSG_PAUSE_NTF, &[of_device(7)])), []);
        // It says not whose settings they are.
        assert_eq!(decoded(&notification(ETHTOOL, ETHTOOL_MSG_PAUSE_NTF, &[])), []);
    }

    #[test]
    fn what_cannot_be_read_may_have_been_any_event() {
        let whole = notification(ETHTOOL, ETHTOOL_MSG_PAUSE_NTF, &[of_device(7)]);
        for len in 1..whole.len() {
            assert_eq!(decoded(&whole[..len]), [SettingsEvent::Lost], "{len} bytes");
        }
        assert_eq!(decoded(&message(DEVLINK, 0, 0, &[54, 1])), [SettingsEvent::Lost]);
    }

    #[test]
    fn a_kernel_without_the_families_tells_nothing() {
        assert_eq!(SettingsFamilies::default().groups(), Vec::<u32>::new());
    }
}
