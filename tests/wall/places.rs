//! What may stand in one place only.

use crate::wall::tokens::{Finding, Source};

/// Code without checks by the compiler stands in `src/sys/`, in tests too.
pub(crate) fn unsafe_elsewhere(sources: &[Source]) -> Vec<Finding> {
    let outside = sources.iter().filter(|source| !source.path.starts_with("src/sys/"));
    let mut found = Vec::new();
    for source in outside {
        let lines = source.lines_anywhere_with("unsafe").into_iter();
        found.extend(lines.map(|line| Finding::new(&source.path, line, "`unsafe` outside src/sys/")));
        let permits = source.attributes().into_iter().filter(|attribute| {
            let says = |word: &str| attribute.iter().any(|token| token.text == word);
            says("unsafe_code") && (says("allow") || says("expect") || says("warn"))
        });
        found.extend(
            permits
                .map(|a| Finding::new(&source.path, a[0].line, "`unsafe_code` permitted outside src/sys/")),
        );
    }
    found
}

/// Clocks are read in `src/clock.rs`; benches and tests may measure.
pub(crate) fn clocks_elsewhere(sources: &[Source]) -> Vec<Finding> {
    const READS: [&str; 8] = [
        "clock_gettime",
        "Instant :: now",
        "SystemTime :: now",
        "Timestamp :: now",
        "Zoned :: now",
        "UNIX_EPOCH",
        ". elapsed (",
        "clock_nanosleep",
    ];
    let outside = sources.iter().filter(|s| s.path.starts_with("src/") && s.path != "src/clock.rs");
    each(outside, &READS, "a clock is read outside src/clock.rs")
}

/// Subtractions that allow for the larger number being the subtrahend. Who takes one counter from another needs one
/// of them, because counters wrap and are reset; so they stand in `delta.rs`, where it is decided what that means.
/// A plain `-` and `saturating_sub` are not looked at: spans, budgets and indexes are full of them.
const SUBTRACTIONS: [&str; 3] = ["checked_sub", "wrapping_sub", "overflowing_sub"];

/// Where such a subtraction is right, and why.
const SUBTRACTION_ALLOWED: [(&str, &str); 2] = [
    ("src/core/delta.rs", "the place for it"),
    ("src/export/stats/", "numbers that the agent itself counts up"),
];

/// Counters are subtracted in `src/core/delta.rs`.
pub(crate) fn counters_subtracted_elsewhere(sources: &[Source]) -> Vec<Finding> {
    let outside = sources.iter().filter(|source| {
        source.path.starts_with("src/")
            && !SUBTRACTION_ALLOWED.iter().any(|(path, _)| source.path.starts_with(path))
    });
    each(outside, &SUBTRACTIONS, "counters are subtracted in src/core/delta.rs")
}

/// Exceptions that nothing makes use of any more.
pub(crate) fn unused_exceptions(sources: &[Source]) -> Vec<Finding> {
    let unused = SUBTRACTION_ALLOWED.iter().filter(|(path, _)| {
        let inside = sources.iter().filter(|source| source.path.starts_with(path));
        each(inside, &SUBTRACTIONS, "").is_empty()
    });
    unused.map(|(path, _)| Finding::new(path, 0, "subtracts nothing and needs no exception")).collect()
}

/// What changes something in the kernel.
const SETTERS: [&str; 5] =
    [". change_pfc (", ". set_pause (", ". set_prevention_timeout (", ". recover (", ". set_link ("];

/// Operations reach a machine from `src/actuate/`; the machines themselves are in `src/node/`.
pub(crate) fn changes_elsewhere(sources: &[Source]) -> Vec<Finding> {
    let agent = || sources.iter().filter(|s| s.path.starts_with("src/") && !s.path.starts_with("src/core/"));
    let beyond = |folders: &'static [&str]| {
        agent().filter(move |source| !folders.iter().any(|folder| source.path.starts_with(folder)))
    };
    let mut found = each(
        beyond(&["src/actuate/", "src/node/"]),
        &[". apply ("],
        "an operation is applied outside src/actuate/",
    );
    found.extend(each(beyond(&["src/node/"]), &["Machine for"], "a machine outside src/node/"));
    found.extend(each(
        beyond(&["src/node/kernel_port.rs", "src/sys/"]),
        &SETTERS,
        "a setting is made outside a machine",
    ));
    found.extend(each(
        beyond(&["src/actuate/"]),
        &["process :: Command", "process :: { Command"],
        "a program is started outside src/actuate/",
    ));
    found
}

