//! What others may see: counts of the node, and the snapshot.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::ActionKind;
use crate::catalog::{Family, FamilyKind};
use crate::event::EventKind;
use crate::evidence::Demand;
use crate::ids::PortKey;
use crate::input::GuardAnswer;
use crate::phase::{Class, Phase};
use crate::settings::{Guard, Mode};
use crate::snapshot::{CounterView, PortView, QueueView, RuleView, Snapshot};
use crate::units::{MonoTime, Queue, nanos};

use super::Engine;
use super::pace::Gait;
use super::port::Port;
use super::queue::{Fit, QueueState};

/// A distribution of spans.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Upper bounds, ns, ascending.
    pub bounds: Vec<u64>,
    /// Observations per bucket, not cumulative; one more than bounds.
    pub counts: Vec<u64>,
    /// Sum of all observations, ns.
    pub sum: u64,
}

impl Histogram {
    /// An empty one with the buckets of a family of the catalogue.
    #[must_use]
    pub fn of_family(name: &str) -> Self {
        let bounds = match Family::named(name).map(|family| family.kind) {
            Some(FamilyKind::Histogram(bounds)) => bounds.to_vec(),
            Some(FamilyKind::Counter | FamilyKind::Gauge | FamilyKind::Info) | None => Vec::new(),
        };
        Self { counts: vec![0; bounds.len() + 1], bounds, sum: 0 }
    }

    /// Takes one observation.
    pub fn observe(&mut self, span: Duration) {
        let value = nanos(span);
        let bucket = self.bounds.iter().position(|bound| value <= *bound).unwrap_or(self.bounds.len());
        self.counts[bucket] += 1;
        self.sum = self.sum.saturating_add(value);
    }
}

/// Counts that belong to no port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NodeCounts {
    events: BTreeMap<String, u64>,
    guard_answers: BTreeMap<String, u64>,
    pub(super) detection: Histogram,
    action_took: BTreeMap<ActionKind, Histogram>,
}

impl Default for NodeCounts {
    fn default() -> Self {
        Self {
            events: BTreeMap::new(),
            guard_answers: BTreeMap::new(),
            detection: Histogram::of_family("rocewatch_watchdog_detection_seconds"),
            action_took: BTreeMap::new(),
        }
    }
}

impl NodeCounts {
    pub(super) fn note_event(&mut self, kind: &EventKind) {
        *self.events.entry(kind.name().to_owned()).or_default() += 1;
    }

    pub(super) fn note_guard(&mut self, answer: &GuardAnswer, guard: Option<&Guard>) {
        let result = match (&answer.answer, guard) {
            (Ok(number), Some(guard)) if *number <= guard.limit => "below_limit",
            (Ok(_), Some(_)) => "above_limit",
            (Ok(_), None) | (Err(_), _) => "failed",
        };
        *self.guard_answers.entry(result.to_owned()).or_default() += 1;
    }

    pub(super) fn note_action_took(&mut self, kind: ActionKind, took: Duration) {
        self.action_took
            .entry(kind)
            .or_insert_with(|| Histogram::of_family("rocewatch_watchdog_action_seconds"))
            .observe(took);
    }
}

impl Engine {
    /// The longest decision window of a port, as it is in force.
    #[must_use]
    pub fn detect(&self, port: PortKey) -> Option<Duration> {
        self.ports.get(&port).map(Port::detect)
    }

    /// The node as it is at `now`.
    #[must_use]
    pub fn snapshot(&self, now: MonoTime) -> Snapshot {
        let settings = &self.settings;
        let share = self
            .ports
            .values()
            .map(|port| nanos(port.took).saturating_mul(1_000_000) / nanos(port.pacing.interval()).max(1));
        Snapshot {
            at: now,
            seq: self.seq,
            mode: settings.mode,
            journal_writable: self.journal_writable,
            maintenance: self.maintenance_of_all().is_some_and(|until| now < until),
            maintenance_until: self.maintenance_of_all(),
            budget_remaining: settings.budget_node.saturating_sub(self.spent_on_node(now)),
            undos_pending: self.undos_pending(),
            rtnl_share_millionths: share.fold(0, u64::saturating_add),
            events: self.counts.events.clone(),
            guard_answers: self.counts.guard_answers.clone(),
            detection: self.counts.detection.clone(),
            action_took: self.counts.action_took.clone(),
            rules: [&settings.rx, &settings.tx].map(|rule| RuleView { share: rule.share, hold: rule.hold }),
            ports: self.ports.values().map(|port| self.port_view(port, now)).collect(),
        }
    }

