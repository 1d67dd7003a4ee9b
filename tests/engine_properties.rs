//! What holds of the engine whatever it is told: it never panics, events are numbered without a gap, no budget is
//! exceeded, a tick at its deadline gets it on, and what a recording keeps of it decides the same.

#![allow(clippy::unwrap_used, reason = "a test may")]
#![allow(
    clippy::large_enum_variant,
    clippy::wildcard_enum_match_arm,
    reason = "a test makes few of them and looks at some"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rocewatch_core::action::{
    ActionKind, ActionResult, Disruption, Op, Order, Outcome, PauseConfig, Purpose, PutBack, Report, Undo,
    UndoOp, UndoResult,
};
use rocewatch_core::binding::{Binding, Bound};
use rocewatch_core::catalog::{Counter, Slot};
use rocewatch_core::drivers::{Kind, Overflow, Width, for_driver};
use rocewatch_core::durable::{Durable, Maintained, Owed, PortName, QueueMemory, Spent};
use rocewatch_core::engine::Engine;
use rocewatch_core::ids::{ActionId, PortIdentity, PortKey};
use rocewatch_core::input::{
    BoundPort, Command, DcbOwner, Effect, Ended, GuardAnswer, Input, JournalState, Maintenance, PortDcb,
    PortHealth, PortLink, PortPause, ReadFailed, Reading, SourceRefresh, TestDepth,
};
use rocewatch_core::nvmf::{NvmfChange, NvmfState};
use rocewatch_core::phase::{LockReason, Locked};
use rocewatch_core::policy::BUDGET_WINDOW;
use rocewatch_core::record::Narrowing;
use rocewatch_core::settings::{ExecSettings, Guard, Mode, Rule, Settings};
use rocewatch_core::units::{Direction, MonoTime, Permille, Priority, PriorityMask, Queue};

const PORTS: u16 = 3;
const DRIVERS: [&str; 5] = ["mlx5_core", "bnxt_en", "ice", "nobody", ""];
/// Pause and traffic of priorities 3 and 4 as mlx5 and bnxt name them, ice's frames, and names nobody knows.
const NAMES: [&str; 18] = [
    "rx_prio3_pause_duration",
    "tx_prio3_pause_duration",
    "rx_prio3_pause",
    "rx_prio3_pause_transition",
    "tx_prio3_packets",
    "rx_prio3_packets",
    "rx_prio4_pause_duration",
    "tx_prio4_packets",
    "rx_global_pause_duration",
    "tx_packets_phy",
    "pfc_pri3_rx_duration_us",
    "pfc_pri3_tx_duration_us",
    "tx_packets_pri3",
    "rx_packets_pri3",
    "rx_priority_3_xoff.nic",
    "tx_priority_3.nic",
    "port.rx_priority_3_xoff",
    "lb",
];

/// One thing that happens.
#[derive(Clone, Debug)]
enum Happening {
    /// Time passes, with a tick at each deadline in it.
    Wait(Duration),
    /// A port is read after a time in which its counters grew as counters do.
    Read { port: u16, span_ms: u64, paused_percent: u64, packets: u64, readings: u8 },
    /// Orders under way end, or not.
    Answer { which: usize, report: Report },
    /// Anything at all.
    Told(Input),
}

fn any_nanos() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..200_000_000_000u64,
        1 => Just(0),
        1 => Just(u64::MAX),
        1 => any::<u64>(),
    ]
}

fn any_time() -> impl Strategy<Value = MonoTime> {
    any_nanos().prop_map(MonoTime::from_nanos)
}

fn any_refresh() -> impl Strategy<Value = SourceRefresh> {
    prop_oneof![any_span().prop_map(SourceRefresh::Every), Just(SourceRefresh::Never)]
}

fn any_span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0..10_000u64).prop_map(Duration::from_millis),
        1 => Just(Duration::ZERO),
        1 => Just(Duration::MAX),
        1 => any::<u64>().prop_map(Duration::from_millis),
    ]
}

fn any_value() -> impl Strategy<Value = u64> {
    prop_oneof![0..2_000_000u64, Just(0), Just(u64::MAX), Just(u64::from(u32::MAX)), any::<u64>()]
}

