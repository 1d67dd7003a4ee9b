//! Which ports there are: those that come are read, those that go are forgotten, those that change are told of.

mod port;

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rocewatch_core::ids::PortKey;
use rocewatch_core::input::Input;
use rocewatch_core::snapshot::Snapshot;
use rocewatch_core::units::MonoTime;
use tokio::sync::watch;

use crate::actuate::Actuator;
use crate::clock;
use crate::config::{Admission, DeviceFilter, Pattern};
use crate::export::stats::Collector;
use crate::node::{Node, NodeError, Seen};
use crate::runtime::Pollers;
use crate::sources::{Facts, Feed, RdmaName, Topic};
use crate::sys::settings_watch::SettingsEvent;

/// What wakes discovery before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Something about some link has changed.
    Changed,
    /// The DCB settings of this device may have changed, and with them the names of its counters.
    Dcb(String),
    /// Other settings have changed.
    Settings(SettingsEvent),
    /// The agent ends.
    Stop,
}

/// What discovery hands on to.
pub struct Reach {
    /// Where readings go.
    pub feed: Feed,
    /// The pollers it starts and ends.
    pub pollers: Pollers,
    /// Learns of every port.
    pub actuator: Arc<Actuator>,
    /// Which devices are wanted.
    pub filter: DeviceFilter,
    /// Which counters without a metric are shown by name.
    pub raw: Pattern,
    /// How often a new port is read.
    pub interval: Duration,
    /// What the engine knows.
    pub snapshots: watch::Receiver<Arc<Snapshot>>,
}

struct Known {
    port: PortKey,
    seen: Seen,
    rdma: Option<RdmaName>,
    facts: Option<Facts>,
    role: Role,
}

/// What a device is known for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It is read.
    Read,
    /// Its counters cannot be read; they are tried again then.
    Unreadable(MonoTime),
    /// It is not wanted any more, and here only for what is owed to it.
    Owed,
}

/// A kernel lists its RDMA devices at once. One that does not is not waited for: its ports get their names when it
/// does.
const RDMA_PATIENCE: Duration = Duration::from_secs(1);

/// The least time between looks: links are listed under the kernel's lock. The first event of a burst is not delayed.
const LOOKS_APART: Duration = Duration::from_millis(100);
/// Events that are taken for one reason to look, besides those before its time.
const BURST_MAX: usize = 1024;

/// See the module.
pub struct Discovery {
    node: Box<dyn Node>,
    reach: Reach,
    known: BTreeMap<u64, Known>,
    next_port: u16,
    failed: Option<String>,
    /// It was told that there is no port.
    told_none: bool,
    /// The ports that were last said to carry a default route.
    in_band: Vec<PortKey>,
}

impl Discovery {
    /// A discovery that has found nothing yet.
    #[must_use]
    pub fn new(node: Box<dyn Node>, reach: Reach) -> Self {
        Self {
            node,
            reach,
            known: BTreeMap::new(),
            next_port: 0,
            failed: None,
            told_none: false,
            in_band: Vec::new(),
        }
    }

    /// Looks again and again, until it is told to stop.
    pub fn run(mut self, wakes: &Receiver<Wake>) {
        self.reach.feed.stats.wait_for_rdma(RDMA_PATIENCE);
        loop {
            let looked_at = clock::now();
            self.look();
            match wakes.recv_timeout(self.node.pace()) {
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return self.stop(),
                Ok(wake) => self.heed(&wake),
                Err(RecvTimeoutError::Timeout) => continue,
            }
            if !self.hear_out(wakes, looked_at + LOOKS_APART) {
                return self.stop();
            }
        }
    }

    /// Takes what is waiting and what comes before `until`: a burst of events is one reason to look. False if the agent
    /// ends.
    fn hear_out(&self, wakes: &Receiver<Wake>, until: MonoTime) -> bool {
        let mut late = 0;
        while late < BURST_MAX {
            let now = clock::now();
            late += usize::from(now >= until);
            match wakes.recv_timeout(until.since(now)) {
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Ok(wake) => self.heed(&wake),
                Err(RecvTimeoutError::Timeout) => return true,
            }
        }
        true
    }

