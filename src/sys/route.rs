//! Routes, as far as they tell which devices the node is reached over, or reaches an address over. Asks nothing itself.

use std::net::IpAddr;

use super::netlink_wire::{Malformed, attributes, put_attribute, u32_of};
use super::uapi::*;

/// Where a default route leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hops {
    /// Over these devices.
    Devices(Vec<u32>),
    /// Over a nexthop object, of which the kernel tells its number alone (`net.ipv4.nexthop_compat_mode` is 0).
    Untold,
}

/// Where the default route in the payload of a `RTM_NEWROUTE` message leads; `None` if it is another route, or none that
/// packets leave by.
///
/// # Errors
///
/// If the payload is not such a message.
pub(super) fn default_route(payload: &[u8]) -> Result<Option<Hops>, Malformed> {
    let Some((head, body)) = payload.split_at_checked(RTMSG_LEN) else {
        return Err(Malformed { what: "route message", len: payload.len() });
    };
    if head[RTMSG_DST_LEN] != 0 || head[RTMSG_TYPE] != RTN_UNICAST {
        return Ok(None);
    }
    let (mut devices, mut is_object) = (Vec::new(), false);
    for attribute in attributes(body) {
        match attribute? {
            (RTA_OIF, value) => devices.extend(u32_of(value)),
            (RTA_MULTIPATH, hops) => devices.extend(next_hops(hops)),
            (RTA_NH_ID, _) => is_object = true,
            _ => {}
        }
    }
    Ok(match (devices.is_empty(), is_object) {
        (false, _) => Some(Hops::Devices(devices)),
        (true, true) => Some(Hops::Untold),
        (true, false) => None,
    })
}

/// The question which way packets go to `to`, from the address `from` if that is given.
pub(super) fn way_to(to: IpAddr, from: Option<IpAddr>) -> Vec<u8> {
    let mut body = vec![0; RTMSG_LEN];
    body[RTMSG_FAMILY] = if to.is_ipv4() { AF_INET } else { AF_INET6 };
    body[RTMSG_DST_LEN] = put_address(&mut body, RTA_DST, to);
    if let Some(from) = from.filter(|from| from.is_ipv4() == to.is_ipv4()) {
        body[RTMSG_SRC_LEN] = put_address(&mut body, RTA_SRC, from);
    }
    body
}

/// Says how many bits it has.
fn put_address(body: &mut Vec<u8>, kind: u16, address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(address) => put_attribute(body, kind, &address.octets()),
        IpAddr::V6(address) => put_attribute(body, kind, &address.octets()),
    }
    if address.is_ipv4() { 32 } else { 128 }
}

/// The device of a way.
///
/// # Errors
///
/// If the payload is no route.
pub(super) fn device_of(payload: &[u8]) -> Result<Option<u32>, Malformed> {
    let Some((_, body)) = payload.split_at_checked(RTMSG_LEN) else {
        return Err(Malformed { what: "route message", len: payload.len() });
    };
    let mut device = None;
    for attribute in attributes(body) {
        if let (RTA_OIF, value) = attribute? {
            device = u32_of(value);
        }
    }
    Ok(device)
}

/// The devices of a list of `struct rtnexthop`, each as long as it says; one that is cut short ends it.
fn next_hops(mut hops: &[u8]) -> Vec<u32> {
    let mut devices = Vec::new();
    while let Some(hop) = hops.get(..RTNEXTHOP_LEN) {
        let len = usize::from(u16::from_ne_bytes([hop[0], hop[1]]));
        devices.extend(u32_of(&hop[RTNEXTHOP_OIF..]));
        match hops.get(len.max(RTNEXTHOP_LEN).next_multiple_of(4)..) {
            Some(rest) => hops = rest,
            None => break,
        }
    }
    devices
}

#[cfg(test)]
mod tests {
    use super::super::netlink_wire::tests::attribute;
    use super::*;

