//! An engine driven by hand: what it is told, and what comes of it.

use std::time::Duration;

use crate::action::{ActionKind, ActionResult, Disruption, Order, Outcome, PutBack, Report};
use crate::binding::Binding;
use crate::drivers::for_driver;
use crate::durable::Durable;
use crate::engine::Engine;
use crate::event::EventKind;
use crate::ids::{ActionId, PortIdentity, PortKey};
use crate::input::{
    BoundPort, DcbOwner, Effect, Ended, GuardAnswer, Input, JournalState, PortDcb, PortLink, Reading,
    SourceRefresh,
};
use crate::phase::Phase;
use crate::settings::{Guard, Mode, Settings};
use crate::units::{Direction, MonoTime, Priority, PriorityMask, Queue};

/// An engine and its clock; ports have one lossless priority, 3, and are read by hand.
pub(super) struct Rig {
    pub(super) engine: Engine,
    pub(super) now: MonoTime,
    pub(super) ports: Vec<Counted>,
    pub(super) events: Vec<EventKind>,
    pub(super) orders: Vec<Order>,
}

/// What a port has counted: pause time in µs, packets.
#[derive(Clone, Copy, Default)]
pub(super) struct Counted {
    pub(super) paused_us: u64,
    pub(super) packets: u64,
}

pub(super) fn settings() -> Settings {
    let mut settings =
        Settings { mode: Mode::Enforce, disruption_max: Disruption::Link, ..Settings::default() };
    settings.rx.actions = vec![ActionKind::PfcOff];
    settings.rx.hold = Duration::from_secs(10);
    settings.rx.hold_link = Duration::from_secs(10);
    settings.guard =
        Some(Guard { url: String::new(), query: String::new(), limit: 1, delay: Duration::ZERO });
    settings
}

impl Rig {
    pub(super) fn new(settings: Settings, drivers: &[&str]) -> Self {
        Self::restored(settings, drivers, Durable::default())
    }

    pub(super) fn restored(settings: Settings, drivers: &[&str], durable: Durable) -> Self {
        let mut rig = Self {
            engine: Engine::new(settings),
            now: MonoTime::from_millis(100_000),
            ports: vec![Counted::default(); drivers.len()],
            events: Vec::new(),
            orders: Vec::new(),
        };
        rig.tell(Input::Journal(Box::new(JournalState {
            durable,
            writable: true,
            seed: 1,
            ..JournalState::default()
        })));
        for (index, driver) in drivers.iter().enumerate() {
            rig.bind(index, driver);
        }
        rig
    }

    pub(super) fn bind(&mut self, index: usize, driver: &str) {
        let names =
            ["rx_prio3_pause_duration", "tx_prio3_packets", "pfc_pri3_rx_duration_us", "tx_packets_pri3"];
        self.bind_names(index, driver, &names);
        self.tell(Input::Dcb(PortDcb {
            port: PortKey(index as u16),
            pfc: Some(PriorityMask(8)),
            owner: DcbOwner::Host,
            headroom: None,
        }));
        self.carrier(index, true);
    }

    pub(super) fn bind_names(&mut self, index: usize, driver: &str, names: &[&str]) {
        let names = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let identity =
            PortIdentity { netdev: format!("eth{index}"), driver: driver.into(), ..PortIdentity::default() };
        let port = PortKey(index as u16);
        self.tell(Input::Bound(BoundPort {
            port,
            identity,
            layout: Binding::new(for_driver(driver), &names).layout().to_vec(),
            refresh: Some(SourceRefresh::Every(Duration::ZERO)),
            actions: vec![ActionKind::PfcOff],
            unsupported: Vec::new(),
        }));
    }

    pub(super) fn tell(&mut self, input: Input) {
        for effect in self.engine.handle(self.now, &input) {
            match effect {
                Effect::Act(order) => self.orders.push(*order),
                Effect::Emit(event) => self.events.push(event.kind),
                Effect::Withdraw(..) | Effect::Pace(..) => {}
                Effect::AskGuard => {
                    let answer = GuardAnswer { asked_at: self.now, answer: Ok(0) };
                    self.tell(Input::GuardAnswer(answer));
                }
            }
        }
    }

    pub(super) fn carrier(&mut self, index: usize, carrier: bool) {
        self.carrier_at(index, carrier, Some(100_000));
    }

    pub(super) fn carrier_at(&mut self, index: usize, carrier: bool, speed_mbps: Option<u64>) {
        self.tell(Input::Link(PortLink {
            port: PortKey(index as u16),
            netdev: format!("eth{index}"),
            carrier: Some(carrier),
            speed_mbps,
            mtu: None,
            bond: None,
            carrier_changes: None,
            packets: None,
        }));
    }

    pub(super) fn pass(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
    }

    /// Reads all ports after 50 ms; those in `paused` were held all the time, the others were sending.
    pub(super) fn read(&mut self, paused: &[usize]) {
        self.pass(50);
        for index in 0..self.ports.len() {
            let counted = &mut self.ports[index];
            if paused.contains(&index) {
                counted.paused_us += 50_000;
            } else {
                counted.packets += 5000;
            }
            let values = vec![counted.paused_us, counted.packets];
            let at = self.now;
            let port = PortKey(index as u16);
            self.tell(Input::Reading(Reading { port, at, took: Duration::from_micros(200), values }));
        }
    }

    pub(super) fn reads(&mut self, count: usize, paused: &[usize]) {
        for _ in 0..count {
            self.read(paused);
        }
    }

    pub(super) fn report(&mut self, action: u64, outcome: Outcome) {
        let report = Report::new(outcome, None);
        self.tell(Input::Outcome(Ended { action: ActionId(action), report }));
    }

    pub(super) fn acted(&mut self, action: u64, result: ActionResult) {
        self.report(action, Outcome::Acted { result, put_back: PutBack::NotNeeded });
    }

    pub(super) fn phase(&self, index: usize) -> Phase {
        let snapshot = self.engine.snapshot(self.now);
        let queues = &snapshot.ports[index].queues;
        let three = Queue::Priority(Priority::new(3).unwrap());
        queues.iter().find(|q| q.queue == three && q.direction == Direction::Rx).unwrap().phase
    }

    /// Lets every tick happen that is due up to `millis` from now; panics if one changes nothing and is due again.
    pub(super) fn tick(&mut self, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        while let Some(due) = self.engine.next_deadline().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.tell(Input::Tick);
            let next = self.engine.next_deadline();
            assert!(next.is_none_or(|next| next > self.now), "the tick at {due} comes at once again");
        }
        self.now = until;
    }
}
