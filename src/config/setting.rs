//! What can be a value: each type of a setting reads itself from what was given, or says what it expected.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use rocewatch_core::action::{ActionKind, Disruption};
use rocewatch_core::settings::Mode;
use rocewatch_core::units::Permille;

use super::given::{Entry, Given};
use super::listen::ListenAddress;
use super::pattern::Pattern;
use super::span::{parse_span, span_text};
use super::{LogFormat, LogLevel};

/// Why a value was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// What would have been taken.
    pub(crate) expected: String,
    /// Which item of a list it is about.
    pub(crate) item: Option<usize>,
}

impl Mismatch {
    pub(crate) const fn of(expected: String) -> Self {
        Self { expected, item: None }
    }
}

/// A type that a key can have.
pub(crate) trait Setting: Sized {
    /// What of the type's values is allowed for one key.
    type Limit;
    /// How often a flag takes it.
    const ARITY: Arity = Arity::One;
    /// A name: in a list it stands once, and flags may list names with commas.
    const IS_NAME: bool = false;

    /// Takes what was given.
    fn read(entry: &Entry, limit: &Self::Limit) -> Result<Self, Mismatch>;
    /// How help texts call a value.
    fn placeholder(limit: &Self::Limit) -> &'static str;
    /// What would be taken, to follow the word "expected".
    fn expected(limit: &Self::Limit) -> String;
    /// As TOML writes it.
    fn show(&self) -> String;
}

/// How a flag takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// Once.
    One,
    /// Any number of times.
    Many,
    /// Once; without a value it means true.
    Switch,
}

/// What a text has to be.
pub(crate) enum TextRule {
    /// Anything.
    Any,
    /// Anything but nothing.
    NotEmpty,
    /// A base address, or nothing.
    HttpUrl,
    /// A regular expression, or nothing.
    Pattern,
}

/// The text given, if one was.
pub(crate) fn text(entry: &Entry) -> Option<&str> {
    match &entry.given {
        Given::Bare(text) | Given::Text(text) => Some(text),
        Given::Integer(_) | Given::Decimal(_) | Given::Switch(_) | Given::List(_) | Given::Foreign => None,
    }
}

/// `text` as TOML writes it.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

impl Setting for Duration {
    type Limit = RangeInclusive<Self>;

    fn read(entry: &Entry, limit: &Self::Limit) -> Result<Self, Mismatch> {
        text(entry)
            .and_then(|text| parse_span(text).ok())
            .filter(|span| limit.contains(span))
            .ok_or_else(|| Mismatch::of(Self::expected(limit)))
    }

    fn placeholder(_limit: &Self::Limit) -> &'static str {
        "DURATION"
    }

    fn expected(limit: &Self::Limit) -> String {
        let likely = [Self::from_millis(200), Self::from_secs(90), Self::from_secs(5400)];
        let example = likely.into_iter().find(|span| limit.contains(span)).unwrap_or(*limit.start());
        let [min, max, example] = [*limit.start(), *limit.end(), example].map(span_text);
        format!("a duration with its unit, from {min} to {max}, such as \"{example}\"")
    }

    fn show(&self) -> String {
        quoted(&span_text(*self))
    }
}

impl Setting for Permille {
    type Limit = RangeInclusive<u16>;

    fn read(entry: &Entry, limit: &Self::Limit) -> Result<Self, Mismatch> {
        let number = match &entry.given {
            Given::Bare(text) => text.parse().ok(),
            Given::Decimal(number) => Some(*number),
            Given::Integer(Some(0)) => Some(0.0),
            Given::Integer(Some(1)) => Some(1.0),
            Given::Integer(_) | Given::Text(_) | Given::Switch(_) | Given::List(_) | Given::Foreign => None,
        };
        number
            .and_then(thousandths)
            .filter(|thousandths| limit.contains(thousandths))
            .and_then(Self::new)
            .ok_or_else(|| Mismatch::of(Self::expected(limit)))
    }

