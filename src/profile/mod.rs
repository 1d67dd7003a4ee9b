//! A profile: what a fabric's ports are meant to be set to. `rocewatch plan` writes one, `rocewatch doctor` holds the
//! ports against it. A key that is absent is no opinion: it is not checked.
//!
//! A profile is a value. This module reads its file and nothing else; it asks no port anything.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::{Author, ConfigError, FileChoice, read_file};

mod table;
mod rows;
mod read;
mod check;
mod page;

pub use check::rdma_mtu;
pub use page::page;
pub use rows::{
    Cnp, Dcqcn, Ecn, GidKind, Headroom, Link, Moderation, Mtu, Nccl, Origin, Pfc, Profile, Roce, Trust,
};
pub use table::Field;

/// The name of the built-in profile.
pub const ROCEV2_DEFAULT: &str = "rocev2-default";

/// Its text, which is also the example to start from.
pub const ROCEV2_DEFAULT_TEXT: &str = include_str!("rocev2-default.toml");

impl Profile {
    /// The built-in profile of this name, if there is one.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        let Ok(profile) =
            (name == ROCEV2_DEFAULT).then(|| Self::parse(ROCEV2_DEFAULT, ROCEV2_DEFAULT_TEXT)).transpose()
        else {
            unreachable!("the built-in profile is valid: a test reads it")
        };
        profile
    }

    /// The profile in a file.
    ///
    /// # Errors
    /// The file cannot be read, or everything that is wrong with what it says.
    pub fn load(path: PathBuf) -> Result<Self, ConfigError> {
        let file = read_file(&FileChoice::Named(path), Author::Anybody)?;
        let (name, text) = file.unwrap_or_default();
        Self::parse(&name, &text)
    }

    /// The profile in a text; `name` stands for its file in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it: unknown keys, values of the wrong kind, values that contradict each other.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        read::read(name, text)
    }

    /// The profile as TOML, each key under its meaning. It reads back equal.
    #[must_use]
    pub fn to_toml(&self) -> String {
        page::text(self)
    }

    /// All keys that a profile can have, in the order of its text.
    pub fn fields() -> impl Iterator<Item = &'static Field> {
        rows::SECTIONS.iter().flat_map(|section| section.fields)
    }
}

impl Serialize for Profile {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let table: toml::Table = self.to_toml().parse().map_err(serde::ser::Error::custom)?;
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(deserializer)?;
        Self::parse("profile", &table.to_string()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
