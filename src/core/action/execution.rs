//! How a plan or an undo is carried out, one question to the machine at a time.
//!
//! ```text
//! do:    Persist ─ ReadCounters* ─ ReadConfig ─ (Apply ─ ReadConfig)* ─ ReadCounters* ─ Done
//!            │          │              │             │       │               │
//!            │          │              │             └───────┴── put back ───┤ failed, ineffective
//!            └ failed   └ expired      └ failed: it was so already, so it is not ours to undo
//!            └──────────┴──────────────┴ expired: withdrawn
//! undo:  (ReadConfig ─ Apply ─ ReadConfig)* ─ Done
//!            └ not needed: it reads as before the action; foreign: it reads otherwise, so theirs stays
//! ```
//!
//! It never waits and never reads anything itself, so that the actuator, the simulator and a test that kills it
//! after each step all run the same rules. A success code proves nothing: every operation is read back.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::readback::{Proof, is_set_already, planned_from_elsewhere, prove, reads_as, still_paused};
use super::{ActionResult, Headroom, Op, Order, Outcome, Plan, PortConfig, Purpose, PutBack, UndoResult};
use crate::units::MonoTime;

/// Fresh readings closer together than this cannot tell a pause from none: counters tick in microseconds and a
/// read takes some hundreds of them.
const FRESH_SPAN_MIN: Duration = Duration::from_millis(10);
/// After more than this since the evidence, as when the journal was slow, a pause that is over may still fill half of
/// the time: the counters are looked at once more.
pub(crate) const FRESH_SPAN_MAX: Duration = Duration::from_millis(30);
/// How often the counters are looked at while a queue has time to show that it moves.
const PROOF_LOOKS: u32 = 8;

/// The next thing to be done by whoever drives the execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Write the journal, undo included, and force it to disk.
    Persist,
    /// Read the counters of the plan's targets.
    ReadCounters,
    /// Read what the port is set to.
    ReadConfig,
    /// Change the machine.
    Apply(Op),
    /// Do nothing until then.
    Wait(MonoTime),
    /// Report; there is no further step.
    Done(Report),
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The first question.
    Start,
    /// Of [`Step::Persist`].
    Persisted(Result<(), String>),
    /// Of [`Step::ReadCounters`], one entry per target.
    Counters(Result<Vec<TargetCounters>, String>),
    /// Of [`Step::ReadConfig`].
    Config(Result<PortConfig, String>),
    /// Of [`Step::Apply`].
    Applied(Result<(), String>),
    /// Of [`Step::Wait`].
    Waited,
}

/// The counters of one target, native units; `None` for a name that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetCounters {
    /// When they were read.
    pub at: MonoTime,
    /// Pause time.
    pub pause_native: Option<u64>,
    /// Packets moved in the paused direction.
    pub packets: Option<u64>,
}

/// What the actuator tells the engine at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Why, where it is not obvious.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The limit on sent pause, milliseconds, if the plan was made from another one: nobody is told when it changes, and
    /// the next plan has to come from this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prevention_timeout_ms: Option<u16>,
}

impl Report {
    /// A report with nothing to learn from it but how the order ended.
    #[must_use]
    pub const fn new(outcome: Outcome, reason: Option<String>) -> Self {
        Self { outcome, reason, prevention_timeout_ms: None }
    }
}

/// An order on its way.
#[derive(Clone, Debug)]
pub struct Execution {
    order: Order,
    state: State,
    before: PortConfig,
    base: Vec<TargetCounters>,
    looks: u32,
    verdict: Option<(ActionResult, Option<String>)>,
    /// Of an undo: how its steps were found so far.
    found: Found,
    /// The receive buffers as last read.
    headroom: Option<Headroom>,
    /// What is being taken back, and what the machine has said to it.
    back: Option<Op>,
    refusal: Option<String>,
    /// Why the plan is not to be begun any more.
    withdrawn: Option<String>,
}

/// What an undo has found of the settings that it is to take back.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// Some read as the action has left them.
    ours: bool,
    /// Some read as neither the action nor anything before it.
    foreign: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Persisting,
    Freshening,
    Checking,
    Applying(usize),
    ReadingBack(usize),
    Proving,
    UndoChecking(usize),
    UndoApplying(usize),
    UndoReadingBack(usize),
    Done,
}

impl Execution {
    /// An order not yet begun.
    #[must_use]
    pub fn new(order: Order) -> Self {
        Self {
            order,
            state: State::Start,
            before: PortConfig::default(),
            base: Vec::new(),
            looks: 0,
            verdict: None,
            found: Found::default(),
            headroom: None,
            back: None,
            refusal: None,
            withdrawn: None,
        }
    }

