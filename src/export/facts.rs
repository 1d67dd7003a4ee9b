//! The samples of what is known of a port beside its counters.

use rocewatch_core::snapshot::PortView;
use rocewatch_core::units::{Direction, Priority, PriorityMask, Queue};

use super::sheet::{FamilyId, Labels, Sheet, family, family_of};
use crate::sources::PortFacts;
use crate::sys::dcb::{DcbSettings, Trust};
use crate::sys::devlink::Reporter;

/// What the kernel writes for a limit that the driver chooses itself (`PFC_STORM_PREVENTION_AUTO`).
const TIMEOUT_AUTO: u16 = u16::MAX;

/// All samples of one port's facts.
pub(super) fn collect<'a>(sheet: &mut Sheet<'a>, port: &PortView, facts: &PortFacts, labels: &Labels<'a>) {
    if let Some(dcb) = &facts.dcb {
        self::dcb(sheet, dcb, labels);
    }
    let chosen = facts.prevention_timeout_ms.filter(|timeout| *timeout != TIMEOUT_AUTO);
    let timeout = chosen.map(|timeout| std::time::Duration::from_millis(timeout.into()));
    sheet.add_known(const { family("rocewatch_prevention_timeout_seconds") }, labels, timeout);
    let reason = facts.link.and_then(|link| link.down_reason);
    if let Some(reason) = reason.filter(|_| port.link.carrier != Some(true)) {
        let labels = labels.with("reason", reason.label());
        sheet.add(const { family("rocewatch_port_down_info") }, &labels, 1u64);
    }
    let coalescing = facts.coalescing.unwrap_or_default();
    for (direction, on) in [(Direction::Rx, coalescing.adaptive_rx), (Direction::Tx, coalescing.adaptive_tx)]
    {
        let labels = labels.with("direction", direction.label());
        sheet.add_known(const { family("rocewatch_adaptive_moderation_enabled") }, &labels, on);
    }
    counts(sheet, port, facts, labels);
    for reporter in &facts.reporters {
        health(sheet, reporter, labels);
    }
}

fn dcb<'a>(sheet: &mut Sheet<'a>, dcb: &DcbSettings, labels: &Labels<'a>) {
    let trust = dcb.trust.map_or("", Trust::label);
    let owner = if dcb.is_owned_by_host() { "host" } else { "other" };
    let info = labels.with("owner", owner).with("trust", trust);
    sheet.add(const { family("rocewatch_dcb_info") }, &info, 1u64);
    if let Some(mask) = dcb.peer_pfc.map(PriorityMask) {
        for priority in Priority::ALL {
            let labels = labels.with("priority", Queue::Priority(priority).label());
            sheet.add(const { family("rocewatch_pfc_peer_enabled") }, &labels, mask.contains(priority));
        }
    }
}

/// What the driver counts through ethtool's netlink family. Where its statistics have the same, those are shown: they
/// are read more often, and two counts of one thing are never added.
fn counts<'a>(sheet: &mut Sheet<'a>, port: &PortView, facts: &PortFacts, labels: &Labels<'a>) {
    let pause = facts.pause.unwrap_or_default();
    let fec = facts.fec.unwrap_or_default();
    let standard = facts.standard.unwrap_or_default();
    let downs = facts.link.and_then(|link| link.downs).map(u64::from);
    let rows = [
        (const { family("rocewatch_mac_pause_receive_frames_total") }, pause.rx_frames),
        (const { family("rocewatch_mac_pause_transmit_frames_total") }, pause.tx_frames),
        (const { family("rocewatch_mac_control_receive_frames_total") }, standard.rx_control_frames),
        (const { family("rocewatch_mac_control_transmit_frames_total") }, standard.tx_control_frames),
        (const { family("rocewatch_phy_fec_corrected_bit_errors_total") }, fec.corrected_bits),
        (const { family("rocewatch_phy_fec_corrected_blocks_total") }, fec.corrected_blocks),
        (const { family("rocewatch_phy_fec_uncorrectable_blocks_total") }, fec.uncorrectable_blocks),
        (const { family("rocewatch_phy_symbol_errors_total") }, standard.symbol_errors),
        (const { family("rocewatch_phy_crc_errors_total") }, standard.crc_errors),
        (const { family("rocewatch_port_link_downs_total") }, downs),
    ];
    for (family, value) in rows.into_iter().filter(|(family, _)| !is_counted(port, *family)) {
        sheet.add_known(family, labels, value);
    }
    let storms = const { family("rocewatch_nic_pause_storm_events_total") };
    if !is_counted(port, storms) {
        // The NIC has stopped sending pause: what the statistics of mlx5 call an error.
        sheet.add_known(storms, &labels.with("severity", "error"), pause.tx_storm_events);
    }
}

/// Whether the port's statistics fill the family.
fn is_counted(port: &PortView, family: FamilyId) -> bool {
    port.counters.iter().any(|view| family_of(view.slot.counter()) == family)
}

fn health<'a>(sheet: &mut Sheet<'a>, reporter: &Reporter, labels: &Labels<'a>) {
    let labels = labels.with("reporter", reporter.name.clone());
    let healthy = reporter.in_error.map(|in_error| !in_error);
    sheet.add_known(const { family("rocewatch_devlink_healthy") }, &labels, healthy);
    sheet.add_known(const { family("rocewatch_devlink_health_errors_total") }, &labels, reporter.errors);
    let recoveries = reporter.recoveries;
    sheet.add_known(const { family("rocewatch_devlink_health_recoveries_total") }, &labels, recoveries);
}
