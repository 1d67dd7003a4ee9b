//! What was given, by key, in layers: only the keys that somebody set.

use std::collections::BTreeMap;

use super::given::Entry;

/// Everything that was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Values {
    /// All but `[[ports]]`.
    pub(super) node: Layer,
    /// One for each `[[ports]]`, in the order of the file.
    pub(super) ports: Vec<Layer>,
}

/// Entries by section and key; all names are those of the table of keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layer {
    entries: BTreeMap<(&'static str, &'static str), Entry>,
}

impl Layer {
    /// What was given for a key, good or bad.
    pub(super) fn get(&self, section: &'static str, key: &'static str) -> Option<&Entry> {
        self.entries.get(&(section, key))
    }

    /// What was given for a key, unless it was refused.
    pub(super) fn valid(&self, section: &'static str, key: &'static str) -> Option<&Entry> {
        self.get(section, key).filter(|entry| !entry.refused)
    }

    pub(super) fn get_mut(&mut self, section: &'static str, key: &'static str) -> Option<&mut Entry> {
        self.entries.get_mut(&(section, key))
    }

    pub(super) fn insert(&mut self, section: &'static str, key: &'static str, entry: Entry) {
        self.entries.insert((section, key), entry);
    }

    /// Whether something of a section was given.
    pub(super) fn has(&self, section: &str) -> bool {
        self.entries.keys().any(|(of, _)| *of == section)
    }
}

impl Values {
    /// Puts what `upper` has over this.
    pub(super) fn overlay(&mut self, upper: Self) {
        self.node.entries.extend(upper.node.entries);
        self.ports.extend(upper.ports);
    }

    /// The layer of the node, or that of one `[[ports]]`.
    pub(super) fn layer_mut(&mut self, port: Option<usize>) -> &mut Layer {
        match port {
            None => &mut self.node,
            Some(index) => &mut self.ports[index],
        }
    }

    /// All layers: the node's, then one for each `[[ports]]`.
    pub(super) fn layers(&self) -> impl Iterator<Item = Option<usize>> + use<> {
        std::iter::once(None).chain((0..self.ports.len()).map(Some))
    }
}

/// The path of a key as messages write it, such as `ports[0].rx.detect`.
pub(super) fn path(section: &str, key: &str, port: Option<usize>) -> String {
    let section = match (port, section.strip_prefix("ports")) {
        (Some(index), Some(rest)) => format!("ports[{index}]{rest}"),
        (Some(_) | None, _) => section.to_owned(),
    };
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}
