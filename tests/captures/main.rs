//! Outputs of real machines, and what a reader has to conclude from each. They are other people's and no part of the
//! project, so that no gate can demand them: where they are not at hand, each test says so and passes. The fixtures of
//! this project hold the same cases.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod ethtool;
mod nvme;
mod prom;
mod rdma;

use std::fs;
use std::path::{Path, PathBuf};

/// The file at `path` below the captures, if they are at hand.
fn capture(path: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures");
    if !root.is_dir() {
        println!("skipping {path}: no {}", root.display());
        return None;
    }
    assert!(root.join(path).is_file(), "{path} is missing among the captures");
    Some(root.join(path))
}

#[test]
fn every_file_with_counters_of_a_nic_is_looked_at() {
    let Some(index) = capture("INDEX.md") else { return };
    for (kind, tests) in [
        ("ethtool", include_str!("ethtool.rs")),
        ("rdma", include_str!("rdma.rs")),
        ("prom", include_str!("prom.rs")),
    ] {
        for entry in fs::read_dir(index.with_file_name(kind)).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            assert!(tests.contains(&format!("(\"{kind}/{file}\"")), "{kind}/{file}");
        }
    }
}
