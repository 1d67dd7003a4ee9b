//! The alert rules: current, made of names that exist, and right about faults. `UPDATE_GOLDEN=1` writes what is generated
//! under `alerts/` and `docs/alerts.md`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

mod rules;
#[path = "skip/mod.rs"]
mod skip;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rocewatch::alerts::{self, FILES, Rule, Settings, Severity};
use rules::faults::{FAULTS, Pace};
use rules::scenarios::{self, FIRES, SILENT, SILENT_ON, SILENT_WITHOUT};
use rules::{base, inhibitions, names, runbooks};

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[track_caller]
fn check_current(path: &str, current: &str) {
    let whole = place(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(whole.parent().unwrap()).unwrap();
        fs::write(&whole, current).unwrap();
    }
    let written = fs::read_to_string(&whole).unwrap_or_default();
    assert!(written == current, "{path} is stale: run with UPDATE_GOLDEN=1");
}

/// The names of the files in a folder that end so, without the end.
fn names_in(folder: &str, end: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(place(folder)).unwrap().map(|entry| entry.unwrap().file_name());
    entries.filter_map(|name| name.to_str().unwrap().strip_suffix(end).map(str::to_owned)).collect()
}

fn alert_rules() -> impl Iterator<Item = &'static Rule> {
    alerts::rules().filter(|rule| rule.alert.is_some())
}

/// Runs a tool of Debian's package; false if it is not there.
fn passes(tool: &str, package: &str, args: &[&str]) -> bool {
    let Ok(output) = Command::new(tool).args(args).current_dir(place("alerts")).output() else {
        skip::skip("a check of the alerts", &format!("{tool} is not installed (Debian package {package})"));
        return false;
    };
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{tool} {args:?}: {}", said.concat());
    true
}

