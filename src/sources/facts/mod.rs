//! What is known of a port beside its counters, and who finds it out: one thread per port that asks slowly, and at once
//! when the kernel tells of a change. It is never joined, and a question of its own that hangs blinds nothing else.

mod kernel;
mod told;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use rocewatch_core::ids::PortKey;
use rocewatch_core::snapshot::Snapshot;
use rocewatch_core::units::MonoTime;
use tokio::sync::watch;

use super::{Feed, failure_label, with_causes};
use crate::clock;
use crate::export::stats::{Collector, PortStats};
use crate::runtime::Pollers;
use crate::sys::dcb::DcbSettings;
use crate::sys::devlink::Reporter;
use crate::sys::ethtool_replies::{Coalescing, FecCounts, LinkState, PauseState, StandardCounts};
use crate::sys::netdev::BusDevice;

pub use kernel::KernelFacts;
pub(crate) use kernel::reporters_of_port;
use told::Told;
pub(crate) use told::headroom_of;

/// The engine takes nothing about a port that it does not know yet; snapshots, which show what it knows, come this
/// often at most.
const UNKNOWN_WAIT: Duration = Duration::from_millis(100);

/// The least time from one question about a topic to the next, however often a change is told of.
const ASKED_APART: Duration = Duration::from_millis(100);

/// After a question that failed, as during a reset: it is over in seconds.
const FAILED_WAIT: Duration = Duration::from_secs(5);

/// What is known of a port beside its counters. What was not told the last time it was asked for is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortFacts {
    /// Its DCB settings.
    pub dcb: Option<DcbSettings>,
    /// Its 802.3x pause.
    pub pause: Option<PauseState>,
    /// How long it may send pause, in milliseconds: 0 is without end, 65535 as long as the driver likes.
    pub prevention_timeout_ms: Option<u16>,
    /// Its forward error correction.
    pub fec: Option<FecCounts>,
    /// How it coalesces.
    pub coalescing: Option<Coalescing>,
    /// Its link.
    pub link: Option<LinkState>,
    /// Its standard counters.
    pub standard: Option<StandardCounts>,
    /// The reporters of its health: its own, and those of its device that it has none of the same name of.
    pub reporters: Vec<Reporter>,
}

/// What is asked for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// DCB settings.
    Dcb,
    /// Everything that ethtool tells beside the statistics.
    Ethtool,
    /// Health reporters.
    Devlink,
}

impl Topic {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Dcb, Self::Ethtool, Self::Devlink];

    /// How often it is asked about when nothing tells of a change. DCB costs mlx5 some 28 firmware commands under the
    /// node's lock, and firmware changes it without a word.
    const fn period(self) -> Duration {
        match self {
            Self::Dcb | Self::Devlink => Duration::from_secs(30),
            Self::Ethtool => Duration::from_secs(10),
        }
    }

    const fn collector(self) -> Collector {
        match self {
            Self::Dcb => Collector::Dcb,
            Self::Ethtool => Collector::EthtoolNetlink,
            Self::Devlink => Collector::Devlink,
        }
    }
}

/// What a thread of facts hands on to.
pub struct FactsReach {
    /// Where inputs go, and counts.
    pub feed: Feed,
    /// Whose names of counters depend on what is found out.
    pub pollers: Pollers,
    /// What the engine knows.
    pub snapshots: watch::Receiver<Arc<Snapshot>>,
}

/// A running thread of facts.
#[derive(Debug)]
pub struct Facts {
    device: Option<BusDevice>,
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct Shared {
    stale: [AtomicBool; Topic::ALL.len()],
    stop: AtomicBool,
}

impl Facts {
    /// Begins to ask `kernel` about `port`.
    ///
    /// # Errors
    /// If no thread can be made.
    pub fn start(port: PortKey, kernel: KernelFacts, reach: FactsReach) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = reach.feed.stats.port(port);
        let told = Told::new(port);
        let device = kernel.device().cloned();
        let asker = Asker {
            port,
            kernel,
            reach,
            own,
            shared: Arc::clone(&shared),
            told,
            is_known: false,
            failing: [const { None }; Topic::ALL.len()],
        };
        let handle = thread::Builder::new().name(format!("facts-{}", port.0)).spawn(move || asker.run())?;
        Ok(Self { device, shared, thread: handle.thread().clone() })
    }

    /// The device on a bus that the port is a function of.
    #[must_use]
    pub const fn device(&self) -> Option<&BusDevice> {
        self.device.as_ref()
    }

