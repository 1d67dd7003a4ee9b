//! The line of those who have sent the engine an input and wait for what comes of it. Who has waited too long takes the
//! input back, as long as the engine has not begun with it: what is refused is not done afterwards.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rocewatch_core::durable::Maintained;
use rocewatch_core::event::Event;
use rocewatch_core::input::Input;

use super::message::Answer;

/// What the engine tells about one input, and what is in maintenance after it.
#[derive(Clone, Debug)]
pub struct Told {
    /// What happened.
    pub events: Vec<Event>,
    /// What is in maintenance now.
    pub maintenance: Vec<Maintained>,
}

/// Those who wait, in the order of their inputs.
#[derive(Clone, Debug, Default)]
pub struct Replies(Arc<Mutex<VecDeque<Turn>>>);

/// One who waits, as the engine's loop sees it.
#[derive(Debug)]
struct Turn {
    reply: SyncSender<Told>,
    taken: Arc<AtomicBool>,
}

/// Whoever had sent the input has taken it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withdrawn;

/// One who waits, as they see it themselves.
#[derive(Debug)]
pub(super) struct Wait {
    told: Receiver<Told>,
    taken: Arc<AtomicBool>,
}

impl Replies {
    /// Sends `input` and stands in line. The lock makes one step of both.
    pub(super) fn send(&self, inputs: &SyncSender<Input>, input: Input) -> Result<Wait, String> {
        let (reply, told) = sync_channel(1);
        let taken = Arc::new(AtomicBool::new(false));
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match inputs.try_send(input) {
            Ok(()) => line.push_back(Turn { reply, taken: Arc::clone(&taken) }),
            Err(TrySendError::Full(_)) => return Err("the agent has too much to do: try again".into()),
            Err(TrySendError::Disconnected(_)) => return Err("the agent is about to end".into()),
        }
        Ok(Wait { told, taken })
    }

    /// Whom to tell about the input that was just received, if anybody waits: after this it cannot be taken back.
    ///
    /// # Errors
    /// It was: nothing may be done about it.
    pub fn take(&self) -> Result<Option<SyncSender<Told>>, Withdrawn> {
        let turn = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match turn {
            Some(Turn { taken, .. }) if taken.swap(true, Ordering::AcqRel) => Err(Withdrawn),
            turn => Ok(turn.map(|turn| turn.reply)),
        }
    }
}

impl Wait {
    /// What came of the input: waits `patience` for the engine to begin with it, and as long again for it to end.
    pub(super) fn told(self, patience: Duration) -> Result<Told, Answer> {
        if let Ok(told) = self.told.recv_timeout(patience) {
            return Ok(told);
        }
        let seconds = patience.as_secs();
        if !self.taken.swap(true, Ordering::AcqRel) {
            let what = format!("the agent has not come to it within {seconds} s: it is withdrawn");
            return Err(Answer::refused(what));
        }
        self.told.recv_timeout(patience).map_err(|_| {
            let what = format!("the agent has begun and not ended it within {seconds} s");
            Answer::Unknown(vec![format!("{what}: it is not known whether it is done, see the status")])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent() -> (Replies, Wait) {
        let (inputs, _kept) = sync_channel(1);
        let replies = Replies::default();
        let wait = replies.send(&inputs, Input::Tick).unwrap();
        (replies, wait)
    }

    #[test]
    fn what_the_engine_has_not_come_to_is_withdrawn_and_not_done_later() {
        let (replies, wait) = sent();
        assert!(matches!(wait.told(Duration::ZERO), Err(Answer::Refused(_))));
        assert_eq!(replies.take().unwrap_err(), Withdrawn);
        assert!(replies.take().unwrap().is_none(), "nobody else waits");
    }

    #[test]
    fn what_the_engine_has_begun_is_not_called_refused() {
        let (replies, wait) = sent();
        let _reply = replies.take().unwrap().unwrap();
        assert!(matches!(wait.told(Duration::ZERO), Err(Answer::Unknown(_))));
    }

    #[test]
    fn an_answer_that_comes_late_is_an_answer() {
        let (replies, wait) = sent();
        let reply = replies.take().unwrap().unwrap();
        reply.send(Told { events: Vec::new(), maintenance: Vec::new() }).unwrap();
        assert!(wait.told(Duration::ZERO).is_ok());
    }

    #[test]
    fn nothing_is_sent_where_there_is_no_room() {
        let (inputs, _kept) = sync_channel(1);
        let replies = Replies::default();
        let _first = replies.send(&inputs, Input::Tick).unwrap();
        assert!(replies.send(&inputs, Input::Tick).unwrap_err().contains("too much to do"));
    }
}