#[test]
fn the_rules_and_their_page_are_current() {
    let settings = Settings::default();
    for file in FILES {
        check_current(&format!("alerts/{}.yml", file.name), &alerts::render(file, &settings));
    }
    let expected = FILES.iter().map(|file| file.name.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(names_in("alerts", ".yml"), expected);
    check_current("docs/alerts.md", &alerts::reference());
}

#[test]
fn every_name_in_a_rule_is_in_the_catalogue_or_recorded_before() {
    let strange = alerts::rules().flat_map(|rule| {
        names::strangers(rule).into_iter().map(move |what| format!("{}: {what}", rule.name))
    });
    assert_eq!(strange.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_metric_a_label_or_a_value_that_does_not_exist_is_found() {
    let known = *alert_rules().find(|rule| rule.name == "RocewatchUndoFailed").unwrap();
    for (expr, what) in [
        (
            "rocewatch_watchdog_undo_failled == 1",
            "rocewatch_watchdog_undo_failled is no metric and not recorded",
        ),
        (
            "rate(rocewatch_pfc_rx_pause_ratio[5m]) > 1",
            "rocewatch_pfc_rx_pause_ratio is no metric and not recorded",
        ),
        ("rocewatch:no:such > 1", "rocewatch:no:such is no metric and not recorded"),
        ("sum by (rail) (rocewatch_watchdog_undo_failed) > 1", "no series here has the label rail"),
        (
            "rocewatch_watchdog_undo_failed{prio=\"3\"} > 1",
            "rocewatch_watchdog_undo_failed never has prio=\"3\"",
        ),
        (
            "rocewatch_watchdog_undo_failed unless rocewatch_watchdog_mode{mode=\"on\"}",
            "rocewatch_watchdog_mode never has mode=\"on\"",
        ),
        (
            "rocewatch_watchdog_undo_failed and rocewatch_nic_pause_storm_events_total{severity=\"fatal\"}",
            "rocewatch_nic_pause_storm_events_total never has severity=\"fatal\"",
        ),
    ] {
        let found = names::strangers(&Rule { expr, ..known });
        assert!(found.contains(&what.to_owned()), "{expr}: {found:?}");
    }
    assert!(names::strangers(&known).is_empty());
}

#[test]
fn every_setting_is_used_and_every_one_that_is_used_exists() {
    let all = alerts::render_all(&Settings::default());
    assert!(!all.contains("$("), "a template is left");
    let texts = alerts::rules()
        .flat_map(|rule| rule.alert.iter().flat_map(|a| [a.summary, a.description]).chain([rule.expr]))
        .collect::<Vec<_>>()
        .join("\n");
    let holds = alerts::rules().filter_map(|rule| rule.alert?.hold);
    let intervals = FILES.iter().flat_map(|file| file.groups).filter_map(|group| group.interval);
    let named = holds.chain(intervals).chain(["scale", "runbook_base"]).collect::<BTreeSet<_>>();
    let is_in_a_text = |key: &str| {
        [format!("$({key})"), format!("$({key}.seconds)")].iter().any(|hole| texts.contains(hole))
    };
    let idle =
        alerts::SETTINGS.iter().map(|s| s.key).filter(|key| !named.contains(key) && !is_in_a_text(key));
    assert_eq!(idle.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_alert_says_where_what_and_how_much() {
    let names = alert_rules().map(|rule| rule.name).collect::<Vec<_>>();
    assert!(names.len() >= 20);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    for rule in alert_rules() {
        let alert = rule.alert.unwrap();
        let both = format!("{}\n{}", alert.summary, alert.description);
        assert!(rule.name.starts_with("Rocewatch"), "{}", rule.name);
        assert!(
            alert.summary.contains("$labels.instance") || both.contains("$labels.$(cluster)"),
            "{}",
            rule.name
        );
        assert!(alert.description.contains("$value"), "{}: no value", rule.name);
        assert!(alert.description.ends_with('.') && !alert.summary.ends_with('.'), "{}", rule.name);
        let estimated = both.to_lowercase().contains("estimated");
        assert_eq!(estimated, rule.expr.contains("_bound:"), "{}: estimated or measured?", rule.name);
    }
    for (severity, least) in [(Severity::Critical, 5), (Severity::Warning, 5), (Severity::Info, 2)] {
        assert!(alert_rules().filter(|rule| rule.alert.unwrap().severity == severity).count() >= least);
    }
}

#[test]
fn promtool_accepts_the_rules_at_every_scale() {
    let folder = tempfile::tempdir().unwrap();
    for scale in ["1", "0.01", "100"] {
        let mut settings = Settings::default();
        settings.set(&format!("scale={scale}")).unwrap();
        let path = folder.path().join("all.yml");
        fs::write(&path, alerts::render_all(&settings)).unwrap();
        let args = ["check", "rules", "--lint=all", "--lint-fatal", path.to_str().unwrap()];
        if !passes("promtool", "prometheus", &args) {
            return;
        }
    }
}

/// promtool's tests, by file.
fn promtool_tests() -> [(&'static str, String); 4] {
    [
        ("fires", scenarios::fires(Pace::Fast)),
        ("fires-slowly", scenarios::fires(Pace::Slow)),
        ("silent", scenarios::silent()),
        ("missing", scenarios::missing()),
    ]
}

#[test]
fn the_tests_of_promtool_are_current_and_pass() {
    for (name, current) in promtool_tests() {
        check_current(&format!("alerts/tests/{name}.yml"), &current);
    }
    assert_eq!(names_in("alerts/tests", ".yml").len(), promtool_tests().len());
    std::thread::scope(|scope| {
        for (name, _) in promtool_tests() {
            let file = format!("tests/{name}.yml");
            scope.spawn(move || passes("promtool", "prometheus", &["test", "rules", &file]));
        }
    });
}

/// The tests in which an alert occurs, with what is expected of it there last: `(test, alert, fires)`.
fn expectations() -> Vec<(String, String, bool)> {
    let mut found: Vec<(String, String, bool)> = Vec::new();
    for file in names_in("alerts/tests", ".yml") {
        let text = fs::read_to_string(place(&format!("alerts/tests/{file}.yml"))).unwrap();
        let mut test = String::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("  - name: ") {
                test = name.trim_matches('\'').to_owned();
            } else if let Some((_, alert)) = line.split_once("alertname: ") {
                let (alert, fires) = match alert.split_once(", exp_alerts: []}") {
                    Some((alert, _)) => (alert, false),
                    None => (alert, true),
                };
                found.push((test.clone(), alert.to_owned(), fires));
            }
        }
    }
    found
}

#[test]
fn every_alert_has_all_its_cases() {
    let expectations = expectations();
    for rule in alert_rules() {
        let of_it = expectations.iter().filter(|(_, alert, _)| alert == rule.name);
        let (firing, silent) = of_it.partition::<Vec<_>, _>(|(_, _, fires)| *fires);
        let on_its_fault =
            |(test, _, _): &&(String, String, bool)| test.starts_with(&format!("{}{FIRES}", rule.name));
        assert!(!firing.is_empty() && firing.iter().all(on_its_fault), "{}: fires nowhere", rule.name);
        let is_silent = |name: String| silent.iter().any(|(test, _, _)| *test == name);
        for case in SILENT {
            // A device that is missing is the fault of this one.
            let own_fault = case == "device removal" && rule.name == "RocewatchDeviceMissing";
            assert!(own_fault || is_silent(format!("{SILENT_ON}{case}")), "{}: {case}", rule.name);
        }
        for metric in names::metrics_of(rule) {
            assert!(is_silent(format!("{SILENT_WITHOUT}{metric}")), "{}: without {metric}", rule.name);
        }
    }
}

#[test]
fn the_base_load_has_every_metric_that_a_rule_rests_on_and_no_other() {
    let given = base::series().map(|series| series.name.to_owned()).collect::<BTreeSet<_>>();
    let needed = alerts::rules().flat_map(names::metrics_of).collect::<BTreeSet<_>>();
    assert_eq!(given, needed);
    let selectors = base::series().map(|series| series.selector()).collect::<Vec<_>>();
    assert_eq!(selectors.iter().collect::<BTreeSet<_>>().len(), selectors.len());
    assert!(FAULTS.iter().all(|fault| alert_rules().any(|rule| rule.name == fault.alert)));
}

const SNIPPET: &str = "alerts/alertmanager/inhibitions.yml";

#[test]
fn alertmanager_takes_the_inhibitions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alertmanager.yml");
    let snippet = fs::read_to_string(place(SNIPPET)).unwrap();
    let rest = "route: {receiver: nobody, group_by: [alertname, cluster]}\nreceivers: [{name: nobody}]\n";
    fs::write(&path, format!("{rest}{snippet}")).unwrap();
    passes("amtool", "prometheus-alertmanager", &["check-config", path.to_str().unwrap()]);
}

#[test]
fn inhibitions_compare_labels_of_both_sides_and_never_hide_what_needs_a_person() {
    let alerts = alert_rules().map(|rule| rule.name).collect::<Vec<_>>();
    let inhibitions = inhibitions::read(&fs::read_to_string(place(SNIPPET)).unwrap(), &alerts);
    assert!(inhibitions.len() > 5);
    for inhibition in &inhibitions {
        assert!(!inhibition.sources.is_empty() && !inhibition.targets.is_empty(), "{inhibition:?}");
        for alert in inhibition.sources.iter().chain(&inhibition.targets) {
            let labels = inhibitions::labels_of(alert);
            assert!(inhibition.equal.iter().all(|label| labels.contains(label)), "{alert}: {labels:?}");
        }
        assert!(
            inhibition.sources.iter().all(|source| !inhibition.targets.contains(source)),
            "{inhibition:?}"
        );
        for never in ["ActionFailed", "UndoFailed", "LockedOut", "ResetLoop"] {
            assert!(!inhibition.targets.contains(&format!("Rocewatch{never}").as_str()), "{never}");
        }
    }
    let quiet = |source: &str, target: &str| {
        inhibitions.iter().any(|rule| rule.sources.contains(&source) && rule.targets.contains(&target))
    };
    for (source, target) in [
        ("RocewatchStormFleetWide", "RocewatchRxPauseStorm"),
        ("RocewatchStormFleetWide", "RocewatchTxPauseStorm"),
        ("RocewatchRxPauseStorm", "RocewatchPfcRxPauseCritical"),
        ("RocewatchTxPauseStorm", "RocewatchOutOfBuffer"),
        ("RocewatchPortDown", "RocewatchNotArmed"),
        ("RocewatchNvmfAllPathsLost", "RocewatchNvmfPathLost"),
        ("RocewatchEnforcingAgentDown", "RocewatchPollerStale"),
    ] {
        assert!(quiet(source, target), "{source} does not keep {target} quiet");
    }
    // Whose storm it is, is two questions.
    assert!(!quiet("RocewatchRxPauseStorm", "RocewatchPfcTxPauseHigh"));
}

#[test]
fn every_alert_has_a_runbook_and_what_it_tells_to_type_exists() {
    let alerts = alert_rules().map(|rule| rule.name).collect::<Vec<_>>();
    let pages = names_in("alerts/runbooks", ".md");
    assert_eq!(pages, alerts.iter().map(|name| (*name).to_owned()).collect());
    let mut queries = String::from("groups:\n  - name: runbooks\n    rules:\n");
    for name in pages {
        let page = fs::read_to_string(place(&format!("alerts/runbooks/{name}.md"))).unwrap();
        assert!(page.starts_with(&format!("# {name}\n")), "{name}");
        assert_eq!(runbooks::faults(&page, &alerts), [""; 0], "{name}");
        for query in runbooks::queries(&page) {
            queries += &format!("      - record: x:{}\n        expr: '{query}'\n", queries.len());
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queries.yml");
    fs::write(&path, queries).unwrap();
    passes("promtool", "prometheus", &["check", "rules", "--lint=none", path.to_str().unwrap()]);
}

#[test]
fn a_runbook_that_names_what_does_not_exist_is_found() {
    let alerts = alert_rules().map(|rule| rule.name).collect::<Vec<_>>();
    let page = "RocewatchNoSuch rocewatch_no_such\n```sh\nrocewatch ctl stauts\nfrobnicate eth0\n```\n```promql\nrocewatch_gone\n```\n";
    let found = runbooks::faults(page, &alerts).join("\n");
    for word in [
        "no \"Escalate\"",
        "RocewatchNoSuch",
        "rocewatch_no_such does",
        "stauts",
        "frobnicate",
        "rocewatch_gone is",
    ] {
        assert!(found.contains(word), "{word}: {found}");
    }
}
