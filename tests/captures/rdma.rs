//! RDMA counters, each laid out as the tree of sysfs that the agent reads.

use std::collections::BTreeMap;
use std::fs;

use rocewatch::export::stats::ReadStats;
use rocewatch::sources::{RdmaCounters, RdmaView};
use rocewatch_core::units::MonoTime;

use crate::capture;

/// A tree as sysfs has it, filled with files.
pub(crate) struct Sysfs(tempfile::TempDir);

impl Sysfs {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn with(self, path: &str, text: &str) -> Self {
        let path = self.0.path().join("class/infiniband").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// The dump at `path`: the name of a file up to the first colon, then its content.
    fn with_dump(self, path: &str) -> Option<Self> {
        let text = fs::read_to_string(capture(path)?).unwrap();
        let files = text.lines().map(|line| line.split_once(':').unwrap());
        Some(files.fold(self, |tree, (path, content)| {
            tree.with(path.strip_prefix("/sys/class/infiniband/").unwrap(), content)
        }))
    }

    /// `hw_counters` of a port.
    pub(crate) fn with_counters(
        self,
        device: &str,
        counters: impl IntoIterator<Item = (String, u64)>,
    ) -> Self {
        counters.into_iter().fold(self, |tree, (name, value)| {
            tree.with(&format!("{device}/ports/1/hw_counters/{name}"), &format!("{value}\n"))
        })
    }

    /// What is read of it, which has to go without a failure.
    pub(crate) fn read(&self) -> Vec<RdmaView> {
        let reads = ReadStats::default();
        let views = RdmaCounters::of_tree(self.0.path()).read(MonoTime::from_millis(1), &reads);
        assert_eq!(reads.failures(), BTreeMap::new());
        views
    }
}

pub(crate) fn value(view: &RdmaView, slot: &str) -> Option<u64> {
    view.counters.iter().find(|counter| counter.slot.to_string() == slot).map(|counter| counter.value)
}

fn values<const N: usize>(view: &RdmaView, slots: [&str; N]) -> [Option<u64>; N] {
    slots.map(|slot| value(view, slot))
}

/// The devices of `rdma statistic -j`, as a tree.
fn statistic(path: &str) -> Option<Vec<RdmaView>> {
    let text = fs::read_to_string(capture(path)?).unwrap();
    let devices: Vec<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(&text).unwrap();
    let tree = devices.iter().fold(Sysfs::new(), |tree, device| {
        let counters = device.iter().filter(|(name, _)| *name != "port");
        let counters = counters.filter_map(|(name, value)| Some((name.clone(), value.as_u64()?)));
        tree.with_counters(device["ifname"].as_str().unwrap(), counters)
    });
    Some(tree.read())
}

#[test]
fn efa_counts_bytes_as_bytes_and_has_no_counters_of_infiniband() {
    let Some(tree) = Sysfs::new().with_dump("rdma/efa-sysfs-1.txt") else { return };
    let [view] = &tree.read()[..] else { panic!("one port") };
    assert_eq!(values(view, ["rdma_rx_bytes", "rdma_tx_bytes"]), [Some(123), Some(456)]);
}

#[test]
fn omni_path_is_read_without_a_netdev_and_without_the_file_of_its_type() {
    let Some(tree) = Sysfs::new().with_dump("rdma/hfi1-sysfs-1.txt") else { return };
    let [view] = &tree.read()[..] else { panic!("one port") };
    assert_eq!(view.netdev, "");
    assert_eq!(value(view, "rdma_rx_bytes"), Some(4 * 345_091_702_026));
}

#[test]
fn counters_that_a_device_does_not_have_are_no_numbers_and_cost_no_other_device() {
    let tree = Sysfs::new().with_dump("rdma/i40iw-sysfs-1.txt");
    let Some(tree) = tree.and_then(|tree| tree.with_dump("rdma/mlx4-sysfs-1.txt")) else { return };
    let views = tree.read();
    let counts = views.iter().map(|view| (view.device.as_str(), view.counters.len()));
    assert_eq!(counts.collect::<Vec<_>>(), [("i40iw0", 0), ("mlx4_0", 5), ("mlx4_0", 5)]);
}

#[test]
fn the_netdev_of_an_rdma_device_is_looked_up_and_not_guessed_from_its_name() {
    let Some(path) = capture("rdma/ionic-link-1.txt") else { return };
    let text = fs::read_to_string(path).unwrap();
    let tree = text.lines().fold(Sysfs::new(), |tree, line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let ["link", port, .., "netdev", netdev] = words[..] else { panic!("{line}") };
        let (device, port) = port.split_once('/').unwrap();
        tree.with(&format!("{device}/ports/{port}/gid_attrs/ndevs/0"), netdev)
    });
    let views = tree.read();
    let pairs = views.iter().map(|view| (view.device.as_str(), view.netdev.as_str()));
    let expected = [("ionic_1", "enp132s0v0"), ("rocep132s0", "enp132s0"), ("rocep68s0", "enp68s0")];
    assert_eq!(pairs.collect::<Vec<_>>(), expected);
}

