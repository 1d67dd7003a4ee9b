//! Answers requests: turns them into inputs of the engine, and what the engine tells about them into words.

use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rocewatch_core::action::{Op, Purpose};
use rocewatch_core::event::{EventKind, TestRefusal};
use rocewatch_core::ids::PortKey;
use rocewatch_core::input::{Command, Input, Maintenance, TestDepth};
use rocewatch_core::snapshot::{PortView, Snapshot};
use rocewatch_core::units::{Direction, Queue};
use tokio::sync::watch;

use super::line::{Replies, Told};
use super::message::{Answer, Depth, MAINTENANCE_MAX, Request};
use super::status::{Status, queue_name};
use super::{MaintenanceFile, Reload};
use crate::clock;
use crate::config::span_text;
use crate::console::veto_words;

/// The engine answers within a loop of its own; one that does not is stuck.
const ENGINE_TIME: Duration = Duration::from_secs(5);

/// See the module.
pub struct Desk {
    /// Where inputs go.
    pub inputs: SyncSender<Input>,
    /// Who waits for what comes of them.
    pub replies: Replies,
    /// The node.
    pub snapshots: watch::Receiver<Arc<Snapshot>>,
    /// Where maintenance is kept for the next start. Held while it is changed, so that the file is of the last change.
    pub maintenance: Mutex<Option<MaintenanceFile>>,
    /// Reads the configuration again. Held until the engine has taken it, so that what was read last is in force.
    pub reload: Mutex<Reload>,
}

impl Desk {
    /// Answers the user `uid`.
    pub(super) fn answer(&self, request: &Request, uid: u32) -> Answer {
        let snapshot = Arc::clone(&self.snapshots.borrow());
        let answer = match request {
            Request::Status => Ok(Answer::Status(Box::new(Status::new(&snapshot, clock::now())))),
            Request::Ack { netdev, priority, direction } => {
                port(&snapshot, netdev).and_then(|port| self.ack(port, *priority, *direction))
            }
            Request::MaintenanceOn { netdev, seconds } => {
                self.begin_maintenance(&snapshot, netdev.as_deref(), Duration::from_secs(*seconds), uid)
            }
            Request::MaintenanceOff { netdev } => self.end_maintenance(&snapshot, netdev.as_deref(), uid),
            Request::Reload => Ok(self.reload()),
            Request::TestStorm { netdev, priority, direction, depth } => {
                port(&snapshot, netdev).and_then(|port| self.test(port, *priority, *direction, *depth))
            }
        };
        answer.unwrap_or_else(|not_done| not_done)
    }

    /// Reads the configuration again and puts it in force.
    pub fn reload(&self) -> Answer {
        let reload = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        let accepted = match reload.read() {
            Ok(accepted) => accepted,
            Err(problems) => {
                for problem in &problems {
                    tracing::warn!(problem, "the configuration is refused: the one in force stays");
                }
                return Answer::Refused(problems);
            }
        };
        match self.ask(Input::Reconfigure(Box::new(accepted.settings.clone()))) {
            Ok(told) => {
                reload.took(&accepted);
                let changed = told.events.iter().any(|e| matches!(e.kind, EventKind::Reconfigured { .. }));
                let first = if changed { "reloaded" } else { "reloaded: no setting has changed" };
                for line in &accepted.lines {
                    tracing::warn!("{line}");
                }
                let lines = std::iter::once(first.to_owned()).chain(accepted.lines);
                Answer::Done(lines.collect())
            }
            Err(not_done) => not_done,
        }
    }

    /// Tells the engine, and waits for what it tells.
    fn ask(&self, input: Input) -> Result<Told, Answer> {
        self.replies.send(&self.inputs, input).map_err(Answer::refused)?.told(ENGINE_TIME)
    }

