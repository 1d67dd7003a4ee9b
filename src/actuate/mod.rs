//! The only part that changes the machine. It carries out orders of the engine, step by step, each order on a
//! thread of its own, and reports what became of them. It decides nothing.

mod exec;
mod hook;
mod journal;
mod restore;
mod spool;

pub(crate) use journal::replace;
pub use journal::{Journal, JournalError, Stored};
pub use restore::{RestoreEnd, Restored, restore};
pub use spool::{WorkerError, work as work_off};

use std::collections::BTreeMap;
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
use rocewatch_core::ids::PortKey;
use rocewatch_core::input::{Ended, Input};
use rocewatch_core::units::{MonoTime, Priority, Queue};
use tokio_util::sync::CancellationToken;

use hook::Hook;

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
    /// Reads the counters, apart from the poller, which may be in the middle of a read.
    pub source: Box<dyn Source>,
    /// The port's driver.
    pub driver: String,
}

/// Which outcome an order wants.
#[derive(Clone, Copy)]
enum OrderKind {
    Do,
    Undo,
}

type Stations = BTreeMap<PortKey, Arc<Mutex<Station>>>;

/// The actuator.
pub struct Actuator {
    stations: Mutex<Stations>,
    journal: Arc<Mutex<Journal>>,
    inputs: SyncSender<Input>,
    hook: Hook,
}

impl Actuator {
    /// An actuator that knows no port yet.
    #[must_use]
    pub fn new(journal: Arc<Mutex<Journal>>, inputs: SyncSender<Input>) -> Self {
        Self { stations: Mutex::default(), journal, inputs, hook: Hook::default() }
    }

    /// The same, with the operator's command run by a worker that works off the folder at `spool`, if there is one.
    /// `procfs` tells which boot this is.
    #[must_use]
    pub fn with_spool(self, spool: Option<&Path>, procfs: &Path) -> Self {
        Self { hook: Hook::new(spool, procfs), ..self }
    }

    /// Makes a port known.
    pub fn add(&self, port: PortKey, station: Station) {
        self.stations().insert(port, Arc::new(Mutex::new(station)));
    }

    /// Forgets a port.
    pub fn remove(&self, port: PortKey) {
        self.stations().remove(&port);
    }

    /// Ends the commands of the operator that run, and those that are still to begin: nothing has to be taken back
    /// after them.
    pub fn stop(&self) {
        self.hook.stop.cancel();
    }

    fn stations(&self) -> MutexGuard<'_, Stations> {
        self.stations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out an order and reports to the engine. `durable` is what the journal has to hold before anything is
    /// changed.
    pub fn carry_out(&self, order: Order, durable: Durable, revision: u64) {
        let (port, action, kind) = match &order {
            Order::Do(plan) => (plan.port, plan.id, OrderKind::Do),
            Order::Undo(undo) => (undo.port, undo.id, OrderKind::Undo),
        };
        let station = self.stations().get(&port).cloned();
        let (journal, inputs, hook) = (Arc::clone(&self.journal), self.inputs.clone(), self.hook.clone());
        let work = move || {
            let report = match station {
                Some(station) => {
                    let mut station = station.lock().unwrap_or_else(PoisonError::into_inner);
                    carry_out(&mut station, order, (&journal, &durable, revision), &hook)
                }
                None => failed(kind, "the port cannot be reached"),
            };
            // The engine is gone only when the agent ends.
            let _ = inputs.send(Input::Outcome(Ended { action, report }));
        };
        if let Err(error) = thread::Builder::new().name(format!("act-{}", action.0)).spawn(work) {
            // The engine must not wait for room in its own queue; it has just taken something out of it.
            let report = failed(kind, &format!("no thread: {error}"));
            let outcome = Input::Outcome(Ended { action, report });
            if self.inputs.try_send(outcome).is_err() {
                tracing::error!(action = action.0, %error, "no thread for an order, and no room to say so");
            }
        }
    }
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

fn carry_out(
    station: &mut Station,
    order: Order,
    (journal, durable, revision): (&Mutex<Journal>, &Durable, u64),
    hook: &Hook,
) -> Report {
    let targets = match &order {
        Order::Do(plan) => plan.targets.clone(),
        Order::Undo(_) => Vec::new(),
    };
    let machine = Arc::clone(&station.machine);
    let persist = || {
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.store(durable, revision).map_err(|error| with_causes(&error))
    };
    drive(order, machine.as_ref(), persist, || station.counters(&targets), hook)
}

/// Does what the rules of the order ask for, step by step, until they have nothing more to ask.
fn drive(
    order: Order,
    machine: &dyn Machine,
    mut persist: impl FnMut() -> Result<(), String>,
    mut counters: impl FnMut() -> Result<Vec<TargetCounters>, String>,
    hook: &Hook,
) -> Report {
    let (about, stop) = (order.operations(), &hook.stop);
    let action = match &order {
        Order::Do(plan) => plan.id,
        Order::Undo(undo) => undo.id,
    };
    // A plan that has changed nothing yet is not begun any more when the agent is about to end.
    let mut may_begin = matches!(order, Order::Undo(_));
    let mut execution = Execution::new(order);
    let mut answer = Answer::Start;
    loop {
        answer = match execution.next(clock::now(), answer) {
            Step::Done(report) => return report,
            Step::Persist => Answer::Persisted(persist()),
            Step::ReadCounters => Answer::Counters(counters()),
            Step::ReadConfig => Answer::Config(machine.config(&about)),
            Step::Apply(Op::Exec(call)) => Answer::Applied(hook.run(action, &call)),
            Step::Apply(_) if !may_begin && stop.is_cancelled() => {
                Answer::Applied(Err("the agent is about to end".into()))
            }
            Step::Apply(op) => {
                may_begin = true;
                Answer::Applied(machine.apply(&op))
            }
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
        let names = self.source.names().map_err(|error| error.to_string())?;
        let binding = Binding::new(driver, &names);
        let (mut raw, mut values) = (Vec::new(), Vec::new());
        let began = clock::now();
        self.source.read(&mut raw).map_err(|error| error.to_string())?;
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
                .sum(),
        };
        let of = |target: &Target| TargetCounters {
            at,
            pause_native: value(PauseSlots::of(target.queue, target.direction).time),
            packets: packets(target),
        };
        Ok(targets.iter().map(of).collect())
    }
}
