//! What core must not know.

use crate::wall::tokens::{Finding, Kind, Source, Token};

/// Patterns that do not stand in core, each with what is done instead.
const BANNED: &[(&str, &str)] = &[
    ("Instant", "core reads no clock: take a MonoTime"),
    ("SystemTime", "core reads no clock: take a MonoTime"),
    ("sleep", "core never waits: name a deadline"),
    ("async", "core never waits: return an effect"),
    ("await", "core never waits: return an effect"),
    ("Mutex", "state has one owner"),
    ("RwLock", "state has one owner"),
    ("Condvar", "state has one owner"),
    ("OnceLock", "nothing is global"),
    ("LazyLock", "nothing is global"),
    ("thread_local", "nothing is global"),
    ("static mut", "nothing is global"),
    ("HashMap", "its order differs between runs: take a BTreeMap"),
    ("HashSet", "its order differs between runs: take a BTreeSet"),
    ("RandomState", "it differs between runs"),
    ("f32", "no floating-point number decides anything: take a Permille or whole units"),
    ("f64", "no floating-point number decides anything: take a Permille or whole units"),
    ("print !", "core tells by events"),
    ("println !", "core tells by events"),
    ("eprint !", "core tells by events"),
    ("eprintln !", "core tells by events"),
    ("tracing", "core tells by events"),
    ("log ::", "core tells by events"),
];

/// Modules of the standard library that reach outside the program.
const BANNED_MODULES: [&str; 8] = ["env", "fs", "io", "net", "os", "process", "sync", "thread"];

/// Everything in `src/core` that is neither a value nor a function of values.
pub(crate) fn impure_core(sources: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.path.starts_with("src/core/")) {
        for (pattern, instead) in BANNED {
            let lines = source.lines_with(pattern).into_iter();
            found.extend(
                lines.map(|line| Finding::new(&source.path, line, format!("`{pattern}`: {instead}"))),
            );
        }
        for token in std_modules(source).filter(|token| BANNED_MODULES.contains(&token.text.as_str())) {
            let what = format!("`std::{}`: core has no way out but its effects", token.text);
            found.push(Finding::new(&source.path, token.line, what));
        }
    }
    found
}

/// The modules of the standard library that are named outside tests, also in `use std::{fs, net::UdpSocket}`.
fn std_modules(source: &Source) -> impl Iterator<Item = &Token> {
    let tokens = &source.tokens;
    let starts = (0..tokens.len().saturating_sub(2))
        .filter(move |at| !tokens[*at].in_test && tokens[*at].text == "std" && tokens[*at + 1].text == "::");
    starts.flat_map(move |at| match tokens[at + 2].text.as_str() {
        "{" => listed(&tokens[at + 2..]),
        _ => vec![&tokens[at + 2]],
    })
}

/// The first word of each entry of a list in braces; `tokens` begins with the brace.
fn listed(tokens: &[Token]) -> Vec<&Token> {
    let (mut depth, mut first, mut words) = (0, false, Vec::new());
    for token in tokens {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            _ if first && token.kind == Kind::Word => words.push(token),
            _ => {}
        }
        first = depth == 1 && matches!(token.text.as_str(), "{" | ",");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, text: &str) -> Vec<usize> {
        impure_core(&[Source::new(path, text)]).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn the_check_finds_every_banned_word() {
        for (pattern, _) in BANNED {
            let text = format!("fn f() {{\n {pattern} x\n}}");
            assert_eq!(found_in("src/core/delta.rs", &text), [2], "{pattern}");
        }
    }

    #[test]
    fn the_check_finds_every_banned_module_by_path_and_in_a_list() {
        for module in BANNED_MODULES {
            assert_eq!(
                found_in("src/core/a.rs", &format!("fn f() {{ std::{module}::x() }}")),
                [1],
                "{module}"
            );
            let list = format!("use std::{{fmt, time::{{self, Duration}},\n {module}::{{a, b}}}};");
            assert_eq!(found_in("src/core/a.rs", &list), [2], "{module}");
        }
    }

    #[test]
    fn words_about_time_and_the_rest_of_std_are_no_finding() {
        let text = "//! An Instant, a Mutex.\n/// Sleep.\nuse std::{fmt, time::Duration};\nfn f() -> &'static str { \"f64\" }\n#[cfg(test)]\nmod t { use std::fs; }";
        assert_eq!(found_in("src/core/units.rs", text), []);
    }

    #[test]
    fn the_agent_may_do_what_core_may_not() {
        assert_eq!(found_in("src/runtime.rs", "use std::{fs, sync::Mutex};"), []);
    }
}
