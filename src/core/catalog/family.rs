//! The metric families: name, type, unit, labels, meaning. One row is one name on the metrics page.

use super::{Counter, measured, native};
use crate::drivers;

/// A metric family as Prometheus knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// The chapter of the reference page it stands in.
    pub group: Group,
    /// Type, and what belongs to the type.
    pub kind: FamilyKind,
    /// Unit of the exported value.
    pub unit: Unit,
    /// Full metric name.
    pub name: &'static str,
    /// Label names every series of it carries; fixed labels of a counter (such as `severity`) come on top.
    pub labels: &'static [&'static str],
    /// What it means, in one sentence without final dot; [`Family::help`] adds the native names.
    pub meaning: &'static str,
}

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    /// Only grows, or restarts from a lower value.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution; upper bounds of its buckets in base units ([`Unit::base`]), ascending, without infinity.
    Histogram(&'static [u64]),
    /// Always 1; what matters are the labels.
    Info,
}

impl FamilyKind {
    /// The word of the `# TYPE` line. An info family is a gauge in the text format.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge | Self::Info => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// The unit a value is exported in, and how it is held before that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// 0 or 1.
    Flag,
    /// A span; held in nanoseconds.
    Seconds,
    /// A moment in seconds since 1970; held in nanoseconds.
    Timestamp,
    /// An amount of data.
    Bytes,
    /// A data rate.
    BytesPerSecond,
    /// A share from 0 to 1; held in thousandths.
    Ratio,
}

impl Unit {
    /// How many held units make one exported unit: divide by it when rendering.
    #[must_use]
    pub const fn base(self) -> u64 {
        match self {
            Self::Seconds | Self::Timestamp => 1_000_000_000,
            Self::Ratio => 1000,
            Self::Count | Self::Flag | Self::Bytes | Self::BytesPerSecond => 1,
        }
    }

    /// Its name in the reference page.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Flag => "0 or 1",
            Self::Seconds => "seconds",
            Self::Timestamp => "seconds since 1970",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes per second",
            Self::Ratio => "ratio, 0 to 1",
        }
    }
}

/// A chapter of the reference page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// What is there: versions, devices, ports.
    Identity,
    /// Whether the port works, and how fast.
    Link,
    /// Packets and bytes.
    Traffic,
    /// PFC and 802.3x pause.
    Pause,
    /// ECN marks and congestion notifications.
    Congestion,
    /// Discards, retransmissions and broken connections.
    Loss,
    /// Signal quality and the PCIe bus.
    Phy,
    /// NVMe over fabrics: paths of this host, and what it offers to others.
    Nvmf,
    /// The watchdog's state, decisions and actions.
    Watchdog,
    /// The agent itself and the host it runs on.
    Agent,
}

impl Group {
    /// All, in the order of the reference page.
    pub const ALL: [Self; 10] = [
        Self::Identity,
        Self::Link,
        Self::Traffic,
        Self::Pause,
        Self::Congestion,
        Self::Loss,
        Self::Phy,
        Self::Nvmf,
        Self::Watchdog,
        Self::Agent,
    ];

    /// Its heading in the reference page.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Identity => "Identity",
            Self::Link => "Link",
            Self::Traffic => "Traffic",
            Self::Pause => "Pause",
            Self::Congestion => "Congestion",
            Self::Loss => "Loss and transport",
            Self::Phy => "Signal and PCIe",
            Self::Nvmf => "NVMe over fabrics",
            Self::Watchdog => "Watchdog",
            Self::Agent => "Agent and host",
        }
    }
}

/// Every family, those fed by native counters first.
pub const FAMILIES: &[&[Family]] = &[native::FAMILIES, measured::FAMILIES];

impl Family {
    /// All families.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        FAMILIES.iter().copied().flatten()
    }

    /// The family called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|family| family.name == name)
    }

    /// Whether `name` is its name. For constants, which `==` on strings is not yet.
    #[must_use]
    pub const fn is_called(&self, name: &str) -> bool {
        same(self.name, name)
    }

    /// Whether each of its series belongs to one priority.
    #[must_use]
    pub const fn is_per_priority(&self) -> bool {
        let mut index = 0;
        while index < self.labels.len() {
            if same(self.labels[index], "priority") {
                return true;
            }
            index += 1;
        }
        false
    }

    /// The names of all labels its series carry, the fixed ones of its counters included.
    #[must_use]
    pub fn label_names(&self) -> Vec<&'static str> {
        let fed = Counter::ALL.iter().map(|counter| counter.entry()).find(|fed| fed.family.name == self.name);
        let fixed = fed.into_iter().flat_map(|entry| entry.labels).map(|(name, _)| *name);
        self.labels.iter().copied().chain(fixed).collect()
    }

    /// The text of the `# HELP` line: the meaning, then the native names that feed it, by driver.
    #[must_use]
    pub fn help(&self) -> String {
        let sources = self.sources();
        if sources.is_empty() { self.meaning.to_owned() } else { format!("{}; from {sources}", self.meaning) }
    }

    /// The native names that feed it, such as `mlx5_core rx_prio{prio}_pause`; empty if it is no native counter.
    #[must_use]
    pub fn sources(&self) -> String {
        let by_driver = drivers::ALL.iter().filter_map(|driver| {
            let rows = driver.ethtool.iter().chain(driver.rdma);
            let names: Vec<_> = rows
                .filter(|row| row.counter.entry().family.name == self.name)
                .map(|row| row.pattern)
                .collect();
            (!names.is_empty()).then(|| format!("{} {}", driver.name, names.join(", ")))
        });
        by_driver.collect::<Vec<_>>().join("; ")
    }
}

