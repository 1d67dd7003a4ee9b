//! Being told when links come, go and change, and when a port's DCB settings do. Listens only: the one place where an
//! asynchronous netlink socket is right, because nothing is executed on its behalf.

use std::collections::VecDeque;
use std::io;

use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{AsyncSocket, AsyncSocketExt, TokioSocket};
use rustix::io::Errno;

use super::link::{Link, name_of};
use super::netdev::NetdevName;
use super::netlink::NetlinkError;
use super::netlink_wire::{Malformed, attributes, frames};
use super::uapi::*;

/// Many times a link notification, of about 2 KiB.
const RECEIVE_LEN: usize = 32 * 1024;

/// More than the kernel keeps for a socket by default (208 KiB, some hundred events); reading them takes well under a
/// millisecond.
const DRAIN_MAX: usize = 1000;

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
pub struct LinkWatch {
    socket: TokioSocket,
    buffer: Vec<u8>,
    /// Events of the last datagram; a datagram holds few.
    ready: VecDeque<LinkEvent>,
    /// The kernel has dropped events and goes on dropping.
    is_overflowing: bool,
}

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
        let subscribed = || {
            let mut socket = TokioSocket::new(NETLINK_ROUTE)?;
            socket.socket_mut().bind_auto()?;
            socket.socket_mut().add_membership(RTNLGRP_LINK)?;
            socket.socket_mut().add_membership(RTNLGRP_DCB)?;
            Ok(socket)
        };
        let socket = subscribed().map_err(|source| NetlinkError::Open { protocol: NETLINK_ROUTE, source })?;
        Ok(Self {
            socket,
            buffer: Vec::with_capacity(RECEIVE_LEN),
            ready: VecDeque::new(),
            is_overflowing: false,
        })
    }

    /// The next event. May be dropped while it waits; no event is lost by that.
    ///
    /// # Errors
    ///
    /// If the socket fails for good.
    pub async fn next(&mut self) -> Result<LinkEvent, NetlinkError> {
        loop {
            if self.is_overflowing {
                self.drain();
                return Ok(LinkEvent::Lost);
            }
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer).await {
                Ok(()) => self.ready.extend(decode(&self.buffer)),
                Err(error) if is_overflow(&error) => self.is_overflowing = true,
                Err(source) => return Err(NetlinkError::Socket { request: "RTNLGRP_LINK", source }),
            }
        }
    }

    /// Reads what is waiting and forgets it. The kernel reports an overflow once, and drops every later event without
    /// another word until the socket has been read empty; so it must be empty before the caller asks for the state of
    /// things, or what changes after that is missed.
    fn drain(&mut self) {
        for _ in 0..DRAIN_MAX {
            self.buffer.clear();
            match self.socket.socket_ref().recv(&mut self.buffer, 0) {
                Ok(_) => {}
                Err(error) if is_overflow(&error) => {}
                // Empty; any other failure comes again when the socket is awaited.
                Err(_) => {
                    self.is_overflowing = false;
                    return;
                }
            }
        }
    }
}

fn is_overflow(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}

/// The events of a datagram. One that cannot be read, which also means one that was too long for the buffer, may have
/// been any event.
fn decode(datagram: &[u8]) -> Vec<LinkEvent> {
    frames(datagram)
        .filter_map(|frame| {
            let event = frame.and_then(|frame| decode_event(frame.message_type, frame.payload));
            event.unwrap_or(Some(LinkEvent::Lost))
        })
        .collect()
}

fn decode_event(message_type: u16, payload: &[u8]) -> Result<Option<LinkEvent>, Malformed> {
    match message_type {
        RTM_NEWLINK => {
            let identity = Link::decode_identity(payload)?;
            Ok(identity.map(|(ifindex, name)| LinkEvent::Changed { ifindex, name }))
        }
        RTM_DELLINK => {
            let identity = Link::decode_identity(payload)?;
            Ok(identity.map(|(ifindex, name)| LinkEvent::Removed { ifindex, name }))
        }
        // The kernel announces a change with either type, depending on the driver.
        RTM_GETDCB | RTM_SETDCB => {
            dcb_name(payload).map(|name| name.map(|name| LinkEvent::DcbChanged { name }))
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
    use super::super::netlink_wire::tests::{attribute, message};
    use super::*;

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
        assert_eq!(decode(&datagram), expected);
    }

    #[test]
    fn a_device_that_leaves_a_bridge_is_not_gone() {
        let bridge_port = payload(7, 5, 0, &[attribute(IFLA_IFNAME, b"eth1\0")]);
        assert_eq!(decode(&message(RTM_DELLINK, 0, 0, &bridge_port)), []);
    }

    #[test]
    fn dcb_settings_are_announced_with_either_type() {
        let body = [vec![0, 20, 0, 0], attribute(DCB_ATTR_IFNAME, b"eth1\0")].concat();
        for message_type in [RTM_GETDCB, RTM_SETDCB] {
            let events = decode(&message(message_type, 0, 0, &body));
            assert_eq!(events, [LinkEvent::DcbChanged { name: name("eth1") }]);
        }
    }

    #[test]
    fn what_cannot_be_read_may_have_been_any_event() {
        let whole = message(RTM_NEWLINK, 0, 0, &payload(0, 5, 0, &[attribute(IFLA_IFNAME, b"eth1\0")]));
        for len in 1..whole.len() {
            assert_eq!(decode(&whole[..len]), [LinkEvent::Lost], "{len} bytes");
        }
        assert_eq!(decode(&message(RTM_SETDCB, 0, 0, &[0, 20])), [LinkEvent::Lost]);
    }

    #[test]
    fn messages_of_other_kinds_are_no_events() {
        const RTM_NEWADDR: u16 = 20;
        assert_eq!(decode(&message(RTM_NEWADDR, 0, 0, &[1, 2, 3])), []);
    }
}
