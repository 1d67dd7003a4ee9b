use rocewatch_core::units::Priority;

use super::*;
use crate::profile::Profile;

fn fabric(speed: &str, cable: &str, mtu: u32) -> Fabric {
    Fabric {
        speed: speed.parse().unwrap(),
        cable: cable.parse().unwrap(),
        mtu,
        ports: 64,
        priority: Priority::new(3).unwrap(),
        dscp: 26,
        cnp_dscp: 48,
        cnp_priority: Priority::new(6).unwrap(),
        buffer: None,
        cell: Size::new(256),
        small_packets: 0,
    }
}

fn plan(speed: &str, cable: &str, mtu: u32) -> Plan {
    Plan::of(fabric(speed, cable, mtu)).unwrap()
}

fn terms(fabric: &Fabric) -> (Vec<u64>, u64) {
    let headroom = fabric.headroom().unwrap();
    (headroom.terms.iter().map(|term| term.bytes).collect(), headroom.size.get())
}

/// At 100 Gbit/s a nanosecond is 12.5 bytes.
#[test]
fn the_headroom_at_100g_is_that_of_a_calculation_by_hand() {
    let cable = 2 * 30 * 5 * 25 / 2;
    let frame = 1500 + 14 + 4 + 4 + 8 + 12;
    let (response, own) = (394 * 512 / 8, 7680);
    let sum = cable + frame + 84 + frame + response + own;
    assert_eq!((cable, own, sum), (3750, 6144 * 125 / 100, 39_814));
    let cells = sum / 256 + 1;
    assert_eq!(
        terms(&fabric("100G", "30m", 1500)),
        (vec![cable, frame, 84, frame, response, own], cells * 256)
    );
    assert_eq!(cells * 256, 39_936);
}

/// At 400 Gbit/s a nanosecond is 50 bytes.
#[test]
fn the_headroom_at_400g_is_that_of_a_calculation_by_hand() {
    let cable = 2 * 30 * 5 * 50;
    let frame = 4200 + 42;
    let (response, own) = (905 * 64, 30_720);
    let sum = cable + frame + 84 + frame + response + own;
    assert_eq!((cable, response, sum), (15_000, 57_920, 112_208));
    assert_eq!(
        terms(&fabric("400G", "30m", 4200)),
        (vec![cable, frame, 84, frame, response, own], 439 * 256)
    );
}

#[test]
fn more_cable_larger_packets_and_worse_filled_cells_never_need_less() {
    let size = |cable: &str, mtu, small_packets| {
        Fabric { small_packets, ..fabric("400G", cable, mtu) }.headroom().unwrap().size
    };
    let growing = |sizes: &[Size]| sizes.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(growing(&["1m", "5m", "30m", "300m", "10km"].map(|cable| size(cable, 4200, 0))));
    assert!(growing(&[1500, 4200, 9000].map(|mtu| size("30m", mtu, 0))));
    assert!(growing(&[0, 50, 100].map(|small| size("30m", 4200, small))));
    let speeds: Vec<_> = response_speeds().map(|speed| plan(&speed.to_string(), "30m", 4200)).collect();
    assert!(growing(&speeds.iter().map(|plan| plan.headroom.size).collect::<Vec<_>>()));
}

/// A cell of 208 bytes takes a packet of 64 as if it had 3.25 times its size.
#[test]
fn small_packets_multiply_what_is_under_way() {
    let whole = Fabric { cell: Size::new(208), ..fabric("100G", "40m", 9100) };
    let small = Fabric { small_packets: 100, ..whole.clone() };
    let (before, after) = (terms(&whole), terms(&small));
    let sum: u64 = before.0.iter().sum();
    assert_eq!(after.0.iter().sum::<u64>(), sum * 13 / 4);
    assert_eq!(sum, 5000 + 2 * 9142 + 84 + 25_216 + 7680);
}

#[test]
fn without_a_response_time_there_is_no_headroom_and_with_one_of_ones_own_there_is() {
    let odd = fabric("20G", "30m", 4200);
    assert_eq!(odd.headroom(), None);
    assert_eq!(Plan::of(odd.clone()), None);
    let demand = Demand {
        speed: odd.speed,
        cable: odd.cable,
        mtu: 4200,
        response_quanta: Some(100),
        cell: Size::new(1),
        small_packets: 0,
    };
    assert_eq!(headroom(&demand).unwrap().size.get(), 750 + 2 * 4242 + 84 + 6400 + 1536);
}

