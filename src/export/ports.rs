//! The samples of each port: who it is, its link, its counters, and how well it is read.

use rocewatch_core::delta::Gap;
use rocewatch_core::event::PauseKnown;
use rocewatch_core::ids::PortIdentity;
use rocewatch_core::snapshot::{PortView, QueueView, Snapshot};
use rocewatch_core::units::{Direction, Priority, PriorityMask, Queue};

use super::Moment;
use super::sheet::{Labels, Sheet, family, family_of};
use super::stats::PortStats;
use super::{facts, queues};
use crate::sources::RdmaView;
use crate::sys::rdma_wire::PortState;

/// The families that the watchdog's decisions and the alerts rest on: a dashboard must be able to tell "never
/// happened" from "cannot be seen here".
const VITAL: [&str; 9] = [
    "rocewatch_pfc_rx_pause_seconds_total",
    "rocewatch_pfc_tx_pause_seconds_total",
    "rocewatch_pfc_rx_pause_frames_total",
    "rocewatch_pfc_tx_pause_frames_total",
    "rocewatch_priority_transmit_packets_total",
    "rocewatch_priority_receive_discards_total",
    "rocewatch_ecn_marked_packets_received_total",
    "rocewatch_cnp_sent_total",
    "rocewatch_out_of_sequence_total",
];
/// Bytes per second in a megabit per second.
const MBIT_BYTES: u64 = 125_000;

/// The ports to show. Two can carry the same labels for a moment, when one has taken over the other's name before
/// the other was seen going: then the newer one counts, for a series may stand on a page once only.
pub(super) fn shown(snapshot: &Snapshot) -> Vec<&PortView> {
    let labels =
        |identity: &PortIdentity| (identity.device.clone(), identity.port.clone(), identity.netdev.clone());
    let mut seen = std::collections::BTreeSet::new();
    let mut ports: Vec<_> =
        snapshot.ports.iter().rev().filter(|port| seen.insert(labels(&port.identity))).collect();
    ports.reverse();
    ports
}

/// The labels of a port's series.
fn labels(identity: &PortIdentity) -> Labels<'_> {
    Labels::none()
        .with("device", identity.device.as_str())
        .with("port", identity.port.as_str())
        .with("netdev", identity.netdev.as_str())
}

/// All samples of one port. What the agent has measured itself is `own`.
pub(super) fn collect<'a>(
    sheet: &mut Sheet<'a>,
    port: &'a PortView,
    own: Option<&PortStats>,
    snapshot: &Snapshot,
    rdma: &[RdmaView],
    moment: &Moment,
) {
    let labels = labels(&port.identity);
    info(sheet, port, own.map(PortStats::flavour).unwrap_or_default(), &labels);
    link(sheet, port, rdma, &labels);
    counters(sheet, port, &labels);
    pause_settings(sheet, port, &labels);
    quality(sheet, port, rdma, &labels, moment);
    actions(sheet, port, &labels, moment);
    queues::collect(sheet, port, &labels, snapshot);
    if let Some(own) = own {
        measured(sheet, own, &labels);
        facts::collect(sheet, port, &own.facts(), &labels);
    }
}

fn info<'a>(sheet: &mut Sheet<'a>, port: &'a PortView, flavour: &'static str, labels: &Labels<'a>) {
    let identity = &port.identity;
    let device = labels
        .with("driver", identity.driver.as_str())
        .with("driver_version", identity.driver_version.as_str())
        .with("firmware_version", identity.firmware_version.as_str())
        .with("pci_address", identity.pci_address.as_str());
    sheet.add(const { family("rocewatch_device_info") }, &device, 1u64);
    let bond = port.link.bond.as_deref().unwrap_or_default();
    let place =
        labels.with("link_layer", identity.link_layer.as_str()).with("flavour", flavour).with("bond", bond);
    sheet.add(const { family("rocewatch_port_info") }, &place, 1u64);
}

fn link<'a>(sheet: &mut Sheet<'a>, port: &'a PortView, rdma: &[RdmaView], labels: &Labels<'a>) {
    let link = &port.link;
    let up = link.carrier.map(|carrier| carrier && !is_rdma_down(&port.identity, rdma));
    let rate = link.speed_mbps.map(|mbps| mbps.saturating_mul(MBIT_BYTES));
    sheet.add_known(const { family("rocewatch_port_up") }, labels, up);
    sheet.add_known(const { family("rocewatch_port_rate_bytes_per_second") }, labels, rate);
    sheet.add_known(const { family("rocewatch_carrier_changes_total") }, labels, link.carrier_changes);
    sheet.add_known(const { family("rocewatch_netdev_mtu_bytes") }, labels, link.mtu.map(u64::from));
}

