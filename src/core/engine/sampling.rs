//! What the last reading of a port says about one queue, in nanoseconds and counts.

use std::time::Duration;

use crate::delta::{Change, Gap};
use crate::drivers::{PauseCounted, PauseScope, PauseTime};
use crate::evidence::{Quality, Sample, frames_to_hold, pause_of_frames};
use crate::units::{MonoTime, Permille, Queue, nanos};

use super::port::Port;
use super::queue::QueueState;

impl Port {
    /// The sample of one queue in the last reading, or why there is none.
    pub(super) fn sample(&self, queue: &QueueState, at: MonoTime) -> Result<Sample, Gap> {
        let since = queue.track.last_at().unwrap_or(at);
        let span = at.since(since);
        let places = &queue.places;
        let frames = places.xoff.or(places.frames).map(|place| self.ledger.change(place));
        let frames = match frames {
            Some(Change::By(frames)) => Some(frames),
            Some(Change::Unknown(_)) | None => None,
        };
        let packets = self.ledger.packets(places, queue.queue, self.caps.priority_packets).map(|p| p.0);
        let speed = self.link.speed_mbps;
        let hold = speed.map(|speed| frames_to_hold(span, speed));
        let (pause_ns, quality) = match places.time {
            Some(place) => match self.ledger.change(place) {
                Change::By(ns) => (ns, self.quality()),
                Change::Unknown(gap) => return Err(gap),
            },
            None => {
                let place = places.xoff.or(places.frames).ok_or(Gap::MissingName)?;
                let speed = speed.ok_or(Gap::MissingName)?;
                match self.ledger.change(place) {
                    Change::By(frames) => (pause_of_frames(frames, speed), Quality::Estimated),
                    Change::Unknown(gap) => return Err(gap),
                }
            }
        };
        let sample = Sample { at, pause_ns, frames, packets, quality, frames_to_hold: hold };
        Ok(self.counted_at_end(sample, span))
    }

    fn quality(&self) -> Quality {
        match self.caps.pause_time {
            PauseTime::Measured => Quality::Measured,
            PauseTime::Requested | PauseTime::Unsettled | PauseTime::None => Quality::Estimated,
        }
    }

    /// Where pause time shows only when the pause ends, frames fast enough to hold the queue stand for it.
    fn counted_at_end(&self, sample: Sample, span: Duration) -> Sample {
        let holding = sample.frames.zip(sample.frames_to_hold).is_some_and(|(n, hold)| n > 0 && n >= hold);
        let still = sample.packets == Some(0);
        if self.caps.pause_counted == PauseCounted::AtEnd && sample.pause_ns == 0 && holding && still {
            return Sample { pause_ns: nanos(span), quality: Quality::Estimated, ..sample };
        }
        sample
    }

    /// Where one pause moves the counters of a whole traffic class, the lowest of the priorities that move in
    /// unison stands for all of them.
    pub(super) fn stands_for_itself(&self, index: usize) -> bool {
        let queue = &self.queues[index];
        let counted = queue.places.xoff.or(queue.places.frames);
        let (PauseScope::TrafficClass, Queue::Priority(_), Some(own)) =
            (self.caps.pause_scope, queue.queue, counted)
        else {
            return true;
        };
        !self.queues[..index].iter().any(|other| {
            other.direction == queue.direction
                && other.places.xoff.or(other.places.frames).is_some_and(|place| {
                    self.ledger.native(place) == self.ledger.native(own)
                        && self.ledger.change(place) == self.ledger.change(own)
                        && self.ledger.change(own) != Change::By(0)
                })
        })
    }

    /// The highest pause share of the last reading, for the pace.
    pub(super) fn share_of_last(&self, span: Duration) -> Permille {
        let paused = self.queues.iter().filter_map(|queue| {
            let place = queue.places.time.or(queue.places.xoff).or(queue.places.frames)?;
            let growth = self.ledger.change(place).known()?;
            if queue.places.time.is_some() {
                return Some(growth);
            }
            Some(pause_of_frames(growth, self.link.speed_mbps?))
        });
        Permille::of(paused.max().unwrap_or(0), nanos(span))
    }
}
