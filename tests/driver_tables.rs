//! The driver tables against the survey of kernel counters that they were written from. The survey stays outside the
//! project; where it is not at hand, the comparison says so and passes.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rocewatch_core::drivers::{self, Driver, Kind, NativeUnit, Overflow, Row};
use rocewatch_core::units::Direction;
use serde::Deserialize;

/// What the survey knows and no metric shows; each is left to `rocewatch_raw_total`. A name here is a decision.
const UNMAPPED: &[(&str, &str, &str)] = &[
    // MAC control frames mix 802.3x, PFC and others in a way that differs from chip to chip.
    ("mlx5_core", "rx_pause_ctrl_phy tx_pause_ctrl_phy", "may hold PFC frames too"),
    (
        "mlx5_core",
        "rx_mac_control_phy tx_mac_control_phy rx_unsupported_op_phy",
        "says nothing about pause time",
    ),
    (
        "mlx5_core",
        "rx_if_down_packets rx_steer_missed_packets rx_oversize_pkts_buffer",
        "no loss of the fabric",
    ),
    ("mlx5_core", "dev_internal_queue_oob tx_errors_phy", "no agreed meaning across drivers"),
    ("mlx5_core", "rx_err_lane_{lane}_phy", "one series per lane; symbol errors show the same fault"),
    (
        "mlx5_core",
        "pci_bw_inbound_high pci_bw_inbound_low",
        "Linux 6.17 and later; means something only in pairs",
    ),
    (
        "mlx5_core",
        "pci_bw_outbound_high pci_bw_outbound_low",
        "Linux 6.17 and later; means something only in pairs",
    ),
    ("mlx5_core", "rx_ecn_mark", "marks of the kernel's TCP, never of RoCE"),
    ("mlx5_ib", "rx_dct_connect resp_local_length_error", "no sign of the fabric"),
    ("mlx5_ib", "roce_slow_restart_cnps roce_slow_restart_trans", "details of slow restarts"),
    (
        "mlx5_ib",
        "port_xmit_wait port_xmit_discards port_rcv_errors link_error_recovery",
        "InfiniBand links only",
    ),
    (
        "bnxt_en",
        "rx_bytes_cos{cos} tx_bytes_cos{cos} rx_packets_cos{cos} tx_packets_cos{cos}",
        "queues, no priorities",
    ),
    ("bnxt_en", "rx_discard_packets_cos{cos} rx_discard_bytes_cos{cos}", "queues, no priorities"),
    ("bnxt_en", "tx_total_ring_discards rx_filter_miss", "no loss of the fabric"),
    (
        "bnxt_re",
        "rx_roce_only_pkts rx_roce_only_bytes tx_roce_only_pkts tx_roce_only_bytes",
        "part of the RDMA traffic",
    ),
    ("bnxt_re", "rx_roce_good_pkts rx_roce_good_bytes", "part of the RDMA traffic"),
    ("bnxt_re", "unrecoverable_err res_rx_pci_err res_tx_pci_err", "no agreed meaning across drivers"),
    ("bnxt_re", "recoverable_errors", "the driver fills it with broadcast packets sent"),
    (
        "bnxt_re",
        "pacing_reschedule pacing_complete pacing_alerts db_fifo_register",
        "doorbell pacing of one chip",
    ),
    (
        "bnxt_re",
        "active_pds active_ahs active_qps active_rc_qps active_ud_qps",
        "the kernel counts them for every driver",
    ),
    ("bnxt_re", "active_srqs active_cqs active_mrs active_mws", "the kernel counts them for every driver"),
    (
        "bnxt_re",
        "watermark_pds watermark_ahs watermark_qps watermark_rc_qps watermark_ud_qps",
        "marks since load",
    ),
    ("bnxt_re", "watermark_srqs watermark_cqs watermark_mrs watermark_mws", "marks since load"),
    ("ice", "tx_dropped_link_down.nic", "no loss of the fabric"),
];

/// Rows the survey does not have: wire counters of the port, from the same driver sources.
const BEYOND: &[(&str, &str)] =
    &[("bnxt_en", "rx_bytes tx_bytes rx_total_frames tx_total_frames"), ("ice", "rx_bytes.nic tx_bytes.nic")];

#[derive(Deserialize)]
struct Survey {
    counter: Vec<Surveyed>,
}

#[derive(Deserialize)]
struct Surveyed {
    driver: String,
    pattern: String,
    metric: String,
    unit: String,
    priority: bool,
    direction: String,
    kind: String,
    bits: u32,
    overflow: String,
    rank: u8,
}

