//! The state of the node as JSON. Every key says its unit: spans end in `_seconds`, instants in `_timestamp_seconds`
//! (since 1970), shares in `_ratio` (0 to 1). What is not known is null. docs/http.md explains each field.

use std::collections::BTreeMap;

use rocewatch_core::action::ActionKind;
use rocewatch_core::catalog::Unit;
use rocewatch_core::delta::Gap;
use rocewatch_core::event::PauseKnown;
use rocewatch_core::evidence::THROTTLED;
use rocewatch_core::phase::LockReason;
use rocewatch_core::settings::Mode;
use rocewatch_core::snapshot::{CounterView, PortView, QueueView, Snapshot};
use rocewatch_core::units::{Direction, MonoTime, Permille, Queue};
use serde::Serialize;

use crate::export::stats::BuildInfo;
use crate::export::{Moment, is_queue_shown};

#[derive(Serialize)]
struct Node<'a> {
    version: &'a str,
    timestamp_seconds: f64,
    snapshot_age_seconds: f64,
    mode: Mode,
    maintenance: bool,
    journal_writable: bool,
    budget_remaining: u32,
    undos_pending: u32,
    rtnl_share_ratio: f64,
    event_seq: u64,
    ports: Vec<Port<'a>>,
}

#[derive(Serialize)]
struct Port<'a> {
    id: u16,
    netdev: &'a str,
    device: &'a str,
    port: &'a str,
    link_layer: &'a str,
    driver: &'a str,
    driver_version: &'a str,
    firmware_version: &'a str,
    pci_address: &'a str,
    numa_node: Option<u32>,
    link: Link<'a>,
    pfc_priorities: Option<Vec<Queue>>,
    pause_rx: Option<bool>,
    pause_tx: Option<bool>,
    pause_known: PauseKnown,
    estimated: bool,
    blind: Option<Gap>,
    reading: Reading,
    maintenance: bool,
    budget_remaining: u32,
    hold_off_remaining_seconds: f64,
    actions: Vec<Action>,
    actions_last: Vec<ActionLast>,
    vetoes: BTreeMap<&'static str, u64>,
    queues: Vec<QueueState>,
    counters: Vec<Counter>,
}

#[derive(Serialize)]
struct Link<'a> {
    carrier: Option<bool>,
    speed_mbps: Option<u64>,
    mtu_bytes: Option<u32>,
    bond: Option<&'a str>,
    carrier_changes: Option<u64>,
}

#[derive(Serialize)]
struct Reading {
    age_seconds: Option<f64>,
    took_seconds: Option<f64>,
    interval_seconds: f64,
    refresh_seconds: Option<f64>,
    detect_seconds: f64,
    detect_bound_seconds: Option<f64>,
    readings: u64,
    failures: u64,
    resets: u64,
    implausible: u64,
    frozen: u64,
}

