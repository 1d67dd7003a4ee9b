//! What is done about a storm: the ladder is asked, the policy is asked, and a plan is made or refused.

use std::time::Duration;

use crate::action::{
    ActionKind, ActionResult, Disruption, Order, Plan, PlanRequest, Purpose, PutBack, Target, plan,
};
use crate::drivers::LinkEffect;
use crate::durable::PortName;
use crate::event::EventKind;
use crate::ids::{ActionId, PortKey};
use crate::input::{DcbOwner, Effect, GuardAnswer};
use crate::policy::{
    BUDGET_WINDOW, Facts, GuardFacts, NodeFacts, PauseFacts, PortFacts, Spending, UndoNeed, Veto, objection,
};
use crate::settings::{Guard, Mode};
use crate::trigger::Trigger;
use crate::units::{Direction, MonoTime};

use super::actions::Action;
use super::port::Port;
use super::queue::QueueState;
use super::{Engine, Stopping};

/// The wait for the fleet guard is drawn from ± this many percent.
const GUARD_JITTER: u32 = 50;

impl Engine {
    /// Asks for every storm whose question is due. Storms of one port with the same next action share one plan.
    pub(super) fn answer_storms(&mut self, now: MonoTime) {
        if self.stopping == Stopping::Yes {
            return;
        }
        for key in self.ports.keys().copied().collect::<Vec<_>>() {
            for (kind, indices) in self.due(key, now) {
                self.answer(key, kind, &indices, now);
            }
        }
    }

