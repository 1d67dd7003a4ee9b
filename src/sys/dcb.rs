//! The DCB settings of a port: which priorities have PFC, here and at the peer, who decides about it, and by what
//! packets are sorted into priorities. Everything is asked for; the PFC mask is also set.
//!
//! The `requests` and `indications` that come along with the mask are left alone: most drivers answer with what they
//! read last for somebody else, and ixgbe has the two swapped.

use std::io;
use std::time::Duration;

use netlink_sys::protocols::NETLINK_ROUTE;

use super::netdev::NetdevName;
use super::netlink::{Netlink, NetlinkError, Request};
use super::netlink_wire::{Malformed, attributes, put_attribute, put_nest, put_text, u32_of};
use super::renames::{Names, Renamed};
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
    /// Its receive buffers.
    pub buffers: Option<Buffers>,
}

/// The receive buffers of a port (`struct dcbnl_buffer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Which buffer each priority uses.
    pub of_priority: [u8; 8],
    /// The size of each, in bytes.
    pub bytes: [u32; 8],
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
        let asked =
            self.names.while_named(ifindex, |name| Ok(ask(netlink, name)?.map(|(settings, _)| settings)));
        match asked.unwrap_or(Err(NetlinkError::gone(NAME))) {
            Err(error) if error.is_unsupported() => Ok(None),
            other => other,
        }
    }

    /// Sets the PFC mask of the device `ifindex` to what `change` makes of it, given all settings as they stand; `delay` and
    /// `mbc` stay as read. Success means that the driver has said yes, no more: what stands has to be read. Needs CAP_NET_ADMIN in
    /// the initial user namespace (`dcb_doit`, `netlink_capable`).
    ///
    /// Blocks as [`Self::settings`] does, and as long as the driver takes, which on some is a link going down and up.
    ///
    /// # Errors
    ///
    /// If the device is gone, its driver knows no PFC or refuses, or the kernel does not answer as it should.
    pub fn change_pfc(
        &mut self,
        ifindex: u32,
        change: impl Fn(u8, &DcbSettings) -> Result<u8, NetlinkError>,
    ) -> Result<(), NetlinkError> {
        let netlink = &mut self.netlink;
        let gone = || NetlinkError::gone(SET);
        let asked = self.names.while_named(ifindex, |name| (name, ask(netlink, name)));
        let (asked, told) = asked.ok_or_else(gone)?;
        let (settings, pfc) = told?.unwrap_or_default();
        let mut pfc = pfc.ok_or_else(|| NetlinkError::unsupported(SET))?;
        pfc[IEEE_PFC_EN] = change(pfc[IEEE_PFC_EN], &settings)?;
        let set = |name| {
            if name != asked {
                return Err(Renamed.into());
            }
            tell(netlink, name, &pfc)
        };
        self.names.set_named(ifindex, set).ok_or_else(gone)?
    }
}

/// A driver that fails is no error to the kernel: its answer is a byte in a message of its own (`dcbnl_ieee_set`).
fn tell(netlink: &mut Netlink, name: NetdevName, pfc: &[u8; IEEE_PFC_LEN]) -> Result<(), NetlinkError> {
    let mut body = vec![0; DCBMSG_LEN];
    body[DCBMSG_CMD] = DCB_CMD_IEEE_SET;
    put_text(&mut body, DCB_ATTR_IFNAME, name.as_str());
    let mut ieee = Vec::new();
    put_attribute(&mut ieee, DCB_ATTR_IEEE_PFC, pfc);
    put_nest(&mut body, DCB_ATTR_IEEE, &ieee);
    let request = Request { name: SET, message_type: RTM_SETDCB, body: &body };
    let verdicts = netlink.set(request, |message_type, payload| match message_type {
        RTM_SETDCB => verdict_of(payload),
        _ => Ok(None),
    })?;
    match verdicts.first() {
        None => Err(NetlinkError::Unheard { request: SET }),
        Some(Verdict::Done) => Ok(()),
        Some(Verdict::Refused { errno }) => {
            Err(NetlinkError::Driver { request: SET, source: io::Error::from_raw_os_error(*errno) })
        }
    }
}

/// What a driver has said to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes. Some say so with a small positive number (ice: 1 nothing to do, 2 done; `ice_dcbnl_setpfc`).
    Done,
    /// No.
    Refused {
        /// Why.
        errno: i32,
    },
}

