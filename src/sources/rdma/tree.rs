//! RDMA devices in a tree as sysfs has it: `class/infiniband/DEVICE/ports/N/`.
//!
//! A file that cannot be read costs what stands in it: some ports answer EINVAL for some counters, some drivers write
//! "N/A (no PMA)", and odd devices lack files that others have.

use std::fs;
use std::path::{Path, PathBuf};

use super::{RdmaView, Sample};
use crate::sources::{FileError, ReadError, read_file};
use crate::sys::rdma_wire::{NodeType, PhysicalState, PortState, Protocol};

/// The period of the cache stands among the counters and is none.
const NO_COUNTER: &str = "lifespan";
/// With this file the cache of ib_core begins: mlx5 fills it whole for the counter of index 0 only, and every other file
/// that is read before costs a full query (`show_hw_stats`, drivers/infiniband/core/sysfs.c, Linux 6.12).
const FIRST_COUNTER: &str = "rx_write_requests";
/// More ports than any device has, and more files than any port.
const ENTRIES_MAX: usize = 4096;

/// The tree.
#[derive(Clone, Debug)]
pub(super) struct RdmaTree {
    class: PathBuf,
}

/// What there is.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Ports, and devices that count something as a whole; without counters.
    pub(super) ports: Vec<RdmaView>,
    /// Devices of which no port can be seen.
    pub(super) hidden: Vec<String>,
}

impl RdmaTree {
    /// The tree under `sysfs`.
    pub(super) fn new(sysfs: &Path) -> Self {
        Self { class: sysfs.join("class/infiniband") }
    }

    /// Whether there is an RDMA subsystem at all.
    pub(super) fn is_there(&self) -> bool {
        self.class.is_dir()
    }

    /// The names of all devices.
    pub(super) fn names(&self) -> Vec<String> {
        entries(&self.class).iter().map(|path| name(path)).collect()
    }

    /// All ports of the devices that are wanted.
    pub(super) fn look(&self, is_wanted: impl Fn(&str) -> bool) -> Found {
        let mut found = Found::default();
        for folder in folders(&self.class).into_iter().filter(|folder| is_wanted(&name(folder))) {
            let device = self.device(&name(&folder));
            let ports = folders(&folder.join("ports")).into_iter().filter(|port| !entries(port).is_empty());
            let ports: Vec<_> = ports.map(|port| self.port(&device, &name(&port))).collect();
            if ports.is_empty() {
                found.hidden.push(device.device);
                continue;
            }
            found.ports.extend(ports);
            found.ports.extend(self.whole(&device));
        }
        found
    }

    /// What the tree tells about a device.
    pub(super) fn device(&self, device: &str) -> RdmaView {
        let folder = self.class.join(device);
        let driver = fs::read_link(folder.join("device/driver")).ok();
        RdmaView {
            device: device.to_owned(),
            node_type: text(&folder.join("node_type")).as_deref().and_then(NodeType::of_sysfs),
            driver: driver.as_deref().map(name).unwrap_or_default(),
            ..RdmaView::default()
        }
    }

    /// What the tree tells about a port. Its states cost some drivers a firmware command.
    fn port(&self, device: &RdmaView, port: &str) -> RdmaView {
        let folder = self.class.join(&device.device).join("ports").join(port);
        let link_layer = self.link_layer(&device.device, port);
        RdmaView {
            port: port.to_owned(),
            netdev: self.netdev(&device.device, port),
            protocol: protocol(&link_layer, device.node_type),
            link_layer,
            state: text(&folder.join("state")).as_deref().and_then(PortState::of_sysfs),
            physical_state: text(&folder.join("phys_state")).as_deref().and_then(PhysicalState::of_sysfs),
            ..device.clone()
        }
    }

    /// The device as a whole, if it counts as such.
    pub(super) fn whole(&self, device: &RdmaView) -> Option<RdmaView> {
        let counts = !files(&self.class.join(&device.device).join("hw_counters")).is_empty();
        counts.then(|| device.clone())
    }

    /// "Ethernet" or "InfiniBand"; empty if the tree does not tell.
    pub(super) fn link_layer(&self, device: &str, port: &str) -> String {
        text(&self.class.join(device).join("ports").join(port).join("link_layer")).unwrap_or_default()
    }