fn any_port() -> impl Strategy<Value = PortKey> {
    prop_oneof![9 => 0..PORTS, 1 => any::<u16>()].prop_map(PortKey)
}

fn any_queue() -> impl Strategy<Value = Queue> {
    (0..Queue::COUNT).prop_map(|index| Queue::all().nth(index).unwrap())
}

fn any_direction() -> impl Strategy<Value = Direction> {
    any::<bool>().prop_map(|rx| if rx { Direction::Rx } else { Direction::Tx })
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z]{1,4}", "\\PC{0,8}", Just("\"\n\u{1b}[31m\\\u{0}".into())]
}

fn any_permille() -> impl Strategy<Value = Permille> {
    (0..=1000u16).prop_map(|thousandths| Permille::new(thousandths).unwrap())
}

fn any_kind() -> impl Strategy<Value = ActionKind> {
    (0..ActionKind::ALL.len()).prop_map(|index| ActionKind::ALL[index])
}

fn named_layout() -> impl Strategy<Value = (&'static str, Vec<Bound>)> {
    let names = vec(0..NAMES.len(), 0..NAMES.len());
    (0..DRIVERS.len(), prop_oneof![3 => Just((0..NAMES.len()).collect::<Vec<_>>()), 1 => names]).prop_map(
        |(driver, names)| {
            let names = names.into_iter().map(|index| NAMES[index].to_owned()).collect::<Vec<_>>();
            (DRIVERS[driver], Binding::new(for_driver(DRIVERS[driver]), &names).layout().to_vec())
        },
    )
}

/// What no binding makes: any counter, twice too, in any unit.
fn silly_layout() -> impl Strategy<Value = (&'static str, Vec<Bound>)> {
    let bound = (0..Counter::ALL.len(), 0..8u8, any::<u32>(), any_value(), 0..5u8, 0..3u8, any::<bool>());
    let bound = bound.prop_map(|(counter, priority, from, scale, width, overflow, gauge)| {
        let counter = Counter::ALL[counter];
        let priority = Priority::new(priority).unwrap();
        let slot = Slot::of_priority(counter, priority).or_else(|_| Slot::of_port(counter)).unwrap();
        Bound {
            slot,
            from,
            from_upper: None,
            scale,
            width: [Width::W8, Width::W16, Width::W32, Width::W64, Width::W64][usize::from(width)],
            overflow: [Overflow::Wrap, Overflow::Saturate, Overflow::None][usize::from(overflow)],
            kind: if gauge { Kind::Gauge } else { Kind::Counter },
            rank: 0,
        }
    });
    (0..DRIVERS.len(), vec(bound, 0..12)).prop_map(|(driver, layout)| (DRIVERS[driver], layout))
}

fn any_bound() -> impl Strategy<Value = BoundPort> {
    let layout = prop_oneof![4 => named_layout().boxed(), 1 => silly_layout().boxed()];
    let actions = prop_oneof![3 => Just(ActionKind::ALL.to_vec()), 1 => vec(any_kind(), 0..3)];
    let name = prop_oneof![9 => Just(None), 1 => any_text().prop_map(Some)];
    (any_port(), layout, option::weighted(0.3, any_refresh()), actions, name).prop_map(
        |(port, (driver, layout), refresh, actions, name)| BoundPort {
            port,
            identity: PortIdentity {
                netdev: name.unwrap_or_else(|| netdev(port)),
                driver: driver.into(),
                ..PortIdentity::default()
            },
            layout,
            refresh,
            actions,
            unsupported: Vec::new(),
        },
    )
}

fn netdev(port: PortKey) -> String {
    format!("eth{}", port.0)
}

fn any_reading() -> impl Strategy<Value = Reading> {
    (any_port(), any_time(), any_span(), vec(any_value(), 0..20))
        .prop_map(|(port, at, took, values)| Reading { port, at, took, values })
}

fn any_link() -> impl Strategy<Value = PortLink> {
    let facts = (option::of(any::<bool>()), option::of(any_value()), option::of(any::<u32>()));
    let more = (option::weighted(0.3, any_text()), option::of(any_value()), option::of(any_value()));
    let name = prop_oneof![9 => Just(None), 1 => any_text().prop_map(Some)];
    (any_port(), name, facts, more).prop_map(
        |(port, name, (carrier, speed_mbps, mtu), (bond, carrier_changes, packets))| PortLink {
            port,
            netdev: name.unwrap_or_else(|| netdev(port)),
            carrier,
            speed_mbps,
            mtu,
            bond,
            carrier_changes,
            packets,
        },
    )
}

