//! Maintenance that outlives a restart of the agent: one JSON file, replaced whole. It is of one boot: after another
//! one nobody works on the node any more as they did. A file that cannot be read counts as maintenance of all ports,
//! for as long as nobody sets it anew: to do nothing is what its writer had asked for.

use std::io;
use std::path::{Path, PathBuf};

use rocewatch_core::durable::Maintained;
use rocewatch_core::units::MonoTime;
use serde::{Deserialize, Serialize};

use crate::actuate::replace;
use crate::sources::{read_file, with_causes};

/// The format written and read by this version.
const FORMAT: u32 = 1;

/// The file, and the boot whose clock its ends count by.
#[derive(Clone, Debug)]
pub struct MaintenanceFile {
    path: PathBuf,
    boot_id: String,
}

/// What an earlier run has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing that counts: no file, or one of an earlier boot.
    Nothing,
    /// Its maintenance.
    Of(Vec<Maintained>),
    /// A file that says nothing, and why.
    Unreadable(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    rocewatch_maintenance: u32,
    boot_id: String,
    maintenance: Vec<Maintained>,
}

impl Kept {
    /// What the engine is told at `now`.
    #[must_use]
    pub fn in_force(self, now: MonoTime) -> Vec<Maintained> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Of(mut kept) => {
                kept.retain(|kept| kept.until > now);
                kept
            }
            Self::Unreadable(_) => vec![Maintained { port: None, until: MonoTime::MAX }],
        }
    }
}

impl MaintenanceFile {
    /// The file in `folder`.
    #[must_use]
    pub fn new(folder: &Path, boot_id: &str) -> Self {
        Self { path: folder.join("maintenance"), boot_id: boot_id.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says.
    #[must_use]
    pub fn read(&self) -> Kept {
        let text = match read_file(&self.path) {
            Ok(text) => text,
            Err(error) if error.is_absent() => return Kept::Nothing,
            Err(error) => return Kept::Unreadable(with_causes(&error)),
        };
        let named = |what: String| Kept::Unreadable(format!("{}: {what}", self.path.display()));
        match serde_json::from_str::<Contents>(&text) {
            Ok(contents) if contents.rocewatch_maintenance != FORMAT => {
                named(format!("format {} is not {FORMAT}", contents.rocewatch_maintenance))
            }
            Ok(contents) if contents.boot_id != self.boot_id => Kept::Nothing,
            Ok(contents) => Kept::Of(contents.maintenance),
            Err(error) => named(error.to_string()),
        }
    }

    /// Replaces it.
    ///
    /// # Errors
    /// What stood there still stands.
    pub fn write(&self, maintenance: &[Maintained]) -> io::Result<()> {
        let contents = Contents {
            rocewatch_maintenance: FORMAT,
            boot_id: self.boot_id.clone(),
            maintenance: maintenance.to_vec(),
        };
        replace(&self.path, &serde_json::to_vec(&contents)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rocewatch_core::durable::PortName;

    use super::*;

    fn kept(until: u64) -> Maintained {
        let port = PortName { netdev: "eth0".into(), pci_address: "0000:3b:00.0".into() };
        Maintained { port: Some(port), until: MonoTime::from_millis(until) }
    }

    #[test]
    fn what_was_written_is_found_in_the_same_boot_and_dropped_in_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let file = MaintenanceFile::new(folder.path(), "boot");
        assert_eq!(file.read(), Kept::Nothing);
        file.write(&[kept(5000), kept(9000)]).unwrap();
        assert_eq!(file.read().in_force(MonoTime::from_millis(6000)), [kept(9000)]);
        assert_eq!(MaintenanceFile::new(folder.path(), "next").read(), Kept::Nothing);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_maintenance_of_everything() {
        let folder = tempfile::tempdir().unwrap();
        let file = MaintenanceFile::new(folder.path(), "boot");
        for text in ["", "{", "[]", r#"{"rocewatch_maintenance":2,"boot_id":"boot","maintenance":[]}"#] {
            fs::write(file.path(), text).unwrap();
            let kept = file.read();
            assert!(matches!(&kept, Kept::Unreadable(why) if why.contains("maintenance")), "{text}");
            let all = Maintained { port: None, until: MonoTime::MAX };
            assert_eq!(kept.in_force(MonoTime::ZERO), [all]);
        }
        fs::remove_file(file.path()).unwrap();
        fs::create_dir(file.path()).unwrap();
        assert!(matches!(file.read(), Kept::Unreadable(_)));
    }
}
