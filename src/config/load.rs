//! Puts the layers of a configuration together: the built-in defaults, those of a subcommand, the file, the flags.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::Config;
use super::assignment::Assignment;
use super::problem::{ConfigError, Problem, Problems};
use super::settle::settle;
use super::table;
use super::values::Values;

/// What a configuration is made of; each layer goes before the ones above it.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Defaults of the subcommand.
    pub presets: Vec<Assignment>,
    /// The file.
    pub file: FileChoice,
    /// The command line.
    pub flags: Vec<Assignment>,
}

/// Which file is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FileChoice {
    /// None.
    #[default]
    None,
    /// This one, if it is there.
    IfPresent(PathBuf),
    /// This one.
    Named(PathBuf),
}

impl Default for Config {
    fn default() -> Self {
        let Ok(config) = settle(Values::default()) else {
            unreachable!("the built-in defaults are valid: a test settles them")
        };
        config
    }
}

impl Config {
    /// The configuration that a request leads to.
    ///
    /// # Errors
    /// The file cannot be read, or something in it or in the flags is wrong: all of it.
    pub fn load(request: &Request) -> Result<Self, ConfigError> {
        let text = read(&request.file)?;
        let text = text.as_ref().map(|(name, text)| (name.as_str(), text.as_str()));
        build(text, Values::default(), &request.presets, &request.flags)
    }

    /// The configuration in a text that stands in no file of its own, such as that in a recording.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        build(Some((name, text)), Values::default(), &[], &[])
    }

    /// This configuration with some keys changed.
    ///
    /// # Errors
    /// Everything that is wrong with the changes.
    pub fn assign(&self, assignments: &[Assignment]) -> Result<Self, ConfigError> {
        build(None, self.values.clone(), &[], assignments)
    }

    /// What works, but surely not as meant.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    pub(super) const fn values(&self) -> &Values {
        &self.values
    }
}

fn build(
    file: Option<(&str, &str)>,
    base: Values,
    below: &[Assignment],
    above: &[Assignment],
) -> Result<Config, ConfigError> {
    let refused = |problems| ConfigError::Refused(Problems::new(problems, file));
    let mut values = base;
    let mut problems = values.assign(below);
    if let Some((name, text)) = file {
        let (from_file, wrong) = table::read(name, text).map_err(|syntax| refused(vec![*syntax]))?;
        values.overlay(from_file);
        problems.extend(wrong);
    }
    problems.extend(values.assign(above));
    match settle(values) {
        Ok(config) if problems.is_empty() => Ok(config),
        Ok(_) => Err(refused(problems)),
        Err(more) => Err(refused([problems, more].concat())),
    }
}

fn read(choice: &FileChoice) -> Result<Option<(String, String)>, ConfigError> {
    let path: &Path = match choice {
        FileChoice::None => return Ok(None),
        FileChoice::IfPresent(path) | FileChoice::Named(path) => path,
    };
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound && matches!(choice, FileChoice::IfPresent(_)) => {
            return Ok(None);
        }
        Err(source) => return Err(ConfigError::Unreadable { path: path.into(), source }),
    };
    let text = String::from_utf8(bytes).map_err(|error| ConfigError::NotText {
        path: path.into(),
        valid_bytes: error.utf8_error().valid_up_to(),
    })?;
    Ok(Some((path.display().to_string(), text)))
}
