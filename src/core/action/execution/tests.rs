//! A machine that answers as told, and everything that can go wrong with it.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test picks one step out of many")]

use std::time::Duration;

use super::*;
use crate::action::{ActionKind, Disruption, Op, PauseConfig, Target};
use crate::ids::{ActionId, PortKey};
use crate::units::{Direction, Priority, PriorityMask, Queue};

const THREE: Priority = Priority::ALL[3];
const ALL_ON: PriorityMask = PriorityMask(0b1111_1111);

/// How the machine takes an operation.
#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Well,
    /// It says yes and does nothing.
    Silently,
    /// It says no.
    Not,
}

struct Machine {
    now: MonoTime,
    config: PortConfig,
    takes: Takes,
    undo_takes: Takes,
    /// The journal can be written.
    journal: Result<(), String>,
    pauses: bool,
    /// The pause goes on although PFC is off.
    stubborn: bool,
    /// Whether packets flow once PFC is off.
    flows: bool,
    pause_us: u64,
    packets: u64,
    steps: Vec<Step>,
}

impl Machine {
    fn new() -> Self {
        Self {
            now: MonoTime::from_millis(10_000),
            config: PortConfig {
                pfc: Some(ALL_ON),
                pause: Some(PauseConfig { rx: true, tx: true }),
                prevention_timeout_ms: Some(8000),
                link_up: Some(true),
                devlink_recoveries: Some(4),
                headroom: None,
            },
            takes: Takes::Well,
            undo_takes: Takes::Well,
            journal: Ok(()),
            pauses: true,
            stubborn: false,
            flows: true,
            pause_us: 500_000,
            packets: 77,
            steps: Vec::new(),
        }
    }

    fn pass(&mut self, span: Duration) {
        let on = self.config.pfc.is_some_and(|mask| mask.contains(THREE));
        let blocked = self.pauses && (on || self.stubborn);
        let micros = span.as_micros() as u64;
        if blocked {
            self.pause_us += micros;
        } else if self.flows {
            self.packets += micros;
        }
        self.now = self.now + span;
    }

    fn apply(&mut self, op: &Op) -> Result<(), String> {
        let undo = matches!(op, Op::PfcEnable(_) | Op::LinkUp);
        match if undo { self.undo_takes } else { self.takes } {
            Takes::Not => return Err("refused".into()),
            Takes::Silently => return Ok(()),
            Takes::Well => {}
        }
        match op {
            Op::PfcDisable(p) => self.config.pfc = self.config.pfc.map(|mask| mask.minus(*p)),
            Op::PfcEnable(p) => self.config.pfc = self.config.pfc.map(|mask| mask.union(*p)),
            Op::PreventionTimeout(ms) => self.config.prevention_timeout_ms = Some(*ms),
            Op::Pause(pause) => self.config.pause = Some(*pause),
            Op::DevlinkRecover(_) => {
                self.config.devlink_recoveries = self.config.devlink_recoveries.map(|n| n + 1)
            }
            Op::LinkDown => self.config.link_up = Some(false),
            Op::LinkUp => self.config.link_up = Some(true),
            Op::Exec(_) => {}
        }
        Ok(())
    }

    fn answer(&mut self, step: &Step) -> Answer {
        self.pass(Duration::from_millis(2));
        match step {
            Step::Persist => Answer::Persisted(self.journal.clone()),
            Step::ReadCounters => Answer::Counters(Ok(vec![TargetCounters {
                at: self.now,
                pause_native: Some(self.pause_us),
                packets: Some(self.packets),
            }])),
            Step::ReadConfig => Answer::Config(Ok(self.config)),
            Step::Apply(op) => Answer::Applied(self.apply(op)),
            Step::Wait(until) => {
                self.pass(until.since(self.now));
                Answer::Waited
            }
            Step::Done(_) => unreachable!("the order has ended"),
        }
    }

