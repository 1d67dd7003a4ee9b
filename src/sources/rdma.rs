//! RDMA devices and their counters in a tree as sysfs has it: `class/infiniband/DEVICE/ports/N/`.
//!
//! One file that cannot be read costs that counter, never a port: some ports answer EINVAL for some counters, some
//! drivers write "N/A (no PMA)", and odd devices lack files that others have.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rocewatch_core::binding::Binding;
use rocewatch_core::delta::{Tracker, is_saturated};
use rocewatch_core::drivers::{self, Driver, Kind};
use rocewatch_core::snapshot::CounterView;
use rocewatch_core::units::MonoTime;

use super::{ReadError, read_file};
use crate::export::stats::{Collector, ReadStats};

/// Counters that grow by more in a second are reset ones: a hundred million requests, or 1.6 Tbit.
const GROWTH_PER_SECOND: u64 = 200_000_000_000;
/// The period of the sysfs cache stands among the counters and is none.
const NO_COUNTER: &str = "lifespan";

/// One port of an RDMA device, as the tree has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RdmaPort {
    /// The device.
    pub device: String,
    /// The port's number.
    pub port: String,
    /// Its netdev; empty if it is joined to none.
    pub netdev: String,
    /// "Ethernet" or "InfiniBand"; empty if the tree does not tell.
    pub link_layer: String,
    names: Vec<String>,
    values: Vec<u64>,
}

/// The tree.
#[derive(Clone, Debug)]
pub struct RdmaTree {
    class: PathBuf,
}

impl RdmaTree {
    /// The tree under `sysfs`.
    #[must_use]
    pub fn new(sysfs: &Path) -> Self {
        Self { class: sysfs.join("class/infiniband") }
    }

    /// All ports; none where there is no RDMA.
    #[must_use]
    pub fn ports(&self) -> Vec<RdmaPort> {
        let ports = folders(&self.class).into_iter().flat_map(|device| {
            folders(&device.join("ports")).into_iter().map(move |port| Self::port(&device, &port))
        });
        ports.collect()
    }

    fn port(device: &Path, port: &Path) -> RdmaPort {
        RdmaPort {
            device: name(device),
            port: name(port),
            netdev: netdev(device, port),
            link_layer: text(&port.join("link_layer")).unwrap_or_default(),
            ..RdmaPort::default()
        }
    }

    /// Reads the counters of a port.
    fn read(&self, port: &mut RdmaPort, reads: &ReadStats) {
        let folder = self.class.join(&port.device).join("ports").join(&port.port);
        for file in ["hw_counters", "counters"].iter().flat_map(|kind| files(&folder.join(kind))) {
            let counter = name(&file);
            if counter == NO_COUNTER {
                continue;
            }
            match read_file(&file) {
                Ok(text) if text.starts_with("N/A") => {}
                Ok(text) => match text.trim().parse() {
                    Ok(value) => {
                        port.names.push(counter);
                        port.values.push(value);
                    }
                    Err(_) => reads.note_read(Collector::Rdma, Duration::ZERO, Err("malformed")),
                },
                Err(error) => {
                    let error = ReadError::Failed { what: error.to_string(), errno: error.errno() };
                    reads.note_read(Collector::Rdma, Duration::ZERO, Err(&error.label()));
                }
            }
        }
    }
}

/// The netdev of a port: the first GID that has one, else the only network interface of the device.
fn netdev(device: &Path, port: &Path) -> String {
    let by_gid = files(&port.join("gid_attrs/ndevs")).into_iter().find_map(|file| text(&file));
    let interfaces = folders(&device.join("device/net"));
    match (by_gid, &interfaces[..]) {
        (Some(netdev), _) => netdev,
        (None, [only]) => name(only),
        (None, _) => String::new(),
    }
}

fn text(path: &Path) -> Option<String> {
    let text = read_file(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths = match fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect::<Vec<_>>(),
        Err(_) => Vec::new(),
    };
    paths.sort();
    paths
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| !path.is_dir()).collect()
}

/// A port with its counters as they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RdmaView {
    /// The device.
    pub device: String,
    /// The port's number.
    pub port: String,
    /// Its netdev; empty if it is joined to none.
    pub netdev: String,
    /// "Ethernet" or "InfiniBand"; empty if the tree does not tell.
    pub link_layer: String,
    /// Widened, in held units.
    pub counters: Vec<CounterView>,
}

/// Follows the counters of all ports, so that those of 32 bits go on above.
pub struct RdmaCounters {
    tree: RdmaTree,
    followed: BTreeMap<(String, String), Followed>,
    last_at: Option<MonoTime>,
}

struct Followed {
    names: Vec<String>,
    binding: Binding,
    trackers: Vec<Tracker>,
}

impl RdmaCounters {
    /// The counters of `tree`.
    #[must_use]
    pub const fn new(tree: RdmaTree) -> Self {
        Self { tree, followed: BTreeMap::new(), last_at: None }
    }

    /// Reads all ports once.
    pub fn read(&mut self, now: MonoTime, reads: &ReadStats) -> Vec<RdmaView> {
        let span = self.last_at.replace(now).map_or(Duration::ZERO, |before| now.since(before));
        let mut ports = self.tree.ports();
        let present = |key: &(String, String)| ports.iter().any(|p| p.device == key.0 && p.port == key.1);
        self.followed.retain(|key, _| present(key));
        let limit = GROWTH_PER_SECOND.saturating_mul(span.as_secs() + 1);
        let views = ports.iter_mut().map(|port| {
            self.tree.read(port, reads);
            self.follow(port, limit)
        });
        views.collect()
    }

