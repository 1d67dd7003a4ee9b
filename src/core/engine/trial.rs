//! Tests at the operator's word: what a storm of a queue would lead to, told or carried out. A test passes the same
//! policy as a storm's action and spends the same budget. It is counted apart, and never as a storm.

use crate::action::{ActionKind, ActionResult, Plan, Purpose};
use crate::event::{EventKind, PhaseName, TestRefusal};
use crate::ids::PortKey;
use crate::input::{Effect, TestDepth};
use crate::phase::Phase;
use crate::policy::{Veto, objection};
use crate::settings::Mode;
use crate::units::{Direction, MonoTime, Queue};

use super::Engine;

impl Engine {
    pub(super) fn test(
        &mut self,
        key: PortKey,
        queue: Queue,
        direction: Direction,
        depth: TestDepth,
        now: MonoTime,
    ) {
        let Some(index) = self.index(key, queue, direction) else { return };
        let kind = match self.testable(key, index, depth) {
            Ok(kind) => kind,
            Err(reason) => return self.emit_queue(now, key, index, EventKind::TestRefused { reason }),
        };
        match (self.plan_test(key, index, kind, depth, now), depth) {
            (Ok(plan), TestDepth::Plan) => self.pretend(&plan, &[index], now),
            (Ok(plan), TestDepth::Act) => self.act(plan, &[index], now),
            (Err(reason), TestDepth::Plan | TestDepth::Act) => {
                if reason == Veto::FleetGuard && self.settings.guard.is_some() {
                    // The guard is asked about storms only; with an answer the next test may pass.
                    self.out.push(Effect::AskGuard);
                }
                let vetoed = EventKind::ActionVetoed { kind, purpose: Purpose::Test, reason };
                self.emit_queue(now, key, index, vetoed);
            }
        }
    }

    /// The action that would be first, if there can be a test of it.
    fn testable(&self, key: PortKey, index: usize, depth: TestDepth) -> Result<ActionKind, TestRefusal> {
        let port = self.ports.get(&key).ok_or(TestRefusal::NotWatched)?;
        let queue = &port.queues[index];
        if depth == TestDepth::Act && self.mode() != Mode::Enforce {
            return Err(TestRefusal::Mode(self.mode()));
        }
        if depth == TestDepth::Act && self.maintenance_of(port).is_none() {
            return Err(TestRefusal::NotInMaintenance);
        }
        // What an action of ours has taken out of the mask is not watched either, but has a phase that says more.
        if !port.is_watched(queue) && queue.phase.owed().is_none() {
            return Err(TestRefusal::NotWatched);
        }
        if queue.phase != Phase::Healthy {
            return Err(TestRefusal::Phase(PhaseName(queue.phase.label().into())));
        }
        queue.actions().next().ok_or(TestRefusal::NoAction)
    }

    fn plan_test(
        &self,
        key: PortKey,
        index: usize,
        kind: ActionKind,
        depth: TestDepth,
        now: MonoTime,
    ) -> Result<Plan, Veto> {
        let plan = self.make_plan(key, kind, Purpose::Test, &[index])?;
        let mut facts = self.facts(key, &plan, &[index], now);
        match depth {
            TestDepth::Plan => facts.mode = Mode::DryRun,
            // Maintenance is what makes the port free for it.
            TestDepth::Act => facts.port.maintenance = false,
        }
        objection(&facts).map_or(Ok(plan), Err)
    }

    pub(super) fn count_test(&mut self, key: PortKey, kind: ActionKind, result: ActionResult) {
        if let Some(port) = self.ports.get_mut(&key) {
            *port.tests.entry((kind, result)).or_default() += 1;
        }
    }
}