    /// The plan is not wanted any more. If an operation of it was asked for already it goes on; an undo always does.
    pub fn withdraw(&mut self, why: String) {
        if self.plan().is_some() {
            self.withdrawn = Some(why);
        }
    }

    /// The step after `answer`, which came at `now`. An answer that does not fit the question fails the order;
    /// what had been changed by then is put back.
    pub fn next(&mut self, now: MonoTime, answer: Answer) -> Step {
        if let (State::Start | State::Persisting | State::Freshening | State::Checking, Some(why)) =
            (self.state, &self.withdrawn)
        {
            let reason = why.clone();
            return self.expire(reason);
        }
        match (self.state, answer) {
            (State::Start, Answer::Start) => self.start(now),
            (State::Persisting, Answer::Persisted(Ok(()))) => self.ask_counters(State::Freshening),
            (State::Persisting, Answer::Persisted(Err(error))) => {
                self.fail_untouched(format!("journal: {error}"))
            }
            (State::Freshening, Answer::Counters(Ok(counters))) => self.judge_fresh(now, counters),
            (State::Freshening, Answer::Counters(Err(error))) => {
                self.expire(format!("no fresh reading: {error}"))
            }
            (State::Freshening | State::Proving, Answer::Waited) => Step::ReadCounters,
            (State::Checking, Answer::Config(Ok(config))) => self.check(now, config),
            (State::Checking, Answer::Config(Err(error))) => self.fail_untouched(error),
            (State::Applying(index), Answer::Applied(Ok(()))) => self.read_back(State::ReadingBack(index)),
            (State::Applying(_), Answer::Applied(Err(error))) => self.give_up(ActionResult::Failed, error),
            (State::ReadingBack(index), Answer::Config(config)) => self.judge_read_back(now, index, config),
            (State::Proving, Answer::Counters(counters)) => {
                self.judge_proof(now, counters.unwrap_or_default())
            }
            (State::UndoChecking(index), Answer::Config(config)) => self.judge_ownership(index, config),
            (State::UndoApplying(index), Answer::Applied(Ok(()))) => {
                self.read_back(State::UndoReadingBack(index))
            }
            // An error proves as little as a success.
            (State::UndoApplying(index), Answer::Applied(Err(error))) => {
                self.refusal = Some(error);
                self.read_back(State::UndoReadingBack(index))
            }
            (State::UndoReadingBack(index), Answer::Config(config)) => self.judge_undone(index, config),
            (state, answer) => {
                self.give_up(ActionResult::Failed, format!("{answer:?} answers nothing in {state:?}"))
            }
        }
    }

    fn start(&mut self, now: MonoTime) -> Step {
        match &self.order {
            Order::Do(plan) if now > plan.expires => {
                let late = now.since(plan.expires);
                self.expire(format!("begun {} ms after its evidence expired", late.as_millis()))
            }
            Order::Do(_) => {
                self.state = State::Persisting;
                Step::Persist
            }
            Order::Undo(_) => self.undo_from(0),
        }
    }

    fn plan(&self) -> Option<&Plan> {
        match &self.order {
            Order::Do(plan) => Some(plan),
            Order::Undo(_) => None,
        }
    }

    fn ask_counters(&mut self, state: State) -> Step {
        self.state = state;
        Step::ReadCounters
    }

    /// Whether the pause that was decided on still lasts. A source that refreshes slowly may show nothing new:
    /// then it is asked again, until the plan expires.
    fn judge_fresh(&mut self, now: MonoTime, counters: Vec<TargetCounters>) -> Step {
        let Some(plan) = self.plan() else { return self.give_up(ActionResult::Failed, "no plan".into()) };
        if plan
            .targets
            .iter()
            .zip(&counters)
            .any(|(t, c)| t.pause_native.is_some() && c.pause_native.is_none())
        {
            return self.expire("the pause counter is gone".into());
        }
        if now > plan.expires {
            return self.expire("no fresh reading before it expired".into());
        }
        let since = self.base.first().map_or(plan.evidence_at, |look| look.at);
        let span = counters.first().map_or(Duration::ZERO, |c| c.at.since(since));
        let stale = !plan.refresh.is_zero()
            && plan.targets.iter().zip(&counters).all(|(t, c)| t.pause_native == c.pause_native);
        // A test needs no pause: that the counters can be read is all there is to see.
        let is_storm = plan.purpose == Purpose::Storm;
        if is_storm && (span < FRESH_SPAN_MIN || stale) {
            let pause = if stale { plan.refresh / 4 } else { FRESH_SPAN_MIN };
            return Step::Wait(now + pause.max(FRESH_SPAN_MIN));
        }
        if is_storm && !still_paused(plan, &self.base, &counters, span) {
            return self.expire("the pause is over".into());
        }
        if is_storm && self.base.is_empty() && plan.refresh.is_zero() && span > FRESH_SPAN_MAX {
            self.base = counters;
            return Step::Wait(now + FRESH_SPAN_MIN);
        }
        self.base = counters;
        self.read_back(State::Checking)
    }

