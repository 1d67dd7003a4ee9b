//! Renders the page of the NICs from the driver tables: what each one counts, how honest and how fresh that is, and what
//! its levers disturb.

use std::time::Duration;

use super::{line, native_names, series};
use crate::action::{ActionKind, Disruption};
use crate::catalog::Counter as C;
use crate::drivers::{
    self, Caps, Driver, Evidence, LinkEffect, NamesEffect, PacketScope, PauseCounted, PauseScope, PauseTime,
    PfcOff, Refresh, XonFrames,
};

const HEAD: &str = "\
# NICs

This page is generated from the driver tables in `src/core/drivers`.

* What a port really offers is decided by the names it shows, not by its driver: firmware and configuration add names and
  take them away. A name that is missing leaves its metric out; it is never a zero.
* A driver that is not here is read by the table `generic`, and each of its levers counts as one that disturbs the whole
  device.
* Pause that is not measured is estimated from above. An estimated port is watched, labelled as estimated, and **never acted
  upon**.
* Evidence says on what a table was tried: a *fixture* has names, captured or from the driver's source, and values that were made up, a
  *real kernel* runs the driver, *hardware* is the NIC itself. No table has been tried on hardware yet.
* Several names for one metric: the first one present is used, never a sum. What a NIC counts beyond the names listed here
  is a raw counter, without a meaning that drivers share.
";

/// What a reader may look for, and the counters of which one would do.
const SOUGHT: [(&str, &[C]); 11] = [
    ("pause time of a priority", &[C::PfcRxPauseTime]),
    ("pause frames of a priority", &[C::PfcRxPauseFrames, C::PfcRxXoffFrames]),
    ("802.3x pause time", &[C::GlobalRxPauseTime]),
    ("802.3x pause frames", &[C::GlobalRxPauseFrames, C::GlobalRxXoffFrames]),
    ("packets of a priority", &[C::PriorityRxPackets]),
    ("discards of a priority", &[C::PriorityRxDiscards]),
    ("traffic on the wire", &[C::PortRxBytes]),
    ("RDMA traffic", &[C::RdmaRxPackets, C::RdmaRxBytes]),
    ("ECN marks", &[C::EcnMarkedPackets]),
    ("congestion notifications", &[C::CnpReceived, C::CnpHandled]),
    ("RDMA retransmissions", &[C::Retransmits, C::LocalAckTimeouts, C::PacketSequenceErrors]),
];

/// The whole page in Markdown.
#[must_use]
pub fn nics() -> String {
    let mut page = String::from(HEAD);
    line(&mut page, format_args!("\n| driver | NICs | pause by priority | refresh | `pfc-off` | evidence |"));
    line(&mut page, format_args!("| --- | --- | --- | --- | --- | --- |"));
    for driver in drivers::ALL {
        let cells = [
            driver.hardware.to_owned(),
            pause_by_priority(driver).to_owned(),
            refresh(driver.caps.refresh),
            reach(driver.caps.levers.disruption(ActionKind::PfcOff)).to_owned(),
            evidence(driver.evidence).to_owned(),
        ];
        line(&mut page, format_args!("| [{0}](#{0}) | {1} |", driver.name, cells.join(" | ")));
    }
    for driver in drivers::ALL {
        chapter(&mut page, driver);
    }
    page
}

fn chapter(page: &mut String, driver: &Driver) {
    line(page, format_args!("\n## {}\n", driver.name));
    let aliases: Vec<_> = driver.aliases.iter().map(|alias| format!("`{alias}`")).collect();
    line(page, format_args!("{}. Drivers: {}.\n", driver.hardware, aliases.join(", ")));
    let cannot: Vec<_> =
        SOUGHT.iter().filter(|(_, any)| !counts(driver, any)).map(|(sought, _)| *sought).collect();
    line(page, format_args!("| | |\n| --- | --- |"));
    line(page, format_args!("| pause by priority | {} |", pause_by_priority(driver)));
    if has_interface(driver) {
        for (what, fact) in honesty(driver).into_iter().filter(|(_, fact)| !fact.is_empty()) {
            line(page, format_args!("| {what} | {fact} |"));
        }
    }
    line(page, format_args!("| refresh | {} |", refresh(driver.caps.refresh)));
    if !cannot.is_empty() {
        line(page, format_args!("| what it does not count | {} |", cannot.join(", ")));
    }
    line(page, format_args!("| tried on | {} |", evidence(driver.evidence)));
    if !driver.notes.is_empty() {
        line(page, format_args!(""));
    }
    for note in driver.notes {
        line(page, format_args!("* {note}"));
    }
    if has_interface(driver) {
        levers(page, driver);
    }
    names(page, driver);
}

/// An RDMA device may stand beside another driver's interface.
fn has_interface(driver: &Driver) -> bool {
    driver.caps != Caps::RDMA_ONLY
}