    /// Asks about `topic` at once, whenever it was asked last.
    pub fn ask_again(&self, topic: Topic) {
        self.shared.stale[topic as usize].store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

impl Drop for Facts {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

/// When to ask about what.
#[derive(Debug)]
struct Agenda {
    due: [MonoTime; Topic::ALL.len()],
    /// Not before then, whatever changes.
    soonest: [MonoTime; Topic::ALL.len()],
}

impl Default for Agenda {
    fn default() -> Self {
        let at_once = [MonoTime::ZERO; Topic::ALL.len()];
        Self { due: at_once, soonest: at_once }
    }
}

impl Agenda {
    /// As soon as may be, for something has changed.
    fn hurry(&mut self, topic: Topic) {
        let topic = topic as usize;
        self.due[topic] = self.due[topic].min(self.soonest[topic]);
    }

    fn is_due(&self, topic: Topic, now: MonoTime) -> bool {
        now >= self.due[topic as usize]
    }

    fn asked(&mut self, topic: Topic, now: MonoTime, wait: Duration) {
        self.due[topic as usize] = now + wait;
        self.soonest[topic as usize] = now + ASKED_APART;
    }

    /// When something is due.
    fn next(&self) -> MonoTime {
        self.due.iter().min().copied().unwrap_or(MonoTime::ZERO)
    }
}

struct Asker {
    port: PortKey,
    kernel: KernelFacts,
    reach: FactsReach,
    own: Arc<PortStats>,
    shared: Arc<Shared>,
    told: Told,
    /// Whether the engine knows the port.
    is_known: bool,
    /// What went wrong the last time, by topic, so that it is said once.
    failing: [Option<String>; Topic::ALL.len()],
}

impl Asker {
    fn run(mut self) {
        let mut facts = PortFacts::default();
        let mut agenda = Agenda::default();
        while !self.shared.stop.load(Ordering::Relaxed) {
            for topic in Topic::ALL {
                if self.shared.stale[topic as usize].swap(false, Ordering::Relaxed) {
                    agenda.hurry(topic);
                }
                if agenda.is_due(topic, clock::now()) {
                    let wait = self.look(topic, &mut facts);
                    agenda.asked(topic, clock::now(), wait);
                }
                // The next topic may hang.
                self.tell(&facts);
            }
            let next = agenda.next().since(clock::now());
            thread::park_timeout(if self.is_known { next } else { next.min(UNKNOWN_WAIT) });
        }
    }

    /// Asks about `topic`; says when to ask again.
    fn look(&mut self, topic: Topic, facts: &mut PortFacts) -> Duration {
        let began = clock::now();
        self.own.reads.note_begin(topic.collector(), began);
        let result = self.kernel.read(topic, facts);
        let took = clock::now().since(began);
        let label = result.as_ref().err().map(|error| failure_label(error.errno()));
        self.own.reads.note_read(topic.collector(), took, label.as_deref().map_or(Ok(()), Err));
        self.own.note_facts(facts.clone());
        let failure = result.err().map(|error| with_causes(&error));
        let (netdev, source) = (self.kernel.netdev(), topic.collector().label());
        match (&self.failing[topic as usize], &failure) {
            (before, Some(error)) if before.as_ref() != Some(error) => {
                tracing::warn!(netdev, source, error, "a port does not tell its settings");
            }
            (Some(_), None) => tracing::info!(netdev, source, "a port tells its settings again"),
            (Some(_), Some(_)) | (None, Some(_) | None) => {}
        }
        let wait = if failure.is_some() { FAILED_WAIT.min(topic.period()) } else { topic.period() };
        self.failing[topic as usize] = failure;
        wait
    }

    /// Tells the engine what is new, once it knows the port.
    fn tell(&mut self, facts: &PortFacts) {
        self.is_known =
            self.is_known || self.reach.snapshots.borrow().ports.iter().any(|view| view.key == self.port);
        if !self.is_known {
            return;
        }
        let news = self.told.news(facts);
        if news.names_are_stale {
            let pollers = self.reach.pollers.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(poller) = pollers.get(&self.port) {
                poller.names_are_stale();
            }
        }
        for input in news.inputs {
            // The engine is gone only when the agent ends.
            let _ = self.reach.feed.inputs.send(input);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_change_is_asked_about_at_once_and_a_storm_of_them_ten_times_a_second() {
        let mut agenda = Agenda::default();
        let mut asked = Vec::new();
        agenda.asked(Topic::Dcb, MonoTime::ZERO, Topic::Dcb.period());
        for millis in 1000..2000 {
            agenda.hurry(Topic::Dcb);
            let now = MonoTime::from_millis(millis);
            if agenda.is_due(Topic::Dcb, now) {
                agenda.asked(Topic::Dcb, now, Topic::Dcb.period());
                asked.push(millis);
            }
        }
        assert_eq!((asked[0], asked.len()), (1000, 10));
        // The last change is not forgotten.
        assert!(agenda.is_due(Topic::Dcb, MonoTime::from_millis(2000)));
    }
}
