//! The DCB settings of a port: which priorities have PFC, here and at the peer, who decides about it, and by what
//! packets are sorted into priorities. Asks only.
//!
//! The `requests` and `indications` that come along with the mask are left alone: most drivers answer with what they
//! read last for somebody else, and ixgbe has the two swapped.

use std::time::Duration;

use netlink_sys::protocols::NETLINK_ROUTE;

use super::netdev::NetdevName;
use super::netlink::{Netlink, NetlinkError, Request};
use super::netlink_wire::{Malformed, attributes, put_text};
use super::renames::Names;
use super::uapi::*;

/// A socket for questions about DCB. One per asking thread.
#[derive(Debug)]
pub struct Dcb {
    netlink: Netlink,
    names: Names,
}

/// The DCB settings of one port. What its driver does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DcbSettings {
    /// Priorities with PFC, a bit each.
    pub pfc: Option<u8>,
    /// Priorities with PFC at the peer, as it has told by DCBX.
    pub peer_pfc: Option<u8>,
    /// What sorts packets into priorities.
    pub trust: Option<Trust>,
    /// Who runs DCBX on this port (`DCB_CAP_DCBX_*`).
    pub dcbx: Option<u8>,
}

/// What sorts received packets into priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The priority in the VLAN tag.
    Pcp,
    /// The DSCP of the IP header.
    Dscp,
}

impl Trust {
    /// As metrics write it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Pcp => "pcp",
            Self::Dscp => "dscp",
        }
    }
}

impl Dcb {
    /// A socket in the calling thread's network namespace that waits `timeout` at most for each part of an answer.
    ///
    /// # Errors
    ///
    /// If no such socket can be had.
    pub fn open(timeout: Duration) -> Result<Self, NetlinkError> {
        let names = Names::open().map_err(|source| NetlinkError::Open { protocol: NETLINK_ROUTE, source })?;
        Ok(Self { netlink: Netlink::open(NETLINK_ROUTE, timeout)?, names })
    }

    /// The settings of the device `ifindex`; `None` if its driver knows no DCB.
    ///
    /// Blocks in the kernel while others hold the node's rtnl lock; mlx5 reads some 28 registers of its firmware.
    ///
    /// # Errors
    ///
    /// If the device is gone, or the kernel does not answer as it should.
    pub fn settings(&mut self, ifindex: u32) -> Result<Option<DcbSettings>, NetlinkError> {
        let netlink = &mut self.netlink;
        let asked = self.names.while_named(ifindex, |name| ask(netlink, name));
        match asked.unwrap_or(Err(NetlinkError::gone(NAME))) {
            Err(error) if error.is_unsupported() => Ok(None),
            other => other,
        }
    }
}

const NAME: &str = "DCB_CMD_IEEE_GET";

fn ask(netlink: &mut Netlink, name: NetdevName) -> Result<Option<DcbSettings>, NetlinkError> {
    let mut body = vec![0; DCBMSG_LEN];
    body[DCBMSG_CMD] = DCB_CMD_IEEE_GET;
    put_text(&mut body, DCB_ATTR_IFNAME, name.as_str());
    let request = Request { name: NAME, message_type: RTM_GETDCB, body: &body };
    let answer = netlink.get(request, |message_type, payload| match message_type {
        RTM_GETDCB | RTM_SETDCB => DcbSettings::decode(payload).map(Some),
        _ => Ok(None),
    })?;
    Ok(answer.into_iter().next())
}

impl DcbSettings {
    /// The settings in the payload of a `RTM_GETDCB` message.
    ///
    /// # Errors
    ///
    /// If the payload is not such a message.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let Some(body) = payload.get(DCBMSG_LEN..) else {
            return Err(Malformed { what: "DCB message", len: payload.len() });
        };
        let mut settings = Self::default();
        for attribute in attributes(body) {
            match attribute? {
                (DCB_ATTR_DCBX, value) => settings.dcbx = value.first().copied(),
                (DCB_ATTR_IEEE, nest) => settings.take(nest)?,
                _ => {}
            }
        }
        Ok(settings)
    }

    fn take(&mut self, nest: &[u8]) -> Result<(), Malformed> {
        for attribute in attributes(nest) {
            match attribute? {
                (DCB_ATTR_IEEE_PFC, value) => self.pfc = mask_of(value),
                (DCB_ATTR_IEEE_PEER_PFC, value) => self.peer_pfc = mask_of(value),
                (DCB_ATTR_IEEE_APP_TABLE, nest) => self.trust = Some(trust_of(nest)?),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the host decides about these settings. Firmware that runs DCBX itself rewrites them without a word:
    /// most drivers say `LLD_MANAGED` then, mlx5 only that it is not the host (`mlx5e_dcbnl_setdcbx`, 6.12). A driver
    /// without DCBX has nobody else who could.
    #[must_use]
    pub fn is_owned_by_host(&self) -> bool {
        match self.dcbx {
            None | Some(0) => true,
            Some(bits) => bits & DCB_CAP_DCBX_HOST != 0 && bits & DCB_CAP_DCBX_LLD_MANAGED == 0,
        }
    }
}

/// The mask of a `struct ieee_pfc`; `None` of one that is cut short.
fn mask_of(value: &[u8]) -> Option<u8> {
    value.get(IEEE_PFC_EN).copied().filter(|_| value.len() >= IEEE_PFC_LEN)
}

/// Drivers with one switch for it (mlx5, `mlx5e_dcbnl_ieee_setapp`, 6.12) sort by DSCP as soon as the first DSCP has
/// a priority, and by VLAN tag again after the last.
fn trust_of(table: &[u8]) -> Result<Trust, Malformed> {
    for attribute in attributes(table) {
        let (kind, app) = attribute?;
        let is_dscp = app.get(DCB_APP_SELECTOR) == Some(&IEEE_8021QAZ_APP_SEL_DSCP);
        if kind == DCB_ATTR_IEEE_APP && app.len() >= DCB_APP_LEN && is_dscp {
            return Ok(Trust::Dscp);
        }
    }
    Ok(Trust::Pcp)
}
