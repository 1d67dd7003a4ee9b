//! What waits for the engine, and at which instant each is to be taken.
//!
//! An engine that comes late, because the node has no processor to spare, finds many readings waiting. None of them is
//! older news for that: each is taken at the instant at which it was read. Taken at the instant of the engine's own
//! waking, the first of them would be too old to be believed, and so would each that follows.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rocewatch_core::input::Input;
use rocewatch_core::units::MonoTime;

use crate::clock;

/// A reading of each of sixty-four ports, with what comes between them.
const WAITING_MAX: usize = 128;
/// Behind this, the engine lives in the present, whatever waits: what is due must not wait for the past.
const BEHIND_MAX: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Inbox {
    inputs: Receiver<Input>,
    waiting: VecDeque<Input>,
    /// How many of them are readings.
    readings: usize,
    /// Time never goes back.
    last: MonoTime,
}

impl Inbox {
    /// Nothing waits yet.
    pub(crate) fn new(inputs: Receiver<Input>) -> Self {
        Self { inputs, waiting: VecDeque::new(), readings: 0, last: clock::now() }
    }

    /// The next input with its instant; a tick if none comes within `patience`, `None` if none will ever come.
    pub(crate) fn next(&mut self, patience: Duration) -> Option<(MonoTime, Input)> {
        if self.waiting.is_empty() {
            match self.inputs.recv_timeout(patience) {
                Ok(input) => self.add(input),
                Err(RecvTimeoutError::Timeout) => self.add(Input::Tick),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        // No more than fit into the queue itself: behind that, readings are dropped and counted, so that an engine that is too
        // slow stays in the present.
        while self.waiting.len() < WAITING_MAX
            && let Ok(input) = self.inputs.try_recv()
        {
            self.add(input);
        }
        self.take(clock::now())
    }

    fn add(&mut self, input: Input) {
        self.readings += usize::from(matches!(input, Input::Reading(_)));
        self.waiting.push_back(input);
    }

    /// The first, at its instant: no later than `now`, and no later than a reading that waits behind it.
    fn take(&mut self, now: MonoTime) -> Option<(MonoTime, Input)> {
        let input = self.waiting.pop_front()?;
        let at = if let Input::Reading(reading) = &input {
            self.readings -= 1;
            now.min(reading.at + reading.took / 2).max(now.before(BEHIND_MAX))
        } else if self.readings > 0 {
            self.last
        } else {
            now
        };
        self.last = self.last.max(at);
        Some((self.last, input))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use rocewatch_core::ids::PortKey;
    use rocewatch_core::input::Reading;

    use super::*;

    fn reading(millis: u64) -> Input {
        let (at, took) = (MonoTime::from_millis(millis), Duration::from_millis(2));
        Input::Reading(Reading { port: PortKey(0), at, took, values: Vec::new() })
    }

    /// The instants, in milliseconds, at which `inputs` are taken that waited until `now`.
    fn instants(inputs: Vec<Input>, now: u64) -> Vec<u64> {
        let (_send, receive) = sync_channel(1);
        let mut inbox = Inbox { last: MonoTime::from_millis(100), ..Inbox::new(receive) };
        inputs.into_iter().for_each(|input| inbox.add(input));
        let taken = std::iter::from_fn(|| inbox.take(MonoTime::from_millis(now)));
        taken.map(|(at, _)| at.as_nanos() / 1_000_000).collect()
    }

    #[test]
    fn readings_that_waited_are_taken_at_the_instants_at_which_they_were_read() {
        assert_eq!(instants(vec![reading(110), reading(160), reading(210)], 900), [111, 161, 211]);
    }

    #[test]
    fn what_comes_between_readings_is_taken_between_them_and_what_comes_last_is_taken_now() {
        let inputs = vec![Input::Tick, reading(110), Input::Tick, reading(160), Input::Tick];
        assert_eq!(instants(inputs, 900), [100, 111, 111, 161, 900]);
    }

    #[test]
    fn an_engine_that_is_far_behind_is_taken_into_the_present() {
        assert_eq!(instants(vec![reading(110), reading(8500)], 9000), [8000, 8501]);
    }

    #[test]
    fn what_does_not_fit_waits_in_the_queue_where_readings_can_be_dropped() {
        let (send, receive) = sync_channel(4 * WAITING_MAX);
        (0..3 * WAITING_MAX).for_each(|_| send.send(Input::Tick).unwrap());
        let mut inbox = Inbox::new(receive);
        inbox.next(Duration::ZERO).unwrap();
        assert!(inbox.waiting.len() <= WAITING_MAX);
        let mut taken = 1;
        while inbox.waiting.len() + taken < 3 * WAITING_MAX {
            inbox.next(Duration::ZERO).unwrap();
            taken += 1;
        }
    }

    #[test]
    fn time_neither_goes_back_nor_ahead() {
        assert_eq!(instants(vec![reading(210), reading(160), reading(5000)], 900), [211, 211, 900]);
    }
}
