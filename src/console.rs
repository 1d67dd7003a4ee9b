//! Events as a person reads them: one line each, where, what, how long, what was done, did it work; and a table at
//! the end. Used where nobody has to parse it.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rocewatch_core::action::{ActionKind, ActionResult, Purpose, PutBack, UndoResult};
use rocewatch_core::event::{Event, EventKind, PauseKnown};
use rocewatch_core::nvmf::{NvmfChange, NvmfTold};
use rocewatch_core::phase::{Class, EndReason};
use rocewatch_core::policy::Veto;
use rocewatch_core::units::{Direction, MonoTime};

use crate::runtime::EventSink;

/// What happened on one port.
#[derive(Clone, Debug, Default)]
struct Tally {
    driver: String,
    storms: u64,
    storm_time: Duration,
    planned: u64,
    results: BTreeMap<ActionResult, u64>,
    vetoes: BTreeMap<Veto, u64>,
    undone: u64,
    undo_failures: u64,
}

/// Prints lines, and keeps the table.
#[derive(Clone, Debug)]
pub struct Console<W> {
    began: MonoTime,
    out: W,
    tallies: Arc<Mutex<BTreeMap<String, Tally>>>,
}

impl<W: Write + Send> EventSink for Console<W> {
    fn take(&mut self, event: &Arc<Event>) {
        self.count(event);
        if let Some((word, text)) = sentence(&event.kind, event.place.direction) {
            let at = event.at.since(self.began).as_secs_f64();
            let queue = match (event.place.priority, event.place.direction) {
                (Some(queue), Some(direction)) => format!("prio {queue} {direction}"),
                _ => String::new(),
            };
            let line = format!("{at:8.2} s  {:<12} {queue:<10}  {word:<8} {text}", event.place.netdev);
            // A recording may come from anywhere, and a terminal obeys what is no text.
            let line = line.replace(char::is_control, "\u{fffd}") + "\n";
            // Nobody can be told that the output is closed.
            let _ = self.out.write_all(line.as_bytes());
        }
    }
}

impl<W> Console<W> {
    /// A console whose times count from `began`, and which writes to `out`, line by line.
    #[must_use]
    pub fn new(began: MonoTime, out: W) -> Self {
        Self { began, out, tallies: Arc::default() }
    }

    fn tallies(&self) -> MutexGuard<'_, BTreeMap<String, Tally>> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, event: &Event) {
        // A path of storage is none of the port's storms.
        if event.place.netdev.is_empty() || matches!(event.kind, EventKind::NvmfChanged(_)) {
            return;
        }
        let mut tallies = self.tallies();
        let tally = tallies.entry(event.place.netdev.clone()).or_default();
        match &event.kind {
            EventKind::PortAdded { identity, .. } => tally.driver.clone_from(&identity.driver),
            EventKind::StormDetected { .. } => tally.storms += 1,
            EventKind::StormEnded { lasted, .. } => tally.storm_time += *lasted,
            EventKind::ActionPlanned { purpose: Purpose::Storm, .. } => tally.planned += 1,
            EventKind::ActionEnded { purpose: Purpose::Storm, result, .. } => {
                *tally.results.entry(*result).or_default() += 1
            }
            EventKind::ActionVetoed { purpose: Purpose::Storm, reason, .. } => {
                *tally.vetoes.entry(*reason).or_default() += 1
            }
            EventKind::UndoEnded { result: UndoResult::Failed, .. } => tally.undo_failures += 1,
            EventKind::UndoEnded { .. } => tally.undone += 1,
            // A test is no answer to a storm.
            EventKind::ActionPlanned { purpose: Purpose::Test, .. }
            | EventKind::ActionEnded { purpose: Purpose::Test, .. }
            | EventKind::ActionVetoed { purpose: Purpose::Test, .. }
            | EventKind::TestRefused { .. }
            | EventKind::MaintenanceBegun { .. }
            | EventKind::MaintenanceEnded { .. }
            | EventKind::PortRemoved
            | EventKind::PortRenamed { .. }
            | EventKind::LinkChanged { .. }
            | EventKind::PhaseChanged { .. }
            | EventKind::PauseEntered { .. }
            | EventKind::PauseLeft { .. }
            | EventKind::UndoDropped { .. }
            | EventKind::UndoWaits { .. }
            | EventKind::Blinded { .. }
            | EventKind::Sighted
            | EventKind::ReadFailed { .. }
            | EventKind::ReadRecovered { .. }
            | EventKind::NvmfChanged(_)
            | EventKind::Acknowledged
            | EventKind::Reconfigured { .. }
            | EventKind::DetectRaised { .. }
            | EventKind::NotArmed { .. }
            | EventKind::ActionUnsupported { .. } => {}
        }
    }

    /// The table: a line per port.
    #[must_use]
    pub fn summary(&self) -> String {
        let header = ["port", "driver", "storms", "in storm", "planned", "results", "vetoed", "undone"];
        let mut rows = vec![header.map(str::to_owned)];
        for (netdev, tally) in self.tallies().iter() {
            let results = tally.results.iter().map(|(result, n)| format!("{} {n}", result.label()));
            let vetoes = tally.vetoes.iter().map(|(veto, n)| format!("{} {n}", veto.label()));
            let undone = match tally.undo_failures {
                0 => tally.undone.to_string(),
                failures => format!("{}, {failures} failed", tally.undone),
            };
            rows.push([
                netdev.clone(),
                tally.driver.clone(),
                tally.storms.to_string(),
                format!("{:.2} s", tally.storm_time.as_secs_f64()),
                tally.planned.to_string(),
                or_dash(results.collect()),
                or_dash(vetoes.collect()),
                undone,
            ]);
        }
        table(&rows)
    }
}

