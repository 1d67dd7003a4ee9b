//! `rocewatch run` without a configuration, on the devices of the machine it is started on, and on veths in a
//! namespace.

#[path = "running/mod.rs"]
mod running;
#[path = "elsewhere/mod.rs"]
mod elsewhere;
#[path = "namespace/mod.rs"]
mod namespace;

use std::fs;
use std::net::UdpSocket;
use std::time::Duration;

use elsewhere::Elsewhere;
use namespace::{in_namespace, ip, skip::skip};
use running::{Agent, statistic, value};

/// A port of this machine that is hardware, as sysfs has it.
fn own_nic() -> Option<String> {
    let mut names = fs::read_dir("/sys/class/net").ok()?.flatten();
    let hardware =
        |path: &std::path::Path| path.join("device").exists() && !path.join("device/physfn").exists();
    names.find(|entry| hardware(&entry.path())).map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// The metric has to follow the kernel: at least what the kernel said before, at most what it says after.
fn lies_between(agent: &Agent, netdev: &str, statistic_name: &str, metric: &str) {
    let series = format!(r#"{metric}{{device="",port="",netdev="{netdev}"}}"#);
    let before = statistic(netdev, statistic_name);
    let shown = agent.wait_for(&series, |page| value(page, &series).filter(|shown| *shown >= before as f64));
    let after = statistic(netdev, statistic_name);
    assert!(shown <= after as f64, "{series} {shown} is above the kernel's {after}");
}

const PAIRS: [(&str, &str); 4] = [
    ("rx_packets", "rocewatch_netdev_receive_packets_total"),
    ("tx_packets", "rocewatch_netdev_transmit_packets_total"),
    ("rx_bytes", "rocewatch_netdev_receive_bytes_total"),
    ("tx_bytes", "rocewatch_netdev_transmit_bytes_total"),
];

#[test]
fn the_real_nic_is_found_and_its_counters_lie_between_what_the_kernel_says_before_and_after() {
    let Some(netdev) = own_nic() else {
        return skip(
            "the_real_nic_is_found_and_its_counters_lie_between_what_the_kernel_says_before_and_after",
            "this machine has no network device on a bus",
        );
    };
    let mut agent = Agent::start(&["run"]);
    for (kernel, metric) in PAIRS {
        lies_between(&agent, &netdev, kernel, metric);
    }
    assert_eq!(agent.metric(r#"rocewatch_watchdog_mode{mode="observe"}"#), Some(1.0));
    let (code, took) = agent.terminate();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(2), "it took {took:?} to end");
}

#[test]
fn veths_that_an_include_lets_in_are_read_and_those_that_go_take_their_series_along() {
    in_namespace("veths_that_an_include_lets_in_are_read_and_those_that_go_take_their_series_along", || {
        ip("link set lo up");
        ip("link add v0 type veth peer name v1");
        ip("link add other type veth peer name another");
        ip("address add 10.9.0.1/24 dev v0");
        ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev v0");
        ip("link set v0 up");
        ip("link set v1 up");
        let agent = Agent::start(&["run", "--devices.include=v[0-9]"]);
        let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
        for _ in 0..1000 {
            socket.send_to(&[7; 100], "10.9.0.2:9").unwrap();
        }
        for netdev in ["v0", "v1"] {
            for (kernel, metric) in PAIRS {
                lies_between(&agent, netdev, kernel, metric);
            }
        }
        let page = agent.get("/metrics");
        let unwanted = [r#"netdev="other""#, r#"netdev="another""#].iter().any(|label| page.contains(label));
        assert!(page.contains(r#"driver="veth""#) && !unwanted, "{page}");
        ip("link delete v0");
        agent.wait_for("the end of all series", |page| (!page.contains("netdev=\"v")).then_some(()));
        assert_eq!(agent.metric("rocewatch_ports"), Some(0.0));
    });
}

#[test]
fn settings_that_a_device_does_not_have_are_asked_for_with_success_and_take_no_series() {
    in_namespace(
        "settings_that_a_device_does_not_have_are_asked_for_with_success_and_take_no_series",
        || {
            ip("link set lo up");
            ip("link add v0 type veth peer name v1");
            let agent = Agent::start(&["run", "--devices.include=v0"]);
            for collector in ["dcb", "ethtool_netlink", "devlink"] {
                let series = format!(r#"rocewatch_collector_success{{collector="{collector}"}}"#);
                let success = agent.wait_for(&series, |page| value(page, &series));
                assert!((success - 1.0).abs() < f64::EPSILON, "{collector}: {success}");
            }
            let page = agent.get("/metrics");
            for family in
                ["dcb_info", "pfc_enabled", "global_pause_enabled", "prevention_timeout", "devlink_healthy"]
            {
                assert!(!page.contains(&format!("rocewatch_{family}")), "{family}");
            }
            assert!(!page.contains("rocewatch_read_errors_total{"), "{page}");
        },
    );
}

#[test]
fn a_device_keeps_its_counters_under_a_new_name_and_is_another_port_when_it_comes_back_from_elsewhere() {
    let test =
        "a_device_keeps_its_counters_under_a_new_name_and_is_another_port_when_it_comes_back_from_elsewhere";
    in_namespace(test, || {
        ip("link set lo up");
        ip("link add v0 type veth peer name v1");
        let agent = Agent::start(&["run", "--devices.include=v.*"]);
        let changes = |netdev: &str| {
            format!(r#"rocewatch_carrier_changes_total{{device="",port="",netdev="{netdev}"}}"#)
        };
        let ids = || -> Vec<u64> {
            let state: serde_json::Value = serde_json::from_str(&agent.get("/api/v1/state")).unwrap();
            state["ports"].as_array().unwrap().iter().map(|port| port["id"].as_u64().unwrap()).collect()
        };
        agent.wait_for("both", |page| value(page, &changes("v0")).and(value(page, &changes("v1"))));
        let before = ids();
        let gone = |page: &str| (!page.contains(r#"netdev="v1""#)).then_some(());
        ip("link set v1 name vrenamed");
        agent.wait_for("the new name", |page| value(page, &changes("vrenamed")));
        agent.wait_for("the end of the old name", gone);
        assert_eq!(ids(), before, "a name is not a port");
        let elsewhere = Elsewhere::new();
        ip(&format!("link set vrenamed netns {}", elsewhere.id()));
        agent.wait_for("one port", |page| value(page, "rocewatch_ports").filter(|ports| *ports == 1.0));
        assert!(!agent.get("/metrics").contains("vrenamed"));
        // The kernel deletes a veth together with its namespace, and its peer here with it.
        drop(elsewhere);
        agent.wait_for("no port", |page| value(page, "rocewatch_ports").filter(|ports| *ports == 0.0));
        ip("link add v0 type veth peer name v1");
        agent.wait_for("both again", |page| value(page, &changes("v0")).and(value(page, &changes("v1"))));
        assert!(ids().iter().all(|id| !before.contains(id)), "what comes back is another port");
    });
}

#[test]
fn what_is_no_hardware_of_this_namespace_is_no_port_unless_it_is_named() {
    in_namespace("what_is_no_hardware_of_this_namespace_is_no_port_unless_it_is_named", || {
        ip("link set lo up");
        ip("link add v0 type veth peer name v1");
        ip("link add bridge0 type bridge");
        ip("link set v1 master bridge0");
        let watched = |arguments: &[&str]| {
            let agent = Agent::start(&[&["run"], arguments].concat());
            let links = r#"rocewatch_collector_success{collector="link"}"#;
            agent.wait_for("a look at the links", |page| value(page, links).filter(|well| *well > 0.5));
            agent.wait_for("as many ports as are wanted", |page| {
                value(page, "rocewatch_ports").filter(|ports| *ports as usize == arguments.len())
            });
            let page = agent.get("/metrics");
            let names = page.split("netdev=\"").skip(1).filter_map(|rest| rest.split('"').next());
            names.map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
        };
        assert!(watched(&[]).is_empty(), "neither veth, bridge and loopback nor a NIC of the host");
        assert_eq!(watched(&["--devices.include=v1"]), ["v1".to_owned()].into());
    });
}

#[test]
fn an_agent_that_is_to_act_takes_over_from_one_that_is_about_to_end() {
    let mut first = Agent::start(&["run"]);
    let (mut second, mut said) = running::beside(&first, "enforce");
    running::line_with(&mut said, "waiting for it");
    assert_eq!(first.terminate().0, Some(0));
    assert!(
        said.map_while(Result::ok)
            .find(|line| line.contains("listening") || line.contains("observes"))
            .is_some_and(|line| line.contains("listening"))
    );
    second.kill().unwrap();
    second.wait().unwrap();
}

#[test]
fn an_agent_that_only_observes_by_its_configuration_waits_for_nobody() {
    let first = Agent::start(&["run"]);
    let (mut second, said) = running::beside(&first, "observe");
    let next = said.map_while(Result::ok).find(|line| line.contains("waiting") || line.contains("observes"));
    assert!(next.is_some_and(|line| line.contains("only observes")));
    second.kill().unwrap();
    second.wait().unwrap();
}

/// It takes as long as an agent waits at its start.
#[test]
fn a_second_agent_only_observes_and_ends_with_1_when_the_first_one_has_ended() {
    let mut first = Agent::start(&["run"]);
    let (mut second, mut said) = running::beside(&first, "enforce");
    assert_eq!(running::line_with(&mut said, "only observes")["mode"], "observe");
    running::line_with(&mut said, "listening");
    assert_eq!(first.terminate().0, Some(0));
    let told = said.map_while(Result::ok).find(|line| line.contains("the other agent has ended"));
    assert!(told.is_some_and(|line| line.contains("start anew to act")));
    assert_eq!(second.wait().unwrap().code(), Some(1));
}

#[test]
fn a_refused_configuration_does_not_keep_restore_from_looking_and_it_says_where_and_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rocewatch.toml");
    fs::write(&file, "[watchdog]\nmode = \"act\"\n").unwrap();
    let runtime = folder.path().join("run");
    let arguments =
        ["restore", "--config.file", file.to_str().unwrap(), "--runtime.path", runtime.to_str().unwrap()];
    let (status, out, error) = running::rocewatch(&arguments);
    assert_eq!((status, out), (Some(2), format!("{}: no journal, nothing is owed\n", runtime.display())));
    assert!(
        error.contains("refused") && error.contains(&format!("looked for in {}", runtime.display())),
        "{error}"
    );
    // One that is there and cannot be used is no other end.
    fs::create_dir(&runtime).unwrap();
    fs::write(runtime.join("journal"), "?").unwrap();
    let (status, out, _) = running::rocewatch(&arguments);
    assert!(status == Some(2) && out.contains("nothing is taken back"), "{out}");
}

#[test]
fn the_agent_may_open_as_many_files_as_the_system_gives_for_the_asking() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // What most systems give a process that does not ask.
    let current = limit.maximum.map_or(1024, |maximum| maximum.min(1024));
    setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit }).unwrap();
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("net")).unwrap();
    let agent = Agent::start(&["run", "--source.directory", root.path().to_str().unwrap()]);
    let wanted = limit.maximum.map_or(65_536, |maximum| maximum.min(65_536));
    let allowed = agent.wait_for("the limit", |page| value(page, "process_max_fds"));
    assert_eq!(allowed, wanted.max(current) as f64);
}
