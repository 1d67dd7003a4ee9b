//! What the judge reads out of inputs and effects.

use super::queues::{Place, is_mitigated, may_follow};
use super::{ActionBook, Judge, Rule};
use crate::action::{ActionResult, Disruption, Order, Plan, Undo, UndoResult};
use crate::event::{Event, EventKind};
use crate::ids::{ActionId, PortKey, StormId};
use crate::input::{Effect, Input};
use crate::phase::{CARRIER_WAIT, EndReason};
use crate::settings::Mode;
use crate::units::MonoTime;

impl Judge {
    /// Takes one step of the engine.
    pub fn step(&mut self, now: MonoTime, input: &Input, effects: &[Effect]) {
        if now < self.last_at {
            self.broken(Rule::EventOrder, now, format!("time went back from {}", self.last_at));
        }
        self.last_at = now;
        if let Input::Reading(reading) = input
            && let Some(port) = self.ports.get_mut(&reading.port)
        {
            port.read_at = Some(reading.at);
        }
        for effect in effects {
            match effect {
                Effect::Emit(event) => self.event(now, event),
                Effect::Act(order) => match order.as_ref() {
                    Order::Do(plan) => self.planned(now, plan),
                    Order::Undo(undo) => self.undo_sent(now, undo),
                },
                Effect::Pace(key, interval) if interval.is_zero() => {
                    self.broken(Rule::Range, now, format!("port {} is to be read without pause", key.0));
                }
                Effect::Withdraw(..) | Effect::Pace(..) | Effect::AskGuard => {}
            }
        }
        if let Input::Gone(key) = input {
            self.forget_port(*key);
        }
        self.check_waiting(now);
        if matches!(input, Input::Reconfigure(_) | Input::Command(_) | Input::Outcome(_) | Input::Tick) {
            self.check_withdrawn(now);
        }
    }

    /// Nothing stays in force where actions are no longer wanted.
    fn check_withdrawn(&mut self, now: MonoTime) {
        if self.settings.mode == Mode::Enforce && !self.stopping {
            return;
        }
        let kept = self.queues.iter().find(|(_, book)| book.phase.as_deref() == Some("mitigated"));
        if let Some((&(key, place), _)) = kept {
            let text = format!("port {} {place:?} is mitigated although actions are not wanted", key.0);
            self.broken(Rule::UndoLost, now, text);
        }
    }

    fn forget_port(&mut self, key: PortKey) {
        self.queues.retain(|(port, _), _| *port != key);
        self.ports.remove(&key);
    }

    fn event(&mut self, now: MonoTime, event: &Event) {
        *self.events.entry(event.kind.name()).or_default() += 1;
        if event.seq != self.seq + 1 {
            self.broken(Rule::EventOrder, now, format!("event {} follows event {}", event.seq, self.seq));
        }
        self.seq = event.seq;
        if event.at != now {
            let text = format!("event {} says {} at {now}", event.seq, event.at);
            self.broken(Rule::EventOrder, now, text);
        }
        if let EventKind::UndoDropped { action } = &event.kind {
            self.dropped(*action, event);
        }
        let (Some(key), Some(queue), Some(direction)) =
            (event.place.port, event.place.priority, event.place.direction)
        else {
            return;
        };
        self.queue_event(now, key, (queue, direction), &event.kind);
    }