fn levers(page: &mut String, driver: &Driver) {
    line(page, format_args!("\n| action | disturbs | effect |\n| --- | --- | --- |"));
    for kind in ActionKind::ALL {
        let effect = match kind {
            ActionKind::Alert | ActionKind::Exec => continue,
            ActionKind::PfcOff => driver.caps.levers.pfc_off.map_or("", pfc_off),
            ActionKind::PreventionTimeout
            | ActionKind::PauseOff
            | ActionKind::DevlinkRecover
            | ActionKind::LinkBounce => "",
        };
        let reach = reach(driver.caps.levers.disruption(kind));
        line(page, format_args!("| `{}` | {reach} | {effect} |", kind.label()));
    }
}

fn names(page: &mut String, driver: &Driver) {
    line(page, format_args!("\n| metric | native names |\n| --- | --- |"));
    for counter in C::ALL {
        if let Some(names) = native_names(driver, *counter) {
            line(page, format_args!("| {} | {names} |", series(*counter)));
        }
    }
    if !driver.no_counters.is_empty() {
        let names: Vec<_> = driver.no_counters.iter().map(|name| format!("`{name}`")).collect();
        line(page, format_args!("\nNo counters, though they stand among them: {}.", names.join(", ")));
    }
}

fn counts(driver: &Driver, any: &[C]) -> bool {
    driver.ethtool.iter().chain(driver.rdma).any(|row| any.contains(&row.counter))
}

fn pause_by_priority(driver: &Driver) -> &'static str {
    let time = counts(driver, &[C::PfcRxPauseTime]);
    if !has_interface(driver) {
        "that of another driver's interface"
    } else if time && driver.caps.pause_time.is_upper_bound() {
        "time, an upper bound: estimated"
    } else if time {
        "time"
    } else if counts(driver, &[C::PfcRxXoffFrames]) {
        "frames, stop and go apart: estimated"
    } else if counts(driver, &[C::PfcRxPauseFrames]) {
        "frames: estimated"
    } else {
        "none: no PFC storm can be found"
    }
}

/// What its pause counters and the traffic of a priority mean; an empty fact is none.
fn honesty(driver: &Driver) -> [(&'static str, &'static str); 5] {
    let caps = &driver.caps;
    // Facts about counters of a priority, where it has none.
    let by_priority = counts(driver, &[C::PfcRxPauseFrames, C::PfcRxXoffFrames, C::PfcRxPauseTime]);
    let of_priority = |fact: &'static str| if by_priority { fact } else { "" };
    let time = match caps.pause_time {
        PauseTime::Measured => "the time in which nothing was sent",
        PauseTime::Requested => "the time that was asked for",
        PauseTime::Unsettled => "either measured or asked for; not settled, and taken as asked for",
        PauseTime::None => "not there",
    };
    let counted = match (caps.pause_time, caps.pause_counted) {
        (PauseTime::None, _) => "",
        (_, PauseCounted::During) => "while it lasts",
        (_, PauseCounted::AtEnd) => "when it ends",
        (_, PauseCounted::Unknown) => "while it lasts or when it ends; not settled",
    };
    let releases = match caps.xon_frames {
        XonFrames::Apart => "by counters of their own",
        XonFrames::PerhapsAmong => "perhaps among the pause frames, which therefore prove no pause",
    };
    let packets = match caps.priority_packets {
        PacketScope::Alone => "its own",
        PacketScope::SharedQueue => "those of its hardware queue, which other priorities may share",
        PacketScope::None => "not there: whether a priority wants to send is not known",
    };
    let scope = match caps.pause_scope {
        PauseScope::Priority => "the counters of its priority",
        PauseScope::TrafficClass => "the counters of all priorities of its traffic class",
    };
    [
        ("pause time is", time),
        ("a running pause shows", counted),
        ("releases are counted", of_priority(releases)),
        ("one pause moves", of_priority(scope)),
        ("packets of a priority are", packets),
    ]
}

fn refresh(refresh: Refresh) -> String {
    match refresh {
        Refresh::Live => "on each read".into(),
        Refresh::Unknown => "not settled; measured while running".into(),
        Refresh::Every(period) if period >= Duration::from_secs(1) => format!("every {} s", period.as_secs()),
        Refresh::Every(period) => format!("every {} ms", period.as_millis()),
    }
}

const fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Fixture => "fixture",
        Evidence::RealKernel => "real kernel",
        Evidence::Hardware => "hardware",
    }
}

const fn reach(disruption: Option<Disruption>) -> &'static str {
    match disruption {
        Some(disruption) => disruption.label(),
        None => "no such lever",
    }
}

const fn pfc_off(off: PfcOff) -> &'static str {
    match (off.link, off.pause_names) {
        (LinkEffect::Stays, NamesEffect::Stay) => "the link stays up",
        (LinkEffect::Stays, NamesEffect::Vanish) => {
            "the link stays up; the pause counters of the priority go meanwhile"
        }
        (LinkEffect::Flaps, NamesEffect::Stay) => {
            "the link goes down and up, on the way out and on the way back"
        }
        (LinkEffect::Flaps, NamesEffect::Vanish) => {
            "the link goes down and up, on the way out and on the way back; the pause counters of the priority go \
             meanwhile"
        }
    }
}
