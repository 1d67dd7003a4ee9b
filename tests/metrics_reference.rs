//! docs/metrics.md is what the catalogue says, docs/nics.md what the driver tables say.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::Path;

#[test]
fn the_page_of_the_metrics_is_current() {
    check("docs/metrics.md", &rocewatch_core::doc::reference());
}

#[test]
fn the_page_of_the_nics_is_current() {
    check("docs/nics.md", &rocewatch_core::doc::nics());
}

fn check(path: &str, current: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, current).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == current, "{} is stale: run with UPDATE_GOLDEN=1", path.display());
}