    fn queue_event(&mut self, now: MonoTime, key: PortKey, place: Place, kind: &EventKind) {
        match kind {
            EventKind::PhaseChanged { from, to } => self.phase_changed(now, key, place, &from.0, &to.0),
            EventKind::StormDetected { storm, .. } => self.storm_found(now, key, place, *storm),
            EventKind::StormEnded { storm, reason, .. } => {
                self.storm_ended(now, key, place, *storm, *reason);
            }
            EventKind::ActionEnded { action, kind, result, .. } => {
                if !matches!(result, ActionResult::Ok | ActionResult::Unproven) {
                    self.queues.entry((key, place)).or_default().action = None;
                }
                let in_force = matches!(result, ActionResult::Ok | ActionResult::Unproven) && kind.lasts();
                if let Some(book) = self.actions.get_mut(action).filter(|_| in_force) {
                    book.owed.insert(place);
                }
            }
            EventKind::UndoEnded { action, result, .. } => {
                let over = *result != UndoResult::Failed;
                if let Some(book) = self.actions.get_mut(action).filter(|_| over) {
                    book.owed.remove(&place);
                }
            }
            EventKind::PortAdded { .. }
            | EventKind::PortRemoved
            | EventKind::PortRenamed { .. }
            | EventKind::LinkChanged { .. }
            | EventKind::PauseEntered { .. }
            | EventKind::PauseLeft { .. }
            | EventKind::ActionPlanned { .. }
            | EventKind::ActionVetoed { .. }
            | EventKind::UndoDropped { .. }
            | EventKind::UndoWaits { .. }
            | EventKind::Blinded { .. }
            | EventKind::Sighted
            | EventKind::ReadFailed { .. }
            | EventKind::ReadRecovered { .. }
            | EventKind::TestRefused { .. }
            | EventKind::NvmfChanged(_)
            | EventKind::Acknowledged
            | EventKind::MaintenanceBegun { .. }
            | EventKind::MaintenanceEnded { .. }
            | EventKind::Reconfigured { .. }
            | EventKind::DetectRaised { .. }
            | EventKind::NotArmed { .. }
            | EventKind::ActionUnsupported { .. } => {}
        }
    }

    fn dropped(&mut self, action: ActionId, event: &Event) {
        let Some(book) = self.actions.get_mut(&action) else { return };
        match (event.place.priority, event.place.direction) {
            (Some(queue), Some(direction)) => {
                book.owed.remove(&(queue, direction));
            }
            _ => book.owed.clear(),
        }
    }

    fn phase_changed(&mut self, now: MonoTime, key: PortKey, place: Place, from: &str, to: &str) {
        let book = self.queues.entry((key, place)).or_default();
        let before = book.phase.replace(to.to_owned());
        let expected = before.as_deref().unwrap_or("healthy");
        book.waits_since = (to == "undoing").then_some(now);
        if !is_mitigated(to) && to != "storm" {
            book.action = None;
        }
        let known = expected == from;
        if !known {
            let text = format!("port {} {place:?} left {from}, but was {expected}", key.0);
            self.broken(Rule::PhaseOrder, now, text);
        }
        if !may_follow(from, to) {
            let text = format!("port {} {place:?} went from {from} to {to}", key.0);
            self.broken(Rule::PhaseOrder, now, text);
        }
    }

    fn storm_found(&mut self, now: MonoTime, key: PortKey, place: Place, storm: StormId) {
        let book = self.queues.entry((key, place)).or_default();
        book.found += 1;
        if let Some(open) = book.storm.replace(storm) {
            let text =
                format!("port {} {place:?}: storm {} is open when {} is found", key.0, open.0, storm.0);
            self.broken(Rule::StormCount, now, text);
        }
    }

    fn storm_ended(&mut self, now: MonoTime, key: PortKey, place: Place, storm: StormId, why: EndReason) {
        let book = self.queues.entry((key, place)).or_default();
        book.ended += 1;
        let open = book.storm.take();
        if open != Some(storm) {
            let text = format!(
                "port {} {place:?}: storm {} ended as {} but {open:?} was open",
                key.0,
                storm.0,
                why.label()
            );
            self.broken(Rule::StormCount, now, text);
        }
    }