    fn run(&mut self, order: Order) -> Report {
        let mut execution = Execution::new(order);
        let mut answer = Answer::Start;
        for _ in 0..200 {
            let step = execution.next(self.now, answer);
            self.steps.push(step.clone());
            if let Step::Done(report) = step {
                return report;
            }
            answer = self.answer(&step);
        }
        panic!("no end: {:?}", self.steps);
    }

    fn applied(&self) -> Vec<Op> {
        let op = |step: &Step| if let Step::Apply(op) = step { Some(op.clone()) } else { None };
        self.steps.iter().filter_map(op).collect()
    }
}

/// The plan of a storm whose deciding reading was 50 ms ago.
fn plan(machine: &Machine) -> Plan {
    let evidence_at = machine.now.before(Duration::from_millis(50));
    Plan {
        id: ActionId(1),
        port: PortKey(0),
        purpose: Purpose::Storm,
        kind: ActionKind::PfcOff,
        disruption: Disruption::Priority,
        targets: vec![Target {
            queue: Queue::Priority(THREE),
            direction: Direction::Rx,
            pause_native: Some(machine.pause_us - 50_000),
            pause_scale: 1000,
            packets: Some(machine.packets),
        }],
        ops: vec![Op::PfcDisable(PriorityMask::of(THREE))],
        undo: vec![Op::PfcEnable(PriorityMask::of(THREE))],
        evidence_at,
        expires: evidence_at + Duration::from_millis(400),
        refresh: Duration::ZERO,
        settles: Duration::ZERO,
        proof: Duration::from_millis(200),
        headroom: None,
    }
}

fn acted(report: &Report) -> (ActionResult, PutBack) {
    match report.outcome {
        Outcome::Acted { result, put_back } => (result, put_back),
        Outcome::Undone(_) => panic!("{report:?}"),
    }
}

#[test]
fn the_journal_comes_before_the_first_change_and_the_proof_after_it() {
    let mut machine = Machine::new();
    let report = machine.run(Order::Do(plan(&machine)));
    assert_eq!(acted(&report), (ActionResult::Ok, PutBack::NotNeeded));
    let first = |wanted: fn(&Step) -> bool| machine.steps.iter().position(wanted).unwrap();
    let persist = first(|step| matches!(step, Step::Persist));
    let fresh = first(|step| matches!(step, Step::ReadCounters));
    let apply = first(|step| matches!(step, Step::Apply(_)));
    assert!(persist < fresh && fresh < apply, "{:?}", machine.steps);
    assert!(!machine.config.pfc.unwrap().contains(THREE));
}

#[test]
fn a_journal_that_cannot_be_written_changes_nothing() {
    let mut machine = Machine { journal: Err("read-only file system".into()), ..Machine::new() };
    let report = machine.run(Order::Do(plan(&machine)));
    assert_eq!(acted(&report), (ActionResult::Failed, PutBack::NotNeeded));
    assert!(machine.applied().is_empty());
    assert_eq!(report.reason.as_deref(), Some("journal: read-only file system"));
}

#[test]
fn a_pause_that_is_over_drops_the_plan() {
    let mut machine = Machine::new();
    let order = plan(&machine);
    machine.pauses = false;
    machine.pass(Duration::from_millis(150));
    let report = machine.run(Order::Do(order));
    assert_eq!(acted(&report), (ActionResult::Expired, PutBack::NotNeeded));
    assert!(machine.applied().is_empty());
}

#[test]
fn a_pause_that_ended_while_the_journal_was_written_drops_the_plan_although_it_fills_half_of_the_time() {
    let mut machine = Machine::new();
    let order = plan(&machine);
    machine.pass(Duration::from_millis(110));
    machine.pauses = false;
    machine.pass(Duration::from_millis(60));
    let report = machine.run(Order::Do(order.clone()));
    assert_eq!(acted(&report), (ActionResult::Expired, PutBack::NotNeeded));
    assert!(machine.applied().is_empty());

    let mut machine = Machine::new();
    machine.pass(Duration::from_millis(170));
    assert_eq!(acted(&machine.run(Order::Do(order))).0, ActionResult::Ok);
}

