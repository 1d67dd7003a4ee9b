//! docs/profiles.md is what the table of a profile's keys says.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::Path;

use rocewatch::profile::{Profile, page};

#[test]
fn the_page_of_the_profiles_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/profiles.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "{} is stale: run with UPDATE_GOLDEN=1", path.display());
}

#[test]
fn a_profile_that_cannot_be_read_is_named() {
    let error = Profile::load("/nowhere/fabric.toml".into()).unwrap_err().to_string();
    assert!(error.contains("/nowhere/fabric.toml"), "{error}");
}