#[test]
fn the_largest_figures_saturate() {
    let huge = Demand {
        speed: Speed::new(u64::MAX),
        cable: Length::new(u64::MAX),
        mtu: u32::MAX,
        response_quanta: Some(u32::MAX),
        cell: Size::new(0),
        small_packets: 255,
    };
    assert_eq!(headroom(&huge).unwrap().size.get(), u64::MAX);
}

/// The figures of Linux 6.12 en/port_buffer.c for the same input, in its own integers.
#[test]
fn the_hosts_buffer_is_never_less_than_mlx5_takes() {
    for (speed, cable, mtu, xoff) in [("100G", "30m", 1500, 40_580), ("400G", "30m", 4200, 157_424)] {
        let plan = plan(speed, cable, mtu);
        assert_eq!(buffers::mlx5_xoff(&plan.fabric), xoff);
        let size = plan.host_buffer.size.get();
        assert!(size >= xoff + 9978 + 256 && size < xoff + 9978 + 512, "{size}");
        assert!(plan.host_buffer.size > plan.headroom.size);
    }
}

#[test]
fn thresholds_grow_with_the_speed_and_the_published_pair_holds_at_100g() {
    let bytes = |speed: &str| {
        let marking = Marking::at(speed.parse().unwrap());
        (marking.min.get(), marking.max.get(), marking.probability)
    };
    assert_eq!(bytes("100G"), (150_000, 1_500_000, 100));
    assert_eq!(bytes("400G"), (600_000, 6_000_000, 100));
    assert_eq!(bytes("25G"), (37_500, 375_000, 100));
}

#[test]
fn times_run_out_from_the_nic_to_the_transport_on_switches_of_every_size() {
    let millis = |ports| {
        let times = Times::of(ports);
        [times.switch_detection, times.switch_poll, times.rx_detect].map(|span| span.as_millis())
    };
    assert_eq!(millis(32), [200, 200, 400]);
    assert_eq!(millis(33), [400, 400, 800]);
    assert_eq!(millis(64), [400, 400, 800]);
    assert_eq!(millis(512), [3200, 1000, 4200]);
    for ports in 1..=1024 {
        let times = Times::of(ports);
        assert!(times.prevention_timeout < times.switch_detection, "{ports}");
        assert!(times.switch_detection < times.rx_detect && times.switch_poll <= times.switch_detection);
        assert!(times.rx_detect + times.switch_restoration < times.transport, "{ports}");
    }
}

#[test]
fn memory_that_does_not_hold_the_headroom_leaves_nothing() {
    let buffer = SwitchBuffer::of(Size::new(64_000_000), 64, Size::new(112_384));
    assert_eq!(buffer.reserved.get(), 64 * 112_384);
    assert_eq!(buffer.per_port.get(), (64_000_000 - 64 * 112_384) / 64);
    assert_eq!(SwitchBuffer::of(Size::new(1_000_000), 64, Size::new(112_384)).shared.get(), 0);
}

#[test]
fn what_is_planned_is_what_is_checked() {
    let plan = plan("400G", "30m", 4200);
    let profile = plan.profile("rocewatch plan");
    assert_eq!(Profile::parse("p", &profile.to_toml()).unwrap(), profile);
    let script = commands(&plan, "rocewatch plan");
    let says = |text: String| assert!(script.contains(&text), "{text} is not in\n{script}");
    let (roce, cnp, pfc) = (&profile.roce, &profile.cnp, &profile.pfc);
    let (priority, own) = (roce.priority.unwrap(), cnp.priority.unwrap());
    says(format!(" mtu {}\n", profile.mtu.netdev.unwrap()));
    says(format!(" dscp-prio {}:{priority} {}:{own}\n", roce.dscp.unwrap(), cnp.dscp.unwrap()));
    says(format!(" prio-pfc all:off {priority}:on\n"));
    says(format!(" buffer-size 1:{}\n", profile.headroom.min.unwrap().get()));
    says(format!(" pfc-prevention-tout {}\n", pfc.prevention_timeout.unwrap().as_millis()));
    says(format!(" delay {};", profile.link.cable.unwrap().get() / 1000));
    says(format!("put {} \"/sys/class/infiniband/$RDMA/tc/1/traffic_class\"", roce.traffic_class.unwrap()));
    says(format!("NCCL_IB_TC={}", profile.nccl.ib_tc.unwrap()));
    says(format!("roce_np/enable/{priority}"));
    assert_eq!(pfc.priorities, Some(vec![priority]));
    assert_eq!(profile.mtu.rdma_active, Some(4096));
    let sonic = sonic(&plan);
    let detection = pfc.switch_detection.unwrap().as_millis().to_string();
    assert_eq!(sonic["PFC_WD"]["Ethernet504"]["detection_time"], detection);
    assert_eq!(sonic["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"], priority.to_string());
    assert_eq!(sonic["CABLE_LENGTH"]["AZURE"]["Ethernet8"], profile.link.cable.unwrap().to_string());
}