fn any_dcb() -> impl Strategy<Value = PortDcb> {
    let pfc = prop_oneof![2 => Just(Some(8u8)), 1 => option::of(any::<u8>())];
    (any_port(), pfc, any::<bool>()).prop_map(|(port, pfc, other)| PortDcb {
        port,
        pfc: pfc.map(PriorityMask),
        owner: if other { DcbOwner::Other } else { DcbOwner::Host },
        headroom: None,
    })
}

fn any_pause() -> impl Strategy<Value = PortPause> {
    let pause = option::of((any::<bool>(), any::<bool>()));
    (any_port(), pause, option::of(any::<u16>())).prop_map(|(port, pause, timeout)| PortPause {
        port,
        pause: pause.map(|(rx, tx)| PauseConfig { rx, tx }),
        prevention_timeout_ms: timeout,
    })
}

fn any_report() -> impl Strategy<Value = Report> {
    let acted = (0..ActionResult::ALL.len(), 0..3u8).prop_map(|(result, back)| Outcome::Acted {
        result: ActionResult::ALL[result],
        put_back: [PutBack::NotNeeded, PutBack::Done, PutBack::Failed][usize::from(back)],
    });
    let undone = (0..4u8).prop_map(|result| {
        Outcome::Undone(
            [UndoResult::Done, UndoResult::NotNeeded, UndoResult::Foreign, UndoResult::Failed]
                [usize::from(result)],
        )
    });
    (prop_oneof![acted, undone], option::of(any_text()), option::of(any::<u16>())).prop_map(
        |(outcome, reason, prevention_timeout_ms)| Report { outcome, reason, prevention_timeout_ms },
    )
}

fn any_op() -> impl Strategy<Value = Op> {
    let mask = any::<u8>().prop_map(PriorityMask);
    prop_oneof![
        3 => mask.clone().prop_map(Op::PfcEnable),
        1 => mask.prop_map(Op::PfcDisable),
        1 => any::<u16>().prop_map(Op::PreventionTimeout),
        1 => Just(Op::LinkUp),
    ]
}

fn any_undo() -> impl Strategy<Value = Undo> {
    let queues = vec((any_queue(), any_direction()), 0..4);
    let ops = vec((any_op(), any_op()).prop_map(|(done, op)| UndoOp { done, op }), 0..4);
    let purpose = prop_oneof![Just(Purpose::Storm), Just(Purpose::Test)];
    (any_value(), any_port(), any_kind(), purpose, queues, ops).prop_map(
        |(id, port, kind, purpose, queues, ops)| Undo {
            id: ActionId(id),
            port,
            kind,
            purpose,
            queues,
            ops,
            headroom: None,
        },
    )
}

fn any_port_name() -> impl Strategy<Value = PortName> {
    let name = |netdev| PortName { netdev, pci_address: String::new() };
    prop_oneof![(0..PORTS).prop_map(|port| netdev(PortKey(port))), any_text()].prop_map(name)
}

fn any_durable() -> impl Strategy<Value = Durable> {
    let spent = (any_port_name(), any_time()).prop_map(|(port, at)| Spent { port, at });
    let owed = (any_port_name(), any_undo()).prop_map(|(port, undo)| Owed {
        port,
        ifindex: None,
        sysfs_inode: None,
        undo,
    });
    let locked = any_time().prop_map(|until| Locked { until, reason: LockReason::Relapses, storm: None });
    let queue = (
        any_port_name(),
        any_queue(),
        any_direction(),
        vec(any_time(), 0..4),
        option::of(locked),
        option::of(any_time()),
    );
    let queue = queue.prop_map(|(port, queue, direction, mitigated, locked, storm_since)| QueueMemory {
        port,
        queue,
        direction,
        mitigated,
        locked,
        storm_since,
        storm_class: None,
    });
    (any_value(), vec(spent, 0..4), vec(owed, 0..3), vec(queue, 0..4))
        .prop_map(|(next_action, spent, owed, queues)| Durable { next_action, spent, owed, queues })
}

