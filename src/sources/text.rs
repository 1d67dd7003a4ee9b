//! The text of `ethtool -S`, as people keep it in files: a name and a value per line, with or without header and
//! indentation.

/// More than the largest set there is, several times.
const NAMES_MAX: usize = 65_536;

/// The counters of a text, in its order. Lines that hold none ("NIC statistics:", "no stats available") are left out.
///
/// The name goes up to the **last** colon: some drivers put colons and blanks into names (`[0]: rx_ucast_packets`).
#[must_use]
pub(super) fn parse(text: &str) -> Vec<(&str, u64)> {
    let counters = text.lines().filter_map(|line| {
        let (name, value) = line.rsplit_once(':')?;
        Some((name.trim(), value.trim().parse().ok()?))
    });
    counters.filter(|(name, _)| !name.is_empty()).take(NAMES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_and_indentation_are_optional() {
        let with = "NIC statistics:\n     rx_packets: 7\n     tx_packets: 8\n";
        assert_eq!(parse(with), [("rx_packets", 7), ("tx_packets", 8)]);
        assert_eq!(parse("rx_packets: 7\n\t\ttx_packets: 8"), [("rx_packets", 7), ("tx_packets", 8)]);
    }

    #[test]
    fn a_name_may_hold_colons_brackets_and_blanks() {
        assert_eq!(
            parse("  [0]: rx_ucast_packets: 12\n rxq0: rx_bytes: 3\n"),
            [("[0]: rx_ucast_packets", 12), ("rxq0: rx_bytes", 3)]
        );
    }

    #[test]
    fn what_is_no_counter_is_left_out() {
        assert_eq!(parse("no stats available\n"), []);
        assert_eq!(parse("rx: -1\nrx: 1.5\nrx: 18446744073709551616\n: 5\n"), []);
    }
}
