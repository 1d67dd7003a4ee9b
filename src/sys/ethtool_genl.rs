//! Questions to drivers through ethtool's netlink family, and one setting, 802.3x pause: by number, so that no rename
//! comes between.

use std::time::Duration;

use rustix::io::Errno;

use super::ethtool_replies::{Coalescing, FecCounts, LinkState, PauseState, StandardCounts};
use super::genl::{Genl, Query};
use super::netlink::NetlinkError;
use super::netlink_wire::{Malformed, attributes, put_attribute, put_nest, u32_of};
use super::uapi::*;

/// The name of the family.
pub const FAMILY: &str = "ethtool";

/// A socket for questions to drivers. One per asking thread.
///
/// A question blocks in the kernel as long as the driver takes and as long as others hold the node's rtnl lock.
#[derive(Debug)]
pub struct EthtoolNetlink {
    genl: Genl,
}

impl EthtoolNetlink {
    /// A socket in the calling thread's network namespace that waits `timeout` at most for each part of an answer;
    /// `None` before kernel 5.6.
    ///
    /// # Errors
    ///
    /// If no such socket can be had.
    pub fn open(timeout: Duration) -> Result<Option<Self>, NetlinkError> {
        Ok(Genl::open(FAMILY, timeout)?.map(|genl| Self { genl }))
    }

    /// 802.3x pause of the device `ifindex`; `None` if its driver has none.
    ///
    /// # Errors
    ///
    /// If the device is gone or detached, or refuses.
    pub fn pause(&mut self, ifindex: u32) -> Result<Option<PauseState>, NetlinkError> {
        let body = header(ETHTOOL_A_PAUSE_HEADER, ifindex, ETHTOOL_FLAG_STATS);
        let query = query("ETHTOOL_MSG_PAUSE_GET", ETHTOOL_MSG_PAUSE_GET, &body);
        self.ask(query, ETHTOOL_MSG_PAUSE_GET_REPLY, PauseState::decode)
    }

    /// Sets 802.3x pause of the device `ifindex`, negotiation off. Needs CAP_NET_ADMIN.
    ///
    /// # Errors
    ///
    /// If the device is gone or detached, or its driver refuses.
    pub fn set_pause(&mut self, ifindex: u32, rx: bool, tx: bool) -> Result<(), NetlinkError> {
        let mut body = header(ETHTOOL_A_PAUSE_HEADER, ifindex, 0);
        put_attribute(&mut body, ETHTOOL_A_PAUSE_AUTONEG, &[0]);
        put_attribute(&mut body, ETHTOOL_A_PAUSE_RX, &[u8::from(rx)]);
        put_attribute(&mut body, ETHTOOL_A_PAUSE_TX, &[u8::from(tx)]);
        self.genl.set(query("ETHTOOL_MSG_PAUSE_SET", ETHTOOL_MSG_PAUSE_SET, &body))
    }

    /// The counts of forward error correction of the device `ifindex`; `None` if its driver has none.
    ///
    /// # Errors
    ///
    /// As [`Self::pause`].
    pub fn fec(&mut self, ifindex: u32) -> Result<Option<FecCounts>, NetlinkError> {
        let body = header(ETHTOOL_A_FEC_HEADER, ifindex, ETHTOOL_FLAG_STATS);
        let query = query("ETHTOOL_MSG_FEC_GET", ETHTOOL_MSG_FEC_GET, &body);
        self.ask(query, ETHTOOL_MSG_FEC_GET_REPLY, FecCounts::decode)
    }

    /// How the device `ifindex` coalesces; `None` if its driver does not tell.
    ///
    /// # Errors
    ///
    /// As [`Self::pause`].
    pub fn coalescing(&mut self, ifindex: u32) -> Result<Option<Coalescing>, NetlinkError> {
        let body = header(ETHTOOL_A_COALESCE_HEADER, ifindex, 0);
        let query = query("ETHTOOL_MSG_COALESCE_GET", ETHTOOL_MSG_COALESCE_GET, &body);
        self.ask(query, ETHTOOL_MSG_COALESCE_GET_REPLY, Coalescing::decode)
    }