fn any_journal() -> impl Strategy<Value = JournalState> {
    let durable = prop_oneof![2 => Just(Durable::default()), 3 => any_durable()];
    let writable = prop_oneof![4 => Just(true), 1 => Just(false)];
    let kept = (option::of(any_port_name()), any_time()).prop_map(|(port, until)| Maintained { port, until });
    (durable, writable, any::<u64>(), vec(kept, 0..3)).prop_map(|(durable, writable, seed, maintenance)| {
        JournalState { durable, writable, seed, maintenance }
    })
}

fn any_command() -> impl Strategy<Value = Command> {
    let ack = (any_port(), any_queue(), option::of(any_direction()))
        .prop_map(|(port, queue, direction)| Command::Ack { port, queue, direction });
    let depth = prop_oneof![Just(TestDepth::Plan), Just(TestDepth::Act)];
    let test = (any_port(), any_queue(), any_direction(), depth)
        .prop_map(|(port, queue, direction, depth)| Command::TestStorm { port, queue, direction, depth });
    prop_oneof![6 => ack, 6 => test, 1 => Just(Command::Stop)]
}

fn any_nvmf() -> impl Strategy<Value = NvmfChange> {
    let state = || option::of(prop::sample::select(&NvmfState::ALL[..]));
    (any_text(), vec(0..PORTS, 0..3), state(), state()).prop_map(|(controller, ports, from, to)| NvmfChange {
        controller,
        subsystem: "nqn.2026-01.example:disk".into(),
        transport: "rdma".into(),
        address: String::new(),
        netdevs: ports.into_iter().map(|port| format!("eth{port}")).collect(),
        from,
        to,
    })
}

/// Anything but settings, which the two properties draw in different ways.
fn any_input() -> impl Strategy<Value = Input> {
    let guard = (any_time(), any::<Result<u64, ()>>()).prop_map(|(asked_at, answer)| GuardAnswer {
        asked_at,
        answer: answer.map_err(|()| "no answer".into()),
    });
    let health = (any_port(), any_text(), any::<bool>()).prop_map(|(port, reporter, in_error)| PortHealth {
        port,
        reporter,
        in_error,
    });
    let maintenance = (option::of(any_port()), option::of(any_time()))
        .prop_map(|(port, until)| Maintenance { port, until, by: None });
    let failed = (any_port(), any_text()).prop_map(|(port, error)| ReadFailed { port, error });
    let outcome =
        (any_value(), any_report()).prop_map(|(action, report)| Ended { action: ActionId(action), report });
    prop_oneof![
        4 => any_bound().prop_map(Input::Bound),
        4 => any_reading().prop_map(Input::Reading),
        1 => failed.prop_map(Input::ReadFailed),
        4 => any_link().prop_map(Input::Link),
        4 => any_dcb().prop_map(Input::Dcb),
        2 => any_pause().prop_map(Input::Pause),
        1 => health.prop_map(Input::Health),
        1 => vec(any_port(), 0..3).prop_map(Input::Route),
        2 => any_nvmf().prop_map(Input::Nvmf),
        1 => maintenance.prop_map(Input::Maintenance),
        1 => guard.prop_map(Input::GuardAnswer),
        1 => outcome.prop_map(Input::Outcome),
        1 => any_command().prop_map(Input::Command),
        1 => any_port().prop_map(Input::Gone),
        1 => any_journal().prop_map(|state| Input::Journal(Box::new(state))),
        1 => any::<bool>().prop_map(Input::JournalWritable),
        1 => Just(Input::Tick),
    ]
}

fn any_happening(told: BoxedStrategy<Input>) -> impl Strategy<Value = Happening> {
    let wait = prop_oneof![0..2000u64, 0..120_000u64, Just(3_600_000)];
    let read = (0..PORTS, 10..300u64, prop_oneof![3 => Just(100), 1 => 0..=100u64], 0..3u64, 1..30u8);
    let read = read.prop_map(|(port, span_ms, paused_percent, packets, readings)| Happening::Read {
        port,
        span_ms,
        paused_percent,
        packets,
        readings,
    });
    prop_oneof![
        2 => wait.prop_map(|ms| Happening::Wait(Duration::from_millis(ms))),
        6 => read,
        3 => (any::<usize>(), any_report())
            .prop_map(|(which, report)| Happening::Answer { which, report }),
        3 => told.prop_map(Happening::Told),
    ]
}

