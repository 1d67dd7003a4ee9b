//! The loop: inputs in, effects out, and what it means for everybody else. It decides nothing.
//!
//! It runs on a thread of its own, so that no scrape and no client can make it late.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rocewatch_core::engine::Engine;
use rocewatch_core::event::Event;
use rocewatch_core::ids::PortKey;
use rocewatch_core::input::{Command, Effect, Input};
use rocewatch_core::snapshot::Snapshot;
use rocewatch_core::units::MonoTime;
use tokio::sync::watch;

use crate::actuate::{Actuator, Journal};
use crate::clock;
use crate::console::veto_words;
use crate::control::{Replies, Told};
use crate::guard::Asker;
use crate::inbox::Inbox;
use crate::recorder::Recorder;
use crate::sources::Poller;

/// Inputs that may wait for the engine: a reading of each of a hundred ports, with room for what they lead to.
pub const INPUTS_MAX: usize = 1024;
/// The page is never rendered more often than this, so neither is what it is rendered from.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);
/// The ages on the page go on even when nothing happens.
const PUBLISH_AT_LEAST: Duration = Duration::from_secs(1);
/// After a stop, the time the actuator has for its undos. A kernel that is slower keeps them in the journal, and the
/// next start takes them back.
const STOP_MAX: Duration = Duration::from_secs(45);
/// The journal is written at most so often for what is no plan; a plan writes it itself, first.
const JOURNAL_EVERY: Duration = Duration::from_millis(200);

/// A journal that could not be written is tried again so often.
const JOURNAL_RETRY: Duration = Duration::from_secs(1);

/// The pollers by port; discovery starts and ends them, the loop sets their pace.
pub type Pollers = Arc<Mutex<BTreeMap<PortKey, Poller>>>;

/// Where events go.
pub trait EventSink: Send {
    /// Takes one event.
    fn take(&mut self, event: &Arc<Event>);
}

/// What the loop hands its effects to.
pub struct Outlets {
    /// Carries out orders.
    pub actuator: Arc<Actuator>,
    /// Sets the pace of reading.
    pub pollers: Pollers,
    /// Writes the engine's memory.
    pub journal: Arc<Mutex<Journal>>,
    /// Writes down inputs and effects.
    pub recorder: Recorder,
    /// Gets every snapshot.
    pub snapshots: watch::Sender<Arc<Snapshot>>,
    /// Get every event, in this order.
    pub sinks: Vec<Box<dyn EventSink>>,
    /// Asks the fleet guard.
    pub guard: Asker,
    /// Those who wait for what comes of what they have asked for.
    pub replies: Replies,
}

/// The loop and all it owns.
pub struct Runtime {
    engine: Engine,
    inbox: Inbox,
    outlets: Outlets,
    published_at: MonoTime,
    dirty: bool,
    journalled_at: MonoTime,
    journalled: u64,
    /// As the engine was told.
    journal_writable: bool,
    stop_at: Option<MonoTime>,
}

impl Runtime {
    /// A loop around `engine`.
    #[must_use]
    pub fn new(engine: Engine, inputs: Receiver<Input>, outlets: Outlets) -> Self {
        let journal_writable = outlets.journal.lock().unwrap_or_else(PoisonError::into_inner).is_writable();
        Self {
            engine,
            inbox: Inbox::new(inputs),
            outlets,
            published_at: MonoTime::ZERO,
            dirty: true,
            journalled_at: MonoTime::ZERO,
            journalled: 0,
            journal_writable,
            stop_at: None,
        }
    }

    /// Runs until it was told to stop and everything is taken back.
    pub fn run(mut self) {
        loop {
            let wait = self.wait(clock::now());
            let Some((now, input)) = self.inbox.next(wait) else { break };
            if matches!(input, Input::Command(Command::Stop)) {
                self.stop_at = Some(clock::now() + STOP_MAX);
                self.outlets.actuator.stop();
            }
            self.take(now, input);
            self.publish();
            self.keep();
            if self.stop_at.is_some_and(|at| self.engine.is_settled() || clock::now() >= at) {
                break;
            }
        }
        self.published_at = MonoTime::ZERO;
        self.publish();
        // What was taken back last is not owed any more: the next start must not take it back again.
        self.journalled_at = MonoTime::ZERO;
        self.keep();
        self.outlets.recorder.finish();
    }

    /// How long nothing has to happen.
    fn wait(&self, now: MonoTime) -> Duration {
        let publish = if self.dirty { PUBLISH_EVERY } else { PUBLISH_AT_LEAST };
        let due = [Some(self.published_at + publish), self.engine.next_deadline(), self.stop_at];
        due.into_iter().flatten().min().map_or(PUBLISH_AT_LEAST, |at| at.since(now))
    }

