//! Ports, cables, the PCIe bus and firmware.

use super::Severity::{Critical, Info, Warning};
use super::{File, Group, Rule, alert, node, port, record};

pub(super) const FILE: File = File {
    name: "link",
    about: "Ports, cables, the PCIe bus and firmware",
    groups: &[
        Group { name: "rocewatch-remembered", interval: Some("hourly"), rules: REMEMBERED },
        Group { name: "rocewatch-link", interval: None, rules: LINK },
    ],
};

/// What was normal, taken once an hour: a week of raw samples is too much to look back over.
const REMEMBERED: &[Rule] = &[
    record("rocewatch:port_up:max1h", "max_over_time(rocewatch_port_up[$(hourly)])"),
    record(
        "rocewatch:port_rate_bytes_per_second:max1h",
        "max_over_time(rocewatch_port_rate_bytes_per_second[$(hourly)])",
    ),
    record("rocewatch:devices:max1h", "max_over_time(rocewatch_devices[$(hourly)])"),
    record("rocewatch:carrier_changes:increase1h", "increase(rocewatch_carrier_changes_total[$(hourly)])"),
];

const LINK: &[Rule] = &[
    record(
        "rocewatch:port_receive_utilisation:ratio_rate1m",
        "rate(rocewatch_port_receive_bytes_total[$(short)]) / rocewatch_port_rate_bytes_per_second",
    ),
    record(
        "rocewatch:port_transmit_utilisation:ratio_rate1m",
        "rate(rocewatch_port_transmit_bytes_total[$(short)]) / rocewatch_port_rate_bytes_per_second",
    ),
    alert(
        "RocewatchPortDown",
        Critical,
        "rocewatch_port_up == 0
and (
  max_over_time(rocewatch:port_up:max1h[$(seen)]) == 1
  or max_over_time(rocewatch_port_up[$(flap_window)]) == 1
)",
        port!("down"),
        "{{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) is down (rocewatch_port_up {{ $value }}) and was up within $(seen). rocewatch_port_down_info says why, where the driver tells.",
    )
    .held("port_down_for"),
    alert(
        "RocewatchLinkFlapping",
        Warning,
        "increase(rocewatch_carrier_changes_total[$(flap_window)]) >= $(flap_changes)
or sum_over_time(rocewatch:carrier_changes:increase1h[$(flap_day)]) >= $(flap_day_changes)",
        port!("the link flaps: {{ printf \"%.0f\" $value }} changes of carrier"),
        "The link of {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) changed {{ printf \"%.0f\" $value }} times, within $(flap_window) or $(flap_day); two changes are one flap. On mlx5 a pfc-off is two flaps of its own: see RocewatchWatchdogActed first.",
    ),
    alert(
        "RocewatchSpeedDegraded",
        Critical,
        "rocewatch_port_rate_bytes_per_second
< max_over_time(rocewatch:port_rate_bytes_per_second:max1h[$(seen)])
and rocewatch_port_up == 1",
        port!("slower than it was: {{ $value | humanize }}B/s"),
        "{{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) runs at {{ $value | humanize }}B/s and was faster within $(seen). A collective goes at the pace of its slowest port.",
    )
    .held("speed_for"),
    alert(
        "RocewatchDeviceMissing",
        Critical,
        "rocewatch_devices < max_over_time(rocewatch:devices:max1h[$(seen)])",
        node!("an RDMA device is missing; {{ $value }} are left"),
        "The agent on {{ $labels.instance }} reads {{ $value }} RDMA devices and read more within $(seen). A NIC fell off the bus, or was taken out; alerts of its ports are silent now.",
    )
    .held("device_for"),
    alert(
        "RocewatchFecUncorrectable",
        Warning,
        "increase(rocewatch_phy_fec_uncorrectable_blocks_total[$(long)]) > 0
or increase(rocewatch_phy_pcs_symbol_errors_total[$(long)]) > 0",
        port!("errors that FEC cannot repair"),
        "{{ $value | humanize }} code words or symbols within $(long) that error correction could not repair on {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}). Packets are lost on this cable: clean or change it.",
    )
    .held("phy_for"),
    alert(
        "RocewatchCrcErrors",
        Warning,
        "increase(rocewatch_phy_crc_errors_total[$(long)]) > 0",
        port!("frames arrive damaged"),
        "{{ $value | humanize }} frames with a wrong checksum within $(long) on {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}). Each is a lost packet: cable, transceiver, or the peer's port.",
    )
    .held("phy_for"),
    alert(
        "RocewatchPcieStall",
        Warning,
        "avg_over_time(rocewatch_pcie_stalled_ratio[$(long)]) > $(pcie_stall)",
        port!("the PCIe bus stalls the NIC {{ $value | humanizePercentage }} of the time ({{ $labels.direction }})"),
        "PCIe ({{ $labels.direction }}) stalled {{ $labels.instance }} {{ $labels.netdev }} ({{ $labels.device }}) for {{ $value | humanizePercentage }} of the last $(long). Together with sent pause this says: the cause is in this host, not in the fabric.",
    )
    .held("pcie_stall_for"),
    alert(
        "RocewatchFirmwareSpread",
        Info,
        "count by ($(cluster), driver, generation) (
  count by ($(cluster), driver, generation, release) (
    label_replace(
      label_replace(rocewatch_device_info{driver=\"mlx5_core\"}, \"generation\", \"$1\", \"firmware_version\", \"([0-9]+).*\")
      or rocewatch_device_info{driver!=\"mlx5_core\"},
      \"release\", \"$1\", \"firmware_version\", \"([^ ]+).*\"
    )
  )
) > 1",
        "Fleet {{ $labels.$(cluster) }}: {{ $value }} firmware versions of {{ $labels.driver }} {{ $labels.generation }}",
        "NICs of {{ $labels.driver }} {{ $labels.generation }} in fleet {{ $labels.$(cluster) }} run {{ $value }} versions of firmware. On mlx5 the first number names the generation of the NIC and is not compared.",
    )
    .held("firmware_for"),
];