    fn planned(&mut self, now: MonoTime, plan: &Plan) {
        let Some(port) = self.ports.get(&plan.port) else {
            let text =
                format!("action {} is planned for port {}, which is not there", plan.id.0, plan.port.0);
            return self.broken(Rule::BlindActed, now, text);
        };
        let (device, name, estimated, read_at) =
            (port.device, port.name.clone(), port.estimated, port.read_at);
        let target = plan.targets.first().map(|t| (t.queue, t.direction));
        if estimated {
            let text = format!("action {} on {target:?} of {}, which only estimates", plan.id.0, name.netdev);
            self.broken(Rule::EstimatedActed, now, text);
        }
        if read_at.is_none_or(|at| at > now || plan.evidence_at > at) || now > plan.expires {
            let text = format!(
                "action {} decides on {} with the last reading at {read_at:?}",
                plan.id.0, plan.evidence_at
            );
            self.broken(Rule::BlindActed, now, text);
        }
        self.check_ports_mitigated(now, plan);
        let queues = plan.targets.iter().map(|t| (t.queue, t.direction)).collect::<Vec<_>>();
        for place in &queues {
            self.queues.entry((plan.port, *place)).or_default().action = Some(plan.id);
        }
        let linkwise = plan.disruption >= Disruption::Link;
        let book =
            ActionBook { device, begun_at: now, queues, owed: std::collections::BTreeSet::new(), linkwise };
        self.actions.insert(plan.id, book);
        self.unwritten.insert(plan.id, device);
    }

    /// Counts the ports on which something is in force or under way.
    fn check_ports_mitigated(&mut self, now: MonoTime, plan: &Plan) {
        let mut ports = std::collections::BTreeSet::from([plan.port]);
        for ((port, _), book) in &self.queues {
            if book.action.is_some() || book.phase.as_deref().is_some_and(is_mitigated) {
                ports.insert(*port);
            }
        }
        let allowed = self.settings.ports_mitigated_max as usize;
        if ports.len() > allowed.max(1) || allowed == 0 {
            let text = format!("action {} makes {} mitigated ports of {allowed}", plan.id.0, ports.len());
            self.broken(Rule::PortsMitigated, now, text);
        }
    }

    fn undo_sent(&mut self, now: MonoTime, undo: &Undo) {
        for place in &undo.queues {
            if let Some(book) = self.queues.get_mut(&(undo.port, *place)) {
                book.waits_since = None;
            }
        }
        let limit = self.mitigation_max();
        let Some(book) = self.actions.get(&undo.id) else { return };
        let lasted = now.since(book.begun_at);
        // A failed undo is tried again without end, and a restart may come late.
        let first = undo.queues.iter().all(|place| book.owed.contains(place));
        if first && lasted > limit && self.seq > 1 {
            let text = format!("action {} is taken back after {lasted:?}, more than {limit:?}", undo.id.0);
            self.broken(Rule::UndoLost, now, text);
        }
    }

    /// An undo that is due is ordered at once, or as soon as the queues that share its operation are due too and the
    /// link of another port is back, which takes a minute at most.
    fn check_waiting(&mut self, now: MonoTime) {
        let waiting = self.queues.iter().filter_map(|(at, book)| Some((*at, book.waits_since?, book.action)));
        for ((key, place), since, action) in waiting.collect::<Vec<_>>() {
            let late = now.since(since) > CARRIER_WAIT * 2;
            let shared = self.waits_for_others(key, action);
            if let Some(book) = self.queues.get_mut(&(key, place)) {
                book.waits_since = if shared { Some(now) } else { Some(since).filter(|_| !late) };
            }
            if late && !shared {
                let text = format!("port {} {place:?}: the undo of {action:?} is due and not ordered", key.0);
                self.broken(Rule::UndoLost, now, text);
            }
        }
    }

    /// Whether another queue of an action that is taken back as one is still mitigated.
    fn waits_for_others(&self, key: PortKey, action: Option<ActionId>) -> bool {
        let Some(action) = action.and_then(|action| self.actions.get(&action)) else { return false };
        let mitigated = |place: &Place| self.phase(key, *place) == "mitigated";
        action.linkwise && action.queues.iter().any(mitigated)
    }
}
