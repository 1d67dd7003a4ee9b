//! The files of the project: everything below its root that is neither ignored nor built.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::wall::tokens::Source;

/// All files of Rust, split once for all rules.
pub(crate) static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let rust = paths().into_iter().filter(|path| path.ends_with(".rs"));
    let mut sources: Vec<Source> = rust.map(|path| Source::new(&path, &read(&path))).collect();
    mark_tests(&mut sources);
    sources
});

/// The text of a file, given by its path from the root.
///
/// # Panics
///
/// If it cannot be read.
pub(crate) fn read(path: &str) -> String {
    let bytes = fs::read(root().join(path)).unwrap_or_else(|error| panic!("cannot read {path}: {error}"));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The paths of all files from the root, sorted.
pub(crate) fn paths() -> Vec<String> {
    let ignored = ignored(&read(".gitignore"));
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).expect("a folder that was listed can be read") {
            let entry = entry.expect("an entry of a folder can be read");
            let path = folder.join(entry.file_name());
            let name = path.to_string_lossy().into_owned();
            let kind = entry.file_type().expect("an entry has a type");
            if name == ".git" || ignored.contains(&name) {
                continue;
            }
            // Cargo marks what it builds with this file, wherever its target directory is.
            if kind.is_dir() && !entry.path().join("CACHEDIR.TAG").exists() {
                folders.push(path);
            } else if kind.is_file() {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

/// A file of tests is one under `tests/`, or one that a `#[cfg(test)] mod` declares.
pub(crate) fn mark_tests(sources: &mut [Source]) {
    let mut test_paths: BTreeSet<String> = BTreeSet::new();
    for source in sources.iter() {
        for module in source.test_modules() {
            let beside = folder_of_modules(&source.path);
            test_paths.extend([format!("{beside}/{module}.rs"), format!("{beside}/{module}/")]);
        }
    }
    for source in sources.iter_mut() {
        let declared = test_paths.iter().any(|path| {
            source.path == *path || (path.ends_with('/') && source.path.starts_with(path.as_str()))
        });
        if declared || source.path.starts_with("tests/") {
            source.mark_all_as_test();
        }
    }
}

/// Where the modules of a file stand that have files of their own.
fn folder_of_modules(path: &str) -> String {
    let path = Path::new(path);
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_root =
        path.file_name().is_some_and(|name| name == "mod.rs" || name == "lib.rs" || name == "main.rs");
    let folder = if is_root { folder.to_owned() } else { path.with_extension("") };
    folder.to_string_lossy().into_owned()
}

/// The lines of a `.gitignore` that name one place; patterns are not needed here.
fn ignored(text: &str) -> BTreeSet<String> {
    text.lines().filter_map(|line| line.strip_prefix('/')).map(str::to_owned).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tests_are_told_from_code() {
        let mut sources = [
            Source::new("src/core/engine/mod.rs", "#[cfg(test)]\nmod tests;\nmod view;"),
            Source::new("src/core/engine/tests/acting.rs", "fn f() {}"),
            Source::new("src/core/engine/view.rs", "#[cfg(test)]\nmod odd;"),
            Source::new("src/core/engine/view/odd.rs", "fn f() {}"),
            Source::new("tests/demo.rs", "fn f() {}"),
        ];
        mark_tests(&mut sources);
        let left = sources.map(|source| source.line_count_without_tests());
        assert_eq!(left, [1, 0, 0, 0, 0]);
    }

    #[test]
    fn the_tree_holds_this_file_and_nothing_that_was_built() {
        let paths = paths();
        assert!(paths.iter().any(|path| path == "tests/wall/tree.rs"));
        assert!(paths.iter().any(|path| path == ".gitignore"), "hidden files are files too");
        assert!(!paths.iter().any(|path| path.starts_with("target/") || path.starts_with(".git/")));
    }
}
