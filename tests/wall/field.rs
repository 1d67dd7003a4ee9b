//! The page that says which test shows each failure from the field: every row is there once, and every test exists.

use std::collections::BTreeSet;

use crate::wall::tokens::{Finding, Kind, Source, Token};

/// The page.
pub(crate) const PAGE: &str = "docs/field-tests.md";

/// Its tables by their headings, and the rows of each. A row that goes leaves a gap: numbers are never given twice.
const TABLES: [(&str, &[u32]); 3] = [
    ("Watchdogs", &up_to::<48>()),
    ("Counters of the kernel and its drivers", &up_to::<30>()),
    (
        "Exporters, fabrics and jobs",
        &[
            1, 2, 3, 5, 6, 8, 10, 11, 12, 13, 15, 16, 17, 19, 22, 23, 24, 25, 27, 28, 29, 30, 32, 34, 35, 37,
            38, 40, 42, 47,
        ],
    ),
];
/// How a row begins its last cell that no test can show.
const NO_TEST: &str = "Does not apply: ";
/// Fewer words than these tell neither a failure nor a reason.
const WORDS_MIN: usize = 4;

const fn up_to<const N: usize>() -> [u32; N] {
    let mut numbers = [0; N];
    let mut index = 0;
    while index < N {
        numbers[index] = index as u32 + 1;
        index += 1;
    }
    numbers
}

/// What is wrong with `page`, whose tests stand in `sources`.
pub(crate) fn wrong_rows(page: &str, sources: &[Source]) -> Vec<Finding> {
    wrong_tables(page, sources, &TABLES)
}

fn wrong_tables(page: &str, sources: &[Source], tables: &[(&str, &[u32])]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (heading, numbers) in tables {
        let rows = rows_under(page, heading);
        for (line, cells) in &rows {
            found.extend(wrong_cells(cells).into_iter().map(|what| Finding::new(PAGE, *line, what)));
            let tests = cells.last().map_or_else(Vec::new, |cell| names(cell));
            let missing = tests.iter().filter(|test| !exists(test, sources));
            found.extend(missing.map(|test| Finding::new(PAGE, *line, format!("there is no test {test}"))));
        }
        let mut open: BTreeSet<u32> = numbers.iter().copied().collect();
        for (line, cells) in &rows {
            if !number(cells).is_some_and(|number| open.remove(&number)) {
                found.push(Finding::new(PAGE, *line, format!("row {:?} is doubled or unknown", cells[0])));
            }
        }
        found.extend(
            open.iter().map(|number| Finding::new(PAGE, 0, format!("{heading}: row {number} is missing"))),
        );
    }
    found
}

/// The rows of the table under a heading, with their lines, cell by cell; its head is none.
fn rows_under<'a>(page: &'a str, heading: &str) -> Vec<(usize, Vec<&'a str>)> {
    let title = format!("## {heading}");
    let lines = page.lines().enumerate().map(|(index, line)| (index + 1, line));
    let below = lines.skip_while(|(_, line)| *line != title).skip(1);
    let table =
        below.take_while(|(_, line)| !line.starts_with("## ")).filter(|(_, line)| line.starts_with('|'));
    let cells = |line: &'a str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    table.skip(2).map(|(number, line)| (number, cells(line))).collect()
}

fn number(cells: &[&str]) -> Option<u32> {
    cells.first()?.parse().ok()
}

fn wrong_cells(cells: &[&str]) -> Vec<String> {
    let [number, reported, happens, shown] = cells else {
        return vec![format!("{} cells instead of 4", cells.len())];
    };
    let mut wrong = Vec::new();
    let words = |text: &str| text.split_whitespace().count();
    if reported.is_empty() || words(happens) < WORDS_MIN {
        wrong.push(format!("row {number} does not say what happened and where"));
    }
    let explained = shown.strip_prefix(NO_TEST).is_some_and(|reason| words(reason) >= WORDS_MIN);
    if names(shown).is_empty() && !explained {
        wrong.push(format!("row {number} names no test and no reason"));
    }
    wrong
}

/// The tests that a cell names: what stands in backticks and has a path.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).filter(|word| word.contains("::")).collect()
}

/// Whether `file::name` is a function that is run as a test.
fn exists(test: &str, sources: &[Source]) -> bool {
    let Some((path, name)) = test.split_once("::") else { return false };
    sources.iter().any(|source| source.path == path && tests_of(source).any(|token| token.text == name))
}

