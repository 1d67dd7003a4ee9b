//! The kernel's numbers and layouts that `sys` relies on, each with the C expression it must equal.
//! `tests/kernel_constants.rs` compiles these expressions against the kernel's headers and compares.

use netlink_packet_core as packet;

macro_rules! kernel {
    ($($name:ident: $type:ty = $value:expr, $expression:literal;)*) => {
        $(
            #[doc = concat!("The kernel's `", $expression, "`.")]
            pub const $name: $type = $value;
        )*

        /// Every number of this file with the C expression it must equal.
        pub const ALL: &[(&str, u64)] = &[$(($expression, $value as u64)),*];
    };
}

kernel! {
    // linux/sockios.h and linux/if.h
    SIOCETHTOOL: u32 = 0x8946, "SIOCETHTOOL";
    IFNAMSIZ: usize = 16, "IFNAMSIZ";
    IFREQ_LEN: usize = 40, "sizeof(struct ifreq)";
    IFREQ_DATA: usize = 16, "offsetof(struct ifreq, ifr_data)";
    IFF_UP: u32 = 1, "IFF_UP";
    IFF_LOOPBACK: u32 = 8, "IFF_LOOPBACK";
    IF_OPER_UNKNOWN: u8 = 0, "IF_OPER_UNKNOWN";
    IF_OPER_NOTPRESENT: u8 = 1, "IF_OPER_NOTPRESENT";
    IF_OPER_DOWN: u8 = 2, "IF_OPER_DOWN";
    IF_OPER_LOWERLAYERDOWN: u8 = 3, "IF_OPER_LOWERLAYERDOWN";
    IF_OPER_TESTING: u8 = 4, "IF_OPER_TESTING";
    IF_OPER_DORMANT: u8 = 5, "IF_OPER_DORMANT";
    IF_OPER_UP: u8 = 6, "IF_OPER_UP";

    // linux/ethtool.h
    ETHTOOL_GDRVINFO: u32 = 0x03, "ETHTOOL_GDRVINFO";
    ETHTOOL_GPAUSEPARAM: u32 = 0x12, "ETHTOOL_GPAUSEPARAM";
    ETHTOOL_GSTRINGS: u32 = 0x1b, "ETHTOOL_GSTRINGS";
    ETHTOOL_GSTATS: u32 = 0x1d, "ETHTOOL_GSTATS";
    ETHTOOL_GSSET_INFO: u32 = 0x37, "ETHTOOL_GSSET_INFO";
    ETHTOOL_GTUNABLE: u32 = 0x48, "ETHTOOL_GTUNABLE";
    ETH_SS_STATS: u32 = 1, "ETH_SS_STATS";
    ETH_GSTRING_LEN: usize = 32, "ETH_GSTRING_LEN";
    ETHTOOL_PFC_PREVENTION_TOUT: u32 = 3, "ETHTOOL_PFC_PREVENTION_TOUT";
    ETHTOOL_TUNABLE_U16: u32 = 2, "ETHTOOL_TUNABLE_U16";
    DRVINFO_LEN: usize = 196, "sizeof(struct ethtool_drvinfo)";
    DRVINFO_DRIVER: usize = 4, "offsetof(struct ethtool_drvinfo, driver)";
    DRVINFO_VERSION: usize = 36, "offsetof(struct ethtool_drvinfo, version)";
    DRVINFO_FW_VERSION: usize = 68, "offsetof(struct ethtool_drvinfo, fw_version)";
    DRVINFO_BUS_INFO: usize = 100, "offsetof(struct ethtool_drvinfo, bus_info)";
    DRVINFO_STRING_LEN: usize = 32, "sizeof(((struct ethtool_drvinfo *)0)->bus_info)";
    SSET_INFO_MASK: usize = 8, "offsetof(struct ethtool_sset_info, sset_mask)";
    SSET_INFO_DATA: usize = 16, "offsetof(struct ethtool_sset_info, data)";
    GSTRINGS_SET: usize = 4, "offsetof(struct ethtool_gstrings, string_set)";
    GSTRINGS_COUNT: usize = 8, "offsetof(struct ethtool_gstrings, len)";
    GSTRINGS_DATA: usize = 12, "offsetof(struct ethtool_gstrings, data)";
    STATS_COUNT: usize = 4, "offsetof(struct ethtool_stats, n_stats)";
    STATS_DATA: usize = 8, "offsetof(struct ethtool_stats, data)";
    PAUSEPARAM_LEN: usize = 16, "sizeof(struct ethtool_pauseparam)";
    PAUSEPARAM_AUTONEG: usize = 4, "offsetof(struct ethtool_pauseparam, autoneg)";
    PAUSEPARAM_RX: usize = 8, "offsetof(struct ethtool_pauseparam, rx_pause)";
    PAUSEPARAM_TX: usize = 12, "offsetof(struct ethtool_pauseparam, tx_pause)";
    TUNABLE_ID: usize = 4, "offsetof(struct ethtool_tunable, id)";
    TUNABLE_TYPE: usize = 8, "offsetof(struct ethtool_tunable, type_id)";
    TUNABLE_VALUE_LEN: usize = 12, "offsetof(struct ethtool_tunable, len)";
    TUNABLE_DATA: usize = 16, "offsetof(struct ethtool_tunable, data)";

    // linux/netlink.h; those that the library has are taken from it and compared all the same
    NLMSG_HDRLEN: usize = 16, "NLMSG_HDRLEN";
    NLMSG_NOOP: u16 = packet::NLMSG_NOOP, "NLMSG_NOOP";
    NLMSG_ERROR: u16 = packet::NLMSG_ERROR, "NLMSG_ERROR";
    NLMSG_DONE: u16 = packet::NLMSG_DONE, "NLMSG_DONE";
    NLMSG_OVERRUN: u16 = packet::NLMSG_OVERRUN, "NLMSG_OVERRUN";
    NLM_F_REQUEST: u16 = packet::NLM_F_REQUEST, "NLM_F_REQUEST";
    NLM_F_DUMP: u16 = packet::NLM_F_DUMP, "NLM_F_DUMP";
    NLM_F_ACK: u16 = packet::NLM_F_ACK, "NLM_F_ACK";
    NLM_F_DUMP_INTR: u16 = packet::NLM_F_DUMP_INTR, "NLM_F_DUMP_INTR";
    NLM_F_CAPPED: u16 = packet::NLM_F_CAPPED, "NLM_F_CAPPED";
    NLM_F_ACK_TLVS: u16 = packet::NLM_F_ACK_TLVS, "NLM_F_ACK_TLVS";
    NLMSGERR_ATTR_MSG: u16 = 1, "NLMSGERR_ATTR_MSG";

    // linux/rtnetlink.h
    RTM_NEWLINK: u16 = 16, "RTM_NEWLINK";
    RTM_DELLINK: u16 = 17, "RTM_DELLINK";
    RTM_GETLINK: u16 = 18, "RTM_GETLINK";
    RTM_GETDCB: u16 = 78, "RTM_GETDCB";
    RTM_SETDCB: u16 = 79, "RTM_SETDCB";
    RTNLGRP_LINK: u32 = 1, "RTNLGRP_LINK";
    RTNLGRP_DCB: u32 = 23, "RTNLGRP_DCB";
    IFINFOMSG_LEN: usize = 16, "sizeof(struct ifinfomsg)";
    IFINFOMSG_FAMILY: usize = 0, "offsetof(struct ifinfomsg, ifi_family)";
    IFINFOMSG_INDEX: usize = 4, "offsetof(struct ifinfomsg, ifi_index)";
    IFINFOMSG_FLAGS: usize = 8, "offsetof(struct ifinfomsg, ifi_flags)";

    // linux/if_link.h
    IFLA_IFNAME: u16 = 3, "IFLA_IFNAME";
    IFLA_MTU: u16 = 4, "IFLA_MTU";
    IFLA_LINK: u16 = 5, "IFLA_LINK";
    IFLA_MASTER: u16 = 10, "IFLA_MASTER";
    IFLA_OPERSTATE: u16 = 16, "IFLA_OPERSTATE";
    IFLA_LINKINFO: u16 = 18, "IFLA_LINKINFO";
    IFLA_STATS64: u16 = 23, "IFLA_STATS64";
    IFLA_CARRIER: u16 = 33, "IFLA_CARRIER";
    IFLA_PHYS_PORT_ID: u16 = 34, "IFLA_PHYS_PORT_ID";
    IFLA_CARRIER_CHANGES: u16 = 35, "IFLA_CARRIER_CHANGES";
    IFLA_LINK_NETNSID: u16 = 37, "IFLA_LINK_NETNSID";
    IFLA_PHYS_PORT_NAME: u16 = 38, "IFLA_PHYS_PORT_NAME";
    IFLA_CARRIER_UP_COUNT: u16 = 47, "IFLA_CARRIER_UP_COUNT";
    IFLA_CARRIER_DOWN_COUNT: u16 = 48, "IFLA_CARRIER_DOWN_COUNT";
    IFLA_PERM_ADDRESS: u16 = 54, "IFLA_PERM_ADDRESS";
    IFLA_PARENT_DEV_NAME: u16 = 56, "IFLA_PARENT_DEV_NAME";
    IFLA_PARENT_DEV_BUS_NAME: u16 = 57, "IFLA_PARENT_DEV_BUS_NAME";
    IFLA_INFO_KIND: u16 = 1, "IFLA_INFO_KIND";
    STATS64_RX_PACKETS: usize = 0, "offsetof(struct rtnl_link_stats64, rx_packets)";
    STATS64_TX_PACKETS: usize = 8, "offsetof(struct rtnl_link_stats64, tx_packets)";
    STATS64_RX_BYTES: usize = 16, "offsetof(struct rtnl_link_stats64, rx_bytes)";
    STATS64_TX_BYTES: usize = 24, "offsetof(struct rtnl_link_stats64, tx_bytes)";
    STATS64_RX_ERRORS: usize = 32, "offsetof(struct rtnl_link_stats64, rx_errors)";
    STATS64_TX_ERRORS: usize = 40, "offsetof(struct rtnl_link_stats64, tx_errors)";
    STATS64_RX_DROPPED: usize = 48, "offsetof(struct rtnl_link_stats64, rx_dropped)";
    STATS64_TX_DROPPED: usize = 56, "offsetof(struct rtnl_link_stats64, tx_dropped)";
    STATS64_RX_MISSED: usize = 120, "offsetof(struct rtnl_link_stats64, rx_missed_errors)";

    // linux/dcbnl.h
    DCBMSG_LEN: usize = 4, "sizeof(struct dcbmsg)";
    DCB_ATTR_IFNAME: u16 = 1, "DCB_ATTR_IFNAME";
}
