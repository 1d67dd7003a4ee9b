//! Congestion: PFC, ECN and the reaction to it.

use super::board::{Board, Variable};
use super::panel::{Limits, Panel, Tint, Unit, lines, oddities, stat, text};

/// The dashboard.
pub(super) fn board() -> Board {
    Board::of_nodes(
        "rocewatch-congestion",
        "Congestion",
        "How the fabric holds back senders: by pause (PFC), which stops everybody, or by marks (ECN), which slow down those who cause it.",
        Variable::Priority,
    )
    .row("Is it pause or marks?", now())
    .row("The fabric stopped us: received pause (rx)", received())
    .row("We stopped the fabric: sent pause (tx)", sent())
    .row("Marks and notifications", marks())
    .row("What should not be", odd())
}

fn now() -> Vec<Panel> {
    vec![
        text(
            "How to read this page",
            "**rx pause**: the fabric stopped us; look behind the switch. **tx pause**: we stopped the fabric; this host is slow. Marks should rise *before* pause does: pause without marks means that ECN is not set up on the way, or that its threshold lies above that of PFC.",
        ),
        stat("Worst rx pause, 5 m", "Share of time the most held queue was held. Healthy: below 5 %.", Unit::Share, Limits::Rising(0.05, 0.25))
            .number(promql!("max(rate(rocewatch_pfc_rx_pause_seconds_total{@queue}[5m]))")),
        stat(
            "Worst tx pause, 5 m",
            "Share of time the worst port held its peer. Healthy: below 1 %.",
            Unit::Share,
            Limits::Rising(0.01, 0.1),
        )
        .number(promql!("max(rate(rocewatch_pfc_tx_pause_seconds_total{@queue}[5m]))")),
        oddities("Throttled queues", "Queues paused above the limit of a window (10 % of a minute, 20 % of 10 s, 50 % of 1 s): chronic pause, far below a storm. Healthy: 0.")
        .number(promql!("sum(max without (window) (rocewatch_watchdog_throttled{@queue}))")),
        stat(
            "Marked packets, 5 m",
            "Share of RDMA packets that arrived with the congestion mark. Healthy: below 2 %.",
            Unit::Share,
            Limits::Rising(0.02, 0.1),
        )
        .number(promql!(
            "sum(rate(rocewatch_ecn_marked_packets_received_total{@port}[5m])) / sum(rate(rocewatch_rdma_receive_packets_total{@port}[5m]))"
        )),
        stat(
            "CNPs handled per sent, 5 m",
            "Over all that is selected: senders and receivers have to be in it. Healthy: about 1. Below 0.5: senders do not react, or CNPs get lost. No data while none are sent.",
            Unit::Share,
            Limits::Falling(0.5, 0.2),
        )
        .number_rare(
            "no CNP is sent where nothing is marked",
            promql!(
                "sum(rate(rocewatch_cnp_handled_total{@port}[5m])) / (sum(rate(rocewatch_cnp_sent_total{@port}[5m])) > 1)"
            ),
        ),
        stat(
            "Ports only estimated",
            "Ports whose NIC counts pause frames but no pause time: their share of time is an upper bound, and they are never acted on.",
            Unit::Count,
            Limits::None,
        )
        .number(promql!("sum(rocewatch_watchdog_estimated{@port})")),
    ]
}

