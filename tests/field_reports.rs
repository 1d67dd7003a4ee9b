//! What went wrong with exporters in the field, shown to the whole agent as files: `docs/field-tests.md` says where each
//! was reported. Names and values are written here in the form of the reports.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "running/mod.rs"]
mod running;

use std::path::Path;
use std::process::Command;

use running::{Agent, replace, value};

/// A port of `driver` whose `ethtool -S` prints `lines`, PFC on for priority 3.
fn port(root: &Path, netdev: &str, driver: &str, lines: &[&str]) {
    let folder = root.join("net").join(netdev);
    replace(&folder.join("driver"), driver);
    replace(&folder.join("ethtool.txt"), &format!("NIC statistics:\n     {}\n", lines.join("\n     ")));
    replace(&folder.join("link.json"), r#"{"carrier":true,"speed_mbps":100000,"mtu_bytes":1500}"#);
    replace(&folder.join("dcb.json"), r#"{"pfc":[3]}"#);
}

fn rdma(root: &Path, path: &str, text: &str) {
    replace(&root.join("sys/class/infiniband").join(path), text);
}

fn start(root: &Path) -> Agent {
    Agent::start(&["run", "--source.directory", root.to_str().unwrap()])
}

fn of_device(name: &str, device: &str) -> String {
    format!(r#"{name}{{device="{device}",port="1",netdev=""}}"#)
}

fn of_port(name: &str, netdev: &str, more: &str) -> String {
    format!(r#"{name}{{device="",port="",netdev="{netdev}"{more}}}"#)
}

/// Lines of the page that are about `name`, help and type included.
fn lines<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    page.lines().filter(|line| line.contains(name)).collect()
}

#[test]
fn one_odd_rdma_device_or_file_costs_no_other_device_or_file_its_metrics() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    port(root, "ens1", "mlx5_core", &["rx_packets_phy: 5"]);
    rdma(root, "mlx5_0/ports/1/counters/port_xmit_data", "1000\n");
    rdma(root, "mlx5_0/ports/1/hw_counters/np_cnp_sent", "5\n");
    // One that cannot be read at all, as with EINVAL, and one that the device does not have.
    let bad = root.join("sys/class/infiniband/mlx5_0/ports/1/counters/VL15_dropped");
    assert!(Command::new("mkfifo").arg(bad).status().unwrap().success());
    rdma(root, "mlx5_0/ports/1/counters/port_rcv_data", "N/A (no PMA)\n");
    // iWARP: all files are there, and none has a value. Another lacks what every other device has.
    for file in ["port_xmit_data", "port_rcv_data", "VL15_dropped"] {
        rdma(root, &format!("i40iw0/ports/1/counters/{file}"), "N/A (no PMA)\n");
    }
    rdma(root, "irdma9/ports/1/state", "4: ACTIVE\n");
    rdma(root, "mlx5_1/ports/1/hw_counters/np_cnp_sent", "6\n");
    let agent = start(root);
    let sent = |device| of_device("rocewatch_rdma_transmit_bytes_total", device);
    let words = agent.wait_for("words of four bytes", |page| value(page, &sent("mlx5_0")));
    assert!((words - 4000.0).abs() < 0.5, "{words}");
    let cnps = |device| of_device("rocewatch_cnp_sent_total", device);
    let page = agent.get("/metrics");
    assert_eq!((value(&page, &cnps("mlx5_0")), value(&page, &cnps("mlx5_1"))), (Some(5.0), Some(6.0)));
    // Not to be there is not to be zero.
    assert_eq!(value(&page, &of_device("rocewatch_rdma_receive_bytes_total", "mlx5_0")), None);
    assert_eq!(value(&page, &sent("i40iw0")), None);
    assert_eq!(value(&page, &sent("mlx5_1")), None);
    let errors = lines(&page, "rocewatch_read_errors_total{");
    assert_eq!(errors.len(), 1, "one file, one reason: {errors:?}");
}

#[test]
fn names_of_counters_are_no_names_of_metrics_and_queues_no_series() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let odd = [
        "node_ethtool_Queue[0] AllocFails: 1",
        "port.VF_admin_queue_requests: 2",
        "rx_queue_0_packets: 3",
        "queue_0_rx_cnt: 4",
        "tx timeout (ring #7): 5",
    ];
    port(root, "ens1", "mlx5_core", &[&["rx_packets_phy: 77"], &odd[..]].concat());
    port(root, "ens2", "ice", &[&["rx_bytes: 1", "rx_bytes.nic: 2"], &odd[..]].concat());
    let agent = start(root);
    let received = of_port("rocewatch_port_receive_packets_total", "ens1", "");
    agent
        .wait_for("the first port", |page| value(page, &received).filter(|count| (count - 77.0).abs() < 0.5));
    let bytes = of_port("rocewatch_port_receive_bytes_total", "ens2", "");
    agent.wait_for("the second port", |page| value(page, &bytes));
    let page = agent.get("/metrics");
    for word in ["ueue", "AllocFails", "VF_admin", "ring #7"] {
        assert!(!page.contains(word), "{word}");
    }
    // One name, one help, whatever the drivers call it.
    let help = lines(&page, "# HELP rocewatch_port_receive_bytes_total ");
    assert_eq!(help.len(), 1);
    let metric = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let legal = |line: &str| {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    assert!(page.lines().filter(metric).all(legal));
}

#[test]
fn traffic_on_a_priority_without_pfc_stands_beside_the_mask() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let names = |bytes: u64| {
        let zero = format!("tx_prio0_bytes: {bytes}");
        let other = ["tx_prio3_bytes: 0", "rx_prio3_pause: 0", "rx_prio3_pause_duration: 0"];
        [vec![zero], other.map(str::to_owned).to_vec()].concat()
    };
    let write = |bytes| {
        let names = names(bytes);
        port(root, "ens1", "mlx5_core", &names.iter().map(String::as_str).collect::<Vec<_>>());
    };
    write(1000);
    let agent = start(root);
    let bytes = |p: &str| {
        let label = format!(r#",priority="{p}""#);
        of_port("rocewatch_priority_transmit_bytes_total", "ens1", &label)
    };
    agent.wait_for("the lossless priority", |page| value(page, &bytes("3")));
    write(9_000_000);
    agent.wait_for("the lossy one", |page| value(page, &bytes("0")).filter(|sent| *sent > 8e6));
    let enabled = |p: &str| of_port("rocewatch_pfc_enabled", "ens1", &format!(r#",priority="{p}""#));
    let page = agent.get("/metrics");
    assert_eq!((value(&page, &enabled("0")), value(&page, &enabled("3"))), (Some(0.0), Some(1.0)));
    assert_eq!(value(&page, &bytes("3")), Some(0.0));
}

#[test]
fn every_port_of_an_rdma_device_is_read() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    port(root, "ens1", "mlx5_core", &["rx_packets_phy: 5"]);
    for number in ["1", "2"] {
        let sent = format!("{number}00\n");
        rdma(root, &format!("mlx5_0/ports/{number}/hw_counters/np_cnp_sent"), &sent);
    }
    let agent = start(root);
    let cnps =
        |number: &str| format!(r#"rocewatch_cnp_sent_total{{device="mlx5_0",port="{number}",netdev=""}}"#);
    agent.wait_for("both ports", |page| {
        let both = (value(page, &cnps("1"))?, value(page, &cnps("2"))?);
        (both.0 < 150.0 && both.1 > 150.0).then_some(())
    });
}

#[test]
fn a_link_of_infiniband_has_no_pause_and_shows_its_traffic() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    port(root, "ens1", "mlx5_core", &["rx_packets_phy: 5"]);
    rdma(root, "mlx5_4/ports/1/link_layer", "InfiniBand\n");
    rdma(root, "mlx5_4/ports/1/counters/port_xmit_data", "250\n");
    let agent = start(root);
    let sent = of_device("rocewatch_rdma_transmit_bytes_total", "mlx5_4");
    agent.wait_for("its traffic", |page| value(page, &sent).filter(|bytes| (bytes - 1000.0).abs() < 0.5));
    let page = agent.get("/metrics");
    let of_it = page.lines().filter(|line| line.contains(r#"device="mlx5_4""#));
    assert!(
        of_it.clone().count() > 0
            && !of_it.clone().any(|line| line.contains("pause") || line.contains("pfc"))
    );
}

#[test]
fn a_node_without_rdma_has_no_error_and_no_rdma_series() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    port(root, "ens1", "mlx5_core", &["rx_packets_phy: 5"]);
    let mut agent = start(root);
    let received = of_port("rocewatch_port_receive_packets_total", "ens1", "");
    agent.wait_for("the port", |page| value(page, &received));
    let page = agent.get("/metrics");
    assert!(lines(&page, "rocewatch_rdma_").is_empty());
    assert!(lines(&page, "rocewatch_read_errors_total{").is_empty());
    agent.terminate();
    let (_, said) = agent.wait();
    assert!(!said.contains("infiniband") && !said.contains(" ERROR ") && !said.contains(" WARN "), "{said}");
}

#[test]
fn retransmissions_are_shown_where_nothing_is_dropped() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    port(root, "ens1", "mlx5_core", &["rx_discards_phy: 0", "rx_out_of_buffer: 0"]);
    for (name, count) in [("packet_seq_err", 41), ("roce_adp_retrans", 42), ("out_of_sequence", 43)] {
        rdma(root, &format!("mlx5_0/ports/1/hw_counters/{name}"), &format!("{count}\n"));
    }
    let agent = start(root);
    let shown = |name| of_device(name, "mlx5_0");
    for (name, count) in [
        ("rocewatch_packet_sequence_errors_total", 41.0),
        ("rocewatch_adaptive_retransmits_total", 42.0),
        ("rocewatch_out_of_sequence_total", 43.0),
    ] {
        agent.wait_for(name, |page| value(page, &shown(name)).filter(|seen| (seen - count).abs() < 0.5));
    }
    let dropped = of_port("rocewatch_receive_discards_total", "ens1", "");
    assert_eq!(agent.wait_for("drops", |page| value(page, &dropped)), 0.0);
}

#[test]
fn a_bond_has_the_pause_of_each_slave_and_its_rdma_counters_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    for (netdev, paused) in [("ens1", 1_000_000), ("ens2", 3_000_000)] {
        let paused = format!("rx_prio3_pause_duration: {paused}");
        port(root, netdev, "mlx5_core", &["tx_prio3_packets: 5", &paused]);
        let link = r#"{"carrier":true,"speed_mbps":100000,"bond":"bond0"}"#;
        replace(&root.join("net").join(netdev).join("link.json"), link);
    }
    rdma(root, "mlx5_bond_0/ports/1/hw_counters/np_cnp_sent", "9\n");
    rdma(root, "mlx5_bond_0/ports/1/gid_attrs/ndevs/0", "bond0\n");
    let agent = start(root);
    let cnps = |page: &str| {
        let lines = page.lines().filter(|line| line.starts_with("rocewatch_cnp_sent_total{"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let seen = agent.wait_for("its counters", |page| Some(cnps(page)).filter(|lines| !lines.is_empty()));
    assert_eq!(seen, [r#"rocewatch_cnp_sent_total{device="mlx5_bond_0",port="1",netdev="bond0"} 9"#]);
    for (netdev, seconds) in [("ens1", 1.0), ("ens2", 3.0)] {
        let paused = format!(
            r#"rocewatch_pfc_rx_pause_seconds_total{{device="mlx5_bond_0",port="1",netdev="{netdev}",priority="3"}}"#
        );
        agent.wait_for(netdev, |page| value(page, &paused).filter(|time| (time - seconds).abs() < 0.01));
    }
}

#[test]
fn two_rdma_devices_on_one_interface_keep_their_own_traffic() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    port(root, "ens1", "mlx5_core", &["rx_packets_phy: 5"]);
    for (device, words) in [("mlx5_0", "100\n"), ("mlx5_1", "900\n")] {
        rdma(root, &format!("{device}/ports/1/counters/port_xmit_data"), words);
        rdma(root, &format!("{device}/ports/1/gid_attrs/ndevs/0"), "bond0\n");
    }
    let agent = start(root);
    let sent = |device| {
        format!(r#"rocewatch_rdma_transmit_bytes_total{{device="{device}",port="1",netdev="bond0"}}"#)
    };
    agent.wait_for("both", |page| {
        let both = (value(page, &sent("mlx5_0"))?, value(page, &sent("mlx5_1"))?);
        (both.0 < 500.0 && both.1 > 3000.0).then_some(())
    });
}