fn or_dash(parts: Vec<String>) -> String {
    if parts.is_empty() { "-".into() } else { parts.join(", ") }
}

fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let lines = rows.iter().map(|row| {
        let cells =
            row.iter().enumerate().map(|(column, cell)| format!("{cell:<width$}", width = width(column)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    });
    lines.collect()
}

fn seconds(span: Duration) -> String {
    if span < Duration::from_secs(1) {
        format!("{} ms", span.as_millis())
    } else {
        format!("{:.2} s", span.as_secs_f64())
    }
}

fn whose(direction: Option<Direction>) -> &'static str {
    match direction {
        Some(Direction::Tx) => "we pause the peer",
        Some(Direction::Rx) | None => "the peer pauses us",
    }
}

/// A word and a sentence; nothing for what the lines around it tell already.
fn sentence(kind: &EventKind, direction: Option<Direction>) -> Option<(&'static str, String)> {
    Some(match kind {
        EventKind::PortAdded { identity, pause } => {
            let known = match pause {
                PauseKnown::Time => "pause time is counted",
                PauseKnown::Frames => "pause is only estimated from frames",
                PauseKnown::Absent => "no pause counters",
            };
            ("port", format!("watched: {} {}, {known}", identity.driver, identity.pci_address))
        }
        EventKind::PortRemoved => ("port", "gone".into()),
        EventKind::PortRenamed { from } => ("port", format!("was called {from}")),
        EventKind::LinkChanged { carrier: true } => ("link", "up".into()),
        EventKind::LinkChanged { carrier: false } => ("link", "down".into()),
        EventKind::StormDetected { class, paused, share, estimated, .. } => {
            ("STORM", storm(*class, direction, *paused, &share.to_string(), *estimated))
        }
        EventKind::StormEnded { reason, lasted, .. } => ("over", over(*reason, *lasted)),
        EventKind::PauseEntered { class, window, .. } => ("pause", milder(*class, *window)),
        EventKind::ActionPlanned { kind, ops, .. } => (
            "act",
            format!("{kind}: {}", ops.iter().map(ToString::to_string).collect::<Vec<_>>().join(", then ")),
        ),
        EventKind::ActionVetoed { kind, reason, .. } => {
            ("veto", format!("{kind} is not done: {}", veto_words(*reason)))
        }
        EventKind::ActionEnded { kind, result, put_back, took, cause, .. } => {
            (result.label(), ended(*kind, *result, *put_back, *took, cause.as_deref()))
        }
        EventKind::ActionUnsupported { kind, why } => ("unsupported", format!("{kind}: {why}")),
        EventKind::UndoEnded { kind, result, cause, .. } => {
            ("undo", undone(*kind, *result, cause.as_deref()))
        }
        EventKind::TestRefused { reason } => ("test", format!("no test can be made: {}", reason.label())),
        EventKind::MaintenanceBegun { .. } => ("maint", "maintenance: nothing is begun".into()),
        EventKind::MaintenanceEnded { .. } => ("maint", "maintenance is over".into()),
        EventKind::UndoDropped { .. } => ("undo", "no longer ours to take back".into()),
        EventKind::UndoWaits { .. } => ("undo", "waits for its device to come back".into()),
        EventKind::Blinded { reason } => ("blind", format!("cannot be judged: {}", reason.label())),
        EventKind::Sighted => ("sight", "can be judged again".into()),
        EventKind::ReadFailed { error } => ("read", error.clone()),
        EventKind::ReadRecovered { failures } => ("read", format!("answers again after {failures} failures")),
        EventKind::NvmfChanged(told) => ("nvme", nvmf(told)),
        EventKind::DetectRaised { configured, effective } => (
            "slow",
            format!("its source is slow: {} to detect, not {}", seconds(*effective), seconds(*configured)),
        ),
        EventKind::NotArmed { needed, .. } => {
            ("slow", format!("not armed: its source needs a detect of {}", seconds(*needed)))
        }
        EventKind::PhaseChanged { to, .. } if to.0 == "locked" => {
            ("locked", "no more actions until it is acknowledged".into())
        }
        EventKind::PhaseChanged { from, to } if from.0 == "probation" && to.0 == "healthy" => {
            ("healthy", "probation passed".into())
        }
        EventKind::PhaseChanged { .. }
        | EventKind::PauseLeft { .. }
        | EventKind::Acknowledged
        | EventKind::Reconfigured { .. } => return None,
    })
}