/// The names of all functions of a file with the attribute `test`, also within a macro.
fn tests_of(source: &Source) -> impl Iterator<Item = &Token> {
    let starts = source
        .tokens
        .windows(4)
        .enumerate()
        .filter(|(_, window)| window.iter().map(|token| token.text.as_str()).eq(["#", "[", "test", "]"]));
    starts.filter_map(|(start, _)| {
        // Other attributes and words such as `async` may stand between; a literal or another item may not.
        let rest = &source.tokens[start + 4..];
        let place = rest.iter().position(|token| token.text == "fn" || token.text == "{")?;
        rest.get(place + 1).filter(|name| rest[place].text == "fn" && name.kind == Kind::Word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "# Page\n\n## Watchdogs\n\nWords.\n\n| row | reported | what | shown |\n| --- | --- | --- | --- |\n";
    const GOOD: &str = "| 1 | a#1 | it went very wrong | `tests/a.rs::it_is_right`, `src/b.rs::it_is_so` |\n";
    const NONE: &str = "| 2 | a#2 | it went wrong again | Does not apply: there is no such thing |\n";

    fn sources() -> [Source; 2] {
        let inner = "proptest! { #[test] #[cfg(unix)] fn it_is_so(a in b()) { c() } fn helper() {} }";
        [
            Source::new("tests/a.rs", "#[test]\nfn it_is_right() {}\nfn other() {}\n// #[test] fn gone() {}"),
            Source::new("src/b.rs", inner),
        ]
    }

    /// What is found in a table that should have the rows 1 and 2.
    fn found(rows: &[&str]) -> Vec<String> {
        let page = format!("{HEAD}{}\n## Other\n\n| 9 |\n", rows.concat());
        let tables: [(&str, &[u32]); 1] = [("Watchdogs", &[1, 2])];
        wrong_tables(&page, &sources(), &tables).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_row_has_a_test_or_a_reason() {
        assert_eq!(found(&[GOOD, NONE]), [""; 0]);
    }

    #[test]
    fn the_check_finds_a_test_that_does_not_exist() {
        for name in ["tests/a.rs::gone", "tests/a.rs::other", "src/b.rs::it_is_right", "src/b.rs::helper"] {
            let row = GOOD.replace("tests/a.rs::it_is_right", name);
            assert_eq!(found(&[&row, NONE]), [format!("there is no test {name}")]);
        }
    }

    #[test]
    fn the_check_finds_a_row_that_is_missing_doubled_or_unknown() {
        assert_eq!(found(&[GOOD]), ["Watchdogs: row 2 is missing"]);
        assert_eq!(found(&[GOOD, NONE, NONE]), ["row \"2\" is doubled or unknown"]);
        assert_eq!(
            found(&[GOOD, NONE, &NONE.replace("| 2 |", "| 3 |")]),
            ["row \"3\" is doubled or unknown"]
        );
        assert_eq!(
            found(&[GOOD, NONE, &NONE.replace("| 2 |", "| x |")]),
            ["row \"x\" is doubled or unknown"]
        );
    }

    #[test]
    fn the_check_finds_a_row_with_neither_test_nor_reason() {
        for shown in ["", "later", "`it_is_right`", "Does not apply: no", "Does not apply."] {
            let row = format!("| 2 | a#2 | it went wrong again | {shown} |\n");
            assert_eq!(found(&[GOOD, &row]), ["row 2 names no test and no reason"], "{shown}");
        }
    }

    #[test]
    fn the_check_finds_a_row_that_does_not_say_what_happened() {
        let row = NONE.replace("it went wrong again", "bad");
        assert_eq!(found(&[GOOD, &row]), ["row 2 does not say what happened and where"]);
        assert_eq!(found(&[GOOD, "| 2 | a#2 | it went wrong |\n"]), ["3 cells instead of 4"]);
    }

    #[test]
    fn the_check_finds_a_table_that_is_gone() {
        let tables: [(&str, &[u32]); 1] = [("Elsewhere", &[1])];
        let page = format!("{HEAD}{GOOD}");
        let found = wrong_tables(&page, &sources(), &tables);
        assert_eq!(found, [Finding::new(PAGE, 0, "Elsewhere: row 1 is missing")]);
    }
}
