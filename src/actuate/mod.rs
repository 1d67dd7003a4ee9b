//! The only part that changes the machine. It carries out orders of the engine, step by step, those of one device one
//! after another on a thread of their own, and reports what became of them. It decides nothing.

mod exec;
mod hook;
mod journal;
mod line;
mod restore;
mod spool;

pub(crate) use journal::replace;
pub use journal::{Journal, JournalError, Stored};
pub use restore::{RestoreEnd, Restored, restore};
pub use spool::{WorkerError, work as work_off};

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rocewatch_core::action::{
    ActionResult, Answer, Execution, Op, Order, Outcome, PortConfig, PutBack, Report, Step, Target,
    TargetCounters, UndoResult,
};
use rocewatch_core::binding::Binding;
use rocewatch_core::catalog::PauseSlots;
use rocewatch_core::drivers::{self, PacketScope};
use rocewatch_core::durable::Durable;
use rocewatch_core::ids::{ActionId, PortKey};
use rocewatch_core::input::{Ended, Input};
use rocewatch_core::units::{MonoTime, Priority, Queue};
use tokio_util::sync::CancellationToken;

use hook::Hook;
use line::{Job, Line, Next};

use crate::clock;
use crate::sources::{Source, with_causes};

/// What can be set, and read back, on one port.
pub trait Machine: Send + Sync {
    /// What the port is set to, as far as the operations `about` would change it: everything else is `None`.
    ///
    /// # Errors
    /// In one line, what cannot be read and why.
    fn config(&self, about: &[Op]) -> Result<PortConfig, String>;

    /// Changes one thing. Commands of the operator never come here.
    ///
    /// # Errors
    /// In one line, what the machine answered.
    fn apply(&self, op: &Op) -> Result<(), String>;
}

/// A port as the actuator needs it.
pub struct Station {
    /// Sets and reads back.
    pub machine: Arc<dyn Machine>,
    /// Reads the counters, apart from the poller, which may be in the middle of a read; `None` if nobody can. What is owed
    /// is taken back without them.
    pub source: Option<Box<dyn Source>>,
    /// The port's driver.
    pub driver: String,
}

/// Which outcome an order wants.
#[derive(Clone, Copy)]
enum OrderKind {
    Do,
    Undo,
}

type Lines = BTreeMap<PortKey, Arc<Line>>;

/// The actuator.
pub struct Actuator {
    lines: Mutex<Lines>,
    journal: Arc<Mutex<Journal>>,
    inputs: SyncSender<Input>,
    hook: Hook,
    plans: Arc<Plans>,
}

/// The plans that are ordered and not reported, and why one of them is not to be begun any more.
type Plans = Mutex<BTreeMap<ActionId, Option<String>>>;
/// Why an order is not to be begun any more.
type Withdrawn<'a> = &'a dyn Fn() -> Option<String>;

impl Actuator {
    /// An actuator that knows no port yet.
    #[must_use]
    pub fn new(journal: Arc<Mutex<Journal>>, inputs: SyncSender<Input>) -> Self {
        Self { lines: Mutex::default(), journal, inputs, hook: Hook::default(), plans: Arc::default() }
    }

    /// The same, with the operator's command run by a worker that works off the folder at `spool`, if there is one.
    /// `procfs` tells which boot this is.
    #[must_use]
    pub fn with_spool(self, spool: Option<&Path>, procfs: &Path) -> Self {
        Self { hook: Hook::new(spool, procfs), ..self }
    }

    /// Makes a port known, or known anew: an order under way ends first.
    pub fn add(&self, port: PortKey, station: Station) {
        match self.lines().entry(port) {
            Entry::Occupied(line) => line.get().replace(station),
            Entry::Vacant(place) => drop(place.insert(Arc::new(Line::new(station)))),
        }
    }

    /// Forgets a port.
    pub fn remove(&self, port: PortKey) {
        self.lines().remove(&port);
    }

