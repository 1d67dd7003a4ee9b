//! Rules as YAML.

use std::fmt::Write as _;

use super::{Group, Rule, Settings};

pub(super) fn groups(text: &mut String, groups: &[Group], settings: &Settings) {
    for group in groups {
        let _ = writeln!(text, "  - name: {}", group.name);
        if let Some(key) = group.interval {
            let _ = writeln!(text, "    interval: {}", settings.text(key));
        }
        text.push_str("    rules:\n");
        for rule in group.rules {
            self::rule(text, rule, settings);
        }
    }
}

fn rule(text: &mut String, rule: &Rule, settings: &Settings) {
    let kind = if rule.alert.is_some() { "alert" } else { "record" };
    let _ = writeln!(text, "      - {kind}: {}\n        expr: |-", rule.name);
    for line in settings.fill(rule.expr).lines() {
        let _ = writeln!(text, "          {line}");
    }
    let Some(alert) = rule.alert else { return };
    if let Some(key) = alert.hold.filter(|key| !settings.is_zero(key)) {
        let _ = writeln!(text, "        for: {}", settings.text(key));
    }
    let runbook = format!("{}/{}.md", settings.text("runbook_base").trim_end_matches('/'), rule.name);
    let _ = writeln!(text, "        labels:\n          severity: {}", alert.severity.label());
    text.push_str("        annotations:\n");
    for (name, value) in [
        ("summary", settings.fill(alert.summary)),
        ("description", settings.fill(alert.description)),
        ("runbook_url", runbook),
    ] {
        let _ = writeln!(text, "          {name}: {}", quoted(&value));
    }
}

/// A text in double quotes, as JSON and YAML agree on.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
