//! The driver tables against the survey of kernel counters that they were written from. The survey stays outside the
//! project; where it is not at hand, the comparison says so and passes.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rocewatch_core::drivers::{self, Kind, NativeUnit, Overflow, Row};
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
    ("ixgbe", "rx_no_buffer_count", "ixgbe_update_stats moves it on an 82598 alone"),
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
    ("mlx4_ib", "num_cqovf rq_num_lle", "faults of an application, no sign of the fabric"),
    ("i40e", "port.tx_dropped_link_down", "no loss of the fabric"),
    ("irdma", "ip4InDiscards ip6InDiscards", "one for each IP version, and half of them would look like all"),
    ("irdma", "tcpRetransSegs rxVlanErrors", "iWARP, or a VLAN set wrongly"),
    (
        "hns3",
        "mac_rx_pfc_pri{prio}_xoff_time mac_tx_pfc_pri{prio}_xoff_time",
        "a time in a unit that nobody knows is no time",
    ),
    (
        "hns3",
        "mac_rx_pause_xoff_time mac_tx_pause_xoff_time",
        "a time in a unit that nobody knows is no time",
    ),
    ("hns_roce", "ecn_doorbell", "doorbells, no packets"),
    ("hns_roce", "rx_rc_pkt tx_rc_pkt", "part of the RDMA traffic"),
    ("qede", "brb_truncates", "packets cut short, no packets lost"),
    (
        "cxgb4",
        "rx_bg{bg}_frames_dropped rx_bg{bg}_frames_trunc",
        "one for each buffer group, and a sum is not a reading",
    ),
    ("cxgb4", "db_drop", "doorbells of one chip"),
    ("iw_cxgb4", "ip4RetransSegs ip6RetransSegs", "iWARP, one for each IP version"),
    (
        "be2net",
        "rx_input_fifo_overflow_drop rxpp_fifo_overflow_drop pmem_fifo_overflow_drop",
        "stages inside one chip",
    ),
    ("be2net", "eth_red_drops", "dropped early on purpose"),
    ("nfp", "rx_mac_head_drop tx_queue_drop dev_tx_discards", "no agreed meaning across drivers"),
    ("ionic", "hw_tx_dropped", "no loss of the fabric"),
    (
        "mana",
        "hc_tc{tc}_rx_pause_phy hc_tc{tc}_tx_pause_phy",
        "nothing tells which priorities a class carries",
    ),
    ("mana_ib", "current_rate", "no counter"),
    (
        "ena",
        "bw_in_allowance_exceeded bw_out_allowance_exceeded",
        "limits of the cloud, no fault of a fabric",
    ),
    (
        "ena",
        "pps_allowance_exceeded conntrack_allowance_exceeded",
        "limits of the cloud, no fault of a fabric",
    ),
    ("ena", "linklocal_allowance_exceeded", "limits of the cloud, no fault of a fabric"),
    ("efa", "rdma_read_wr_err rdma_write_wr_err cmds_err", "faults of an application or of the setup"),
    ("erdma", "rx_bps_limit_drop_cnt rx_pps_limit_drop_cnt", "limits of the cloud, no fault of a fabric"),
    ("erdma", "tx_bps_limit_drop_cnt tx_pps_limit_drop_cnt", "limits of the cloud, no fault of a fabric"),
    ("rdma_rxe", "ack_deferred", "a step of the software, no event of the wire"),
];

/// Rows the survey does not have, from the same driver sources: traffic on the wire, mostly.
const BEYOND: &[(&str, &str)] = &[
    ("bnxt_en", "rx_bytes tx_bytes rx_total_frames tx_total_frames"),
    ("bnxt_re", "rx_send_req"),
    ("irdma", "RetransSegs"),
    ("efa", "retrans_pkts retrans_timeout_events"),
    ("ice", "rx_bytes.nic tx_bytes.nic mac_local_faults.nic mac_remote_faults.nic"),
    ("mlx4_en", "rx_packets_phy rx_bytes_phy tx_packets_phy tx_bytes_phy"),
    ("mlx4_ib", "port_xmit_data port_rcv_data port_xmit_packets port_rcv_packets link_downed"),
    ("i40e", "port.rx_bytes port.tx_bytes port.mac_local_faults port.mac_remote_faults"),
    // The spelling of drivers from elsewhere.
    ("i40e", "port.rx_priority_{prio}_xoff port.rx_priority_{prio}_xon port.rx_dropped"),
    ("i40e", "port.tx_priority_{prio}_xoff port.tx_priority_{prio}_xon"),
    ("ixgbe", "rx_bytes_nic tx_bytes_nic rx_pkts_nic tx_pkts_nic rx_no_dma_resources"),
    ("hns3", "mac_rx_total_oct_num mac_tx_total_oct_num mac_rx_total_pkt_num mac_tx_total_pkt_num"),
    ("cxgb4", "rx_octets_ok tx_octets_ok rx_frames_ok tx_frames_ok"),
    ("be2net", "rx_crc_errors rx_roce_bytes_lsd"),
    ("ocrdma", "port_xmit_data port_rcv_data port_xmit_packets port_rcv_packets link_downed"),
    ("nfp", "mac.rx_octets mac.tx_octets mac.rx_frames_received_ok mac.tx_frames_transmitted_ok"),
    ("nfp", "mac.rx_frame_check_sequence_errors"),
    ("ionic", "frames_rx_ok frames_tx_ok octets_rx_ok octets_tx_ok"),
    // Names that come from the firmware.
    (
        "ionic_rdma",
        "rx_rdma_ecn_pkts tx_rdma_cnp_pkts rx_rdma_cnp_pkts rx_rdma_ucast_pkts rx_rdma_ucast_bytes",
    ),
    ("ionic_rdma", "tx_rdma_ucast_pkts tx_rdma_ucast_bytes req_rx_pkt_seq_err req_rx_impl_nak_seq_err"),
    ("ionic_rdma", "req_tx_retry_excd_err req_rx_rmt_acc_err req_rx_rmt_req_err resp_tx_rmt_acc_err"),
    ("ionic_rdma", "resp_rx_outouf_seq resp_rx_dup_request resp_rx_outof_buf"),
    ("mana_ib", "requester_rnr_nak_retries_exceeded rx_bytes tx_bytes rx_packets tx_packets"),
    ("mana_ib", "rx_send_requests rx_write_requests rx_read_requests"),
];

