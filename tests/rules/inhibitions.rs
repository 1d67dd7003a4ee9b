//! The inhibitions, read from the snippet, whose lines have one form.

use std::collections::BTreeSet;

use regex::Regex;

use super::faults::FAULTS;
use super::template::labels;

/// One alert keeps others quiet.
#[derive(Debug)]
pub(crate) struct Inhibition {
    pub(crate) sources: Vec<&'static str>,
    pub(crate) targets: Vec<&'static str>,
    pub(crate) equal: Vec<String>,
}

/// All of a snippet; `alerts` are the names there are.
pub(crate) fn read(snippet: &str, alerts: &[&'static str]) -> Vec<Inhibition> {
    let matching = |pattern: &str| {
        let whole = Regex::new(&format!("^(?:{pattern})$")).unwrap();
        alerts.iter().copied().filter(|name| whole.is_match(name)).collect::<Vec<_>>()
    };
    let mut found: Vec<Inhibition> = Vec::new();
    let mut names = Vec::new();
    for line in snippet.lines().filter(|line| !line.trim_start().starts_with('#')) {
        if let Some((_, pattern)) = line.split_once("alertname") {
            let pattern = pattern.trim_start_matches(['=', '~', '"']).split('"').next().unwrap();
            names.push(matching(pattern));
        } else if let Some((_, labels)) = line.split_once("equal: [") {
            let equal = labels.trim_end_matches(']').split(", ").map(str::to_owned).collect();
            let [sources, targets] = std::mem::take(&mut names).try_into().expect("a source and a target");
            found.push(Inhibition { sources, targets, equal });
        }
    }
    found
}

/// The labels that an alert has, as its tests show.
pub(crate) fn labels_of(alert: &str) -> BTreeSet<String> {
    let fault = FAULTS.iter().find(|fault| fault.alert == alert).unwrap();
    labels(fault.labels).into_iter().map(|(name, _)| name).collect()
}