/// The native counters. Those of a priority nobody watches appear when they first move: most nodes use two of the
/// eight priorities, and the rest would be three quarters of the page.
fn counters<'a>(sheet: &mut Sheet<'a>, port: &'a PortView, labels: &Labels<'a>) {
    let watched = watched(port);
    for view in &port.counters {
        let entry = view.slot.counter().entry();
        let labels = match view.slot.priority() {
            Some(priority) if view.value == 0 && !watched.contains(priority) => continue,
            Some(priority) => labels.with("priority", Queue::Priority(priority).label()),
            None => labels.clone(),
        };
        let labels = entry.labels.iter().fold(labels, |labels, (name, value)| labels.with(name, *value));
        sheet.add(family_of(view.slot.counter()), &labels, view.value);
    }
    for view in port.counters.iter().filter(|view| view.saturated) {
        let labels = labels.with("name", view.slot.to_string());
        sheet.add(const { family("rocewatch_saturated") }, &labels, true);
    }
}

/// Whether the RDMA port of this port alone is known not to be active. That of a LAG follows its other slaves too.
fn is_rdma_down(identity: &PortIdentity, rdma: &[RdmaView]) -> bool {
    let own = rdma.iter().find(|view| view.is_of(identity) && view.netdev == identity.netdev);
    own.and_then(|view| view.state).is_some_and(|state| state != PortState::Active)
}

/// The priorities watched in either direction.
fn watched(port: &PortView) -> PriorityMask {
    port.queues.iter().filter(|queue| queue.watched).fold(PriorityMask::default(), |mask, queue| match queue
        .queue
    {
        Queue::Priority(priority) => mask.with(priority),
        Queue::Global => mask,
    })
}

/// Whether a queue is shown although nobody watches it: something has happened to it.
fn has_moved(queue: &QueueView) -> bool {
    let accounts = &queue.accounts;
    accounts.storms + accounts.choppy + accounts.xon_storms + accounts.demand_unknown > 0
        || accounts.throttled.iter().any(|times| *times > 0)
        || queue.phase.open_storm().is_some()
        || queue.phase.owed().is_some()
        || queue.phase.lock().is_some()
}

/// Whether anything is told about a queue: it is watched, or something has happened to it.
#[must_use]
pub fn is_queue_shown(queue: &QueueView) -> bool {
    queue.watched || has_moved(queue)
}

fn pause_settings<'a>(sheet: &mut Sheet<'a>, port: &PortView, labels: &Labels<'a>) {
    let measured = port.pause_known == PauseKnown::Time;
    sheet.add(const { family("rocewatch_pause_seconds_supported") }, labels, measured);
    if let Some(mask) = port.pfc {
        for priority in Priority::ALL {
            let labels = labels.with("priority", Queue::Priority(priority).label());
            sheet.add(const { family("rocewatch_pfc_enabled") }, &labels, mask.contains(priority));
        }
    }
    if let Some(pause) = port.pause {
        for (direction, on) in [(Direction::Rx, pause.rx), (Direction::Tx, pause.tx)] {
            let labels = labels.with("direction", direction.label());
            sheet.add(const { family("rocewatch_global_pause_enabled") }, &labels, on);
        }
    }
}

/// How well the port is read, and what that means for finding a storm.
fn quality<'a>(
    sheet: &mut Sheet<'a>,
    port: &PortView,
    rdma: &[RdmaView],
    labels: &Labels<'a>,
    moment: &Moment,
) {
    let frozen = port.blind == Some(Gap::FrozenSource);
    sheet.add(const { family("rocewatch_watchdog_estimated") }, labels, port.estimated);
    // A port without pause counters detects nothing, however fast.
    if port.pause_known != PauseKnown::Absent {
        sheet.add(const { family("rocewatch_watchdog_detect_seconds") }, labels, port.detect);
    }
    sheet.add_known(const { family("rocewatch_watchdog_detect_bound_seconds") }, labels, port.detect_bound);
    sheet.add(const { family("rocewatch_watchdog_poll_interval_seconds") }, labels, port.interval);
    let age = port.read_at.map(|at| moment.age(at));
    sheet.add_known(const { family("rocewatch_watchdog_read_age_seconds") }, labels, age);
    let took = port.read_at.map(|_| port.read_took);
    sheet.add_known(const { family("rocewatch_watchdog_read_seconds") }, labels, took);
    sheet.add(const { family("rocewatch_implausible_total") }, labels, port.accounts.implausible);
    sheet.add(const { family("rocewatch_resets_total") }, labels, port.accounts.resets);
    sheet.add(const { family("rocewatch_frozen") }, labels, frozen);
    if port.read_at.is_none() {
        return;
    }
    // What a LAG counts for all its slaves is given for each of them.
    let joined = rdma.iter().filter(|view| view.is_of(&port.identity));
    let counters: Vec<_> = joined.flat_map(|view| &view.counters).chain(&port.counters).collect();
    for name in VITAL {
        let given = counters.iter().any(|view| view.slot.counter().entry().family.name == name);
        let labels = labels.with("family", name);
        sheet.add(const { family("rocewatch_source_supported") }, &labels, given);
    }
}

