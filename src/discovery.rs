//! Which ports there are: those that come are read, those that go are forgotten, those that change are told of.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rocewatch_core::drivers;
use rocewatch_core::ids::PortKey;
use rocewatch_core::input::{BoundPort, Input};
use rocewatch_core::snapshot::Snapshot;
use rocewatch_core::units::MonoTime;
use tokio::sync::watch;

use crate::actuate::{Actuator, Station};
use crate::clock;
use crate::config::{Admission, DeviceFilter, Pattern};
use crate::export::stats::Collector;
use crate::node::{Node, NodeError, Offer, Seen, Support};
use crate::runtime::Pollers;
use crate::sources::{Facts, FactsReach, Feed, Poller, RawTap, RdmaName, Source, Topic};
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
        let wanted = seen
            .into_iter()
            .map(|seen| (RdmaName::of(&views, &seen), seen))
            .filter(|(rdma, seen)| self.is_wanted(seen, rdma.as_ref()))
            .map(|(rdma, seen)| (seen.id, (rdma, seen)))
            .collect::<BTreeMap<_, _>>();
        if wanted.is_empty() && !self.told_none {
            tracing::warn!(
                devices = others.join(" "),
                "no network device is watched: none is a physical port that [devices] admits"
            );
        }
        self.told_none = wanted.is_empty();
        let gone = self.known.keys().filter(|id| !wanted.contains_key(id)).copied().collect::<Vec<_>>();
        for id in gone {
            self.leave(id);
        }
        for (id, (rdma, seen)) in wanted {
            match self.known.get(&id) {
                None => self.arrive(id, seen, rdma),
                Some(known) if known.seen.netdev != seen.netdev || known.rdma != rdma => {
                    self.rename(id, seen, rdma);
                }
                Some(known) if known.seen != seen => self.change(id, seen),
                Some(_) => {}
            }
        }
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

    fn arrive(&mut self, id: u64, seen: Seen, rdma: Option<RdmaName>) {
        let port = PortKey(self.next_port);
        // Ports that come and go 65,535 times while the agent runs: the last key then stands for the newest.
        self.next_port = self.next_port.saturating_add(1);
        self.start(port, &seen, rdma.as_ref());
        let facts = self.facts(port, &seen);
        self.known.insert(id, Known { port, seen, rdma, facts });
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
        self.start(port, &seen, rdma.as_ref());
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

    fn leave(&mut self, id: u64) {
        let Some(known) = self.known.remove(&id) else { return };
        self.reach.pollers.lock().unwrap_or_else(PoisonError::into_inner).remove(&known.port);
        self.reach.actuator.remove(known.port);
        self.reach.feed.stats.forget_port(known.port);
        self.say(Input::Gone(known.port));
    }

    /// Starts to read a port, and to be able to act on it.
    fn start(&mut self, port: PortKey, seen: &Seen, rdma: Option<&RdmaName>) {
        let mut identity = self.node.identity(seen);
        if let Some(RdmaName { device, port, link_layer }) = rdma.cloned() {
            (identity.device, identity.port, identity.link_layer) = (device, port, link_layer);
        }
        self.note_stats(port, seen);
        let introduction =
            std::iter::once(Input::Link(seen.link(port))).chain(seen.settings(port)).collect::<Vec<_>>();
        let Some(source) = self.source(seen) else {
            let Offer { actions, unsupported } = Offer::commands_only("its counters cannot be read");
            let layout = Vec::new();
            let bound = BoundPort { port, identity, layout, refresh: None, actions, unsupported };
            self.say(Input::Bound(bound));
            introduction.into_iter().for_each(|input| self.say(input));
            return;
        };
        if let Some(source) = self.source(seen) {
            let machine = self.node.machine(seen);
            self.reach
                .actuator
                .add(port, Station { machine, source: Some(source), driver: identity.driver.clone() });
        }
        let source = self.tapped(port, &identity.driver, source);
        let (interval, feed) = (self.reach.interval, self.reach.feed.clone());
        let support = Support::of(&seen.netdev, self.node.offer(seen));
        match Poller::start(port, identity, support, source, introduction, interval, feed) {
            Ok(poller) => {
                self.reach.pollers.lock().unwrap_or_else(PoisonError::into_inner).insert(port, poller);
            }
            Err(error) => tracing::error!(netdev = seen.netdev, %error, "no thread to read a port"),
        }
    }

    /// Starts to ask what is known of a port beside its counters.
    fn facts(&mut self, port: PortKey, seen: &Seen) -> Option<Facts> {
        let kernel = self.node.facts(seen)?;
        let Reach { feed, pollers, snapshots, .. } = &self.reach;
        let (feed, pollers, snapshots) = (feed.clone(), Arc::clone(pollers), snapshots.clone());
        match Facts::start(port, kernel, FactsReach { feed, pollers, snapshots }) {
            Ok(facts) => Some(facts),
            Err(error) => {
                tracing::error!(netdev = seen.netdev, %error, "no thread to ask for the settings of a port");
                None
            }
        }
    }

    fn source(&mut self, seen: &Seen) -> Option<Box<dyn Source>> {
        match self.node.source(seen) {
            Ok(source) => source,
            Err(error) => {
                tracing::warn!(netdev = seen.netdev, %error, "the counters of a port cannot be read");
                None
            }
        }
    }

    /// The source, with what the operator wants to see of it shown.
    fn tapped(&self, port: PortKey, driver: &str, source: Box<dyn Source>) -> Box<dyn Source> {
        let Reach { raw, feed, .. } = &self.reach;
        if !raw.is_set() {
            return source;
        }
        Box::new(RawTap::new(source, drivers::for_driver(driver), raw.clone(), feed.stats.port(port)))
    }

    fn note_stats(&self, port: PortKey, seen: &Seen) {
        let own = self.reach.feed.stats.port(port);
        own.note_flavour(seen.flavour);
        if let Some(stats) = seen.stats {
            own.note_statistics(stats);
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
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{channel, sync_channel};

    use rocewatch_core::ids::PortIdentity;

    use super::*;
    use crate::actuate::Journal;
    use crate::export::stats::AgentStats;
    use crate::sys::netdev::BusDevice;

    /// Without devices; counts how often they are listed.
    struct Empty(Arc<AtomicUsize>);

    impl Node for Empty {
        fn scan(&mut self) -> Result<Vec<Seen>, NodeError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Vec::new())
        }

        fn identity(&mut self, _seen: &Seen) -> PortIdentity {
            PortIdentity::default()
        }

        fn source(&mut self, _seen: &Seen) -> Result<Option<Box<dyn Source>>, NodeError> {
            Ok(None)
        }
    }

    #[test]
    fn a_storm_of_events_is_one_reason_to_look_again() {
        let looks = Arc::new(AtomicUsize::new(0));
        let (inputs, _taken) = sync_channel(16);
        let stats = Arc::new(AgentStats::default());
        stats.note_rdma(Vec::new());
        let (_snapshots, seen) = watch::channel(Arc::new(Snapshot::default()));
        let actuator = Actuator::new(Arc::new(Mutex::new(Journal::absent())), inputs.clone());
        let reach = Reach {
            feed: Feed { inputs, stats, collector: Collector::Ethtool },
            pollers: Arc::default(),
            actuator: Arc::new(actuator),
            filter: DeviceFilter::default(),
            raw: Pattern::default(),
            interval: Duration::from_secs(1),
            snapshots: seen,
        };
        let (wakes, woken) = channel();
        (0..20 * BURST_MAX).for_each(|_| wakes.send(Wake::Changed).unwrap());
        wakes.send(Wake::Stop).unwrap();
        Discovery::new(Box::new(Empty(Arc::clone(&looks))), reach).run(&woken);
        let looks = looks.load(Ordering::Relaxed);
        assert!((1..5).contains(&looks), "{looks}");
    }

    #[test]
    fn a_change_concerns_the_device_it_is_told_of_and_lost_news_concern_all() {
        let seen = Seen { id: 7, netdev: "eth7".into(), ..Seen::default() };
        let known = Known { port: PortKey(0), seen, rdma: None, facts: None };
        let topics = |wake: Wake| topics_of(&wake, 7, &known);
        assert_eq!(topics(Wake::Dcb("eth7".into())), Some(&[Topic::Dcb][..]));
        assert_eq!(topics(Wake::Dcb("eth8".into())), None);
        let ethtool = |ifindex| Wake::Settings(SettingsEvent::Ethtool { ifindex });
        assert_eq!(topics(ethtool(7)), Some(&[Topic::Ethtool][..]));
        assert_eq!(topics(ethtool(8)), None);
        let device = BusDevice { bus: "pci".into(), address: "0000:3b:00.0".into() };
        assert_eq!(topics(Wake::Settings(SettingsEvent::Health { device })), None);
        assert_eq!(topics(Wake::Settings(SettingsEvent::Lost)), Some(&Topic::ALL[..]));
        assert_eq!(topics(Wake::Changed), None);
    }
}
