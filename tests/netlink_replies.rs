//! Replies of a real kernel, kept in `tests/replies`, as the decoders read them; and the same replies cut short, changed
//! and made up, which must cost no more than what they spoil.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use rocewatch::sys::dcb::{DcbSettings, Trust};
use rocewatch::sys::devlink::{DevlinkPort, Flavour, Reporter};
use rocewatch::sys::ethtool_replies::{
    Coalescing, DownReason, FecCounts, LinkState, PauseState, StandardCounts,
};
use rocewatch::sys::genl::{Family, split};
use rocewatch::sys::netdev::BusDevice;
use rocewatch::sys::uapi::*;

/// The bytes of a reply, as hexadecimal digits below lines that say where they come from.
fn reply(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replies").join(format!("{name}.hex"));
    let text = fs::read_to_string(path).unwrap();
    let digits: String = text.lines().filter(|line| !line.starts_with('#')).collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// The attributes of a generic netlink reply.
fn attributes_of(name: &str) -> Vec<u8> {
    split(&reply(name)).unwrap().1.to_vec()
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = u16::try_from(4 + value.len()).unwrap().to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn nest(kind: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
    attribute(kind | NLA_F_NESTED, &attributes.concat())
}

/// Feeds every decoder; what comes out does not matter, that something does is the test.
fn decode_as_everything(payload: &[u8]) {
    let _ = DcbSettings::decode(payload);
    let Ok((_, attributes)) = split(payload) else { return };
    let _ = Family::decode(attributes);
    let _ = PauseState::decode(attributes);
    let _ = FecCounts::decode(attributes);
    let _ = Coalescing::decode(attributes);
    let _ = LinkState::decode(attributes);
    let _ = StandardCounts::decode(attributes);
    let _ = DevlinkPort::decode(attributes);
    let _ = Reporter::decode(attributes);
}

fn all_replies() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replies");
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert!(names.len() >= 10, "{names:?}");
    names.iter().map(|path| reply(path.file_stem().unwrap().to_str().unwrap())).collect()
}

#[test]
fn the_dcb_settings_of_a_port_are_read() {
    let settings = DcbSettings::decode(&reply("dcb-pfcsim")).unwrap();
    assert_eq!((settings.pfc, settings.peer_pfc), (Some(0b1000), None));
    assert_eq!(settings.trust, Some(Trust::Dscp));
    assert!(settings.is_owned_by_host());
}

#[test]
fn a_family_has_its_number_and_its_groups() {
    let family = Family::decode(&attributes_of("family-ethtool")).unwrap().unwrap();
    assert_eq!((family.id, family.groups), (0x14, [("monitor".to_owned(), 4)].into()));
}

#[test]
fn pause_is_read_with_its_counts() {
    let pause = PauseState::decode(&attributes_of("pause-netdevsim")).unwrap();
    let off = Some(false);
    assert_eq!((pause.autoneg, pause.rx, pause.tx), (off, off, off));
    assert_eq!((pause.rx_frames, pause.tx_frames, pause.tx_storm_events), (Some(1), Some(2), None));
    // As kernels from 7.0 have it.
    let storms = attribute(ETHTOOL_A_PAUSE_STAT_TX_PAUSE_STORM_EVENTS, &9_u64.to_ne_bytes());
    let newer = PauseState::decode(&nest(ETHTOOL_A_PAUSE_STATS, &[storms])).unwrap();
    assert_eq!((newer.tx_storm_events, newer.rx), (Some(9), None));
}

#[test]
fn a_driver_that_counts_no_error_correction_shows_none_and_of_lanes_the_total_counts() {
    assert_eq!(FecCounts::decode(&attributes_of("fec-netdevsim")), Ok(FecCounts::default()));
    let lanes = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>();
    let told = nest(
        ETHTOOL_A_FEC_STATS,
        &[
            attribute(ETHTOOL_A_FEC_STAT_CORRECTED, &lanes(&[30, 10, 20])),
            attribute(ETHTOOL_A_FEC_STAT_UNCORR, &lanes(&[0])),
            attribute(ETHTOOL_A_FEC_STAT_CORR_BITS, &lanes(&[7])[..7]),
        ],
    );
    let counts = FecCounts::decode(&told).unwrap();
    assert_eq!((counts.corrected_blocks, counts.uncorrectable_blocks), (Some(30), Some(0)));
    assert_eq!(counts.corrected_bits, None, "seven bytes are no number");
}

#[test]
fn never_to_copy_the_statistics_is_told_apart_from_not_to_say() {
    let told = Coalescing::decode(&attributes_of("coalesce-netdevsim")).unwrap();
    assert_eq!((told.adaptive_rx, told.adaptive_tx), (Some(true), Some(false)));
    assert_eq!(told.stats_block_us, Some(500_000));
    let never = attribute(ETHTOOL_A_COALESCE_STATS_BLOCK_USECS, &0_u32.to_ne_bytes());
    assert_eq!(Coalescing::decode(&never).unwrap().stats_block_us, Some(0));
    assert_eq!(Coalescing::decode(&[]).unwrap().stats_block_us, None);
}

#[test]
fn the_reason_of_a_dead_link_is_told_where_the_driver_has_one() {
    assert_eq!(LinkState::decode(&attributes_of("linkstate-veth")), Ok(LinkState::default()));
    let state = |number: u8| {
        let reason = attribute(ETHTOOL_A_LINKSTATE_EXT_STATE, &[number]);
        let downs = attribute(ETHTOOL_A_LINKSTATE_EXT_DOWN_CNT, &3_u32.to_ne_bytes());
        LinkState::decode(&[reason, downs].concat()).unwrap()
    };
    let no_cable = state(ETHTOOL_LINK_EXT_STATE_NO_CABLE);
    assert_eq!((no_cable.down_reason, no_cable.downs), (Some(DownReason::NoCable), Some(3)));
    assert_eq!(state(200).down_reason, None);
}

#[test]
fn standard_counters_are_taken_by_group_and_number() {
    let none = StandardCounts::default();
    assert_eq!(StandardCounts::decode(&attributes_of("stats-veth")), Ok(none));
    let group = |id: u32, counters: &[(u16, u64)]| {
        let mut parts = vec![attribute(ETHTOOL_A_STATS_GRP_ID, &id.to_ne_bytes())];
        parts.extend(counters.iter().map(|(number, value)| {
            nest(ETHTOOL_A_STATS_GRP_STAT, &[attribute(*number, &value.to_ne_bytes())])
        }));
        nest(ETHTOOL_A_STATS_GRP, &parts)
    };
    let bytes =
        [group(0, &[(0, 5)]), group(1, &[(3, 77), (4, 6)]), group(2, &[(0, 7), (1, 8)]), group(3, &[(0, 9)])];
    let counts = StandardCounts::decode(&bytes.concat()).unwrap();
    assert_eq!((counts.symbol_errors, counts.crc_errors), (Some(5), Some(6)));
    assert_eq!((counts.tx_control_frames, counts.rx_control_frames), (Some(7), Some(8)));
}

#[test]
fn a_devlink_port_knows_its_device_flavour_and_netdev() {
    let port = DevlinkPort::decode(&attributes_of("port-netdevsim")).unwrap().unwrap();
    let device = BusDevice { bus: "netdevsim".into(), address: "netdevsim1".into() };
    assert_eq!((port.device, port.index, port.number), (device, 1, Some(2)));
    assert_eq!((port.flavour, port.ifindex), (Some(Flavour::Physical), Some(5)));
}

#[test]
fn a_reporter_tells_its_state_and_its_counts() {
    let broken = Reporter::decode(&attributes_of("reporter-netdevsim")).unwrap().unwrap();
    assert_eq!((broken.name.as_str(), broken.port, broken.in_error), ("dummy", None, Some(true)));
    assert_eq!((broken.errors, broken.recoveries), (Some(1), Some(0)));
    let well = Reporter::decode(&attributes_of("reporter-pfcsim")).unwrap().unwrap();
    assert_eq!((well.name.as_str(), well.device.address.as_str()), ("tx", "pfcsim.1"));
    assert_eq!((well.in_error, well.errors), (Some(false), Some(0)));
}

#[test]
fn who_runs_dcbx_decides_about_the_settings() {
    let owned = |dcbx: Option<u8>| DcbSettings { dcbx, ..DcbSettings::default() }.is_owned_by_host();
    // No DCBX; the host; the host with a version (bnxt, ice); firmware that says so; firmware of mlx5.
    assert_eq!(
        [None, Some(0), Some(0x01), Some(0x09), Some(0x0a), Some(0x0c)].map(owned),
        [true, true, true, true, false, false]
    );
}

#[test]
fn a_mask_that_is_cut_short_is_none_and_the_peers_mask_is_not_ours() {
    let pfc = |kind: u16, len: usize| {
        let mut bytes = [0; IEEE_PFC_LEN];
        bytes[IEEE_PFC_EN] = 0b1_1000;
        nest(DCB_ATTR_IEEE, &[attribute(kind, &bytes[..len])])
    };
    let decoded = |body: Vec<u8>| DcbSettings::decode(&[vec![0; DCBMSG_LEN], body].concat()).unwrap();
    let peer = decoded(pfc(DCB_ATTR_IEEE_PEER_PFC, IEEE_PFC_LEN));
    assert_eq!((peer.pfc, peer.peer_pfc, peer.trust), (None, Some(0b1_1000), None));
    for len in 0..IEEE_PFC_LEN {
        assert_eq!(decoded(pfc(DCB_ATTR_IEEE_PFC, len)).pfc, None, "{len} bytes");
    }
}

#[test]
fn no_length_of_any_reply_makes_a_decoder_panic() {
    for reply in all_replies() {
        for len in 0..=reply.len() {
            decode_as_everything(&reply[..len]);
        }
        decode_as_everything(&[&reply[..], &[0xff; 64]].concat());
        decode_as_everything(&reply.repeat(100));
    }
}

#[test]
fn no_single_byte_of_any_reply_makes_a_decoder_panic() {
    for mut reply in all_replies() {
        for at in 0..reply.len() {
            let before = reply[at];
            for byte in [0, 1, 3, 4, 0x7f, 0x80, 0xff] {
                reply[at] = byte;
                decode_as_everything(&reply);
            }
            reply[at] = before;
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in vec(any::<u8>(), 0..300)) {
        decode_as_everything(&bytes);
    }

    #[test]
    fn no_attributes_make_a_decoder_panic(list in vec((0_u16..150, vec(any::<u8>(), 0..40)), 0..12)) {
        let attributes: Vec<_> = list.iter().map(|(kind, value)| attribute(*kind, value)).collect();
        decode_as_everything(&[vec![0; GENL_HDRLEN], attributes.concat()].concat());
        for kind in [DCB_ATTR_IEEE, ETHTOOL_A_STATS_GRP, ETHTOOL_A_PAUSE_STATS, DEVLINK_ATTR_HEALTH_REPORTER] {
            decode_as_everything(&[vec![0; GENL_HDRLEN], nest(kind, &attributes)].concat());
        }
    }
}

#[test]
fn attributes_of_the_wrong_type_are_absent_and_spoil_nothing_beside_them() {
    let bytes = [
        attribute(ETHTOOL_A_PAUSE_AUTONEG, &[]),
        attribute(ETHTOOL_A_PAUSE_RX, b"on\0"),
        nest(ETHTOOL_A_PAUSE_STATS, &[attribute(ETHTOOL_A_PAUSE_STAT_RX_FRAMES, &[1; 4])]),
        attribute(ETHTOOL_A_PAUSE_TX, &[0]),
    ];
    let pause = PauseState::decode(&bytes.concat()).unwrap();
    assert_eq!((pause.autoneg, pause.rx_frames, pause.tx), (None, None, Some(false)));
    let nameless = attribute(DEVLINK_ATTR_BUS_NAME, &[0xff, 0xfe, 0]);
    assert_eq!(Reporter::decode(&nameless), Ok(None));
    assert_eq!(DevlinkPort::decode(&nameless), Ok(None));
    assert_eq!(Family::decode(&attribute(CTRL_ATTR_FAMILY_ID, &[7])), Ok(None));
}