    fn take(&mut self, now: MonoTime, input: Input) {
        let reply = if is_asked_for(&input) { self.outlets.replies.take() } else { Ok(None) };
        let Ok(reply) = reply else { return };
        self.outlets.recorder.before(now, &self.engine);
        let effects = self.engine.handle(now, &input);
        self.outlets.recorder.after(now, &input, &effects, &self.engine);
        self.dirty |= !effects.is_empty() || !matches!(input, Input::Tick);
        if let Some(reply) = reply {
            self.tell(&reply, &effects);
        }
        if let Input::Reading(reading) = input {
            self.with_poller(reading.port, |poller| poller.give_back(reading.values));
        }
        let mut refused = Vec::new();
        for effect in effects {
            match effect {
                Effect::Act(order) => {
                    let (durable, revision) = (self.engine.durable(), self.engine.durable_revision());
                    refused.extend(self.outlets.actuator.carry_out(*order, durable, revision).err());
                }
                Effect::Withdraw(action, veto) => {
                    self.outlets.actuator.withdraw(action, &format!("withdrawn: {}", veto_words(veto)));
                }
                Effect::Emit(event) => {
                    let event = Arc::from(event);
                    self.outlets.sinks.iter_mut().for_each(|sink| sink.take(&event));
                }
                Effect::Pace(port, interval) => {
                    self.with_poller(port, |poller| poller.set_interval(interval));
                }
                Effect::AskGuard => self.ask_guard(now),
            }
        }
        // An order that failed at once is tried again after a wait: this comes to an end.
        for ended in refused {
            self.take(now, Input::Outcome(ended));
        }
    }

    /// Tells whoever has asked for an input what came of it.
    fn tell(&self, reply: &SyncSender<Told>, effects: &[Effect]) {
        let told = |effect: &Effect| match effect {
            Effect::Emit(event) => Some((**event).clone()),
            Effect::Act(_) | Effect::Withdraw(..) | Effect::Pace(..) | Effect::AskGuard => None,
        };
        let events = effects.iter().filter_map(told).collect();
        // Nobody may be waiting any more.
        let _ = reply.try_send(Told { events, maintenance: self.engine.maintained().to_vec() });
    }

    /// A port whose reader has ended meanwhile has none.
    fn with_poller(&self, port: PortKey, then: impl FnOnce(&Poller)) {
        let pollers = self.outlets.pollers.lock().unwrap_or_else(PoisonError::into_inner);
        pollers.get(&port).map(then);
    }

    fn ask_guard(&self, now: MonoTime) {
        if let Some(guard) = &self.engine.settings().guard {
            self.outlets.guard.ask(guard.clone(), now);
        }
    }

    fn publish(&mut self) {
        let now = clock::now();
        let every = if self.dirty { PUBLISH_EVERY } else { PUBLISH_AT_LEAST };
        if now.since(self.published_at) >= every {
            self.outlets.snapshots.send_replace(Arc::new(self.engine.snapshot(now)));
            self.published_at = now;
            self.dirty = false;
        }
    }

    /// Writes the engine's memory when it has changed, and tries again where that has failed.
    fn keep(&mut self) {
        let revision = self.engine.durable_revision();
        let now = clock::now();
        let every = if self.journal_writable { JOURNAL_EVERY } else { JOURNAL_RETRY };
        let wanted = revision != self.journalled || !self.journal_writable;
        if !wanted || now.since(self.journalled_at) < every {
            return;
        }
        let mut journal = self.outlets.journal.lock().unwrap_or_else(PoisonError::into_inner);
        if !journal.is_ours() {
            return;
        }
        self.journalled_at = now;
        let stored = journal.store(&self.engine.durable(), revision);
        drop(journal);
        let writable = stored.is_ok();
        if writable {
            self.journalled = revision;
        }
        if std::mem::replace(&mut self.journal_writable, writable) != writable {
            match stored {
                Ok(()) => tracing::info!("the journal can be written again"),
                Err(error) => tracing::error!(%error, "the journal cannot be written"),
            }
            self.take(now, Input::JournalWritable(writable));
        }
    }
}

/// Whether an input comes from the operator, who waits for what comes of it.
const fn is_asked_for(input: &Input) -> bool {
    match input {
        Input::Maintenance(_)
        | Input::Reconfigure(_)
        | Input::Command(Command::Ack { .. } | Command::TestStorm { .. }) => true,
        Input::Bound(_)
        | Input::Reading(_)
        | Input::ReadFailed(_)
        | Input::Link(_)
        | Input::Dcb(_)
        | Input::Pause(_)
        | Input::Health(_)
        | Input::Route(_)
        | Input::Nvmf(_)
        | Input::GuardAnswer(_)
        | Input::Outcome(_)
        | Input::Command(Command::Stop)
        | Input::Gone(_)
        | Input::Journal(_)
        | Input::JournalWritable(_)
        | Input::Tick => false,
    }
}