    /// What the driver of `ifindex` tells of its link; `None` if nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::pause`].
    pub fn link_state(&mut self, ifindex: u32) -> Result<Option<LinkState>, NetlinkError> {
        match self.link_state_with(ifindex, ETHTOOL_FLAG_STATS) {
            // Kernels before 6.3 count no link that went down, and refuse the flag that asks for the count.
            Err(error) if error.errno() == Some(Errno::INVAL.raw_os_error()) => {
                self.link_state_with(ifindex, 0)
            }
            other => other,
        }
    }

    fn link_state_with(&mut self, ifindex: u32, flags: u32) -> Result<Option<LinkState>, NetlinkError> {
        let body = header(ETHTOOL_A_LINKSTATE_HEADER, ifindex, flags);
        let query = query("ETHTOOL_MSG_LINKSTATE_GET", ETHTOOL_MSG_LINKSTATE_GET, &body);
        self.ask(query, ETHTOOL_MSG_LINKSTATE_GET_REPLY, LinkState::decode)
    }

    /// The standard counters of the device `ifindex`; `None` if its driver has no such statistics.
    ///
    /// # Errors
    ///
    /// As [`Self::pause`].
    pub fn standard(&mut self, ifindex: u32) -> Result<Option<StandardCounts>, NetlinkError> {
        let mut body = header(ETHTOOL_A_STATS_HEADER, ifindex, 0);
        let groups = 1 << ETHTOOL_STATS_ETH_PHY | 1 << ETHTOOL_STATS_ETH_MAC | 1 << ETHTOOL_STATS_ETH_CTRL;
        let mut set = Vec::new();
        put_attribute(&mut set, ETHTOOL_A_BITSET_NOMASK, &[]);
        put_attribute(&mut set, ETHTOOL_A_BITSET_SIZE, &(ETHTOOL_STATS_ETH_CTRL + 1).to_ne_bytes());
        put_attribute(&mut set, ETHTOOL_A_BITSET_VALUE, &u32::to_ne_bytes(groups));
        put_nest(&mut body, ETHTOOL_A_STATS_GROUPS, &set);
        let query = query("ETHTOOL_MSG_STATS_GET", ETHTOOL_MSG_STATS_GET, &body);
        self.ask(query, ETHTOOL_MSG_STATS_GET_REPLY, StandardCounts::decode)
    }

    fn ask<T>(
        &mut self,
        query: Query<'_>,
        reply: u8,
        decode: fn(&[u8]) -> Result<T, Malformed>,
    ) -> Result<Option<T>, NetlinkError> {
        let answer =
            self.genl.get(
                query,
                |command, attributes| {
                    if command == reply { decode(attributes).map(Some) } else { Ok(None) }
                },
            );
        match answer {
            Ok(answer) => Ok(answer.into_iter().next()),
            Err(error) if error.is_unsupported() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

const fn query<'a>(name: &'static str, command: u8, attributes: &'a [u8]) -> Query<'a> {
    Query { name, command, attributes }
}

/// A request for `ifindex`: the head that every one of them begins with.
fn header(kind: u16, ifindex: u32, flags: u32) -> Vec<u8> {
    let mut nest = Vec::new();
    put_attribute(&mut nest, ETHTOOL_A_HEADER_DEV_INDEX, &ifindex.to_ne_bytes());
    if flags != 0 {
        put_attribute(&mut nest, ETHTOOL_A_HEADER_FLAGS, &flags.to_ne_bytes());
    }
    let mut body = Vec::new();
    put_nest(&mut body, kind, &nest);
    body
}

/// The device that a notification of the family is about, from its head.
///
/// # Errors
///
/// If the attributes are malformed.
pub(super) fn device_of(bytes: &[u8], kind: u16) -> Result<Option<u32>, Malformed> {
    for attribute in attributes(bytes) {
        let (found, nest) = attribute?;
        if found != kind {
            continue;
        }
        for attribute in attributes(nest) {
            if let (ETHTOOL_A_HEADER_DEV_INDEX, value) = attribute? {
                return Ok(u32_of(value));
            }
        }
    }
    Ok(None)
}