    fn ack(&self, port: &PortView, queue: Queue, direction: Option<Direction>) -> Result<Answer, Answer> {
        let key = port.key;
        let told = self.ask(Input::Command(Command::Ack { port: key, queue, direction }))?;
        let netdev = &port.identity.netdev;
        let acknowledged = told.events.iter().filter(|event| matches!(event.kind, EventKind::Acknowledged));
        let lines = acknowledged.filter_map(|event| {
            let direction = event.place.direction.filter(|_| event.place.port == Some(key))?;
            Some(format!("{netdev} {} {direction}: acknowledged", queue_name(queue)))
        });
        let lines = lines.collect::<Vec<_>>();
        if !lines.is_empty() {
            return Ok(Answer::Done(lines));
        }
        let meant = |direction: Direction, wanted: Option<Direction>| wanted.is_none_or(|w| w == direction);
        let phases = port.queues.iter().filter(|q| q.queue == queue && meant(q.direction, direction));
        let phases = phases.map(|queue| format!("{} is {}", queue.direction, queue.phase.label()));
        let phases = phases.collect::<Vec<_>>().join(", ");
        let queue = queue_name(queue);
        let what = format!("nothing to acknowledge, expected locked or undo_failed: {phases}");
        Err(Answer::refused(format!("{netdev} {queue}: {what}")))
    }

    fn begin_maintenance(
        &self,
        snapshot: &Snapshot,
        netdev: Option<&str>,
        span: Duration,
        uid: u32,
    ) -> Result<Answer, Answer> {
        if span.is_zero() || span > MAINTENANCE_MAX {
            let (span, max) = (span_text(span), span_text(MAINTENANCE_MAX));
            let what = format!("maintenance for {span}: expected more than nothing and at most {max}");
            return Err(Answer::refused(what));
        }
        let key = key_of(snapshot, netdev)?;
        let until = Some(clock::now() + span);
        let file = self.maintenance.lock().unwrap_or_else(PoisonError::into_inner);
        let told = self.ask(Input::Maintenance(Maintenance { port: key, until, by: Some(uid) }))?;
        let mut lines = vec![format!("{} in maintenance for {}", whose(netdev), span_text(span))];
        lines.extend(keep_maintenance(file.as_ref(), &told));
        Ok(Answer::Done(lines))
    }

    fn end_maintenance(&self, snapshot: &Snapshot, netdev: Option<&str>, uid: u32) -> Result<Answer, Answer> {
        let key = key_of(snapshot, netdev)?;
        let file = self.maintenance.lock().unwrap_or_else(PoisonError::into_inner);
        let told = self.ask(Input::Maintenance(Maintenance { port: key, until: None, by: Some(uid) }))?;
        let ended = told.events.iter().any(|e| matches!(e.kind, EventKind::MaintenanceEnded { .. }));
        let all = told.maintenance.iter().any(|kept| kept.port.is_none());
        if !ended {
            let hint = if all { ": all ports are, end it without a name" } else { "" };
            return Err(Answer::refused(format!("{} not in maintenance{hint}", whose(netdev))));
        }
        let mut lines = vec![format!("{} no longer in maintenance", whose(netdev))];
        if all {
            lines.push("all ports are still in maintenance: end it without a name".into());
        }
        lines.extend(keep_maintenance(file.as_ref(), &told));
        Ok(Answer::Done(lines))
    }

    fn test(
        &self,
        port: &PortView,
        queue: Queue,
        direction: Direction,
        depth: Depth,
    ) -> Result<Answer, Answer> {
        let engine_depth = match depth {
            Depth::Plan => TestDepth::Plan,
            Depth::Act => TestDepth::Act,
        };
        let command = Command::TestStorm { port: port.key, queue, direction, depth: engine_depth };
        let told = self.ask(Input::Command(command))?;
        let place = format!("{} {} {direction}", port.identity.netdev, queue_name(queue));
        let own = told.events.iter().filter(|event| event.place.port == Some(port.key));
        let nothing = || Answer::refused(format!("{place}: the agent is about to end, or the port is gone"));
        own.filter_map(|event| outcome(&event.kind, &place, port, depth))
            .next()
            .unwrap_or_else(|| Err(nothing()))
    }
}

/// Writes maintenance down for the next start; says what is wrong if it cannot.
fn keep_maintenance(file: Option<&MaintenanceFile>, told: &Told) -> Option<String> {
    let file = file?;
    let error = file.write(&told.maintenance).err()?;
    let path = file.path().display();
    tracing::warn!(%error, %path, "maintenance is not kept for the next start");
    Some(format!("it is not kept for the next start of the agent: write {path}: {error}"))
}

