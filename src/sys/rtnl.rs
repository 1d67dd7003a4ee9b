//! The links of this network namespace, and the default routes over them. Asks on a thread that may block; being told of
//! changes is `link_watch`'s part. A link can also be switched on and off.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use netlink_sys::protocols::NETLINK_ROUTE;

use super::link::Link;
use super::netlink::{Netlink, NetlinkError, Request};
use super::route::{Hops, default_route, device_of, way_to};
use super::uapi::*;

/// A socket for questions about links. One per asking thread.
#[derive(Debug)]
pub struct Rtnl {
    netlink: Netlink,
}

/// Whether a link is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminState {
    /// It is.
    Up,
    /// It is not.
    Down,
}

impl Rtnl {
    /// A socket in the calling thread's network namespace that waits `timeout` at most for each part of an answer.
    ///
    /// # Errors
    ///
    /// If no such socket can be had.
    pub fn open(timeout: Duration) -> Result<Self, NetlinkError> {
        Ok(Self { netlink: Netlink::open(NETLINK_ROUTE, timeout)? })
    }

    /// All network devices of the namespace with their interface statistics, as of one moment.
    ///
    /// Blocks in the kernel while others hold the node's rtnl lock; `timeout` does not bound that.
    ///
    /// # Errors
    ///
    /// If the kernel does not give a whole list.
    pub fn dump_links(&mut self) -> Result<Vec<Link>, NetlinkError> {
        let request = Request { name: "RTM_GETLINK", message_type: RTM_GETLINK, body: &[0; IFINFOMSG_LEN] };
        self.netlink.dump(request, link_in)
    }

    /// The device `ifindex`.
    ///
    /// # Errors
    ///
    /// If it is gone, or the kernel does not answer as it should.
    pub fn link(&mut self, ifindex: u32) -> Result<Link, NetlinkError> {
        let name = "RTM_GETLINK";
        let request = Request { name, message_type: RTM_GETLINK, body: &about(ifindex) };
        let links = self.netlink.get(request, link_in)?;
        links.into_iter().next().ok_or_else(|| NetlinkError::gone(name))
    }

    /// Switches the device `ifindex` on or off, as `ip link set` does. Needs CAP_NET_ADMIN.
    ///
    /// # Errors
    ///
    /// If it is gone, or its driver refuses.
    pub fn set_link(&mut self, ifindex: u32, state: AdminState) -> Result<(), NetlinkError> {
        let mut body = about(ifindex);
        let flags = match state {
            AdminState::Up => IFF_UP,
            AdminState::Down => 0,
        };
        body[IFINFOMSG_FLAGS..][..4].copy_from_slice(&flags.to_ne_bytes());
        body[IFINFOMSG_CHANGE..][..4].copy_from_slice(&IFF_UP.to_ne_bytes());
        let request = Request { name: "RTM_NEWLINK", message_type: RTM_NEWLINK, body: &body };
        self.netlink.set(request, |_, _| Ok(None::<()>)).map(drop)
    }

    /// The devices that default routes lead over, of both families of IP and of all tables; `None` if the kernel does not
    /// tell that of one of them.
    ///
    /// # Errors
    ///
    /// If the kernel does not give a whole list.
    pub fn default_route_devices(&mut self) -> Result<Option<BTreeSet<u32>>, NetlinkError> {
        let mut devices = BTreeSet::new();
        for family in [AF_INET, AF_INET6] {
            let mut body = [0; RTMSG_LEN];
            body[RTMSG_FAMILY] = family;
            let request = Request { name: "RTM_GETROUTE", message_type: RTM_GETROUTE, body: &body };
            let routes = self.netlink.dump(request, |message_type, payload| match message_type {
                RTM_NEWROUTE => default_route(payload),
                _ => Ok(None),
            })?;
            for hops in routes {
                match hops {
                    Hops::Devices(over) => devices.extend(over),
                    Hops::Untold => return Ok(None),
                }
            }
        }
        Ok(Some(devices))
    }

    /// The device over which packets go to `to`, from the address `from` if that is given; `None` if they go nowhere.
    ///
    /// # Errors
    ///
    /// If the kernel does not answer as it should.
    pub fn device_towards(&mut self, to: IpAddr, from: Option<IpAddr>) -> Result<Option<u32>, NetlinkError> {
        let body = way_to(to, from);
        let request = Request { name: "RTM_GETROUTE", message_type: RTM_GETROUTE, body: &body };
        let answer = self.netlink.get(request, |message_type, payload| match message_type {
            RTM_NEWROUTE => device_of(payload),
            _ => Ok(None),
        });
        match answer {
            Ok(devices) => Ok(devices.into_iter().next()),
            // No route, one that is forbidden, or an address that is none of this node's.
            Err(NetlinkError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn link_in(message_type: u16, payload: &[u8]) -> Result<Option<Link>, super::netlink_wire::Malformed> {
    match message_type {
        RTM_NEWLINK => Link::decode(payload),
        _ => Ok(None),
    }
}

/// The head of a message about the device `ifindex`.
fn about(ifindex: u32) -> [u8; IFINFOMSG_LEN] {
    let mut body = [0; IFINFOMSG_LEN];
    body[IFINFOMSG_INDEX..][..4].copy_from_slice(&ifindex.to_ne_bytes());
    body
}
