//! From the text of a file to entries: every key is looked up, and what is unknown is reported with what it may have
//! been meant to be.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::given::{Entry, Place, shorten};
use super::keys::{PORTS, Section, section, settable};
use super::problem::{Problem, Subject};
use super::rows::SECTIONS;
use super::values::{Layer, Values, path};

/// A message lists no more names than fit into a line or two.
const LISTED_MAX: usize = 12;

/// All entries of a text, and what is wrong with its structure.
///
/// # Errors
/// The text is no TOML: the first reason.
pub(super) fn read(file: &str, text: &str) -> Result<(Values, Vec<Problem>), Box<Problem>> {
    let file: Arc<str> = file.into();
    let root = DeTable::parse(text).map_err(|error| Box::new(syntax(&file, text, &error)))?;
    let mut walk = Walk { file, text, values: Values::default(), problems: Vec::new() };
    walk.table("", None, root.get_ref());
    Ok((walk.values, walk.problems))
}

pub(crate) fn syntax(file: &Arc<str>, text: &str, error: &toml::de::Error) -> Problem {
    let span = error.span().unwrap_or(0..0);
    let lines = error.message().lines().map(str::trim).filter(|line| !line.is_empty());
    Problem {
        place: Place::in_file(file, text, span),
        subject: None,
        message: lines.collect::<Vec<_>>().join(", "),
    }
}

struct Walk<'a> {
    file: Arc<str>,
    text: &'a str,
    values: Values,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    /// Takes the keys of the table `prefix`; goes no deeper than the table of keys does.
    fn table(&mut self, prefix: &str, port: Option<usize>, table: &DeTable<'_>) {
        for (name, value) in table {
            let inner = if prefix.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{prefix}.{}", name.get_ref())
            };
            if inner == PORTS {
                self.ports(value);
            } else if is_table(&inner) {
                match value.get_ref() {
                    DeValue::Table(table) => self.table(&inner, port, table),
                    DeValue::String(_)
                    | DeValue::Integer(_)
                    | DeValue::Float(_)
                    | DeValue::Boolean(_)
                    | DeValue::Datetime(_)
                    | DeValue::Array(_) => {
                        self.refuse(
                            path(prefix, &shorten(name.get_ref()), port),
                            value.span(),
                            &format!("the table [{inner}]"),
                        );
                    }
                }
            } else {
                self.key(prefix, port, name, value);
            }
        }
    }

    fn ports(&mut self, value: &Spanned<DeValue<'_>>) {
        let tables = |list: &DeArray<'_>| list.iter().all(|item| matches!(item.get_ref(), DeValue::Table(_)));
        match value.get_ref() {
            DeValue::Array(list) if tables(list) => {
                for item in list {
                    if let DeValue::Table(table) = item.get_ref() {
                        self.port(item.span(), table);
                    }
                }
            }
            DeValue::Array(_)
            | DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Table(_) => {
                self.refuse(PORTS.into(), value.span(), "tables, each under its own [[ports]]")
            }
        }
    }

    fn port(&mut self, span: Range<usize>, table: &DeTable<'_>) {
        let index = self.values.ports.len();
        self.values.ports.push(Layer::default());
        self.table(PORTS, Some(index), table);
        if self.values.ports[index].get(PORTS, "select").is_none() {
            let expected = "a key select that names a network device, RDMA device, PCI address or driver";
            self.refuse(format!("ports[{index}]"), span, expected);
        }
    }

    fn key(
        &mut self,
        prefix: &str,
        port: Option<usize>,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let known = section(prefix).and_then(|section| Some((section, section.key(name.get_ref())?)));
        let Some((section, key)) = known else {
            let literal = self.text.get(value.span()).unwrap_or_default();
            self.problems.push(Problem {
                place: Place::in_file(&self.file, self.text, name.span()),
                subject: Some(Subject {
                    path: path(prefix, &shorten(name.get_ref()), port),
                    value: shorten(literal),
                }),
                message: format!("expected {}", known_keys(prefix, name.get_ref())),
            });
            return;
        };
        let entry = Entry::from_toml(&self.file, self.text, value);
        self.values.layer_mut(port).insert(section.name, key.name, entry);
    }

    fn refuse(&mut self, path: String, span: Range<usize>, expected: &str) {
        let literal = self.text.get(span.clone()).unwrap_or_default();
        self.problems.push(Problem {
            place: Place::in_file(&self.file, self.text, span),
            subject: Some(Subject { path, value: shorten(literal) }),
            message: format!("expected {expected}"),
        });
    }
}

/// Whether a path names a section, or leads to one.
fn is_table(path: &str) -> bool {
    SECTIONS.iter().any(|section| {
        section.name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// What may stand in a table, and what `name` may have been meant to be.
fn known_keys(prefix: &str, name: &str) -> String {
    let names = names_in(prefix);
    let what = if prefix.is_empty() { "a section".to_owned() } else { format!("a key of [{prefix}]") };
    if let Some(near) = nearest(name, names.iter().map(String::as_str)) {
        return format!("{what}, perhaps {near}");
    }
    let elsewhere = settable().find(|(_, key)| key.name == name);
    if let Some((section, key)) = elsewhere {
        return format!("{what}, perhaps {}.{}", section.name, key.name);
    }
    if names.len() > LISTED_MAX {
        return format!("{what}; `rocewatch config show` lists them");
    }
    format!("{what}: {}", names.join(", "))
}

/// The keys and the tables that may stand in the table `prefix`.
fn names_in(prefix: &str) -> Vec<String> {
    let keys = section(prefix).into_iter().flat_map(Section::keys).map(|key| key.name.to_owned());
    let lead = if prefix.is_empty() { String::new() } else { format!("{prefix}.") };
    let inner = SECTIONS.iter().filter_map(|section| section.name.strip_prefix(&lead));
    let mut names: Vec<String> = keys.collect();
    for name in inner.filter_map(|rest| rest.split('.').next()).filter(|name| !name.is_empty()) {
        let name = format!("[{lead}{name}]");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The candidate that `name` is most likely a misspelling of. One wrong letter in three is still recognised.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A name many times longer than any key is no misspelling, and comparing it would take its length squared.
    let name: String = name.chars().take(64).collect();
    let bare =
        |candidate: &'a str| candidate.trim_matches(['[', ']']).rsplit('.').next().unwrap_or(candidate);
    candidates
        .map(|candidate| (strsim::damerau_levenshtein(&name, bare(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= bare(candidate).chars().count().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_key_and_a_strange_one_finds_none() {
        let keys = ["calm", "fast", "fast_enter", "quiet"];
        assert_eq!(nearest("quite", keys.into_iter()), Some("quiet"));
        assert_eq!(nearest("fast-enter", keys.into_iter()), Some("fast_enter"));
        assert_eq!(nearest("interval", keys.into_iter()), None);
    }

    #[test]
    fn a_table_of_the_file_is_known_by_its_whole_path() {
        assert!(is_table("actions") && is_table("actions.exec") && is_table("watchdog.rx"));
        assert!(!is_table("action") && !is_table("watchdog.detect") && !is_table("poll.calm"));
    }
}
