//! dashboards/ is what `rocewatch dashboards` writes, and what stands in it fits together.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "promql/mod.rs"]
mod promql;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use rocewatch::dashboards::board::Variable;
use rocewatch::dashboards::panel::{Kind, Query};
use rocewatch::dashboards::{self, Board};
use serde_json::Value;

/// The expressions of a dashboard: of its panels, annotations and variables.
fn expressions(board: &Board) -> impl Iterator<Item = String> {
    let asked = board.panels().flat_map(|panel| &panel.queries).map(|query| query.expression);
    let marked = board.annotations.iter().map(|annotation| annotation.expression);
    let chosen = board.variables().filter_map(Variable::series);
    asked.chain(marked).chain(chosen).map(|expression| expression.promql())
}

#[test]
fn the_committed_dashboards_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboards");
    for (name, text) in dashboards::files() {
        let path = folder.join(&name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "{} is stale: run with UPDATE_GOLDEN=1", path.display());
    }
    let files = fs::read_dir(&folder).unwrap().flatten().map(|file| file.file_name().into_string().unwrap());
    let files: BTreeSet<_> = files.filter(|name| name.ends_with(".json")).collect();
    assert_eq!(files, dashboards::files().into_iter().map(|(name, _)| name).collect());
}

#[test]
fn the_command_writes_them_into_a_folder_that_it_makes() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new");
    let output = Command::new(env!("CARGO_BIN_EXE_rocewatch"))
        .args(["dashboards", "--out", out.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    for (name, text) in dashboards::files() {
        assert!(said.contains(&name), "{said}");
        assert_eq!(fs::read_to_string(out.join(name)).unwrap(), text);
    }
}

#[test]
fn every_label_of_a_selection_or_a_grouping_is_one_of_its_metrics() {
    for board in dashboards::all() {
        for expression in expressions(&board) {
            let wrong = promql::wrong_labels(&expression);
            assert!(wrong.is_empty(), "{}: {wrong:?} in {expression}", board.uid);
        }
    }
}

#[test]
fn a_dashboard_asks_for_the_variables_that_it_has_and_for_no_other() {
    for board in dashboards::all() {
        let has: BTreeSet<_> = board.variables().map(Variable::name).collect();
        for expression in expressions(&board) {
            for variable in promql::variables(&expression) {
                assert!(has.contains(variable), "{}: ${variable} in {expression}", board.uid);
            }
        }
    }
}

#[test]
fn every_legend_names_labels_that_the_answer_has() {
    for board in dashboards::all() {
        for query in board.panels().flat_map(|panel| &panel.queries) {
            let expression = query.expression.promql();
            let known = promql::labels_of_answer(&expression);
            for label in legend_labels(query) {
                assert!(known.contains(label), "{}: {{{{{label}}}}} of {expression}", board.uid);
            }
        }
    }
}

fn legend_labels(query: &Query) -> impl Iterator<Item = &'static str> {
    query.legend.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(label, _)| label)
}

#[test]
fn every_panel_says_what_it_means_and_a_table_what_it_lists() {
    for panel in dashboards::all().iter().flat_map(|board| board.panels().cloned().collect::<Vec<_>>()) {
        assert!(panel.about.len() > 20 && panel.about.ends_with(['.', '*']), "{}", panel.title);
        assert_eq!(panel.queries.is_empty(), panel.kind == Kind::Text, "{}", panel.title);
        assert_eq!(panel.labels.is_empty(), panel.kind != Kind::Table, "{}", panel.title);
        for query in &panel.queries {
            assert_eq!(query.column.is_some(), panel.kind == Kind::Table, "{}", panel.title);
            let expression = query.expression.promql();
            let grouped = promql::labels_of_answer(&expression);
            let listed = panel.labels.iter().all(|label| grouped.contains(*label));
            assert!(listed, "{}: {expression}", panel.title);
        }
    }
}

#[test]
fn nothing_that_is_missing_is_shown_as_zero() {
    for board in dashboards::all() {
        for expression in expressions(&board) {
            assert!(!expression.contains("vector(") && !expression.contains("absent"), "{expression}");
        }
    }
}

#[test]
fn panels_stand_beside_each_other_and_no_two_have_one_number() {
    for (name, text) in dashboards::files() {
        let json: Value = serde_json::from_str(&text).unwrap();
        let mut taken = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for panel in json["panels"].as_array().unwrap() {
            let side = |side: &str| panel["gridPos"][side].as_u64().unwrap();
            assert!(side("x") + side("w") <= 24, "{name}: {}", panel["title"]);
            for x in side("x")..side("x") + side("w") {
                for y in side("y")..side("y") + side("h") {
                    assert!(taken.insert((x, y)), "{name}: {} lies on another", panel["title"]);
                }
            }
            assert!(ids.insert(panel["id"].as_u64()), "{name}: {}", panel["title"]);
        }
    }
}

#[test]
fn there_are_eight_and_their_names_are_kept() {
    let uids: Vec<_> = dashboards::all().iter().map(|board| board.uid).collect();
    let kept = ["fleet", "node", "congestion", "loss", "link", "nvmf", "watchdog", "agent"];
    assert_eq!(uids, kept.map(|name| format!("rocewatch-{name}")));
}

#[test]
fn a_label_that_a_metric_does_not_have_is_found_wherever_it_stands() {
    for (expression, wrong) in [
        ("rocewatch_port_up{cluster=~'$cluster',priority='3'}", vec!["priority"]),
        (
            "sum by (netdev, queue) (rate(rocewatch_pfc_rx_pause_seconds_total{priority!='0'}[5m]))",
            vec!["queue"],
        ),
        ("up{job='a'} and on (instance, mode) rocewatch_watchdog_mode{mode='off'}", vec![]),
        ("rocewatch_port_up * on (bus) group_left () rocewatch_ports{netdev=\"a\"}", vec!["netdev", "bus"]),
    ] {
        assert_eq!(promql::wrong_labels(expression), wrong, "{expression}");
    }
}
