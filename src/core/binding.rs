//! Binds the names a device shows to slots, once; after that a reading is a copy of integers.
//!
//! What a port offers is judged by the names present, not by its driver: a name that is missing leaves its slot
//! unbound, which is not a zero. Values stay as the driver counts them; [`Bound`] says how to read them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::catalog::{PauseSlots, Slot};
use crate::drivers::{Driver, Kind, Overflow, Row, Width};
use crate::units::{Direction, Priority, Queue};

/// Which native value feeds a slot, and how to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// What the value means.
    pub slot: Slot,
    /// Its place among the names of the device.
    pub from: u32,
    /// The place of the upper 32 bits, where the device shows them as a number of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_upper: Option<u32>,
    /// Multiplier from the native unit to the unit the slot is held in (nanoseconds, bytes, thousandths, counts).
    pub scale: u64,
    /// Width of the native value.
    pub width: Width,
    /// What the native value does beyond its width.
    pub overflow: Overflow,
    /// Whether the native value grows or is momentary.
    pub kind: Kind,
    /// Rank of the native name: if another source of the port gives the same slot, the lower rank counts.
    pub rank: u8,
}

impl Bound {
    /// The native value in a reading of the device.
    fn value(&self, raw: &[u64]) -> u64 {
        let value = raw[self.from as usize];
        match self.from_upper {
            Some(upper) => raw[upper as usize] << 32 | value & u64::from(u32::MAX),
            None => value,
        }
    }
}

/// The names of one device bound to slots. Not read back from anywhere, so that every place in it exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Binding {
    layout: Vec<Bound>,
    name_count: usize,
    unmapped: Vec<u32>,
    no_counters: Vec<u32>,
    spare: Vec<u32>,
    missing: Vec<Slot>,
}

impl Binding {
    /// Binds the names of `ethtool -S`, in the order the kernel gives them.
    #[must_use]
    pub fn new(driver: &'static Driver, names: &[String]) -> Self {
        Self::of_rows(driver, driver.ethtool, names)
    }

    /// Binds the names of a port's RDMA counters.
    #[must_use]
    pub fn rdma(driver: &'static Driver, names: &[String]) -> Self {
        Self::of_rows(driver, driver.rdma, names)
    }

    fn of_rows(driver: &Driver, rows: &[Row], names: &[String]) -> Self {
        let mut best: BTreeMap<Slot, Bound> = BTreeMap::new();
        let [mut unmapped, mut no_counters, mut spare] = [const { Vec::new() }; 3];
        for (from, name) in (0u32..).zip(names) {
            let Some(bound) = bind(rows, names, from) else {
                let name = name.trim();
                if driver.is_no_counter(name) {
                    no_counters.push(from);
                } else if !is_upper_half(rows, names, name) {
                    unmapped.push(from);
                }
                continue;
            };
            // The first of equal rank wins: a name that occurs twice is one counter shown twice.
            match best.get(&bound.slot) {
                Some(before) if before.rank <= bound.rank => spare.push(from),
                Some(_) | None => {
                    spare.extend(best.insert(bound.slot, bound).map(|before| before.from));
                }
            }
        }
        spare.sort_unstable();
        let missing = slots(rows).into_iter().filter(|slot| !best.contains_key(slot)).collect();
        let layout = best.into_values().collect();
        Self { layout, name_count: names.len(), unmapped, no_counters, spare, missing }
    }

    /// The bound slots, ascending. [`Binding::pick`] gives the values in this order.
    #[must_use]
    pub fn layout(&self) -> &[Bound] {
        &self.layout
    }

    /// Places of counters the driver's table does not know.
    #[must_use]
    pub fn unmapped(&self) -> &[u32] {
        &self.unmapped
    }

    /// Places of names that are no counters ([`Driver::no_counters`]).
    #[must_use]
    pub fn no_counters(&self) -> &[u32] {
        &self.no_counters
    }

    /// Places of names the table knows but a better or an earlier name serves already.
    #[must_use]
    pub fn spare(&self) -> &[u32] {
        &self.spare
    }

    /// Slots the driver's table could fill and the device has no name for.
    #[must_use]
    pub fn missing(&self) -> &[Slot] {
        &self.missing
    }

