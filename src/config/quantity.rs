//! Speeds, sizes and lengths as people write them: a number and its unit, read exactly and without floating point.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::given::Entry;
use super::setting::{Mismatch, Setting, quoted, text};

/// A unit: its name, its size in the smallest one, and whether values are written with it.
type Unit = (&'static str, u64, bool);

macro_rules! quantity {
    ($(#[$doc:meta])+ $name:ident($of:literal), $what:literal, $placeholder:literal, $likely:expr, $units:expr) => {
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(u64);

        impl $name {
            #[doc = concat!("So many ", $of, ".")]
            #[must_use]
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            #[doc = concat!("In ", $of, ".")]
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl FromStr for $name {
            type Err = BadQuantity;

            fn from_str(text: &str) -> Result<Self, BadQuantity> {
                let number = parse(text, $units);
                let expected = || <Self as Setting>::expected(&(Self(0)..=Self(u64::MAX)));
                number.map(Self).ok_or_else(|| BadQuantity { text: text.into(), expected: expected() })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&show(self.0, $units))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl Setting for $name {
            type Limit = RangeInclusive<Self>;

            fn read(entry: &Entry, limit: &Self::Limit) -> Result<Self, Mismatch> {
                text(entry)
                    .and_then(|text| text.parse().ok())
                    .filter(|number| limit.contains(number))
                    .ok_or_else(|| Mismatch::of(Self::expected(limit)))
            }

            fn placeholder(_limit: &Self::Limit) -> &'static str {
                $placeholder
            }

            fn expected(limit: &Self::Limit) -> String {
                let likely: [u64; 3] = $likely;
                let example = likely.map(Self).into_iter().find(|likely| limit.contains(likely));
                let example = example.unwrap_or(*limit.start());
                if limit.end().0 == u64::MAX {
                    return format!("{} with its unit, such as \"{example}\"", $what);
                }
                let (min, max) = (limit.start(), limit.end());
                format!("{} with its unit, from {min} to {max}, such as \"{example}\"", $what)
            }

            fn show(&self) -> String {
                quoted(&self.to_string())
            }
        }
    };
}

quantity!(
    /// How fast a link is: `400G` is 400 Gbit/s.
    Speed("bits per second"),
    "a speed",
    "SPEED",
    [400_000_000_000, 10_000_000_000, 100_000_000],
    &[("M", 1_000_000, true), ("G", 1_000_000_000, true), ("T", 1_000_000_000_000, true)]
);

quantity!(
    /// An amount of memory: `64MB` is 64,000,000 bytes, `64MiB` is 67,108,864.
    Size("bytes"),
    "a size",
    "SIZE",
    [64_000_000, 150_000, 256],
    &[
        ("B", 1, true),
        ("KB", 1_000, true),
        ("MB", 1_000_000, true),
        ("GB", 1_000_000_000, true),
        ("KiB", 1 << 10, false),
        ("MiB", 1 << 20, false),
        ("GiB", 1 << 30, false),
    ]
);

quantity!(
    /// How long a cable is: `30m`.
    Length("millimetres"),
    "a length",
    "LENGTH",
    [30_000, 1_000, 100],
    &[("m", 1_000, true), ("km", 1_000_000, true)]
);

/// A text that is not the quantity it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: expected {expected}")]
pub struct BadQuantity {
    text: String,
    expected: String,
}

/// The number in the smallest unit, if the text is one and comes out even.
fn parse(text: &str, units: &[Unit]) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(end);
    let (_, factor, _) = units.iter().find(|(name, ..)| *name == unit)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || part.is_empty() {
        return None;
    }
    let scale = 10_u64.checked_pow(part.len().try_into().ok()?)?;
    let part = part.parse::<u64>().ok()?.checked_mul(*factor)?;
    if part % scale != 0 {
        return None;
    }
    whole.parse::<u64>().ok()?.checked_mul(*factor)?.checked_add(part / scale)
}

/// The number with the largest unit that it reaches and that takes no more than three decimals; it reads back as it was.
fn show(number: u64, units: &[Unit]) -> String {
    let written = || units.iter().filter(|(.., written)| *written);
    let short =
        |(_, factor, _): &&Unit| number >= *factor && u128::from(number) * 1000 % u128::from(*factor) == 0;
    let Some((name, factor, _)) = written().rev().find(short).or_else(|| written().next()) else {
        return number.to_string();
    };
    let (whole, rest) = (number / factor, number % factor);
    let digits = factor.ilog10() as usize;
    let text = format!("{whole}.{rest:0digits$}");
    format!("{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_read_in_the_unit_it_is_written_with() {
        assert_eq!("400G".parse(), Ok(Speed::new(400_000_000_000)));
        assert_eq!("1.6T".parse(), Ok(Speed::new(1_600_000_000_000)));
        assert_eq!("1.5MB".parse(), Ok(Size::new(1_500_000)));
        assert_eq!("64MiB".parse(), Ok(Size::new(67_108_864)));
        assert_eq!("0.5m".parse(), Ok(Length::new(500)));
        assert_eq!("2km".parse(), Ok(Length::new(2_000_000)));
    }

    #[test]
    fn a_text_without_a_unit_or_with_half_a_byte_is_refused() {
        for text in ["", "400", "G", ".5G", "5.G", "1.2.3G", "-1G", "400g", "400 G", "99999999999999T"] {
            assert!(text.parse::<Speed>().is_err(), "{text}");
        }
        assert!("1.5B".parse::<Size>().is_err());
        let error = "30".parse::<Length>().unwrap_err().to_string();
        assert_eq!(error, "\"30\": expected a length with its unit, such as \"30m\"");
    }

    #[test]
    fn a_quantity_reads_back_as_it_was_written() {
        for number in [0, 1, 999, 1_000, 150_000, 184_321, 1_500_000, 64_123_456, u64::MAX] {
            assert_eq!(Size::new(number).to_string().parse(), Ok(Size::new(number)));
            assert_eq!(Length::new(number).to_string().parse(), Ok(Length::new(number)));
        }
        assert_eq!(Size::new(184_321).to_string(), "184.321KB");
        assert_eq!(Size::new(1_500_000).to_string(), "1.5MB");
        assert_eq!(Speed::new(400_000_000_000).to_string(), "400G");
        assert_eq!(Length::new(500).to_string(), "0.5m");
    }
}
