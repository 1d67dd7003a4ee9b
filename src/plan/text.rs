//! A plan for people: every figure with the terms that it is made of.

use std::fmt::Write;
use std::time::Duration;

use super::headroom::Term;
use super::marking::{PUBLISHED, PUBLISHED_AT};
use super::times::{IB_RETRY_COUNT, IB_TIMEOUT};
use super::{Plan, commands};
use crate::config::{Size, span_text};

/// The page.
#[must_use]
pub fn text(plan: &Plan) -> String {
    let mut page = String::new();
    let parts: [fn(&mut String, &Plan) -> std::fmt::Result; 7] =
        [sorting, headroom, host, marking, times, dcqcn, rest];
    for part in parts {
        // Writing to a text does not fail.
        let _ = part(&mut page, plan);
    }
    page
}

fn sorting(page: &mut String, plan: &Plan) -> std::fmt::Result {
    let fabric = &plan.fabric;
    let (dscp, class) = (fabric.dscp, plan.traffic_class);
    writeln!(page, "Sorting")?;
    writeln!(
        page,
        "  RoCE           DSCP {dscp} (traffic class {class}) on priority {}, lossless: PFC here only",
        fabric.priority
    )?;
    writeln!(page, "  notifications  DSCP {} on priority {}, strict", fabric.cnp_dscp, fabric.cnp_priority)?;
    match plan.rdma_mtu {
        Some(active) => writeln!(page, "  MTU            {}, RDMA MTU {active}", fabric.mtu),
        None => writeln!(page, "  MTU            {}, too small for RDMA", fabric.mtu),
    }
}

fn sum(page: &mut String, terms: &[Term], size: Size, cell: Size) -> std::fmt::Result {
    for Term { name, formula, bytes, source } in terms {
        writeln!(page, "  {bytes:>8} B  {name}: {formula}\n              [{source}]")?;
    }
    writeln!(page, "  {:>8} B  in cells of {cell}", size.get())
}

fn headroom(page: &mut String, plan: &Plan) -> std::fmt::Result {
    let fabric = &plan.fabric;
    writeln!(page, "\nHeadroom at {}, {} of cable (XOFF to full)", fabric.speed, fabric.cable)?;
    sum(page, &plan.headroom.terms, plan.headroom.size, fabric.cell)?;
    let Some(switch) = &plan.switch_buffer else {
        return writeln!(page, "  with --buffer SIZE: what it leaves of the switch's memory");
    };
    let (ports, per_port) = (fabric.ports, switch.per_port);
    writeln!(
        page,
        "  {ports} ports reserve {}; {} are shared, {per_port} for each port if all are congested",
        switch.reserved, switch.shared
    )?;
    if plan.marking.max > per_port {
        writeln!(
            page,
            "  then PFC starts before everything is marked ({}): lower the thresholds, or expect pause under incast",
            plan.marking.max
        )?;
    }
    Ok(())
}

fn host(page: &mut String, plan: &Plan) -> std::fmt::Result {
    writeln!(page, "\nReceive buffer of the host's lossless priority")?;
    sum(page, &plan.host_buffer.terms, plan.host_buffer.size, plan.fabric.cell)
}

fn marking(page: &mut String, plan: &Plan) -> std::fmt::Result {
    let (speed, marking) = (plan.fabric.speed, plan.marking);
    writeln!(page, "\nMarking (ECN by WRED)")?;
    for (name, here, published) in [("min", marking.min, PUBLISHED.min), ("max", marking.max, PUBLISHED.max)]
    {
        writeln!(page, "  {name}  {here} = {published} × {speed} / {PUBLISHED_AT}")?;
    }
    writeln!(
        page,
        "  {} % at max; the pair is published without a speed and taken to hold at {PUBLISHED_AT}",
        marking.probability
    )
}

fn times(page: &mut String, plan: &Plan) -> std::fmt::Result {
    let times = &plan.times;
    writeln!(page, "\nWho gives up when")?;
    let rows = [
        (times.prevention_timeout, "the NIC stops sending pause (pfc-prevention-tout)"),
        (times.switch_detection, "the switch drops: 200 ms for each 32 ports begun (SONiC's pfcwd)"),
        (times.rx_detect, "the agent calls received pause a storm: the switch's time and one of its polls"),
        (times.transport, "queue pairs break"),
    ];
    for (span, what) in rows {
        let millis = Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
        writeln!(page, "  {:>8}  {what}", span_text(millis))?;
    }
    writeln!(
        page,
        "  queue pairs: 4.096 µs × 2^{IB_TIMEOUT} × {IB_RETRY_COUNT} (NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT)"
    )?;
    writeln!(page, "  in rocewatch.toml: [watchdog.rx] detect = \"{}\"", span_text(times.rx_detect))
}

fn dcqcn(page: &mut String, plan: &Plan) -> std::fmt::Result {
    writeln!(page, "\nDCQCN (defaults of ConnectX; shown, not set)")?;
    plan.dcqcn.iter().try_for_each(|parameter| {
        writeln!(page, "  {:<30} {:>5} {}", parameter.name, parameter.value, parameter.unit)
    })
}

fn rest(page: &mut String, plan: &Plan) -> std::fmt::Result {
    writeln!(page, "\nHost, for each port (--format commands)")?;
    for command in commands::list(plan) {
        writeln!(page, "  {}", command.line)?;
    }
    writeln!(
        page,
        "\nSwitch: --format sonic. What `rocewatch doctor --profile FILE` checks: --format profile"
    )
}
