//! The whole agent on a directory: what is in the files is on the page, and one bad file costs what stands in it.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "running/mod.rs"]
mod running;

use std::fs;
use std::path::Path;
use std::process::Command;

use running::{Agent, replace, value};

fn ethtool(paused_us: u64, sent: u64) -> String {
    format!(
        "NIC statistics:\n     rx_packets_phy: 5\n     tx_packets_phy: {sent}\n     tx_prio3_packets: {sent}\n     \
         rx_prio3_packets: 5\n     rx_prio3_pause: {}\n     rx_prio3_pause_duration: {paused_us}\n     \
         rx_prio3_discards: 0\n",
        paused_us / 300
    )
}

fn port(root: &Path, netdev: &str) {
    let folder = root.join("net").join(netdev);
    replace(&folder.join("driver"), "mlx5_core\n");
    replace(&folder.join("ethtool.txt"), &ethtool(1_500_000, 1000));
    replace(&folder.join("link.json"), r#"{"carrier":true,"speed_mbps":100000,"mtu_bytes":4200}"#);
    replace(&folder.join("dcb.json"), r#"{"pfc":[3]}"#);
}

fn start(root: &Path) -> Agent {
    Agent::start(&["run", "--source.directory", root.to_str().unwrap()])
}

fn series(netdev: &str, name: &str, more: &str) -> String {
    format!(r#"{name}{{device="",port="",netdev="{netdev}"{more}}}"#)
}

fn paused(netdev: &str) -> String {
    series(netdev, "rocewatch_pfc_rx_pause_seconds_total", r#",priority="3""#)
}

#[test]
fn what_the_files_hold_is_on_the_page_in_base_units() {
    let root = tempfile::tempdir().unwrap();
    port(root.path(), "ens1");
    replace(&root.path().join("sys/class/infiniband/mlx5_7/ports/1/counters/port_xmit_data"), "1000\n");
    replace(&root.path().join("sys/class/infiniband/mlx5_7/ports/1/hw_counters/np_cnp_sent"), "12\n");
    let agent = start(root.path());
    assert_eq!(agent.wait_for("pause time", |page| value(page, &paused("ens1"))), 1.5);
    assert_eq!(agent.metric(&series("ens1", "rocewatch_netdev_mtu_bytes", "")), Some(4200.0));
    assert_eq!(agent.metric(&series("ens1", "rocewatch_port_rate_bytes_per_second", "")), Some(12.5e9));
    let rdma = r#"rocewatch_rdma_transmit_bytes_total{device="mlx5_7",port="1",netdev=""}"#;
    assert_eq!(agent.wait_for("RDMA counters", |page| value(page, rdma)), 4000.0);
    let armed = series("ens1", "rocewatch_watchdog_armed", r#",priority="3",direction="rx""#);
    agent.wait_for("an armed queue", |page| value(page, &armed).filter(|armed| *armed == 1.0));
    replace(&root.path().join("net/ens1/ethtool.txt"), &ethtool(1_500_300, 2000));
    agent.wait_for("the new value", |page| value(page, &paused("ens1")).filter(|seconds| *seconds == 1.5003));
}

fn rdma_port(root: &Path, device: &str, netdev: &str) {
    let folder = root.join("sys/class/infiniband").join(device).join("ports/1");
    replace(&folder.join("link_layer"), "Ethernet\n");
    replace(&folder.join("gid_attrs/ndevs/0"), &format!("{netdev}\n"));
    replace(&folder.join("hw_counters/np_cnp_sent"), "12\n");
}

#[test]
fn the_series_of_a_port_carry_the_name_of_its_rdma_device() {
    let root = tempfile::tempdir().unwrap();
    port(root.path(), "ens1");
    rdma_port(root.path(), "mlx5_7", "ens1");
    let agent = start(root.path());
    let labels = r#"device="mlx5_7",port="1",netdev="ens1""#;
    let paused = format!(r#"rocewatch_pfc_rx_pause_seconds_total{{{labels},priority="3"}}"#);
    assert_eq!(agent.wait_for("pause time", |page| value(page, &paused)), 1.5);
    let sent = format!("rocewatch_cnp_sent_total{{{labels}}}");
    assert_eq!(agent.wait_for("RDMA counters", |page| value(page, &sent)), 12.0);
    let info = format!(r#"rocewatch_port_info{{{labels},link_layer="Ethernet",flavour="",bond=""}}"#);
    assert_eq!(agent.metric(&info), Some(1.0));
}

#[test]
fn a_port_is_excluded_by_the_name_of_its_rdma_device() {
    let root = tempfile::tempdir().unwrap();
    for (netdev, device) in [("ens1", "mlx5_7"), ("ens2", "mlx5_8")] {
        port(root.path(), netdev);
        rdma_port(root.path(), device, netdev);
    }
    let agent = Agent::start(&[
        "run",
        "--source.directory",
        root.path().to_str().unwrap(),
        "--devices.exclude=mlx5_8",
    ]);
    agent.wait_for("one port", |page| value(page, "rocewatch_ports").filter(|ports| *ports == 1.0));
    assert!(!agent.get("/metrics").contains("ens2"), "an excluded port is on the page");
}

#[test]
fn a_counter_without_a_metric_is_shown_under_its_own_name_to_those_who_ask() {
    let root = tempfile::tempdir().unwrap();
    port(root.path(), "ens1");
    let text = ethtool(1, 1) + "     rx_steer_missed_packets: 77\n     rx0_packets: 5\n";
    replace(&root.path().join("net/ens1/ethtool.txt"), &text);
    let agent = Agent::start(&[
        "run",
        "--source.directory",
        root.path().to_str().unwrap(),
        "--metrics.raw-include=.*_missed_.*",
    ]);
    let raw = series("ens1", "rocewatch_raw_total", r#",name="rx_steer_missed_packets""#);
    assert_eq!(agent.wait_for("the counter", |page| value(page, &raw)), 77.0);
    assert!(!agent.get("/metrics").contains("rx0_packets"));
}

#[test]
fn a_storm_in_the_files_is_found_recorded_and_replayed() {
    let root = tempfile::tempdir().unwrap();
    port(root.path(), "ens1");
    let mut agent = start(root.path());
    let armed = series("ens1", "rocewatch_watchdog_armed", r#",priority="3",direction="rx""#);
    agent.wait_for("an armed queue", |page| value(page, &armed).filter(|armed| *armed == 1.0));
    let file = root.path().join("net/ens1/ethtool.txt");
    replace(&file, &ethtool(1_500_000, 3000));
    agent.wait_for("traffic", |page| {
        value(page, &series("ens1", "rocewatch_priority_transmit_packets_total", r#",priority="3""#))
            .filter(|sent| *sent == 3000.0)
    });
    let storm = series("ens1", "rocewatch_watchdog_storm", r#",priority="3",direction="rx""#);
    let began = rocewatch::clock::now();
    agent.wait_for("a storm", |page| {
        // Paused all the time, as far as these files can follow the clock.
        let paused_us = rocewatch::clock::now().since(began).as_micros() as u64;
        replace(&file, &ethtool(1_500_000 + paused_us, 3000));
        value(page, &storm).filter(|storm| *storm == 1.0)
    });
    assert_eq!(agent.terminate().0, Some(0));
    let incidents =
        fs::read_dir(agent.folder.path().join("incidents")).unwrap().flatten().collect::<Vec<_>>();
    assert_eq!(incidents.len(), 1);
    let (code, said, _) = running::rocewatch(&["replay", incidents[0].path().to_str().unwrap(), "--check"]);
    assert_eq!((code, said.starts_with("identical: ")), (Some(0), true), "{said}");
}

#[test]
fn a_port_that_is_gone_takes_its_series_along_and_comes_back_as_another() {
    let root = tempfile::tempdir().unwrap();
    for netdev in ["ens1", "ens2"] {
        port(root.path(), netdev);
    }
    let agent = start(root.path());
    for netdev in ["ens1", "ens2"] {
        agent.wait_for(netdev, |page| value(page, &paused(netdev)));
    }
    fs::remove_dir_all(root.path().join("net/ens1")).unwrap();
    agent.wait_for("the end of its series", |page| (!page.contains(r#"netdev="ens1""#)).then_some(()));
    assert!(agent.metric(&paused("ens2")).is_some());
    port(root.path(), "ens1");
    agent.wait_for("its return", |page| value(page, &paused("ens1")));
}

#[test]
fn one_bad_file_is_named_and_costs_only_what_stands_in_it() {
    let root = tempfile::tempdir().unwrap();
    for netdev in ["ens1", "ens2", "ens3", "ens4"] {
        port(root.path(), netdev);
    }
    let net = root.path().join("net");
    replace(&net.join("ens1/link.json"), r#"{"carrier":true,"speed":100}"#);
    fs::remove_file(net.join("ens2/ethtool.txt")).unwrap();
    let fifo = Command::new("mkfifo").arg(net.join("ens2/ethtool.txt")).status().unwrap();
    assert!(fifo.success());
    replace(&net.join("ens3/dcb.json"), r#"{"pfc":[9]}"#);
    let agent = start(root.path());
    agent.wait_for("the port beside", |page| value(page, &paused("ens4")));
    agent.wait_for("a port without its speed", |page| value(page, &paused("ens1")));
    let page = agent.get("/metrics");
    assert_eq!(value(&page, &series("ens1", "rocewatch_port_up", "")), Some(1.0));
    let rate = series("ens1", "rocewatch_port_rate_bytes_per_second", "");
    assert_eq!(value(&page, &rate), None, "unknown is absent");
    assert_eq!(value(&page, &paused("ens2")), None);
    agent.wait_for("the count of failures", |page| {
        page.lines().any(|line| line.starts_with("rocewatch_read_errors_total{")).then_some(())
    });
}

#[test]
fn a_directory_without_ports_in_it_is_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let (code, _, said) = running::rocewatch(&["run", "--source.directory", root.path().to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(said.contains("net: expected a folder with one folder per network device"), "{said}");
}

#[test]
fn an_agent_that_finds_nothing_to_watch_says_what_there_was() {
    let root = tempfile::tempdir().unwrap();
    port(root.path(), "ens1");
    let mut agent = Command::new(env!("CARGO_BIN_EXE_rocewatch"))
        .args(["run", "--web.listen-address=127.0.0.1:0", "--devices.exclude=.*", "--log.format=json"])
        .args(["--source.directory", root.path().to_str().unwrap()])
        .arg(format!("--runtime.path={}", root.path().join("run").display()))
        .arg(format!("--incidents.path={}", root.path().join("incidents").display()))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(agent.stderr.take().unwrap()));
    let said = lines.map_while(Result::ok).find(|line| line.contains("no network device is watched"));
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert!(said.expect("it says so").contains(r#""devices":"ens1""#));
}
