//! Every threshold and duration of the rules, in one table.

use std::time::Duration;

use super::table::SETTINGS;
use crate::config::nearest;

/// One threshold or duration.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub key: &'static str,
    /// Its default.
    pub default: &'static str,
    /// What it may be, and its unit.
    pub kind: Kind,
    /// What it means.
    pub meaning: &'static str,
    /// Why the default is what it is.
    pub reason: &'static str,
}

/// What a setting may be, and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// How long a condition has to hold; 0s is at once.
    Hold,
    /// A span that is looked back over; more than 0s.
    Window,
    /// A share from 0 to 1.
    Ratio,
    /// How often in a second.
    PerSecond,
    /// How many.
    Count,
    /// How many times as much.
    Times,
    /// The name of a label.
    Label,
    /// The value of a label.
    Text,
    /// Where pages lie.
    Url,
}

impl Kind {
    /// What a value of this kind looks like.
    #[must_use]
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Hold => "a duration of up to 366d such as 30s or 10m; 0s is at once",
            Self::Window => "a duration above zero and up to 366d, such as 30s or 10m",
            Self::Ratio => "a share from 0 to 1, such as 0.05",
            Self::PerSecond => "a number of times per second, such as 100",
            Self::Count => "a whole number from 1 on",
            Self::Times => "a number above 0 and up to 100, such as 0.1",
            Self::Label => "the name of a label: letters, digits and _",
            Self::Text => "a text without quotes, backslashes or spaces",
            Self::Url => "a URL that begins with https:// or http://",
        }
    }

    /// Its unit, as the reference page names it.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Hold | Self::Window => "duration",
            Self::Ratio => "ratio, 0 to 1",
            Self::PerSecond => "per second",
            Self::Count => "count",
            Self::Times => "factor",
            Self::Label => "label name",
            Self::Text => "text",
            Self::Url => "URL",
        }
    }

    const fn is_duration(self) -> bool {
        matches!(self, Self::Hold | Self::Window)
    }

    fn accepts(self, value: &str) -> bool {
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
        let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"\"'\\`$".contains(c);
        match self {
            Self::Hold => parse(value).is_some(),
            Self::Window => parse(value).is_some_and(|span| !span.is_zero()),
            Self::Ratio => number.is_some_and(|number| (0.0..=1.0).contains(&number)),
            Self::PerSecond => number.is_some_and(|number| number >= 0.0),
            Self::Count => value.parse::<u32>().is_ok_and(|count| count > 0),
            Self::Times => number.is_some_and(|number| number > 0.0 && number <= TIMES_MAX),
            Self::Label => {
                value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            }
            Self::Text => !value.is_empty() && value.chars().all(plain),
            Self::Url => {
                let rest = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
                rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(plain))
            }
        }
    }
}

/// The settings in force.
#[derive(Clone, Debug)]
pub struct Settings {
    /// By the table's order.
    values: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { values: SETTINGS.iter().map(|setting| setting.default.to_owned()).collect() }
    }
}

/// A setting that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No value in it.
    #[error("{0:?} sets nothing: expected key=value, such as tx_pause_high=0.02")]
    Unassigned(String),
    /// There is none of that name.
    #[error("{key:?} is no setting of the alerts{}: docs/alerts.md lists them", near.map(|near| format!(", perhaps {near}")).unwrap_or_default())]
    Unknown {
        /// The name.
        key: String,
        /// One that is much like it.
        near: Option<&'static str>,
    },
    /// Its value is of another kind.
    #[error("{key}: {value:?} is refused: expected {expected}")]
    Value {
        /// The name.
        key: &'static str,
        /// The value.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
}

impl Settings {
    /// Takes `key=value`.
    ///
    /// # Errors
    /// There is no such key, or it cannot have this value.
    pub fn set(&mut self, assignment: &str) -> Result<(), SettingError> {
        let Some((key, value)) = assignment.split_once('=') else {
            return Err(SettingError::Unassigned(assignment.into()));
        };
        let Some(index) = SETTINGS.iter().position(|setting| setting.key == key) else {
            let near = nearest(key, SETTINGS.iter().map(|setting| setting.key));
            return Err(SettingError::Unknown { key: key.into(), near });
        };
        let setting = &SETTINGS[index];
        if !setting.kind.accepts(value) {
            let expected = setting.kind.expected();
            return Err(SettingError::Value { key: setting.key, value: value.into(), expected });
        }
        value.clone_into(&mut self.values[index]);
        Ok(())
    }

    /// What differs from the defaults.
    pub(super) fn changed(&self) -> impl Iterator<Item = (&'static Setting, &str)> {
        let both = SETTINGS.iter().zip(&self.values);
        both.filter(|(setting, value)| setting.default != *value)
            .map(|(setting, value)| (setting, &value[..]))
    }

