//! Which network devices are watched, by name.

use regex::bytes::{Regex, RegexBuilder};

/// The include and exclude patterns, compiled; both have to match the whole name.
#[derive(Clone, Debug, Default)]
pub struct DeviceFilter {
    include: Option<Regex>,
    exclude: Option<Regex>,
}

/// What the patterns say about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is left alone.
    Refused,
    /// It is named: watched even if it is no physical port.
    Named,
    /// It is not named, and nothing is: watched if it is a physical port.
    Unnamed,
}

impl DeviceFilter {
    /// The filter of two patterns; an empty one does not count.
    ///
    /// # Errors
    /// What is wrong with a pattern.
    pub fn new(include: &str, exclude: &str) -> Result<Self, BadPattern> {
        Ok(Self { include: compile(include)?, exclude: compile(exclude)? })
    }

    /// What the patterns say about `netdev`. An exclusion wins.
    #[must_use]
    pub fn admission(&self, netdev: &str) -> Admission {
        let matches = |pattern: &Regex| pattern.is_match(netdev.as_bytes());
        match (&self.include, &self.exclude) {
            (_, Some(exclude)) if matches(exclude) => Admission::Refused,
            (Some(include), _) if matches(include) => Admission::Named,
            (Some(_), _) => Admission::Refused,
            (None, _) => Admission::Unnamed,
        }
    }

    /// Whether `netdev` may be read at all.
    #[must_use]
    pub fn admits(&self, netdev: &str) -> bool {
        match self.admission(netdev) {
            Admission::Refused => false,
            Admission::Named | Admission::Unnamed => true,
        }
    }
}

impl PartialEq for DeviceFilter {
    fn eq(&self, other: &Self) -> bool {
        let text = |pattern: &Option<Regex>| pattern.as_ref().map(|pattern| pattern.as_str().to_owned());
        text(&self.include) == text(&other.include) && text(&self.exclude) == text(&other.exclude)
    }
}

impl Eq for DeviceFilter {}

/// A regular expression that does not compile: the reason in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadPattern(String);

/// The pattern `text`, anchored at both ends; none if it is empty.
pub(super) fn compile(text: &str) -> Result<Option<Regex>, BadPattern> {
    if text.is_empty() {
        return Ok(None);
    }
    // Alone first: `a)|(b` only becomes valid by the anchors.
    build(text).and_then(|_| build(&format!(r"\A(?:{text})\z"))).map(Some)
}

/// Netdev names are bytes; without the Unicode tables `\d` and `\w` mean ASCII.
fn build(text: &str) -> Result<Regex, BadPattern> {
    RegexBuilder::new(text).unicode(false).build().map_err(|error| {
        let message = error.to_string();
        let last = message.lines().last().unwrap_or_default();
        BadPattern(last.strip_prefix("error: ").unwrap_or(last).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_to_match_the_whole_name() {
        let filter = DeviceFilter::new(r"eth\d+|ib", "").unwrap();
        assert_eq!(filter.admission("eth12"), Admission::Named);
        assert_eq!(filter.admission("xeth1"), Admission::Refused);
        assert_eq!(filter.admission("ib0"), Admission::Refused);
    }

    #[test]
    fn an_exclusion_wins_and_nothing_named_means_by_default() {
        let filter = DeviceFilter::new("eth.*", "eth0").unwrap();
        assert!(!filter.admits("eth0") && filter.admits("eth1"));
        let filter = DeviceFilter::new("", "eth0").unwrap();
        assert_eq!(filter.admission("veth7"), Admission::Unnamed);
        assert_eq!(DeviceFilter::default().admission("eth0"), Admission::Unnamed);
    }

    #[test]
    fn a_bad_pattern_is_refused_in_one_line() {
        assert_eq!(DeviceFilter::new("eth(", "").unwrap_err().to_string(), "unclosed group");
        assert!(DeviceFilter::new("a)|(b", "").is_err());
    }
}
