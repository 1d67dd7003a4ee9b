//! Paths to storage over NVMe-oF.

use super::Severity::{Critical, Warning};
use super::{File, Group, Rule, alert};

pub(super) const FILE: File = File {
    name: "nvmf",
    about: "Paths to storage over NVMe-oF",
    groups: &[Group { name: "rocewatch-nvmf", interval: None, rules: RULES }],
};

/// A summary about a subsystem.
macro_rules! subsystem {
    ($text:literal) => {
        concat!("{{ $labels.instance }} {{ $labels.subsystem }}: ", $text)
    };
}

const RULES: &[Rule] = &[
    alert(
        "RocewatchNvmfPathLost",
        Warning,
        "rocewatch_nvmf_paths_live < rocewatch_nvmf_paths
or (
  rocewatch_nvmf_paths < max_over_time(rocewatch_nvmf_paths[$(nvmf_lost)])
  and increase(rocewatch_nvmf_paths_lost_total[$(nvmf_lost)]) > 0
)",
        subsystem!("a path is lost; {{ $value }} left"),
        "{{ $labels.instance }} has {{ $value }} live paths left to {{ $labels.subsystem }}: the others do not connect, or failed and were removed within $(nvmf_lost). Storage goes on with less bandwidth, and without a spare.",
    )
    .held("nvmf_path_for"),
    alert(
        "RocewatchNvmfAllPathsLost",
        Critical,
        "rocewatch_nvmf_paths_live == 0
or (
  0 * (increase(rocewatch_nvmf_paths_lost_total[$(nvmf_lost)]) > 0)
  unless rocewatch_nvmf_paths_live
)",
        subsystem!("no path is left"),
        "{{ $labels.instance }} has {{ $value }} live paths to {{ $labels.subsystem }}: none of them connects, or all failed and were removed within $(nvmf_lost). Its I/O waits until ctrl_loss_tmo is over, and fails then.",
    )
    .held("nvmf_all_for"),
    alert(
        "RocewatchNvmfReconnects",
        Warning,
        "increase(rocewatch_nvmf_reconnects_total[$(nvmf_reconnect_window)]) >= $(nvmf_reconnects)",
        subsystem!("{{ $labels.controller }} reconnects again and again"),
        "The controller {{ $labels.controller }} of {{ $labels.instance }}, a path to {{ $labels.subsystem }}, became live again {{ printf \"%.0f\" $value }} times within $(nvmf_reconnect_window). Each time its I/O stood still for at least the keep-alive: look for pause, drops and flaps of the port that carries it.",
    ),
];