#[test]
fn every_surveyed_counter_is_mapped_as_surveyed_or_left_out_on_purpose() {
    let Some(survey) = survey() else { return };
    for counter in &survey {
        let Some((driver, rows)) = table(&counter.driver) else { continue };
        let label = format!("{} {}", counter.driver, counter.pattern);
        match rows.iter().find(|row| row.pattern == counter.pattern) {
            Some(row) => compare(&label, row, counter),
            None => {
                assert!(is_unmapped(counter), "{label} is neither mapped by {} nor left out", driver.name)
            }
        }
    }
}

#[test]
fn every_row_is_surveyed_or_known_to_go_beyond() {
    let Some(survey) = survey() else { return };
    for name in ["mlx5_core", "mlx5_ib", "bnxt_en", "bnxt_re", "ice"] {
        let (_, rows) = table(name).unwrap();
        let surveyed: BTreeSet<_> = survey
            .iter()
            .filter(|counter| counter.driver == name)
            .map(|counter| counter.pattern.as_str())
            .collect();
        let beyond = |pattern| BEYOND.iter().any(|(driver, names)| *driver == name && has(names, pattern));
        for row in rows {
            assert_ne!(surveyed.contains(row.pattern), beyond(row.pattern), "{name} {}", row.pattern);
        }
    }
}

#[test]
fn nothing_is_both_mapped_and_left_out() {
    for (driver, names, _) in UNMAPPED {
        let (_, rows) = table(driver).unwrap();
        for name in names.split(' ') {
            assert!(rows.iter().all(|row| row.pattern != name), "{driver} {name}");
        }
    }
}

fn survey() -> Option<Vec<Surveyed>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reference/counters.toml");
    let Ok(text) = fs::read_to_string(&path) else {
        eprintln!("skipped: no {}", path.display());
        return None;
    };
    Some(toml::from_str::<Survey>(&text).unwrap().counter)
}

/// The rows for one driver name of the survey, which knows the RDMA halves by names of their own.
fn table(name: &str) -> Option<(&'static Driver, &'static [Row])> {
    let driver = drivers::for_driver(name);
    match name {
        "mlx5_core" | "bnxt_en" | "ice" => Some((driver, driver.ethtool)),
        "mlx5_ib" | "bnxt_re" => Some((driver, driver.rdma)),
        _ => None,
    }
}

fn compare(label: &str, row: &Row, counter: &Surveyed) {
    let entry = row.counter.entry();
    assert_eq!(entry.quantity, counter.metric, "{label}: quantity");
    assert_eq!(entry.direction.map_or("none", Direction::label), counter.direction, "{label}: direction");
    assert_eq!(row.is_per_priority(), counter.priority, "{label}: scope");
    assert_eq!(unit(row.unit), unit_of_survey(&counter.unit), "{label}: unit");
    assert_eq!(row.width.bits(), counter.bits, "{label}: width");
    assert_eq!(overflow(row.overflow), counter.overflow, "{label}: overflow");
    assert_eq!(if row.kind == Kind::Gauge { "gauge" } else { "counter" }, counter.kind, "{label}: kind");
    assert_eq!(row.rank, counter.rank, "{label}: rank");
}

fn is_unmapped(counter: &Surveyed) -> bool {
    UNMAPPED.iter().any(|(driver, names, _)| *driver == counter.driver && has(names, &counter.pattern))
}

fn has(names: &str, name: &str) -> bool {
    names.split(' ').any(|one| one == name)
}

/// Requests and counts are events: things counted one by one.
fn unit_of_survey(unit: &str) -> &str {
    match unit {
        "count" | "requests" => "events",
        other => other,
    }
}

const fn unit(unit: NativeUnit) -> &'static str {
    match unit {
        NativeUnit::Seconds => "s",
        NativeUnit::Micros => "us",
        NativeUnit::Nanos => "ns",
        NativeUnit::Frames => "frames",
        NativeUnit::Packets => "packets",
        NativeUnit::Bytes => "bytes",
        NativeUnit::Words4 => "words4",
        NativeUnit::Bits => "bits",
        NativeUnit::Events => "events",
        NativeUnit::Percent => "percent",
    }
}

const fn overflow(overflow: Overflow) -> &'static str {
    match overflow {
        Overflow::Wrap => "wrap",
        Overflow::Saturate => "saturate",
        Overflow::None => "none",
    }
}