fn any_rule(span: BoxedStrategy<Duration>) -> impl Strategy<Value = Rule> {
    let spans = vec(span, 10);
    let shares = (any_permille(), any_permille(), any::<bool>());
    (spans, shares, 0..5u32, 0..5u32, vec(any_kind(), 0..4)).prop_map(
        |(spans, (share, choppy, choppy_acts), lock_storms, budget_port, actions)| Rule {
            detect: spans[0],
            share,
            choppy,
            choppy_acts,
            restore: spans[1],
            hold: spans[2],
            hold_link: spans[3],
            hold_max: spans[4],
            demand_window: spans[5],
            idle_escalate: spans[6],
            hold_off: spans[7],
            lock_storms,
            lock_window: spans[8],
            lock_for: spans[9],
            budget_port,
            actions,
        },
    )
}

/// Settings that act, as a configuration may have them.
fn sane_settings() -> impl Strategy<Value = Settings> {
    let spans = (200..2000u64, 100..60_000u64, 100..10_000u64);
    let limits = (0..4u32, 0..6u32, 0..3u32, 0..4usize);
    (spans, limits, vec(any_kind(), 1..4), any::<bool>()).prop_map(
        |(
            (detect, hold, hold_off),
            (budget_port, budget_node, mitigated_max, disruption),
            actions,
            choppy,
        )| {
            let rule = Rule {
                detect: Duration::from_millis(detect),
                hold: Duration::from_millis(hold),
                hold_link: Duration::from_millis(hold * 2),
                hold_off: Duration::from_millis(hold_off),
                choppy_acts: choppy,
                budget_port,
                actions,
                ..Rule::default()
            };
            let command = vec!["/bin/true".into()];
            let exec =
                ExecSettings { command, timeout: Duration::from_secs(1), disruption: Disruption::None };
            let delay = Duration::from_millis(hold_off);
            Settings {
                mode: Mode::Enforce,
                disruption_max: Disruption::ALL[disruption],
                budget_node,
                ports_mitigated_max: mitigated_max,
                rx: rule.clone(),
                tx: rule,
                guard: Some(Guard { url: String::new(), query: String::new(), limit: 1, delay }),
                exec: Some(exec),
                ..Settings::default()
            }
        },
    )
}

/// Settings that no configuration would let pass, as a file that is no recording of ours may hold them.
fn silly_settings() -> impl Strategy<Value = Settings> {
    let poll = (any_span(), any_span(), any_permille(), any_span(), any_permille());
    let modes = (0..Mode::ALL.len(), 0..Disruption::ALL.len());
    let limits = (any::<u32>(), any::<u32>(), any::<u16>());
    let rules = (any_rule(any_span().boxed()), any_rule(any_span().boxed()));
    (poll, modes, limits, rules, any_span()).prop_map(|(poll, modes, limits, (rx, tx), delay)| {
        let mut settings = Settings { rx, tx, ..Settings::default() };
        (settings.poll.calm, settings.poll.fast, settings.poll.fast_enter) = (poll.0, poll.1, poll.2);
        (settings.poll.quiet, settings.poll.rtnl_share_max) = (poll.3, poll.4);
        settings.mode = Mode::ALL[modes.0];
        settings.disruption_max = Disruption::ALL[modes.1];
        (settings.budget_node, settings.ports_mitigated_max, settings.prevention_timeout_ms) = limits;
        settings.guard = Some(Guard { url: String::new(), query: String::new(), limit: 1, delay });
        settings
    })
}

/// The engine, what it has ordered, and the counters of its ports.
struct Rig {
    engine: Engine,
    now: MonoTime,
    ports: BTreeMap<PortKey, (Vec<Bound>, Vec<u64>)>,
    orders: Vec<Order>,
    seq: u64,
    begun: Vec<(PortKey, MonoTime)>,
    told: Vec<(MonoTime, Input, Vec<Effect>)>,
}