#[test]
fn a_plan_that_comes_late_is_dropped() {
    let mut machine = Machine::new();
    let order = plan(&machine);
    machine.pass(Duration::from_millis(351));
    assert_eq!(acted(&machine.run(Order::Do(order))).0, ActionResult::Expired);
    assert!(machine.applied().is_empty());
}

#[test]
fn a_source_that_shows_nothing_new_is_asked_until_the_plan_expires() {
    let mut machine = Machine::new();
    let mut order = plan(&machine);
    order.refresh = Duration::from_millis(100);
    order.targets[0].pause_native = Some(machine.pause_us);
    machine.pauses = false;
    machine.flows = false;
    let report = machine.run(Order::Do(order));
    assert_eq!(acted(&report).0, ActionResult::Expired, "unchanged is no information, and no consent");
    assert!(machine.applied().is_empty());
}

#[test]
fn what_reads_so_already_belongs_to_somebody_else() {
    let mut machine = Machine::new();
    let order = plan(&machine);
    machine.config.pfc = Some(ALL_ON.without(THREE));
    machine.stubborn = true;
    let report = machine.run(Order::Do(order));
    assert_eq!(acted(&report), (ActionResult::Failed, PutBack::NotNeeded));
    assert!(machine.applied().is_empty());
}

#[test]
fn a_refused_operation_fails() {
    let mut machine = Machine { takes: Takes::Not, ..Machine::new() };
    let report = machine.run(Order::Do(plan(&machine)));
    assert_eq!(acted(&report), (ActionResult::Failed, PutBack::Done));
    assert_eq!(machine.config.pfc, Some(ALL_ON));
}

#[test]
fn a_success_code_without_effect_fails() {
    let mut machine = Machine { takes: Takes::Silently, ..Machine::new() };
    let report = machine.run(Order::Do(plan(&machine)));
    assert_eq!(acted(&report), (ActionResult::Failed, PutBack::Done));
    assert!(report.reason.unwrap().contains("does not read back"));
}

#[test]
fn a_queue_that_stays_paused_makes_the_action_ineffective_and_it_is_put_back_at_once() {
    let mut machine = Machine::new();
    let order = plan(&machine);
    machine.stubborn = true;
    let report = machine.run(Order::Do(order));
    assert_eq!(acted(&report), (ActionResult::Ineffective, PutBack::Done));
    assert_eq!(machine.config.pfc, Some(ALL_ON));
}

#[test]
fn an_action_after_which_the_nic_goes_on_pausing_its_peer_is_ineffective() {
    let sent = |machine: &Machine| {
        let mut order = plan(machine);
        order.targets[0].direction = Direction::Tx;
        order
    };
    let mut machine = Machine::new();
    let order = sent(&machine);
    machine.stubborn = true;
    assert_eq!(acted(&machine.run(Order::Do(order))), (ActionResult::Ineffective, PutBack::Done));

    // Where it ceases to, that is the proof, whether or not anything is received.
    let mut machine = Machine { flows: false, ..Machine::new() };
    assert_eq!(acted(&machine.run(Order::Do(sent(&machine)))), (ActionResult::Ok, PutBack::NotNeeded));
}

#[test]
fn a_link_that_comes_back_into_the_same_storm_makes_the_bounce_ineffective() {
    let mut machine = Machine::new();
    let mut order = plan(&machine);
    order.kind = ActionKind::LinkBounce;
    order.targets[0].direction = Direction::Tx;
    order.ops = vec![Op::LinkDown, Op::LinkUp];
    order.undo = vec![Op::LinkUp];
    let report = machine.run(Order::Do(order));
    assert_eq!(acted(&report), (ActionResult::Ineffective, PutBack::Done));
    assert_eq!(machine.config.link_up, Some(true));
    assert_eq!(machine.config.pfc, Some(ALL_ON), "the mask is nobody's business here");
}