    /// The storms of a port that are due, by the action that is next for them.
    fn due(&mut self, key: PortKey, now: MonoTime) -> Vec<(ActionKind, Vec<usize>)> {
        let mut groups: Vec<(ActionKind, Vec<usize>)> = Vec::new();
        let Some(port) = self.ports.get_mut(&key) else { return groups };
        for (index, queue) in port.queues.iter_mut().enumerate() {
            if !queue.wants_action() || queue.ask_at.is_none_or(|at| at > now) {
                continue;
            }
            let Some(kind) = queue.next_action() else {
                queue.ask_at = None;
                continue;
            };
            match groups.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, indices)) => indices.push(index),
                None => groups.push((kind, vec![index])),
            }
        }
        groups
    }

    fn answer(&mut self, key: PortKey, kind: ActionKind, indices: &[usize], now: MonoTime) {
        let made = self.make_plan(key, kind, Purpose::Storm, indices);
        let plan = match made {
            Ok(plan) => plan,
            Err(veto) => return self.veto(key, kind, indices, veto, now),
        };
        let facts = self.facts(key, &plan, indices, now);
        // What speaks against it anyway is told at once, not after a wait for the guard.
        let anyway = objection(&Facts { guard: GuardFacts::Agrees, ..facts });
        if anyway.is_none() && self.waits_for_guard(key, &plan, indices, now) {
            return;
        }
        // The guard has not been asked about a plan that fails for another reason: it is not the one to name.
        if let Some(veto) = anyway.or_else(|| objection(&facts)) {
            return self.veto(key, kind, indices, veto, now);
        }
        let (plan, indices) = self.shared(plan, indices, now);
        match self.mode() {
            Mode::Enforce => self.act(plan, &indices, now),
            Mode::Off | Mode::Observe | Mode::DryRun => self.pretend(&plan, &indices, now),
        }
    }

    /// The plan for all storms of the port that the same action would answer, also those whose own question comes
    /// later: one flap, one unit of budget. Without them their links would go down in the middle of their wait.
    fn shared(&self, plan: Plan, indices: &[usize], now: MonoTime) -> (Plan, Vec<usize>) {
        let Some(port) = self.ports.get(&plan.port) else { return (plan, indices.to_vec()) };
        let fits = |&index: &usize| {
            let queue = &port.queues[index];
            let guarded = plan.disruption < Disruption::Link
                || self.guard_facts(std::iter::once(queue), now) == GuardFacts::Agrees;
            guarded
                && queue.wants_action()
                && !queue.is_without_demand()
                && queue.blind.is_none()
                && !queue.is_estimated()
                && queue.next_action() == Some(plan.kind)
        };
        let all = (0..port.queues.len()).filter(|index| indices.contains(index) || fits(index));
        let all = all.collect::<Vec<_>>();
        match self.make_plan(plan.port, plan.kind, plan.purpose, &all) {
            Ok(shared) => (shared, all),
            Err(_) => (plan, indices.to_vec()),
        }
    }

    pub(super) fn make_plan(
        &self,
        key: PortKey,
        kind: ActionKind,
        purpose: Purpose,
        indices: &[usize],
    ) -> Result<Plan, Veto> {
        let port = self.ports.get(&key).ok_or(Veto::Unsupported)?;
        if !port.actions.contains(&kind) {
            return Err(Veto::Unsupported);
        }
        let tabled = port.caps.levers.disruption(kind).ok_or(Veto::Unsupported)?;
        let disruption = match kind {
            ActionKind::Exec => self.settings.exec.as_ref().map_or(tabled, |exec| exec.disruption),
            ActionKind::Alert
            | ActionKind::PreventionTimeout
            | ActionKind::PfcOff
            | ActionKind::PauseOff
            | ActionKind::DevlinkRecover
            | ActionKind::LinkBounce => tabled,
        };
        let request = PlanRequest {
            id: ActionId(self.next_action),
            port: key,
            purpose,
            disruption,
            targets: indices.iter().map(|&index| target(port, &port.queues[index])).collect(),
            evidence_at: port.last_at.unwrap_or(MonoTime::ZERO),
            link: if port.flaps(kind) { LinkEffect::Flaps } else { LinkEffect::Stays },
            lifetime: evidence_lifetime(port),
            refresh: port.refresh(),
            pause: port.pause,
            prevention_timeout_ms: port.prevention_timeout_ms,
            headroom: port.headroom,
            reporter_in_error: port.reporters_in_error.first().map(String::as_str),
            evidence: &evidence_of(port, purpose, indices),
            settings: &self.settings,
        };
        plan(kind, request).map_err(|_| Veto::Unsupported)
    }

    /// A plan that disrupts the link waits first, so that a storm of the whole fleet can be told from one of this
    /// port. It is made after the wait, from fresh evidence.
    fn waits_for_guard(&mut self, key: PortKey, plan: &Plan, indices: &[usize], now: MonoTime) -> bool {
        if plan.disruption < Disruption::Link {
            return false;
        }
        let Some(guard) = &self.settings.guard else { return false };
        let (delay, good_for) = (guard.delay, guard.answer_age_max() / 4);
        let Some(port) = self.ports.get(&key) else { return false };
        let is_good = |until: MonoTime| now.since(until) <= good_for;
        let waited = |until: MonoTime| until <= now && is_good(until);
        if indices.iter().all(|&index| port.queues[index].guard_until.is_some_and(waited)) {
            return false;
        }
        let next = now + self.jitter(delay, GUARD_JITTER);
        let Some(port) = self.ports.get_mut(&key) else { return false };
        for &index in indices {
            let queue = &mut port.queues[index];
            // A wait that ended long ago is waited anew: what was answered then says nothing about now.
            let until = queue.guard_until.filter(|until| is_good(*until)).unwrap_or(next);
            queue.guard_until = Some(until);
            queue.ask_at = Some(until);
        }
        self.out.push(Effect::AskGuard);
        true
    }

    fn veto(&mut self, key: PortKey, kind: ActionKind, indices: &[usize], veto: Veto, now: MonoTime) {
        let guard_silent = veto == Veto::FleetGuard && self.settings.guard.is_some();
        for &index in indices {
            let Some(port) = self.ports.get_mut(&key) else { return };
            *port.vetoes.entry(veto).or_default() += 1;
            let last_action = port.last_action;
            let queue = &mut port.queues[index];
            let hold_off = queue.rule.hold_off;
            let ends = last_action.filter(|_| veto == Veto::HoldOff).map(|at| at + hold_off);
            queue.ask_at = Some(ends.unwrap_or(now + hold_off));
            if veto == Veto::Unsupported {
                queue.rung += 1;
            }
            self.emit_queue(
                now,
                key,
                index,
                EventKind::ActionVetoed { kind, purpose: Purpose::Storm, reason: veto },
            );
        }
        if guard_silent {
            self.out.push(Effect::AskGuard);
        }
    }

    pub(super) fn facts(&self, key: PortKey, plan: &Plan, indices: &[usize], now: MonoTime) -> Facts {
        let settings = &self.settings;
        let port = &self.ports[&key];
        let queues = || indices.iter().map(|&index| &port.queues[index]);
        let hold_off = queues().map(|queue| queue.rule.hold_off).max().unwrap_or_default();
        let allowed = queues().map(|queue| queue.rule.budget_port).min().unwrap_or(0);
        Facts {
            now,
            mode: settings.mode,
            disruption: plan.disruption,
            disruption_max: settings.disruption_max,
            undo: match (plan.undo.is_empty(), self.journal_writable) {
                (true, _) => UndoNeed::None,
                (false, true) => UndoNeed::Writable,
                (false, false) => UndoNeed::NotWritable,
            },
            evidence_at: plan.evidence_at,
            evidence_lifetime: evidence_lifetime(port),
            pause: PauseFacts {
                estimated: queues().any(QueueState::is_estimated),
                demand_unknown: queues().any(QueueState::is_without_demand),
            },
            last_action: port.last_action,
            hold_off,
            spent_port: Spending { spent: self.spent_on(port, now), allowed },
            spent_node: Spending { spent: self.spent_on_node(now), allowed: settings.budget_node },
            port: PortFacts {
                blind: queues().any(|queue| queue.blind.is_some()),
                maintenance: self.in_maintenance(port, now),
                foreign_owner: plan.kind == ActionKind::PfcOff && port.owner == DcbOwner::Other,
                bond_alone: self.is_alone_in_bond(port),
                in_band: self.in_band.contains(&key),
            },
            node: self.node_facts(key, now),
            guard: self.guard_facts(queues(), now),
        }
    }

    pub(super) fn in_maintenance(&self, port: &Port, now: MonoTime) -> bool {
        [self.maintenance_of_all(), self.maintenance_of(port)].into_iter().flatten().any(|until| now < until)
    }

    pub(super) fn spent_on(&self, port: &Port, now: MonoTime) -> u32 {
        let name = PortName::of(&port.identity);
        let recent = |at: MonoTime| now.since(at) < BUDGET_WINDOW;
        self.spent.iter().filter(|(port, at)| *port == name && recent(*at)).count() as u32
    }

    pub(super) fn spent_on_node(&self, now: MonoTime) -> u32 {
        self.spent.iter().filter(|(_, at)| now.since(*at) < BUDGET_WINDOW).count() as u32
    }

    fn is_alone_in_bond(&self, port: &Port) -> bool {
        let Some(bond) = &port.link.bond else { return false };
        !self.ports.values().any(|other| {
            other.key != port.key
                && other.link.bond.as_ref() == Some(bond)
                && other.link.carrier == Some(true)
        })
    }

    fn node_facts(&self, key: PortKey, now: MonoTime) -> NodeFacts {
        let mitigated = |port: &&Port| port.queues.iter().any(|queue| queue.phase.owed().is_some());
        let storming = |port: &&Port| {
            let rx = |queue: &&QueueState| queue.direction == Direction::Rx;
            port.queues.iter().filter(rx).any(|queue| queue.phase.open_storm().is_some())
        };
        let watched = self.ports.values().filter(|port| port.queues.iter().any(QueueState::is_counted));
        let storming = self.ports.values().filter(storming).count();
        NodeFacts {
            link_operation: self.link_busy_until(None, now).is_some(),
            ports_mitigated: self.ports.values().filter(mitigated).filter(|port| port.key != key).count()
                as u32,
            ports_mitigated_max: self.settings.ports_mitigated_max,
            node_wide: storming >= 2 && storming * 2 >= watched.count(),
        }
    }

    /// An answer counts if it was asked for after the last storm of these had begun, and not too long ago.
    fn guard_facts<'a>(&self, queues: impl Iterator<Item = &'a QueueState>, now: MonoTime) -> GuardFacts {
        let onset = queues.filter_map(|queue| queue.phase.open_storm()).max();
        let counts = |guard: &Guard, answer: &GuardAnswer| {
            onset.is_none_or(|onset| answer.asked_at > onset)
                && now.since(answer.asked_at) <= guard.answer_age_max()
        };
        match (&self.settings.guard, &self.guard) {
            (Some(guard), Some(answer)) if counts(guard, answer) => match answer.answer {
                Ok(number) if number <= guard.limit => GuardFacts::Agrees,
                Ok(_) => GuardFacts::Refuses,
                Err(_) => GuardFacts::Silent,
            },
            _ => GuardFacts::Silent,
        }
    }

    pub(super) fn act(&mut self, plan: Plan, indices: &[usize], now: MonoTime) {
        let key = plan.port;
        let Some(port) = self.ports.get_mut(&key) else { return };
        let name = PortName::of(&port.identity);
        port.last_action = Some(now);
        if port.flaps(plan.kind) {
            port.note_own_flap(now);
        }
        self.next_action = self.next_action.wrapping_add(1);
        self.spent.retain(|(_, at)| now.since(*at) < BUDGET_WINDOW);
        self.spent.push((name, now));
        self.actions.insert(plan.id, Action::new(&plan, now));
        self.revision += 1;
        for &index in indices {
            self.trigger(key, index, Trigger::ActionBegun(plan.id), now);
            self.emit_queue(now, key, index, planned(&plan));
        }
        self.out.push(Effect::Act(Box::new(Order::Do(plan))));
    }

    /// In dry run the plan is told, and the question comes again after the hold-off.
    pub(super) fn pretend(&mut self, plan: &Plan, indices: &[usize], now: MonoTime) {
        for &index in indices {
            let Some(port) = self.ports.get_mut(&plan.port) else { return };
            let queue = &mut port.queues[index];
            if plan.purpose == Purpose::Storm {
                queue.ask_at = Some(now + queue.rule.hold_off);
            }
            self.emit_queue(now, plan.port, index, planned(plan));
            let ended = EventKind::ActionEnded {
                action: plan.id,
                kind: plan.kind,
                purpose: plan.purpose,
                result: ActionResult::DryRun,
                put_back: PutBack::NotNeeded,
                took: Duration::ZERO,
                cause: None,
            };
            self.emit_queue(now, plan.port, index, ended);
        }
        self.next_action = self.next_action.wrapping_add(1);
        match plan.purpose {
            Purpose::Storm => self.count_result(plan.port, plan.kind, ActionResult::DryRun, now),
            Purpose::Test => self.count_test(plan.port, plan.kind, ActionResult::DryRun),
        }
    }
}

