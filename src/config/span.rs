//! Time spans as texts.

use std::time::Duration;

use jiff::fmt::friendly::{Spacing, SpanParser, SpanPrinter};

/// A time span as the configuration writes it, such as `1h30m`.
#[must_use]
pub fn span_text(span: Duration) -> String {
    SpanPrinter::new().spacing(Spacing::None).unsigned_duration_to_string(&span)
}

/// A time span from a text such as `1h30m`.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_span(text: &str) -> Result<Duration, BadSpan> {
    SpanParser::new().parse_unsigned_duration(text).map_err(|source| BadSpan { text: text.into(), source })
}

/// A text that is no time span.
#[derive(Debug, thiserror::Error)]
#[error("{text:?} is no duration: expected one with its unit, such as 200ms or 1h30m")]
pub struct BadSpan {
    text: String,
    source: jiff::Error,
}