    fn route(dst_len: u8, kind: u8, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![0; RTMSG_LEN];
        (bytes[RTMSG_DST_LEN], bytes[RTMSG_TYPE]) = (dst_len, kind);
        bytes.extend(attributes.concat());
        bytes
    }

    fn over(devices: &[u32]) -> Result<Option<Hops>, Malformed> {
        Ok(Some(Hops::Devices(devices.to_vec())))
    }

    fn hop(ifindex: u32) -> Vec<u8> {
        let mut bytes = vec![RTNEXTHOP_LEN as u8, 0, 0, 0];
        bytes.extend(ifindex.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_default_route_leads_over_its_device_or_over_each_of_its_hops() {
        let one = attribute(RTA_OIF, &3_u32.to_ne_bytes());
        assert_eq!(default_route(&route(0, RTN_UNICAST, &[one])), over(&[3]));
        let two = attribute(RTA_MULTIPATH, &[hop(4), hop(5)].concat());
        assert_eq!(default_route(&route(0, RTN_UNICAST, &[two])), over(&[4, 5]));
    }

    #[test]
    fn a_default_route_over_a_nexthop_object_leads_where_the_kernel_says_or_nobody_can_tell() {
        let object = || attribute(RTA_NH_ID, &1_u32.to_ne_bytes());
        let device = attribute(RTA_OIF, &3_u32.to_ne_bytes());
        assert_eq!(default_route(&route(0, RTN_UNICAST, &[object(), device])), over(&[3]));
        assert_eq!(default_route(&route(0, RTN_UNICAST, &[object()])), Ok(Some(Hops::Untold)));
        assert_eq!(default_route(&route(24, RTN_UNICAST, &[object()])), Ok(None));
    }

    #[test]
    fn a_route_to_a_network_and_one_that_leads_nowhere_are_no_default_route() {
        let device = || attribute(RTA_OIF, &3_u32.to_ne_bytes());
        assert_eq!(default_route(&route(24, RTN_UNICAST, &[device()])), Ok(None));
        const RTN_UNREACHABLE: u8 = 7;
        assert_eq!(default_route(&route(0, RTN_UNREACHABLE, &[device()])), Ok(None));
        assert_eq!(default_route(&route(0, RTN_UNICAST, &[])), Ok(None));
    }

    #[test]
    fn a_way_is_asked_for_by_both_addresses_if_they_are_of_one_family() {
        let (to, from) = ([192, 0, 2, 1].into(), [192, 0, 2, 9].into());
        let body = way_to(to, Some(from));
        assert_eq!((body[RTMSG_FAMILY], body[RTMSG_DST_LEN], body[RTMSG_SRC_LEN]), (AF_INET, 32, 32));
        assert_eq!(body.len(), RTMSG_LEN + 8 + 8);
        let mixed = way_to(std::net::Ipv6Addr::LOCALHOST.into(), Some(from));
        assert_eq!((mixed[RTMSG_FAMILY], mixed[RTMSG_DST_LEN], mixed[RTMSG_SRC_LEN]), (AF_INET6, 128, 0));
        assert_eq!(
            device_of(&route(32, RTN_UNICAST, &[attribute(RTA_OIF, &3_u32.to_ne_bytes())])),
            Ok(Some(3))
        );
        assert_eq!(device_of(&route(32, RTN_UNICAST, &[])), Ok(None));
        assert!(device_of(&[0; 3]).is_err());
    }

    #[test]
    fn no_truncation_makes_decoding_panic_or_end_late() {
        let whole = route(0, RTN_UNICAST, &[attribute(RTA_MULTIPATH, &[hop(4), hop(5)].concat())]);
        for len in 0..whole.len() {
            let cut = default_route(&whole[..len]);
            assert!(len >= RTMSG_LEN || cut.is_err(), "{len} bytes");
        }
        assert_eq!(next_hops(&[0; 64]).len(), 8);
    }
}
