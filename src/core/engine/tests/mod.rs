//! The engine fed by hand: one port of an mlx5 NIC whose counters the test moves.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test picks one event out of many")]

mod acting;
mod field;
mod nvmf;
mod regressions;
mod rig;
mod seeing;
mod trial;
mod withdrawn;

use std::time::Duration;

use crate::action::{ActionKind, Disruption, Order, Outcome, PutBack, Report};
use crate::binding::Binding;
use crate::drivers;
use crate::event::{Event, EventKind};
use crate::ids::{ActionId, PortIdentity, PortKey};
use crate::input::{
    BoundPort, DcbOwner, Effect, Ended, Input, JournalState, PortDcb, PortLink, Reading, SourceRefresh,
};
use crate::policy::Veto;
use crate::settings::{Guard, Mode, Settings};
use crate::units::{Direction, MonoTime, PriorityMask, Queue};

use super::Engine;

const PORT: PortKey = PortKey(0);
const STEP: Duration = Duration::from_millis(50);
const TOOK: Duration = Duration::from_micros(500);
const PRIO3: PriorityMask = PriorityMask(0b1000);

/// What priority 3 does in one reading.
#[derive(Clone, Copy)]
struct Does {
    paused_us: u64,
    packets: u64,
}

const IDLE: Does = Does { paused_us: 0, packets: 0 };
const BUSY: Does = Does { paused_us: 0, packets: 1000 };
const STUCK: Does = Does { paused_us: 50_000, packets: 0 };

/// One port, its counters, and everything the engine has said.
struct Bench {
    engine: Engine,
    now: MonoTime,
    names: Vec<String>,
    values: Vec<u64>,
    events: Vec<Event>,
    orders: Vec<Order>,
    withdrawn: Vec<(ActionId, Veto)>,
    asked: usize,
}

fn names() -> Vec<String> {
    let mut names = vec!["rx_packets_phy".to_owned(), "tx_packets_phy".to_owned()];
    for prio in 0..8 {
        names.push(format!("rx_prio{prio}_packets"));
        names.push(format!("tx_prio{prio}_packets"));
    }
    for name in ["rx_prio3_pause", "rx_prio3_pause_duration", "tx_prio3_pause", "tx_prio3_pause_duration"] {
        names.push(name.to_owned());
    }
    names
}

fn acting(kinds: &[ActionKind]) -> Settings {
    let mut settings =
        Settings { mode: Mode::Enforce, disruption_max: Disruption::Link, ..Settings::default() };
    settings.rx.actions = kinds.to_vec();
    settings.tx.actions = kinds.to_vec();
    settings.guard = Some(Guard {
        url: "http://localhost:9090".into(),
        query: "count(rocewatch_watchdog_storm == 1)".into(),
        limit: 3,
        delay: Duration::from_secs(2),
    });
    settings
}

impl Bench {
    /// A port that has been idle for a second, PFC on for priority 3.
    fn new(driver: &str, settings: Settings) -> Self {
        let mut bench = Self {
            engine: Engine::new(settings),
            now: MonoTime::from_millis(1000),
            names: names(),
            values: vec![1_000_000; names().len()],
            events: Vec::new(),
            orders: Vec::new(),
            withdrawn: Vec::new(),
            asked: 0,
        };
        bench.tell(Input::Journal(Box::new(JournalState { writable: true, ..JournalState::default() })));
        bench.bind(driver);
        bench.tell(Input::Link(bench.link(Some(true))));
        bench.tell(Input::Dcb(PortDcb {
            port: PORT,
            pfc: Some(PRIO3),
            owner: DcbOwner::Host,
            headroom: None,
        }));
        bench.run(20, BUSY);
        bench
    }

    fn bind(&mut self, driver: &str) {
        let binding = Binding::new(drivers::for_driver(driver), &self.names);
        self.tell(Input::Bound(BoundPort {
            port: PORT,
            identity: PortIdentity {
                netdev: "eth0".into(),
                driver: driver.into(),
                ..PortIdentity::default()
            },
            layout: binding.layout().to_vec(),
            refresh: Some(SourceRefresh::Every(Duration::ZERO)),
            actions: ActionKind::ALL.to_vec(),
            unsupported: Vec::new(),
        }));
    }

    fn link(&self, carrier: Option<bool>) -> PortLink {
        PortLink {
            port: PORT,
            netdev: "eth0".into(),
            carrier,
            speed_mbps: Some(100_000),
            mtu: Some(4200),
            bond: None,
            carrier_changes: None,
            packets: None,
        }
    }

    fn tell(&mut self, input: Input) {
        for effect in self.engine.handle(self.now, &input) {
            match effect {
                Effect::Emit(event) => self.events.push(*event),
                Effect::Act(order) => self.orders.push(*order),
                Effect::AskGuard => self.asked += 1,
                Effect::Withdraw(id, veto) => self.withdrawn.push((id, veto)),
                Effect::Pace(..) => {}
            }
        }
    }

    fn add(&mut self, name: &str, more: u64) {
        if let Some(place) = self.names.iter().position(|known| known == name) {
            self.values[place] += more;
        }
    }

    /// One reading, a step later.
    fn read(&mut self, does: Does) {
        self.now = self.now + STEP;
        self.add("rx_prio3_pause_duration", does.paused_us);
        self.add("rx_prio3_pause", does.paused_us / 300);
        self.add("tx_prio3_packets", does.packets);
        self.add("tx_packets_phy", does.packets);
        self.read_as_is();
    }

    fn read_as_is(&mut self) {
        let driver = self.engine.ports[&PORT].identity.driver.clone();
        let binding = Binding::new(drivers::for_driver(&driver), &self.names);
        let mut values = Vec::new();
        binding.pick(&self.values, &mut values).unwrap();
        self.tell(Input::Reading(Reading { port: PORT, at: self.now, took: TOOK, values }));
    }

    fn run(&mut self, readings: usize, does: Does) {
        for _ in 0..readings {
            self.read(does);
        }
    }

    /// Lets time pass without readings.
    fn wait(&mut self, span: Duration) {
        let until = self.now + span;
        while let Some(due) = self.engine.next_deadline().filter(|due| *due < until) {
            self.now = self.now.max(due) + Duration::from_nanos(1);
            self.tell(Input::Tick);
        }
        self.now = until;
        self.tell(Input::Tick);
    }

    fn report(&mut self, action: ActionId, outcome: Outcome) {
        self.tell(Input::Outcome(Ended { action, report: Report::new(outcome, None) }));
    }

    fn succeed(&mut self, action: ActionId) {
        let result = crate::action::ActionResult::Ok;
        self.report(action, Outcome::Acted { result, put_back: PutBack::NotNeeded });
    }

    fn queue(&self, direction: Direction) -> &super::queue::QueueState {
        let three = Queue::Priority(crate::units::Priority::ALL[3]);
        let index = self.engine.index(PORT, three, direction).unwrap();
        &self.engine.ports[&PORT].queues[index]
    }

    fn phase(&self) -> &'static str {
        self.queue(Direction::Rx).phase.label()
    }

    fn count(&self, name: &str) -> usize {
        self.events.iter().filter(|event| event.kind.name() == name).count()
    }

    fn vetoes(&self) -> Vec<&'static str> {
        let reason = |event: &Event| match event.kind {
            EventKind::ActionVetoed { reason, .. } => Some(reason.label()),
            _ => None,
        };
        self.events.iter().filter_map(reason).collect()
    }
}