    /// Actions that owe an undo, those whose device is away too.
    fn undos_pending(&self) -> u32 {
        let owing = self.actions.values().filter(|action| !action.steps.is_empty());
        (owing.count() + self.unclaimed.owed.len()) as u32
    }

    fn port_view(&self, port: &Port, now: MonoTime) -> PortView {
        let ledger = &port.ledger;
        let counters = ledger.layout().iter().enumerate().filter_map(|(place, bound)| {
            let value = ledger.exported(place)?;
            Some(CounterView { slot: bound.slot, value, saturated: ledger.saturated(place) })
        });
        let hold_off = port.queues.iter().map(|queue| queue.rule.hold_off).max().unwrap_or_default();
        let allowed = port.queues.iter().map(|queue| queue.rule.budget_port).min().unwrap_or(0);
        PortView {
            key: port.key,
            identity: port.identity.clone(),
            link: port.link.clone(),
            pause_known: port.pause_known(),
            estimated: port.is_estimated(),
            pfc: port.pfc,
            pause: port.pause,
            counters: counters.collect(),
            queues: port.queues.iter().map(|queue| self.queue_view(port, queue)).collect(),
            accounts: port.accounts,
            blind: port.blind,
            read_at: port.last_at,
            read_took: port.took,
            interval: port.pacing.interval(),
            detect: port.detect(),
            detect_bound: self.detect_bound(port),
            refresh: port.refresh(),
            maintenance: self.in_maintenance(port, now),
            maintenance_until: self.maintenance_of(port),
            hold_off_until: port.last_action.map(|at| at + hold_off).filter(|until| *until > now),
            budget_remaining: allowed.saturating_sub(self.spent_on(port, now)),
            results: port.results.clone(),
            tests: port.tests.clone(),
            acted_at: port.acted_at.clone(),
            vetoes: port.vetoes.clone(),
        }
    }

    fn queue_view(&self, port: &Port, queue: &QueueState) -> QueueView {
        let evidence = queue.evidence;
        QueueView {
            queue: queue.queue,
            direction: queue.direction,
            watched: port.is_watched(queue),
            armed: self.is_armed(port, queue),
            phase: queue.phase,
            share: evidence.map(|evidence| evidence.share),
            demand_unknown: evidence.is_some_and(|e| e.unbroken && e.demand == Demand::Unknown)
                || matches!(queue.phase, Phase::Storm(storm) if storm.class == Class::DemandUnknown),
            milder: queue.milder,
            accounts: queue.accounts.clone(),
            storms: queue.accounts.storms,
            storm_since: queue.storm.map(|(_, since)| since),
            storm_time: queue.accounts.storm_time,
        }
    }

    /// Whether a storm of the queue would be found now.
    fn is_armed(&self, port: &Port, queue: &QueueState) -> bool {
        port.is_watched(queue)
            && queue.blind.is_none()
            && !matches!(queue.phase, Phase::Suspended(_))
            && queue.detect_fits == Fit::Fits
            && self.mode() != Mode::Off
    }

    /// The upper bound of the promise at the port's present pace, for the slowest of its armed queues: a reading that
    /// holds the onset, the window, the reading that decides, and one read. A pause of which nobody knows whether it
    /// holds anything up is a storm only after [`Rule::idle_escalate`](crate::settings::Rule::idle_escalate).
    fn detect_bound(&self, port: &Port) -> Option<Duration> {
        let poll = &self.settings.poll;
        let fast = port.pacing.fast(poll);
        let calm = match port.pacing.gait() {
            Gait::Calm => port.pacing.interval(),
            Gait::Fast => poll.calm.max(fast),
        };
        let refresh = port.refresh();
        let armed = port.queues.iter().filter(|queue| self.is_armed(port, queue));
        let worst = armed.map(|queue| {
            let window = Duration::from_nanos(queue.rule.share.share_of(nanos(queue.windows.detect())));
            match queue.evidence.map(|evidence| evidence.demand) {
                Some(Demand::Known) => window,
                Some(Demand::Unknown) | None => window.max(queue.rule.idle_escalate),
            }
        });
        // A source that refreshes slowly shows a change up to one reading after its refresh.
        let (onset, decision) =
            if refresh.is_zero() { (calm, fast) } else { (calm.max(refresh + fast), refresh + fast) };
        Some(worst.max()? + onset + decision + port.took)
    }
}

impl Port {
    /// Whether pause time on this port is only an upper bound.
    fn is_estimated(&self) -> bool {
        let frames_only = self.queues.iter().any(|queue| queue.is_counted() && queue.places.time.is_none());
        frames_only && !self.queues.iter().any(|q| q.queue != Queue::Global && q.places.time.is_some())
            || self.caps.pause_time.is_upper_bound()
    }
}
