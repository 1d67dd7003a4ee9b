//! The runbooks: what each page has, and that what it tells to type exists.

use clap::Parser;
use regex::Regex;
use rocewatch::cli::Cli;
use rocewatch_core::catalog::Family;

use super::names::strangers_in;

const PARTS: [&str; 6] =
    ["What it means.", "Fabric or host.", "Look at first.", "Commands.", "What makes it worse.", "Escalate"];
/// Longer than this nobody reads at night.
const LINES_MAX: usize = 60;
/// Programs that a page may call: on the node, or where Prometheus runs.
const PROGRAMS: [&str; 21] = [
    "cat",
    "curl",
    "dcb",
    "devlink",
    "df",
    "dmesg",
    "ethtool",
    "grep",
    "head",
    "ip",
    "journalctl",
    "less",
    "lldptool",
    "ls",
    "lspci",
    "ping",
    "promtool",
    "rdma",
    "systemctl",
    "tail",
    "uptime",
];

/// Everything that is wrong with a page.
pub(crate) fn faults(page: &str, alerts: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(
        PARTS.iter().filter(|part| !page.contains(&format!("**{part}**"))).map(|part| format!("no {part:?}")),
    );
    if page.lines().count() > LINES_MAX {
        found.push(format!("more than {LINES_MAX} lines"));
    }
    found.extend(queries(page).flat_map(|query| strangers_in(query, Vec::new())));
    found.extend(block(page, "sh").flat_map(unknown_command));
    let words = Regex::new("Rocewatch[A-Z][A-Za-z]+|rocewatch_[a-z_0-9]+").unwrap();
    let prose = page.split("```").step_by(2).flat_map(|prose| words.find_iter(prose));
    let exists = |word: &&str| alerts.contains(word) || Family::named(word).is_some();
    found.extend(
        prose
            .map(|word| word.as_str())
            .filter(|word| !exists(word))
            .map(|word| format!("{word} does not exist")),
    );
    found
}

/// The queries of a page.
pub(crate) fn queries(page: &str) -> impl Iterator<Item = &str> {
    block(page, "promql").filter(|line| !line.starts_with('#'))
}

/// The lines of the blocks in one language.
fn block<'a>(page: &'a str, language: &'a str) -> impl Iterator<Item = &'a str> {
    let blocks = page.split("```").skip(1).step_by(2);
    blocks.filter_map(move |block| block.strip_prefix(language)?.strip_prefix('\n')).flat_map(str::lines)
}

/// What is wrong with a line of shell: every program of the pipe has to be known, and ours has to take its arguments.
fn unknown_command(line: &str) -> Vec<String> {
    let line = line.split("   #").next().unwrap_or_default();
    let commands = Regex::new(r"'[^']*'").unwrap().replace_all(line, "PATTERN").into_owned();
    let mut found = Vec::new();
    for command in commands.split(" | ") {
        let words = command.trim_start_matches("timeout 10 ").split_whitespace().collect::<Vec<_>>();
        match words[..] {
            ["rocewatch", ..] => {
                found.extend(Cli::try_parse_from(&words).err().map(|error| format!("{command}: {error}")));
            }
            [program, ..] if PROGRAMS.contains(&program) => {}
            _ => found.push(format!("{command}: no known program")),
        }
    }
    found
}