    /// What the bound names say about pause.
    #[must_use]
    pub fn pause_support(&self) -> PauseSupport {
        PauseSupport::of(&self.layout)
    }

    /// Replaces `out` by the native values of the bound slots in layout order. Allocates only while `out` is too
    /// small to hold them.
    ///
    /// # Errors
    /// `raw` has not one value for each name that was bound: the names have changed and have to be bound anew.
    pub fn pick(&self, raw: &[u64], out: &mut Vec<u64>) -> Result<(), WrongCount> {
        out.clear();
        if raw.len() != self.name_count {
            return Err(WrongCount { values: raw.len(), names: self.name_count });
        }
        out.extend(self.layout.iter().map(|bound| bound.value(raw)));
        Ok(())
    }
}

/// The slot of the name at `from`, if a row knows it. A lower half without its upper one is no number.
fn bind(rows: &[Row], names: &[String], from: u32) -> Option<Bound> {
    let name = names[from as usize].trim();
    let (row, priority) = rows.iter().find_map(|row| Some((row, row.matches(name)?)))?;
    let slot = slot(row, priority)?;
    let from_upper = match row.upper_half {
        Some(upper) => Some(place(names, upper)?),
        None => None,
    };
    Some(Bound {
        slot,
        from,
        from_upper,
        scale: row.unit.scale(),
        width: row.width,
        overflow: row.overflow,
        kind: row.kind,
        rank: row.rank,
    })
}

/// Whether `name` is the upper half of a number whose lower half is there too.
fn is_upper_half(rows: &[Row], names: &[String], name: &str) -> bool {
    rows.iter().any(|row| row.upper_half == Some(name) && place(names, row.pattern).is_some())
}

fn place(names: &[String], of: &str) -> Option<u32> {
    (0u32..).zip(names).find(|(_, name)| name.trim() == of).map(|(place, _)| place)
}

/// `None` for a row whose pattern disagrees with its counter about priorities, which a test of the tables excludes.
fn slot(row: &Row, priority: Option<Priority>) -> Option<Slot> {
    match priority {
        Some(priority) => Slot::of_priority(row.counter, priority).ok(),
        None => Slot::of_port(row.counter).ok(),
    }
}

/// Every slot the rows can fill.
fn slots(rows: &[Row]) -> BTreeSet<Slot> {
    let (by_priority, by_port): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.is_per_priority());
    let ports = by_port.into_iter().filter_map(|row| slot(row, None));
    let priorities =
        by_priority.into_iter().flat_map(|row| Priority::ALL.map(|priority| slot(row, Some(priority))));
    ports.chain(priorities.flatten()).collect()
}

/// A reading with another number of values than names were bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reading has {values} values: expected {names}, one for each name that was bound")]
pub struct WrongCount {
    /// Values in the reading.
    pub values: usize,
    /// Names that were bound.
    pub names: usize,
}

/// What a device tells about the pause of one queue in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseEvidence {
    /// Nothing.
    #[default]
    Absent,
    /// Frames only, which bound the time and do not measure it.
    Frames,
    /// The time itself.
    Time,
}

/// What a device tells about pause, for each queue and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PauseSupport {
    by_queue: [[PauseEvidence; 2]; Queue::COUNT],
}

impl PauseSupport {
    /// What `layout` offers.
    #[must_use]
    pub fn of(layout: &[Bound]) -> Self {
        let bound: BTreeSet<Slot> = layout.iter().map(|bound| bound.slot).collect();
        let mut support = Self::default();
        for queue in Queue::all() {
            for direction in Direction::ALL {
                let slots = PauseSlots::of(queue, direction);
                let evidence = if bound.contains(&slots.time) {
                    PauseEvidence::Time
                } else if bound.contains(&slots.frames) || bound.contains(&slots.xoff_frames) {
                    PauseEvidence::Frames
                } else {
                    PauseEvidence::Absent
                };
                support.by_queue[queue.index()][direction.index()] = evidence;
            }
        }
        support
    }