/// Every name that a table of SONiC refers to is one that the fragment defines, or one that every switch has.
#[test]
fn the_sonic_fragment_refers_to_nothing_that_is_not_there() {
    let plan = plan("100G", "40m", 4200);
    let sonic = sonic(&plan);
    let ports = sonic["PORT_QOS_MAP"].as_object().unwrap();
    assert_eq!(ports.len(), 64 + 1);
    assert!(ports.contains_key("Ethernet252"));
    assert_eq!(sonic["DSCP_TO_TC_MAP"]["ROCE"]["26"], "3");
    assert_eq!(sonic["DSCP_TO_TC_MAP"]["ROCE"]["48"], "6");
    assert_eq!(sonic["DSCP_TO_TC_MAP"]["ROCE"].as_object().unwrap().len(), 64);
    assert_eq!(sonic["TC_TO_PRIORITY_GROUP_MAP"]["ROCE"]["6"], "0");
    for (name, queue) in sonic["QUEUE"].as_object().unwrap() {
        assert!(sonic["SCHEDULER"].get(queue["scheduler"].as_str().unwrap()).is_some(), "{name}");
        let marks = queue.get("wred_profile").map(|name| name.as_str().unwrap());
        assert_eq!(marks.is_some(), name.ends_with("|3"), "{name}");
        assert!(marks.is_none_or(|name| sonic["WRED_PROFILE"].get(name).is_some()));
    }
    for (name, group) in sonic["BUFFER_PG"].as_object().unwrap() {
        let profile = group["profile"].as_str().unwrap();
        let known = sonic["BUFFER_PROFILE"].get(profile).is_some() || profile == "ingress_lossy_profile";
        assert!(known, "{name}");
    }
    let xoff = &sonic["BUFFER_PROFILE"]["roce_lossless_100000_40m_profile"]["xoff"];
    assert_eq!(*xoff, plan.headroom.size.get().to_string());
    assert_eq!(sonic["WRED_PROFILE"]["ROCE_LOSSLESS"]["green_min_threshold"], "150000");
    assert_eq!(sonic["SCHEDULER"]["scheduler.2"]["type"], "STRICT");
}

#[test]
fn the_page_shows_every_term_and_warns_of_pause_before_marks() {
    let mut given = fabric("400G", "30m", 4200);
    given.buffer = Some(Size::new(64_000_000));
    let page = text(&Plan::of(given).unwrap());
    for expected in [
        "15000 B  cable, both ways: 2 × 30m × 5 ns/m × 400Gbit/s",
        "57920 B  the peer's response: 905 quanta × 64 B",
        "112384 B  in cells of 256B",
        "min  600KB = 150KB × 400G / 100G",
        "DSCP 26 (traffic class 106) on priority 3",
        "PFC starts before everything is marked (6MB)",
        "[watchdog.rx] detect = \"800ms\"",
    ] {
        assert!(page.contains(expected), "{expected} is not in\n{page}");
    }
}

#[test]
fn every_parameter_of_dcqcn_is_a_key_of_a_profile() {
    let keys: Vec<_> =
        Profile::fields().filter(|field| field.section == "dcqcn").map(|field| field.key).collect();
    assert_eq!(keys.len(), PARAMETERS.len());
    assert!(PARAMETERS.iter().all(|parameter| keys.contains(&parameter.name)));
}
