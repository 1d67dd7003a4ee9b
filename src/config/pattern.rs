//! Regular expressions over names of devices and counters. They have to match the whole name.

use regex::bytes::{Regex, RegexBuilder};

/// A compiled expression; an empty text makes one that is not set and matches nothing.
#[derive(Clone, Debug, Default)]
pub struct Pattern(Option<Regex>);

impl Pattern {
    /// The pattern `text`, anchored at both ends.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: &str) -> Result<Self, BadPattern> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        // Alone first: `a)|(b` only becomes valid by the anchors.
        build(text).and_then(|_| build(&format!(r"\A(?:{text})\z"))).map(|regex| Self(Some(regex)))
    }

    /// Whether it is set.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// Whether it is set and matches `name` as a whole.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(name.as_bytes()))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_ref().map(Regex::as_str) == other.0.as_ref().map(Regex::as_str)
    }
}

impl Eq for Pattern {}

/// Names in the kernel are bytes; without the Unicode tables `\d` and `\w` mean ASCII.
fn build(text: &str) -> Result<Regex, BadPattern> {
    RegexBuilder::new(text).unicode(false).build().map_err(|error| {
        let message = error.to_string();
        let last = message.lines().last().unwrap_or_default();
        BadPattern(last.strip_prefix("error: ").unwrap_or(last).into())
    })
}

/// A regular expression that does not compile: the reason in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadPattern(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_to_match_the_whole_name() {
        let pattern = Pattern::new(r"eth\d+|ib").unwrap();
        assert!(pattern.matches("eth12") && pattern.matches("ib"));
        assert!(!pattern.matches("xeth1") && !pattern.matches("ib0"));
    }

    #[test]
    fn an_empty_text_sets_no_pattern() {
        let pattern = Pattern::new("").unwrap();
        assert!(!pattern.is_set() && !pattern.matches(""));
        assert_eq!(pattern, Pattern::default());
    }

    #[test]
    fn a_bad_pattern_is_refused_in_one_line() {
        assert_eq!(Pattern::new("eth(").unwrap_err().to_string(), "unclosed group");
        assert!(Pattern::new("a)|(b").is_err());
    }
}