/// The verdict in the payload of the kernel's answer to a set: the driver's negative error number, cut to a byte.
///
/// # Errors
///
/// If the payload is not such a message.
pub fn verdict_of(payload: &[u8]) -> Result<Option<Verdict>, Malformed> {
    let Some(body) = payload.get(DCBMSG_LEN..) else {
        return Err(Malformed { what: "DCB message", len: payload.len() });
    };
    for attribute in attributes(body) {
        if let (DCB_ATTR_IEEE, &[byte]) = attribute? {
            let number = i32::from(byte.cast_signed());
            return Ok(Some(if number < 0 { Verdict::Refused { errno: -number } } else { Verdict::Done }));
        }
    }
    Ok(None)
}

const NAME: &str = "DCB_CMD_IEEE_GET";
const SET: &str = "DCB_CMD_IEEE_SET";

/// The settings, and `struct ieee_pfc` as the driver gives it.
type Told = (DcbSettings, Option<[u8; IEEE_PFC_LEN]>);

fn ask(netlink: &mut Netlink, name: NetdevName) -> Result<Option<Told>, NetlinkError> {
    let mut body = vec![0; DCBMSG_LEN];
    body[DCBMSG_CMD] = DCB_CMD_IEEE_GET;
    put_text(&mut body, DCB_ATTR_IFNAME, name.as_str());
    let request = Request { name: NAME, message_type: RTM_GETDCB, body: &body };
    let answer = netlink.get(request, |message_type, payload| match message_type {
        RTM_GETDCB | RTM_SETDCB => Ok(Some((DcbSettings::decode(payload)?, pfc_of(payload)?))),
        _ => Ok(None),
    })?;
    Ok(answer.into_iter().next())
}

/// `struct ieee_pfc` in the payload of a message, whole.
fn pfc_of(payload: &[u8]) -> Result<Option<[u8; IEEE_PFC_LEN]>, Malformed> {
    let mut found = None;
    for attribute in attributes(payload.get(DCBMSG_LEN..).unwrap_or_default()) {
        let (DCB_ATTR_IEEE, nest) = attribute? else { continue };
        for attribute in attributes(nest) {
            if let (DCB_ATTR_IEEE_PFC, value) = attribute? {
                found = value.first_chunk().copied();
            }
        }
    }
    Ok(found)
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
                (DCB_ATTR_DCB_BUFFER, value) => self.buffers = Buffers::decode(value),
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

impl Buffers {
    /// `None` of a structure that is cut short.
    fn decode(value: &[u8]) -> Option<Self> {
        if value.len() < DCB_BUFFER_LEN {
            return None;
        }
        let of_priority = *value[DCB_BUFFER_PRIO..].first_chunk()?;
        let sizes =
            value[DCB_BUFFER_SIZE..].chunks_exact(size_of::<u32>()).map(|size| u32_of(size).unwrap_or(0));
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(sizes).for_each(|(place, size)| *place = size);
        Some(Self { of_priority, bytes })
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

#[cfg(test)]
mod tests {
    use super::super::netlink_wire::tests::attribute;
    use super::*;

    fn answer(value: &[u8]) -> Vec<u8> {
        [vec![0; DCBMSG_LEN], attribute(DCB_ATTR_IFNAME, b"eth0\0"), attribute(DCB_ATTR_IEEE, value)].concat()
    }

    #[test]
    fn a_driver_that_refuses_says_so_in_a_byte_while_the_kernel_says_yes() {
        assert_eq!(verdict_of(&answer(&[0])), Ok(Some(Verdict::Done)));
        assert_eq!(verdict_of(&answer(&[251])), Ok(Some(Verdict::Refused { errno: 5 })));
        assert_eq!(verdict_of(&answer(&[0xa1])), Ok(Some(Verdict::Refused { errno: 95 })));
        // ice has two ways to say yes.
        assert_eq!(verdict_of(&answer(&[2])), Ok(Some(Verdict::Done)));
    }

    #[test]
    fn an_answer_without_a_verdict_is_none() {
        assert_eq!(verdict_of(&[0; DCBMSG_LEN]), Ok(None));
        assert!(verdict_of(&[0; DCBMSG_LEN - 1]).is_err());
    }

    #[test]
    fn buffers_that_are_cut_short_are_absent() {
        let mut value = vec![0; DCB_BUFFER_LEN];
        value[DCB_BUFFER_PRIO + 3] = 1;
        value[DCB_BUFFER_SIZE + 4..][..4].copy_from_slice(&4096_u32.to_ne_bytes());
        let buffers = Buffers::decode(&value).unwrap();
        assert_eq!((buffers.of_priority[3], buffers.bytes[1]), (1, 4096));
        assert_eq!(Buffers::decode(&value[..DCB_BUFFER_LEN - 1]), None);
    }
}
