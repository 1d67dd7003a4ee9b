//! What must not be left behind: lints silenced without a reason, unfinished code, promises without words, and
//! places that only one machine knows.

use crate::wall::tokens::{Finding, Kind, Source};

/// `allow` and `expect` of a lint without `reason`.
pub(crate) fn silenced_without_reason(sources: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in sources {
        for attribute in source.attributes() {
            let silences = attribute.windows(2).any(|pair| {
                pair[0].kind == Kind::Word
                    && matches!(pair[0].text.as_str(), "allow" | "expect")
                    && pair[1].text == "("
            });
            let explains = attribute.windows(3).any(|window| {
                window[0].text == "reason" && window[1].text == "=" && window[2].kind == Kind::Literal
            });
            if silences && !explains {
                found.push(Finding::new(
                    &source.path,
                    attribute[0].line,
                    "a lint is silenced without `reason`",
                ));
            }
        }
    }
    found
}

/// Code that is not finished, and tests that do not run; in tests too.
pub(crate) fn unfinished(sources: &[Source]) -> Vec<Finding> {
    const MARKS: [&str; 5] = ["todo !", "unimplemented !", "dbg !", "# [ ignore ]", "# [ ignore ="];
    let mut found = Vec::new();
    for source in sources {
        for mark in MARKS {
            let lines = source.lines_anywhere_with(mark).into_iter();
            found.extend(lines.map(|line| Finding::new(&source.path, line, format!("`{mark}`"))));
        }
    }
    found
}

/// Outside tests nothing is unwrapped, and what is expected says in three words or more why it must be so.
pub(crate) fn promises_without_words(sources: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.path.starts_with("src/")) {
        let lines = source.lines_with(". unwrap (").into_iter();
        found.extend(
            lines.map(|line| Finding::new(&source.path, line, "`unwrap` says not why it must be so")),
        );
        for call in source.tokens.windows(4).filter(|call| !call[0].in_test) {
            let [dot, name, open, message] = call else { continue };
            let is_expect = dot.text == "." && name.text == "expect" && open.text == "(";
            let says = message.kind == Kind::Literal && message.text.split_whitespace().count() >= 3;
            if is_expect && !says {
                found.push(Finding::new(
                    &source.path,
                    name.line,
                    "`expect` without the invariant it relies on",
                ));
            }
        }
    }
    found
}

/// Paths of one machine, and hosts that packages are fetched from. The names are put together here, so that this file
/// is none of its own findings.
pub(crate) fn machine_places(path: &str, text: &str) -> Vec<Finding> {
    let folders = ["work", "tmp/rw", "farm"].map(|folder| format!("/{folder}/"));
    let hosts = [
        ["index", "crates", "io"],
        ["static", "crates", "io"],
        ["files", "pythonhosted", "org"],
        ["registry", "npmjs", "org"],
        ["proxy", "golang", "org"],
        ["deb", "debian", "org"],
    ]
    .map(|parts| parts.join("."));
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for place in folders.iter().chain(&hosts).filter(|place| line.contains(place.as_str())) {
            found.push(Finding::new(path, index + 1, format!("{place} is known to one machine only")));
        }
    }
    found
}

/// Packages of a `Cargo.lock` that come from anywhere but crates.io, as a mirror or a patch would.
pub(crate) fn foreign_packages(lock: &str) -> Vec<Finding> {
    const CRATES_IO: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let sources =
        lock.lines().enumerate().filter(|(_, line)| line.starts_with("source = ") && *line != CRATES_IO);
    sources.map(|(index, line)| Finding::new("Cargo.lock", index + 1, line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rule: fn(&[Source]) -> Vec<Finding>, path: &str, text: &str) -> Vec<usize> {
        rule(&[Source::new(path, text)]).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn the_check_finds_a_lint_silenced_without_a_reason() {
        let text = "#![allow(dead_code)]\n#[expect(clippy::x)]\n#[cfg_attr(test, allow(y))]\nfn f() {}\n#[allow(z, reason = \"why\")]\nfn g() {}\n#[must_use]\nfn h() {}";
        assert_eq!(lines(silenced_without_reason, "src/a.rs", text), [1, 2, 3]);
    }

    #[test]
    fn the_check_finds_unfinished_code_and_tests_that_do_not_run() {
        // Text that the check is tried on, and no code of this project.
        let text = "fn f() {\n todo!()\n}\nfn g() {\n unimplemented!(\"later\")\n}\nfn h() { dbg!(1); }\n#[test]\n#[ignore]\nfn t() {}\n#[ignore = \"slow\"]\nfn u() {}";
        assert_eq!(lines(unfinished, "tests/a.rs", text), [2, 5, 7, 9, 11]);
        assert_eq!(
            lines(unfinished, "src/a.rs", "// todo!\nfn todo() -> &'static str { \"#[ignore]\" }"),
            []
        );
    }

    #[test]
    fn the_check_finds_promises_without_words() {
        let text = "fn f() {\n a.unwrap();\n b.expect(\"works\");\n c.expect(&text);\n d.expect(\"the list is never empty\");\n}\n#[cfg(test)]\nmod tests { fn g() { a.unwrap() } }";
        assert_eq!(lines(promises_without_words, "src/a.rs", text), [2, 3, 4]);
        assert_eq!(lines(promises_without_words, "benches/a.rs", text), []);
    }

    #[test]
    fn the_check_finds_places_of_one_machine() {
        let path = ["", "work", "x"].join("/");
        let host = ["https://static", "crates", "io"].join(".");
        let found = machine_places("docs/a.md", &format!("fine\nsee {path}\nfrom {host}/a\n"));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(machine_places("docs/a.md", "/var/lib/rocewatch, crates.io, a network/worker"), []);
    }

    #[test]
    fn the_check_finds_a_package_from_elsewhere() {
        let good = "name = \"serde\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        assert_eq!(foreign_packages(good), []);
        assert_eq!(foreign_packages("source = \"registry+https://mirror.example/index\"\n").len(), 1);
        assert_eq!(foreign_packages("source = \"git+https://example.org/x#1\"\n").len(), 1);
    }
}
