//! A simulated NVMe-oF controller: what its host makes of packets that are held on their way.

use std::time::Duration;

use crate::nvmf::NvmfState;
use crate::units::MonoTime;

/// A controller that is reset when nothing has come through for its keep-alive, and is connected again once packets move.
#[derive(Clone, Debug)]
pub struct Path {
    keep_alive: Duration,
    reconnect_delay: Duration,
    state: NvmfState,
    /// The last instant at which something could come through.
    moved_at: MonoTime,
    /// Since when it could, without a break.
    moves_since: MonoTime,
}

impl Path {
    /// One that is live at `now`.
    #[must_use]
    pub const fn new(keep_alive: Duration, reconnect_delay: Duration, now: MonoTime) -> Self {
        Self { keep_alive, reconnect_delay, state: NvmfState::Live, moved_at: now, moves_since: now }
    }

    /// Its state at `now`, with its packets held or not since it was last looked at.
    pub fn look(&mut self, held: bool, now: MonoTime) -> NvmfState {
        if held {
            self.moves_since = now;
            if self.state == NvmfState::Live && now.since(self.moved_at) >= self.keep_alive {
                self.state = NvmfState::Resetting;
            }
        } else {
            self.moved_at = now;
            self.state = match self.state {
                NvmfState::Live => NvmfState::Live,
                NvmfState::New
                | NvmfState::Resetting
                | NvmfState::Connecting
                | NvmfState::Deleting
                | NvmfState::DeletingNoIo
                | NvmfState::Dead => {
                    let is_back = now.since(self.moves_since) >= self.reconnect_delay;
                    if is_back { NvmfState::Live } else { NvmfState::Connecting }
                }
            };
        }
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_shorter_than_the_keep_alive_passes_and_a_longer_one_costs_a_reconnect() {
        let at = MonoTime::from_millis;
        let mut path = Path::new(Duration::from_secs(2), Duration::from_secs(1), at(0));
        let mut look = |held, millis| path.look(held, at(millis)).label();
        assert_eq!([look(true, 1000), look(false, 1900), look(true, 3800)], ["live"; 3]);
        assert_eq!([look(true, 3900), look(true, 5000)], ["resetting", "resetting"]);
        assert_eq!(
            [look(false, 5500), look(false, 5900), look(false, 6000)],
            ["connecting", "connecting", "live"]
        );
    }
}
