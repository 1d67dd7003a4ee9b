//! A profile as text, and the reference page of its keys.

use std::fmt::Write;

use super::rows::SECTIONS;
use super::{Profile, ROCEV2_DEFAULT};

/// Comment lines of a profile are not longer.
const WIDTH: usize = 100;

/// The profile as TOML, with the meaning of each key that it has.
pub(super) fn text(profile: &Profile) -> String {
    let mut text = String::new();
    for section in SECTIONS {
        let given: Vec<_> =
            section.fields.iter().filter_map(|field| Some((field, field.value(profile)?))).collect();
        if given.is_empty() {
            continue;
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}[{}]", section.name);
        for (field, value) in given {
            comment(&mut text, field.meaning);
            let _ = writeln!(text, "{} = {value}", field.key);
        }
    }
    text
}

fn comment(text: &mut String, sentence: &str) {
    let mut line = String::from("#");
    for word in sentence.split_whitespace() {
        if line.chars().count() + word.chars().count() >= WIDTH {
            let _ = writeln!(text, "{line}");
            line = "#".into();
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

/// The reference page in Markdown.
#[must_use]
pub fn page() -> String {
    let default = Profile::builtin(ROCEV2_DEFAULT).unwrap_or_default();
    let mut text = format!(
        "# Profiles\n\n\
         This page is generated from the table of keys in `src/profile/rows.rs`.\n\n\
         A profile says in TOML what the ports of a fabric are meant to be set to. `rocewatch plan --format profile` \
         writes one. A key that is absent is no opinion: it is not checked. Speeds, sizes, lengths and durations are \
         texts with their units (`\"400G\"`, `\"150KB\"`, `\"30m\"`, `\"200ms\"`); `KB` and `MB` count in thousands, \
         `KiB` and `MiB` in 1024s. The last column is what the built-in profile `{ROCEV2_DEFAULT}` has.\n"
    );
    for section in SECTIONS {
        let _ = write!(text, "\n## [{}]\n\n{}\n\n", section.name, section.doc.trim());
        text.push_str("| key | expected | meaning | source | built-in |\n| --- | --- | --- | --- | --- |\n");
        for field in section.fields {
            let (key, meaning, source) = (field.key, field.meaning, field.source);
            let expected = (field.expected)();
            let value =
                field.value(&default).map_or_else(|| "no opinion".into(), |value| format!("`{value}`"));
            let _ = writeln!(text, "| `{key}` | {expected} | {meaning} | {source} | {value} |");
        }
    }
    text
}
