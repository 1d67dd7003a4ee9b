//! Values as the operator wrote them, and where they stand. What a value means is decided by its key.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::DeValue;

/// A message shows at most this many characters of a value: enough to recognise it, and one line of a terminal.
const LITERAL_MAX: usize = 60;

/// Where a value was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File {
        /// Its name as the operator gave it.
        file: Arc<str>,
        /// Bytes of the text.
        span: Range<usize>,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
    },
    /// By this flag of the command line.
    Flag(String),
    /// By `--set` for this key.
    Set(String),
    /// By the subcommand of this name, which has defaults of its own.
    Preset(&'static str),
}

impl Place {
    /// Where `span` stands in the text of `file`.
    pub(crate) fn in_file(file: &Arc<str>, text: &str, span: Range<usize>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self::File {
            file: Arc::clone(file),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span,
        }
    }

    /// Sorts as the operator reads: the file from its top, then the rest as given.
    pub(super) const fn order(&self) -> (u8, usize) {
        match self {
            Self::File { span, .. } => (0, span.start),
            Self::Preset(_) | Self::Flag(_) | Self::Set(_) => (1, 0),
        }
    }

    /// Which place goes before which: the higher counts.
    pub(super) const fn layer(&self) -> u8 {
        match self {
            Self::Preset(_) => 0,
            Self::File { .. } => 1,
            Self::Flag(_) => 2,
            Self::Set(_) => 3,
        }
    }
}

/// As `config show` names it: a file without the column, which nobody needs there.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, .. } => write!(f, "{file}:{line}"),
            Self::Flag(flag) => f.write_str(flag),
            Self::Set(key) => write!(f, "--set {key}"),
            Self::Preset(name) => f.write_str(name),
        }
    }
}

/// One value, as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) given: Given,
    /// For messages: as it stands in the file, shortened.
    pub(crate) literal: String,
    pub(crate) place: Place,
    /// It was found to be of the wrong type or out of range: nothing more is concluded from it.
    pub(crate) refused: bool,
}

/// The kinds of values that TOML and the command line tell apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    /// From the command line, where everything is a text: its key says what it has to be.
    Bare(String),
    /// A TOML string.
    Text(String),
    /// A TOML integer; none if it has more than 64 bits.
    Integer(Option<i64>),
    /// A TOML float.
    Decimal(f64),
    /// A TOML boolean.
    Switch(bool),
    /// Several.
    List(Vec<Entry>),
    /// A date or a table, which no key takes.
    Foreign,
}

impl Entry {
    /// The value at `value` in the text of `file`.
    pub(crate) fn from_toml(file: &Arc<str>, text: &str, value: &Spanned<DeValue<'_>>) -> Self {
        let given = if let DeValue::Array(items) = value.get_ref() {
            Given::List(items.iter().map(|item| Self::list_item(file, text, item)).collect())
        } else {
            Given::scalar(value.get_ref())
        };
        Self::in_file(file, text, value.span(), given)
    }

    /// Nothing takes a list within a list, so that the depth of the text is not followed.
    fn list_item(file: &Arc<str>, text: &str, value: &Spanned<DeValue<'_>>) -> Self {
        Self::in_file(file, text, value.span(), Given::scalar(value.get_ref()))
    }

    fn in_file(file: &Arc<str>, text: &str, span: Range<usize>, given: Given) -> Self {
        let literal = shorten(text.get(span.clone()).unwrap_or_default());
        Self { given, literal, place: Place::in_file(file, text, span), refused: false }
    }

    /// The item of a list in a file. On the command line names may share one text, so the whole stands for them.
    pub(crate) fn item(&self, index: usize) -> Option<&Self> {
        match (&self.place, &self.given) {
            (Place::File { .. }, Given::List(items)) => items.get(index),
            (Place::File { .. } | Place::Flag(_) | Place::Set(_) | Place::Preset(_), _) => None,
        }
    }

    /// A value from the command line.
    pub(crate) fn bare(text: &str, place: Place) -> Self {
        Self { given: Given::Bare(text.into()), literal: shorten(text), place, refused: false }
    }

    /// The values of a flag that may be repeated.
    pub(super) fn bare_list(texts: &[String], place: Place) -> Self {
        let items = texts.iter().filter(|text| !text.is_empty());
        Self {
            given: Given::List(items.map(|text| Self::bare(text, place.clone())).collect()),
            literal: shorten(&texts.join(",")),
            place,
            refused: false,
        }
    }
}

impl Given {
    fn scalar(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(text) => Self::Text(text.to_string()),
            DeValue::Integer(integer) => {
                Self::Integer(i64::from_str_radix(integer.as_str(), integer.radix()).ok())
            }
            DeValue::Float(float) => float.as_str().parse().map_or(Self::Foreign, Self::Decimal),
            DeValue::Boolean(switch) => Self::Switch(*switch),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => Self::Foreign,
        }
    }
}

/// The first line of a value, without control characters and not too long.
pub(crate) fn shorten(literal: &str) -> String {
    let first = literal.lines().next().unwrap_or_default();
    let mut short: String = first
        .chars()
        .take(LITERAL_MAX)
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    if short.len() < literal.len() {
        short.push('…');
    }
    if short.is_empty() { "\"\"".into() } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let file: Arc<str> = "a.toml".into();
        let text = "a = 1\nµ = 2\n";
        let at = text.find('2').unwrap();
        let Place::File { line, column, .. } = Place::in_file(&file, text, at..at + 1) else { panic!() };
        assert_eq!((line, column), (2, 5));
    }

    #[test]
    fn a_literal_is_one_short_line() {
        assert_eq!(shorten("[\n1,\n2]"), "[…");
        assert_eq!(shorten("a\u{7}b"), "a\u{fffd}b");
        assert_eq!(shorten(&"x".repeat(100)).chars().count(), LITERAL_MAX + 1);
        assert_eq!(shorten(""), "\"\"");
    }
}
