//! From entries to a configuration: each entry alone, then the rules with their overrides, then what has to fit together.

use rocewatch_core::settings::{PortOverride, Rule};

use super::check;
use super::devices::DeviceFilter;
use super::keys::{Draft, Key, PORTS, Section, section};
use super::pattern::Pattern;
use super::problem::{Problem, in_order};
use super::rows::SECTIONS;
use super::values::{Layer, Values, path};
use super::{Config, MetricsConfig};

/// The configuration of these values.
///
/// # Errors
/// Everything that is wrong with them.
pub(super) fn settle(mut values: Values) -> Result<Config, Vec<Problem>> {
    let mut problems = check_entries(&mut values);
    let draft = draft(&values);
    problems.extend(check::refusals(&values, &draft));
    let patterns = DeviceFilter::new(&draft.devices.include, &draft.devices.exclude)
        .and_then(|devices| Ok((devices, Pattern::new(&draft.raw)?)));
    match patterns {
        Ok((devices, raw)) if problems.is_empty() => {
            let warnings = in_order(check::warnings(&values, &draft));
            let Draft { settings, web, log, spool: exec, incidents, runtime, source, path, .. } = draft;
            let metrics = MetricsConfig { raw };
            Ok(Config {
                settings,
                web,
                devices,
                metrics,
                log,
                exec,
                incidents,
                runtime,
                source,
                path,
                values,
                warnings,
            })
        }
        // A pattern that does not compile is among the problems already.
        Ok(_) | Err(_) => Err(problems),
    }
}

/// Reads every entry once, and marks those that are no value of their key.
fn check_entries(values: &mut Values) -> Vec<Problem> {
    let mut problems = Vec::new();
    for port in values.layers() {
        let layer = values.layer_mut(port);
        for (section, key) in
            SECTIONS.iter().flat_map(|section| section.keys().map(move |key| (section, key)))
        {
            if let Some(problem) = check_entry(layer, section, key, port) {
                problems.push(problem);
            }
        }
    }
    problems
}

fn check_entry(layer: &mut Layer, section: &Section, key: &Key, port: Option<usize>) -> Option<Problem> {
    let entry = layer.get_mut(section.name, key.name)?;
    let mismatch = key.read(&mut Draft::default(), entry).err()?;
    entry.refused = true;
    let at = mismatch.item.and_then(|index| entry.item(index)).unwrap_or(entry);
    Some(Problem::expected(path(section.name, key.name, port), at, &mismatch.expected))
}

/// Everything that has a value, with the rules of both directions and of all ports merged.
fn draft(values: &Values) -> Draft {
    let mut draft = Draft::default();
    for section in SECTIONS.iter().filter(|section| !section.overrides()) {
        for key in section.keys() {
            if let Some(entry) = values.node.valid(section.name, key.name) {
                // Refused entries are not valid ones, so that this cannot fail.
                let _ = key.read(&mut draft, entry);
            }
        }
    }
    draft.settings.rx = draft.rule.clone();
    draft.settings.tx = draft.rule.clone();
    overrule(&mut draft.settings.rx, &values.node, "watchdog.rx");
    overrule(&mut draft.settings.tx, &values.node, "watchdog.tx");
    let ports = values.ports.iter().map(|port| port_override(&draft, port)).collect();
    draft.settings.ports = ports;
    let Draft { settings, guard, exec, spool, .. } = &mut draft;
    settings.guard = (!guard.url.is_empty() && !guard.query.is_empty()).then(|| guard.clone());
    settings.exec = (!exec.command.is_empty() || spool.spool.is_some()).then(|| exec.clone());
    draft
}

/// A port's rules: what stands for one direction goes before what stands for both, and that before the node's.
fn port_override(draft: &Draft, layer: &Layer) -> PortOverride {
    let rule = |node: &Rule, direction: &'static str| {
        let mut rule = node.clone();
        overrule(&mut rule, layer, PORTS);
        overrule(&mut rule, layer, direction);
        rule
    };
    let explicit = |section: &&'static str| layer.valid(section, "detect").is_some();
    let mut named = Draft::default();
    if let (Some(key), Some(entry)) =
        (section(PORTS).and_then(|section| section.key("select")), layer.valid(PORTS, "select"))
    {
        let _ = key.read(&mut named, entry);
    }
    PortOverride {
        select: named.select,
        rx: rule(&draft.settings.rx, "ports.rx"),
        tx: rule(&draft.settings.tx, "ports.tx"),
        detect_explicit: [PORTS, "ports.rx", "ports.tx"].iter().any(explicit),
    }
}

/// Puts what stands in a section over a rule.
fn overrule(rule: &mut Rule, layer: &Layer, name: &'static str) {
    for key in section(name).into_iter().flat_map(Section::keys) {
        if let Some(entry) = layer.valid(name, key.name) {
            let _ = key.read_rule(rule, entry);
        }
    }
}
