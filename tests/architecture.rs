//! What ARCHITECTURE.md says is never done, and what CONTRIBUTING.md asks for: read from the source tree.

#![allow(clippy::expect_used, reason = "a test may")]

mod wall;

use std::process::Command;

use wall::tokens::Finding;
use wall::tree::{SOURCES, paths, read};
use wall::{dependencies, field, leftovers, places, purity, sizes};

#[track_caller]
fn assert_none(found: &[Finding]) {
    let list: String = found.iter().map(|finding| format!("\n  {finding}")).collect();
    assert!(found.is_empty(), "{} found:{list}", found.len());
}

#[test]
fn core_depends_on_serde_and_thiserror_only() {
    let tree = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args("tree -p rocewatch-core -e normal --depth 1 --prefix none --offline --locked".split(' '))
        .output()
        .expect("the cargo that built this test is there");
    assert!(tree.status.success(), "cargo tree: {}", String::from_utf8_lossy(&tree.stderr));
    assert_none(&dependencies::beyond_core(&String::from_utf8_lossy(&tree.stdout)));
}

#[test]
fn core_has_no_clock_lock_hash_map_float_log_or_way_out() {
    assert_none(&purity::impure_core(&SOURCES));
}

#[test]
fn only_sys_is_unsafe() {
    assert_none(&places::unsafe_elsewhere(&SOURCES));
}

#[test]
fn only_the_clock_file_reads_clocks() {
    assert_none(&places::clocks_elsewhere(&SOURCES));
}

#[test]
fn only_delta_subtracts_counters() {
    assert_none(&places::counters_subtracted_elsewhere(&SOURCES));
    assert_none(&places::unused_exceptions(&SOURCES));
}

#[test]
fn only_actuate_changes_the_machine() {
    assert_none(&places::changes_elsewhere(&SOURCES));
}

#[test]
fn main_is_short_and_long_files_say_why() {
    assert_none(&sizes::long_files(&SOURCES));
}

#[test]
fn both_packages_have_the_same_thresholds() {
    assert_none(&sizes::unequal_thresholds(&read("clippy.toml"), &read("src/core/clippy.toml")));
}

#[test]
fn the_lints_behind_the_rules_are_switched_on() {
    assert_none(&sizes::missing_lints(&read("Cargo.toml"), &read("src/core/Cargo.toml")));
}

#[test]
fn every_silenced_lint_has_a_reason() {
    assert_none(&leftovers::silenced_without_reason(&SOURCES));
}

#[test]
fn nothing_is_unfinished_and_no_test_is_ignored() {
    assert_none(&leftovers::unfinished(&SOURCES));
}

#[test]
fn every_promise_says_why_it_holds() {
    assert_none(&leftovers::promises_without_words(&SOURCES));
}

#[test]
fn no_file_names_a_place_of_one_machine() {
    let found: Vec<_> =
        paths().iter().flat_map(|path| leftovers::machine_places(path, &read(path))).collect();
    assert_none(&found);
}

#[test]
fn every_package_comes_from_crates_io() {
    assert_none(&leftovers::foreign_packages(&read("Cargo.lock")));
}

#[test]
fn every_dependency_is_explained() {
    let (root, core) = (read("Cargo.toml"), read("src/core/Cargo.toml"));
    let manifests = [("Cargo.toml", root.as_str()), ("src/core/Cargo.toml", core.as_str())];
    assert_none(&dependencies::unexplained(&manifests, &read("CONTRIBUTING.md")));
}

#[test]
fn every_report_from_the_field_has_a_test_or_a_reason() {
    assert_none(&field::wrong_rows(&read(field::PAGE), &SOURCES));
}
