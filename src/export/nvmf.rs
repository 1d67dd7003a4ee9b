//! NVMe over fabrics. The state of a controller stands here as a flag and as one series with its name, not as a series for
//! each of the seven states.

use std::time::Duration;

use rocewatch_core::nvmf::NvmfState;

use super::Moment;
use super::sheet::{Labels, Sheet, family};
use crate::sources::{NvmfController, NvmfView};

/// Looks are a second apart. What is older than this is not known any more, and a reading that hangs is told of as a
/// source that fails.
const AGE_MAX: Duration = Duration::from_secs(10);

/// The samples of all controllers, and of what nvmet serves.
pub(super) fn collect<'a>(sheet: &mut Sheet<'a>, view: &'a NvmfView, moment: &Moment) {
    if moment.age(view.at) > AGE_MAX {
        return;
    }
    for controller in &view.controllers {
        self::controller(sheet, controller, moment);
    }
    for subsystem in &view.subsystems {
        let labels = Labels::none().with("subsystem", subsystem.nqn.as_str());
        sheet.add(const { family("rocewatch_nvmf_paths_lost_total") }, &labels, subsystem.lost);
        if subsystem.paths > 0 {
            sheet.add(const { family("rocewatch_nvmf_paths") }, &labels, subsystem.paths);
            sheet.add(const { family("rocewatch_nvmf_paths_live") }, &labels, subsystem.live);
        }
    }
    target(sheet, view);
}

fn controller<'a>(sheet: &mut Sheet<'a>, controller: &'a NvmfController, moment: &Moment) {
    let facts = &controller.facts;
    let labels = Labels::none()
        .with("controller", controller.name.as_str())
        .with("subsystem", facts.subsystem.as_str());
    // The port, where there is but one: what else is shown of it has that label.
    let netdev = match &controller.netdevs[..] {
        [only] => only,
        [] | [_, ..] => &controller.interface,
    };
    let info = labels
        .with("transport", facts.transport.label())
        .with("address", facts.address.as_str())
        .with("host_address", facts.host_address.as_str())
        .with("netdev", netdev.as_str());
    sheet.add(const { family("rocewatch_nvmf_controller_info") }, &info, 1u64);
    if let Some(state) = controller.state {
        let live = state == NvmfState::Live;
        sheet.add(const { family("rocewatch_nvmf_controller_live") }, &labels, live);
        let state = labels.with("state", state.label());
        sheet.add(const { family("rocewatch_nvmf_controller_state_info") }, &state, 1u64);
    }
    let away = controller.not_live_since.map(|since| moment.age(since));
    sheet.add_known(const { family("rocewatch_nvmf_controller_not_live_seconds") }, &labels, away);
    sheet.add(const { family("rocewatch_nvmf_transitions_total") }, &labels, controller.transitions);
    sheet.add(const { family("rocewatch_nvmf_reconnects_total") }, &labels, controller.reconnects);
    sheet.add_known(const { family("rocewatch_nvmf_queues") }, &labels, facts.queues);
    for (timeout, span) in &facts.timeouts {
        let labels = labels.with("timeout", *timeout);
        sheet.add(const { family("rocewatch_nvmf_timeout_seconds") }, &labels, *span);
    }
}

fn target<'a>(sheet: &mut Sheet<'a>, view: &'a NvmfView) {
    for port in &view.target_ports {
        let labels = Labels::none().with("target_port", port.name.as_str());
        let info = labels.with("transport", port.transport.label()).with("address", port.address.as_str());
        sheet.add(const { family("rocewatch_nvmet_port_info") }, &info, 1u64);
        for subsystem in &port.subsystems {
            let labels = labels.with("subsystem", subsystem.as_str());
            sheet.add(const { family("rocewatch_nvmet_port_subsystem_info") }, &labels, 1u64);
        }
    }
    for subsystem in &view.target_subsystems {
        let labels = Labels::none().with("subsystem", subsystem.nqn.as_str());
        sheet.add(const { family("rocewatch_nvmet_namespaces") }, &labels, subsystem.namespaces);
        sheet.add_known(const { family("rocewatch_nvmet_hosts_allowed") }, &labels, subsystem.hosts);
    }
}