    /// Nothing is read any more; a read that hangs is left to itself.
    fn stop(self) {
        self.reach.pollers.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Has what a change may have altered asked for again.
    fn heed(&self, wake: &Wake) {
        for (id, known) in &self.known {
            let Some(topics) = topics_of(wake, *id, known) else { continue };
            if let Some(facts) = &known.facts {
                topics.iter().for_each(|topic| facts.ask_again(*topic));
            }
            self.names_are_stale(known.port);
        }
    }

    fn names_are_stale(&self, port: PortKey) {
        let pollers = self.reach.pollers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(poller) = pollers.get(&port) {
            poller.names_are_stale();
        }
    }

    /// Looks once.
    pub fn look(&mut self) {
        let (began, reads) = (clock::now(), &self.reach.feed.stats.reads);
        reads.note_begin(Collector::Link, began);
        let seen = self.node.scan();
        let result = seen.as_ref().map(|_| ()).map_err(|_| "failed");
        reads.note_read(Collector::Link, clock::now().since(began), result);
        let seen = match seen {
            Ok(seen) => seen,
            Err(error) => return self.tell(&error),
        };
        self.failed = None;
        let views = self.reach.feed.stats.rdma();
        let others = seen.iter().map(|seen| seen.netdev.clone()).collect::<Vec<_>>();
        let present = seen
            .into_iter()
            .map(|seen| (RdmaName::of(&views, &seen), seen))
            .map(|(rdma, seen)| (seen.id, (self.is_wanted(&seen, rdma.as_ref()), rdma, seen)))
            .collect::<BTreeMap<_, _>>();
        let finds_none = present.values().all(|(is_wanted, ..)| !is_wanted);
        if finds_none && !self.told_none {
            tracing::warn!(
                devices = others.join(" "),
                "no network device is watched: none is a physical port that [devices] admits"
            );
        }
        self.told_none = finds_none;
        let gone = self.known.keys().filter(|id| !present.contains_key(id)).copied().collect::<Vec<_>>();
        for id in gone {
            self.leave(id);
        }
        for (id, (is_wanted, rdma, seen)) in present {
            match (is_wanted, self.known.get(&id)) {
                (false, None) => {}
                (false, Some(known)) if known.role != Role::Owed => self.part_with(id, &seen),
                (false, Some(known)) => {
                    if self.is_settled(known.port) {
                        self.leave(id);
                    }
                }
                (true, None) => self.arrive(id, seen, rdma),
                (true, Some(known)) if known.role == Role::Owed => self.take_back(id, seen, rdma),
                (true, Some(known)) if known.seen.netdev != seen.netdev || known.rdma != rdma => {
                    self.rename(id, seen, rdma);
                }
                (true, Some(known)) if known.seen != seen => self.change(id, seen),
                (true, Some(_)) => {}
            }
        }
        self.try_again(clock::now());
        self.say_in_band();
        self.note_discovered();
    }

    /// Says which ports carry a default route, when others do.
    fn say_in_band(&mut self) {
        let in_band = self.known.values().filter(|known| known.seen.in_band).map(|known| known.port);
        let in_band = in_band.collect::<Vec<_>>();
        if in_band != self.in_band {
            self.in_band.clone_from(&in_band);
            self.say(Input::Route(in_band));
        }
    }

    /// The agent is ready to be judged by its ports once all that were found are in a snapshot.
    fn note_discovered(&self) {
        let stats = &self.reach.feed.stats;
        if stats.is_discovered() {
            return;
        }
        let snapshot = Arc::clone(&self.reach.snapshots.borrow());
        let shown = |port| snapshot.ports.iter().any(|view| view.key == port);
        if snapshot.at > MonoTime::ZERO && self.known.values().all(|known| shown(known.port)) {
            stats.note_discovered();
        }
    }

    /// A device that is named is wanted whatever it is.
    fn is_wanted(&self, seen: &Seen, rdma: Option<&RdmaName>) -> bool {
        let names = std::iter::once(seen.netdev.as_str()).chain(rdma.map(|rdma| rdma.device.as_str()));
        match self.reach.filter.admission(names) {
            Admission::Named => true,
            Admission::Unnamed => seen.physical,
            Admission::Refused => false,
        }
    }

    fn tell(&mut self, error: &NodeError) {
        if self.failed.as_ref() != Some(&error.what) {
            tracing::error!(%error, "the network devices cannot be listed");
            self.failed = Some(error.what.clone());
        }
    }

    fn new_port(&mut self) -> PortKey {
        let port = PortKey(self.next_port);
        // Ports that come and go 65,535 times while the agent runs: the last key then stands for the newest.
        self.next_port = self.next_port.saturating_add(1);
        port
    }

    fn arrive(&mut self, id: u64, seen: Seen, rdma: Option<RdmaName>) {
        let port = self.new_port();
        self.arrive_as(port, id, seen, rdma);
    }

    fn arrive_as(&mut self, port: PortKey, id: u64, seen: Seen, rdma: Option<RdmaName>) {
        let counters = self.counters(&seen);
        let role = self.start(port, &seen, rdma.as_ref(), counters);
        let facts = self.facts(port, &seen);
        self.known.insert(id, Known { port, seen, rdma, facts, role });
    }

    fn rename(&mut self, id: u64, seen: Seen, rdma: Option<RdmaName>) {
        let Some(known) = self.known.get_mut(&id) else { return };
        let port = known.port;
        self.reach.pollers.lock().unwrap_or_else(PoisonError::into_inner).remove(&port);
        known.seen = seen.clone();
        // Changes may have been told under the new name before it was known here.
        if let Some(facts) = &known.facts {
            Topic::ALL.iter().for_each(|topic| facts.ask_again(*topic));
        }
        known.rdma = rdma.clone();
        let counters = self.counters(&seen);
        let role = self.start(port, &seen, rdma.as_ref(), counters);
        if let Some(known) = self.known.get_mut(&id) {
            known.role = role;
        }
        self.say(Input::Link(seen.link(port)));
    }

    fn change(&mut self, id: u64, seen: Seen) {
        let Some(known) = self.known.get_mut(&id) else { return };
        let port = known.port;
        let before = std::mem::replace(&mut known.seen, seen.clone());
        self.note_stats(port, &seen);
        self.say(Input::Link(seen.link(port)));
        let told = before.settings(port);
        let news = seen.settings(port).into_iter().filter(|input| !told.contains(input));
        news.for_each(|input| self.say(input));
        let facts = self.known.get(&id).and_then(|known| known.facts.as_ref());
        if let Some(facts) = facts.filter(|_| before.carrier != seen.carrier) {
            // Why the link is down, or how often it was.
            facts.ask_again(Topic::Ethtool);
        }
        if before.pfc != seen.pfc || before.pause != seen.pause {
            self.names_are_stale(port);
        }
    }

    /// The engine is gone only when the agent ends.
    fn say(&self, input: Input) {
        let _ = self.reach.feed.inputs.send(input);
    }
}

/// What to ask a device for after a change; `None` if the change was not of this one.
fn topics_of(wake: &Wake, id: u64, known: &Known) -> Option<&'static [Topic]> {
    let device = || known.facts.as_ref().and_then(Facts::device);
    match wake {
        Wake::Dcb(netdev) => (known.seen.netdev == *netdev).then_some(&[Topic::Dcb]),
        Wake::Settings(SettingsEvent::Ethtool { ifindex }) => {
            (id == u64::from(*ifindex)).then_some(&[Topic::Ethtool])
        }
        Wake::Settings(SettingsEvent::Health { device: of }) => {
            (device() == Some(of)).then_some(&[Topic::Devlink])
        }
        Wake::Settings(SettingsEvent::Lost) => Some(&Topic::ALL),
        Wake::Changed | Wake::Stop => None,
    }
}

#[cfg(test)]
mod tests;
