//! Holds the names in the rules against the catalogue.

use std::collections::BTreeSet;

use rocewatch::alerts::{Rule, Settings, rules};
use rocewatch_core::action::ActionResult;
use rocewatch_core::catalog::{Counter, Family, FamilyKind};
use rocewatch_core::policy::Veto;
use rocewatch_core::settings::Mode;
use rocewatch_core::units::Direction;

use super::words::{self, Selector};

/// Labels that Prometheus gives a target, and the one of its histograms.
const OF_PROMETHEUS: [&str; 5] = ["job", "instance", "cluster", "leaf", "le"];

/// Everything in a rule that is not in the catalogue.
pub(crate) fn strangers(rule: &Rule) -> Vec<String> {
    let settings = Settings::default();
    let texts = rule.alert.iter().flat_map(|alert| [alert.summary, alert.description]);
    let named = texts.flat_map(|text| labels_in(&settings.fill(text))).collect();
    strangers_in(&settings.fill(rule.expr), named)
}

/// Everything in an expression that is not in the catalogue; its series have to have the labels `named`, too.
pub(crate) fn strangers_in(expr: &str, named: Vec<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut known: BTreeSet<String> = OF_PROMETHEUS.map(str::to_owned).into();
    for selector in words::selectors(expr) {
        match labels_of(&selector.name) {
            Some(labels) => {
                found.extend(wrong_matchers(&selector, &labels));
                known.extend(labels);
            }
            None => found.push(format!("{} is no metric and not recorded", selector.name)),
        }
    }
    let (used, made) = words::labels(expr);
    known.extend(made);
    let unknown = used.into_iter().chain(named).filter(|label| !known.contains(label));
    found.extend(unknown.map(|label| format!("no series here has the label {label}")));
    found
}

/// The metrics of the catalogue, and Prometheus's own, that a rule rests on, by way of what is recorded.
pub(crate) fn metrics_of(rule: &Rule) -> BTreeSet<String> {
    let expr = Settings::default().fill(rule.expr);
    let selected = words::selectors(&expr).into_iter().map(|selector| selector.name);
    selected.flat_map(|name| recorded(&name).map_or_else(|| BTreeSet::from([name]), metrics_of)).collect()
}

fn recorded(name: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.alert.is_none() && rule.name == name)
}

/// The labels a series can have; none if there is no such series.
fn labels_of(name: &str) -> Option<BTreeSet<String>> {
    if name == "up" {
        return Some(BTreeSet::new());
    }
    if let Some(rule) = recorded(name) {
        let sources = metrics_of(rule);
        return Some(sources.iter().filter_map(|name| labels_of(name)).flatten().collect());
    }
    let family = family(name)?;
    let fixed = Counter::ALL.iter().map(|counter| counter.entry()).filter(|e| e.family.name == family.name);
    let fixed = fixed.flat_map(|entry| entry.labels).map(|(label, _)| *label);
    Some(family.labels.iter().copied().chain(fixed).map(str::to_owned).collect())
}

fn family(name: &str) -> Option<&'static Family> {
    let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|end| {
        let family = Family::named(name.strip_suffix(end)?)?;
        matches!(family.kind, FamilyKind::Histogram(_)).then_some(family)
    });
    // Of a histogram, the bare name is no series.
    let plain = Family::named(name).filter(|family| !matches!(family.kind, FamilyKind::Histogram(_)));
    of_histogram.or(plain)
}

fn wrong_matchers(selector: &Selector, labels: &BTreeSet<String>) -> Vec<String> {
    let is_wrong = |(label, value): &&(String, String)| {
        let known = labels.contains(label) || OF_PROMETHEUS.contains(&label.as_str());
        !known || values_of(&selector.name, label).is_some_and(|values| !values.contains(&value.as_str()))
    };
    let wrong = selector.matchers.iter().filter(is_wrong);
    wrong.map(|(label, value)| format!("{} never has {label}={value:?}", selector.name)).collect()
}

/// The values a label can have, where there is a list of them.
fn values_of(name: &str, label: &str) -> Option<Vec<&'static str>> {
    match label {
        "mode" => Some(Mode::ALL.map(Mode::label).to_vec()),
        "result" => Some(ActionResult::ALL.map(ActionResult::label).to_vec()),
        "reason" => Some(Veto::ALL.map(Veto::label).to_vec()),
        "direction" => Some(Direction::ALL.map(Direction::label).to_vec()),
        _ => {
            let entries =
                Counter::ALL.iter().map(|counter| counter.entry()).filter(|entry| entry.family.name == name);
            let pairs = entries.flat_map(|entry| entry.labels).filter(|(fixed, _)| *fixed == label);
            Some(pairs.map(|(_, value)| *value).collect::<Vec<_>>()).filter(|values| !values.is_empty())
        }
    }
}

/// The labels that a template names.
fn labels_in(template: &str) -> Vec<String> {
    let after = template.split("$labels.").skip(1);
    after.map(|rest| rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()).collect()
}