#[test]
fn a_queue_that_nobody_sends_on_leaves_the_action_unproven_and_in_force() {
    let mut machine = Machine { flows: false, ..Machine::new() };
    let report = machine.run(Order::Do(plan(&machine)));
    assert_eq!(acted(&report), (ActionResult::Unproven, PutBack::NotNeeded));
    assert!(!machine.config.pfc.unwrap().contains(THREE));
}

#[test]
fn an_action_that_fails_and_cannot_be_put_back_says_both() {
    let mut machine = Machine::new();
    let mut order = plan(&machine);
    order.ops.push(Op::PreventionTimeout(100));
    order.undo.push(Op::PreventionTimeout(8000));
    machine.undo_takes = Takes::Not;
    let mut execution = Execution::new(Order::Do(order));
    let mut answer = Answer::Start;
    let report = loop {
        let step = execution.next(machine.now, answer);
        match &step {
            Step::Done(report) => break report.clone(),
            // The first operation is taken, the second is not.
            Step::Apply(Op::PreventionTimeout(_)) => answer = Answer::Applied(Err("busy".into())),
            _ => answer = machine.answer(&step),
        }
    };
    assert_eq!(acted(&report), (ActionResult::Failed, PutBack::Failed));
    assert_eq!(report.reason.as_deref(), Some("busy; put back: refused"));
}

#[test]
fn a_plan_that_is_withdrawn_is_not_begun_and_one_that_has_begun_goes_on() {
    let steps = {
        let mut machine = Machine::new();
        machine.run(Order::Do(plan(&machine)));
        machine.steps
    };
    let begins = steps.iter().position(|step| matches!(step, Step::Apply(_))).unwrap();
    for at in 0..steps.len() - 1 {
        let mut machine = Machine::new();
        let mut execution = Execution::new(Order::Do(plan(&machine)));
        let mut answer = Answer::Start;
        let report = (0..).find_map(|number| {
            if number == at {
                execution.withdraw("maintenance".into());
            }
            let step = execution.next(machine.now, answer.clone());
            machine.steps.push(step.clone());
            if let Step::Done(report) = step {
                return Some(report);
            }
            answer = machine.answer(&step);
            None
        });
        let report = report.unwrap();
        if at <= begins {
            assert_eq!(acted(&report), (ActionResult::Expired, PutBack::NotNeeded), "before step {at}");
            assert_eq!(report.reason.as_deref(), Some("maintenance"));
            assert!(machine.applied().is_empty());
        } else {
            assert_eq!(acted(&report), (ActionResult::Ok, PutBack::NotNeeded), "before step {at}");
        }
    }
}

#[test]
fn an_undo_is_never_withdrawn() {
    let mut machine = Machine::new();
    machine.config.pfc = machine.config.pfc.map(|mask| mask.without(THREE));
    let mut execution = Execution::new(Order::Undo(plan(&machine).as_undo()));
    execution.withdraw("maintenance".into());
    assert_eq!(execution.next(machine.now, Answer::Start), Step::ReadConfig);
    let step = execution.next(machine.now, Answer::Config(Ok(machine.config)));
    assert!(matches!(step, Step::Apply(Op::PfcEnable(_))), "{step:?}");
}

#[test]
fn an_undo_puts_one_bit_into_the_mask_as_it_stands_now() {
    let mut machine = Machine::new();
    let undo = plan(&machine).as_undo();
    // Meanwhile somebody has taken priority 6 out.
    machine.config.pfc = Some(ALL_ON.without(THREE).without(Priority::ALL[6]));
    let report = machine.run(Order::Undo(undo));
    assert_eq!(report.outcome, Outcome::Undone(UndoResult::Done));
    assert_eq!(machine.config.pfc, Some(ALL_ON.without(Priority::ALL[6])));
}

#[test]
fn what_reads_as_before_the_action_needs_no_undo() {
    let mut machine = Machine::new();
    let undo = plan(&machine).as_undo();
    let report = machine.run(Order::Undo(undo));
    assert_eq!(report.outcome, Outcome::Undone(UndoResult::NotNeeded));
    assert!(machine.applied().is_empty());
}

