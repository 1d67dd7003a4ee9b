//! A configuration as the text of a file.

use std::fmt::Write;

use super::Config;
use super::keys::{Key, PORTS, Section};
use super::rows::SECTIONS;
use super::values::Layer;

impl Config {
    /// A file that leads to this configuration, every key in it.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.document(|_, _, _| None)
    }

    /// The same, with where each value came from.
    #[must_use]
    pub fn to_toml_with_origins(&self) -> String {
        self.document(|layer, section, key| {
            Some(layer.get(section, key).map_or("default".into(), |entry| entry.place.to_string()))
        })
    }

    /// Only what was given, for people who know the defaults.
    #[must_use]
    pub fn to_toml_given(&self) -> String {
        let mut text = String::new();
        for section in SECTIONS.iter().filter(|section| !section.is_of_ports()) {
            let given =
                section.keys().filter_map(|key| Some((key, self.values().node.get(section.name, key.name)?)));
            let given = given.map(|(key, entry)| format!("{} = {}\n", key.name, key.text(Some(entry))));
            let given = given.collect::<String>();
            if !given.is_empty() {
                header(&mut text, section);
                text.push_str(&given);
            }
        }
        text.trim_start().to_owned()
    }

    fn document(&self, remark: impl Fn(&Layer, &'static str, &'static str) -> Option<String>) -> String {
        let values = self.values();
        let mut text = String::new();
        for section in SECTIONS {
            if section.name == PORTS {
                for port in &values.ports {
                    text.push_str("\n[[ports]]\n");
                    for part in SECTIONS.iter().filter(|section| section.is_of_ports()) {
                        if part.name != PORTS && port.has(part.name) {
                            header(&mut text, part);
                        }
                        lines(&mut text, port, part, &remark);
                    }
                }
            } else if !section.is_of_ports() {
                header(&mut text, section);
                lines(&mut text, &values.node, section, &remark);
            }
        }
        text.trim_start().to_owned()
    }
}

fn header(text: &mut String, section: &Section) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n[{}]", section.name);
}

/// The keys of a section that have a value of their own.
fn lines(
    text: &mut String,
    layer: &Layer,
    section: &Section,
    remark: impl Fn(&Layer, &'static str, &'static str) -> Option<String>,
) {
    for key in section.keys().filter(|key| has_value(layer, section, key)) {
        let value = key.text(layer.get(section.name, key.name));
        let remark =
            remark(layer, section.name, key.name).map_or(String::new(), |remark| format!(" # {remark}"));
        let _ = writeln!(text, "{} = {value}{remark}", key.name);
    }
}

fn has_value(layer: &Layer, section: &Section, key: &Key) -> bool {
    layer.get(section.name, key.name).is_some() || section.has_default(key)
}