    /// `text` with the values of the settings that are named in it.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        let mut pieces = text.split("$(");
        let mut filled = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (key, rest) =
                piece.split_once(')').expect("every $( in a rule is closed, which a test checks");
            filled.push_str(&self.text(key));
            filled.push_str(rest);
        }
        filled
    }

    /// The value of `key` as a rule file has it. Durations are scaled.
    pub(super) fn text(&self, key: &str) -> String {
        match key {
            "port" => return PORT.into(),
            "queue" => return format!("{PORT}, priority"),
            _ => {}
        }
        if let Some(key) = key.strip_suffix(".seconds") {
            return self.span(key).as_secs_f64().to_string();
        }
        let (setting, value) = self.get(key);
        if setting.kind.is_duration() { prometheus(self.span(key)) } else { value.to_owned() }
    }

    pub(super) fn is_zero(&self, key: &str) -> bool {
        self.span(key).is_zero()
    }

    fn get(&self, key: &str) -> (&'static Setting, &str) {
        let index = SETTINGS.iter().position(|setting| setting.key == key);
        let index = index.expect("every key in a rule is in the table, which a test checks");
        (&SETTINGS[index], &self.values[index])
    }

    fn span(&self, key: &str) -> Duration {
        let span = parse(self.get(key).1).expect("a duration was checked when it was set");
        let scale: f64 = self.get("scale").1.parse().expect("a number was checked when it was set");
        Duration::try_from_secs_f64(span.as_secs_f64() * scale).unwrap_or(Duration::MAX)
    }
}

/// Labels by which two series of one port are known to belong together.
const PORT: &str = "job, instance, device, port, netdev";

/// Products of this and of the longest span are still spans to Prometheus, which counts in nanoseconds.
const TIMES_MAX: f64 = 100.0;
const SPAN_MAX: Duration = Duration::from_secs(366 * 86_400);

/// The units of Prometheus in milliseconds, from large to small.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// A span as Prometheus reads it, such as `1h30m`, but for weeks and years.
fn parse(text: &str) -> Option<Duration> {
    let (mut rest, mut millis, mut units) = (text, 0u64, UNITS.iter());
    while !rest.is_empty() {
        let (number, behind) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let (unit, after) =
            behind.split_at(behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len()));
        let (_, worth) = units.find(|(name, _)| *name == unit)?;
        millis = millis.checked_add(number.parse::<u64>().ok()?.checked_mul(*worth)?)?;
        rest = after;
    }
    let span = Duration::from_millis(millis);
    (!text.is_empty() && span <= SPAN_MAX).then_some(span)
}

/// A span as Prometheus writes it, to the millisecond; one that is not zero stays so.
fn prometheus(span: Duration) -> String {
    let mut left = u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(u64::from(!span.is_zero()));
    let mut text = String::new();
    for (unit, worth) in UNITS.iter().filter(|_| !span.is_zero()) {
        if left >= *worth {
            text += &format!("{}{unit}", left / worth);
            left %= worth;
        }
    }
    if text.is_empty() { "0s".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(assignment: &str) -> String {
        Settings::default().set(assignment).unwrap_err().to_string()
    }

    #[test]
    fn every_default_is_of_its_kind_and_every_key_stands_once() {
        for setting in SETTINGS {
            assert!(setting.kind.accepts(setting.default), "{}", setting.key);
            assert!(!setting.meaning.is_empty() && !setting.reason.is_empty(), "{}", setting.key);
            assert_eq!(
                SETTINGS.iter().filter(|other| other.key == setting.key).count(),
                1,
                "{}",
                setting.key
            );
        }
    }

    #[test]
    fn a_setting_that_is_refused_is_named_with_its_value_and_what_it_may_be() {
        let expected = "tx_pause_high: \"2\" is refused: expected a share from 0 to 1, such as 0.05";
        assert_eq!(refused("tx_pause_high=2"), expected);
        assert!(refused("tx_puase_high=0.1").contains("perhaps tx_pause_high"));
        assert!(refused("tx_pause_high").contains("expected key=value"));
        for bad in [
            "scale=0",
            "scale=nan",
            "long=0s",
            "long=5",
            "long=5m1h",
            "long=m",
            "fleet_nodes=0",
            "job=a\"b",
            "cluster=a-b",
            "runbook_base=ftp://x",
            "seen=999999999999999999d",
            "fleet_nodes=1.5",
        ] {
            assert!(refused(bad).contains("is refused: expected"), "{bad}");
        }
    }

    #[test]
    fn scale_multiplies_every_duration_and_nothing_else() {
        let mut settings = Settings::default();
        let text = "[$(long)] $(long.seconds) $(seen) $(tx_pause_high) $(fleet_nodes)";
        assert_eq!(settings.fill(text), "[5m] 300 7d 0.01 3");
        settings.set("scale=0.01").unwrap();
        assert_eq!(settings.fill(text), "[3s] 3 1h40m48s 0.01 3");
        settings.set("scale=0.000001").unwrap();
        assert_eq!(settings.fill("[$(long)]"), "[1ms]", "a window is never nothing");
    }

    #[test]
    fn a_span_is_written_as_it_is_read() {
        for text in ["0s", "1ms", "90s", "1h30m", "7d", "1d2h3m4s5ms"] {
            assert_eq!(parse(&prometheus(parse(text).unwrap())), parse(text), "{text}");
        }
    }
}
