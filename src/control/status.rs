//! The node in short, for a person in a hurry and for the hooks of a scheduler. Made from the newest snapshot.

use std::time::Duration;

use rocewatch_core::phase::Phase;
use rocewatch_core::settings::Mode;
use rocewatch_core::snapshot::{PortView, QueueView, Snapshot};
use rocewatch_core::units::{Direction, MonoTime, Queue};
use serde::{Deserialize, Serialize};

/// A loop that lives makes a snapshot every second. One this old shows a node of the past.
const SNAPSHOT_AGE_MAX: Duration = Duration::from_secs(10);

/// What to make of it; also the exit status of `rocewatch ctl status --check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All is well.
    Healthy,
    /// Something to look at.
    Look,
    /// Something that does not end without a person.
    Person,
}

/// The node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The agent's version.
    pub version: String,
    /// What to make of it.
    pub verdict: Verdict,
    /// Why it is not healthy, the worst first.
    pub reasons: Vec<String>,
    /// The mode.
    pub mode: Mode,
    /// Whether the journal can be written.
    pub journal_writable: bool,
    /// Maintenance of all ports.
    pub maintenance: Maintenance,
    /// Actions left for the node in this hour.
    pub budget_remaining: u32,
    /// Actions whose undo is owed.
    pub undos_pending: u32,
    /// The ports.
    pub ports: Vec<PortStatus>,
}

/// Whether there is maintenance, and how long it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Maintenance {
    /// There is none.
    Off,
    /// It ends in so many seconds.
    RemainingSeconds(u64),
    /// It lasts until somebody ends it: the file that says how long cannot be read.
    UntilEnded,
}

/// One port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortStatus {
    /// Its name.
    pub netdev: String,
    /// Its RDMA device; empty if it has none.
    pub device: String,
    /// Whether it has a carrier; none if the kernel does not tell.
    pub carrier: Option<bool>,
    /// Why it cannot be judged.
    pub blind: Option<String>,
    /// Its own maintenance.
    pub maintenance: Maintenance,
    /// Actions left for it in this hour.
    pub budget_remaining: u32,
    /// Until an action can be planned again.
    pub hold_off_seconds: u64,
    /// Queues that are watched.
    pub watched: u32,
    /// Those of them that are not healthy.
    pub queues: Vec<QueueStatus>,
}

/// One queue that is not healthy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueStatus {
    /// The queue.
    pub priority: Queue,
    /// The direction.
    pub direction: Direction,
    /// Its phase.
    pub phase: String,
    /// Whether the action in force is a test.
    pub test: bool,
    /// Until the phase ends by itself, as things stand.
    pub remaining_seconds: Option<u64>,
}

impl Status {
    /// The node as `snapshot` has it, at `now`.
    #[must_use]
    pub fn new(snapshot: &Snapshot, now: MonoTime) -> Self {
        let ports = snapshot.ports.iter().map(|port| PortStatus::new(port, now)).collect::<Vec<_>>();
        let mut found = Vec::new();
        let age = now.since(snapshot.at);
        if age > SNAPSHOT_AGE_MAX {
            found.push((Verdict::Person, format!("nothing was decided for {} s", age.as_secs())));
        }
        found.extend(snapshot.ports.iter().flat_map(findings));
        if snapshot.maintenance {
            found.push((Verdict::Look, "all ports are in maintenance".into()));
        }
        if snapshot.mode == Mode::Off {
            found.push((Verdict::Look, "the watchdog is off".into()));
        }
        if snapshot.mode == Mode::Enforce && !snapshot.journal_writable {
            found.push((
                Verdict::Look,
                "the journal cannot be written: nothing that needs an undo is done".into(),
            ));
        }
        if !ports.iter().any(|port| port.watched > 0) {
            found.push((Verdict::Look, "no queue is watched".into()));
        }
        // A stable sort: within a verdict the ports stay in their order.
        found.sort_by_key(|(verdict, _)| std::cmp::Reverse(*verdict));
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            verdict: found.first().map_or(Verdict::Healthy, |(verdict, _)| *verdict),
            reasons: found.into_iter().map(|(_, reason)| reason).collect(),
            mode: snapshot.mode,
            journal_writable: snapshot.journal_writable,
            maintenance: Maintenance::until(snapshot.maintenance_until, now),
            budget_remaining: snapshot.budget_remaining,
            undos_pending: snapshot.undos_pending,
            ports,
        }
    }
}

