//! The NIC drivers as tables: which native name means which counter, and how the driver behaves.
//! Constant data without logic; what a port really offers is decided by the names present, in [`binding`](crate::binding).
//!
//! A new driver is one file here, its module and its entry in [`ALL`], and one folder under `tests/fixtures/`.

mod be2net;
mod bnxt;
mod capability;
mod cxgb4;
mod ena;
mod erdma;
mod generic;
mod hns3;
mod i40e;
mod ice;
mod ionic;
mod irdma;
mod ixgbe;
mod mana;
mod mlx4;
mod mlx5;
mod nfp;
mod pfcsim;
mod qede;
mod rxe;

use serde::{Deserialize, Serialize};

pub use capability::{
    Caps, Levers, LinkEffect, NamesEffect, PacketScope, PauseCounted, PauseScope, PauseTime, PfcOff, Refresh,
    XonFrames,
};

use crate::catalog::Counter;
use crate::units::Priority;

/// Every tabled driver, the generic one last.
pub const ALL: &[&Driver] = &[
    &mlx5::DRIVER,
    &mlx4::DRIVER,
    &bnxt::DRIVER,
    &ice::DRIVER,
    &i40e::DRIVER,
    &ixgbe::DRIVER,
    &ionic::DRIVER,
    &hns3::DRIVER,
    &qede::DRIVER,
    &cxgb4::DRIVER,
    &nfp::DRIVER,
    &be2net::DRIVER,
    &mana::DRIVER,
    &ena::DRIVER,
    &erdma::DRIVER,
    &rxe::DRIVER,
    &generic::DRIVER,
];

/// The test bed's device. It is no NIC that anybody has, so no document and no guess by names knows it.
const TEST_BED: &Driver = &pfcsim::DRIVER;

/// The table of the driver that calls itself `name` (as ethtool's driver information gives it); the generic table if
/// nobody has tabled it.
#[must_use]
pub fn for_driver(name: &str) -> &'static Driver {
    let name = name.trim();
    let known = ALL.iter().copied().chain([TEST_BED]);
    known.into_iter().find(|driver| driver.aliases.contains(&name)).unwrap_or(&generic::DRIVER)
}

/// One NIC driver.
#[derive(Debug)]
pub struct Driver {
    /// The name it goes by in metrics, logs and documents.
    pub name: &'static str,
    /// The NICs it drives.
    pub hardware: &'static str,
    /// What it may call itself, its RDMA half included.
    pub aliases: &'static [&'static str],
    /// Names of `ethtool -S`.
    pub ethtool: &'static [Row],
    /// Names of RDMA counters: those of `hw_counters` and those of the port's `counters`.
    pub rdma: &'static [Row],
    /// Native names that stand among the counters and are none: levels, marks, identifiers. None may be shown as a
    /// counter or have its growth taken. `*` in one stands for any text.
    pub no_counters: &'static [&'static str],
    /// How its counters and levers behave.
    pub caps: Caps,
    /// On what the table was tried.
    pub evidence: Evidence,
    /// What an operator of this NIC has to know beyond that, a sentence each.
    pub notes: &'static [&'static str],
}

/// On what a driver table was tried; the strongest that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// On a fixture: names captured or from the driver's source, values made up.
    Fixture,
    /// On a running kernel with this driver.
    RealKernel,
    /// On the hardware.
    Hardware,
}

impl Driver {
    /// Whether `name` stands among the counters of this driver and is none.
    #[must_use]
    pub fn is_no_counter(&self, name: &str) -> bool {
        self.no_counters.iter().any(|pattern| match pattern.split_once('*') {
            Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)),
            None => name == *pattern,
        })
    }
}

/// One native counter of a driver.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The native name; `{prio}` in it stands for one digit from 0 to 7.
    pub pattern: &'static str,
    /// The native name of the upper 32 bits, where a driver shows a number of 64 in two halves.
    pub upper_half: Option<&'static str>,
    /// What it counts.
    pub counter: Counter,
    /// The unit the driver counts in.
    pub unit: NativeUnit,
    /// Width of the value the driver shows.
    pub width: Width,
    /// What happens beyond that width.
    pub overflow: Overflow,
    /// Whether it grows or is a momentary value.
    pub kind: Kind,
    /// Among several names for one counter the lowest rank present is used, never a sum.
    pub rank: u8,
}