fn planned(plan: &Plan) -> EventKind {
    EventKind::ActionPlanned {
        action: plan.id,
        kind: plan.kind,
        purpose: plan.purpose,
        ops: plan.ops.clone(),
        undo: plan.undo.clone(),
    }
}

fn evidence_lifetime(port: &Port) -> Duration {
    port.detect() * 2
}

fn target(port: &Port, queue: &QueueState) -> Target {
    let time = queue.places.time;
    Target {
        queue: queue.queue,
        direction: queue.direction,
        pause_native: time.map(|place| port.ledger.native(place)),
        pause_scale: time.map_or(1, |place| port.ledger.layout()[place].scale as u32),
        packets: port.ledger.packets(&queue.places, queue.queue, port.caps.priority_packets).map(|p| p.1),
    }
}

/// The evidence as one JSON object. Names of netdevs hold no character that JSON would have to escape, but a kernel
/// is not asked for that here: quotes and backslashes are left out.
fn evidence_of(port: &Port, purpose: Purpose, indices: &[usize]) -> String {
    let plain = |text: &str| text.replace(['"', '\\'], "").replace(char::is_control, "");
    let storms = indices.iter().map(|&index| {
        let queue = &port.queues[index];
        let share = queue.evidence.map(|evidence| evidence.share.get()).unwrap_or_default();
        let since = queue.phase.open_storm().map_or(0, MonoTime::as_nanos);
        format!(
            r#"{{"priority":"{}","direction":"{}","onset_boottime_ns":{since},"paused_permille":{share}}}"#,
            queue.queue, queue.direction
        )
    });
    format!(
        r#"{{"test":{},"netdev":"{}","device":"{}","driver":"{}","pci_address":"{}","storms":[{}]}}"#,
        purpose == Purpose::Test,
        plain(&port.identity.netdev),
        plain(&port.identity.device),
        plain(&port.identity.driver),
        plain(&port.identity.pci_address),
        storms.collect::<Vec<_>>().join(",")
    )
}
