//! Values from the command line: one flag for every key, and `--set key=value`.

use super::given::{Entry, Place, shorten};
use super::keys::{Key, Section, flag_name, settable};
use super::problem::{Problem, Subject};
use super::setting::Arity;
use super::table::nearest;
use super::values::Values;

/// A key and what it shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    key: String,
    values: Vec<String>,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Flag,
    Set,
    Preset(&'static str),
}

impl Assignment {
    /// The flag `--name` with the values it was given.
    #[must_use]
    pub const fn flag(name: String, values: Vec<String>) -> Self {
        Self { key: name, values, source: Source::Flag }
    }

    /// A default that the subcommand `of` has for itself. A list is written with commas.
    #[must_use]
    pub fn preset(of: &'static str, key: &str, value: &str) -> Self {
        Self { key: key.into(), values: vec![value.into()], source: Source::Preset(of) }
    }

    /// What `--set` takes.
    ///
    /// # Errors
    /// There is no `=` in the text, or nothing before it.
    pub fn parse_set(text: &str) -> Result<Self, BadAssignment> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                Ok(Self { key: key.into(), values: vec![value.into()], source: Source::Set })
            }
            Some(_) | None => Err(BadAssignment(text.into())),
        }
    }

    fn place(&self) -> Place {
        match self.source {
            Source::Flag => Place::Flag(format!("--{}", shorten(&self.key))),
            Source::Set => Place::Set(shorten(&self.key)),
            Source::Preset(of) => Place::Preset(of),
        }
    }
}

/// A text that assigns nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} assigns nothing: expected key=value, such as watchdog.detect=300ms")]
pub struct BadAssignment(String);

/// A flag of the command line, from the table of keys.
#[derive(Clone, Debug)]
pub struct Flag {
    /// Without the dashes before it, such as `watchdog.hold-off`.
    pub name: String,
    /// The section of the file that its key stands in.
    pub section: &'static str,
    /// How help texts call its value.
    pub placeholder: &'static str,
    /// How it takes its value.
    pub arity: Arity,
    /// Meaning and unit.
    pub doc: &'static str,
    /// The default as TOML; none for a key that stands for that of another section.
    pub default: Option<String>,
}

/// All flags, in the order of the documents.
pub fn flags() -> impl Iterator<Item = Flag> {
    settable().map(|(section, key)| Flag {
        name: flag_name(section, key),
        section: section.name,
        placeholder: (key.placeholder)(),
        arity: key.arity,
        doc: key.doc,
        default: section.has_default(key).then(|| key.text(None)),
    })
}

impl Values {
    /// Takes assignments, the later ones over the earlier.
    pub(super) fn assign(&mut self, assignments: &[Assignment]) -> Vec<Problem> {
        let mut problems = Vec::new();
        for assignment in assignments {
            match find(&assignment.key) {
                Some((section, key)) => {
                    let entry = entry(assignment, key);
                    self.node.insert(section.name, key.name, entry);
                }
                None => problems.push(unknown(assignment)),
            }
        }
        problems
    }
}

/// A key by its path in the file or the name of its flag.
fn find(name: &str) -> Option<(&'static Section, &'static Key)> {
    let name = name.replace('_', "-");
    settable().find(|(section, key)| flag_name(section, key) == name)
}

fn entry(assignment: &Assignment, key: &Key) -> Entry {
    match key.arity {
        Arity::Many => Entry::bare_list(&assignment.values, assignment.place()),
        Arity::One | Arity::Switch => {
            let last = assignment.values.last().map_or("", String::as_str);
            Entry::bare(last, assignment.place())
        }
    }
}

fn unknown(assignment: &Assignment) -> Problem {
    let paths: Vec<_> = settable().map(|(section, key)| format!("{}.{}", section.name, key.name)).collect();
    // The whole path counts here: a misspelt section is a misspelling too.
    let flat = |path: &str| path.replace('.', "_");
    let flats: Vec<_> = paths.iter().map(|path| flat(path)).collect();
    let near = nearest(&flat(&assignment.key), flats.iter().map(String::as_str));
    let near = near.and_then(|near| flats.iter().position(|flat| flat == near)).map(|index| &paths[index]);
    let value = shorten(&assignment.values.join(","));
    Problem {
        place: assignment.place(),
        subject: Some(Subject { path: shorten(&assignment.key), value }),
        message: match near {
            Some(near) => format!("expected a key of the configuration, perhaps {near}"),
            None => "expected a key of the configuration: `rocewatch config show` lists them".into(),
        },
    }
}
