//! How the simulated agent acts: it drives [`Execution`] as the real actuator does, each step with the time it takes.

use std::time::Duration;

use super::faults::JournalMood;
use super::judge::{Applied, Purpose};
use super::random::Random;
use super::world::{Happening, Sink, World};
use crate::action::{Answer, Execution, FRESH_SPAN_MAX, Op, Order, Plan, Report, Step, TargetCounters};
use crate::drivers::LinkEffect;
use crate::ids::ActionId;
use crate::input::{Ended, Input};
use crate::policy::Veto;
use crate::units::{Direction, MonoTime, Queue};

/// An order that is being carried out.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) port: usize,
    device: u32,
    order: Order,
    execution: Execution,
    targets: Vec<(Queue, Direction)>,
    looked: Vec<TargetCounters>,
    /// When the counters were looked at before the first operation.
    looks: Vec<MonoTime>,
    /// An operation that the kernel has been asked for.
    asked: Option<Op>,
    applied: Applying,
    result: Result<(), String>,
}

/// Whether an order has changed anything yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Applying {
    NotYet,
    Begun { linkwise: bool },
}

/// Where an order stands when its time comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Persisted,
    Look,
    Looked,
    Config,
    Effect,
    Applied,
    Waited,
    Reported(Report),
}

impl Run {
    /// Whether it has done something that takes the link down.
    pub(super) fn is_linkwise(&self) -> bool {
        self.applied == Applying::Begun { linkwise: true }
    }

    fn plan(&self) -> Option<&Plan> {
        match &self.order {
            Order::Do(plan) => Some(plan),
            Order::Undo(_) => None,
        }
    }

    fn action(&self) -> ActionId {
        match &self.order {
            Order::Do(plan) => plan.id,
            Order::Undo(undo) => undo.id,
        }
    }

    /// For how long before `now` a pause may have been over without anybody being able to tell: half of the time
    /// between the last two looks that were compared, and what has passed since.
    fn unseen(&self, now: MonoTime) -> Duration {
        let (Some(plan), Some(last)) = (self.plan(), self.looks.last().copied()) else {
            return Duration::ZERO;
        };
        let late = |at: &&MonoTime| **at < last && at.since(plan.evidence_at) > FRESH_SPAN_MAX;
        let before = self.looks.iter().find(late).copied().unwrap_or(plan.evidence_at);
        last.since(before) / 2 + now.since(last)
    }

    fn purpose(&self, op: &Op) -> Purpose {
        match &self.order {
            Order::Do(plan) if plan.ops.contains(op) => Purpose::Do,
            Order::Do(_) => Purpose::PutBack,
            Order::Undo(_) => Purpose::Undo,
        }
    }
}

impl World {
    pub(super) fn begin_run(&mut self, port: usize, order: Order, sink: &mut Sink<'_>) {
        let targets = match &order {
            Order::Do(plan) => plan.targets.iter().map(|t| (t.queue, t.direction)).collect(),
            Order::Undo(_) => Vec::new(),
        };
        let mut run = Run {
            port,
            device: self.ports[port].device,
            execution: Execution::new(order.clone()),
            order,
            targets,
            looked: Vec::new(),
            looks: Vec::new(),
            asked: None,
            applied: Applying::NotYet,
            result: Ok(()),
        };
        let step = run.execution.next(self.now, Answer::Start);
        self.runs_begun += 1;
        let number = self.runs_begun;
        self.runs.insert(number, run);
        self.perform(number, step, sink);
    }

    pub(super) fn withdraw_run(&mut self, action: ActionId, veto: Veto) {
        let runs = self.runs.values_mut().filter(|run| run.action() == action);
        runs.for_each(|run| run.execution.withdraw(veto.label().into()));
    }

    /// Begins what `step` asks for: its end is put on the agenda.
    fn perform(&mut self, number: u64, step: Step, _sink: &mut Sink<'_>) {
        let now = self.now;
        let Some(run) = self.runs.get_mut(&number) else { return };
        let acts_take = self.ports[run.port].acts_take;
        let random: &mut Random = &mut self.random;
        let (at, moment) = match step {
            Step::Persist => {
                (now + random.span(self.journal_takes / 10, self.journal_takes), Moment::Persisted)
            }
            Step::ReadCounters => {
                (now + random.span(self.poll.took_min, self.poll.took_max) / 2, Moment::Look)
            }
            Step::ReadConfig => {
                (now + random.span(Duration::from_micros(100), Duration::from_millis(2)), Moment::Config)
            }
            Step::Apply(op) => {
                run.asked = Some(op);
                (now + random.span(acts_take.0, acts_take.1) / 2, Moment::Effect)
            }
            Step::Wait(until) => (until.max(now), Moment::Waited),
            Step::Done(report) => (now + Duration::from_micros(100), Moment::Reported(report)),
        };
        self.plan(at, Happening::Run { run: number, moment });
    }

