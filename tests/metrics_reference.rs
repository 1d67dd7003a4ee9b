//! docs/metrics.md is what the catalogue says.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::Path;

#[test]
fn the_reference_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    let current = rocewatch_core::doc::reference();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &current).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == current, "{} is stale: run with UPDATE_GOLDEN=1", path.display());
}