    fn placeholder(_limit: &Self::Limit) -> &'static str {
        "RATIO"
    }

    fn expected(limit: &Self::Limit) -> String {
        let bound = |thousandths: u16| f64::from(thousandths) / 1000.0;
        format!("a ratio from {} to {} in steps of 0.001", bound(*limit.start()), bound(*limit.end()))
    }

    fn show(&self) -> String {
        let text = format!("{}.{:03}", self.get() / 1000, self.get() % 1000);
        let short = text.trim_end_matches('0');
        if short.ends_with('.') { format!("{short}0") } else { short.into() }
    }
}

/// A ratio in thousandths, if it is a whole number of them: 0.95 has no exact binary form, so a little is forgiven.
fn thousandths(ratio: f64) -> Option<u16> {
    let scaled = ratio * 1000.0;
    let whole = scaled.round();
    ((0.0..=1000.0).contains(&whole) && (scaled - whole).abs() < 1e-6).then_some(whole as u16)
}

macro_rules! count {
    ($($type:ty),+) => {$(
        impl Setting for $type {
            type Limit = RangeInclusive<Self>;

            fn read(entry: &Entry, limit: &Self::Limit) -> Result<Self, Mismatch> {
                let number = match &entry.given {
                    Given::Bare(text) => text.parse().ok(),
                    Given::Integer(number) => number.and_then(|number| Self::try_from(number).ok()),
                    Given::Text(_) | Given::Decimal(_) | Given::Switch(_) | Given::List(_) | Given::Foreign => None,
                };
                number
                    .filter(|number| limit.contains(number))
                    .ok_or_else(|| Mismatch::of(Self::expected(limit)))
            }

            fn placeholder(_limit: &Self::Limit) -> &'static str {
                "NUMBER"
            }

            fn expected(limit: &Self::Limit) -> String {
                format!("a whole number from {} to {}", limit.start(), limit.end())
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )+};
}

count!(u8, u16, u32, u64);

impl Setting for bool {
    type Limit = ();
    const ARITY: Arity = Arity::Switch;

    fn read(entry: &Entry, _limit: &()) -> Result<Self, Mismatch> {
        match &entry.given {
            Given::Switch(switch) => Ok(*switch),
            Given::Bare(text) => text.parse().map_err(|_| Mismatch::of(Self::expected(&()))),
            Given::Text(_) | Given::Integer(_) | Given::Decimal(_) | Given::List(_) | Given::Foreign => {
                Err(Mismatch::of(Self::expected(&())))
            }
        }
    }

    fn placeholder(_limit: &Self::Limit) -> &'static str {
        "true|false"
    }

    fn expected(_limit: &()) -> String {
        "true or false".into()
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for String {
    type Limit = TextRule;

    fn read(entry: &Entry, limit: &TextRule) -> Result<Self, Mismatch> {
        let text = text(entry).ok_or_else(|| Mismatch::of(Self::expected(limit)))?;
        match limit {
            TextRule::NotEmpty if text.is_empty() => Err(Mismatch::of(Self::expected(limit))),
            TextRule::HttpUrl if !text.is_empty() && !is_http_url(text) => {
                Err(Mismatch::of(Self::expected(limit)))
            }
            TextRule::Pattern => match Pattern::new(text) {
                Ok(_) => Ok(text.into()),
                Err(reason) => Err(Mismatch::of(format!("{} ({reason})", Self::expected(limit)))),
            },
            TextRule::Any | TextRule::NotEmpty | TextRule::HttpUrl => Ok(text.into()),
        }
    }

    fn placeholder(limit: &TextRule) -> &'static str {
        match limit {
            TextRule::Any | TextRule::NotEmpty => "TEXT",
            TextRule::HttpUrl => "URL",
            TextRule::Pattern => "REGEX",
        }
    }

    fn expected(limit: &TextRule) -> String {
        match limit {
            TextRule::Any => "a text",
            TextRule::NotEmpty => "a text that is not empty",
            TextRule::HttpUrl => "an address such as \"http://prometheus:9090\", or \"\" for none",
            TextRule::Pattern => "a regular expression, or \"\" for none",
        }
        .into()
    }

    fn show(&self) -> String {
        quoted(self)
    }
}

fn is_http_url(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        !rest.starts_with(['/', ':', '?', '#'])
            && !rest.is_empty()
            && !text.contains(|c: char| c.is_whitespace() || c.is_control())
    })
}

