//! Pages of other exporters: that their numbers mean to us what they mean to them.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crate::capture;
use crate::ethtool::Port;
use crate::rdma::{Sysfs, value};

/// The samples of a page in the Prometheus text format: name with labels, value.
fn samples(path: &str) -> Option<BTreeMap<String, f64>> {
    let text = fs::read_to_string(capture(path)?).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let pair = |line: &str| {
        let (series, value) = line.rsplit_once(' ').unwrap();
        (series.to_owned(), value.parse().unwrap())
    };
    Some(lines.map(pair).collect())
}

#[test]
fn node_exporter_shows_the_bytes_that_we_make_of_the_same_words() {
    let Some(samples) = samples("prom/node-exporter-infiniband-1.txt") else { return };
    let theirs = samples["node_infiniband_port_data_received_bytes_total{device=\"mlx4_0\",port=\"1\"}"];
    let tree = Sysfs::new().with("mlx4_0/ports/1/counters/port_rcv_data", "4631917\n");
    assert_eq!(value(&tree.read()[0], "rdma_rx_bytes"), Some(theirs as u64));
    assert_eq!(theirs as u64, 18_527_668);
    let full = samples["node_infiniband_port_transmit_wait_total{device=\"mlx4_0\",port=\"1\"}"];
    assert_eq!(full as u64, u64::from(u32::MAX), "a counter that has stuck");
    let rate = samples["node_infiniband_rate_bytes_per_second{device=\"mlx4_0\",port=\"1\"}"];
    assert_eq!(rate as u64, 40_000_000_000 / 8);
    let counted = |series: &&String| series.contains("i40iw0") && series.contains("_total");
    assert_eq!(samples.keys().find(counted), None);
}

#[test]
fn another_exporter_means_by_direction_and_microseconds_what_we_do() {
    let Some(samples) = samples("prom/rdma-exporter-pfc-1.txt") else { return };
    let name = |series: &str| {
        let label = |name: &str| series.split(&format!("{name}=\"")).nth(1)?.split('"').next();
        let (direction, priority) = (label("direction").unwrap(), label("priority").unwrap());
        let family = series.split('{').next().unwrap().trim_start_matches("rdma_roce_pfc_pause_");
        match family {
            "duration_total" => format!("pfc_pri{priority}_{direction}_duration_us"),
            "frames_total" => format!("{direction}_pfc_ena_frames_pri{priority}"),
            _ => format!("pfc_pri{priority}_{direction}_transitions"),
        }
    };
    let (names, values): (Vec<_>, Vec<_>) =
        samples.iter().map(|(series, value)| (name(series), *value as u64)).unzip();
    let port = Port::new("bnxt_en", names, values);
    assert_eq!(port.slot("pfc_rx_pause_time/4"), Some(Duration::from_micros(30).as_nanos() as u64));
    assert_eq!(port.slot("pfc_rx_pause_frames/0"), Some(10), "the peer paused this NIC");
    assert_eq!(port.slot("pfc_tx_pause_frames/3"), Some(20), "this NIC paused its peer");
    assert_eq!(port.slot("pfc_tx_pause_transitions/7"), Some(40));
    assert_eq!(port.slots().len(), 4);
}

#[test]
fn a_period_that_another_collector_calls_a_counter_is_none() {
    let Some(path) = capture("prom/telegraf-infiniband-1.txt") else { return };
    let text = fs::read_to_string(path).unwrap();
    let fields = text.lines().flat_map(|line| line.split(' ').nth(1).unwrap().split(','));
    let counters = fields.map(|field| {
        let (name, value) = field.split_once('=').unwrap();
        (name.to_owned(), value.trim_end_matches('i').parse().unwrap())
    });
    let tree = Sysfs::new().with_counters("mlx5_bond_0", counters);
    let [view] = &tree.read()[..] else { panic!("one device, whatever its slaves") };
    assert_eq!(value(view, "rdma_tx_bytes"), Some(341_515_586_352));
    assert!(!view.counters.iter().any(|counter| counter.value == 10), "lifespan");
}
