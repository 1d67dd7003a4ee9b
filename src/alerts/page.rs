//! The reference page of the alerts and their settings.

use std::fmt::Write as _;

use super::{FILES, SETTINGS, Settings};

/// docs/alerts.md.
#[must_use]
pub fn reference() -> String {
    let mut text = INTRODUCTION.to_owned();
    let defaults = Settings::default();
    text.push_str("\n## Alerts\n");
    for file in FILES {
        let _ = writeln!(text, "\n### {}.yml\n\n{}.\n", file.name, file.about);
        text.push_str("| alert | severity | for | summary |\n| --- | --- | --- | --- |\n");
        for rule in file.groups.iter().flat_map(|group| group.rules) {
            let Some(alert) = rule.alert else { continue };
            let hold = alert.hold.map_or_else(|| "0s".to_owned(), |key| defaults.text(key));
            let name = rule.name;
            let severity = alert.severity.label();
            let summary = cell(&defaults.fill(alert.summary));
            let _ = writeln!(
                text,
                "| [{name}](../alerts/runbooks/{name}.md) | {severity} | {hold} | {summary} |"
            );
        }
    }
    text.push_str("\n## Recorded series\n\n| series | from |\n| --- | --- |\n");
    let recorded = super::rules().filter(|rule| rule.alert.is_none());
    for rule in recorded {
        let expr = defaults.fill(rule.expr).split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "| `{}` | `{}` |", rule.name, cell(&expr));
    }
    text.push_str(
        "\n## Settings\n\n| key | default | unit | meaning | reason |\n| --- | --- | --- | --- | --- |\n",
    );
    for setting in SETTINGS {
        let (unit, meaning, reason) = (setting.kind.unit(), setting.meaning, setting.reason);
        let _ =
            writeln!(text, "| `{}` | `{}` | {unit} | {meaning} | {reason} |", setting.key, setting.default);
    }
    text
}

const INTRODUCTION: &str = "# Alerts

This page is generated from the tables in `src/alerts`. The rules themselves are plain Prometheus rule files in
[alerts/](../alerts); `rocewatch alerts --set key=value --out DIR` writes them anew with other thresholds.

* `rx` alerts are for whoever owns the fabric: it stopped us. `tx` alerts are for whoever owns the host: it stopped the fabric.
* Pause time decides. Where a NIC counts frames only, the alert says *estimated*, and its value is an upper bound.
* A series that is missing makes no alert of its own: that the agent, a port's readings or a counter went away has
  RocewatchAgentDown, RocewatchAgentsMissing, RocewatchPollerStale, RocewatchCollectorFailing, RocewatchCounterLost and
  RocewatchDeviceMissing.
* The name of a recorded series tells its default window, and does not change when that is set otherwise.
* Names of labels that Prometheus gives (`job`, `instance`, `cluster`) are yours; `cluster` may be missing.
";

/// What may stand in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
