//! The orders about one device: one after another, in the order in which they came, whoever the port is by then.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Station;

/// Carries out one order.
pub(super) type Job = Box<dyn FnOnce(&Mutex<Station>) + Send>;

/// See the module.
pub(super) struct Line(Mutex<State>);

struct State {
    station: Arc<Mutex<Station>>,
    waiting: VecDeque<Job>,
    /// Somebody works off what is waiting.
    is_busy: bool,
    /// There has been an order.
    is_used: bool,
}

/// What has to follow after [`Line::push`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Somebody has to [`Line::work_off`].
    WorkOff,
    /// Somebody does already.
    Nothing,
}

impl Line {
    pub(super) fn new(station: Station) -> Self {
        let station = Arc::new(Mutex::new(station));
        Self(Mutex::new(State { station, waiting: VecDeque::new(), is_busy: false, is_used: false }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From the next order on it is this station that acts. The order under way goes on with its own.
    pub(super) fn replace(&self, station: Station) {
        self.state().station = Arc::new(Mutex::new(station));
    }

    /// The station that acts now, for what need not wait in line.
    pub(super) fn station(&self) -> Arc<Mutex<Station>> {
        Arc::clone(&self.state().station)
    }

    /// Whether there has been an order.
    pub(super) fn is_used(&self) -> bool {
        self.state().is_used
    }

    pub(super) fn push(&self, job: Job) -> Next {
        let mut state = self.state();
        state.waiting.push_back(job);
        state.is_used = true;
        if std::mem::replace(&mut state.is_busy, true) { Next::Nothing } else { Next::WorkOff }
    }

    /// Nobody can work off what is waiting.
    pub(super) fn give_up(&self) {
        let mut state = self.state();
        state.waiting.clear();
        state.is_busy = false;
    }

    /// Does what is waiting, and what comes meanwhile.
    pub(super) fn work_off(&self) {
        while let Some((station, job)) = self.next() {
            // A fault of one keeps nobody from taking back what is owed.
            let _ = catch_unwind(AssertUnwindSafe(|| job(&station)));
        }
    }

    fn next(&self) -> Option<(Arc<Mutex<Station>>, Job)> {
        let mut state = self.state();
        let job = state.waiting.pop_front();
        state.is_busy = job.is_some();
        Some((Arc::clone(&state.station), job?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::CommandsOnly;

    fn station(driver: &str) -> Station {
        Station { machine: Arc::new(CommandsOnly), source: None, driver: driver.into() }
    }

    #[test]
    fn orders_are_carried_out_one_after_another_and_each_by_the_station_of_its_turn() {
        let (line, log) = (Arc::new(Line::new(station("old"))), Arc::new(Mutex::new(Vec::new())));
        let note = |log: &Arc<Mutex<Vec<_>>>, what: &str, station: &Mutex<Station>| {
            log.lock().unwrap().push(format!("{what} {}", station.lock().unwrap().driver));
        };
        let (own, told) = (Arc::clone(&line), Arc::clone(&log));
        let first: Job = Box::new(move |at| {
            note(&told, "begin", at);
            // The device is renamed, and a second order comes.
            own.replace(station("new"));
            let told = Arc::clone(&told);
            let second = own.push(Box::new({
                let told = Arc::clone(&told);
                move |at| note(&told, "second", at)
            }));
            assert_eq!(second, Next::Nothing, "nobody else begins");
            note(&told, "end", at);
        });
        assert!(!line.is_used());
        assert_eq!(line.push(first), Next::WorkOff);
        line.work_off();
        assert_eq!(*log.lock().unwrap(), ["begin old", "end old", "second new"]);
        assert!(line.is_used());
        assert_eq!(line.push(Box::new(|_| ())), Next::WorkOff, "all were done");
    }

    #[test]
    fn an_order_that_panics_and_a_thread_that_cannot_be_had_keep_nobody_from_the_next_order() {
        let line = Line::new(station(""));
        line.push(Box::new(|_| panic!("a fault")));
        line.work_off();
        assert_eq!(line.push(Box::new(|_| panic!("never begun"))), Next::WorkOff);
        line.give_up();
        let done = Arc::new(Mutex::new(false));
        let own = Arc::clone(&done);
        assert_eq!(line.push(Box::new(move |_| *own.lock().unwrap() = true)), Next::WorkOff);
        line.work_off();
        assert!(*done.lock().unwrap());
    }
}
