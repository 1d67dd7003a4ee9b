use std::time::Duration;

use rocewatch_core::units::Priority;

use super::*;
use crate::config::{Length, Size, Style};

fn problems(text: &str) -> Vec<String> {
    match Profile::parse("p.toml", text) {
        Ok(_) => Vec::new(),
        Err(error) => error.render(Style::Lines).lines().map(str::to_owned).collect(),
    }
}

#[test]
fn the_built_in_profile_is_what_the_guides_say_and_leaves_to_each_host_what_is_its_own() {
    let profile = Profile::builtin(ROCEV2_DEFAULT).unwrap();
    assert_eq!(profile.pfc.priorities, Some(vec![Priority::new(3).unwrap()]));
    assert_eq!((profile.roce.dscp, profile.roce.traffic_class), (Some(26), Some(106)));
    assert_eq!((profile.cnp.dscp, profile.cnp.priority), (Some(48), Priority::new(6)));
    assert_eq!(profile.pfc.switch_detection, Some(Duration::from_millis(200)));
    assert_eq!((profile.moderation.adaptive_rx, profile.link.cable), (None, None));
    assert_eq!(Profile::builtin("other"), None);
}

#[test]
fn a_profile_reads_back_from_its_text_and_from_json() {
    let mut profile = Profile::builtin(ROCEV2_DEFAULT).unwrap();
    profile.link.cable = Some(Length::new(30_000));
    profile.headroom.min = Some(Size::new(184_321));
    profile.pfc.prevention_timeout = Some(Duration::from_millis(100));
    profile.nccl.ib_hca = Some("=mlx5_0,mlx5_1\"\n".into());
    assert_eq!(Profile::parse("p", &profile.to_toml()).unwrap(), profile);
    let json = serde_json::to_string(&profile).unwrap();
    assert_eq!(serde_json::from_str::<Profile>(&json).unwrap(), profile);
    assert_eq!(Profile::parse("p", &Profile::default().to_toml()).unwrap(), Profile::default());
}

#[test]
fn all_that_is_wrong_with_a_profile_is_said_at_once() {
    let text = "\
[link]
speed = \"400\"
cabel = \"30m\"
[mtu]
rdma_active = 4000
[roce]
dscp = 64
trust = \"vlan\"
[pfc]
priorities = [3, 8]
[rocce]
dscp = 26
ecn = 1
";
    assert_eq!(
        problems(text),
        [
            "p.toml:2:9: link.speed: \"400\": expected a speed with its unit, from 1G to 3.2T, such as \"400G\"",
            "p.toml:3:1: link.cabel: \"30m\": expected a key of [link], perhaps cable",
            "p.toml:5:15: mtu.rdma_active: 4000: expected 256, 512, 1024, 2048 or 4096",
            "p.toml:7:8: roce.dscp: 64: expected a whole number from 0 to 63",
            "p.toml:8:9: roce.trust: \"vlan\": expected one of dscp, pcp",
            "p.toml:10:18: pfc.priorities: 8: expected a priority, from 0 to 7",
            "p.toml:11:2: rocce: [rocce]: expected a section, perhaps roce",
        ]
    );
}

#[test]
fn a_profile_that_contradicts_itself_is_refused() {
    let text = "\
[mtu]
netdev = 1500
rdma_active = 4096
[roce]
priority = 3
dscp = 26
traffic_class = 96
[cnp]
dscp = 26
priority = 6
[pfc]
priorities = [4]
prevention_timeout = \"200ms\"
switch_detection = \"200ms\"
[nccl]
ib_tc = 26
";
    let found = problems(text);
    let starts = [
        "p.toml:2:10: mtu.netdev: 1500: expected at least 4192",
        "p.toml:7:17: roce.traffic_class: 96: expected a traffic class of roce.dscp (26): from 104 to 107",
        "p.toml:10:12: cnp.priority: 6: expected 3, as roce.priority",
        "p.toml:12:14: pfc.priorities: [4]: expected a list that holds roce.priority (3)",
        "p.toml:13:22: pfc.prevention_timeout: \"200ms\": expected less than pfc.switch_detection (200ms)",
        "p.toml:16:9: nccl.ib_tc: 26: expected a traffic class of roce.dscp (26): from 104 to 107",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for (line, start) in found.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn a_text_that_is_no_toml_and_a_value_in_place_of_a_table_are_refused() {
    assert_eq!(problems("[link").len(), 1);
    assert_eq!(problems("pfc = 3"), ["p.toml:1:1: pfc: 3: expected the table [pfc]"]);
}

#[test]
fn every_key_says_what_it_means_and_where_it_comes_from() {
    for field in Profile::fields() {
        assert!(!field.meaning.is_empty() && !field.source.is_empty(), "{}", field.path());
        assert!(!field.meaning.ends_with('.'), "{}", field.path());
        assert!(![field.meaning, field.source].iter().any(|text| text.contains('|')), "{}", field.path());
    }
}
