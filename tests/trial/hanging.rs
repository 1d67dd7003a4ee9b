//! A node on which things hang as they do in a kernel: no error, no answer, no end.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use rocewatch::agent::{self, Hangup, Place, Setup, Watch};
use rocewatch::config::{Assignment, Config, Request};
use rocewatch::export::stats::Collector;
use rocewatch::node::{DirectoryNode, Node, NodeError, Seen};
use rocewatch::privileges::Ports;
use rocewatch::sources::{RdmaCounters, ReadError, Source};
use rocewatch_core::ids::PortIdentity;

use super::BAD;

/// What hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hang {
    /// The counters of the bad port.
    OneSource,
    /// The list of devices and what is told of them: the slow path.
    List,
    /// Everything that waits for the lock of all network configuration: the list, and the counters of every port.
    Rtnl,
}

const WHAT: &str = "ROCEWATCH_TRIAL_HANGS";
const ROOT: &str = "ROCEWATCH_TRIAL_ROOT";

impl Hang {
    const ALL: [Self; 3] = [Self::OneSource, Self::List, Self::Rtnl];

    pub(super) fn tell(self, command: &mut Command, root: &Path) {
        command.env(WHAT, format!("{self:?}")).env(ROOT, root);
    }
}

/// The file whose presence makes things hang.
fn mark(root: &Path) -> PathBuf {
    root.join("hang")
}

pub(super) fn begin(root: &Path) {
    fs::write(mark(root), "").unwrap();
}

/// Whether this process is to be the agent.
pub(crate) fn is_child() -> bool {
    env::var_os(WHAT).is_some()
}

/// Is the agent until it is ended.
pub(crate) fn run_child() {
    let root = PathBuf::from(env::var_os(ROOT).unwrap());
    let what = env::var(WHAT).unwrap();
    let hang = Hang::ALL.into_iter().find(|hang| format!("{hang:?}") == what).unwrap();
    let path = |name: &str| root.join(name).to_string_lossy().into_owned();
    let keys = [
        ("web.listen_address", "127.0.0.1:0".to_owned()),
        ("runtime.path", path("run")),
        ("incidents.path", path("incidents")),
    ];
    let presets = keys.iter().map(|(key, value)| Assignment::preset("trial", key, value)).collect();
    let config = Config::load(&Request { presets, ..Request::default() }).unwrap();
    let node = HangingNode { inner: DirectoryNode::open(&root).unwrap(), hang, root: root.clone() };
    let place = Place {
        node: Box::new(node),
        collector: Collector::Ethtool,
        watch: Watch::Nobody,
        ports: Ports::Imitated,
        rdma: Some(RdmaCounters::of_tree(&root.join("sys"))),
        nvmf: None,
    };
    let setup = Setup {
        config,
        place,
        sinks: Vec::new(),
        record: None,
        load: Box::new(|| Ok(Config::default())),
        hangup: Hangup::Ends,
    };
    agent::run(setup, std::future::pending::<()>, |addresses| {
        println!("listening address={}", addresses[0]);
    })
    .unwrap();
}

struct HangingNode {
    inner: DirectoryNode,
    hang: Hang,
    root: PathBuf,
}

struct HangingSource {
    inner: Box<dyn Source>,
    root: PathBuf,
}

/// Never returns once things hang.
fn pass(root: &Path) {
    while mark(root).exists() {
        thread::park();
    }
}

impl Node for HangingNode {
    fn scan(&mut self) -> Result<Vec<Seen>, NodeError> {
        if self.hang != Hang::OneSource {
            pass(&self.root);
        }
        self.inner.scan()
    }

    fn identity(&mut self, seen: &Seen) -> PortIdentity {
        self.inner.identity(seen)
    }

    fn source(&mut self, seen: &Seen) -> Result<Option<Box<dyn Source>>, NodeError> {
        let hangs = match self.hang {
            Hang::OneSource => seen.netdev == BAD,
            Hang::List => false,
            Hang::Rtnl => true,
        };
        let source = self.inner.source(seen)?;
        let root = self.root.clone();
        Ok(source.map(|inner| if hangs { Box::new(HangingSource { inner, root }) } else { inner }))
    }
}

impl Source for HangingSource {
    fn names(&mut self) -> Result<Vec<String>, ReadError> {
        self.inner.names()
    }

    fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
        pass(&self.root);
        self.inner.read(values)
    }
}
