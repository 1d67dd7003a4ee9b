//! Reads everything at the pace it deserves: states every time, the rest now and then.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rocewatch_core::nvmf::{NvmfChange, NvmfState};
use rocewatch_core::units::MonoTime;

use super::carrier::Carriers;
use super::follow::Followed;
use super::tree::{Facts, Folder, Unread};
use super::{NvmfSeen, NvmfView, TargetPort, TargetSubsystem, target, tree};
use crate::export::stats::{Collector, ReadStats};

/// How often controllers are looked at.
const EVERY: Duration = Duration::from_secs(1);
/// How often what seldom changes is read again, while no controller has become live; and what nvmet serves.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// NVMe-oF of this host.
pub struct NvmfControllers {
    source: Source,
    every: Duration,
    followed: Followed,
    /// Files that could not be read at the last look, so that each is named once.
    unread: BTreeMap<PathBuf, String>,
}

enum Source {
    Tree(Box<Tree>),
    /// Says what there is.
    Simulated(Box<dyn FnMut(MonoTime) -> Vec<NvmfSeen> + Send>),
}

struct Tree {
    sysfs: PathBuf,
    carriers: Carriers,
    /// What is known of a controller; `None` for one that is not of this host's ports.
    known: BTreeMap<(String, u64), Option<Told>>,
    served: Served,
}

/// A controller as it was when it was last looked at closely, and its last state.
#[derive(Clone)]
struct Told {
    facts: Facts,
    at: MonoTime,
    state: Option<NvmfState>,
    unread: Unread,
}

/// What nvmet served when it was last looked at.
#[derive(Default)]
struct Served {
    at: Option<MonoTime>,
    ports: Vec<TargetPort>,
    subsystems: Vec<TargetSubsystem>,
    unread: Unread,
}

impl NvmfControllers {
    /// Those of this node. The kernel is asked which ports lead to them.
    #[must_use]
    pub fn of_kernel(sysfs: &Path) -> Self {
        Self::of(Source::Tree(Box::new(Tree::new(sysfs, Carriers::of_kernel(sysfs)))), EVERY)
    }

    /// Those in a tree like sysfs, and nothing else.
    #[must_use]
    pub fn of_tree(sysfs: &Path) -> Self {
        Self::of(Source::Tree(Box::new(Tree::new(sysfs, Carriers::of_tree(sysfs)))), EVERY)
    }

    /// Those of a simulation, which is to be looked at every `every`.
    #[must_use]
    pub fn simulated(every: Duration, look: impl FnMut(MonoTime) -> Vec<NvmfSeen> + Send + 'static) -> Self {
        Self::of(Source::Simulated(Box::new(look)), every)
    }

    fn of(source: Source, every: Duration) -> Self {
        Self { source, every, followed: Followed::default(), unread: BTreeMap::new() }
    }

    /// How often it is to be read.
    #[must_use]
    pub const fn pace(&self) -> Duration {
        self.every
    }

    /// How the last reading went, by the name of the error.
    ///
    /// # Errors
    ///
    /// If a file could not be read or understood.
    pub fn outcome(&self) -> Result<(), &str> {
        self.unread.values().next().map_or(Ok(()), |error| Err(error))
    }

    /// Reads everything once: what there is, and what has changed.
    pub fn read(&mut self, now: MonoTime, reads: &ReadStats) -> (NvmfView, Vec<NvmfChange>) {
        let (seen, unread) = match &mut self.source {
            Source::Tree(tree) => tree.read(now),
            Source::Simulated(look) => (look(now), Unread::new()),
        };
        let changes = self.followed.take(seen, now);
        self.note(unread, reads);
        let (target_ports, target_subsystems) = match &self.source {
            Source::Tree(tree) => (tree.served.ports.clone(), tree.served.subsystems.clone()),
            Source::Simulated(_) => (Vec::new(), Vec::new()),
        };
        let view = NvmfView {
            at: now,
            controllers: self.followed.controllers(),
            subsystems: self.followed.subsystems(),
            target_ports,
            target_subsystems,
        };
        (view, changes)
    }