#[test]
fn of_two_operations_of_which_one_was_carried_out_that_one_is_undone() {
    let mut machine = Machine::new();
    let mut order = plan(&machine);
    order.ops.push(Op::PfcDisable(PriorityMask::of(Priority::ALL[4])));
    order.undo.push(Op::PfcEnable(PriorityMask::of(Priority::ALL[4])));
    let undo = order.as_undo();
    machine.config.pfc = Some(ALL_ON.without(THREE));
    let report = machine.run(Order::Undo(undo));
    assert_eq!(report.outcome, Outcome::Undone(UndoResult::Done));
    assert_eq!(machine.applied(), [Op::PfcEnable(PriorityMask::of(THREE))]);
}

#[test]
fn a_value_that_somebody_else_has_set_stays_as_they_left_it() {
    let mut machine = Machine::new();
    let mut order = plan(&machine);
    order.ops = vec![Op::PreventionTimeout(100)];
    order.undo = vec![Op::PreventionTimeout(8000)];
    machine.config.prevention_timeout_ms = Some(300);
    let report = machine.run(Order::Undo(order.as_undo()));
    assert_eq!(report.outcome, Outcome::Undone(UndoResult::Foreign));
    assert_eq!((machine.applied(), machine.config.prevention_timeout_ms), (Vec::new(), Some(300)));
}

#[test]
fn an_undo_that_does_not_read_back_or_cannot_be_read_has_failed() {
    for takes in [Takes::Silently, Takes::Not] {
        let mut machine = Machine { undo_takes: takes, ..Machine::new() };
        let undo = plan(&machine).as_undo();
        machine.config.pfc = Some(ALL_ON.without(THREE));
        assert_eq!(machine.run(Order::Undo(undo)).outcome, Outcome::Undone(UndoResult::Failed));
    }
    let mut machine = Machine::new();
    let undo = plan(&machine).as_undo();
    machine.config.pfc = None;
    assert_eq!(machine.run(Order::Undo(undo)).outcome, Outcome::Undone(UndoResult::Failed));
}

#[test]
fn a_link_that_did_not_come_up_again_is_taken_up_once_more() {
    let mut machine = Machine { undo_takes: Takes::Silently, ..Machine::new() };
    let mut order = plan(&machine);
    order.kind = ActionKind::LinkBounce;
    order.ops = vec![Op::LinkDown, Op::LinkUp];
    order.undo = vec![Op::LinkUp];
    let report = machine.run(Order::Do(order));
    assert_eq!(acted(&report), (ActionResult::Failed, PutBack::Failed));
    assert_eq!(machine.applied(), [Op::LinkDown, Op::LinkUp, Op::LinkUp]);
}

#[test]
fn a_recovery_that_the_reporter_does_not_count_has_not_happened() {
    let mut machine = Machine { takes: Takes::Silently, ..Machine::new() };
    let mut order = plan(&machine);
    order.kind = ActionKind::DevlinkRecover;
    order.ops = vec![Op::DevlinkRecover("tx".into())];
    order.undo = Vec::new();
    assert_eq!(acted(&machine.run(Order::Do(order.clone()))).0, ActionResult::Failed);
    let mut machine = Machine::new();
    order.expires = machine.now + Duration::from_millis(350);
    assert_eq!(
        acted(&machine.run(Order::Do(order))).0,
        ActionResult::Ineffective,
        "it was counted, and did not help"
    );
}

#[test]
fn an_answer_to_another_question_fails_the_order_instead_of_confusing_it() {
    let mut execution = Execution::new(Order::Do(plan(&Machine::new())));
    let now = MonoTime::from_millis(10_000);
    assert_eq!(execution.next(now, Answer::Start), Step::Persist);
    assert_eq!(
        execution.next(now, Answer::Waited),
        Step::ReadConfig,
        "it puts back what it may have changed"
    );
}