#[test]
fn ionic_counts_by_names_of_its_own_and_one_that_is_misspelt() {
    let Some(views) = statistic("rdma/ionic-stat-json-1.txt") else { return };
    let view = views.iter().find(|view| view.device == "ionic_1").unwrap();
    let traffic = ["rdma_tx_packets", "rdma_tx_bytes", "rdma_rx_packets"];
    assert_eq!(values(view, traffic), [Some(32_852_846), Some(3_489_656_928), Some(49_221_925)]);
    let calm =
        ["cnp_sent", "cnp_received", "ecn_marked_packets", "out_of_sequence", "packet_sequence_errors"];
    assert_eq!(values(view, calm), [Some(0); 5]);
    // 34 duplicate responses are no duplicate requests.
    assert_eq!(value(view, "duplicate_requests"), Some(0));
    assert!(views.iter().filter(|v| v.device != "ionic_1").all(|v| value(v, "rdma_tx_bytes") == Some(0)));
}

#[test]
fn mlx4_has_two_ports_and_needs_no_hw_counters() {
    let Some(tree) = Sysfs::new().with_dump("rdma/mlx4-sysfs-1.txt") else { return };
    let views = tree.read();
    let rx = views.iter().map(|view| (view.port.as_str(), value(view, "rdma_rx_bytes")));
    let expected = [("1", Some(4 * 2_221_223_609)), ("2", Some(4 * 2_460_436_784))];
    assert_eq!(rx.collect::<Vec<_>>(), expected);
    let ticks = |view: &RdmaView| view.counters.iter().any(|c| [3599, 3846].contains(&c.value));
    assert!(!views.iter().any(ticks), "ticks of waiting are shown as nothing else");
}

#[test]
fn a_healthy_mlx5_shows_requests_and_no_errors() {
    let Some(views) = statistic("rdma/mlx5-stat-json-1.txt") else { return };
    let [view] = &views[..] else { panic!("one port") };
    assert_eq!(value(view, "rdma_write_requests"), Some(2_331_678));
    assert_eq!(value(view, "rdma_read_requests"), Some(1_161_608));
    let others = view.counters.iter().filter(|c| !c.slot.to_string().ends_with("_requests") && c.value != 0);
    assert_eq!(others.count(), 0);
    assert_eq!(values(view, ["cnp_sent", "cnp_handled", "ecn_marked_packets"]), [Some(0); 3]);
}

#[test]
fn mlx5_retransmits_and_its_flushes_are_among_its_failed_requests() {
    let Some(tree) = Sysfs::new().with_dump("rdma/mlx5-sysfs-1.txt") else { return };
    let [view] = &tree.read()[..] else { panic!("one port, whatever its state is called") };
    let bytes = values(view, ["rdma_rx_bytes", "rdma_tx_bytes"]);
    assert_eq!(bytes, [Some(72_505_381_512), Some(11_523_046_035_392)]);
    let lost = ["local_ack_timeouts", "adaptive_retransmits", "adaptive_retransmit_timeouts"];
    assert_eq!(values(view, lost), [Some(131), Some(99), Some(4)]);
    let lost = ["packet_sequence_errors", "out_of_sequence", "duplicate_requests"];
    assert_eq!(values(view, lost), [Some(1), Some(1), Some(41)]);
    for (any, flush) in [
        ("requester_cqe_errors", "requester_flush_errors"),
        ("responder_cqe_errors", "responder_flush_errors"),
    ] {
        let [any, flush] = values(view, [any, flush]).map(Option::unwrap);
        assert_eq!(any - flush, 3401);
    }
    assert!(!view.counters.iter().any(|c| c.value == 10), "the period of the cache is no counter");
}

#[test]
fn a_switch_that_perfquery_asked_counts_words_of_four_bytes_for_each_port() {
    let Some(path) = capture("rdma/perfquery-1.txt") else { return };
    let text = fs::read_to_string(path).unwrap();
    let names = [("PortXmitData", "port_xmit_data"), ("PortXmitWait", "port_xmit_wait")];
    let (mut tree, mut port) = (Sysfs::new(), "");
    for (name, number) in text.lines().filter_map(|line| line.split_once(':')) {
        let number = number.trim_start_matches('.');
        if name == "PortSelect" {
            port = number;
        }
        if let Some((_, file)) = names.iter().find(|(theirs, _)| *theirs == name) {
            tree = tree.with(&format!("switch/ports/{port}/counters/{file}"), number);
        }
    }
    let views = tree.read();
    let sent: Vec<_> = views.iter().map(|view| (view.counters.len(), value(view, "rdma_tx_bytes"))).collect();
    assert_eq!(sent, [(1, Some(4 * 36_298_026_860_928)), (1, Some(4 * 26_006_570_014_026))]);
}