/// What stands for the priority in a pattern.
pub const PRIORITY_MARK: &str = "{prio}";

impl Row {
    /// Whether `name` is this row's, and for which priority if the row has one per priority.
    #[must_use]
    pub fn matches(&self, name: &str) -> Option<Option<Priority>> {
        let Some((before, after)) = self.pattern.split_once(PRIORITY_MARK) else {
            return (name == self.pattern).then_some(None);
        };
        let digit = name.strip_prefix(before)?.strip_suffix(after)?;
        let &[digit @ b'0'..=b'7'] = digit.as_bytes() else { return None };
        Priority::new(digit - b'0').map(Some)
    }

    /// Whether the pattern holds a priority.
    #[must_use]
    pub fn is_per_priority(&self) -> bool {
        self.pattern.contains(PRIORITY_MARK)
    }

    const fn wrapping_at_32(mut self) -> Self {
        self.width = Width::W32;
        self.overflow = Overflow::Wrap;
        self
    }

    const fn sticking_at_8(mut self) -> Self {
        self.width = Width::W8;
        self.overflow = Overflow::Saturate;
        self
    }

    const fn momentary_32(mut self) -> Self {
        self.width = Width::W32;
        self.kind = Kind::Gauge;
        self
    }

    const fn with_upper_half(mut self, name: &'static str) -> Self {
        self.upper_half = Some(name);
        self
    }

    const fn ranked(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }
}

/// The usual row: 64 bits that never overflow in practice, growing, first rank.
const fn row(pattern: &'static str, counter: Counter, unit: NativeUnit) -> Row {
    Row {
        pattern,
        upper_half: None,
        counter,
        unit,
        width: Width::W64,
        overflow: Overflow::None,
        kind: Kind::Counter,
        rank: 1,
    }
}

/// The unit a driver counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeUnit {
    /// Seconds.
    Seconds,
    /// Millionths of a second.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// Ethernet frames.
    Frames,
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Groups of four bytes, as InfiniBand counts data.
    Words4,
    /// Bits, each counted as one thing.
    Bits,
    /// Anything else that is counted one by one.
    Events,
    /// Hundredths of a whole.
    Percent,
}

impl NativeUnit {
    /// How many held units ([`Unit::base`](crate::catalog::Unit::base)) one native unit is.
    #[must_use]
    pub const fn scale(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Micros => 1_000,
            Self::Words4 => 4,
            Self::Percent => 10,
            Self::Nanos | Self::Frames | Self::Packets | Self::Bytes | Self::Bits | Self::Events => 1,
        }
    }
}

/// Width of a native counter in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Width {
    /// 8.
    W8,
    /// 16.
    W16,
    /// 32.
    W32,
    /// 64.
    W64,
}

impl Width {
    /// The largest value that fits.
    #[must_use]
    pub const fn max(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The number of bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::W8 => 8,
            Self::W16 => 16,
            Self::W32 => 32,
            Self::W64 => 64,
        }
    }
}

/// What a native counter does beyond its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// It starts again at 0.
    Wrap,
    /// It stays at its largest value.
    Saturate,
    /// It does not get there.
    None,
}