    fn read_back(&mut self, state: State) -> Step {
        self.state = state;
        Step::ReadConfig
    }

    /// What already reads as the plan would set it was done by somebody else, and is not ours to undo.
    fn check(&mut self, now: MonoTime, config: PortConfig) -> Step {
        self.before = config;
        let already = self.plan().and_then(|plan| plan.ops.iter().find(|op| is_set_already(op, &config)));
        match already {
            Some(op) => {
                let reason = format!("{op}: somebody else has done so already");
                self.fail_untouched(reason)
            }
            None => match self.plan().and_then(|plan| planned_from_elsewhere(plan, &config)) {
                Some(reason) => {
                    let untouched =
                        Outcome::Acted { result: ActionResult::Failed, put_back: PutBack::NotNeeded };
                    let prevention_timeout_ms = config.prevention_timeout_ms;
                    self.end(Report { prevention_timeout_ms, ..Report::new(untouched, Some(reason)) })
                }
                None => self.apply(now, 0),
            },
        }
    }

    fn apply(&mut self, now: MonoTime, index: usize) -> Step {
        let Some(op) = self.plan().and_then(|plan| plan.ops.get(index)).cloned() else {
            (self.looks, self.state) = (0, State::Proving);
            let settles = self.plan().map(|plan| plan.settles).unwrap_or_default();
            return if settles.is_zero() { Step::ReadCounters } else { Step::Wait(now + settles) };
        };
        self.state = State::Applying(index);
        Step::Apply(op)
    }

    fn judge_read_back(&mut self, now: MonoTime, index: usize, config: Result<PortConfig, String>) -> Step {
        let Some(op) = self.plan().and_then(|plan| plan.ops.get(index)) else {
            return self.give_up(ActionResult::Failed, "no such operation".into());
        };
        let verdict = match config {
            Err(error) => Err(format!("read-back: {error}")),
            Ok(config) => match reads_as(op, &config, &self.before) {
                Some(true) => Ok(()),
                Some(false) => Err(format!("{op}: accepted, but it does not read back")),
                None => Err(format!("{op}: cannot be read back")),
            },
        };
        match verdict {
            Ok(()) => self.apply(now, index + 1),
            Err(reason) => self.give_up(ActionResult::Failed, reason),
        }
    }

    /// The first look after the last operation is the base line; the queue then has `plan.proof` to show itself.
    fn judge_proof(&mut self, now: MonoTime, counters: Vec<TargetCounters>) -> Step {
        let Some(plan) = self.plan() else { return self.give_up(ActionResult::Failed, "no plan".into()) };
        let (pace, last) = (plan.proof / PROOF_LOOKS, self.looks >= PROOF_LOOKS);
        if self.looks == 0 {
            self.base = counters;
        } else {
            let proof = prove(plan, &self.base, &counters);
            if proof == Proof::Moves {
                return self.end_plan(ActionResult::Ok, PutBack::NotNeeded, None);
            }
            if last && proof == Proof::StillPaused {
                return self.give_up(ActionResult::Ineffective, "the queue is still paused".into());
            }
            if last {
                return self.end_plan(ActionResult::Unproven, PutBack::NotNeeded, None);
            }
        }
        self.looks += 1;
        Step::Wait(now + pace)
    }

    /// Ends a plan that changed something by taking the change back first.
    fn give_up(&mut self, result: ActionResult, reason: String) -> Step {
        if self.verdict.is_some() || matches!(self.order, Order::Undo(_)) {
            return self.end_undo(UndoResult::Failed, Some(reason));
        }
        self.verdict = Some((result, Some(reason)));
        self.undo_from(0)
    }

    fn fail_untouched(&mut self, reason: String) -> Step {
        self.end_plan(ActionResult::Failed, PutBack::NotNeeded, Some(reason))
    }

    fn expire(&mut self, reason: String) -> Step {
        self.end_plan(ActionResult::Expired, PutBack::NotNeeded, Some(reason))
    }

    fn end_plan(&mut self, result: ActionResult, put_back: PutBack, reason: Option<String>) -> Step {
        self.done(Outcome::Acted { result, put_back }, reason)
    }

    fn done(&mut self, outcome: Outcome, reason: Option<String>) -> Step {
        self.end(Report::new(outcome, reason))
    }

    fn end(&mut self, report: Report) -> Step {
        self.state = State::Done;
        Step::Done(report)
    }
}

mod undo;

#[cfg(test)]
mod tests;
