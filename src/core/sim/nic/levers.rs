//! What a simulated port can be set to, and what that does to its link, its pauses and its names.

use std::time::Duration;

use super::{Nic, PREVENTION_AUTO};
use crate::action::{Op, PortConfig};
use crate::drivers::LinkEffect;
use crate::sim::faults::ActMood;
use crate::units::{MonoTime, PriorityMask};

/// The range mlx5 accepts, ms.
const PREVENTION_RANGE: std::ops::RangeInclusive<u16> = 80..=8000;

impl Nic {
    /// What it is set to.
    #[must_use]
    pub fn config(&self) -> PortConfig {
        PortConfig {
            pfc: Some(self.pfc),
            pause: Some(self.pause),
            prevention_timeout_ms: self.prevention_ms,
            link_up: Some(self.admin_up),
            devlink_recoveries: Some(self.recoveries),
            headroom: None,
        }
    }

    /// Carries out `op` at `at`.
    ///
    /// # Errors
    /// What the kernel would say.
    pub fn apply(&mut self, op: &Op, at: MonoTime) -> Result<(), String> {
        self.advance(at);
        match self.mood {
            ActMood::Fail => return Err("simulated failure".into()),
            ActMood::Ignore => return Ok(()),
            ActMood::WorkOnce => self.mood = ActMood::Fail,
            ActMood::Work | ActMood::Useless => {}
        }
        match op {
            Op::PfcDisable(off) => {
                if self.mood == ActMood::Useless {
                    self.stuck = self.stuck.union(*off);
                }
                self.set_pfc(self.pfc.minus(*off), at);
            }
            Op::PfcEnable(on) => {
                self.stuck = self.stuck.minus(*on);
                self.set_pfc(self.pfc.union(*on), at);
            }
            Op::PreventionTimeout(ms) => return self.set_prevention(*ms, at),
            Op::Pause(pause) => {
                if self.mood != ActMood::Useless {
                    self.pause = *pause;
                    self.rename();
                }
            }
            Op::DevlinkRecover(_) => self.recoveries += 1,
            Op::LinkDown => {
                self.admin_up = false;
                self.lose_carrier(MonoTime::MAX);
            }
            Op::LinkUp => {
                self.admin_up = true;
                self.flap_until(at);
            }
            Op::Exec(_) => {}
        }
        Ok(())
    }

    fn set_prevention(&mut self, ms: u16, at: MonoTime) -> Result<(), String> {
        if self.prevention_ms.is_none() {
            return Err("operation not supported".into());
        }
        if ms != 0 && ms != PREVENTION_AUTO && !PREVENTION_RANGE.contains(&ms) {
            return Err("invalid argument".into());
        }
        self.prevention_ms = Some(ms);
        self.prevention_since = at;
        Ok(())
    }

    /// Sets the PFC mask at `at`, whoever wants it.
    pub fn set_pfc(&mut self, pfc: PriorityMask, at: MonoTime) {
        self.advance(at);
        if pfc == self.pfc {
            return;
        }
        self.pfc = pfc;
        let off = self.driver.caps.levers.pfc_off;
        if off.is_some_and(|off| off.link == LinkEffect::Flaps) {
            self.flap_until(at);
        }
        self.rename();
    }

    fn flap_until(&mut self, at: MonoTime) {
        let back = at + self.random.span(self.flap.0, self.flap.1);
        self.lose_carrier(back);
    }

    /// Takes the link down at `at` for `lasts`, not through any operation.
    pub fn flap(&mut self, at: MonoTime, lasts: Duration) {
        self.advance(at);
        self.lose_carrier(at + lasts);
    }

    fn lose_carrier(&mut self, back: MonoTime) {
        self.tally.link_downs += u64::from(self.has_carrier());
        // A link that is administratively down does not come back by itself.
        self.carrier_back = Some(if self.admin_up { back } else { MonoTime::MAX });
    }
}
