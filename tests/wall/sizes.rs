//! How large things may be, and that the lints are set which know.

use toml::{Table, Value};

use crate::wall::tokens::{Finding, Source};

const MAIN_LINES_MAX: usize = 60;
const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: i64 = 70;
/// A file that has to be longer says so, and why.
const LONG_FILE: &str = "// long file: ";

/// Lints without which rules of CONTRIBUTING.md would only be wishes.
const LINTS: [&str; 6] = [
    "too_many_lines",
    "unwrap_used",
    "wildcard_enum_match_arm",
    "undocumented_unsafe_blocks",
    "todo",
    "dbg_macro",
];

/// Files that are too long, and too long without a reason.
pub(crate) fn long_files(sources: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in sources {
        let lines = source.line_count_without_tests();
        if source.path == "src/main.rs" && lines > MAIN_LINES_MAX {
            found.push(Finding::new(&source.path, 0, format!("{lines} lines, at most {MAIN_LINES_MAX}")));
        }
        if lines > FILE_LINES_MAX && !source.text.lines().any(gives_a_reason) {
            let what = format!(
                "{lines} lines without tests, at most {FILE_LINES_MAX} without a line `{LONG_FILE}<reason>`"
            );
            found.push(Finding::new(&source.path, 0, what));
        }
    }
    found
}

/// Fewer than three words explain nothing.
fn gives_a_reason(line: &str) -> bool {
    line.trim_start().strip_prefix(LONG_FILE).is_some_and(|reason| reason.split_whitespace().count() >= 3)
}

/// Where two `clippy.toml` differ that must not: in all but the paths that are banned in one package only.
pub(crate) fn unequal_thresholds(root: &str, core: &str) -> Vec<Finding> {
    let thresholds = |text: &str| -> Table {
        let all: Table = text.parse().expect("clippy.toml is TOML");
        all.into_iter().filter(|(key, _)| !key.starts_with("disallowed-")).collect()
    };
    let (root, core) = (thresholds(root), thresholds(core));
    let mut found = Vec::new();
    if root.get("too-many-lines-threshold") != Some(&Value::Integer(FUNCTION_LINES_MAX)) {
        let what = format!("too-many-lines-threshold is not {FUNCTION_LINES_MAX}");
        found.push(Finding::new("clippy.toml", 0, what));
    }
    let keys = root.keys().chain(core.keys().filter(|key| !root.contains_key(*key)));
    for key in keys.filter(|key| root.get(*key) != core.get(*key)) {
        found.push(Finding::new(
            "src/core/clippy.toml",
            0,
            format!("{key} is not as in the root's clippy.toml"),
        ));
    }
    found
}

/// Lints that the workspace has not switched on, or a package does not take over.
pub(crate) fn missing_lints(root: &str, core: &str) -> Vec<Finding> {
    let parse = |text: &str| -> Table { text.parse().expect("Cargo.toml is TOML") };
    let (root, core) = (parse(root), parse(core));
    let mut found = Vec::new();
    let clippy = root.get("workspace").and_then(|w| w.get("lints")).and_then(|lints| lints.get("clippy"));
    for lint in LINTS {
        let level = clippy.and_then(|lints| lints.get(lint)).and_then(Value::as_str);
        if !matches!(level, Some("warn" | "deny" | "forbid")) {
            found.push(Finding::new("Cargo.toml", 0, format!("clippy::{lint} is not switched on")));
        }
    }
    for (path, manifest) in [("Cargo.toml", &root), ("src/core/Cargo.toml", &core)] {
        let takes_over =
            manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(Value::as_bool);
        if takes_over != Some(true) {
            found.push(Finding::new(path, 0, "the lints of the workspace are not taken over"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, text: &str) -> usize {
        long_files(&[Source::new(path, text)]).len()
    }

    #[test]
    fn the_check_finds_a_main_that_does_too_much() {
        assert_eq!(found_in("src/main.rs", &"fn f() {}\n".repeat(MAIN_LINES_MAX + 1)), 1);
        assert_eq!(found_in("src/main.rs", &"fn f() {}\n".repeat(MAIN_LINES_MAX)), 0);
    }

    #[test]
    fn the_check_finds_a_long_file_unless_it_says_why() {
        let long = "fn f() {}\n".repeat(FILE_LINES_MAX + 1);
        assert_eq!(found_in("src/runtime.rs", &long), 1);
        assert_eq!(found_in("src/runtime.rs", &format!("// long file: sorry\n{long}")), 1);
        assert_eq!(found_in("src/runtime.rs", &format!("// long file: one table, read as one\n{long}")), 0);
    }

    #[test]
    fn tests_do_not_make_a_file_long() {
        let tests = "fn f() {}\n".repeat(FILE_LINES_MAX);
        assert_eq!(
            found_in("src/runtime.rs", &format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{tests}}}\n")),
            0
        );
    }

    #[test]
    fn the_check_finds_thresholds_that_differ_or_are_lax() {
        let good = "too-many-lines-threshold = 70\ndisallowed-types = [\"A\"]";
        assert_eq!(unequal_thresholds(good, "too-many-lines-threshold = 70"), []);
        assert_eq!(unequal_thresholds(good, "disallowed-types = []").len(), 1);
        assert_eq!(
            unequal_thresholds(good, "too-many-lines-threshold = 70\nallow-unwrap-in-tests = true").len(),
            1
        );
        let lax = "too-many-lines-threshold = 700";
        assert_eq!(unequal_thresholds(lax, lax).len(), 1);
    }

    #[test]
    fn the_check_finds_a_lint_that_was_switched_off() {
        let on: String = LINTS.iter().map(|lint| format!("{lint} = \"warn\"\n")).collect();
        let root = format!("[lints]\nworkspace = true\n[workspace.lints.clippy]\n{on}");
        let core = "[lints]\nworkspace = true";
        assert_eq!(missing_lints(&root, core), []);
        assert_eq!(missing_lints(&root.replace("todo = \"warn\"", "todo = \"allow\""), core).len(), 1);
        assert_eq!(missing_lints(&root, "[lints]\n").len(), 1);
    }
}