fn nvmf(told: &NvmfTold) -> String {
    let change = &told.change;
    let NvmfChange { controller, transport, address, .. } = change;
    let is = match (change.from, change.to) {
        (None, Some(to)) => format!("found {}", to.label()),
        (Some(from), Some(to)) => format!("from {} to {}", from.label(), to.label()),
        (Some(from), None) => format!("gone, was {}", from.label()),
        (None, None) => "gone".into(),
    };
    let estimated = if told.estimated { " at most" } else { "" };
    let pause = told
        .paused
        .map(|share| format!("; its port was paused for {share} of a window{estimated} shortly before"));
    format!("{controller} ({transport} {address}): {is}{}", pause.unwrap_or_default())
}

fn storm(
    class: Class,
    direction: Option<Direction>,
    paused: Duration,
    share: &str,
    estimated: bool,
) -> String {
    let how = match class {
        Class::Blocked => "without a break",
        Class::Choppy => "with gaps",
        Class::DemandUnknown => "without a break, nobody is seen to send",
        Class::Throttled | Class::XonStorm => "chronically",
    };
    let estimated = if estimated { ", estimated from frames" } else { "" };
    format!("{} {how} for {}, {share} of the window{estimated}", whose(direction), seconds(paused))
}

fn over(reason: EndReason, lasted: Duration) -> String {
    let why = match reason {
        EndReason::Cleared => "it ended by itself",
        EndReason::Mitigated => "the action holds",
        EndReason::UndoFailed => "what was changed could not be put back",
        EndReason::LinkDown => "the link went down",
        EndReason::PfcOff => "PFC was switched off",
        EndReason::Blind => "nothing is seen any more",
        EndReason::ModeOff => "the watchdog was switched off",
        EndReason::Locked => "the lock ended",
        EndReason::Gone => "the device is gone",
    };
    format!("storm over after {}: {why}", seconds(lasted))
}

fn milder(class: Class, window: Duration) -> String {
    let what = match class {
        Class::Choppy => "paused most of the time, with gaps",
        Class::XonStorm => "pause frames without pause",
        Class::Throttled => "throttled",
        Class::Blocked | Class::DemandUnknown => "paused",
    };
    format!("{what} (over {})", seconds(window))
}

/// A veto in words.
pub(crate) const fn veto_words(reason: Veto) -> &'static str {
    match reason {
        Veto::Mode => "the mode does not act",
        Veto::Disruption => "on this NIC it would disrupt more than disruption_max allows",
        Veto::Budget => "the budget of this hour is spent",
        Veto::OtherPort => "another port is being changed or mitigated",
        Veto::HoldOff => "the last action was not long ago",
        Veto::BondPeer => "no other slave of the bond is up",
        Veto::StaleData => "the data is too old",
        Veto::Estimated => "pause time is only estimated here",
        Veto::DemandUnknown => "nobody is seen to send",
        Veto::NotOwner => "firmware or another agent owns the setting",
        Veto::InBand => "the port carries the default route",
        Veto::NodeWide => "half of the node is in a storm: it is not this port's",
        Veto::Maintenance => "maintenance",
        Veto::FleetGuard => "the fleet guard does not agree, or there is none",
        Veto::Journal => "the undo cannot be written down",
        Veto::Unsupported => "the port offers no such action",
    }
}

fn ended(
    kind: ActionKind,
    result: ActionResult,
    put_back: PutBack,
    took: Duration,
    cause: Option<&str>,
) -> String {
    let what = match result {
        ActionResult::Ok => "set, read back, and the queue moves again",
        ActionResult::Unproven => "set and read back; nothing wanted to be sent",
        ActionResult::Ineffective => "set and read back, and the queue is still paused",
        ActionResult::Failed => "failed",
        ActionResult::Expired => "dropped: the pause was over or the evidence too old",
        ActionResult::DryRun => "would have been done",
    };
    let back = match put_back {
        PutBack::NotNeeded => "",
        PutBack::Done => "; put back",
        PutBack::Failed => "; COULD NOT BE PUT BACK",
    };
    let cause = cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
    format!("{kind} took {}: {what}{back}{cause}", seconds(took))
}

fn undone(kind: ActionKind, result: UndoResult, cause: Option<&str>) -> String {
    let cause = cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
    match result {
        UndoResult::Done => format!("{kind} taken back, and it reads so"),
        UndoResult::NotNeeded => format!("{kind}: nothing to take back, it reads as before"),
        UndoResult::Foreign => format!("{kind}: somebody else has changed it meanwhile, theirs stays"),
        UndoResult::Failed => format!("{kind} COULD NOT BE TAKEN BACK, tried again{cause}"),
    }
}