impl Setting for PathBuf {
    type Limit = ();

    fn read(entry: &Entry, _limit: &()) -> Result<Self, Mismatch> {
        text(entry)
            .filter(|text| !text.is_empty())
            .map(Self::from)
            .ok_or_else(|| Mismatch::of(Self::expected(&())))
    }

    fn placeholder(_limit: &Self::Limit) -> &'static str {
        "PATH"
    }

    fn expected(_limit: &()) -> String {
        "a path".into()
    }

    fn show(&self) -> String {
        quoted(&self.to_string_lossy())
    }
}

impl Setting for Option<PathBuf> {
    type Limit = ();

    fn read(entry: &Entry, _limit: &()) -> Result<Self, Mismatch> {
        let text = text(entry).ok_or_else(|| Mismatch::of(Self::expected(&())))?;
        Ok((!text.is_empty()).then(|| text.into()))
    }

    fn placeholder(_limit: &Self::Limit) -> &'static str {
        "PATH"
    }

    fn expected(_limit: &()) -> String {
        "a path, or \"\" for none".into()
    }

    fn show(&self) -> String {
        quoted(&self.as_ref().map_or("".into(), |path| path.to_string_lossy()))
    }
}

/// A setting for types that list their values in `ALL` and name each by `label`.
macro_rules! choice {
    ($($type:ty: $placeholder:literal),+) => {$(
        impl $crate::config::Setting for $type {
            type Limit = ();
            const IS_NAME: bool = true;

            fn read(entry: &$crate::config::Entry, _limit: &()) -> Result<Self, $crate::config::Mismatch> {
                let name = $crate::config::text(entry);
                Self::ALL
                    .into_iter()
                    .find(|choice| Some(choice.label()) == name)
                    .ok_or_else(|| $crate::config::Mismatch::of(Self::expected(&())))
            }

            fn placeholder(_limit: &Self::Limit) -> &'static str {
                $placeholder
            }

            fn expected(_limit: &()) -> String {
                format!("one of {}", Self::ALL.map(Self::label).join(", "))
            }

            fn show(&self) -> String {
                $crate::config::quoted(self.label())
            }
        }
    )+};
}

pub(crate) use choice;

choice!(
    Mode: "MODE",
    Disruption: "DISRUPTION",
    ActionKind: "ACTION",
    LogLevel: "LEVEL",
    LogFormat: "FORMAT"
);

impl Setting for ListenAddress {
    type Limit = ();
    const IS_NAME: bool = true;

    fn read(entry: &Entry, _limit: &()) -> Result<Self, Mismatch> {
        text(entry).and_then(|text| text.parse().ok()).ok_or_else(|| Mismatch::of(Self::expected(&())))
    }

