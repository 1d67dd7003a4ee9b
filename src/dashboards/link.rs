//! Links: cables, optics, error correction, and the bus behind the NIC.

use super::board::{Board, Variable};
use super::panel::{Limits, Lines, Panel, Tint, Unit, faults, lines, oddities, stat, table};

/// The dashboard.
pub(super) fn board() -> Board {
    Board::of_nodes(
        "rocewatch-link",
        "Link and PHY",
        "Cables, optics and error correction on one side of the NIC, the PCIe bus on the other.",
        Variable::Netdev,
    )
    .row("Is a link in trouble?", now())
    .row("Links, worst first", vec![links()])
    .row("Signal", signal())
    .row("Module and bus", host_side())
    .row("Driver and firmware", firmware())
}

fn now() -> Vec<Panel> {
    vec![
        faults("Ports down", "Ports without carrier, or whose RDMA port is not active. Healthy: 0.")
            .number(promql!("sum(rocewatch_port_up{@port} == bool 0)")),
        oddities("Link downs, 1 d", "Times a physical link went down. Those that an action of the agent made are among them. Healthy: 0.")
        .number(promql!("sum(increase(rocewatch_port_link_downs_total{@port}[1d]))")),
        faults("Beyond repair, 1 h", "Code words that error correction could not repair: packets were lost. Healthy: 0.")
        .number(promql!("sum(increase(rocewatch_phy_fec_uncorrectable_blocks_total{@port}[1h]))")),
        faults("Damaged frames, 1 h", "Frames with a wrong check sequence. Healthy: 0.")
            .number(promql!("sum(increase(rocewatch_phy_crc_errors_total{@port}[1h]))")),
        oddities("Module troubles, 1 d", "Transceivers that were unplugged, too hot, shorted, or whose bus was stuck. Healthy: 0.")
        .number(promql!("sum(increase(rocewatch_phy_module_events_total{@port}[1d]))")),
        stat(
            "Worst PCIe stall",
            "Share of the last second in which the bus held up the NIC, on the worst port. Healthy: near 0. High values together with tx pause: this is why.",
            Unit::Share,
            Limits::Rising(0.1, 0.3),
        )
        .number(promql!("max(rocewatch_pcie_stalled_ratio{@port})")),
    ]
}

fn links() -> Panel {
    table(
        "Links",
        "One row for each port: code words and symbols beyond repair, and frames that came damaged, lost packets. A cell without a number: this NIC does not count it.",
        &["instance", "netdev"],
    )
    .oddities(
        "Link downs, 1 d",
        promql!("sum by (instance, netdev) (increase(rocewatch_port_link_downs_total{@port}[1d]))"),
    )
    .column(
        "Up",
        Unit::Count,
        Limits::AllRequired,
        promql!("min by (instance, netdev) (rocewatch_port_up{@port})"),
    )
    .column(
        "Speed",
        Unit::BitsPerSecond,
        Limits::None,
        promql!("max by (instance, netdev) (rocewatch_port_rate_bytes_per_second{@port}) * 8"),
    )
    .column(
        "Largest packet",
        Unit::Bytes,
        Limits::None,
        promql!("max by (instance, netdev) (rocewatch_netdev_mtu_bytes{@port})"),
    )
    .oddities(
        "Carrier changes, 1 d",
        promql!("sum by (instance, netdev) (increase(rocewatch_carrier_changes_total{@port}[1d]))"),
    )
    .faults(
        "Beyond repair, 1 d",
        promql!(
            "sum by (instance, netdev) (increase(rocewatch_phy_fec_uncorrectable_blocks_total{@port}[1d]))"
        ),
    )
    .faults(
        "Symbols, 1 d",
        promql!("sum by (instance, netdev) (increase(rocewatch_phy_pcs_symbol_errors_total{@port}[1d]))"),
    )
    .faults(
        "Damaged, 1 d",
        promql!("sum by (instance, netdev) (increase(rocewatch_phy_crc_errors_total{@port}[1d]))"),
    )
    .size(24, 8)
}

