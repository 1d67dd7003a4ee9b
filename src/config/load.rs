//! Puts the layers of a configuration together: the built-in defaults, those of a subcommand, the file, the flags.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::Config;
use super::assignment::Assignment;
use super::problem::{ConfigError, Problem, Problems};
use super::settle::settle;
use super::table;
use super::values::Values;

/// Group and others may write.
const OTHERS_WRITE: u32 = 0o022;

/// What a configuration is made of; each layer goes before the ones above it.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Defaults of the subcommand.
    pub presets: Vec<Assignment>,
    /// The file.
    pub file: FileChoice,
    /// Whose file that may be.
    pub author: Author,
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

/// Who may have written a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Author {
    /// Anybody.
    #[default]
    Anybody,
    /// Nobody but root and the user of this process.
    OwnOrRoot,
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
        let text = read(&request.file, request.author)?;
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

/// The name and the text of a file, if it is there.
pub(crate) fn read(choice: &FileChoice, author: Author) -> Result<Option<(String, String)>, ConfigError> {
    let path: &Path = match choice {
        FileChoice::None => return Ok(None),
        FileChoice::IfPresent(path) | FileChoice::Named(path) => path,
    };
    let unreadable = |source| ConfigError::Unreadable { path: path.into(), source };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound && matches!(choice, FileChoice::IfPresent(_)) => {
            return Ok(None);
        }
        Err(source) => return Err(unreadable(source)),
    };
    // Of the open file, and before it is read: what is read is what was looked at.
    let found = file.metadata().map_err(unreadable)?;
    let (mode, owner, own) = (found.mode() & 0o7777, found.uid(), geteuid().as_raw());
    if author == Author::OwnOrRoot && (mode & OTHERS_WRITE != 0 || ![0, own].contains(&owner)) {
        return Err(ConfigError::Unsafe { path: path.into(), mode, owner, own });
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| ConfigError::NotText {
        path: path.into(),
        valid_bytes: error.utf8_error().valid_up_to(),
    })?;
    Ok(Some((path.display().to_string(), text)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_others_can_write_to_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rocewatch.toml");
        fs::write(&path, [0xff]).unwrap();
        let load = |author, mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let file = FileChoice::Named(path.clone());
            Config::load(&Request { file, author, ..Request::default() }).unwrap_err()
        };
        for mode in [0o620, 0o602] {
            let error = load(Author::OwnOrRoot, mode);
            assert!(matches!(error, ConfigError::Unsafe { mode: found, .. } if found == mode), "{error}");
            assert!(matches!(load(Author::Anybody, mode), ConfigError::NotText { .. }));
        }
        assert!(matches!(load(Author::OwnOrRoot, 0o644), ConfigError::NotText { .. }));
    }
}