    /// The device of the port `from` is the port `to` from now on. False, and it is forgotten, if there was no order about
    /// it: then nothing can be owed to it.
    pub fn hand_over(&self, from: PortKey, to: PortKey) -> bool {
        let mut lines = self.lines();
        let used = lines.remove(&from).filter(|line| line.is_used());
        used.is_some_and(|line| lines.insert(to, line).is_none())
    }

    /// Ends the commands of the operator that run, and those that are still to begin: nothing has to be taken back
    /// after them.
    pub fn stop(&self) {
        self.hook.stop.cancel();
    }

    /// A plan is not to be begun any more, if it was not yet.
    pub fn withdraw(&self, action: ActionId, why: &str) {
        if let Some(withdrawn) = locked(&self.plans).get_mut(&action) {
            *withdrawn = Some(why.to_owned());
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        locked(&self.lines)
    }

    /// Carries out an order, after those about the same device that came before, and reports to the engine. `durable` is
    /// what the journal has to hold before anything is changed.
    ///
    /// # Errors
    /// There is no thread for it: what the engine has to be told, by the caller, who must not wait for room in the
    /// engine's queue.
    pub fn carry_out(&self, order: Order, durable: Durable, revision: u64) -> Result<(), Ended> {
        let (port, action, kind) = match &order {
            Order::Do(plan) => (plan.port, plan.id, OrderKind::Do),
            Order::Undo(undo) => (undo.port, undo.id, OrderKind::Undo),
        };
        let interrupted = interrupted(&order);
        let (journal, inputs, hook) = (Arc::clone(&self.journal), self.inputs.clone(), self.hook.clone());
        let plans = Arc::clone(&self.plans);
        if matches!(kind, OrderKind::Do) {
            locked(&plans).insert(action, None);
        }
        // A command of the operator changes nothing of the port and may take long: no order waits for it.
        let is_command = order.operations().iter().all(|op| matches!(op, Op::Exec(_)));
        let tell = {
            let plans = Arc::clone(&plans);
            move |report| {
                locked(&plans).remove(&action);
                // The engine is gone only when the agent ends.
                let _ = inputs.send(Input::Outcome(Ended { action, report }));
            }
        };
        let line = self.lines().get(&port).cloned();
        let work: Box<dyn FnOnce() + Send> = match line.clone() {
            Some(line) => {
                let job: Job = Box::new(move |station| {
                    let withdrawn = || locked(&plans).get(&action).cloned().flatten();
                    let done = catch_unwind(AssertUnwindSafe(|| {
                        carry_out(station, order, (&journal, &durable, revision), &hook, &withdrawn)
                    }));
                    tell(done.unwrap_or(interrupted));
                });
                if is_command {
                    Box::new(move || job(&line.station()))
                } else {
                    match line.push(job) {
                        Next::WorkOff => Box::new(move || line.work_off()),
                        Next::Nothing => return Ok(()),
                    }
                }
            }
            None => Box::new(move || tell(failed(kind, "the port cannot be reached"))),
        };
        thread::Builder::new().name(format!("act-{}", port.0)).spawn(work).map(drop).map_err(|error| {
            line.iter().filter(|_| !is_command).for_each(|line| line.give_up());
            locked(&self.plans).remove(&action);
            Ended { action, report: failed(kind, &format!("no thread: {error}")) }
        })
    }
}

/// What another thread has panicked over is whole: each change of these is one step.
fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often one who waits looks whether the agent is about to end.
const WAIT_LOOK: Duration = Duration::from_millis(10);

/// Waits until then, or not much longer if the agent is about to end: what a wait is for is not worth a change that
/// stays.
fn wait(until: MonoTime, stop: &CancellationToken) {
    loop {
        let left = until.since(clock::now());
        thread::sleep(left.min(WAIT_LOOK));
        if left <= WAIT_LOOK || stop.is_cancelled() {
            return;
        }
    }
}

/// The outcome of an order that was not begun.
fn failed(kind: OrderKind, reason: &str) -> Report {
    let outcome = match kind {
        OrderKind::Undo => Outcome::Undone(UndoResult::Failed),
        OrderKind::Do => Outcome::Acted { result: ActionResult::Failed, put_back: PutBack::NotNeeded },
    };
    Report::new(outcome, Some(reason.to_owned()))
}

/// The outcome of an order that a fault of our own has interrupted: nobody knows how far it came, so that everything it may
/// have changed stays owed.
fn interrupted(order: &Order) -> Report {
    let outcome = match order {
        Order::Undo(_) => Outcome::Undone(UndoResult::Failed),
        Order::Do(plan) => {
            let put_back = if plan.undo.is_empty() { PutBack::NotNeeded } else { PutBack::Failed };
            Outcome::Acted { result: ActionResult::Failed, put_back }
        }
    };
    Report::new(outcome, Some("a fault of the agent's own has interrupted it".into()))
}

fn carry_out(
    station: &Mutex<Station>,
    order: Order,
    (journal, durable, revision): (&Mutex<Journal>, &Durable, u64),
    hook: &Hook,
    withdrawn: Withdrawn<'_>,
) -> Report {
    let targets = match &order {
        Order::Do(plan) => plan.targets.clone(),
        Order::Undo(_) => Vec::new(),
    };
    let machine = Arc::clone(&locked(station).machine);
    let counters = || locked(station).counters(&targets);
    let persist = || {
        let mut journal = locked(journal);
        journal.store(durable, revision).map_err(|error| with_causes(&error))
    };
    drive(order, machine.as_ref(), persist, counters, (hook, withdrawn))
}

/// Does what the rules of the order ask for, step by step, until they have nothing more to ask.
fn drive(
    order: Order,
    machine: &dyn Machine,
    mut persist: impl FnMut() -> Result<(), String>,
    mut counters: impl FnMut() -> Result<Vec<TargetCounters>, String>,
    (hook, withdrawn): (&Hook, Withdrawn<'_>),
) -> Report {
    let (about, stop) = (order.operations(), &hook.stop);
    let action = match &order {
        Order::Do(plan) => plan.id,
        Order::Undo(undo) => undo.id,
    };
    let mut execution = Execution::new(order);
    let mut answer = Answer::Start;
    loop {
        let ends = stop.is_cancelled().then(|| "the agent is about to end".to_owned());
        if let Some(why) = ends.or_else(withdrawn) {
            execution.withdraw(why);
        }
        answer = match execution.next(clock::now(), answer) {
            Step::Done(report) => return report,
            Step::Persist => Answer::Persisted(persist()),
            Step::ReadCounters => Answer::Counters(counters()),
            Step::ReadConfig => Answer::Config(machine.config(&about)),
            Step::Apply(Op::Exec(call)) => Answer::Applied(hook.run(action, &call)),
            Step::Apply(op) => Answer::Applied(machine.apply(&op)),
            Step::Wait(until) => {
                wait(until, stop);
                Answer::Waited
            }
        };
    }
}

impl Station {
    /// A fresh reading of the counters that a plan is about.
    fn counters(&mut self, targets: &[Target]) -> Result<Vec<TargetCounters>, String> {
        let driver = drivers::for_driver(&self.driver);
        let source = self.source.as_mut().ok_or("its counters cannot be read")?;
        let names = source.names().map_err(|error| error.to_string())?;
        let binding = Binding::new(driver, &names);
        let (mut raw, mut values) = (Vec::new(), Vec::new());
        let began = clock::now();
        source.read(&mut raw).map_err(|error| error.to_string())?;
        let at = began + clock::now().since(began) / 2;
        binding.pick(&raw, &mut values).map_err(|error| error.to_string())?;
        let value =
            |slot| binding.layout().iter().position(|bound| bound.slot == slot).map(|place| values[place]);
        let packets = |target: &Target| match (target.queue, driver.caps.priority_packets) {
            (_, PacketScope::None) => None,
            (Queue::Priority(_), _) => value(PauseSlots::of(target.queue, target.direction).packets),
            (Queue::Global, _) => Priority::ALL
                .into_iter()
                .map(|p| value(PauseSlots::of(Queue::Priority(p), target.direction).packets))
                .try_fold(0u64, |sum, packets| Some(sum.wrapping_add(packets?))),
        };
        let of = |target: &Target| TargetCounters {
            at,
            pause_native: value(PauseSlots::of(target.queue, target.direction).time),
            packets: packets(target),
        };
        Ok(targets.iter().map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, sync_channel};

    use rocewatch_core::action::{ActionKind, Disruption, ExecCall, Plan, Purpose, Undo, UndoOp};
    use rocewatch_core::ids::ActionId;
    use rocewatch_core::units::{Direction, PriorityMask};

    use super::*;
    use crate::sources::ReadError;

    const PORT: PortKey = PortKey(0);
    const THREE: PriorityMask = PriorityMask(0b1000);

    /// A port whose mask can be switched.
    struct Mask(Mutex<PriorityMask>);

    /// A port at which everything that is set ends in a fault of ours.
    struct Faulty;

    impl Machine for Faulty {
        fn config(&self, _about: &[Op]) -> Result<PortConfig, String> {
            Ok(PortConfig { pfc: Some(THREE), ..PortConfig::default() })
        }

        fn apply(&self, op: &Op) -> Result<(), String> {
            panic!("{op}")
        }
    }

    impl Machine for Mask {
        fn config(&self, _about: &[Op]) -> Result<PortConfig, String> {
            Ok(PortConfig { pfc: Some(*locked(&self.0)), ..PortConfig::default() })
        }

        fn apply(&self, op: &Op) -> Result<(), String> {
            let mut mask = locked(&self.0);
            if let Op::PfcDisable(off) = op {
                *mask = mask.minus(*off);
            }
            if let Op::PfcEnable(on) = op {
                *mask = mask.union(*on);
            }
            Ok(())
        }
    }

    /// Packets of every priority, each of them near the end of its counter.
    struct Ending;

    impl Source for Ending {
        fn names(&mut self) -> Result<Vec<String>, ReadError> {
            Ok((0..8).map(|priority| format!("tx_prio{priority}_packets")).collect())
        }

        fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
            values.clear();
            values.resize(8, u64::MAX);
            Ok(())
        }
    }

    struct NoCounters;

    impl Source for NoCounters {
        fn names(&mut self) -> Result<Vec<String>, ReadError> {
            Ok(Vec::new())
        }

        fn read(&mut self, _values: &mut Vec<u64>) -> Result<(), ReadError> {
            Ok(())
        }
    }

    fn plan() -> Plan {
        Plan {
            id: ActionId(7),
            port: PORT,
            kind: ActionKind::PfcOff,
            purpose: Purpose::Test,
            disruption: Disruption::Priority,
            targets: Vec::new(),
            ops: vec![Op::PfcDisable(THREE)],
            undo: vec![Op::PfcEnable(THREE)],
            evidence_at: clock::now(),
            expires: MonoTime::MAX,
            refresh: Duration::ZERO,
            settles: Duration::ZERO,
            proof: Duration::ZERO,
            headroom: None,
        }
    }

    struct Bench {
        actuator: Actuator,
        machine: Arc<Mask>,
        told: Receiver<Input>,
        _folder: tempfile::TempDir,
    }

    fn bench(mask: PriorityMask) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(folder.path(), "boot").unwrap();
        let (inputs, told) = sync_channel(8);
        let actuator = Actuator::new(Arc::new(Mutex::new(journal)), inputs);
        let machine = Arc::new(Mask(Mutex::new(mask)));
        let source: Option<Box<dyn Source>> = Some(Box::new(NoCounters));
        actuator.add(PORT, Station { machine: machine.clone(), source, driver: "mlx5_core".into() });
        Bench { actuator, machine, told, _folder: folder }
    }

    impl Bench {
        /// The line of the port, with an order in it that nobody works off.
        fn busy_line(&self) -> Arc<Line> {
            let line = Arc::clone(&self.actuator.lines()[&PORT]);
            assert_eq!(line.push(Box::new(|_| ())), Next::WorkOff);
            line
        }

        /// Gives an order that waits for the one before it, and withdraws it meanwhile; what is reported.
        fn withdrawn_in_line(&self, order: Order) -> Report {
            let line = self.busy_line();
            self.order(order);
            self.actuator.withdraw(ActionId(7), "maintenance");
            line.work_off();
            self.reported()
        }

        fn order(&self, order: Order) {
            self.actuator.carry_out(order, Durable::default(), 0).unwrap();
        }

        fn reported(&self) -> Report {
            let told = self.told.recv().unwrap();
            let Input::Outcome(Ended { report, .. }) = told else { panic!("{told:?}") };
            report
        }
    }

    #[test]
    fn a_plan_that_is_withdrawn_while_it_waits_for_its_port_changes_nothing() {
        let bench = bench(THREE);
        let report = bench.withdrawn_in_line(Order::Do(plan()));
        let (result, put_back) = (ActionResult::Expired, PutBack::NotNeeded);
        let expired = Report::new(Outcome::Acted { result, put_back }, Some("maintenance".into()));
        assert_eq!(report, expired);
        assert_eq!(*locked(&bench.machine.0), THREE);
        assert!(locked(&bench.actuator.plans).is_empty());
    }

    #[test]
    fn packets_of_all_priorities_together_wrap_as_the_engine_has_them() {
        let source: Option<Box<dyn Source>> = Some(Box::new(Ending));
        let machine = Arc::new(Mask(Mutex::new(THREE)));
        let mut station = Station { machine, source, driver: "mlx5_core".into() };
        let (queue, direction) = (Queue::Global, Direction::Rx);
        let target = Target { queue, direction, pause_native: None, pause_scale: 1, packets: None };
        let packets = station.counters(&[target]).unwrap()[0].packets;
        assert_eq!(packets, Some(8u64.wrapping_neg()));
    }

    #[test]
    fn the_command_of_the_operator_does_not_wait_for_its_port() {
        let bench = bench(THREE);
        let _busy = bench.busy_line();
        let call =
            ExecCall { command: vec!["true".into()], timeout: Duration::from_secs(10), stdin: String::new() };
        let command = Plan { kind: ActionKind::Exec, ops: vec![Op::Exec(call)], undo: Vec::new(), ..plan() };
        bench.order(Order::Do(command));
        let Outcome::Acted { result, .. } = bench.reported().outcome else { panic!("it was a plan") };
        assert!(matches!(result, ActionResult::Ok | ActionResult::Unproven), "{result:?}");
    }

    #[test]
    fn an_order_that_a_fault_of_ours_interrupts_is_reported_and_what_it_may_have_changed_stays_owed() {
        let bench = bench(THREE);
        let source: Option<Box<dyn Source>> = Some(Box::new(NoCounters));
        bench.actuator.add(PORT, Station { machine: Arc::new(Faulty), source, driver: "mlx5_core".into() });
        bench.order(Order::Do(plan()));
        let owed = Outcome::Acted { result: ActionResult::Failed, put_back: PutBack::Failed };
        assert_eq!(bench.reported().outcome, owed);
        let done = Op::PfcDisable(THREE);
        let undo = Undo { ops: vec![UndoOp { done: Op::PfcEnable(THREE), op: done }], ..plan().as_undo() };
        bench.order(Order::Undo(undo));
        assert_eq!(bench.reported().outcome, Outcome::Undone(UndoResult::Failed));
        assert!(locked(&bench.actuator.plans).is_empty());
    }

    #[test]
    fn an_undo_that_waits_for_its_port_is_carried_out_whatever_is_withdrawn() {
        let bench = bench(PriorityMask(0));
        let report = bench.withdrawn_in_line(Order::Undo(plan().as_undo()));
        assert_eq!(report.outcome, Outcome::Undone(UndoResult::Done));
        assert_eq!(*locked(&bench.machine.0), THREE);
    }
}
