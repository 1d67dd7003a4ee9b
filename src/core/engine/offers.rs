//! What of the ladder a port cannot do: told once, when the mode would do it.

use std::collections::BTreeSet;

use crate::action::ActionKind;
use crate::event::EventKind;
use crate::ids::PortKey;
use crate::settings::Mode;
use crate::units::{Direction, MonoTime};

use super::Engine;
use super::port::Port;

impl Engine {
    /// Tells which actions of the ladder the port does not offer.
    pub(super) fn tell_unsupported(&mut self, key: PortKey, now: MonoTime) {
        if !matches!(self.mode(), Mode::DryRun | Mode::Enforce) {
            return;
        }
        let Some(port) = self.ports.get_mut(&key) else { return };
        let rules = Direction::ALL.map(|direction| self.settings.rule(&port.identity, direction).0);
        let wanted = rules.into_iter().flat_map(|rule| rule.actions.iter().copied()).collect::<BTreeSet<_>>();
        let missing = wanted.into_iter().filter_map(|kind| Some((kind, reason(port, kind)?)));
        let missing = missing.filter(|(kind, _)| !port.unsupported_told.contains(kind)).collect::<Vec<_>>();
        port.unsupported_told.extend(missing.iter().map(|(kind, _)| *kind));
        for (kind, why) in missing {
            self.emit_port(now, key, EventKind::ActionUnsupported { kind, why });
        }
    }
}

/// Why the port does not offer `kind`; `None` if it does.
fn reason(port: &Port, kind: ActionKind) -> Option<String> {
    if !port.actions.contains(&kind) {
        let told = port.unsupported.iter().find(|unsupported| unsupported.kind == kind);
        return Some(told.map_or_else(|| "nothing here carries it out".to_owned(), |told| told.why.clone()));
    }
    let driver = &port.identity.driver;
    port.caps.levers.disruption(kind).is_none().then(|| format!("driver {driver} has no such lever"))
}
