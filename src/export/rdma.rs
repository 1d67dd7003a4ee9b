//! RDMA counters that are read beside a port's own. Those of a port that is shown stand with it; where both sources
//! give a counter, the port's own counts. A device joined to no port is shown by itself.

use std::collections::BTreeSet;

use rocewatch_core::catalog::Slot;
use rocewatch_core::snapshot::PortView;

use super::sheet::{Labels, Sheet, family, family_of};
use crate::sources::RdmaView;

/// The samples of all RDMA ports.
pub(super) fn collect<'a>(sheet: &mut Sheet<'a>, views: &'a [RdmaView], shown: &[&'a PortView]) {
    for view in views {
        let port = shown.iter().find(|port| {
            let identity = &port.identity;
            identity.device == view.device && identity.port == view.port && identity.netdev == view.netdev
        });
        let own: BTreeSet<Slot> = port
            .map_or_else(BTreeSet::new, |port| port.counters.iter().map(|counter| counter.slot).collect());
        let labels = Labels::none()
            .with("device", view.device.as_str())
            .with("port", view.port.as_str())
            .with("netdev", view.netdev.as_str());
        for counter in view.counters.iter().filter(|counter| !own.contains(&counter.slot)) {
            let entry = counter.slot.counter().entry();
            let fixed =
                |labels: Labels<'a>, (name, value): &(&'static str, &'static str)| labels.with(name, *value);
            let labels = entry.labels.iter().fold(labels.clone(), fixed);
            sheet.add(family_of(counter.slot.counter()), &labels, counter.value);
            if counter.saturated {
                let labels = labels.with("name", counter.slot.to_string());
                sheet.add(const { family("rocewatch_saturated") }, &labels, true);
            }
        }
    }
}
