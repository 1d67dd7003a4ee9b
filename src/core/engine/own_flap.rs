//! Operations of our own that take a link down: what the carrier does then is expected.

use std::time::Duration;

use crate::action::ActionKind;
use crate::drivers::LinkEffect;
use crate::phase::CARRIER_WAIT;
use crate::units::MonoTime;

use super::port::Port;

/// A link that an operation takes down goes down within it; the news of that takes much less than this.
const FLAP_NOTICE: Duration = Duration::from_secs(2);

impl Port {
    /// Whether an operation of `kind` takes the link down on this driver.
    pub(super) fn flaps(&self, kind: ActionKind) -> bool {
        match kind {
            ActionKind::PfcOff => {
                self.caps.levers.pfc_off.is_some_and(|lever| lever.link == LinkEffect::Flaps)
            }
            ActionKind::LinkBounce => true,
            ActionKind::Alert
            | ActionKind::Exec
            | ActionKind::PreventionTimeout
            | ActionKind::PauseOff
            | ActionKind::DevlinkRecover => false,
        }
    }

    /// Notes an operation of ours that takes the link down: what the carrier does now is our doing.
    pub(super) fn note_own_flap(&mut self, now: MonoTime) {
        self.own_flap_until = Some(now + CARRIER_WAIT);
        self.flap_seen_by = now + FLAP_NOTICE;
    }

    /// Notes that an operation has changed nothing after all.
    pub(super) fn forget_own_flap(&mut self) {
        if self.link.carrier != Some(false) {
            self.own_flap_until = None;
        }
    }

    /// Whether the port's link is down because of an operation of ours.
    pub(super) fn in_own_flap(&self, now: MonoTime) -> bool {
        self.own_flap_until.is_some_and(|until| now < until)
    }

    /// Until when the link is down, or about to go down, because of an operation of ours.
    pub(super) fn link_operation_until(&self, now: MonoTime) -> Option<MonoTime> {
        let until = self.own_flap_until?;
        let until = if self.link.carrier == Some(false) { until } else { until.min(self.flap_seen_by) };
        (now < until).then_some(until)
    }
}