/// Results and vetoes are shown once they have occurred: all that could would be over a thousand series a node.
fn actions<'a>(sheet: &mut Sheet<'a>, port: &PortView, labels: &Labels<'a>, moment: &Moment) {
    for ((kind, result), times) in &port.results {
        let labels = labels.with("action", kind.label()).with("result", result.label());
        sheet.add(const { family("rocewatch_watchdog_actions_total") }, &labels, *times);
    }
    for ((kind, result), times) in &port.tests {
        let labels = labels.with("action", kind.label()).with("result", result.label());
        sheet.add(const { family("rocewatch_watchdog_tests_total") }, &labels, *times);
    }
    for (veto, times) in &port.vetoes {
        let labels = labels.with("reason", veto.label());
        sheet.add(const { family("rocewatch_watchdog_suppressed_total") }, &labels, *times);
    }
    for (kind, at) in &port.acted_at {
        let labels = labels.with("action", kind.label());
        let family = const { family("rocewatch_watchdog_last_action_timestamp_seconds") };
        sheet.add(family, &labels, moment.wall(*at));
    }
    let wait = port.hold_off_until.map(|until| until.since(moment.now)).unwrap_or_default();
    sheet.add(const { family("rocewatch_watchdog_hold_off_remaining_seconds") }, labels, wait);
    let maintained = const { family("rocewatch_watchdog_port_maintenance_remaining_seconds") };
    // Shown while it lasts: a node has many ports, and few of them are in maintenance.
    sheet.add_known(maintained, labels, port.maintenance_until.map(|at| at.since(moment.now)));
    let left = u64::from(port.budget_remaining);
    sheet.add(const { family("rocewatch_watchdog_budget_remaining") }, labels, left);
}

fn measured<'a>(sheet: &mut Sheet<'a>, own: &PortStats, labels: &Labels<'a>) {
    let lateness = own.lateness.distribution();
    sheet.add(const { family("rocewatch_watchdog_poll_lateness_seconds") }, labels, lateness);
    sheet.add(const { family("rocewatch_watchdog_polls_missed_total") }, labels, own.missed.get());
    for (name, value) in own.raw() {
        let labels = labels.with("name", name);
        sheet.add(const { family("rocewatch_raw_total") }, &labels, value);
    }
    let Some(statistics) = own.statistics() else { return };
    let rows = [
        (const { family("rocewatch_netdev_receive_bytes_total") }, statistics.rx_bytes),
        (const { family("rocewatch_netdev_transmit_bytes_total") }, statistics.tx_bytes),
        (const { family("rocewatch_netdev_receive_packets_total") }, statistics.rx_packets),
        (const { family("rocewatch_netdev_transmit_packets_total") }, statistics.tx_packets),
        (const { family("rocewatch_netdev_receive_errors_total") }, statistics.rx_errors),
        (const { family("rocewatch_netdev_transmit_errors_total") }, statistics.tx_errors),
        (const { family("rocewatch_netdev_receive_dropped_total") }, statistics.rx_dropped),
        (const { family("rocewatch_netdev_transmit_dropped_total") }, statistics.tx_dropped),
    ];
    for (family, value) in rows {
        sheet.add(family, labels, value);
    }
}

#[cfg(test)]
mod tests {
    use rocewatch_core::catalog::Family;

    use super::*;

    #[test]
    fn what_the_alerts_rest_on_is_in_the_catalogue() {
        for name in VITAL {
            assert!(Family::named(name).is_some(), "{name}");
        }
    }
}
