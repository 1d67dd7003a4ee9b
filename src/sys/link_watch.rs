//! Being told when links come, go and change, and when a port's DCB settings do.

use netlink_sys::protocols::NETLINK_ROUTE;

use super::link::{Link, name_of};
use super::multicast::{Subscription, Watch};
use super::netdev::NetdevName;
use super::netlink::NetlinkError;
use super::netlink_wire::{Frame, Malformed, attributes};
use super::uapi::*;

/// What happened to a link. It tells that something changed, not what: the caller asks for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// The device came, or something about it changed: carrier, name, MTU, master.
    Changed {
        /// Its number.
        ifindex: u32,
        /// Its name from now on.
        name: NetdevName,
    },
    /// The device is gone from this network namespace.
    Removed {
        /// Its number.
        ifindex: u32,
        /// Its last name.
        name: NetdevName,
    },
    /// Someone set the device's DCB parameters, or its firmware did: mask and names of statistics may be others.
    DcbChanged {
        /// Its name; the message has no number.
        name: NetdevName,
    },
    /// Events were lost: everything may have changed, and has to be asked for.
    Lost,
}

/// A subscription to the events of this network namespace.
pub struct LinkWatch(Watch<LinkEvent>);

impl LinkWatch {
    /// Subscribes; events from now on are kept until they are asked for, as far as the kernel has room. What was before
    /// is asked for after that, so that nothing falls between.
    ///
    /// # Errors
    ///
    /// If no such socket can be had.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O enabled.
    pub fn open() -> Result<Self, NetlinkError> {
        let watch = Watch::open(Subscription {
            protocol: NETLINK_ROUTE,
            groups: &[RTNLGRP_LINK, RTNLGRP_DCB],
            name: "RTNLGRP_LINK",
            decode: Box::new(decode),
            lost: LinkEvent::Lost,
        })?;
        Ok(Self(watch))
    }

    /// The next event. May be dropped while it waits; no event is lost by that.
    ///
    /// # Errors
    ///
    /// If the socket fails for good.
    pub async fn next(&mut self) -> Result<LinkEvent, NetlinkError> {
        self.0.next().await
    }
}

/// The event that a message tells of.
fn decode(frame: &Frame<'_>) -> Result<Option<LinkEvent>, Malformed> {
    match frame.message_type {
        RTM_NEWLINK => {
            let identity = Link::decode_identity(frame.payload)?;
            Ok(identity.map(|(ifindex, name)| LinkEvent::Changed { ifindex, name }))
        }
        RTM_DELLINK => {
            let identity = Link::decode_identity(frame.payload)?;
            Ok(identity.map(|(ifindex, name)| LinkEvent::Removed { ifindex, name }))
        }
        // The kernel announces a change with either type, depending on the driver.
        RTM_GETDCB | RTM_SETDCB => {
            dcb_name(frame.payload).map(|name| name.map(|name| LinkEvent::DcbChanged { name }))
        }
        _ => Ok(None),
    }
}

fn dcb_name(payload: &[u8]) -> Result<Option<NetdevName>, Malformed> {
    let Some(body) = payload.get(DCBMSG_LEN..) else {
        return Err(Malformed { what: "DCB message", len: payload.len() });
    };
    for attribute in attributes(body) {
        let (kind, value) = attribute?;
        if kind == DCB_ATTR_IFNAME {
            return Ok(name_of(value));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::link::tests::payload;
    use super::super::multicast::events;
    use super::super::netlink_wire::tests::{attribute, message};
    use super::*;

    fn decoded(datagram: &[u8]) -> Vec<LinkEvent> {
        events(datagram, decode, &LinkEvent::Lost)
    }

    fn name(text: &str) -> NetdevName {
        NetdevName::new(text).unwrap()
    }

    #[test]
    fn arrival_and_departure_are_told_apart() {
        let about = payload(0, 5, 0, &[attribute(IFLA_IFNAME, b"eth1\0")]);
        let mut datagram = message(RTM_NEWLINK, 0, 0, &about);
        datagram.extend(message(RTM_DELLINK, 0, 0, &about));
        let expected = [
            LinkEvent::Changed { ifindex: 5, name: name("eth1") },
            LinkEvent::Removed { ifindex: 5, name: name("eth1") },
        ];
        assert_eq!(decoded(&datagram), expected);
    }

    #[test]
    fn a_device_that_leaves_a_bridge_is_not_gone() {
        let bridge_port = payload(7, 5, 0, &[attribute(IFLA_IFNAME, b"eth1\0")]);
        assert_eq!(decoded(&message(RTM_DELLINK, 0, 0, &bridge_port)), []);
    }

    #[test]
    fn dcb_settings_are_announced_with_either_type() {
        let body = [vec![0, 20, 0, 0], attribute(DCB_ATTR_IFNAME, b"eth1\0")].concat();
        for message_type in [RTM_GETDCB, RTM_SETDCB] {
            let events = decoded(&message(message_type, 0, 0, &body));
            assert_eq!(events, [LinkEvent::DcbChanged { name: name("eth1") }]);
        }
    }

    #[test]
    fn what_cannot_be_read_may_have_been_any_event() {
        let whole = message(RTM_NEWLINK, 0, 0, &payload(0, 5, 0, &[attribute(IFLA_IFNAME, b"eth1\0")]));
        for len in 1..whole.len() {
            assert_eq!(decoded(&whole[..len]), [LinkEvent::Lost], "{len} bytes");
        }
        assert_eq!(decoded(&message(RTM_SETDCB, 0, 0, &[0, 20])), [LinkEvent::Lost]);
    }

    #[test]
    fn messages_of_other_kinds_are_no_events() {
        const RTM_NEWADDR: u16 = 20;
        assert_eq!(decoded(&message(RTM_NEWADDR, 0, 0, &[1, 2, 3])), []);
    }
}
