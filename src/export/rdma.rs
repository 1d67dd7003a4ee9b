//! RDMA ports, and their counters that are read beside a port's own. Those of a port that is shown stand with it; where
//! the port gives a counter itself, that one is shown. A device joined to no port is shown by itself.
//!
//! The state stands here as one flag. InfiniBand knows 6 logical and 7 physical states, 13 more series for each port, and
//! a RoCE port is active or down.

use std::collections::BTreeSet;

use rocewatch_core::catalog::{Counter, Group};
use rocewatch_core::snapshot::CounterView;

use super::sheet::{Labels, Sheet, family, family_of};
use crate::sources::RdmaView;
use crate::sys::rdma_wire::{NodeType, PortState, Protocol};

/// The samples of all RDMA ports, after those of all network ports.
pub(super) fn collect<'a>(sheet: &mut Sheet<'a>, views: &'a [RdmaView]) {
    let mut members = BTreeSet::new();
    for view in views.iter().filter(|view| !view.excluded) {
        let whole = labels(view, &view.netdev);
        facts(sheet, view, &whole);
        members.extend(lag_members(view));
        let function = view.lag.as_ref().map(|lag| labels(view, &lag.function));
        for counter in &view.counters {
            let place = if is_of_function(counter.slot.counter()) { function.as_ref() } else { None };
            add(sheet, counter, place.unwrap_or(&whole));
        }
    }
    for labels in members {
        sheet.add(const { family("rocewatch_lag_member_info") }, &labels, 1u64);
    }
    raw(sheet, views);
}

fn add<'a>(sheet: &mut Sheet<'a>, counter: &CounterView, place: &Labels<'a>) {
    let entry = counter.slot.counter().entry();
    let labels = entry.labels.iter().fold(place.clone(), |labels, (name, value)| labels.with(name, *value));
    let family = family_of(counter.slot.counter());
    if sheet.has(family, &labels) {
        return;
    }
    sheet.add(family, &labels, counter.value);
    if counter.saturated {
        let labels = place.with("name", counter.slot.to_string());
        sheet.add(const { self::family("rocewatch_saturated") }, &labels, true);
    }
}

/// Whether a LAG counts this for one of its functions, and not for all together. Queue pairs belong to the device as a
/// whole and congestion is summed over its ports, while packets and bytes are those of one function
/// (`do_get_hw_stats`, mlx5/counters.c, and `process_pma_cmd`, mlx5/mad.c, Linux 6.1).
fn is_of_function(counter: Counter) -> bool {
    match counter.entry().family.group {
        Group::Traffic | Group::Link | Group::Pause | Group::Phy => true,
        Group::Congestion | Group::Loss | Group::Identity | Group::Nvmf | Group::Watchdog | Group::Agent => {
            false
        }
    }
}

fn labels<'a>(view: &'a RdmaView, netdev: &'a str) -> Labels<'a> {
    Labels::none()
        .with("device", view.device.as_str())
        .with("port", view.port.as_str())
        .with("netdev", netdev)
}

fn facts<'a>(sheet: &mut Sheet<'a>, view: &'a RdmaView, labels: &Labels<'a>) {
    if view.port.is_empty() {
        return;
    }
    let info = labels
        .with("link_layer", view.link_layer.as_str())
        .with("protocol", view.protocol.map_or("", Protocol::label))
        .with("node_type", view.node_type.map_or("", NodeType::label))
        .with("driver", view.driver.as_str());
    sheet.add(const { family("rocewatch_rdma_port_info") }, &info, 1u64);
    let active = view.state.map(|state| state == PortState::Active);
    sheet.add_known(const { family("rocewatch_rdma_port_active") }, labels, active);
    let device = Labels::none().with("device", view.device.as_str());
    for (resource, count) in &view.resources {
        let labels = device.with("resource", resource.as_str());
        sheet.add(const { family("rocewatch_rdma_resources") }, &labels, *count);
    }
}

/// Both ports of a device may be in the same bond (mlx4).
fn lag_members(view: &RdmaView) -> impl Iterator<Item = Labels<'_>> {
    view.lag.iter().flat_map(move |lag| {
        let bond = Labels::none().with("device", view.device.as_str()).with("bond", lag.bond.as_str());
        lag.members.iter().map(move |member| bond.with("netdev", member.as_str()))
    })
}

/// What has no metric of its own. A name that the netdev gives too is the netdev's.
fn raw<'a>(sheet: &mut Sheet<'a>, views: &'a [RdmaView]) {
    let family = const { family("rocewatch_raw_total") };
    let mut taken = sheet.labels_of(family);
    for view in views.iter().filter(|view| !view.excluded) {
        let labels = labels(view, &view.netdev);
        for (name, value) in &view.unmapped {
            let labels = labels.with("name", name.as_str());
            if taken.insert(labels.clone()) {
                sheet.add(family, &labels, *value);
            }
        }
    }
}
