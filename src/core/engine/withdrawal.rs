//! Orders that are not wanted any more. The actuator may not have begun them: something slow may stand before them.

use crate::input::Effect;
use crate::policy::Veto;
use crate::settings::Mode;
use crate::units::MonoTime;

use super::Engine;
use super::actions::{Action, Stage};

impl Engine {
    /// Takes back the orders of plans that would be refused by now at the operator's word. Undos are never taken back.
    pub(super) fn withdraw_unwanted(&mut self, now: MonoTime) {
        let ordered = self.actions.values().filter(|action| action.stage == Stage::Begun);
        let unwanted = ordered.filter_map(|action| Some((action.id, self.unwanted(action, now)?)));
        for (id, veto) in unwanted.collect::<Vec<_>>() {
            if let Some(action) = self.actions.get_mut(&id) {
                action.stage = Stage::Withdrawn;
                self.out.push(Effect::Withdraw(id, veto));
            }
        }
    }

    fn unwanted(&self, action: &Action, now: MonoTime) -> Option<Veto> {
        let port = self.ports.get(&action.port)?;
        if self.mode() != Mode::Enforce {
            Some(Veto::Mode)
        } else if action.disruption > self.settings.disruption_max {
            Some(Veto::Disruption)
        } else if action.purpose.is_storm() && self.in_maintenance(port, now) {
            Some(Veto::Maintenance)
        } else {
            None
        }
    }
}