fn signal() -> Vec<Panel> {
    vec![
        lines("Ports up", "1 while the port has carrier and its RDMA port is active. A gap in the line: nobody answered.", Unit::Count)
            .ask(Tint::Quiet, "{{instance}} {{netdev}}", promql!("bottomk(10, rocewatch_port_up{@port})")),
        lines(
            "Bit errors repaired",
            "Bits that error correction repaired. Some are normal at 50 Gb/s a lane and above; what counts is a port that has many more than its neighbours, or a line that rises over days.",
            Unit::PerSecond,
        )
        .ask(
            Tint::Quiet,
            "{{instance}} {{netdev}}",
            promql!("topk(10, rate(rocewatch_phy_fec_corrected_bit_errors_total{@port}[$__rate_interval]))"),
        ),
        lines(
            "Beyond repair",
            "Code words and symbols that error correction could not repair, and frames with a wrong check sequence. Each is a lost packet. Healthy: none.",
            Unit::PerSecond,
        )
        .ask(
            Tint::Fault,
            "{{instance}} {{netdev}} code words",
            promql!("topk(10, rate(rocewatch_phy_fec_uncorrectable_blocks_total{@port}[$__rate_interval]))"),
        )
        .ask(
            Tint::Own,
            "{{instance}} {{netdev}} symbols",
            promql!("topk(10, rate(rocewatch_phy_pcs_symbol_errors_total{@port}[$__rate_interval]))"),
        )
        .ask(
            Tint::Quiet,
            "{{instance}} {{netdev}} frames",
            promql!("topk(10, rate(rocewatch_phy_crc_errors_total{@port}[$__rate_interval]))"),
        ),
    ]
}

fn host_side() -> Vec<Panel> {
    vec![
        lines(
            "PCIe stall",
            "Share of the last second in which the bus held up the NIC, by direction.",
            Unit::Share,
        )
        .limits(Limits::Rising(0.1, 0.3))
        .ask(Tint::Quiet, "{{instance}} {{netdev}} {{direction}}", promql!("topk(10, rocewatch_pcie_stalled_ratio{@port})")),
        lines(
            "Dropped at the bus, and errors on it",
            "Packets that the bus could not take, and signal errors on it. Healthy: none. Errors that go on: reseat the card.",
            Unit::PerSecond,
        )
        .ask(
            Tint::Fault,
            "{{instance}} {{netdev}} dropped",
            promql!("topk(10, rate(rocewatch_pcie_buffer_overflows_total{@port}[$__rate_interval]))"),
        )
        .ask(
            Tint::Quiet,
            "{{instance}} {{netdev}} errors {{direction}}",
            promql!("topk(10, rate(rocewatch_pcie_signal_integrity_errors_total{@port}[$__rate_interval]))"),
        ),
        lines(
            "Module troubles, in 5 m",
            "What transceivers went through, by kind. Healthy: nothing.",
            Unit::Count,
        )
        .drawn(Lines::Stacked)
        .ask(
            Tint::Fault,
            "{{instance}} {{netdev}} {{kind}}",
            promql!("increase(rocewatch_phy_module_events_total{@port}[5m])"),
        ),
    ]
}

fn firmware() -> Vec<Panel> {
    vec![
        table(
            "Health reporters of the driver (devlink)",
            "What the driver says of its own queues and firmware. An error that was recovered from has disturbed traffic all the same.",
            &["instance", "netdev", "reporter"],
        )
        .oddities("Errors, 1 d", promql!("sum by (instance, netdev, reporter) (increase(rocewatch_devlink_health_errors_total{@port}[1d]))"),
        )
        .column(
            "Recovered, 1 d",
            Unit::Count,
            Limits::None,
            promql!(
                "sum by (instance, netdev, reporter) (increase(rocewatch_devlink_health_recoveries_total{@port}[1d]))"
            ),
        )
        .column(
            "Healthy now",
            Unit::Count,
            Limits::AllRequired,
            promql!("min by (instance, netdev, reporter) (rocewatch_devlink_healthy{@port})"),
        )
        .size(12, 8),
        table(
            "NICs",
            "What stands behind each port.",
            &["instance", "netdev", "device", "driver", "driver_version", "firmware_version", "pci_address"],
        )
        .column(
            "Ports",
            Unit::Count,
            Limits::None,
            promql!(
                "count by (instance, netdev, device, driver, driver_version, firmware_version, pci_address) (rocewatch_device_info{@port})"
            ),
        )
        .size(12, 8),
    ]
}
