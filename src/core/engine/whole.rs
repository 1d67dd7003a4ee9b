//! Whether an engine that stands in a file is one that this version could have written. A recording that begins late
//! holds one, and a file may hold anything: nothing in it may point beyond what is there.

use crate::units::{Direction, Queue};

use super::Engine;
use super::ledger::Ledger;
use super::port::Port;

impl Engine {
    /// See the module. Spans are not looked at: there are many, and [`crate::settings::SPAN_MAX`] holds for all.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.ports.iter().all(|(key, port)| port.key == *key && is_whole(port))
    }
}

fn is_whole(port: &Port) -> bool {
    let expected = Queue::all().flat_map(|queue| Direction::ALL.map(|direction| (queue, direction)));
    let places = |ledger: &Ledger| {
        port.queues.iter().all(|queue| queue.places == ledger.places(queue.queue, queue.direction))
    };
    port.queues.iter().map(|queue| (queue.queue, queue.direction)).eq(expected)
        && port.ledger.is_whole()
        && places(&port.ledger)
}