/// The family of a native counter, found while compiling, so that a misspelt name does not build.
pub(super) const fn native_family(name: &str) -> &'static Family {
    let mut index = 0;
    while index < native::FAMILIES.len() {
        if native::FAMILIES[index].is_called(name) {
            return &native::FAMILIES[index];
        }
        index += 1;
    }
    panic!("a counter names a family that is not in the table of native families")
}

/// String equality for constants.
const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut index = 0;
    while index < left.len() {
        if left[index] != right[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Writes a table of families: the group once, then `type unit LABELS "name" "meaning";` per row.
macro_rules! families {
    (@kind counter) => { $crate::catalog::FamilyKind::Counter };
    (@kind gauge) => { $crate::catalog::FamilyKind::Gauge };
    (@kind info) => { $crate::catalog::FamilyKind::Info };
    (@kind [$bounds:ident]) => { $crate::catalog::FamilyKind::Histogram(&$bounds) };
    ($($group:ident { $($kind:tt $unit:ident $labels:tt $name:literal $meaning:literal;)+ })+) => {
        &[$($($crate::catalog::Family {
            group: $crate::catalog::Group::$group,
            kind: families!(@kind $kind),
            unit: $crate::catalog::Unit::$unit,
            name: $name,
            labels: &$labels,
            meaning: $meaning,
        },)+)+]
    };
}
pub(super) use families;

/// Labels of a port's series: the RDMA device and its port (empty without one), and the netdev.
pub const PORT: [&str; 3] = ["device", "port", "netdev"];
/// [`PORT`] and the priority.
pub const QUEUE: [&str; 4] = ["device", "port", "netdev", "priority"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalog::Counter;

    #[test]
    fn names_keep_the_rules_of_prometheus() {
        for family in Family::all() {
            let name = family.name;
            let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(name.starts_with("rocewatch_") || name.starts_with("process_"), "{name}");
            assert!(name.chars().all(legal) && !name.contains("__") && !name.ends_with('_'), "{name}");
            assert_eq!(name.ends_with("_total"), family.kind == FamilyKind::Counter, "{name}");
            assert_eq!(name.ends_with("_info"), family.kind == FamilyKind::Info, "{name}");
            for kind in ["counter", "gauge", "histogram", "summary"] {
                assert!(!name.split('_').any(|word| word == kind), "{name} names a type");
            }
            for unit in ["ms", "us", "ns", "milliseconds", "microseconds", "bits", "percent", "kb", "mb"] {
                assert!(!name.split('_').any(|word| word == unit), "{name} is in no base unit");
            }
        }
    }

    #[test]
    fn a_name_ends_in_the_unit_of_its_value() {
        for family in Family::all() {
            let name = family.name.trim_end_matches("_total").trim_end_matches("_max");
            let unit = match family.unit {
                Unit::Seconds => "_seconds",
                Unit::Timestamp => "_time_seconds _timestamp_seconds",
                Unit::Bytes => "_bytes",
                Unit::BytesPerSecond => "_bytes_per_second",
                Unit::Ratio => "_ratio",
                Unit::Count | Unit::Flag => "",
            };
            assert!(unit.split(' ').any(|end| name.ends_with(end)), "{name} holds {}", family.unit.label());
            let speaks_of = ["_seconds", "_bytes", "_ratio"].iter().any(|end| name.ends_with(end));
            assert_eq!(speaks_of, !unit.is_empty() && family.unit != Unit::BytesPerSecond, "{name}");
        }
    }

    #[test]
    fn every_family_has_one_row_and_a_meaning_of_one_line() {
        let names: BTreeSet<_> = Family::all().map(|family| family.name).collect();
        assert_eq!(names.len(), Family::all().count());
        for family in Family::all() {
            assert!(!family.meaning.is_empty(), "{}", family.name);
            assert!(!family.help().ends_with('.') && !family.help().contains('\n'), "{}", family.name);
            assert!(family.meaning.starts_with(|c: char| !c.is_lowercase()), "{}", family.name);
        }
    }

    #[test]
    fn labels_are_legal_and_stand_once() {
        for family in Family::all() {
            let labels = family.label_names();
            assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), labels.len(), "{}", family.name);
            for label in labels {
                assert!(label.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{label}");
                assert!(!["le", "quantile", "instance", "job", "type"].contains(&label), "{label}");
            }
        }
    }

    #[test]
    fn buckets_rise_and_only_spans_and_shares_have_them() {
        for family in Family::all() {
            if let FamilyKind::Histogram(bounds) = family.kind {
                assert!(bounds.is_sorted_by(|low, high| low < high), "{}", family.name);
                assert!(matches!(family.unit, Unit::Seconds | Unit::Ratio), "{}", family.name);
            }
        }
    }

    #[test]
    fn every_native_family_has_a_counter_and_no_other_has() {
        let fed: BTreeSet<_> = Counter::ALL.iter().map(|counter| counter.entry().family.name).collect();
        assert_eq!(fed, native::FAMILIES.iter().map(|family| family.name).collect());
        assert!(measured::FAMILIES.iter().all(|family| !fed.contains(family.name)));
    }

    #[test]
    fn help_ends_with_the_native_names() {
        let family = Family::named("rocewatch_pfc_rx_pause_seconds_total").unwrap();
        let help = family.help();
        let (meaning, sources) = help.split_once("; from ").unwrap();
        assert_eq!(meaning, family.meaning);
        let [mlx5, mlx4, ..] = sources.split("; ").collect::<Vec<_>>()[..] else { panic!("{sources}") };
        assert_eq!(mlx5, "mlx5_core rx_prio{prio}_pause_duration");
        assert_eq!(mlx4, "mlx4_en rx_pause_duration_prio_{prio}");
        assert!(family.is_per_priority());
        assert!(!Family::named("rocewatch_port_up").unwrap().is_per_priority());
    }
}
