//! The kernel's edge: what the agent asks of Linux, and the decoding of what comes back. In reading order.

pub mod uapi;
pub mod netdev;

pub mod netlink_wire;
pub mod netlink;
pub mod link;
pub mod rtnl;
pub mod link_watch;