#[derive(Serialize)]
struct Action {
    action: ActionKind,
    result: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct ActionLast {
    action: ActionKind,
    timestamp_seconds: f64,
}

#[derive(Serialize)]
struct QueueState {
    priority: Queue,
    direction: Direction,
    watched: bool,
    armed: bool,
    phase: &'static str,
    test: bool,
    phase_until_timestamp_seconds: Option<f64>,
    lock_reason: Option<LockReason>,
    share_ratio: Option<f64>,
    demand_unknown: bool,
    choppy: bool,
    xon_storm: bool,
    throttled_windows_seconds: Vec<u64>,
    storms: u64,
    storm_seconds: f64,
    storm_since_timestamp_seconds: Option<f64>,
}

#[derive(Serialize)]
struct Counter {
    counter: &'static str,
    priority: Option<Queue>,
    metric: &'static str,
    value: Number,
    saturated: bool,
}

/// A value in the unit of its metric: exact where the metric counts, a fraction where it is a time or a share.
#[derive(Serialize)]
#[serde(untagged)]
enum Number {
    Exact(u64),
    Fraction(f64),
}

/// The state as one JSON object.
pub(super) fn json(snapshot: &Snapshot, build: &BuildInfo, moment: &Moment) -> Vec<u8> {
    let node = Node {
        version: build.version,
        timestamp_seconds: moment.wall(snapshot.at).as_secs_f64(),
        snapshot_age_seconds: moment.age(snapshot.at).as_secs_f64(),
        mode: snapshot.mode,
        maintenance: snapshot.maintenance,
        journal_writable: snapshot.journal_writable,
        budget_remaining: snapshot.budget_remaining,
        undos_pending: snapshot.undos_pending,
        rtnl_share_ratio: snapshot.rtnl_share_millionths as f64 / 1e6,
        event_seq: snapshot.seq,
        ports: snapshot.ports.iter().map(|view| port(view, snapshot, moment)).collect(),
    };
    serde_json::to_vec(&node).expect("the state holds only what JSON can: text keys and finite numbers")
}

fn ratio(share: Permille) -> f64 {
    f64::from(share.get()) / 1000.0
}

fn port<'a>(view: &'a PortView, snapshot: &Snapshot, moment: &Moment) -> Port<'a> {
    let identity = &view.identity;
    let hold_off = view.hold_off_until.map(|until| until.since(moment.now)).unwrap_or_default();
    let acted = view.acted_at.iter();
    Port {
        id: view.key.0,
        netdev: &identity.netdev,
        device: &identity.device,
        port: &identity.port,
        link_layer: &identity.link_layer,
        driver: &identity.driver,
        driver_version: &identity.driver_version,
        firmware_version: &identity.firmware_version,
        pci_address: &identity.pci_address,
        numa_node: identity.numa_node,
        link: Link {
            carrier: view.link.carrier,
            speed_mbps: view.link.speed_mbps,
            mtu_bytes: view.link.mtu,
            bond: view.link.bond.as_deref(),
            carrier_changes: view.link.carrier_changes,
        },
        pfc_priorities: view.pfc.map(|mask| mask.iter().map(Queue::Priority).collect()),
        pause_rx: view.pause.map(|pause| pause.rx),
        pause_tx: view.pause.map(|pause| pause.tx),
        pause_known: view.pause_known,
        estimated: view.estimated,
        blind: view.blind,
        reading: reading(view, moment),
        maintenance: view.maintenance,
        budget_remaining: view.budget_remaining,
        hold_off_remaining_seconds: hold_off.as_secs_f64(),
        actions: actions(view),
        actions_last: acted
            .map(|(kind, at)| ActionLast { action: *kind, timestamp_seconds: moment.wall(*at).as_secs_f64() })
            .collect(),
        vetoes: view.vetoes.iter().map(|(veto, count)| (veto.label(), *count)).collect(),
        queues: view
            .queues
            .iter()
            .filter(|view| is_queue_shown(view))
            .map(|view| queue(view, snapshot, moment))
            .collect(),
        counters: view.counters.iter().map(counter).collect(),
    }
}

fn reading(view: &PortView, moment: &Moment) -> Reading {
    let accounts = &view.accounts;
    Reading {
        age_seconds: view.read_at.map(|at| moment.age(at).as_secs_f64()),
        took_seconds: view.read_at.map(|_| view.read_took.as_secs_f64()),
        interval_seconds: view.interval.as_secs_f64(),
        refresh_seconds: (!view.refresh.is_zero()).then_some(view.refresh.as_secs_f64()),
        detect_seconds: view.detect.as_secs_f64(),
        detect_bound_seconds: view.detect_bound.map(|bound| bound.as_secs_f64()),
        readings: accounts.readings,
        failures: accounts.failures,
        resets: accounts.resets,
        implausible: accounts.implausible,
        frozen: accounts.frozen,
    }
}

fn actions(view: &PortView) -> Vec<Action> {
    let results = view.results.iter();
    results
        .map(|((action, result), count)| Action { action: *action, result: result.label(), count: *count })
        .collect()
}

fn queue(view: &QueueView, snapshot: &Snapshot, moment: &Moment) -> QueueState {
    let wall = |at: MonoTime| moment.wall(at).as_secs_f64();
    let open = view.storm_since.map(|since| snapshot.at.since(since)).unwrap_or_default();
    let throttled = THROTTLED.iter().zip(view.milder.throttled).filter(|(_, is)| *is);
    QueueState {
        priority: view.queue,
        direction: view.direction,
        watched: view.watched,
        armed: view.armed,
        phase: view.phase.label(),
        test: view.phase.is_test(),
        phase_until_timestamp_seconds: view.phase.ends_at().map(wall),
        lock_reason: view.phase.lock().map(|lock| lock.reason),
        share_ratio: view.share.map(ratio),
        demand_unknown: view.demand_unknown,
        choppy: view.milder.choppy,
        xon_storm: view.milder.xon_storm,
        throttled_windows_seconds: throttled.map(|((window, _), _)| window.as_secs()).collect(),
        storms: view.storms,
        storm_seconds: (view.storm_time + open).as_secs_f64(),
        storm_since_timestamp_seconds: view.storm_since.map(wall),
    }
}

fn counter(view: &CounterView) -> Counter {
    let entry = view.slot.counter().entry();
    let unit = entry.family.unit;
    let value = match unit {
        Unit::Count | Unit::Flag | Unit::Bytes | Unit::BytesPerSecond => Number::Exact(view.value),
        Unit::Seconds | Unit::Timestamp | Unit::Ratio => {
            Number::Fraction(view.value as f64 / unit.base() as f64)
        }
    };
    Counter {
        counter: entry.name,
        priority: view.slot.priority().map(Queue::Priority),
        metric: entry.family.name,
        value,
        saturated: view.saturated,
    }
}