fn each<'a>(sources: impl Iterator<Item = &'a Source>, patterns: &[&str], what: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in sources {
        for pattern in patterns {
            let lines = source.lines_with(pattern).into_iter();
            found.extend(lines.map(|line| Finding::new(&source.path, line, format!("`{pattern}`: {what}"))));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rule: fn(&[Source]) -> Vec<Finding>, path: &str, text: &str) -> Vec<usize> {
        rule(&[Source::new(path, text)]).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn the_check_finds_unsafe_code_outside_sys_in_tests_too() {
        let text = "fn f() {\n unsafe { g() }\n}\n#[cfg(test)]\nmod tests {\n unsafe fn h() {}\n}";
        assert_eq!(lines(unsafe_elsewhere, "src/runtime.rs", text), [2, 6]);
        assert_eq!(lines(unsafe_elsewhere, "tests/demo.rs", text), [2, 6]);
        assert_eq!(lines(unsafe_elsewhere, "src/sys/ethtool_ioctl.rs", text), []);
    }

    #[test]
    fn the_check_finds_the_permission_to_be_unsafe_and_no_ban() {
        assert_eq!(
            lines(unsafe_elsewhere, "src/http/mod.rs", "#![allow(unsafe_code, reason = \"fast\")]"),
            [1]
        );
        assert_eq!(lines(unsafe_elsewhere, "src/core/lib.rs", "#![forbid(unsafe_code)]"), []);
    }

    #[test]
    fn the_check_finds_a_clock_that_is_read_elsewhere() {
        for read in [
            "Instant::now()",
            "std::time::SystemTime::now()",
            "jiff::Timestamp::now()",
            "x.elapsed()",
            "clock_gettime(id)",
        ] {
            let text = format!("fn f() {{\n let a = {read};\n}}");
            assert_eq!(lines(clocks_elsewhere, "src/sources/poller.rs", &text), [2], "{read}");
            assert_eq!(lines(clocks_elsewhere, "src/clock.rs", &text), [], "{read}");
            assert_eq!(lines(clocks_elsewhere, "benches/decide.rs", &text), [], "{read}");
        }
        assert_eq!(lines(clocks_elsewhere, "src/runtime.rs", "fn f() { clock::now(); }"), []);
    }

    #[test]
    fn the_check_finds_a_subtraction_of_counters_outside_delta() {
        let text = "fn f(now: u64, then: u64) -> Option<u64> {\n now.checked_sub(then)\n}\nfn g(a: u64, b: u64) -> u64 {\n a.wrapping_sub(b)\n}";
        assert_eq!(lines(counters_subtracted_elsewhere, "src/core/engine/port.rs", text), [2, 5]);
        assert_eq!(lines(counters_subtracted_elsewhere, "src/sources/ethtool.rs", text), [2, 5]);
        assert_eq!(lines(counters_subtracted_elsewhere, "src/core/delta.rs", text), []);
    }

    #[test]
    fn the_check_finds_an_exception_that_is_not_needed() {
        let text = "fn f(a: u64, b: u64) -> Option<u64> { a.checked_sub(b) }";
        let sources = SUBTRACTION_ALLOWED.map(|(path, _)| Source::new(path, text));
        assert_eq!(unused_exceptions(&sources), []);
        assert_eq!(unused_exceptions(&sources[1..]).len(), 1);
    }

    #[test]
    fn the_check_finds_who_else_changes_the_machine() {
        let text = "fn f(machine: &dyn Machine) {\n machine.apply(&op);\n std::process::Command::new(\"ip\");\n}\nimpl Machine for X {}";
        assert_eq!(lines(changes_elsewhere, "src/runtime.rs", text), [2, 5, 3]);
        assert_eq!(lines(changes_elsewhere, "src/actuate/mod.rs", text), [5]);
        assert_eq!(lines(changes_elsewhere, "src/node/kernel.rs", text), [3]);
        let set = "fn f() {\n rtnl.set_link(7, AdminState::Down);\n dcb.change_pfc(7, off);\n}";
        assert_eq!(lines(changes_elsewhere, "src/actuate/mod.rs", set), [3, 2]);
        assert_eq!(lines(changes_elsewhere, "src/node/kernel_port.rs", set), []);
        assert_eq!(lines(changes_elsewhere, "src/cli/run.rs", "use std::process::{Command, ExitCode};"), [1]);
        assert_eq!(
            lines(changes_elsewhere, "src/cli/run.rs", "use std::process::ExitCode;\nuse clap::Command;"),
            []
        );
    }
}