fn received() -> Vec<Panel> {
    vec![
        lines("rx: share of time", "How much of the time the peer held the queue; of queues that had PFC within ten minutes. Healthy: below 5 % outside of bursts.", Unit::Share)
            .limits(Limits::Rising(0.05, 0.25))
            .ask(
                Tint::Rx,
                "{{instance}} {{netdev}} prio {{priority}}",
                promql!("topk(10, clamp_max(rate(rocewatch_pfc_rx_pause_seconds_total{@queue}[$__rate_interval]), 1) and max_over_time(rocewatch_pfc_enabled{@queue}[10m]) == 1)"),
            )
            .size(12, 9),
        lines(
            "rx: frames",
            "PFC frames received. On some NICs those that release are among them: frames alone prove no storm, and a stuck queue may show few.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Rx,
            "{{instance}} {{netdev}} prio {{priority}}",
            promql!("topk(10, rate(rocewatch_pfc_rx_pause_frames_total{@queue}[$__rate_interval]) and max_over_time(rocewatch_pfc_enabled{@queue}[10m]) == 1)"),
        )
        .size(12, 9),
        lines(
            "rx: mean length of a pause",
            "Time held, by the number of times released. Microseconds: the normal work of PFC. Milliseconds: a queue somewhere does not drain. No line while nothing is released: that is a storm.",
            Unit::Seconds,
        )
        .ask_rare(
            Tint::Rx,
            "{{instance}} {{netdev}} prio {{priority}}",
            "nothing is released while a queue is stuck, nor when nothing is held",
            promql!(
                "topk(10, rate(rocewatch_pfc_rx_pause_seconds_total{@queue}[$__rate_interval]) / (rate(rocewatch_pfc_rx_pause_transitions_total{@queue}[$__rate_interval]) > 0))"
            ),
        ),
        lines(
            "rx: how bad the worst windows are",
            "Of the worst detection window of each second: half of them, and 99 of 100, are below the line. A high upper line over a low one is bursts.",
            Unit::Share,
        )
        .ask(
            Tint::Rx,
            "99 of 100 below",
            promql!(
                "histogram_quantile(0.99, sum by (le) (rate(rocewatch_pfc_rx_pause_ratio_bucket{@queue}[$__rate_interval])))"
            ),
        )
        .ask(
            Tint::Quiet,
            "half below",
            promql!(
                "histogram_quantile(0.5, sum by (le) (rate(rocewatch_pfc_rx_pause_ratio_bucket{@queue}[$__rate_interval])))"
            ),
        ),
        lines("Bits sent by priority", "What the priorities that can be paused send. Priorities that share a hardware queue may all show the queue's number.", Unit::BitsPerSecond)
            .ask(
                Tint::Tx,
                "{{instance}} {{netdev}} prio {{priority}}",
                promql!("topk(10, rate(rocewatch_priority_transmit_bytes_total{@queue}[$__rate_interval]) * 8 and max_over_time(rocewatch_pfc_enabled{@queue}[10m]) == 1)"),
            ),
    ]
}

fn sent() -> Vec<Panel> {
    vec![
        lines("tx: share of time", "How much of the time this port held its peer. Healthy: below 1 %.", Unit::Share)
            .limits(Limits::Rising(0.01, 0.1))
            .ask(Tint::Tx, "{{instance}} {{netdev}} prio {{priority}}", promql!("topk(10, clamp_max(rate(rocewatch_pfc_tx_pause_seconds_total{@queue}[$__rate_interval]), 1) and max_over_time(rocewatch_pfc_enabled{@queue}[10m]) == 1)"),
            )
            .size(12, 9),
        lines("tx: frames", "PFC frames sent. On some NICs those that release are among them.", Unit::PacketsPerSecond)
            .ask(Tint::Tx, "{{instance}} {{netdev}} prio {{priority}}", promql!("topk(10, rate(rocewatch_pfc_tx_pause_frames_total{@queue}[$__rate_interval]) and max_over_time(rocewatch_pfc_enabled{@queue}[10m]) == 1)"),
            )
            .size(12, 9),
        lines(
            "tx: mean length of a pause",
            "Time the peer was held, by the number of times it was released. Long ones: this host does not drain.",
            Unit::Seconds,
        )
        .ask_rare(
            Tint::Tx,
            "{{instance}} {{netdev}} prio {{priority}}",
            "a healthy host sends no pause",
            promql!(
                "topk(10, rate(rocewatch_pfc_tx_pause_seconds_total{@queue}[$__rate_interval]) / (rate(rocewatch_pfc_tx_pause_transitions_total{@queue}[$__rate_interval]) > 0))"
            ),
        ),
        lines(
            "tx: how bad the worst windows are",
            "Of the worst detection window of each second: half of them, and 99 of 100, are below the line.",
            Unit::Share,
        )
        .ask(
            Tint::Tx,
            "99 of 100 below",
            promql!(
                "histogram_quantile(0.99, sum by (le) (rate(rocewatch_pfc_tx_pause_ratio_bucket{@queue}[$__rate_interval])))"
            ),
        )
        .ask(
            Tint::Quiet,
            "half below",
            promql!(
                "histogram_quantile(0.5, sum by (le) (rate(rocewatch_pfc_tx_pause_ratio_bucket{@queue}[$__rate_interval])))"
            ),
        ),
        lines(
            "Packets this NIC marks itself",
            "Marks that the NIC adds because its own host is slow: no congestion of the fabric, and a reason for tx pause. Healthy: 0.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Tx,
            "{{instance}} {{netdev}}",
            promql!(
                "topk(10, sum by (instance, netdev) (rate(rocewatch_priority_ecn_marked_packets_total{@queue}[$__rate_interval])))"
            ),
        ),
    ]
}