/// What an event says about a test.
fn outcome(event: &EventKind, place: &str, port: &PortView, depth: Depth) -> Option<Result<Answer, Answer>> {
    if let EventKind::TestRefused { reason } = event {
        let why = refusal_words(reason, port);
        return Some(Err(Answer::refused(format!("{place}: no test: {why}"))));
    }
    if let EventKind::ActionVetoed { kind, purpose: Purpose::Test, reason } = event {
        let veto = format!("{place}: {kind} is vetoed as {}: {}", reason.label(), veto_words(*reason));
        return Some(match depth {
            Depth::Plan => Ok(Answer::done(veto)),
            Depth::Act => Err(Answer::refused(veto)),
        });
    }
    let EventKind::ActionPlanned { action, kind, purpose: Purpose::Test, ops, undo } = event else {
        return None;
    };
    let words = |ops: &[Op]| {
        let words = ops.iter().map(ToString::to_string).collect::<Vec<_>>();
        if words.is_empty() { "nothing".into() } else { words.join(", then ") }
    };
    let last = match depth {
        Depth::Plan => "nothing was changed",
        Depth::Act => "it is carried out now, held, and taken back: see `rocewatch ctl status`",
    };
    Some(Ok(Answer::Done(vec![
        format!("{place}: {kind}, as action {}", action.0),
        format!("  does: {}", words(ops)),
        format!("  undo: {}", words(undo)),
        last.into(),
    ])))
}

fn refusal_words(reason: &TestRefusal, port: &PortView) -> String {
    match reason {
        TestRefusal::NotWatched => {
            let watched = port.queues.iter().filter(|queue| queue.watched);
            let watched = watched.map(|queue| format!("{} {}", queue.queue, queue.direction));
            format!("it is not watched: watched are {}", list(watched))
        }
        TestRefusal::NoAction => {
            "its ladder has nothing but alerts: expected an action in watchdog.actions".into()
        }
        TestRefusal::Phase(phase) => format!("it is {}: expected healthy", phase.0),
        TestRefusal::Mode(mode) => format!("watchdog.mode is {}: expected enforce", mode.label()),
        TestRefusal::NotInMaintenance => format!(
            "the port is not in maintenance by its name: first `rocewatch ctl maintenance on {} --for 10m`",
            port.identity.netdev
        ),
    }
}

fn whose(netdev: Option<&str>) -> String {
    netdev.map_or_else(|| "all ports:".into(), |netdev| format!("{netdev}:"))
}

fn port<'a>(snapshot: &'a Snapshot, netdev: &str) -> Result<&'a PortView, Answer> {
    let found = snapshot.ports.iter().find(|port| port.identity.netdev == netdev);
    found.ok_or_else(|| {
        let watched = snapshot.ports.iter().map(|port| port.identity.netdev.clone());
        Answer::refused(format!("no port named {netdev}: watched are {}", list(watched)))
    })
}

fn key_of(snapshot: &Snapshot, netdev: Option<&str>) -> Result<Option<PortKey>, Answer> {
    netdev.map(|netdev| port(snapshot, netdev).map(|port| port.key)).transpose()
}

fn list(names: impl Iterator<Item = String>) -> String {
    let names = names.collect::<Vec<_>>();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::thread;

    use rocewatch_core::settings::Mode;

    use super::*;
    use crate::config::Config;
    use crate::privileges::Ports;

    #[test]
    fn a_reload_begins_when_the_one_before_it_is_done() {
        let (began, begun) = sync_channel(2);
        let begun = Mutex::new(begun);
        let load = Box::new(move || {
            began.send(()).unwrap();
            let others = begun.lock().unwrap();
            others.recv().unwrap();
            // Time for the other one to come in between, if anything lets it.
            assert!(others.recv_timeout(Duration::from_millis(200)).is_err(), "another one has begun");
            Ok(Config::default())
        });
        let (inputs, _) = sync_channel(1);
        let start = (Config::default(), Mode::Observe, Ports::Imitated);
        let desk = Desk {
            inputs,
            replies: Replies::default(),
            snapshots: watch::channel(Arc::default()).1,
            maintenance: Mutex::new(None),
            reload: Mutex::new(Reload::new(load, start, Arc::default())),
        };
        let ending = Answer::refused("the agent is about to end");
        thread::scope(|scope| {
            for reload in [scope.spawn(|| desk.reload()), scope.spawn(|| desk.reload())] {
                assert_eq!(reload.join().unwrap(), ending);
            }
        });
    }
}
