//! From the text of a file to a profile: everything that is wrong is found in one go.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::{ConfigError, Entry, Place, Problem, Problems, Subject, nearest, shorten, syntax};

use super::Profile;
use super::check::contradictions;
use super::rows::SECTIONS;
use super::table::{Field, Section};

/// What was given and is of the right kind, by section and key.
pub(super) type Entries = BTreeMap<(&'static str, &'static str), Entry>;

pub(super) fn read(name: &str, text: &str) -> Result<Profile, ConfigError> {
    let refused = |problems| ConfigError::Refused(Problems::new(problems, Some((name, text))));
    let file: Arc<str> = name.into();
    let root = DeTable::parse(text).map_err(|error| refused(vec![syntax(&file, text, &error)]))?;
    let mut walk =
        Walk { file, text, profile: Profile::default(), entries: Entries::new(), problems: Vec::new() };
    for (name, value) in root.get_ref() {
        walk.section(name, value);
    }
    walk.problems.extend(contradictions(&walk.profile, &walk.entries));
    if walk.problems.is_empty() { Ok(walk.profile) } else { Err(refused(walk.problems)) }
}

struct Walk<'a> {
    file: Arc<str>,
    text: &'a str,
    profile: Profile,
    entries: Entries,
    problems: Vec<Problem>,
}

type Name<'a> = Spanned<std::borrow::Cow<'a, str>>;

impl Walk<'_> {
    fn section(&mut self, name: &Name<'_>, value: &Spanned<DeValue<'_>>) {
        let Some(section) = SECTIONS.iter().find(|section| section.name == name.get_ref()) else {
            let expected = perhaps("a section", name.get_ref(), SECTIONS.iter().map(|known| known.name));
            return self.refuse(name, value, &shorten(name.get_ref()), &expected);
        };
        let DeValue::Table(table) = value.get_ref() else {
            let expected = format!("the table [{}]", section.name);
            return self.refuse(name, value, section.name, &expected);
        };
        for (name, value) in table {
            self.key(section, name, value);
        }
    }

    fn key(&mut self, section: &'static Section, name: &Name<'_>, value: &Spanned<DeValue<'_>>) {
        let Some(field) = section.fields.iter().find(|field| field.key == name.get_ref()) else {
            let what = format!("a key of [{}]", section.name);
            let expected = perhaps(&what, name.get_ref(), section.fields.iter().map(|known| known.key));
            let path = format!("{}.{}", section.name, shorten(name.get_ref()));
            return self.refuse(name, value, &path, &expected);
        };
        let entry = Entry::from_toml(&self.file, self.text, value);
        match (field.read)(&mut self.profile, &entry) {
            Ok(()) => {
                self.entries.insert((field.section, field.key), entry);
            }
            Err(mismatch) => {
                let at = mismatch.item.and_then(|index| entry.item(index)).unwrap_or(&entry);
                self.problems.push(Problem::expected(field.path(), at, &mismatch.expected));
            }
        }
    }

    fn refuse(&mut self, name: &Name<'_>, value: &Spanned<DeValue<'_>>, path: &str, expected: &str) {
        let literal = self.text.get(value.span()).unwrap_or_default();
        self.problems.push(Problem {
            place: Place::in_file(&self.file, self.text, name.span()),
            subject: Some(Subject { path: path.into(), value: shorten(literal) }),
            message: format!("expected {expected}"),
        });
    }
}

/// What could stand in place of a name that is not known.
fn perhaps(what: &str, name: &str, known: impl Iterator<Item = &'static str> + Clone) -> String {
    if let Some(near) = nearest(name, known.clone()) {
        return format!("{what}, perhaps {near}");
    }
    let elsewhere = SECTIONS.iter().flat_map(|section| section.fields).find(|field| field.key == name);
    match elsewhere.map(Field::path) {
        Some(path) => format!("{what}, perhaps {path}"),
        None => format!("{what}: {}", known.collect::<Vec<_>>().join(", ")),
    }
}
