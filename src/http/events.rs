//! Events for those who follow them: the last ones, and each new one as it happens. The engine's side publishes and
//! is never held up; a follower that is too slow loses events and is told how many.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rocewatch_core::event::Event;
use tokio::sync::broadcast::{self, error::RecvError};

use crate::export::stats::{AgentStats, LevelGuard};

/// So many of the last events are kept for followers that come back. A storm takes about ten events, so these are
/// about the last hundred storms.
const KEPT: usize = 1000;
/// So many events may wait for one follower before it loses the oldest: the same, as it can then ask for them again.
const WAITING: usize = 1024;

/// The stream of events.
#[derive(Clone, Debug)]
pub struct EventHub {
    kept_max: usize,
    kept: Arc<Mutex<VecDeque<Arc<Event>>>>,
    sender: broadcast::Sender<Arc<Event>>,
    stats: Arc<AgentStats>,
}

impl EventHub {
    /// A stream without events. Followers and losses are counted in `stats`.
    #[must_use]
    pub fn new(stats: Arc<AgentStats>) -> Self {
        Self::of_size(KEPT, WAITING, stats)
    }

    /// One that keeps so many events, and lets so many wait for a follower: their room is taken at once.
    #[must_use]
    pub fn of_size(kept_max: usize, waiting: usize, stats: Arc<AgentStats>) -> Self {
        let (sender, _) = broadcast::channel(waiting);
        Self { kept_max, kept: Arc::default(), sender, stats }
    }

    /// Tells every follower, and keeps the event for those who come back. Does not wait for any of them.
    pub fn publish(&self, event: Arc<Event>) {
        let mut kept = self.lock();
        if kept.len() == self.kept_max {
            kept.pop_front();
        }
        kept.push_back(Arc::clone(&event));
        // It fails when nobody listens. Sent under the lock: a follower gets the event from one side exactly.
        let _ = self.sender.send(event);
    }

    /// Follows the stream from now on.
    #[must_use]
    pub fn follow(&self) -> Follower {
        let kept = self.lock();
        self.follower(VecDeque::new(), Lost(0), &kept)
    }

    /// Follows the stream from behind the event numbered `seq`. A number that has not come yet is one of an earlier
    /// run of the agent, whose events are gone: then the stream begins with all that is kept.
    #[must_use]
    pub fn follow_after(&self, seq: u64) -> Follower {
        let kept = self.lock();
        let last = kept.back().map_or(0, |event| event.seq);
        let from = if seq > last { 0 } else { seq };
        let missed: VecDeque<_> = kept.iter().filter(|event| event.seq > from).map(Arc::clone).collect();
        let next = missed.front().map_or(from + 1, |event| event.seq);
        self.follower(missed, Lost(next - from - 1), &kept)
    }

    fn follower(
        &self,
        missed: VecDeque<Arc<Event>>,
        lost: Lost,
        _kept: &MutexGuard<'_, VecDeque<Arc<Event>>>,
    ) -> Follower {
        Follower {
            lost,
            missed,
            receiver: self.sender.subscribe(),
            stats: Arc::clone(&self.stats),
            _count: self.stats.events.subscribers.enter(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Event>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Events that are gone for a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lost(u64);

/// One who follows the stream.
#[derive(Debug)]
pub struct Follower {
    lost: Lost,
    missed: VecDeque<Arc<Event>>,
    receiver: broadcast::Receiver<Arc<Event>>,
    stats: Arc<AgentStats>,
    _count: LevelGuard,
}

/// What a follower is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The next event.
    Event(Arc<Event>),
    /// So many events are gone that would have come here.
    Lost(u64),
}

impl Follower {
    /// What comes next; `None` when the agent ends.
    pub async fn next(&mut self) -> Option<Told> {
        let Lost(lost) = std::mem::replace(&mut self.lost, Lost(0));
        if lost > 0 {
            return Some(self.lose(lost));
        }
        if let Some(event) = self.missed.pop_front() {
            return Some(Told::Event(event));
        }
        match self.receiver.recv().await {
            Ok(event) => Some(Told::Event(event)),
            Err(RecvError::Lagged(lost)) => Some(self.lose(lost)),
            Err(RecvError::Closed) => None,
        }
    }

    fn lose(&self, lost: u64) -> Told {
        self.stats.events.dropped.add(lost);
        Told::Lost(lost)
    }
}

#[cfg(test)]
mod tests {
    use rocewatch_core::event::{EventKind, Place};
    use rocewatch_core::units::MonoTime;

    use super::*;

    fn event(seq: u64) -> Arc<Event> {
        let at = MonoTime::from_millis(seq);
        Arc::new(Event { seq, at, place: Place::default(), kind: EventKind::Sighted })
    }

    fn hub(events: u64) -> EventHub {
        let hub = EventHub::new(Arc::default());
        (1..=events).for_each(|seq| hub.publish(event(seq)));
        hub
    }

    async fn seqs(follower: &mut Follower, count: usize) -> Vec<u64> {
        let mut seqs = Vec::new();
        while seqs.len() < count {
            match follower.next().await.unwrap() {
                Told::Event(event) => seqs.push(event.seq),
                Told::Lost(lost) => panic!("{lost} lost"),
            }
        }
        seqs
    }

    #[tokio::test]
    async fn a_new_follower_hears_what_happens_from_then_on() {
        let hub = hub(3);
        let mut follower = hub.follow();
        hub.publish(event(4));
        assert_eq!(seqs(&mut follower, 1).await, [4]);
    }

    #[tokio::test]
    async fn one_who_comes_back_hears_everything_in_between_once() {
        let hub = hub(5);
        let mut follower = hub.follow_after(2);
        hub.publish(event(6));
        assert_eq!(seqs(&mut follower, 4).await, [3, 4, 5, 6]);
        let mut up_to_date = hub.follow_after(6);
        hub.publish(event(7));
        assert_eq!(seqs(&mut up_to_date, 1).await, [7]);
    }

    #[tokio::test]
    async fn what_is_kept_no_more_is_told_as_a_number() {
        let hub = hub(1500);
        let mut follower = hub.follow_after(100);
        assert_eq!(follower.next().await, Some(Told::Lost(400)));
        assert_eq!(seqs(&mut follower, 1000).await, (501..=1500).collect::<Vec<_>>());
        assert_eq!(hub.stats.events.dropped.get(), 400);
    }

    #[tokio::test]
    async fn a_number_of_an_earlier_run_begins_anew() {
        let mut follower = hub(3).follow_after(4000);
        assert_eq!(seqs(&mut follower, 3).await, [1, 2, 3]);
    }

    #[tokio::test]
    async fn a_slow_follower_loses_events_and_is_told_how_many() {
        let hub = hub(0);
        let mut follower = hub.follow();
        (1..=2000).for_each(|seq| hub.publish(event(seq)));
        assert_eq!(follower.next().await, Some(Told::Lost(2000 - WAITING as u64)));
        assert_eq!(seqs(&mut follower, WAITING).await.last(), Some(&2000));
        assert_eq!(hub.stats.events.dropped.get(), 2000 - WAITING as u64);
    }

    #[tokio::test]
    async fn followers_are_counted_while_they_follow() {
        let hub = hub(0);
        let follower = hub.follow();
        assert_eq!(hub.stats.events.subscribers.get(), 1);
        drop(follower);
        assert_eq!(hub.stats.events.subscribers.get(), 0);
    }
}
