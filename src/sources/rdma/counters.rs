//! All RDMA ports of a node: what each device's reader gives, put together.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rocewatch_core::units::MonoTime;

use super::crew::Crew;
use super::log::NodeLog;
use super::reader::Reader;
use super::tree::RdmaTree;
use super::{RdmaView, Wanted, kernel, lag};
use crate::config::{DeviceFilter, Pattern};
use crate::export::stats::{Collector, ReadStats};
use crate::sys::sysfs_net::SysfsNet;

/// The counters of all RDMA ports of a node.
pub struct RdmaCounters {
    sysfs: PathBuf,
    wanted: Wanted,
    source: Source,
    failed: Option<String>,
    log: NodeLog,
}

enum Source {
    /// Each device by a thread of its own. Nothing is asked unless sysfs shows that it is there: a question loads an
    /// RDMA subsystem that was unloaded.
    Kernel(Crew),
    /// Files alone, which do not hang. Made at the first reading.
    Tree(Option<Box<Reader>>),
}

impl RdmaCounters {
    /// The ports of this node: the kernel is asked, and `sysfs` tells what the kernel does not.
    #[must_use]
    pub fn of_kernel(sysfs: &Path) -> Self {
        Self::of(sysfs, Source::Kernel(Crew::default()))
    }

    /// The ports in a tree like sysfs, and nothing else.
    #[must_use]
    pub fn of_tree(sysfs: &Path) -> Self {
        Self::of(sysfs, Source::Tree(None))
    }

    fn of(sysfs: &Path, source: Source) -> Self {
        let (wanted, log) = (Wanted::default(), NodeLog::default());
        Self { sysfs: sysfs.to_owned(), wanted, source, failed: None, log }
    }

    /// Only of what `devices` admits by the name of RDMA device or netdev; of names without a metric those of `raw`.
    #[must_use]
    pub fn watching(self, devices: DeviceFilter, raw: Pattern) -> Self {
        Self { wanted: Wanted { devices, raw }, ..self }
    }

    /// How the last reading went, by the name of the error. A single file that cannot be read, which some are for ever, is
    /// counted and fails nothing.
    ///
    /// # Errors
    ///
    /// If the ports could not be listed, or one of them did not answer.
    pub fn outcome(&self) -> Result<(), &str> {
        self.failed.as_deref().map_or(Ok(()), Err)
    }

    /// Reads all ports once.
    pub fn read(&mut self, now: MonoTime, reads: &ReadStats) -> Vec<RdmaView> {
        let (sysfs, wanted) = (&self.sysfs, &self.wanted);
        let tree = RdmaTree::new(sysfs);
        let mut reading = match &mut self.source {
            Source::Kernel(crew) => {
                let devices: Vec<_> =
                    tree.names().into_iter().filter(|device| wanted.wants(device, &tree)).collect();
                crew.read(now, &devices, |device| {
                    let mut reader = Reader::of_device(device.to_owned(), sysfs, wanted.clone());
                    move |now| reader.read(now)
                })
            }
            Source::Tree(reader) => {
                reader.get_or_insert_with(|| Box::new(Reader::of_tree(sysfs, wanted.clone()))).read(now)
            }
        };
        for error in &reading.unread {
            reads.note_read(Collector::Rdma, Duration::ZERO, Err(error));
        }
        lag::join(&mut reading.views, &SysfsNet::new(sysfs), |device| tree.function(device));
        let is_exclusive = || match &self.source {
            Source::Kernel(_) => kernel::is_exclusive(),
            Source::Tree(_) => None,
        };
        self.log.found(&reading, &tree, is_exclusive);
        self.failed = reading.failed;
        reading.views
    }
}
