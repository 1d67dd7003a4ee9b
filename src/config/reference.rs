//! The example file and the reference page, generated from the table of keys so that neither can be stale.

use std::fmt::Write;

use super::DEFAULT_FILE;
use super::keys::{Key, Section, flag_name};
use super::rows::SECTIONS;

/// Comment lines of the example file are not longer.
const WIDTH: usize = 100;

/// Two `[[ports]]` tables to start from, commented out in the example file.
const PORTS_EXAMPLE: &str = r#"[[ports]]
select = "0000:65:00.0"
detect = "500ms"

[[ports]]
select = "bnxt_en"
[ports.rx]
actions = ["alert", "pfc-off"]
"#;

/// The example file: every key with its default and its meaning.
#[must_use]
pub fn example() -> String {
    let mut text = String::new();
    comment(
        &mut text,
        &format!(
            "The configuration of rocewatch, with the default of every key. It is read from {DEFAULT_FILE} or from \
             the file named by --config.file. The agent runs without it: give only what shall differ. Each key a_b of \
             a [section] is also a flag --section.a-b, which goes before the file. Durations are texts with their \
             units, such as \"200ms\" or \"1h30m\"; ratios are numbers from 0 to 1. `rocewatch config check` tells \
             what is wrong with a file, `rocewatch config show` prints what counts and where it comes from."
        ),
    );
    for section in SECTIONS.iter().filter(|section| section.name == "ports" || !section.is_of_ports()) {
        text.push('\n');
        comment(&mut text, section.doc);
        if section.is_of_ports() {
            for line in PORTS_EXAMPLE.lines() {
                line_of(&mut text, format!("# {line}").trim_end());
            }
            continue;
        }
        line_of(&mut text, &format!("[{}]", section.name));
        for key in section.keys().filter(|key| section.has_default(key)) {
            comment(&mut text, key.doc);
            line_of(&mut text, &format!("{} = {}", key.name, key.text(None)));
        }
    }
    text
}

/// The reference page in Markdown.
#[must_use]
pub fn page() -> String {
    let mut text = format!(
        "# Configuration\n\n\
         This page is generated from the table of keys in `src/config/rows.rs`.\n\n\
         * The file is TOML and is read from `{DEFAULT_FILE}`, or from the one named by\n  \
           `--config.file`. The agent runs without a file; a file that is named and cannot be read is an error.\n\
         * Each key `a_b` of `[section]` is also a flag `--section.a-b`. A flag goes before the file, for its own key.\n\
         * A duration is a text with its units, such as `\"200ms\"` or `\"1h30m\"`. A ratio is a number from 0 to 1.\n\
         * A flag for a list is repeated, once per item; names may also be separated by commas.\n\
         * Everything that is wrong is reported at once. `rocewatch config check` reports it, and what is surely not as\n  \
           meant; `rocewatch config show` prints what counts and where it comes from.\n\
         * `packaging/rocewatch.toml` holds every key with its default.\n"
    );
    for section in SECTIONS {
        chapter(&mut text, section);
    }
    text
}

fn chapter(text: &mut String, section: &Section) {
    let brackets = if section.name == "ports" { "[[ports]]".into() } else { format!("[{}]", section.name) };
    line_of(text, &format!("\n## `{brackets}`\n\n{}\n", section.doc));
    let own = section.keys().filter(|key| !section.overrides() || !is_of_watchdog(key));
    line_of(text, "| key | flag | takes | default | meaning |\n| --- | --- | --- | --- | --- |");
    for key in own {
        let flag =
            if section.is_of_ports() { "–".into() } else { format!("`--{}`", flag_name(section, key)) };
        let default = if section.has_default(key) { format!("`{}`", key.text(None)) } else { "–".into() };
        let row = [format!("`{}`", key.name), flag, (key.expected)(), default, key.doc.into()];
        line_of(text, &format!("| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | ")));
    }
}

fn is_of_watchdog(key: &Key) -> bool {
    SECTIONS.iter().any(|section| section.name == "watchdog" && section.key(key.name).is_some())
}

/// A comment of as many lines as it takes.
fn comment(text: &mut String, words: &str) {
    let mut line = String::from("#");
    for word in words.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            line_of(text, &line);
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    line_of(text, &line);
}

fn line_of(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}
