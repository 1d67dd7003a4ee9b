//! Generic netlink: families that have a name, and a number only once one has asked for it.

use std::collections::BTreeMap;
use std::time::Duration;

use netlink_sys::protocols::NETLINK_GENERIC;
use rustix::io::Errno;

use super::netlink::{Netlink, NetlinkError, Request};
use super::netlink_wire::{Malformed, attributes, put_text, text_of, u32_of};
use super::uapi::*;

/// Of all families here; the kernel looks at it in none of them.
const VERSION: u8 = 1;

/// A family as this kernel numbers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// The type of its messages.
    pub id: u16,
    /// Its multicast groups by name.
    pub groups: BTreeMap<String, u32>,
}

/// A socket for the questions of one family. One per asking thread.
#[derive(Debug)]
pub struct Genl {
    netlink: Netlink,
    family: u16,
}

/// What to ask for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// What it is called in errors, "ETHTOOL_MSG_PAUSE_GET".
    pub name: &'static str,
    /// Its number in the family.
    pub command: u8,
    /// The attributes.
    pub attributes: &'a [u8],
}

impl Genl {
    /// A socket for `family` in the calling thread's network namespace, which waits `timeout` at most for each part of
    /// an answer; `None` if this kernel has no such family.
    ///
    /// # Errors
    ///
    /// If no such socket can be had, or the kernel does not say.
    pub fn open(family: &str, timeout: Duration) -> Result<Option<Self>, NetlinkError> {
        let mut netlink = Netlink::open(NETLINK_GENERIC, timeout)?;
        let family = resolve(&mut netlink, family)?;
        Ok(family.map(|family| Self { netlink, family: family.id }))
    }

    /// What `query` answers about one object: the attributes of each message with its command through `decode`, which
    /// may leave it out.
    ///
    /// # Errors
    ///
    /// If the kernel refuses, does not answer in time or answers nonsense.
    pub fn get<T>(
        &mut self,
        query: Query<'_>,
        decode: impl FnMut(u8, &[u8]) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, NetlinkError> {
        let body = body_of(query);
        self.netlink.get(self.request(query.name, &body), through(decode))
    }

    /// What `query` lists, as [`Self::get`].
    ///
    /// # Errors
    ///
    /// As [`Self::get`], and if the list keeps changing.
    pub fn dump<T>(
        &mut self,
        query: Query<'_>,
        decode: impl FnMut(u8, &[u8]) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, NetlinkError> {
        let body = body_of(query);
        self.netlink.dump(self.request(query.name, &body), through(decode))
    }

    /// Has the family do what `query` says.
    ///
    /// # Errors
    ///
    /// If the kernel refuses, does not answer in time or answers nonsense.
    pub fn set(&mut self, query: Query<'_>) -> Result<(), NetlinkError> {
        let body = body_of(query);
        self.netlink.set(self.request(query.name, &body), |_, _| Ok(None::<()>)).map(drop)
    }

    const fn request<'a>(&self, name: &'static str, body: &'a [u8]) -> Request<'a> {
        Request { name, message_type: self.family, body }
    }
}

/// Takes messages apart for a `decode` that is not interested in their head.
fn through<T>(
    mut decode: impl FnMut(u8, &[u8]) -> Result<Option<T>, Malformed>,
) -> impl FnMut(u16, &[u8]) -> Result<Option<T>, Malformed> {
    move |_, payload| {
        let (command, attributes) = split(payload)?;
        decode(command, attributes)
    }
}

/// The family called `name`; `None` if this kernel has none.
///
/// # Errors
///
/// If the kernel does not say.
pub fn resolve(netlink: &mut Netlink, name: &str) -> Result<Option<Family>, NetlinkError> {
    let mut attributes = Vec::new();
    put_text(&mut attributes, CTRL_ATTR_FAMILY_NAME, name);
    let query = Query { name: "CTRL_CMD_GETFAMILY", command: CTRL_CMD_GETFAMILY, attributes: &attributes };
    let request = Request { name: query.name, message_type: GENL_ID_CTRL, body: &body_of(query) };
    let answer = netlink.get(request, |_, payload| match split(payload)? {
        (CTRL_CMD_NEWFAMILY, attributes) => Family::decode(attributes),
        _ => Ok(None),
    });
    match answer {
        Ok(families) => Ok(families.into_iter().next()),
        Err(error) if error.errno() == Some(Errno::NOENT.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Family {
    /// The family that the attributes of a `CTRL_CMD_NEWFAMILY` message describe; `None` without a number.
    ///
    /// # Errors
    ///
    /// If they are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        let (mut id, mut groups) = (None, BTreeMap::new());
        for attribute in attributes(bytes) {
            match attribute? {
                (CTRL_ATTR_FAMILY_ID, value) => id = value.first_chunk().map(|id| u16::from_ne_bytes(*id)),
                (CTRL_ATTR_MCAST_GROUPS, list) => {
                    for group in attributes(list) {
                        groups.extend(group_of(group?.1)?);
                    }
                }
                _ => {}
            }
        }
        Ok(id.map(|id| Self { id, groups }))
    }
}

fn group_of(nest: &[u8]) -> Result<Option<(String, u32)>, Malformed> {
    let (mut name, mut id) = (None, None);
    for attribute in attributes(nest) {
        match attribute? {
            (CTRL_ATTR_MCAST_GRP_NAME, value) => name = text_of(value),
            (CTRL_ATTR_MCAST_GRP_ID, value) => id = u32_of(value),
            _ => {}
        }
    }
    Ok(name.zip(id))
}

fn body_of(query: Query<'_>) -> Vec<u8> {
    let mut body = vec![query.command, VERSION, 0, 0];
    body.extend(query.attributes);
    body
}

/// The command and the attributes of a message.
///
/// # Errors
///
/// If it is too short to have a command.
pub fn split(payload: &[u8]) -> Result<(u8, &[u8]), Malformed> {
    match payload.split_at_checked(GENL_HDRLEN) {
        Some(([command, ..], attributes)) => Ok((*command, attributes)),
        Some(([], _)) | None => Err(Malformed { what: "generic netlink message", len: payload.len() }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::netlink_wire::tests::attribute;
    use super::*;

    #[test]
    fn a_message_is_its_command_and_what_follows_the_head() {
        assert_eq!(split(&[7, 1, 0, 0, 9, 9]), Ok((7, &[9, 9][..])));
        for len in 0..GENL_HDRLEN {
            assert!(split(&[7; GENL_HDRLEN][..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn a_group_without_a_number_is_no_group_and_a_family_without_one_no_family() {
        let group = |parts: &[Vec<u8>]| attribute(1, &parts.concat());
        let name = attribute(CTRL_ATTR_MCAST_GRP_NAME, b"config\0");
        let number = attribute(CTRL_ATTR_MCAST_GRP_ID, &5_u32.to_ne_bytes());
        let groups = [group(&[name.clone(), number.clone()]), group(&[name]), group(&[number])].concat();
        let groups = attribute(CTRL_ATTR_MCAST_GROUPS, &groups);
        assert_eq!(Family::decode(&groups), Ok(None));
        let family = [attribute(CTRL_ATTR_FAMILY_ID, &21_u16.to_ne_bytes()), groups].concat();
        let expected = Family { id: 21, groups: [("config".to_owned(), 5)].into() };
        assert_eq!(Family::decode(&family), Ok(Some(expected)));
    }
}
