//! How one port comes, and how it goes: what is read of it, who can act on it, and what is owed to it when it is not wanted
//! any more.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rocewatch_core::drivers;
use rocewatch_core::ids::{PortIdentity, PortKey};
use rocewatch_core::input::{BoundPort, Input};
use rocewatch_core::units::MonoTime;

use super::{Discovery, Known, Reach, Role};
use crate::actuate::Station;
use crate::clock;
use crate::node::{NodeError, Offer, Seen, Support};
use crate::sources::{Facts, FactsReach, Poller, RawTap, RdmaName, Source};

/// From one attempt to reach counters that could not be reached to the next.
const SOURCE_AGAIN: Duration = Duration::from_secs(10);

/// The counters of one port, for each who reads them: the poller may hang in its own. One without the other would be a port
/// that is watched and can never be acted on.
pub(super) struct Handles {
    poller: Box<dyn Source>,
    actuator: Box<dyn Source>,
}

impl Discovery {
    /// Forgets a device that is gone, or to which nothing is owed.
    pub(super) fn leave(&mut self, id: u64) {
        let Some(known) = self.known.remove(&id) else { return };
        self.stop_reading(&known);
        self.reach.actuator.remove(known.port);
        self.say(Input::Gone(known.port));
    }

    fn stop_reading(&self, known: &Known) {
        self.reach.pollers.lock().unwrap_or_else(PoisonError::into_inner).remove(&known.port);
        self.reach.feed.stats.forget_port(known.port);
    }

    /// Forgets a device that is there and not wanted any more; if it was acted on, it stays as a port without counters until
    /// nothing is owed to it. The engine takes that back first of all.
    pub(super) fn part_with(&mut self, id: u64, seen: &Seen) {
        let Some(known) = self.known.remove(&id) else { return };
        self.stop_reading(&known);
        let port = self.new_port();
        let is_owed = self.reach.actuator.hand_over(known.port, port);
        self.say(Input::Gone(known.port));
        if is_owed {
            let identity = self.node.identity(seen);
            let offer = Offer::commands_only("it is not watched any more: what is owed to it is taken back");
            self.introduce(port, seen, identity, offer);
            self.known
                .insert(id, Known { port, seen: seen.clone(), rdma: None, facts: None, role: Role::Owed });
        }
    }

    /// Whether the engine knows the port, and nothing is owed to it.
    pub(super) fn is_settled(&self, port: PortKey) -> bool {
        let snapshot = Arc::clone(&self.reach.snapshots.borrow());
        let view = snapshot.ports.iter().find(|view| view.key == port);
        view.is_some_and(|view| view.queues.iter().all(|queue| queue.phase.owed().is_none()))
    }

    /// A device that was not wanted is wanted again.
    pub(super) fn take_back(&mut self, id: u64, seen: Seen, rdma: Option<RdmaName>) {
        let Some(known) = self.known.remove(&id) else { return };
        let port = self.new_port();
        self.reach.actuator.hand_over(known.port, port);
        self.say(Input::Gone(known.port));
        self.arrive_as(port, id, seen, rdma);
    }

    /// Starts to be able to act on a port, and to read it if there are handles for that.
    pub(super) fn start(
        &mut self,
        port: PortKey,
        seen: &Seen,
        rdma: Option<&RdmaName>,
        handles: Option<Handles>,
    ) -> Role {
        let mut identity = self.node.identity(seen);
        if let Some(RdmaName { device, port, link_layer }) = rdma.cloned() {
            (identity.device, identity.port, identity.link_layer) = (device, port, link_layer);
        }
        self.note_stats(port, seen);
        let (source, own) = handles.map(|Handles { poller, actuator }| (poller, actuator)).unzip();
        let (machine, driver) = (self.node.machine(seen), identity.driver.clone());
        self.reach.actuator.add(port, Station { machine, source: own, driver });
        let Some(source) = source else {
            self.introduce(port, seen, identity, Offer::commands_only("its counters cannot be read"));
            return Role::Unreadable(clock::now() + SOURCE_AGAIN);
        };
        let support = Support::of(&seen.netdev, self.node.offer(seen));
        let source = self.tapped(port, &identity.driver, source);
        let introduction = std::iter::once(Input::Link(seen.link(port))).chain(seen.settings(port)).collect();
        let (interval, feed) = (self.reach.interval, self.reach.feed.clone());
        match Poller::start(port, identity, support, source, introduction, interval, feed) {
            Ok(poller) => {
                self.reach.pollers.lock().unwrap_or_else(PoisonError::into_inner).insert(port, poller);
            }
            Err(error) => tracing::error!(netdev = seen.netdev, %error, "no thread to read a port"),
        }
        Role::Read
    }

    /// Makes a port known that is not read.
    fn introduce(&self, port: PortKey, seen: &Seen, identity: PortIdentity, offer: Offer) {
        let (layout, Offer { actions, unsupported }) = (Vec::new(), offer);
        self.say(Input::Bound(BoundPort { port, identity, layout, refresh: None, actions, unsupported }));
        self.say(Input::Link(seen.link(port)));
        seen.settings(port).into_iter().for_each(|input| self.say(input));
    }

    /// Starts to read what could not be read before, where that is due and can be reached by now.
    pub(super) fn try_again(&mut self, now: MonoTime) {
        let is_due = |known: &Known| matches!(known.role, Role::Unreadable(at) if at <= now);
        let due = self.known.iter().filter(|(_, known)| is_due(known)).map(|(id, _)| *id);
        for id in due.collect::<Vec<_>>() {
            let Some(Known { port, seen, rdma, .. }) = self.known.get(&id) else { continue };
            let (port, seen, rdma) = (*port, seen.clone(), rdma.clone());
            let role = match self.handles(&seen) {
                Ok(Some(handles)) => {
                    tracing::info!(netdev = seen.netdev, "the counters of a port can be read now");
                    self.start(port, &seen, rdma.as_ref(), Some(handles))
                }
                Ok(None) | Err(_) => Role::Unreadable(now + SOURCE_AGAIN),
            };
            if let Some(known) = self.known.get_mut(&id) {
                known.role = role;
            }
        }
    }

    /// The counters of a device that is new, or called otherwise.
    pub(super) fn counters(&mut self, seen: &Seen) -> Option<Handles> {
        self.handles(seen).unwrap_or_else(|error| {
            tracing::warn!(netdev = seen.netdev, %error, "the counters of a port cannot be read");
            None
        })
    }

    fn handles(&mut self, seen: &Seen) -> Result<Option<Handles>, NodeError> {
        let Some(poller) = self.node.source(seen)? else { return Ok(None) };
        Ok(self.node.source(seen)?.map(|actuator| Handles { poller, actuator }))
    }

    /// Starts to ask what is known of a port beside its counters.
    pub(super) fn facts(&mut self, port: PortKey, seen: &Seen) -> Option<Facts> {
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

    /// The source, with what the operator wants to see of it shown.
    fn tapped(&self, port: PortKey, driver: &str, source: Box<dyn Source>) -> Box<dyn Source> {
        let Reach { raw, feed, .. } = &self.reach;
        if !raw.is_set() {
            return source;
        }
        Box::new(RawTap::new(source, drivers::for_driver(driver), raw.clone(), feed.stats.port(port)))
    }

    pub(super) fn note_stats(&self, port: PortKey, seen: &Seen) {
        let own = self.reach.feed.stats.port(port);
        own.note_flavour(seen.flavour);
        if let Some(stats) = seen.stats {
            own.note_statistics(stats);
        }
    }
}
