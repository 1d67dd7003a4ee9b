//! Ports in a directory: `DIR/net/NETDEV/` with `ethtool.txt` and, optional, `driver`, `link.json` and `dcb.json`.
//! Captures, tests and benchmarks drive the whole agent with it. See `docs/directory-source.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rocewatch_core::action::PauseConfig;
use rocewatch_core::ids::PortIdentity;
use rocewatch_core::units::{Priority, PriorityMask};

use super::port_files::{DcbFile, LinkFile, Parsed};
use super::{Node, NodeError, Seen};
use crate::sources::{DirectorySource, FileError, Source, read_file, with_causes};

/// See the module.
pub struct DirectoryNode {
    root: PathBuf,
    /// Numbers of the folders, so that one that goes and comes back is another port.
    ids: BTreeMap<String, u64>,
    next_id: u64,
    /// What was said about a file, so that it is said once.
    told: BTreeMap<PathBuf, String>,
}

impl DirectoryNode {
    /// The ports below `root`.
    ///
    /// # Errors
    /// If `root/net` is no folder.
    pub fn open(root: &Path) -> Result<Self, NodeError> {
        let net = root.join("net");
        if !net.is_dir() {
            let what = format!("{}: expected a folder with one folder per network device", net.display());
            return Err(NodeError { what });
        }
        Ok(Self { root: root.to_owned(), ids: BTreeMap::new(), next_id: 1, told: BTreeMap::new() })
    }

    fn folder(&self, netdev: &str) -> PathBuf {
        self.root.join("net").join(netdev)
    }

    /// The contents of an optional file. What in it cannot be understood is named once, and its port goes on without.
    fn optional<T>(&mut self, path: &Path, parse: fn(&str) -> Parsed<T>) -> Option<T> {
        let parsed = match read_file(path) {
            Ok(text) => parse(&text),
            Err(error) if error.is_absent() => return None,
            Err(error) => {
                self.tell(path, with_causes(&error));
                return None;
            }
        };
        if parsed.problems.is_empty() {
            self.told.remove(path);
        } else {
            self.tell(path, format!("{}: {}", path.display(), parsed.problems.join("; ")));
        }
        Some(parsed.value)
    }

    fn tell(&mut self, path: &Path, error: String) {
        if self.told.get(path) != Some(&error) {
            tracing::warn!(%error, "a file of the directory source is left out");
            self.told.insert(path.to_owned(), error);
        }
    }

    fn link_file(&mut self, netdev: &str) -> Option<LinkFile> {
        self.optional(&self.folder(netdev).join("link.json"), LinkFile::parse)
    }

    fn seen(&mut self, netdev: String) -> Seen {
        let id = *self.ids.entry(netdev.clone()).or_insert_with(|| {
            self.next_id += 1;
            self.next_id
        });
        let link = self.link_file(&netdev).unwrap_or_default();
        let dcb = self.optional(&self.folder(&netdev).join("dcb.json"), DcbFile::parse);
        let mask = |list: &Vec<Priority>| list.iter().fold(PriorityMask::default(), |mask, p| mask.with(*p));
        let pause = dcb.as_ref().and_then(|dcb| {
            let config = dcb.pause_rx.zip(dcb.pause_tx).map(|(rx, tx)| PauseConfig { rx, tx });
            (config.is_some() || dcb.prevention_timeout_ms.is_some())
                .then_some((config, dcb.prevention_timeout_ms))
        });
        Seen {
            id,
            netdev,
            physical: true,
            flavour: "",
            carrier: link.carrier,
            speed_mbps: link.speed_mbps,
            mtu: link.mtu_bytes,
            bond: link.bond,
            carrier_changes: link.carrier_changes,
            stats: link.stats,
            pfc: dcb.map(|dcb| (dcb.pfc.as_ref().map(mask), dcb.owner)),
            pause,
            in_band: false,
        }
    }
}

impl Node for DirectoryNode {
    fn scan(&mut self) -> Result<Vec<Seen>, NodeError> {
        let net = self.root.join("net");
        let failed = |error: std::io::Error| NodeError { what: format!("{}: {error}", net.display()) };
        let mut names = Vec::new();
        for entry in fs::read_dir(&net).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            match entry.file_name().into_string() {
                Ok(name) if entry.path().is_dir() => names.push(name),
                Ok(_) => {}
                Err(name) => self.tell(&entry.path(), format!("{name:?} is no name of a network device")),
            }
        }
        names.sort();
        self.ids.retain(|name, _| names.contains(name));
        Ok(names.into_iter().map(|name| self.seen(name)).collect())
    }

    fn identity(&mut self, seen: &Seen) -> PortIdentity {
        let driver = match read_file(&self.folder(&seen.netdev).join("driver")) {
            Ok(text) => text.trim().to_owned(),
            Err(error) => {
                if !error.is_absent() {
                    self.tell(&self.folder(&seen.netdev).join("driver"), with_causes(&error));
                }
                String::new()
            }
        };
        let link = self.link_file(&seen.netdev).unwrap_or_default();
        PortIdentity {
            netdev: seen.netdev.clone(),
            driver,
            driver_version: link.driver_version.unwrap_or_default(),
            firmware_version: link.firmware_version.unwrap_or_default(),
            pci_address: link.pci_address.unwrap_or_default(),
            numa_node: link.numa_node,
            ..PortIdentity::default()
        }
    }

    fn source(&mut self, seen: &Seen) -> Result<Option<Box<dyn Source>>, NodeError> {
        let file = self.folder(&seen.netdev).join("ethtool.txt");
        let refresh =
            self.link_file(&seen.netdev).and_then(|link| link.refresh_ms).map(Duration::from_millis);
        match read_file(&file) {
            Err(error @ FileError::Io { .. }) if error.is_absent() => Ok(None),
            // Anything else may be mended while the agent runs.
            Ok(_) | Err(_) => Ok(Some(Box::new(DirectorySource::new(file, refresh)))),
        }
    }
}
