//! The files of a tree as sysfs has it: one text each, and what is wrong with those that give none.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rocewatch_core::nvmf::NvmfState;

use super::address::Address;
use super::{NvmfFacts, NvmfTransport};
use crate::sources::{failure_label, read_file};

/// More controllers, subsystems, ports or namespaces than a host has.
pub(super) const ENTRIES_MAX: usize = 4096;
/// An NQN may have 223 bytes (NVMe base specification), an address with all of its parts fewer.
const TEXT_MAX: usize = 512;
/// What controllers of a discovery service name their subsystem, before each could have a name of its own.
const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// Files that hold a timeout in seconds, and what it is called.
const TIMEOUTS: [(&str, &str); 4] = [
    ("kato", "keep_alive"),
    ("reconnect_delay", "reconnect_delay"),
    ("fast_io_fail_tmo", "fast_io_fail"),
    ("ctrl_loss_tmo", "ctrl_loss"),
];

/// Files that could not be read or understood, and the name of the error.
pub(super) type Unread = BTreeMap<PathBuf, String>;

/// A controller as it lies in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// Its name, and the number of its folder, which another controller of that name does not get.
    pub(super) key: (String, u64),
    /// The folder of its subsystem, where it was found there.
    subsystem: Option<PathBuf>,
}

/// All controllers: those of the class, and those that only a subsystem has.
pub(super) fn controllers(sysfs: &Path) -> Vec<Folder> {
    let mut subsystems = BTreeMap::new();
    for subsystem in entries(&sysfs.join("class/nvme-subsystem")) {
        let paths = entries(&subsystem).into_iter().filter(|path| is_controller(&name(path)));
        subsystems.extend(paths.map(|path| (name(&path), (path, subsystem.clone()))));
    }
    let own = entries(&sysfs.join("class/nvme")).into_iter().filter(|path| is_controller(&name(path)));
    let of_subsystems = subsystems.values().map(|(path, _)| path.clone());
    let mut found: BTreeMap<String, Folder> = BTreeMap::new();
    for path in own.chain(of_subsystems.collect::<Vec<_>>()) {
        let name = name(&path);
        if found.contains_key(&name) || found.len() >= ENTRIES_MAX {
            continue;
        }
        let Some(metadata) = fs::metadata(&path).ok().filter(fs::Metadata::is_dir) else { continue };
        let subsystem = subsystems.remove(&name).map(|(_, folder)| folder);
        found.insert(name.clone(), Folder { path, key: (name, metadata.ino()), subsystem });
    }
    found.into_values().collect()
}

/// Namespaces lie beside the controllers of a subsystem: `nvme0n1`, `nvme0c1n1`.
fn is_controller(name: &str) -> bool {
    let number = name.strip_prefix("nvme").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a controller is, as its files tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) facts: NvmfFacts,
    pub(super) address: Address,
    /// Whether it belongs to a discovery service, which holds no data.
    pub(super) is_discovery: bool,
}

impl Folder {
    /// Whether it is still there: what a controller takes along is no failure.
    pub(super) fn is_there(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|metadata| metadata.ino() == self.key.1)
    }

    /// What carries it; outer `None` if that cannot be read, inner if it is no fabric.
    pub(super) fn transport(&self, unread: &mut Unread) -> Option<Option<NvmfTransport>> {
        Some(NvmfTransport::of_sysfs(&text(&self.path.join("transport"), unread)?))
    }

    /// Its state.
    pub(super) fn state(&self, unread: &mut Unread) -> Option<NvmfState> {
        let file = self.path.join("state");
        let state = NvmfState::of_sysfs(&text(&file, unread)?);
        if state.is_none() {
            unread.insert(file, failure_label(None));
        }
        state
    }

    /// Everything else, of a controller in `state`.
    pub(super) fn facts(
        &self,
        transport: NvmfTransport,
        state: Option<NvmfState>,
        unread: &mut Unread,
    ) -> Facts {
        let address = Address::parse(&text(&self.path.join("address"), unread).unwrap_or_default());
        let timeouts = TIMEOUTS.into_iter().filter_map(|(file, name)| {
            let seconds = number(&self.path.join(file), unread).filter(|seconds| *seconds > 0)?;
            Some((name, Duration::from_secs(seconds)))
        });
        let facts = NvmfFacts {
            transport,
            address: address.remote(),
            host_address: address.local().to_owned(),
            timeouts: timeouts.collect(),
            queues: number(&self.path.join("queue_count"), unread),
            subsystem: self.subsystem(state, unread),
        };
        let kind = text(&self.path.join("cntrltype"), unread);
        let is_discovery = kind.as_deref() == Some("discovery") || facts.subsystem == DISCOVERY;
        Facts { facts, address, is_discovery }
    }

    /// The NQN of its subsystem, as that tells it. The controller's own file is read only while it is live: it prints what
    /// its subsystem is called without looking whether it has one (`nvme_sysfs_show_subsysnqn`), and until it was connected
    /// for the first time it has none.
    fn subsystem(&self, state: Option<NvmfState>, unread: &mut Unread) -> String {
        let folder = match (&self.subsystem, state) {
            (Some(subsystem), _) => subsystem,
            (None, Some(NvmfState::Live)) => &self.path,
            (None, _) => return String::new(),
        };
        text(&folder.join("subsysnqn"), unread).unwrap_or_default()
    }
}

/// A number; `None` also for what is "off".
pub(super) fn number(file: &Path, unread: &mut Unread) -> Option<u64> {
    let text = text(file, unread).filter(|text| text != "off")?;
    let number = text.parse().ok();
    if number.is_none() {
        unread.insert(file.to_owned(), failure_label(None));
    }
    number
}

/// What stands in a file; `None` if nothing does, or there is none: which files there are depends on the kernel.
pub(super) fn text(file: &Path, unread: &mut Unread) -> Option<String> {
    let error = match read_file(file) {
        Ok(text) if text.trim().len() <= TEXT_MAX => {
            let text = text.trim();
            return (!text.is_empty()).then(|| text.to_owned());
        }
        Ok(_) => failure_label(None),
        Err(error) if error.is_absent() => return None,
        Err(error) => failure_label(error.errno()),
    };
    unread.insert(file.to_owned(), error);
    None
}

pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What is in a folder and has a name that is text.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let named = entries.flatten().filter(|entry| entry.file_name().to_str().is_some());
    let mut paths = named.take(ENTRIES_MAX).map(|entry| entry.path()).collect::<Vec<_>>();
    paths.sort();
    paths
}