    pub(super) fn go_on(&mut self, number: u64, moment: Moment, sink: &mut Sink<'_>) {
        let now = self.now;
        let Some(run) = self.runs.get(&number) else { return };
        let index = run.port;
        let gone = self.ports[index].device != run.device || !self.ports[index].present;
        let no_device = || "no such device".to_owned();
        let answer = match moment {
            Moment::Persisted => Answer::Persisted(self.persist(number)),
            Moment::Look => {
                let took = self.look(number);
                return self.plan(now + took, Happening::Run { run: number, moment: Moment::Looked });
            }
            Moment::Looked if gone => Answer::Counters(Err(no_device())),
            Moment::Looked if now < self.ports[index].errors_until => {
                Answer::Counters(Err("simulated failure".into()))
            }
            Moment::Looked => Answer::Counters(Ok(self.runs[&number].looked.clone())),
            Moment::Config if gone => Answer::Config(Err(no_device())),
            Moment::Config => Answer::Config(Ok(self.ports[index].nic.config())),
            Moment::Effect => {
                let result = if gone { Err(no_device()) } else { self.take_effect(number) };
                let run = self.runs.get_mut(&number);
                run.into_iter().for_each(|run| run.result = result.clone());
                let rest = self.random.span(Duration::from_micros(100), Duration::from_millis(5));
                return self.plan(now + rest, Happening::Run { run: number, moment: Moment::Applied });
            }
            Moment::Applied => Answer::Applied(self.runs[&number].result.clone()),
            Moment::Waited => Answer::Waited,
            Moment::Reported(report) => return self.report(number, report, sink),
        };
        if let Some(run) = self.runs.get_mut(&number) {
            let step = run.execution.next(now, answer);
            self.perform(number, step, sink);
        }
    }

    fn persist(&mut self, number: u64) -> Result<(), String> {
        if self.journal_mood == JournalMood::Fails {
            return Err("simulated failure".into());
        }
        if let Some(engine) = &self.engine {
            self.journal = engine.durable();
            self.journal_revision = engine.durable_revision();
        }
        let run = &self.runs[&number];
        self.judge.persisted(self.now, run.action());
        Ok(())
    }

    /// Looks at the counters of the targets; says how long the rest of the read takes.
    fn look(&mut self, number: u64) -> Duration {
        let now = self.now;
        let Some(run) = self.runs.get_mut(&number) else { return Duration::ZERO };
        let nic = &mut self.ports[run.port].nic;
        let look = |&(queue, direction): &(Queue, Direction)| {
            let (pause_native, packets) = nic.look(queue, direction, now);
            TargetCounters { at: now, pause_native, packets }
        };
        run.looked = run.targets.iter().map(look).collect();
        if run.applied == Applying::NotYet {
            run.looks.push(now);
        }
        self.random.span(self.poll.took_min, self.poll.took_max) / 2
    }

    /// The kernel does what it was asked for.
    fn take_effect(&mut self, number: u64) -> Result<(), String> {
        let now = self.now;
        let Some(run) = self.runs.get_mut(&number) else { return Ok(()) };
        let Some(op) = run.asked.take() else { return Ok(()) };
        let index = run.port;
        let linkwise = self.takes_link_down(index, &op);
        self.note_applied(number, &op);
        let port = &mut self.ports[index];
        port.nic.advance(now);
        let before = port.nic.flap_back();
        let result = port.nic.apply(&op, now);
        if port.nic.flap_back() != before {
            // A link that was taken down is down until it is taken up again.
            port.own_flap_until = port.nic.carrier_back().unwrap_or(now + Duration::from_secs(1));
            self.watch_carrier(index);
        }
        if let Some(run) = self.runs.get_mut(&number) {
            let linkwise = linkwise || run.is_linkwise();
            run.applied = Applying::Begun { linkwise };
        }
        self.ports[index].clean_since = now;
        let delay = self.random.span(Duration::from_millis(1), Duration::from_millis(30));
        self.plan(now + delay, Happening::ConfigTold(index));
        result
    }

    fn takes_link_down(&self, index: usize, op: &Op) -> bool {
        let flaps = self.ports[index].nic.driver().caps.levers.pfc_off.map(|off| off.link);
        match op {
            Op::PfcDisable(_) | Op::PfcEnable(_) if flaps == Some(LinkEffect::Flaps) => true,
            Op::LinkDown | Op::LinkUp => true,
            Op::PfcDisable(_)
            | Op::PfcEnable(_)
            | Op::PreventionTimeout(_)
            | Op::Pause(_)
            | Op::DevlinkRecover(_)
            | Op::Exec(_) => false,
        }
    }

    /// Tells the judge the truth about an operation, right before it takes effect.
    fn note_applied(&mut self, number: u64, op: &Op) {
        let now = self.now;
        let run = &self.runs[&number];
        let port = &self.ports[run.port];
        let first = run.applied == Applying::NotYet;
        let over_for = match run.plan().filter(|_| first) {
            Some(plan) => plan
                .targets
                .iter()
                .map(|t| match port.nic.paused_last(t.queue, t.direction, now) {
                    Some(last) => now.since(last),
                    None => Duration::MAX,
                })
                .collect(),
            None => Vec::new(),
        };
        // Half of the time between two looks may have been quiet, and what came after them cannot be known.
        let allowed = run.unseen(now) + port.nic.refresh() * 2 + Duration::from_millis(1);
        let applied = Applied {
            at: now,
            device: run.device,
            action: run.action(),
            op: op.clone(),
            purpose: run.purpose(op),
            over_for,
            allowed,
            linkwise: self.takes_link_down(run.port, op),
            busy_elsewhere: self.link_busy_elsewhere(run.port),
            frozen_for: port.frozen_for(now),
        };
        self.judge.applied(&applied);
    }

    fn report(&mut self, number: u64, report: Report, sink: &mut Sink<'_>) {
        let Some(run) = self.runs.remove(&number) else { return };
        self.feed(Input::Outcome(Ended { action: run.action(), report }), sink);
    }

    /// Ends everything that is under way. What the kernel has been asked for may still happen.
    pub(super) fn drop_runs(&mut self) {
        let asked = self.runs.iter().filter(|(_, run)| run.asked.is_some()).map(|(number, _)| *number);
        for number in asked.collect::<Vec<_>>() {
            let entered = self.random.between(0, 1) == 1;
            let present = self.ports[self.runs[&number].port].present;
            if entered && present {
                // Nobody is left to hear how it went.
                let _ = self.take_effect(number);
            }
        }
        self.runs.clear();
    }
}