impl Rig {
    fn new(settings: Settings, now: MonoTime) -> Self {
        let (ports, orders) = (BTreeMap::new(), Vec::new());
        Self {
            engine: Engine::new(settings),
            now,
            ports,
            orders,
            seq: 0,
            begun: Vec::new(),
            told: Vec::new(),
        }
    }

    fn tell(&mut self, input: Input) {
        match &input {
            Input::Bound(bound) => {
                let values = vec![0; bound.layout.len()];
                self.ports.insert(bound.port, (bound.layout.clone(), values));
            }
            Input::Gone(port) => {
                self.ports.remove(port);
            }
            _ => {}
        }
        let effects = self.engine.handle(self.now, &input);
        for effect in &effects {
            match effect {
                Effect::Emit(event) => {
                    assert_eq!(event.seq, self.seq + 1, "events are numbered without a gap");
                    self.seq = event.seq;
                }
                Effect::Act(order) => {
                    if let Order::Do(plan) = &**order {
                        self.begun.push((plan.port, self.now));
                    }
                    self.orders.push((**order).clone());
                }
                Effect::Withdraw(..) | Effect::Pace(..) | Effect::AskGuard => {}
            }
        }
        self.told.push((self.now, input, effects));
        self.check_progress();
    }

    /// A tick at the deadline has to get the engine on, or a loop around it spins.
    fn check_progress(&self) {
        let Some(deadline) = self.engine.next_deadline() else { return };
        let at = deadline.max(self.now);
        let mut engine = self.engine.clone();
        engine.handle(at, &Input::Tick);
        if let Some(next) = engine.next_deadline() {
            assert!(next > at || at == MonoTime::MAX, "at {at} the next deadline is {next}");
        }
    }

    fn wait(&mut self, span: Duration) {
        let until = self.now + span;
        // Every deadline at most once: see check_progress.
        for _ in 0..10_000 {
            match self.engine.next_deadline().filter(|at| *at <= until) {
                Some(at) => self.now = self.now.max(at),
                None => break,
            }
            self.tell(Input::Tick);
        }
        self.now = until;
    }

    fn read(&mut self, port: PortKey, span: Duration, paused_percent: u64, packets: u64) {
        self.wait(span);
        let Some((layout, values)) = self.ports.get_mut(&port) else { return };
        for (bound, value) in layout.iter().zip(values.iter_mut()) {
            let name = bound.slot.to_string();
            let growth = if name.contains("time") {
                span.as_nanos() as u64 * paused_percent / 100 / bound.scale.max(1)
            } else if name.contains("packets") {
                packets
            } else {
                paused_percent
            };
            *value = value.wrapping_add(growth);
        }
        let reading =
            Reading { port, at: self.now, took: Duration::from_micros(300), values: values.clone() };
        self.tell(Input::Reading(reading));
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Wait(span) => self.wait(span),
            Happening::Read { port, span_ms, paused_percent, packets, readings } => {
                for _ in 0..readings {
                    self.read(PortKey(port), Duration::from_millis(span_ms), paused_percent, packets);
                }
            }
            Happening::Answer { which, report } => {
                if self.orders.is_empty() {
                    return;
                }
                let order = self.orders.remove(which % self.orders.len());
                let action = match order {
                    Order::Do(plan) => plan.id,
                    Order::Undo(undo) => undo.id,
                };
                self.tell(Input::Outcome(Ended { action, report }));
            }
            Happening::Told(input) => self.tell(input),
        }
    }

    /// The same, of what a source of ours can send: one value for each name it has introduced.
    fn happen_within_layout(&mut self, mut happening: Happening) {
        if let Happening::Told(Input::Reading(reading)) = &mut happening {
            let length = self.ports.get(&reading.port).map_or(0, |(layout, _)| layout.len());
            reading.values.resize(length, 7);
        }
        self.happen(happening);
    }

    /// No hour holds more actions than it may.
    fn check_budget(&self, settings: &Settings) {
        let within = |from: MonoTime, at: MonoTime| at >= from && at.since(from) < BUDGET_WINDOW;
        let allowed = settings.rx.budget_port.max(settings.tx.budget_port) as usize;
        for (port, from) in &self.begun {
            let of_node = self.begun.iter().filter(|(_, at)| within(*from, *at));
            assert!(of_node.clone().count() <= settings.budget_node as usize, "{:?}", self.begun);
            let of_port = of_node.filter(|(other, _)| other == port).count();
            assert!(of_port <= allowed, "{:?}", self.begun);
        }
    }
}

