//! As much of PromQL as is needed to find metrics and labels in an expression. Whether it is PromQL at all, Prometheus says.

#![allow(dead_code, reason = "no test uses all of it")]

use std::collections::BTreeSet;

use rocewatch_core::catalog::{Family, FamilyKind};

/// Labels that Prometheus gives its targets, the buckets of a histogram have, or an alert carries.
const OTHERS: [&str; 7] = ["cluster", "instance", "job", "le", "alertname", "alertstate", "severity"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Text(&'a str),
    Sign(char),
}

/// A selection: the metric and the labels it is narrowed by, with what they have to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection<'a> {
    pub(crate) metric: &'a str,
    pub(crate) labels: Vec<&'a str>,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
        let length = if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            found.push(Token::Word(&rest[..length]));
            length
        } else if matches!(first, '"' | '\'') {
            let inside = rest[1..].find(first).unwrap_or(rest.len() - 1);
            found.push(Token::Text(&rest[1..=inside]));
            (inside + 2).min(rest.len())
        } else {
            if !first.is_whitespace() {
                found.push(Token::Sign(first));
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    found
}

/// The words in the brackets that open at `tokens[at]`, and what comes after these.
fn bracketed<'a>(tokens: &[Token<'a>], at: usize, close: char) -> Vec<Token<'a>> {
    tokens[at + 1..].iter().copied().take_while(|token| *token != Token::Sign(close)).collect()
}

/// Every selection of a metric of ours, of `up` and of alerts.
pub(crate) fn selections(text: &str) -> Vec<Selection<'_>> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(metric) = *token else { continue };
        if !is_metric(metric) {
            continue;
        }
        let braces = match tokens.get(at + 1) {
            Some(Token::Sign('{')) => bracketed(&tokens, at + 1, '}'),
            _ => Vec::new(),
        };
        let labels = braces.windows(2).filter_map(|pair| match pair {
            [Token::Word(label), Token::Sign('=' | '!')] => Some(*label),
            _ => None,
        });
        found.push(Selection { metric, labels: labels.collect() });
    }
    found
}

/// Metrics of ours that an expression or a text names; one that ends in `_` is the beginning of several.
pub(crate) fn metrics(text: &str) -> BTreeSet<&str> {
    selections(text).into_iter().map(|selection| selection.metric).filter(|name| is_ours(name)).collect()
}

fn is_metric(word: &str) -> bool {
    is_ours(word) || matches!(word, "up" | "ALERTS") || word.starts_with("rocewatch:")
}

/// Whether it is a metric of the agent.
pub(crate) fn is_ours(word: &str) -> bool {
    word.starts_with("rocewatch_") || word.starts_with("process_")
}

/// The family of a series, by its name or that of a part of a histogram.
pub(crate) fn family(series: &str) -> Option<&'static Family> {
    Family::named(series).or_else(|| {
        let parts = ["_bucket", "_sum", "_count"].iter().filter_map(|part| series.strip_suffix(part));
        parts.filter_map(Family::named).find(|family| matches!(family.kind, FamilyKind::Histogram(_)))
    })
}

/// The labels in `by (…)`, `on (…)` and the like.
fn grouped(text: &str) -> Vec<(&str, Vec<&str>)> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        if let [Token::Word(word), Token::Sign('(')] = *pair
            && matches!(word, "by" | "without" | "on" | "ignoring" | "group_left" | "group_right")
        {
            let labels = bracketed(&tokens, at + 1, ')').into_iter().filter_map(|token| match token {
                Token::Word(label) => Some(label),
                Token::Text(_) | Token::Sign(_) => None,
            });
            found.push((word, labels.collect()));
        }
    }
    found
}

/// What an expression makes labels of itself: any text in one that replaces labels.
fn made_labels(text: &str) -> impl Iterator<Item = &str> {
    let makes = text.contains("label_replace") || text.contains("label_join");
    tokens(text).into_iter().filter(move |_| makes).filter_map(|token| match token {
        Token::Text(label) => Some(label),
        Token::Word(_) | Token::Sign(_) => None,
    })
}

/// The labels that series of a metric may have; none are known of recording rules.
fn labels_of(metric: &str) -> Vec<&'static str> {
    family(metric).map(Family::label_names).unwrap_or_default().into_iter().chain(OTHERS).collect()
}

/// The labels that an expression names and its metrics do not have.
pub(crate) fn wrong_labels(text: &str) -> Vec<&str> {
    let selections = selections(text);
    if selections.iter().any(|selection| selection.metric.contains(':')) {
        return Vec::new();
    }
    let matched = selections.iter().flat_map(|selection| {
        let known = labels_of(selection.metric);
        selection.labels.iter().copied().filter(move |label| !known.contains(label))
    });
    let known = selections.iter().flat_map(|selection| labels_of(selection.metric));
    let known: BTreeSet<_> = known.chain(made_labels(text)).collect();
    let grouped = grouped(text).into_iter().flat_map(|(_, labels)| labels);
    matched.chain(grouped.filter(|label| !known.contains(label))).collect()
}

/// The labels that an answer can have: those it was grouped by last, or all of its metrics.
pub(crate) fn labels_of_answer(text: &str) -> BTreeSet<&str> {
    let grouped = grouped(text).into_iter().find(|(word, _)| *word == "by");
    let first = text.trim_start();
    let aggregates =
        ["sum", "max", "min", "avg", "count", "group", "quantile", "sort_desc", "histogram_quantile"];
    let is_aggregate = aggregates
        .iter()
        .any(|name| first.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '('])));
    match grouped {
        Some((_, labels)) => labels.into_iter().collect(),
        None if is_aggregate => BTreeSet::new(),
        None => {
            selections(text).first().map(|s| labels_of(s.metric)).unwrap_or_default().into_iter().collect()
        }
    }
}

/// The variables of Grafana in an expression, without those it makes itself.
pub(crate) fn variables(text: &str) -> Vec<&str> {
    let names = text.split('$').skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    });
    names.filter(|name| !name.starts_with("__")).collect()
}
