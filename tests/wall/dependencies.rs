//! What the packages depend on, and that somebody has said why.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::wall::tokens::Finding;

/// A row of the table of dependencies: crate, what for, what it replaces, licence, how we would leave it.
const CELLS: usize = 5;

/// All that core may depend on.
const CORE: [&str; 2] = ["serde", "thiserror"];

/// What core depends on beyond the agreed; `tree` is what `cargo tree --prefix none --depth 1` prints for it.
pub(crate) fn beyond_core(tree: &str) -> Vec<Finding> {
    let mut names = tree.lines().filter_map(|line| line.split_whitespace().next());
    // A tree of something else would hold nothing of core's.
    assert_eq!(names.next(), Some("rocewatch-core"), "no tree of core: {tree}");
    let beyond = names.filter(|name| !CORE.contains(name));
    beyond.map(|name| Finding::new("src/core/Cargo.toml", 0, format!("core depends on {name}"))).collect()
}

/// Dependencies of the manifests (path, text) without a full row in the `guide`, and rows for what is none of them.
pub(crate) fn unexplained(manifests: &[(&str, &str)], guide: &str) -> Vec<Finding> {
    let explained: BTreeSet<&str> = guide.lines().filter_map(explained_by).collect();
    let mut left = explained.clone();
    let mut found = Vec::new();
    for (path, text) in manifests {
        let manifest: Table = text.parse().expect("Cargo.toml is TOML");
        for name in declared(&manifest) {
            left.remove(name);
            if !explained.contains(name) {
                found.push(Finding::new(
                    path,
                    0,
                    format!("{name} has no row in the table of CONTRIBUTING.md"),
                ));
            }
        }
    }
    found
        .extend(left.iter().map(|name| {
            Finding::new("CONTRIBUTING.md", 0, format!("{name} has a row and is no dependency"))
        }));
    found
}

/// The crate that a line of the guide explains, if it is a row and no cell of it is empty.
fn explained_by(line: &str) -> Option<&str> {
    let row = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let name = cells.first()?.strip_prefix('`')?.strip_suffix('`')?;
    (cells.len() == CELLS && cells.iter().all(|cell| !cell.is_empty())).then_some(name)
}

/// The names of all dependencies of other people's making, whatever they are for.
fn declared(manifest: &Table) -> BTreeSet<&str> {
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let holders = std::iter::once(manifest).chain(targets.filter_map(Value::as_table));
    holders
        .flat_map(|holder| tables.iter().filter_map(|table| holder.get(*table)?.as_table()))
        .flat_map(Table::keys)
        .map(String::as_str)
        .filter(|name| *name != "rocewatch-core")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_finds_a_dependency_of_core_that_is_not_agreed() {
        let agreed = "rocewatch-core v0.1.0 (/home/me/src/core)\nserde v1.0.229\nthiserror v2.0.21\n";
        assert_eq!(beyond_core(agreed), []);
        assert_eq!(beyond_core(&format!("{agreed}tokio v1.54.1\n")).len(), 1);
    }

    #[test]
    #[should_panic(expected = "no tree of core")]
    fn a_tree_that_is_not_there_passes_no_rule() {
        beyond_core("");
    }

    #[test]
    fn the_check_finds_a_dependency_nobody_explains_and_a_row_nobody_needs() {
        let guide = "| `serde` | text | own code | MIT | never |\n| `libc` | | | | |\n`rand` is fine.\n| `log` | a | b | c | d |\n";
        let manifest = "[dependencies]\nserde = \"1\"\nlibc.workspace = true\nrocewatch-core.workspace = true\n[dev-dependencies]\nrand = \"1\"\n[target.'cfg(unix)'.dependencies]\nnix = \"1\"\n";
        let found = unexplained(&[("Cargo.toml", manifest)], guide);
        let names: Vec<_> = found.iter().filter_map(|finding| finding.what.split(' ').next()).collect();
        assert_eq!(names, ["libc", "nix", "rand", "log"]);
    }
}
