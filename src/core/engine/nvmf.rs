//! What becomes of NVMe-oF controllers, beside the pause of the ports that carry them. Nothing is decided by it: a change
//! that falls into a pause is told as one event that names both.

use std::time::Duration;

use crate::event::{EventKind, Place};
use crate::nvmf::{NvmfChange, NvmfTold};
use crate::units::{MonoTime, Permille};

use super::Engine;

/// How long ago a pause may have been that a change is told with. A host gives a controller up when its keep-alive has
/// gone unanswered, which by default is after 5 s, and is looked at once a second.
const LATELY: Duration = Duration::from_secs(10);
/// Half of a detection window: less is what a busy fabric shows at any time.
const PAUSED_MIN: Permille = Permille::of(1, 2);

impl Engine {
    pub(super) fn nvmf(&mut self, change: &NvmfChange, now: MonoTime) {
        let carries = |netdev: &String| change.netdevs.contains(netdev);
        let ports = || self.ports.values().filter(|port| carries(&port.identity.netdev));
        // Of equal ones the first counts, and what is received before what is sent.
        let queues = ports().flat_map(|port| port.queues.iter().map(move |queue| (port, queue))).rev();
        let paused = queues.map(|(port, queue)| (queue.accounts.ratio_since(now, LATELY), port, queue));
        let worst = paused.filter(|(share, ..)| *share >= PAUSED_MIN).max_by_key(|(share, ..)| *share);
        let (place, share, estimated) = match (worst, &change.netdevs[..]) {
            (Some((share, port, queue)), _) => {
                let place = Place {
                    port: Some(port.key),
                    netdev: port.identity.netdev.clone(),
                    priority: Some(queue.queue),
                    direction: Some(queue.direction),
                };
                (place, Some(share), queue.is_estimated())
            }
            (None, [netdev]) => {
                let port = ports().next().map(|port| port.key);
                (Place { port, netdev: netdev.clone(), ..Place::default() }, None, false)
            }
            (None, _) => (Place::default(), None, false),
        };
        let told = NvmfTold { change: change.clone(), paused: share, estimated };
        self.emit(now, place, EventKind::NvmfChanged(told));
    }
}
