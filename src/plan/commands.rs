//! A plan as commands for one port of a host. They are printed and never run.

use std::fmt::Write;

use super::Plan;
use super::times::{IB_RETRY_COUNT, IB_TIMEOUT};

/// One command and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What it is for.
    pub why: &'static str,
    /// A line of shell; `$DEV` is the network interface, `$RDMA` the RDMA device.
    pub line: String,
}

/// The buffer that the lossless priority gets for itself.
const LOSSLESS_BUFFER: u8 = 1;

/// All commands in the order in which they are to be given: sorting, then buffers, then pause. mlx5 checks sizes when a
/// buffer becomes lossless, and refuses PFC over one that is too small.
#[must_use]
pub fn list(plan: &Plan) -> Vec<Command> {
    [network(plan), vendor(plan), rdma(plan)].concat()
}

fn of(why: &'static str, line: String) -> Command {
    Command { why, line }
}

/// What every driver with DCB has.
fn network(plan: &Plan) -> Vec<Command> {
    let Plan { fabric, times, .. } = plan;
    let (priority, cnp) = (fabric.priority, fabric.cnp_priority);
    let (dscp, cnp_dscp) = (fabric.dscp, fabric.cnp_dscp);
    let timeout = times.prevention_timeout.as_millis();
    let buffer = plan.host_buffer.size.get();
    let cable = fabric.cable.get().div_ceil(1000);
    vec![
        of("the MTU", format!("ip link set dev \"$DEV\" mtu {}", fabric.mtu)),
        of("no 802.3x pause beside PFC", r#"ethtool -A "$DEV" autoneg off rx off tx off"#.into()),
        of("the host decides, not its firmware", r#"dcb dcbx set dev "$DEV" host ieee"#.into()),
        of(
            "trust DSCP, and sort by it: on mlx5 the first entry switches trust over",
            format!("dcb app replace dev \"$DEV\" dscp-prio {dscp}:{priority} {cnp_dscp}:{cnp}"),
        ),
        of(
            "RoCE in a class of its own, notifications before all others",
            format!(
                "dcb ets set dev \"$DEV\" willing off prio-tc all:0 {priority}:{priority} {cnp}:{cnp} tc-tsa all:ets \
                 {cnp}:strict tc-bw all:0 0:50 {priority}:50"
            ),
        ),
        of(
            "room for what is under way; only drivers with DCB buffers take it (mlx5), and the size has to be there first",
            format!("dcb buffer set dev \"$DEV\" buffer-size {LOSSLESS_BUFFER}:{buffer}"),
        ),
        of(
            "for this priority alone",
            format!("dcb buffer set dev \"$DEV\" prio-buffer all:0 {priority}:{LOSSLESS_BUFFER}"),
        ),
        of(
            "mlx5 takes the delay of PFC for the cable's length in metres",
            format!("if mlx5; then dcb pfc set dev \"$DEV\" delay {cable}; fi"),
        ),
        of(
            "PFC on this priority only; on mlx5 a new mask takes the link down for a moment",
            format!("dcb pfc set dev \"$DEV\" prio-pfc all:off {priority}:on"),
        ),
        of(
            "a hung host stops pausing before the switch takes it for stuck",
            format!("ethtool --set-tunable \"$DEV\" pfc-prevention-tout {timeout}"),
        ),
    ]
}

/// What NVIDIA's driver has, with files of its own.
fn vendor(plan: &Plan) -> Vec<Command> {
    let priority = plan.fabric.priority;
    let ecn = |role: &str| format!("put 1 \"/sys/class/net/$DEV/ecn/roce_{role}/enable/{priority}\"");
    let cnp = |key: &str, value: u8| format!("put {value} \"/sys/class/net/$DEV/ecn/roce_np/{key}\"");
    let fabric = &plan.fabric;
    vec![
        of("answer marked packets with notifications", ecn("np")),
        of("slow down when notified", ecn("rp")),
        of("how notifications are marked", cnp("cnp_dscp", fabric.cnp_dscp)),
        of("and which priority they have on a VLAN", cnp("cnp_802p_prio", fabric.cnp_priority.get())),
    ]
}

/// How RoCE packets are marked.
fn rdma(plan: &Plan) -> Vec<Command> {
    let class = plan.traffic_class;
    let folder = "/sys/kernel/config/rdma_cm/$RDMA";
    vec![
        of(
            "the ToS of connections made with rdma_cm; the folder has to be made first",
            format!("mkdir -p \"{folder}\" && put {class} \"{folder}/ports/1/default_roce_tos\""),
        ),
        of(
            "the traffic class of all others, where the vendor's driver can force one",
            format!("put {class} \"/sys/class/infiniband/$RDMA/tc/1/traffic_class\""),
        ),
    ]
}

/// What jobs are told by their environment.
pub(super) fn environment(plan: &Plan) -> String {
    let class = plan.traffic_class;
    format!("NCCL_IB_TC={class} NCCL_IB_TIMEOUT={IB_TIMEOUT} NCCL_IB_RETRY_CNT={IB_RETRY_COUNT}")
}

/// The commands as a script.
#[must_use]
pub fn commands(plan: &Plan, made_by: &str) -> String {
    let mut text = format!(
        "#!/bin/sh\n\
         # Made by: {made_by}\n\
         # For one port: DEV=eth0 RDMA=mlx5_0 sh FILE\n\
         # A command that a driver does not know fails alone. A reboot forgets all of it: have your network configuration\n\
         # keep it.\n\
         : \"${{DEV:?the network interface}}\" \"${{RDMA:?its RDMA device}}\"\n\
         put() {{ if [ -w \"$2\" ]; then echo \"$1\" > \"$2\"; else echo \"not here: $2\" >&2; fi; }}\n\
         mlx5() {{ case \"$(readlink \"/sys/class/net/$DEV/device/driver\")\" in */mlx5_core) ;; *) false ;; esac; }}\n"
    );
    for Command { why, line } in list(plan) {
        let _ = write!(text, "\n# {why}\n{line}\n");
    }
    let _ = writeln!(
        text,
        "\n# For jobs, in their environment: {}\n# NCCL_IB_GID_INDEX is another one on every host: ask `rocewatch doctor` \
         there.",
        environment(plan)
    );
    text
}
