//! The links of this network namespace. Asks on a thread that may block; being told of changes is `link_watch`'s part.

use std::time::Duration;

use netlink_sys::protocols::NETLINK_ROUTE;

use super::link::Link;
use super::netlink::{Netlink, NetlinkError, Request};
use super::uapi::*;

/// A socket for questions about links. One per asking thread.
#[derive(Debug)]
pub struct Rtnl {
    netlink: Netlink,
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
        self.netlink.dump(request, |message_type, payload| match message_type {
            RTM_NEWLINK => Link::decode(payload),
            _ => Ok(None),
        })
    }
}
