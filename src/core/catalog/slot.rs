//! A slot: one counter, of one priority where it has priorities. Everything after the binding speaks of slots.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Counter;
use crate::units::{Direction, Priority, Queue};

/// One counter of a port, with its priority where there is one per priority.
/// Written `pfc_rx_pause_time/3` or `port_rx_packets`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    counter: Counter,
    priority: Option<Priority>,
}

impl Slot {
    /// The slot of a counter that has one value per port.
    ///
    /// # Errors
    /// The counter has one value per priority.
    pub fn of_port(counter: Counter) -> Result<Self, BadSlot> {
        if counter.is_per_priority() {
            return Err(BadSlot::PriorityMissing(counter));
        }
        Ok(Self { counter, priority: None })
    }

    /// The slot of one priority's value of a counter.
    ///
    /// # Errors
    /// The counter has one value per port.
    pub fn of_priority(counter: Counter, priority: Priority) -> Result<Self, BadSlot> {
        if !counter.is_per_priority() {
            return Err(BadSlot::NoPriorities(counter));
        }
        Ok(Self { counter, priority: Some(priority) })
    }

    /// What is counted.
    #[must_use]
    pub const fn counter(self) -> Counter {
        self.counter
    }

    /// The priority it is counted for; present exactly if the counter is one per priority.
    #[must_use]
    pub const fn priority(self) -> Option<Priority> {
        self.priority
    }
}

/// A slot that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSlot {
    /// A counter with one value per priority, and no priority.
    #[error("counter {0} is one per priority: expected {0}/0 to {0}/7")]
    PriorityMissing(Counter),
    /// A counter with one value per port, and a priority.
    #[error("counter {0} is one per port: expected no priority")]
    NoPriorities(Counter),
    /// No such counter.
    #[error(transparent)]
    UnknownCounter(#[from] super::counter::UnknownCounter),
    /// Something behind the slash that is no number from 0 to 7.
    #[error("slot {0:?} ends in no priority: expected 0 to 7")]
    BadPriority(String),
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.priority {
            Some(priority) => write!(f, "{}/{priority}", self.counter),
            None => write!(f, "{}", self.counter),
        }
    }
}

impl std::str::FromStr for Slot {
    type Err = BadSlot;

    fn from_str(text: &str) -> Result<Self, BadSlot> {
        let Some((counter, priority)) = text.split_once('/') else {
            return Self::of_port(text.parse()?);
        };
        let bad = || BadSlot::BadPriority(text.into());
        let priority = Priority::new(priority.parse().map_err(|_| bad())?).ok_or_else(bad)?;
        Self::of_priority(counter.parse()?, priority)
    }
}

impl Serialize for Slot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Slot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The slots that tell about the pause of one queue in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseSlots {
    /// Time paused.
    pub time: Slot,
    /// Pause frames, where a driver does not tell stop from go.
    pub frames: Slot,
    /// Releases after a pause.
    pub transitions: Slot,
    /// Pause frames that stop.
    pub xoff_frames: Slot,
    /// Pause frames that release.
    pub xon_frames: Slot,
    /// Packets in the paused direction: sent ones for rx pause, which stops our sender, received ones for tx pause.
    pub packets: Slot,
}

impl PauseSlots {
    /// The slots of `queue`: PFC of a priority, or 802.3x of the port.
    #[must_use]
    pub const fn of(queue: Queue, direction: Direction) -> Self {
        use Counter as C;
        let (counters, priority) = match (queue, direction) {
            (Queue::Priority(priority), Direction::Rx) => (
                [
                    C::PfcRxPauseTime,
                    C::PfcRxPauseFrames,
                    C::PfcRxPauseTransitions,
                    C::PfcRxXoffFrames,
                    C::PfcRxXonFrames,
                    C::PriorityTxPackets,
                ],
                Some(priority),
            ),
            (Queue::Priority(priority), Direction::Tx) => (
                [
                    C::PfcTxPauseTime,
                    C::PfcTxPauseFrames,
                    C::PfcTxPauseTransitions,
                    C::PfcTxXoffFrames,
                    C::PfcTxXonFrames,
                    C::PriorityRxPackets,
                ],
                Some(priority),
            ),
            (Queue::Global, Direction::Rx) => (
                [
                    C::GlobalRxPauseTime,
                    C::GlobalRxPauseFrames,
                    C::GlobalRxPauseTransitions,
                    C::GlobalRxXoffFrames,
                    C::GlobalRxXonFrames,
                    C::PortTxPackets,
                ],
                None,
            ),
            (Queue::Global, Direction::Tx) => (
                [
                    C::GlobalTxPauseTime,
                    C::GlobalTxPauseFrames,
                    C::GlobalTxPauseTransitions,
                    C::GlobalTxXoffFrames,
                    C::GlobalTxXonFrames,
                    C::PortRxPackets,
                ],
                None,
            ),
        };
        let [time, frames, transitions, xoff_frames, xon_frames, packets] = counters;
        Self {
            time: Slot { counter: time, priority },
            frames: Slot { counter: frames, priority },
            transitions: Slot { counter: transitions, priority },
            xoff_frames: Slot { counter: xoff_frames, priority },
            xon_frames: Slot { counter: xon_frames, priority },
            packets: Slot { counter: packets, priority },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_reads_back_from_its_text() {
        for counter in Counter::ALL {
            let slots: Vec<_> = if counter.is_per_priority() {
                Priority::ALL.iter().map(|p| Slot::of_priority(*counter, *p).unwrap()).collect()
            } else {
                vec![Slot::of_port(*counter).unwrap()]
            };
            for slot in slots {
                assert_eq!(slot.to_string().parse(), Ok(slot));
            }
        }
        assert_eq!(
            PauseSlots::of(Queue::Priority(Priority::ALL[3]), Direction::Rx).time.to_string(),
            "pfc_rx_pause_time/3"
        );
    }

    #[test]
    fn a_slot_has_a_priority_exactly_if_its_counter_has() {
        assert_eq!(
            Slot::of_port(Counter::PfcRxPauseTime).unwrap_err().to_string(),
            "counter pfc_rx_pause_time is one per priority: expected pfc_rx_pause_time/0 to pfc_rx_pause_time/7"
        );
        assert!(matches!(
            Slot::of_priority(Counter::LinkDowns, Priority::ALL[0]),
            Err(BadSlot::NoPriorities(Counter::LinkDowns))
        ));
        for text in
            ["pfc_rx_pause_time", "pfc_rx_pause_time/8", "pfc_rx_pause_time/", "link_downs/0", "none", ""]
        {
            assert!(text.parse::<Slot>().is_err(), "{text}");
        }
    }

    #[test]
    fn pause_slots_are_valid_and_their_packets_flow_where_the_pause_stops_them() {
        for queue in Queue::all() {
            for direction in Direction::ALL {
                let slots = PauseSlots::of(queue, direction);
                let pause =
                    [slots.time, slots.frames, slots.transitions, slots.xoff_frames, slots.xon_frames];
                for slot in pause {
                    assert_eq!(slot.to_string().parse(), Ok(slot));
                    assert_eq!(slot.counter().entry().direction, Some(direction));
                }
                assert_eq!(slots.packets.to_string().parse(), Ok(slots.packets));
                assert_ne!(slots.packets.counter().entry().direction, Some(direction));
            }
        }
    }
}