fn marks() -> Vec<Panel> {
    vec![
        lines(
            "Marked packets of those received",
            "Share of RDMA packets that arrived with the congestion mark. Healthy: below 2 %, and above 0 where there is pause. On a bond no line: marks are counted for the bond, packets for each slave.",
            Unit::Share,
        )
        .limits(Limits::Rising(0.02, 0.1))
        .ask(
            Tint::Rx,
            "{{instance}} {{netdev}}",
            promql!(
                "topk(10, rate(rocewatch_ecn_marked_packets_received_total{@port}[$__rate_interval]) / rate(rocewatch_rdma_receive_packets_total{@port}[$__rate_interval]))"
            ),
        ),
        lines(
            "Notifications as the receiver of data",
            "CNPs sent to those whose packets arrived marked.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Rx,
            "{{instance}} {{netdev}}",
            promql!("topk(10, rate(rocewatch_cnp_sent_total{@port}[$__rate_interval]))"),
        ),
        lines(
            "Notifications as the sender of data",
            "CNPs that slowed a sender down here, and those that were ignored. Healthy: none ignored.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Tx,
            "{{instance}} {{netdev}} handled",
            promql!("topk(10, rate(rocewatch_cnp_handled_total{@port}[$__rate_interval]))"),
        )
        .ask(
            Tint::Fault,
            "{{instance}} {{netdev}} ignored",
            promql!("topk(10, rate(rocewatch_cnp_ignored_total{@port}[$__rate_interval]))"),
        ),
    ]
}

fn odd() -> Vec<Panel> {
    vec![
        lines(
            "Pause on priorities without PFC",
            "PFC frames for priorities that were not lossless here in the last ten minutes. Healthy: none. Otherwise the peer is set up differently, or traffic is marked wrongly.",
            Unit::PacketsPerSecond,
        )
        .ask_rare(
            Tint::Rx,
            "{{instance}} {{netdev}} prio {{priority}} rx",
            "a fabric that is set up rightly has none",
            promql!(
                "topk(10, (rate(rocewatch_pfc_rx_pause_frames_total{@queue}[$__rate_interval]) > 0) and max_over_time(rocewatch_pfc_enabled{@queue}[10m]) == 0)"
            ),
        )
        .ask_rare(
            Tint::Tx,
            "{{instance}} {{netdev}} prio {{priority}} tx",
            "a fabric that is set up rightly has none",
            promql!(
                "topk(10, (rate(rocewatch_pfc_tx_pause_frames_total{@queue}[$__rate_interval]) > 0) and max_over_time(rocewatch_pfc_enabled{@queue}[10m]) == 0)"
            ),
        ),
        lines(
            "802.3x pause",
            "Frames that stop the whole port, whatever the priority. Healthy on a RoCE port: none; it should be switched off on both sides.",
            Unit::PacketsPerSecond,
        )
        .ask(
            Tint::Rx,
            "{{instance}} {{netdev}} rx",
            promql!("topk(10, rate(rocewatch_global_rx_pause_frames_total{@port}[$__rate_interval]))"),
        )
        .ask(
            Tint::Tx,
            "{{instance}} {{netdev}} tx",
            promql!("topk(10, rate(rocewatch_global_tx_pause_frames_total{@port}[$__rate_interval]))"),
        ),
        lines(
            "Own stall detector of the NIC, events in 5 m",
            "What the NIC itself reports of the pause it sends. At severity error it has stopped pausing and drops instead. Healthy: none.",
            Unit::Count,
        )
        .ask(
            Tint::Fault,
            "{{instance}} {{netdev}} {{severity}}",
            promql!("topk(10, increase(rocewatch_nic_pause_storm_events_total{@port}[5m]))"),
        ),
    ]
}