    /// What is known of `queue` in `direction`.
    #[must_use]
    pub const fn get(&self, queue: Queue, direction: Direction) -> PauseEvidence {
        self.by_queue[queue.index()][direction.index()]
    }

    /// The best evidence any queue has in any direction.
    #[must_use]
    pub fn best(&self) -> PauseEvidence {
        self.by_queue.iter().flatten().copied().max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Counter;
    use crate::drivers::for_driver;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn bind(driver: &str, of: &[&str]) -> Binding {
        Binding::new(for_driver(driver), &names(of))
    }

    fn priority(value: u8) -> Queue {
        Queue::Priority(Priority::new(value).unwrap())
    }

    fn picked(binding: &Binding, raw: &[u64]) -> Vec<(String, u64)> {
        let mut out = Vec::new();
        binding.pick(raw, &mut out).unwrap();
        binding.layout().iter().map(|bound| bound.slot.to_string()).zip(out).collect()
    }

    #[test]
    fn native_values_come_out_in_slot_order_as_the_driver_counts_them() {
        let binding = bind(
            "mlx5_core",
            &["tx_prio3_packets", "lb", "rx_prio3_pause_duration", "rx_prio0_pause_duration"],
        );
        let expected =
            [("pfc_rx_pause_time/0", 40), ("pfc_rx_pause_time/3", 30), ("priority_tx_packets/3", 10)];
        assert_eq!(
            picked(&binding, &[10, 20, 30, 40]),
            expected.map(|(slot, value)| (slot.to_owned(), value))
        );
        assert_eq!(binding.layout()[0].scale, 1000);
        assert_eq!(binding.unmapped(), [1]);
    }

    #[test]
    fn with_pfc_off_pause_is_absent_and_not_zero() {
        let binding = bind("mlx5_core", &["rx_prio3_bytes", "rx_prio3_packets", "tx_prio3_packets"]);
        assert_eq!(binding.pause_support().get(priority(3), Direction::Rx), PauseEvidence::Absent);
        assert_eq!(binding.pause_support().best(), PauseEvidence::Absent);
        let time = PauseSlots::of(priority(3), Direction::Rx).time;
        assert!(binding.layout().iter().all(|bound| bound.slot != time));
        assert!(binding.missing().contains(&time));
    }

    #[test]
    fn pfc_on_for_one_priority_leaves_the_others_absent() {
        let support = bind("mlx5_core", &["rx_prio3_pause", "rx_prio3_pause_duration"]).pause_support();
        assert_eq!(support.get(priority(3), Direction::Rx), PauseEvidence::Time);
        assert_eq!(support.get(priority(3), Direction::Tx), PauseEvidence::Absent);
        assert_eq!(support.get(priority(4), Direction::Rx), PauseEvidence::Absent);
        assert_eq!(support.get(Queue::Global, Direction::Rx), PauseEvidence::Absent);
    }

    #[test]
    fn a_driver_that_counts_stop_frames_offers_frames_only() {
        let support = bind("ice", &["rx_priority_3_xoff.nic", "rx_priority_3_xon.nic", "link_xoff_tx.nic"])
            .pause_support();
        assert_eq!(support.get(priority(3), Direction::Rx), PauseEvidence::Frames);
        assert_eq!(support.get(Queue::Global, Direction::Tx), PauseEvidence::Frames);
        assert_eq!(support.best(), PauseEvidence::Frames);
    }

    #[test]
    fn firmware_without_durations_offers_frames_where_newer_firmware_offers_time() {
        let old = bind("bnxt_en", &["rx_pfc_ena_frames_pri3"]).pause_support();
        let new = bind("bnxt_en", &["rx_pfc_ena_frames_pri3", "pfc_pri3_rx_duration_us"]).pause_support();
        assert_eq!(old.get(priority(3), Direction::Rx), PauseEvidence::Frames);
        assert_eq!(new.get(priority(3), Direction::Rx), PauseEvidence::Time);
    }

    #[test]
    fn an_unknown_driver_binds_what_means_the_same_everywhere_and_no_pause_time() {
        let binding = bind("nobody", &["rx_flow_control_xoff", "rx_prio3_pause_duration", "rx_packets"]);
        assert_eq!(binding.layout().len(), 1);
        assert_eq!(binding.layout()[0].slot.counter(), Counter::GlobalRxXoffFrames);
        assert_eq!(binding.unmapped(), [1, 2]);
    }

    #[test]
    fn the_lowest_rank_present_wins_wherever_it_stands() {
        for (order, from, spare) in
            [(["port_xmit_data", "rdma_tx_bytes"], 1, 0), (["rdma_tx_bytes", "port_xmit_data"], 0, 1)]
        {
            let binding = Binding::rdma(for_driver("mlx5_core"), &names(&order));
            let [bound] = binding.layout() else { panic!("one slot expected") };
            assert_eq!((bound.from, bound.scale, bound.rank), (from, 1, 2));
            assert_eq!(binding.spare(), [spare]);
        }
        let alone = Binding::rdma(for_driver("mlx5_core"), &names(&["port_xmit_data"]));
        assert_eq!(alone.layout()[0].scale, 4);
    }

    #[test]
    fn a_number_in_two_halves_is_one_counter_and_half_of_it_is_none() {
        let halves = ["rx_roce_bytes_msd", "rx_crc_errors", "rx_roce_bytes_lsd"];
        let binding = bind("be2net", &halves);
        let bytes = ("rdma_rx_bytes".to_owned(), (3 << 32) + 7);
        assert!(picked(&binding, &[3, 0, 7]).contains(&bytes));
        assert!(binding.unmapped().is_empty() && binding.spare().is_empty());
        assert_eq!(bind("be2net", &halves[..1]).unmapped(), [0]);
        let lower = bind("be2net", &halves[2..]);
        assert_eq!((lower.unmapped(), lower.layout().len()), (&[0][..], 0));
    }

    #[test]
    fn an_identifier_among_the_counters_is_none() {
        let binding = bind("veth", &["peer_ifindex", "rx_queue_0_drops"]);
        assert_eq!((binding.no_counters(), binding.unmapped()), (&[0][..], &[1][..]));
    }

    #[test]
    fn names_are_bound_with_blanks_inside_and_without_those_around_them() {
        let gen3 = Binding::rdma(for_driver("irdma"), &names(&["RNR sent", "Nak Sequence Error Implied"]));
        assert_eq!(gen3.layout().len(), 2);
        assert_eq!(bind("cxgb4", &["rx_ppp3_frames         ", "rx_pause_frames        "]).layout().len(), 2);
    }

    #[test]
    fn odd_names_are_tolerated() {
        let binding = bind(
            "bnxt_en",
            &[
                "[0]: rx_ucast_packets",
                "  rx_stat_discard   ",
                "",
                "RNR sent",
                "rx_stat_discard",
                "rx_bytes_pri9",
            ],
        );
        let [bound] = binding.layout() else { panic!("one slot expected") };
        assert_eq!(bound.from, 1);
        assert_eq!(binding.spare(), [4]);
        assert_eq!(binding.unmapped(), [0, 2, 3, 5]);
    }

    #[test]
    fn a_reading_of_another_length_is_refused_and_leaves_nothing_behind() {
        let binding = bind("ice", &["rx_bytes.nic", "tx_bytes.nic"]);
        let mut out = vec![7];
        let error = binding.pick(&[1], &mut out).unwrap_err();
        assert_eq!(error.to_string(), "reading has 1 values: expected 2, one for each name that was bound");
        assert!(out.is_empty());
        assert!(bind("ice", &[]).pick(&[], &mut out).is_ok());
    }

    #[test]
    fn a_layout_reads_back_from_its_record() {
        let binding = bind("mlx5_core", &["rx_prio3_pause_duration", "rx_out_of_buffer", "other"]);
        let text = serde_json::to_string(binding.layout()).unwrap();
        assert!(
            text.contains(r#""slot":"pfc_rx_pause_time/3","from":0,"scale":1000,"width":"w64""#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Vec<Bound>>(&text).unwrap(), binding.layout());
        let support = serde_json::to_string(&binding.pause_support()).unwrap();
        assert_eq!(serde_json::from_str::<PauseSupport>(&support).unwrap(), binding.pause_support());
    }
}
