//! How everything has to stand when the storms and the troubles are over.

use super::{Judge, Rule};
use crate::action::PortConfig;
use crate::engine::Engine;
use crate::phase::Phase;
use crate::units::MonoTime;

/// A port at the end.
#[derive(Clone, Debug)]
pub struct PortEnd {
    /// The device.
    pub device: u32,
    /// What it was set to when it came.
    pub before: PortConfig,
    /// What it is set to now.
    pub after: PortConfig,
}

impl Judge {
    /// Judges the end. `engine` is `None` if the agent has stopped.
    pub fn finish(&mut self, now: MonoTime, engine: Option<&Engine>, ports: &[PortEnd]) {
        for port in ports {
            self.check_restored(now, port);
        }
        let lost = self
            .actions
            .iter()
            .filter(|(_, book)| !book.owed.is_empty() && !self.gone.contains(&book.device));
        for (action, queues) in lost.map(|(id, book)| (id.0, book.owed.len())).collect::<Vec<_>>() {
            let text = format!("action {action} was never taken back on {queues} of its queues");
            self.broken(Rule::UndoLost, now, text);
        }
        let Some(engine) = engine else { return };
        if !engine.is_settled() {
            self.broken(Rule::NotSettled, now, "an action is under way or in force".into());
        }
        self.shown(now, &engine.snapshot(now));
        self.check_calm(now, engine);
    }

    /// What we changed reads as before; what others changed is theirs.
    fn check_restored(&mut self, now: MonoTime, port: &PortEnd) {
        let foreign = self.foreign.get(&port.device).copied().unwrap_or_default();
        let (before, after) = (port.before.pfc.unwrap_or_default(), port.after.pfc.unwrap_or_default());
        let left = (before.0 ^ after.0) & !foreign.0;
        if left != 0 {
            let text = format!("device {}: mask {:#010b}, not {:#010b}", port.device, after.0, before.0);
            self.broken(Rule::NotRestored, now, text);
        }
        if port.before.pause != port.after.pause || port.before.link_up != port.after.link_up {
            let text = format!("device {}: {:?}, not {:?}", port.device, port.after, port.before);
            self.broken(Rule::NotRestored, now, text);
        }
        if port.before.prevention_timeout_ms != port.after.prevention_timeout_ms {
            let (was, is) = (port.before.prevention_timeout_ms, port.after.prevention_timeout_ms);
            let text = format!("device {}: prevention timeout {is:?}, not {was:?}", port.device);
            self.broken(Rule::NotRestored, now, text);
        }
    }

    fn check_calm(&mut self, now: MonoTime, engine: &Engine) {
        for port in engine.snapshot(now).ports {
            for queue in port.queues {
                let calm = match queue.phase {
                    Phase::Healthy | Phase::Probation(_) | Phase::Suspended(_) => true,
                    Phase::Locked(locked) => locked.storm.is_none(),
                    Phase::Suspect
                    | Phase::Storm(_)
                    | Phase::Testing(_)
                    | Phase::Mitigated(_)
                    | Phase::Undoing(_)
                    | Phase::UndoFailed(_) => false,
                };
                if !calm {
                    let text = format!(
                        "{} {} {} is {:?} when everything is over",
                        port.identity.netdev, queue.queue, queue.direction, queue.phase
                    );
                    self.broken(Rule::NotSettled, now, text);
                }
            }
        }
        let open = self.queues.iter().filter(|(_, book)| book.found != book.ended);
        for ((key, place), book) in open.map(|(at, book)| (*at, book.clone())).collect::<Vec<_>>() {
            let text = format!("port {} {place:?}: {} storms found, {} ended", key.0, book.found, book.ended);
            self.broken(Rule::StormCount, now, text);
        }
    }
}