    /// The netdev of a port: that of its first GID that has one, else the only one of the device's function.
    pub(super) fn netdev(&self, device: &str, port: &str) -> String {
        let folder = self.class.join(device).join("ports").join(port);
        let by_gid = files(&folder.join("gid_attrs/ndevs")).into_iter().find_map(|file| text(&file));
        by_gid.or_else(|| self.function(device)).unwrap_or_default()
    }

    /// The netdev of the bus device behind an RDMA device, if it has one and no more.
    pub(super) fn function(&self, device: &str) -> Option<String> {
        match &folders(&self.class.join(device).join("device/net"))[..] {
            [only] => Some(name(only)),
            _ => None,
        }
    }

    /// Whether a device is a virtual function of another.
    pub(super) fn is_virtual_function(&self, device: &str) -> bool {
        self.class.join(device).join("device/physfn").exists()
    }

    /// The driver's own counters of a port, or of the device as a whole where `port` is empty.
    pub(super) fn hardware_counters(&self, device: &str, port: &str) -> Sample {
        let device = self.class.join(device);
        let owner = if port.is_empty() { device } else { device.join("ports").join(port) };
        let mut files = files(&owner.join("hw_counters"));
        files.retain(|file| name(file) != NO_COUNTER);
        files.sort_by_key(|file| name(file) != FIRST_COUNTER);
        read_all(&files)
    }

    /// The names of the counters that InfiniBand defines for a port. mlx5 asks its firmware for each file that is read.
    pub(super) fn port_counter_names(&self, device: &str, port: &str) -> Vec<String> {
        files(&self.port_counters(device, port)).iter().map(|file| name(file)).collect()
    }

    /// The counters of these names.
    pub(super) fn port_counters_named(&self, device: &str, port: &str, names: &[String]) -> Sample {
        let folder = self.port_counters(device, port);
        read_all(&names.iter().map(|name| folder.join(name)).collect::<Vec<_>>())
    }

    fn port_counters(&self, device: &str, port: &str) -> PathBuf {
        self.class.join(device).join("ports").join(port).join("counters")
    }
}

/// What a port speaks. The link layer alone does not tell: iWARP drivers leave it at "InfiniBand".
const fn protocol(link_layer: &str, node_type: Option<NodeType>) -> Option<Protocol> {
    match (node_type, link_layer.as_bytes()) {
        (Some(NodeType::Rnic), _) => Some(Protocol::Iwarp),
        (Some(NodeType::Usnic | NodeType::UsnicUdp), _) => Some(Protocol::Usnic),
        (Some(NodeType::Unspecified), _) => None,
        (_, b"Ethernet") => Some(Protocol::Roce),
        (_, b"InfiniBand") => Some(Protocol::InfiniBand),
        (_, _) => None,
    }
}

fn read_all(files: &[PathBuf]) -> Sample {
    let mut sample = Sample::default();
    for file in files {
        let counter = name(file);
        match number(file) {
            Ok(Some(value)) => sample.take(counter, value),
            Ok(None) => sample.unsupported.push(counter),
            Err(error) => sample.unread.push((counter, error.label())),
        }
    }
    sample
}

/// The number in a file; `None` if the port has no such counter and says so.
fn number(file: &Path) -> Result<Option<u64>, ReadError> {
    let failed = |error: FileError| ReadError::Failed { what: error.to_string(), errno: error.errno() };
    let text = read_file(file).map_err(failed)?;
    let text = text.trim();
    if text.starts_with("N/A") {
        return Ok(None);
    }
    let malformed = |_| ReadError::Failed { what: format!("{}: {text:?}", file.display()), errno: None };
    text.parse().map(Some).map_err(malformed)
}

fn text(path: &Path) -> Option<String> {
    let text = read_file(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What is in a folder and has a name that is text: two that are none would become the same series.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let named = entries.flatten().filter(|entry| entry.file_name().to_str().is_some());
    let mut paths = named.take(ENTRIES_MAX).map(|entry| entry.path()).collect::<Vec<_>>();
    paths.sort();
    paths
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| !path.is_dir()).collect()
}
