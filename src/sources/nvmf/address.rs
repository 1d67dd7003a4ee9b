//! The address of a controller, as the kernel writes it: `traddr=192.0.2.1,trsvcid=4420,src_addr=192.0.2.9`.

use std::net::{IpAddr, Ipv6Addr};

/// What it says, as far as it says it. Nothing else of it is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Address {
    /// Where the controller is.
    traddr: String,
    /// Its port.
    trsvcid: String,
    /// The interface that was asked for.
    host_iface: String,
    /// The address that was asked for.
    host_traddr: String,
    /// The address in use; told for TCP alone.
    src_addr: String,
}

impl Address {
    /// Reads `text`. What has no name in it, or one that nobody knows, is left out.
    pub(super) fn parse(text: &str) -> Self {
        let mut address = Self::default();
        for (name, value) in text.split(',').filter_map(|part| part.trim().split_once('=')) {
            let field = match name {
                "traddr" => &mut address.traddr,
                "trsvcid" => &mut address.trsvcid,
                "host_iface" => &mut address.host_iface,
                "host_traddr" => &mut address.host_traddr,
                "src_addr" => &mut address.src_addr,
                _ => continue,
            };
            value.trim().clone_into(field);
        }
        address
    }

    /// Where the controller is, such as `192.0.2.1:4420` or `[2001:db8::1]:4420`.
    pub(super) fn remote(&self) -> String {
        match (self.traddr.contains(':'), self.trsvcid.is_empty()) {
            (_, true) => self.traddr.clone(),
            (true, false) => format!("[{}]:{}", self.traddr, self.trsvcid),
            (false, false) => format!("{}:{}", self.traddr, self.trsvcid),
        }
    }

    /// Where it is reached from; empty if that is not told.
    pub(super) fn local(&self) -> &str {
        if self.src_addr.is_empty() { &self.host_traddr } else { &self.src_addr }
    }

    /// The interface that the address itself names: as asked for, or as the scope of one that is good on one link alone.
    pub(super) fn interface(&self) -> Option<&str> {
        let scope = self.traddr.split_once('%').map(|(_, scope)| scope);
        Some(self.host_iface.as_str()).filter(|name| !name.is_empty()).or(scope)
    }

    /// The two ends, for the routing table.
    pub(super) fn ends(&self) -> Option<(IpAddr, Option<IpAddr>)> {
        Some((ip(&self.traddr)?, ip(self.local())))
    }
}

fn ip(text: &str) -> Option<IpAddr> {
    let text = text.split('%').next().unwrap_or_default();
    match text.parse().ok()? {
        // Written so where a socket of IPv6 carries IPv4.
        IpAddr::V6(address) => Some(v4_of(address).unwrap_or(IpAddr::V6(address))),
        IpAddr::V4(address) => Some(IpAddr::V4(address)),
    }
}

fn v4_of(address: Ipv6Addr) -> Option<IpAddr> {
    address.to_ipv4_mapped().map(IpAddr::V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_that_the_kernel_names_is_found_in_any_order() {
        let tcp = "traddr=192.0.2.1,trsvcid=4420,host_traddr=192.0.2.8,host_iface=eth0,src_addr=192.0.2.9";
        let address = Address::parse(tcp);
        assert_eq!((&address.remote()[..], address.local()), ("192.0.2.1:4420", "192.0.2.9"));
        assert_eq!(address.interface(), Some("eth0"));
        assert_eq!(address.ends(), Some(([192, 0, 2, 1].into(), Some([192, 0, 2, 9].into()))));
        let rdma = Address::parse("trsvcid=4420,traddr=192.0.2.1");
        assert_eq!((&rdma.remote()[..], rdma.local(), rdma.interface()), ("192.0.2.1:4420", "", None));
        assert_eq!(rdma.ends(), Some(([192, 0, 2, 1].into(), None)));
    }

    #[test]
    fn an_address_of_one_link_names_its_interface_and_one_of_ipv6_stands_in_brackets() {
        let scoped = Address::parse("traddr=fe80::1%eth3,trsvcid=4420");
        assert_eq!((&scoped.remote()[..], scoped.interface()), ("[fe80::1%eth3]:4420", Some("eth3")));
        let mapped = Address::parse("traddr=::ffff:192.0.2.1,trsvcid=4420");
        assert_eq!(mapped.ends(), Some(([192, 0, 2, 1].into(), None)));
    }

    #[test]
    fn what_is_no_address_of_a_fabric_has_no_ends() {
        for text in
            ["", "0000:3b:00.0", "nn-0x2004:pn-0x2104", "traddr=nn-0x2004:pn-0x2104", "traddr,=,,=4420"]
        {
            assert_eq!(Address::parse(text).ends(), None, "{text}");
        }
        assert_eq!(Address::parse("0000:3b:00.0").remote(), "");
    }
}
