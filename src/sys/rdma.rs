//! Questions to the RDMA subsystem. Each is asked on a thread that may block; none of them takes the rtnl lock.

use std::time::Duration;

use netlink_sys::protocols::NETLINK_RDMA;
use rustix::io::Errno;

use super::netlink::{Netlink, NetlinkError, Request};
use super::netlink_wire::{Malformed, put_attribute};
use super::rdma_wire::{NetnsMode, RdmaDevice, RdmaPort, RdmaResources, decode_counters, decode_netns_mode};
use super::uapi::*;

/// A socket for questions about RDMA. One per asking thread.
#[derive(Debug)]
pub struct Rdma {
    netlink: Netlink,
}

impl Rdma {
    /// A socket in the calling thread's network namespace that waits `timeout` at most for each part of an answer;
    /// `None` if the kernel has no RDMA subsystem.
    ///
    /// On a machine where that is a module that nobody has loaded, this loads it (`net-pf-16-proto-20`): to be called
    /// only where `/sys/class/infiniband` shows that it is there.
    ///
    /// # Errors
    ///
    /// If no such socket can be had for another reason.
    pub fn open(timeout: Duration) -> Result<Option<Self>, NetlinkError> {
        match Netlink::open(NETLINK_RDMA, timeout) {
            Ok(netlink) => Ok(Some(Self { netlink })),
            Err(error) if error.errno() == Some(Errno::PROTONOSUPPORT.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives the socket back until the next question: while it is open, ib_core cannot be unloaded, which is how NIC
    /// drivers are replaced at run time. The next question opens it anew, and might load ib_core as [`Rdma::open`] does.
    pub fn close(&mut self) {
        self.netlink.close();
    }

    /// All devices that this network namespace sees.
    ///
    /// # Errors
    ///
    /// If the kernel does not give a whole list.
    pub fn dump_devices(&mut self) -> Result<Vec<RdmaDevice>, NetlinkError> {
        let request = Request { name: "RDMA_GET", message_type: RDMA_GET, body: &[] };
        self.netlink.dump(request, answered(RDMA_GET, RdmaDevice::decode))
    }

    /// The ports of a device. Costs mlx5 a firmware command for each.
    ///
    /// # Errors
    ///
    /// If the kernel does not give a whole list.
    pub fn dump_ports(&mut self, device: u32) -> Result<Vec<RdmaPort>, NetlinkError> {
        let mut body = Vec::new();
        put_attribute(&mut body, RDMA_ATTR_DEV_INDEX, &device.to_ne_bytes());
        let request = Request { name: "RDMA_PORT_GET", message_type: RDMA_PORT_GET, body: &body };
        self.netlink.dump(request, answered(RDMA_PORT_GET, RdmaPort::decode))
    }

    /// The counters of a port, asked of the driver at once: the cache behind the files of sysfs is not in between.
    ///
    /// # Errors
    ///
    /// If the driver has no counters (EINVAL, EOPNOTSUPP), if they do not fit into the kernel's message (EMSGSIZE), or
    /// if the kernel does not answer.
    pub fn counters(&mut self, device: u32, port: u32) -> Result<Vec<(String, u64)>, NetlinkError> {
        let mut body = Vec::new();
        put_attribute(&mut body, RDMA_ATTR_DEV_INDEX, &device.to_ne_bytes());
        put_attribute(&mut body, RDMA_ATTR_PORT_INDEX, &port.to_ne_bytes());
        let request = Request { name: "RDMA_STAT_GET", message_type: RDMA_STAT_GET, body: &body };
        let decode = answered(RDMA_STAT_GET, |payload| decode_counters(payload).map(Some));
        Ok(self.netlink.get(request, decode)?.into_iter().flatten().collect())
    }

    /// What objects all devices have. Asks no hardware.
    ///
    /// # Errors
    ///
    /// If the kernel does not give a whole list.
    pub fn dump_resources(&mut self) -> Result<Vec<RdmaResources>, NetlinkError> {
        let request = Request { name: "RDMA_RES_GET", message_type: RDMA_RES_GET, body: &[] };
        self.netlink.dump(request, answered(RDMA_RES_GET, RdmaResources::decode))
    }

    /// Who sees the devices; `None` if the kernel does not say.
    ///
    /// # Errors
    ///
    /// If the kernel does not answer.
    pub fn netns_mode(&mut self) -> Result<Option<NetnsMode>, NetlinkError> {
        let request = Request { name: "RDMA_SYS_GET", message_type: RDMA_SYS_GET, body: &[] };
        let modes = self.netlink.get(request, answered(RDMA_SYS_GET, decode_netns_mode))?;
        Ok(modes.first().copied())
    }
}

/// Decodes messages of the type that was asked for; the kernel answers with the request's own.
fn answered<T>(
    message_type: u16,
    decode: impl Fn(&[u8]) -> Result<Option<T>, Malformed>,
) -> impl Fn(u16, &[u8]) -> Result<Option<T>, Malformed> {
    move |of, payload| if of == message_type { decode(payload) } else { Ok(None) }
}
