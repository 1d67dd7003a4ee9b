//! Renders the reference pages from the catalogue and the driver tables: the metrics, and the NICs. Writes no file itself.

mod nics;

use std::fmt::Write;

use crate::catalog::{Counter, Family, FamilyKind, Group, Unit};
use crate::drivers::{self, Driver, Row};

pub use nics::nics;

const HEAD: &str = "\
# Metrics

This page is generated from the catalogue in `src/core/catalog`; `rocewatch counters` prints the same facts.

* A series that is missing is unknown or not supported by the NIC, never zero.
* `rx` pause: the peer told this port to stop, so this port's transmit side is held. `tx` pause: this port told its peer
  to stop, so this host is the slow one. They are different faults with different owners.
* A counter of a NIC is shown as the kernel counts it, in base units; 32-bit counters are widened, so that they do not
  fall when they wrap. Several native names of one driver: the first one present is used, never a sum.
* `{prio}` in a native name is the priority, 0 to 7. `priority=\"global\"` in watchdog metrics is 802.3x pause.
* `device` and `port` name the RDMA device and its port and are empty without one.
* What the RDMA device of a LAG counts of transport and congestion has the bond in `netdev`, what is counted of a single
  slave has that; `rocewatch_lag_member_info` names the slaves.
";

/// The whole page in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(HEAD);
    for group in Group::ALL {
        chapter(&mut page, group);
    }
    page
}

fn chapter(page: &mut String, group: Group) {
    let families = || Family::all().filter(move |family| family.group == group);
    line(page, format_args!("\n## {}\n", group.title()));
    line(page, format_args!("| metric | type | labels | unit | meaning |"));
    line(page, format_args!("| --- | --- | --- | --- | --- |"));
    for family in families() {
        let labels = family.label_names().join(", ");
        let (name, kind, unit) = (family.name, kind(family.kind), unit(family));
        line(page, format_args!("| `{name}` | {kind} | {labels} | {unit} | {} |", family.meaning));
    }
    for family in families() {
        if let FamilyKind::Histogram(bounds) = family.kind {
            line(page, format_args!("\nBuckets of `{}`: {}.", family.name, bucket_list(bounds, family.unit)));
        }
    }
    sources(page, group);
}

/// Where the chapter's native counters come from, driver by driver.
fn sources(page: &mut String, group: Group) {
    let counters: Vec<_> =
        Counter::ALL.iter().filter(|counter| counter.entry().family.group == group).collect();
    if counters.is_empty() {
        return;
    }
    line(page, format_args!("\nNative names by driver, and where the meaning is written down:\n"));
    line(page, format_args!("| counter | native names | reference |"));
    line(page, format_args!("| --- | --- | --- |"));
    for counter in counters {
        let of_driver = |driver: &&Driver| {
            let names = native_names(driver, *counter)?;
            Some(format!("{} {names}", driver.name))
        };
        let names = drivers::ALL.iter().filter_map(of_driver).collect::<Vec<_>>().join("; ");
        line(page, format_args!("| {} | {names} | {} |", series(*counter), counter.entry().source));
    }
}

/// The native names a driver has for `counter`, best rank first.
fn native_names(driver: &Driver, counter: Counter) -> Option<String> {
    let rows = driver.ethtool.iter().chain(driver.rdma).filter(|row| row.counter == counter);
    let mut ranked: Vec<_> = rows.map(|row| (row.rank, native_name(row))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let names: Vec<_> = ranked.into_iter().map(|(_, name)| name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The native name of a row; both where a number comes in halves.
fn native_name(row: &Row) -> String {
    match row.upper_half {
        Some(upper) => format!("`{upper}` and `{}`", row.pattern),
        None => format!("`{}`", row.pattern),
    }
}

/// The series a counter feeds: its family with the fixed labels.
fn series(counter: Counter) -> String {
    let entry = counter.entry();
    let fixed: Vec<_> = entry.labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    if fixed.is_empty() {
        format!("`{}`", entry.family.name)
    } else {
        format!("`{}{{{}}}`", entry.family.name, fixed.join(","))
    }
}

const fn kind(kind: FamilyKind) -> &'static str {
    match kind {
        FamilyKind::Info => "info",
        FamilyKind::Counter | FamilyKind::Gauge | FamilyKind::Histogram(_) => kind.label(),
    }
}

const fn unit(family: &Family) -> &'static str {
    match family.kind {
        FamilyKind::Info => "always 1",
        FamilyKind::Counter | FamilyKind::Gauge | FamilyKind::Histogram(_) => family.unit.label(),
    }
}

/// Bucket bounds in exported units, such as `0.001, 0.25, 1`.
fn bucket_list(bounds: &[u64], unit: Unit) -> String {
    bounds.iter().map(|bound| decimal(*bound, unit.base())).collect::<Vec<_>>().join(", ")
}

/// `value` / `base`, where `base` is a power of ten, without trailing zeros.
fn decimal(value: u64, base: u64) -> String {
    let (whole, rest) = (value / base, value % base);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = base.ilog10() as usize;
    format!("{whole}.{rest:0digits$}").trim_end_matches('0').to_owned()
}

fn line(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_family_and_every_native_name() {
        let page = reference();
        for family in Family::all() {
            assert!(page.contains(&format!("| `{}` |", family.name)), "{}", family.name);
        }
        for driver in drivers::ALL {
            for row in driver.ethtool.iter().chain(driver.rdma) {
                assert!(page.contains(&format!("`{}`", row.pattern)), "{} {}", driver.name, row.pattern);
            }
        }
    }

    #[test]
    fn bounds_are_written_without_floating_point() {
        assert_eq!(bucket_list(&[1, 50, 500, 1000], Unit::Ratio), "0.001, 0.05, 0.5, 1");
        assert_eq!(bucket_list(&[25_000_000, 10_000_000_000], Unit::Seconds), "0.025, 10");
    }
}