/// Where the survey and the driver's source disagree, the source is right: the driver, the survey's name, the right one.
const CORRECTED: &[(&str, &str, &str)] = &[
    // nfp_mac_get_stats_strings puts "mac." in front of all of them, on every interface.
    ("nfp", "rx_pause_frames_class{prio}", "mac.rx_pause_frames_class{prio}"),
    ("nfp", "tx_pause_frames_class{prio}", "mac.tx_pause_frames_class{prio}"),
    ("nfp", "rx_pause_mac_ctrl_frames", "mac.rx_pause_mac_ctrl_frames"),
    ("nfp", "tx_pause_mac_ctrl_frames", "mac.tx_pause_mac_ctrl_frames"),
    ("nfp", "rx_drop_events", "mac.rx_drop_events"),
];

/// The tables, and what the survey calls the Ethernet and the RDMA half of each.
const HALVES: &[(&str, &str, &str)] = &[
    ("mlx5_core", "mlx5_core", "mlx5_ib"),
    ("mlx4_en", "mlx4_en", "mlx4_ib"),
    ("bnxt_en", "bnxt_en", "bnxt_re"),
    ("ice", "ice", "irdma"),
    ("i40e", "i40e", "irdma"),
    ("ixgbe", "ixgbe", ""),
    ("ionic", "ionic", "ionic_rdma"),
    ("hns3", "hns3", "hns_roce"),
    ("qede", "qede", ""),
    ("cxgb4", "cxgb4", "iw_cxgb4"),
    ("nfp", "nfp", ""),
    ("be2net", "be2net", "ocrdma"),
    ("mana", "mana", "mana_ib"),
    ("ena", "ena", "efa"),
    ("erdma", "", "erdma"),
    ("rdma_rxe", "", "rdma_rxe"),
];

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
        let label = format!("{} {}", counter.driver, counter.pattern);
        for rows in tables(&counter.driver) {
            match rows.iter().find(|row| row.pattern == corrected(counter)) {
                Some(row) => compare(&label, row, counter),
                None => assert!(is_unmapped(counter), "{label} is neither mapped nor left out"),
            }
        }
    }
}

#[test]
fn no_driver_of_the_survey_is_without_a_table() {
    let Some(survey) = survey() else { return };
    for driver in survey.iter().map(|counter| counter.driver.as_str()).collect::<BTreeSet<_>>() {
        assert!(tables(driver).next().is_some(), "{driver}");
        assert_ne!(drivers::for_driver(driver).name, "generic", "{driver}");
    }
    for (table, ..) in HALVES {
        assert_eq!(drivers::for_driver(table).name, *table);
    }
}

#[test]
fn every_row_is_surveyed_or_known_to_go_beyond() {
    let Some(survey) = survey() else { return };
    for (table, ethtool, rdma) in HALVES {
        let driver = drivers::for_driver(table);
        for (name, rows) in [(ethtool, driver.ethtool), (rdma, driver.rdma)] {
            let surveyed: BTreeSet<_> =
                survey.iter().filter(|counter| counter.driver == *name).map(corrected).collect();
            let beyond = |pattern| BEYOND.iter().any(|(driver, names)| driver == name && has(names, pattern));
            for row in rows {
                assert_ne!(surveyed.contains(row.pattern), beyond(row.pattern), "{name} {}", row.pattern);
            }
        }
    }
}

#[test]
fn what_the_survey_calls_a_gauge_is_bound_as_one_or_is_no_counter() {
    let Some(survey) = survey() else { return };
    for gauge in survey.iter().filter(|counter| counter.kind == "gauge") {
        let driver = drivers::for_driver(&gauge.driver);
        let bound = tables(&gauge.driver).flatten().any(|row| row.pattern == gauge.pattern);
        assert_ne!(bound, driver.is_no_counter(&gauge.pattern), "{} {}", gauge.driver, gauge.pattern);
    }
}

#[test]
fn nothing_is_both_mapped_and_left_out() {
    for (driver, names, reason) in UNMAPPED {
        assert!(!reason.is_empty() && tables(driver).next().is_some(), "{driver}");
        for name in names.split(' ') {
            assert!(tables(driver).flatten().all(|row| row.pattern != name), "{driver} {name}");
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

/// The rows for one driver name of the survey, which knows the RDMA halves by names of their own. Two NICs may have the
/// same one.
fn tables(name: &str) -> impl Iterator<Item = &'static [Row]> {
    HALVES.iter().flat_map(move |(table, ethtool, rdma)| {
        let driver = drivers::for_driver(table);
        [(ethtool, driver.ethtool), (rdma, driver.rdma)]
            .into_iter()
            .filter(move |(half, _)| **half == name)
            .map(|(_, rows)| rows)
    })
}

/// The name as the driver's source has it.
fn corrected(counter: &Surveyed) -> &str {
    let right =
        |(driver, wrong, _): &&(&str, &str, &str)| *driver == counter.driver && *wrong == counter.pattern;
    CORRECTED.iter().find(right).map_or(&counter.pattern, |(_, _, right)| right)
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