/// What is recorded of a run from its middle on decides the same: see `rocewatch_core::record`.
fn check_recording(first: &Rig, checkpoint: &Engine, narrowing: &mut Narrowing, from: usize) {
    let text = serde_json::to_string(checkpoint).unwrap();
    let mut twin: Engine = serde_json::from_str(&text).unwrap();
    for (at, input, effects) in &first.told[from..] {
        let line = serde_json::to_string(&narrowing.narrow(input)).unwrap();
        let again = twin.handle(*at, &serde_json::from_str(&line).unwrap());
        assert_eq!(&again, effects, "after {line}");
    }
}

fn introduce(rig: &mut Rig) {
    let journal = JournalState { writable: true, seed: 7, ..JournalState::default() };
    rig.tell(Input::Journal(Box::new(journal)));
    for (port, driver) in (0..PORTS).zip(DRIVERS) {
        let names = NAMES.map(str::to_owned);
        let port = PortKey(port);
        rig.tell(Input::Bound(BoundPort {
            port,
            identity: PortIdentity { netdev: netdev(port), driver: driver.into(), ..PortIdentity::default() },
            layout: Binding::new(for_driver(driver), &names).layout().to_vec(),
            refresh: Some(SourceRefresh::Every(Duration::ZERO)),
            actions: ActionKind::ALL.to_vec(),
            unsupported: Vec::new(),
        }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_keeps_its_promises_whatever_it_is_told(
        settings in sane_settings(),
        happenings in vec(any_happening(any_input().boxed()), 1..60),
    ) {
        let mut rig = Rig::new(settings.clone(), MonoTime::from_millis(100_000_000));
        introduce(&mut rig);
        for happening in happenings {
            rig.happen(happening);
        }
        let _ = (rig.engine.snapshot(rig.now), rig.engine.durable());
        rig.check_budget(&settings);
    }

    #[test]
    fn what_a_recording_holds_decides_the_same(
        settings in sane_settings(),
        before in vec(any_happening(any_input().boxed()), 1..30),
        after in vec(any_happening(any_input().boxed()), 1..30),
    ) {
        let mut rig = Rig::new(settings, MonoTime::from_millis(100_000_000));
        let mut narrowing = Narrowing::default();
        introduce(&mut rig);
        for happening in before {
            rig.happen_within_layout(happening);
        }
        for (_, input, _) in &rig.told {
            narrowing.narrow(input);
        }
        let (checkpoint, from) = (rig.engine.checkpoint(), rig.told.len());
        for happening in after {
            rig.happen_within_layout(happening);
        }
        check_recording(&rig, &checkpoint, &mut narrowing, from);
    }

    #[test]
    fn nothing_that_can_be_written_as_an_input_makes_the_engine_panic(
        settings in silly_settings(),
        others in silly_settings(),
        told in vec((any_time(), any_input()), 1..80),
    ) {
        let mut engine = Engine::new(settings);
        for (index, (now, input)) in told.into_iter().enumerate() {
            if index == 40 {
                engine.handle(now, &Input::Reconfigure(Box::new(others.clone())));
            }
            engine.handle(now, &input);
            let _ = (engine.next_deadline(), engine.durable(), engine.snapshot(now));
        }
    }
}

/// The ports of the rig reach what the properties are about.
#[test]
fn the_properties_are_about_engines_that_act() {
    let mut settings =
        Settings { mode: Mode::Enforce, disruption_max: Disruption::Device, ..Settings::default() };
    settings.rx.actions = vec![ActionKind::PfcOff];
    let mut rig = Rig::new(settings, MonoTime::from_millis(100_000_000));
    introduce(&mut rig);
    for _ in 0..3 {
        rig.read(PortKey(1), Duration::from_millis(100), 0, 5);
    }
    for _ in 0..20 {
        rig.read(PortKey(1), Duration::from_millis(100), 100, 0);
    }
    let kinds = rig.begun.iter().map(|(port, _)| *port).collect::<BTreeSet<_>>();
    assert_eq!(kinds, [PortKey(1)].into());
}