    fn placeholder(_limit: &Self::Limit) -> &'static str {
        "ADDRESS"
    }

    fn expected(_limit: &()) -> String {
        r#"an address with a port, such as ":10019", "127.0.0.1:10019", "[::1]:10019" or "host:10019""#.into()
    }

    fn show(&self) -> String {
        quoted(&self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::given::Place;

    fn bare<T: Setting>(text: &str, limit: &T::Limit) -> Option<T> {
        T::read(&Entry::bare(text, Place::Preset("test")), limit).ok()
    }

    fn given<T: Setting>(given: Given, limit: &T::Limit) -> Option<T> {
        let entry = Entry { given, ..Entry::bare("", Place::Preset("test")) };
        T::read(&entry, limit).ok()
    }

    #[test]
    fn a_ratio_is_a_whole_number_of_thousandths() {
        for thousandths in 0..=1000 {
            let text = Permille::new(thousandths).unwrap().show();
            assert_eq!(bare::<Permille>(&text, &(0..=1000)), Permille::new(thousandths), "{text}");
        }
        for text in ["0.9555", "1.001", "-0.1", "NaN", "inf", "95%", ""] {
            assert_eq!(bare::<Permille>(text, &(0..=1000)), None, "{text}");
        }
        assert_eq!(given::<Permille>(Given::Integer(Some(1)), &(0..=1000)), Some(Permille::ONE));
        assert_eq!(given::<Permille>(Given::Text("0.5".into()), &(0..=1000)), None);
    }

    #[test]
    fn a_duration_needs_its_unit_and_no_sign() {
        let limit = Duration::ZERO..=Duration::from_secs(7200);
        assert_eq!(bare("1h30m", &limit), Some(Duration::from_secs(5400)));
        assert_eq!(bare("1.5s", &limit), Some(Duration::from_millis(1500)));
        for text in ["200", "-1s", "1s ago", "3h", "1 fortnight", ""] {
            assert_eq!(bare::<Duration>(text, &limit), None, "{text}");
        }
        assert_eq!(given::<Duration>(Given::Integer(Some(200)), &limit), None);
    }

    #[test]
    fn a_duration_is_in_the_unit_it_is_written_with() {
        let limit = Duration::ZERO..=Duration::from_secs(7200);
        let written = ["200us", "200ms", "200s"].map(|text| bare::<Duration>(text, &limit).unwrap());
        assert_eq!(written.map(|span| span.as_micros()), [200, 200_000, 200_000_000]);
    }

    #[test]
    fn a_whole_number_has_no_sign_and_fits_its_type() {
        assert_eq!(given::<u32>(Given::Integer(Some(7)), &(0..=9)), Some(7));
        for number in [Some(-1), Some(10), Some(i64::MAX), None] {
            assert_eq!(given::<u32>(Given::Integer(number), &(0..=9)), None, "{number:?}");
        }
        assert_eq!(given::<u32>(Given::Decimal(7.0), &(0..=9)), None);
        assert_eq!(bare::<u16>("65536", &(0..=u16::MAX)), None);
    }

    #[test]
    fn an_address_of_a_server_has_a_scheme_and_a_host() {
        for text in ["", "http://prometheus:9090", "https://[::1]/prefix"] {
            assert_eq!(bare::<String>(text, &TextRule::HttpUrl).as_deref(), Some(text));
        }
        for text in ["prometheus:9090", "http://", "http:///x", "http://a b", "ftp://a"] {
            assert_eq!(bare::<String>(text, &TextRule::HttpUrl), None, "{text}");
        }
    }

    #[test]
    fn a_name_of_a_list_stands_once_and_a_word_as_often_as_it_likes() {
        let list = |texts: &[&str]| {
            let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
            Entry::bare_list(&texts, Place::Preset("test"))
        };
        let ladder = Vec::<ActionKind>::read(&list(&["alert,pfc-off", "exec"]), &()).unwrap();
        assert_eq!(ladder, [ActionKind::Alert, ActionKind::PfcOff, ActionKind::Exec]);
        let twice = Vec::<ActionKind>::read(&list(&["exec", "exec"]), &()).unwrap_err();
        assert_eq!(twice.item, Some(1));
        let words = Vec::<String>::read(&list(&["a,b", "a,b"]), &TextRule::Any).unwrap();
        assert_eq!(words, ["a,b", "a,b"]);
        assert_eq!(Vec::<ActionKind>::read(&list(&[""]), &()).unwrap(), []);
    }

    #[test]
    fn what_is_expected_never_contradicts_its_own_example() {
        for limit in [1..=5_u64, 1..=7200, 86_400..=90_000]
            .map(|span| Duration::from_secs(*span.start())..=Duration::from_secs(*span.end()))
        {
            let expected = Duration::expected(&limit);
            let example = expected.rsplit('"').nth(1).unwrap();
            assert!(bare::<Duration>(example, &limit).is_some(), "{expected}");
        }
    }
}