#[test]
fn what_takes_time_to_have_its_effect_is_judged_after_that_time() {
    let mut machine = Machine::new();
    let settles = Duration::from_millis(150);
    let order = Plan { settles, ..plan(&machine) };
    machine.run(Order::Do(order));
    let read_back = machine.steps.iter().rposition(|step| matches!(step, Step::ReadConfig)).unwrap();
    let Step::Wait(until) = machine.steps[read_back + 1] else { panic!("{:?}", machine.steps) };
    assert!(until >= MonoTime::from_millis(10_000) + settles, "{until:?}");
}

#[test]
fn a_test_needs_a_fresh_reading_and_no_pause_in_it() {
    let mut machine = Machine::new();
    machine.pauses = false;
    let test = Plan { purpose: Purpose::Test, refresh: Duration::from_secs(1), ..plan(&machine) };
    let (result, put_back) = acted(&machine.run(Order::Do(test.clone())));
    assert!(matches!(result, ActionResult::Ok | ActionResult::Unproven), "{result:?}");
    assert_eq!(
        (put_back, machine.applied()),
        (PutBack::NotNeeded, vec![Op::PfcDisable(PriorityMask::of(THREE))])
    );
    let mut machine = Machine::new();
    machine.pauses = false;
    let late = Plan { expires: machine.now.before(Duration::from_millis(1)), ..test };
    assert_eq!(acted(&machine.run(Order::Do(late))).0, ActionResult::Expired);
}

/// The operator has set another limit since the agent read it last.
#[test]
fn a_plan_whose_undo_would_set_what_does_not_stand_there_changes_nothing() {
    let mut machine = Machine::new();
    let ops = (vec![Op::PreventionTimeout(100)], vec![Op::PreventionTimeout(2000)]);
    let order = Plan { kind: ActionKind::PreventionTimeout, ops: ops.0, undo: ops.1, ..plan(&machine) };
    let report = machine.run(Order::Do(order));
    assert_eq!(acted(&report), (ActionResult::Failed, PutBack::NotNeeded));
    assert_eq!((machine.applied(), machine.config.prevention_timeout_ms), (Vec::new(), Some(8000)));
}

fn pause(rx: bool, tx: bool) -> PauseConfig {
    PauseConfig { rx, tx }
}

#[test]
fn of_global_pause_the_direction_that_was_switched_comes_back_and_the_other_stays_as_it_is() {
    let mut machine = Machine::new();
    let order = Plan {
        kind: ActionKind::PauseOff,
        ops: vec![Op::Pause(pause(false, true))],
        undo: vec![Op::Pause(pause(true, true))],
        ..plan(&machine)
    };
    // Meanwhile somebody has switched the other direction off.
    machine.config.pause = Some(pause(false, false));
    let report = machine.run(Order::Undo(order.as_undo()));
    assert_eq!(report.outcome, Outcome::Undone(UndoResult::Done));
    assert_eq!(machine.config.pause, Some(pause(true, false)));
}

#[test]
fn an_undo_that_was_carried_out_although_it_was_refused_is_done() {
    let mut machine = Machine::new();
    let undo = plan(&machine).as_undo();
    machine.config.pfc = Some(ALL_ON.without(THREE));
    let mut execution = Execution::new(Order::Undo(undo));
    assert_eq!(execution.next(machine.now, Answer::Start), Step::ReadConfig);
    let config = |pfc| Answer::Config(Ok(PortConfig { pfc: Some(pfc), ..PortConfig::default() }));
    let apply = execution.next(machine.now, config(ALL_ON.without(THREE)));
    assert!(matches!(apply, Step::Apply(_)), "{apply:?}");
    assert_eq!(execution.next(machine.now, Answer::Applied(Err("EIO".into()))), Step::ReadConfig);
    let Step::Done(report) = execution.next(machine.now, config(ALL_ON)) else { panic!("{execution:?}") };
    assert_eq!(report.outcome, Outcome::Undone(UndoResult::Done));
}