/// Whether differences of a native value mean anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It grows; a fall is a reset or a wrap.
    Counter,
    /// It goes up and down.
    Gauge,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::action::ActionKind;
    use crate::catalog::{PauseSlots, Unit};
    use crate::units::{Direction, Queue};

    fn tables() -> impl Iterator<Item = (&'static str, &'static [Row])> {
        ALL.iter().flat_map(|driver| [(driver.name, driver.ethtool), (driver.name, driver.rdma)])
    }

    fn rows() -> impl Iterator<Item = (&'static str, &'static Row)> {
        tables().flat_map(|(driver, rows)| rows.iter().map(move |row| (driver, row)))
    }

    #[test]
    fn a_native_name_is_matched_by_one_row_at_most() {
        for (driver, rows) in tables() {
            for row in rows {
                for digit in 0..8 {
                    let name = row.pattern.replace(PRIORITY_MARK, &digit.to_string());
                    let matching = rows.iter().filter(|row| row.matches(&name).is_some()).count();
                    assert_eq!(matching, 1, "{driver} {name}");
                }
            }
        }
    }

    #[test]
    fn no_counter_has_two_names_of_one_rank() {
        for (driver, rows) in tables() {
            let ranked: BTreeSet<_> = rows.iter().map(|row| (row.counter, row.rank)).collect();
            assert_eq!(ranked.len(), rows.len(), "{driver}");
        }
    }

    #[test]
    fn a_pattern_has_a_priority_exactly_if_its_counter_has() {
        for (driver, row) in rows() {
            assert_eq!(row.is_per_priority(), row.counter.is_per_priority(), "{driver} {}", row.pattern);
            assert!(row.pattern.matches('{').count() <= 1, "{driver} {}", row.pattern);
        }
    }

    #[test]
    fn a_native_unit_measures_the_same_thing_as_the_unit_of_its_family() {
        for (driver, row) in rows() {
            let expected = match row.unit {
                NativeUnit::Seconds | NativeUnit::Micros | NativeUnit::Nanos => Unit::Seconds,
                NativeUnit::Bytes | NativeUnit::Words4 => Unit::Bytes,
                NativeUnit::Percent => Unit::Ratio,
                NativeUnit::Frames | NativeUnit::Packets | NativeUnit::Bits | NativeUnit::Events => {
                    Unit::Count
                }
            };
            assert_eq!(row.counter.entry().family.unit, expected, "{driver} {}", row.pattern);
        }
        assert_eq!(NativeUnit::Seconds.scale(), Unit::Seconds.base());
        assert_eq!(100 * NativeUnit::Percent.scale(), Unit::Ratio.base());
    }

    #[test]
    fn a_gauge_is_never_bound_as_a_counter() {
        for (driver, row) in rows() {
            assert_eq!(row.kind == Kind::Gauge, row.counter.is_gauge(), "{driver} {}", row.pattern);
        }
    }

    #[test]
    fn what_is_no_counter_is_in_no_row() {
        for driver in ALL {
            for row in driver.ethtool.iter().chain(driver.rdma) {
                assert!(!driver.is_no_counter(row.pattern), "{} {}", driver.name, row.pattern);
            }
        }
        let bnxt = for_driver("bnxt_re");
        assert!(bnxt.is_no_counter("active_qps") && bnxt.is_no_counter("db_fifo_register"));
        assert!(!bnxt.is_no_counter("inactive_qps") && !bnxt.is_no_counter("active"));
    }

    #[test]
    fn a_half_of_a_number_is_no_number_of_its_own() {
        for (driver, rows) in tables() {
            for row in rows.iter().filter(|row| row.upper_half.is_some()) {
                assert_eq!(row.width, Width::W64, "{driver} {}", row.pattern);
                let upper = row.upper_half.unwrap();
                assert!(rows.iter().all(|row| row.matches(upper).is_none()), "{driver} {upper}");
            }
        }
    }

    #[test]
    fn names_are_told_without_the_blanks_around_them_and_facts_in_whole_sentences() {
        for (driver, row) in rows() {
            assert_eq!(row.pattern.trim(), row.pattern, "{driver}");
        }
        for driver in ALL {
            assert!(!driver.hardware.is_empty() && !driver.hardware.ends_with('.'), "{}", driver.name);
            for note in driver.notes {
                assert!(note.ends_with('.') && !note.contains(['\n', '|']), "{} {note}", driver.name);
            }
        }
    }

    #[test]
    fn a_counter_narrower_than_64_bits_says_what_happens_at_its_end() {
        for (driver, row) in rows().filter(|(_, row)| row.kind == Kind::Counter) {
            assert_eq!(row.width == Width::W64, row.overflow == Overflow::None, "{driver} {}", row.pattern);
        }
        assert_eq!([Width::W8, Width::W16, Width::W32].map(Width::max), [0xff, 0xffff, 0xffff_ffff]);
        assert_eq!(Width::W64.max(), u64::MAX);
    }

    #[test]
    fn every_counter_of_the_catalogue_has_a_source() {
        let fed: BTreeSet<_> = rows().map(|(_, row)| row.counter).collect();
        for counter in Counter::ALL {
            assert!(fed.contains(counter), "{counter}");
        }
    }

    #[test]
    fn a_driver_has_names_for_pause_time_exactly_if_it_says_what_the_time_means() {
        for driver in ALL {
            let time =
                |queue| Direction::ALL.map(|direction| PauseSlots::of(queue, direction).time.counter());
            let timed: Vec<_> = Queue::all().flat_map(time).collect();
            let has_time = driver.ethtool.iter().any(|row| timed.contains(&row.counter));
            assert_eq!(has_time, driver.caps.pause_time != PauseTime::None, "{}", driver.name);
            let packets = [Counter::PriorityRxPackets, Counter::PriorityTxPackets];
            let counts = driver.ethtool.iter().any(|row| packets.contains(&row.counter));
            assert_eq!(counts, driver.caps.priority_packets != PacketScope::None, "{}", driver.name);
            let apart = driver.ethtool.iter().any(|row| row.counter == Counter::PfcRxXonFrames);
            assert_eq!(apart, driver.caps.xon_frames == XonFrames::Apart, "{}", driver.name);
        }
    }

    #[test]
    fn a_driver_is_found_by_every_name_it_goes_by_and_an_unknown_one_is_generic() {
        let aliases: Vec<_> = ALL.iter().flat_map(|driver| driver.aliases).collect();
        assert_eq!(aliases.iter().collect::<BTreeSet<_>>().len(), aliases.len());
        for driver in ALL {
            assert!(driver.aliases.contains(&driver.name));
            assert!(driver.aliases.iter().all(|alias| for_driver(alias).name == driver.name));
        }
        assert_eq!(for_driver("mlx5e_rep").name, "mlx5_core");
        assert_eq!(for_driver("virtio_net").name, "generic");
        assert_eq!(for_driver("").name, "generic");
    }

    #[test]
    fn a_priority_in_a_name_is_one_digit_below_eight() {
        let row = row("rx_prio{prio}_pause", Counter::PfcRxPauseFrames, NativeUnit::Frames);
        assert_eq!(row.matches("rx_prio7_pause"), Some(Priority::new(7)));
        for name in
            ["rx_prio8_pause", "rx_prio_pause", "rx_prio10_pause", "rx_prio٣_pause", "rx_prio", "_pause", ""]
        {
            assert_eq!(row.matches(name), None, "{name}");
        }
    }

    #[test]
    fn what_nobody_tabled_disturbs_the_whole_device() {
        use crate::action::Disruption;
        let levers = for_driver("unknown").caps.levers;
        for kind in ActionKind::ALL.into_iter().filter(|kind| *kind != ActionKind::Alert) {
            assert_eq!(levers.disruption(kind), Some(Disruption::Device), "{kind}");
        }
        assert_eq!(levers.disruption(ActionKind::Alert), Some(Disruption::None));
    }

    #[test]
    fn nothing_can_be_set_on_a_device_without_an_interface() {
        for driver in ALL.iter().filter(|driver| driver.caps.levers == Levers::NONE) {
            assert!(driver.ethtool.is_empty() && !driver.rdma.is_empty(), "{}", driver.name);
        }
        assert_eq!(for_driver("erdma").caps.levers, Levers::NONE);
    }

    #[test]
    fn a_pfc_off_that_flaps_the_link_disturbs_the_link() {
        use crate::action::Disruption;
        for driver in ALL {
            if let Some(effect) = driver.caps.levers.pfc_off {
                let flaps = effect.link == LinkEffect::Flaps;
                assert_eq!(flaps, effect.disruption >= Disruption::Link, "{}", driver.name);
            }
        }
    }
}