    /// The first error of a reading is counted with its outcome, the others here. A file is named when it begins to fail.
    fn note(&mut self, unread: Unread, reads: &ReadStats) {
        for error in unread.values().skip(1) {
            reads.note_read(Collector::Nvmf, Duration::ZERO, Err(error));
        }
        for (file, error) in unread.iter().filter(|(file, error)| self.unread.get(*file) != Some(error)) {
            tracing::warn!(file = %file.display(), error, "a file of NVMe-oF cannot be read or understood");
        }
        self.unread = unread;
    }
}

impl Tree {
    fn new(sysfs: &Path, carriers: Carriers) -> Self {
        Self { sysfs: sysfs.to_owned(), carriers, known: BTreeMap::new(), served: Served::default() }
    }

    fn read(&mut self, now: MonoTime) -> (Vec<NvmfSeen>, Unread) {
        let folders = tree::controllers(&self.sysfs);
        self.known.retain(|key, _| folders.iter().any(|folder| folder.key == *key));
        let mut unread = Unread::new();
        for folder in &folders {
            let mut own = Unread::new();
            self.look(folder, now, &mut own);
            let told = self.known.get(&folder.key).and_then(Option::as_ref);
            own.extend(told.iter().flat_map(|told| told.unread.clone()));
            // What vanished under the reader's hands is no failure.
            if own.is_empty() || folder.is_there() {
                unread.append(&mut own);
            } else {
                self.known.remove(&folder.key);
            }
        }
        self.look_at_target(now);
        unread.extend(self.served.unread.clone());
        let told = || self.known.iter().filter_map(|(key, told)| Some((key, told.as_ref()?)));
        self.carriers.look(told().map(|(_, told)| &told.facts.address), now);
        let seen = told().map(|(key, told)| {
            let (interface, netdevs) = self.carriers.of(&told.facts.address);
            NvmfSeen {
                key: key.clone(),
                facts: told.facts.facts.clone(),
                state: told.state,
                interface,
                netdevs,
            }
        });
        (seen.collect(), unread)
    }

    /// Looks at a controller: at its state, and at everything where that is due.
    fn look(&mut self, folder: &Folder, now: MonoTime, unread: &mut Unread) {
        let before = match self.known.remove(&folder.key) {
            Some(None) => return drop(self.known.insert(folder.key.clone(), None)),
            before => before.flatten(),
        };
        let transport = match &before {
            Some(told) => Some(told.facts.facts.transport),
            None => match folder.transport(unread) {
                Some(transport) => transport,
                None => return,
            },
        };
        let told = transport.map(|transport| {
            let state = folder.state(unread);
            match before.filter(|told| !told.is_due(state, now)) {
                Some(told) => Told { state, ..told },
                None => {
                    let mut slow = Unread::new();
                    let facts = folder.facts(transport, state, &mut slow);
                    Told { facts, at: now, state, unread: slow }
                }
            }
        });
        self.known.insert(folder.key.clone(), told.filter(|told| !told.facts.is_discovery));
    }

    fn look_at_target(&mut self, now: MonoTime) {
        if self.served.at.is_none_or(|at| now.since(at) >= LOOK_EVERY) {
            let mut unread = Unread::new();
            let (ports, subsystems) = target::look(&self.sysfs.join("kernel/config/nvmet"), &mut unread);
            unread.retain(|file, _| file.exists());
            self.served = Served { at: Some(now), ports, subsystems, unread };
        }
    }
}

impl Told {
    /// A controller that was connected anew may be at another address; one without a subsystem gets one soon.
    fn is_due(&self, state: Option<NvmfState>, now: MonoTime) -> bool {
        let is_back = state == Some(NvmfState::Live) && self.state != state;
        is_back || self.facts.facts.subsystem.is_empty() || now.since(self.at) >= LOOK_EVERY
    }
}
