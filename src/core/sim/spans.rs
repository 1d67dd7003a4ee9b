//! Time spans in scenario files: a whole number and its unit, such as `250ms`. Without floating point.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

use crate::units::nanos;

/// Units, the largest first.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// A text that is no time span.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "time span {0:?} is not understood: expected a whole number and h, min, s, ms, us or ns, such as 250ms"
)]
pub struct BadSpan(String);

/// Reads `250ms`.
///
/// # Errors
/// [`BadSpan`] for anything else than a whole number, a unit, and less than 584 years.
pub fn parse(text: &str) -> Result<Duration, BadSpan> {
    let bad = || BadSpan(text.into());
    let end = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
    let (digits, unit) = text.split_at(end);
    let number: u64 = digits.parse().map_err(|_| bad())?;
    let (_, scale) = UNITS.into_iter().find(|(name, _)| *name == unit.trim()).ok_or_else(bad)?;
    number.checked_mul(scale).map(Duration::from_nanos).ok_or_else(bad)
}

/// Writes a span in the largest unit that leaves a whole number.
#[must_use]
pub fn format(span: Duration) -> String {
    let nanos = nanos(span);
    let exact = UNITS.into_iter().find(|(_, scale)| nanos.is_multiple_of(*scale) && nanos > 0);
    let (unit, scale) = exact.unwrap_or(("ms", 1_000_000));
    format!("{}{unit}", nanos / scale)
}

/// For `#[serde(with)]`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format(*span))
}

/// For `#[serde(with)]`.
///
/// # Errors
/// The text is no span.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// The same for a span that may be absent.
pub mod optional {
    use super::{Deserialize, Deserializer, Duration, Serializer, format, parse};

    /// For `#[serde(with)]`.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(span: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match span {
            Some(span) => serializer.serialize_some(&format(*span)),
            None => serializer.serialize_none(),
        }
    }

    /// For `#[serde(with)]`.
    ///
    /// # Errors
    /// The text is no span.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| parse(&text).map_err(serde::de::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_reads_back_as_it_is_written() {
        for text in ["250ms", "1s", "90us", "7ns", "5min", "2h", "0ms"] {
            assert_eq!(format(parse(text).unwrap()), text);
        }
        assert_eq!(format(Duration::from_millis(1500)), "1500ms");
    }

    #[test]
    fn what_is_no_span_is_refused_by_name() {
        for text in ["", "5", "ms", "1.5s", "-1s", "3 weeks", "99999999999999h"] {
            assert!(parse(text).unwrap_err().to_string().contains(&format!("{text:?}")), "{text}");
        }
    }
}
