//! PromQL with the names of our metrics checked while compiling, and the selections that all dashboards share.

use rocewatch_core::catalog::{FAMILIES, Family, FamilyKind};

/// PromQL in which every metric of ours is in the catalogue. `@fleet`, `@node`, `@port` and `@queue` stand for what the
/// variables of the dashboard select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expression(&'static str);

/// The matchers behind each word, longer words first where one begins another.
const SELECTIONS: [(&str, &str); 4] = [
    ("@fleet", "cluster=~'$cluster'"),
    ("@node", "cluster=~'$cluster',instance=~'$instance'"),
    ("@port", "cluster=~'$cluster',instance=~'$instance',netdev=~'$netdev'"),
    ("@queue", "cluster=~'$cluster',instance=~'$instance',netdev=~'$netdev',priority=~'$priority'"),
];

impl Expression {
    /// The text for Prometheus, with Grafana's variables still in it.
    #[must_use]
    pub fn promql(self) -> String {
        SELECTIONS.iter().fold(self.0.to_owned(), |text, (word, matchers)| text.replace(word, matchers))
    }
}

/// An [`Expression`] of a literal; a metric that is not in the catalogue does not build.
macro_rules! promql {
    ($text:expr) => {
        const { $crate::dashboards::expression::checked($text) }
    };
}

/// Growth of a counter that is shown only once it has counted something: its first value is growth too, on a node that
/// Prometheus knew before.
macro_rules! growth {
    ($series:literal, $window:literal) => {
        concat!(
            "((",
            $series,
            " unless ",
            $series,
            " offset ",
            $window,
            ") and on (job, instance) up offset ",
            $window,
            " == 1 or increase(",
            $series,
            "[",
            $window,
            "]))"
        )
    };
}

/// Growth of the drops on priorities that PFC keeps lossless, without those while the watchdog had PFC off.
macro_rules! lossless_drops {
    ($filter:literal, $window:literal) => {
        concat!(
            "increase(rocewatch_priority_receive_discards_total",
            $filter,
            "[",
            $window,
            "]) and rocewatch_pfc_enabled",
            $filter,
            " == 1 unless on (job, instance, netdev, priority) max_over_time(rocewatch_watchdog_mitigated",
            $filter,
            "[",
            $window,
            "]) == 1"
        )
    };
}

/// Looks up every metric of ours in `text`. Called by `promql!` alone, while compiling.
///
/// # Panics
/// One is not in the catalogue.
#[must_use]
pub const fn checked(text: &'static str) -> Expression {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let (word, after) = rest.split_at(word_length(rest));
        assert!(
            !is_ours(word) || is_known(word),
            "an expression names a metric that is not in the catalogue"
        );
        // What follows a word is no part of one.
        rest = if after.is_empty() { after } else { after.split_at(1).1 };
    }
    Expression(text)
}

/// How many bytes at the beginning of `text` are one identifier. A colon is part of the name of a recording rule.
const fn word_length(text: &[u8]) -> usize {
    let mut length = 0;
    while length < text.len()
        && (text[length].is_ascii_alphanumeric() || text[length] == b'_' || text[length] == b':')
    {
        length += 1;
    }
    length
}

const fn is_ours(word: &[u8]) -> bool {
    starts_with(word, b"rocewatch_") || starts_with(word, b"process_")
}

const fn is_known(word: &[u8]) -> bool {
    let mut table = 0;
    while table < FAMILIES.len() {
        let mut row = 0;
        while row < FAMILIES[table].len() {
            if is_series_of(word, &FAMILIES[table][row]) {
                return true;
            }
            row += 1;
        }
        table += 1;
    }
    false
}

const fn is_series_of(word: &[u8], family: &Family) -> bool {
    let name = family.name.as_bytes();
    if !starts_with(word, name) {
        return false;
    }
    let suffix = word.split_at(name.len()).1;
    match family.kind {
        FamilyKind::Counter | FamilyKind::Gauge | FamilyKind::Info => suffix.is_empty(),
        FamilyKind::Histogram(_) => {
            same(suffix, b"_bucket") || same(suffix, b"_sum") || same(suffix, b"_count")
        }
    }
}

const fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && starts_with(left, right)
}

const fn starts_with(text: &[u8], start: &[u8]) -> bool {
    if text.len() < start.len() {
        return false;
    }
    let mut index = 0;
    while index < start.len() {
        if text[index] != start[index] {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_metric_that_is_not_in_the_catalogue_is_refused_wherever_it_stands() {
        for wrong in [
            "rocewatch_port_upp",
            "rocewatch_port_u",
            "sum(rocewatch_port_up) / rocewatch_portz",
            "rocewatch_port_up_bucket",
            "rocewatch_watchdog_detection_seconds",
            "process_cpu",
        ] {
            assert!(catch_unwind(|| checked(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn series_of_a_histogram_recording_rules_and_words_of_others_pass() {
        for right in [
            "rate(rocewatch_watchdog_detection_seconds_bucket[5m])",
            "rocewatch_watchdog_detection_seconds_sum/rocewatch_watchdog_detection_seconds_count",
            "rocewatch:pfc_rx_pause:ratio_rate1m",
            "up{job='rocewatch'} == 0",
        ] {
            assert_eq!(checked(right).promql(), right);
        }
    }

    #[test]
    fn a_selection_becomes_matchers_of_variables() {
        let expression = promql!("rocewatch_port_up{@node,netdev='a'}");
        let text = "rocewatch_port_up{cluster=~'$cluster',instance=~'$instance',netdev='a'}";
        assert_eq!(expression.promql(), text);
    }
}
