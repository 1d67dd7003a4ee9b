//! RDMA ports, and their counters that are read beside a port's own. Those of a port that is shown stand with it; where
//! both sources give a counter, the port's own counts. A device joined to no port is shown by itself.
//!
//! The state stands here as one flag. InfiniBand knows 6 logical and 7 physical states, 13 more series for each port, and
//! a RoCE port is active or down.

use std::collections::BTreeSet;

use rocewatch_core::catalog::{Counter, Group, Slot};
use rocewatch_core::snapshot::{CounterView, PortView};

use super::sheet::{Labels, Sheet, family, family_of};
use crate::sources::RdmaView;
use crate::sys::rdma_wire::{NodeType, PortState, Protocol};

/// The samples of all RDMA ports.
pub(super) fn collect<'a>(sheet: &mut Sheet<'a>, views: &'a [RdmaView], shown: &[&'a PortView]) {
    let mut members = BTreeSet::new();
    for view in views.iter().filter(|view| !view.excluded) {
        let whole = Place::new(view, &view.netdev, shown);
        facts(sheet, view, &whole.labels);
        members.extend(lag_members(view));
        let function = view.lag.as_ref().map(|lag| Place::new(view, &lag.function, shown));
        for counter in &view.counters {
            let place = if is_of_function(counter.slot.counter()) { function.as_ref() } else { None };
            place.unwrap_or(&whole).add(sheet, counter);
        }
    }
    for labels in members {
        sheet.add(const { family("rocewatch_lag_member_info") }, &labels, 1u64);
    }
    raw(sheet, views);
}

/// Where counters of an RDMA port are shown.
struct Place<'a> {
    labels: Labels<'a>,
    /// Slots that the port there gives itself.
    own: BTreeSet<Slot>,
}

impl<'a> Place<'a> {
    fn new(view: &'a RdmaView, netdev: &'a str, shown: &[&'a PortView]) -> Self {
        let is_there = |port: &&&PortView| view.is_of(&port.identity) && port.identity.netdev == netdev;
        let port = shown.iter().find(is_there);
        let own = port.map(|port| port.counters.iter().map(|counter| counter.slot).collect());
        Self { labels: labels(view, netdev), own: own.unwrap_or_default() }
    }

    fn add(&self, sheet: &mut Sheet<'a>, counter: &CounterView) {
        if self.own.contains(&counter.slot) {
            return;
        }
        let fixed =
            |labels: Labels<'a>, (name, value): &(&'static str, &'static str)| labels.with(name, *value);
        let labels = counter.slot.counter().entry().labels.iter().fold(self.labels.clone(), fixed);
        sheet.add(family_of(counter.slot.counter()), &labels, counter.value);
        if counter.saturated {
            let labels = self.labels.with("name", counter.slot.to_string());
            sheet.add(const { family("rocewatch_saturated") }, &labels, true);
        }
    }
}

/// Whether a LAG counts this for one of its functions, and not for all together. Queue pairs belong to the device as a
/// whole and congestion is summed over its ports, while packets and bytes are those of one function
/// (`do_get_hw_stats`, mlx5/counters.c, and `process_pma_cmd`, mlx5/mad.c, Linux 6.1).
fn is_of_function(counter: Counter) -> bool {
    match counter.entry().family.group {
        Group::Traffic | Group::Link | Group::Pause | Group::Phy => true,
        Group::Congestion | Group::Loss | Group::Identity | Group::Watchdog | Group::Agent => false,
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
