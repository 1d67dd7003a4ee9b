//! The samples that belong to the node as a whole: the watchdog's mode, limits and events.

use std::collections::BTreeSet;

use rocewatch_core::engine::Histogram;
use rocewatch_core::settings::Mode;
use rocewatch_core::snapshot::{PortView, Snapshot};
use rocewatch_core::units::{Direction, MonoTime};

use crate::sources::RdmaView;

use super::sheet::{Distribution, Labels, Sheet, Value, family};

/// All samples of the node. `ports` are those that are shown.
pub(super) fn collect<'a>(
    sheet: &mut Sheet<'a>,
    snapshot: &'a Snapshot,
    ports: &[&PortView],
    rdma: &[RdmaView],
) {
    let none = Labels::none();
    let of_ports = ports.iter().map(|port| &port.identity.device).filter(|device| !device.is_empty());
    let read = rdma.iter().filter(|view| !view.excluded).map(|view| &view.device);
    let devices: BTreeSet<_> = of_ports.chain(read).collect();
    sheet.add(const { family("rocewatch_ports") }, &none, ports.len() as u64);
    sheet.add(const { family("rocewatch_devices") }, &none, devices.len() as u64);
    for mode in Mode::ALL {
        let labels = none.with("mode", mode.label());
        sheet.add(const { family("rocewatch_watchdog_mode") }, &labels, mode == snapshot.mode);
    }
    limits(sheet, snapshot);
    for (event, times) in &snapshot.events {
        sheet.add(const { family("rocewatch_events_total") }, &none.with("event", event), *times);
    }
    for (result, times) in &snapshot.guard_answers {
        let labels = none.with("result", result);
        sheet.add(const { family("rocewatch_watchdog_guard_answers_total") }, &labels, *times);
    }
    spans(sheet, snapshot);
}

fn limits(sheet: &mut Sheet<'_>, snapshot: &Snapshot) {
    let none = Labels::none();
    for direction in Direction::ALL {
        let rule = snapshot.rules[direction.index()];
        let labels = none.with("direction", direction.label());
        sheet.add(const { family("rocewatch_watchdog_threshold_ratio") }, &labels, rule.share);
        sheet.add(const { family("rocewatch_watchdog_hold_seconds") }, &labels, rule.hold);
    }
    let left = u64::from(snapshot.budget_remaining);
    let owed = u64::from(snapshot.undos_pending);
    sheet.add(const { family("rocewatch_watchdog_node_budget_remaining") }, &none, left);
    sheet.add(const { family("rocewatch_watchdog_undos_pending") }, &none, owed);
    sheet.add(const { family("rocewatch_watchdog_journal_writable") }, &none, snapshot.journal_writable);
    sheet.add(const { family("rocewatch_watchdog_maintenance") }, &none, snapshot.maintenance);
    let left = match snapshot.maintenance_until {
        Some(MonoTime::MAX) => None,
        until => Some(until.map(|at| at.since(snapshot.at)).unwrap_or_default()),
    };
    sheet.add_known(const { family("rocewatch_watchdog_maintenance_remaining_seconds") }, &none, left);
    sheet.add(
        const { family("rocewatch_watchdog_rtnl_share_ratio") },
        &none,
        Value::Shown(snapshot.rtnl_share_millionths as f64 / 1e6),
    );
}

fn spans(sheet: &mut Sheet<'_>, snapshot: &Snapshot) {
    let none = Labels::none();
    // A snapshot from before the first reading holds a distribution without buckets.
    if !snapshot.detection.counts.is_empty() {
        let detection = distribution(&snapshot.detection);
        sheet.add(const { family("rocewatch_watchdog_detection_seconds") }, &none, detection);
    }
    for (kind, took) in &snapshot.action_took {
        let labels = none.with("action", kind.label());
        sheet.add(const { family("rocewatch_watchdog_action_seconds") }, &labels, distribution(took));
    }
}

fn distribution(histogram: &Histogram) -> Distribution {
    Distribution { bounds: histogram.bounds.clone(), counts: histogram.counts.clone(), sum: histogram.sum }
}