impl Maintenance {
    fn until(until: Option<MonoTime>, now: MonoTime) -> Self {
        match until {
            Some(MonoTime::MAX) => Self::UntilEnded,
            Some(until) if until > now => Self::RemainingSeconds(seconds(until, now)),
            Some(_) | None => Self::Off,
        }
    }
}

impl PortStatus {
    fn new(view: &PortView, now: MonoTime) -> Self {
        let watched = || view.queues.iter().filter(|queue| queue.watched);
        let shown = view.queues.iter().filter(|queue| is_shown(queue));
        Self {
            netdev: view.identity.netdev.clone(),
            device: view.identity.device.clone(),
            carrier: view.link.carrier,
            blind: view.blind.filter(|_| watched().next().is_some()).map(|gap| gap.label().to_owned()),
            maintenance: Maintenance::until(view.maintenance_until, now),
            budget_remaining: view.budget_remaining,
            hold_off_seconds: view.hold_off_until.map_or(0, |until| seconds(until, now)),
            watched: watched().count() as u32,
            queues: shown.map(|queue| QueueStatus::new(queue, now)).collect(),
        }
    }
}

impl QueueStatus {
    fn new(view: &QueueView, now: MonoTime) -> Self {
        Self {
            priority: view.queue,
            direction: view.direction,
            phase: view.phase.label().into(),
            test: view.phase.is_test(),
            remaining_seconds: view.phase.ends_at().map(|at| seconds(at, now)),
        }
    }
}

/// A queue that is watched and not healthy, or that owes something although nobody watches it any more: with its bit
/// taken out of the mask by ourselves it is not watched.
fn is_shown(queue: &QueueView) -> bool {
    match queue.phase {
        Phase::Healthy => false,
        Phase::Suspect | Phase::Suspended(_) | Phase::Probation(_) => queue.watched,
        Phase::Storm(_)
        | Phase::Testing(_)
        | Phase::Mitigated(_)
        | Phase::Undoing(_)
        | Phase::UndoFailed(_)
        | Phase::Locked(_) => true,
    }
}

/// What of a port is not healthy. `docs/control.md` has the same list.
fn findings(port: &PortView) -> Vec<(Verdict, String)> {
    let netdev = &port.identity.netdev;
    let mut found = Vec::new();
    for queue in &port.queues {
        let (verdict, what) = match queue.phase {
            Phase::UndoFailed(_) => (Verdict::Person, "an action could not be undone"),
            Phase::Storm(_) => (Verdict::Look, "is in a storm"),
            Phase::Testing(_) => (Verdict::Look, "is being tested"),
            Phase::Mitigated(mitigated) if mitigated.purpose.is_storm() => {
                (Verdict::Look, "has an action in force")
            }
            Phase::Mitigated(_) => (Verdict::Look, "has a test in force"),
            Phase::Undoing(_) => (Verdict::Look, "has an action that is being undone"),
            Phase::Locked(_) => (Verdict::Look, "is locked: no more actions"),
            Phase::Healthy | Phase::Suspect | Phase::Probation(_) | Phase::Suspended(_) => continue,
        };
        found.push((verdict, format!("{netdev} {} {}: {what}", queue_name(queue.queue), queue.direction)));
    }
    if let Some(gap) = port.blind.filter(|_| port.queues.iter().any(|queue| queue.watched)) {
        found.push((Verdict::Look, format!("{netdev} cannot be judged: {}", gap.label())));
    }
    if port.maintenance_until.is_some() {
        found.push((Verdict::Look, format!("{netdev} is in maintenance")));
    }
    found
}

/// A queue as a person calls it.
pub(crate) fn queue_name(queue: Queue) -> String {
    match queue {
        Queue::Priority(priority) => format!("priority {priority}"),
        Queue::Global => "802.3x".into(),
    }
}

/// Whole seconds, so that what is left is never shown as nothing.
fn seconds(until: MonoTime, now: MonoTime) -> u64 {
    until.since(now).as_millis().div_ceil(1000) as u64
}