    fn follow(&mut self, port: &RdmaPort, limit: u64) -> RdmaView {
        let key = (port.device.clone(), port.port.clone());
        let followed = match self.followed.remove(&key) {
            Some(followed) if followed.names == port.names => followed,
            before => Followed::new(port, before),
        };
        let followed = self.followed.entry(key).or_insert(followed);
        RdmaView {
            device: port.device.clone(),
            port: port.port.clone(),
            netdev: port.netdev.clone(),
            link_layer: port.link_layer.clone(),
            counters: followed.advance(&port.values, limit),
        }
    }
}

impl Followed {
    /// A counter that was followed under the same meaning goes on.
    fn new(port: &RdmaPort, before: Option<Self>) -> Self {
        let binding = Binding::rdma(driver_of(&port.names), &port.names);
        let trackers = binding.layout().iter().map(|bound| {
            let before = before.as_ref()?;
            let place = before.binding.layout().iter().position(|known| known.slot == bound.slot)?;
            before.trackers.get(place).copied()
        });
        let trackers = trackers.map(Option::unwrap_or_default).collect();
        Self { names: port.names.clone(), binding, trackers }
    }

    fn advance(&mut self, raw: &[u64], limit: u64) -> Vec<CounterView> {
        let mut values = Vec::new();
        if self.binding.pick(raw, &mut values).is_err() {
            return Vec::new();
        }
        let bound = self.binding.layout().iter().zip(&mut self.trackers).zip(values);
        let views = bound.filter_map(|((bound, tracker), native)| {
            let value = match bound.kind {
                Kind::Gauge => native,
                Kind::Counter => {
                    tracker.advance(native, bound.width, bound.overflow, limit);
                    tracker.total()?
                }
            };
            Some(CounterView {
                slot: bound.slot,
                value: value.saturating_mul(bound.scale),
                saturated: is_saturated(native, bound.width, bound.overflow),
            })
        });
        views.collect()
    }
}

/// The table that knows most of the names: what a port offers is judged by the names present, not by what it is
/// called.
fn driver_of(names: &[String]) -> &'static Driver {
    let known = |driver: &&&'static Driver| {
        names.iter().filter(|name| driver.rdma.iter().any(|row| row.matches(name).is_some())).count()
    };
    drivers::ALL.iter().max_by_key(known).copied().unwrap_or_else(|| drivers::for_driver(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocewatch_core::catalog::Counter;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join("class/infiniband").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn read(root: &tempfile::TempDir) -> (Vec<RdmaView>, ReadStats) {
        let reads = ReadStats::default();
        let views = RdmaCounters::new(RdmaTree::new(root.path())).read(MonoTime::from_millis(1), &reads);
        (views, reads)
    }

    fn value(view: &RdmaView, counter: Counter) -> Option<u64> {
        view.counters.iter().find(|c| c.slot.counter() == counter).map(|c| c.value)
    }

    #[test]
    fn hw_counters_and_words_of_four_bytes_are_read_with_the_netdev_of_the_gid() {
        let root = tree(&[
            ("mlx5_0/ports/1/hw_counters/out_of_sequence", "17\n"),
            ("mlx5_0/ports/1/hw_counters/lifespan", "10\n"),
            ("mlx5_0/ports/1/hw_counters/np_cnp_sent", "5\n"),
            ("mlx5_0/ports/1/counters/port_xmit_data", "1000\n"),
            ("mlx5_0/ports/1/gid_attrs/ndevs/0", "enp59s0f0np0\n"),
            ("mlx5_0/ports/1/link_layer", "Ethernet\n"),
        ]);
        let (views, _) = read(&root);
        let [view] = &views[..] else { panic!("{views:?}") };
        assert_eq!(
            (view.device.as_str(), view.port.as_str(), view.netdev.as_str()),
            ("mlx5_0", "1", "enp59s0f0np0")
        );
        assert_eq!(value(view, Counter::OutOfSequence), Some(17));
        assert_eq!(value(view, Counter::RdmaTxBytes), Some(4000));
    }

    #[test]
    fn a_device_joined_to_no_netdev_is_shown_without_one() {
        let root = tree(&[("mlx5_9/ports/1/hw_counters/np_cnp_sent", "5\n")]);
        let (views, _) = read(&root);
        assert_eq!(views[0].netdev, "");
    }

    #[test]
    fn one_bad_file_costs_one_counter() {
        let root = tree(&[
            ("mlx5_0/ports/1/hw_counters/np_cnp_sent", "5\n"),
            ("mlx5_0/ports/1/hw_counters/out_of_sequence", "broken\n"),
            ("i40iw0/ports/1/counters/port_xmit_data", "N/A (no PMA)\n"),
        ]);
        fs::create_dir_all(root.path().join("class/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer"))
            .unwrap();
        let (views, reads) = read(&root);
        assert_eq!(views.len(), 2, "the device without counters is still there");
        assert_eq!(views.iter().map(|view| view.counters.len()).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(reads.failures().values().sum::<u64>(), 1);
    }

    #[test]
    fn a_counter_of_32_bits_goes_on_above_them() {
        let root = tree(&[("mlx5_0/ports/1/hw_counters/out_of_sequence", "4294967290\n")]);
        let file = root.path().join("class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence");
        let mut counters = RdmaCounters::new(RdmaTree::new(root.path()));
        let reads = ReadStats::default();
        counters.read(MonoTime::from_millis(0), &reads);
        fs::write(file, "4\n").unwrap();
        let views = counters.read(MonoTime::from_millis(1000), &reads);
        assert_eq!(value(&views[0], Counter::OutOfSequence), Some(4_294_967_300));
    }

    #[test]
    fn no_tree_is_no_device_and_no_error() {
        let root = tempfile::tempdir().unwrap();
        let (views, reads) = read(&root);
        assert!(views.is_empty() && reads.failures().is_empty());
    }
}
