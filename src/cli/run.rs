//! `rocewatch run`: the agent on this node's devices.

use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use super::Exit;
use super::flags::ConfigFlags;
use crate::agent::{self, Hangup, Place, Setup, Watch};
use crate::config::Config;
use crate::eventlog::EventLog;
use crate::export::stats::Collector;
use crate::node::{DirectoryNode, KernelNode};
use crate::privileges::{self, Ports};
use crate::sources::{NvmfControllers, RdmaCounters};
use crate::telemetry;

/// Files that are enough for all ports of a node with thousands of containers. A port takes five.
const FILES_WANTED: u64 = 65_536;

/// What `run` takes.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Write all inputs and effects to FILE, for `rocewatch replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigFlags,
}

/// Runs the agent until it is told to end.
///
/// # Errors
/// A configuration that is refused or that the process lacks the privileges for, devices that cannot be reached, an address that cannot be listened on.
pub fn run(args: RunArgs) -> anyhow::Result<Exit> {
    let config = args.config.load()?;
    let _lines = telemetry::init(config.log)?;
    for warning in config.warnings() {
        tracing::warn!("{warning}");
    }
    let place = place(&config)?;
    privileges::check(&config.settings, place.ports)?;
    ask_for_files();
    let (flags, hangup) = (args.config, hangup());
    let setup = Setup {
        config,
        place,
        sinks: vec![Box::new(EventLog)],
        record: args.record,
        load: Box::new(move || flags.load()),
        hangup,
    };
    agent::run(
        setup,
        || told_to_end(hangup),
        |addresses| {
            for address in addresses {
                tracing::info!(%address, "listening");
            }
        },
    )?;
    Ok(Exit::Fine)
}

/// As many open files as the system gives for the asking: unasked it is often 1024, which some 200 ports use up.
fn ask_for_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(FILES_WANTED, |maximum| maximum.min(FILES_WANTED));
    let Some(current) = limit.current.filter(|current| *current < wanted) else { return };
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }) {
        tracing::warn!(%error, current, "no more open files can be had");
    }
}

/// Where the configuration says that the ports are. Beside a directory nothing else is read.
fn place(config: &Config) -> anyhow::Result<Place> {
    Ok(match &config.source.directory {
        Some(root) => Place {
            node: Box::new(DirectoryNode::open(root)?),
            collector: Collector::Directory,
            watch: Watch::Nobody,
            ports: Ports::Imitated,
            rdma: Some(RdmaCounters::of_tree(&root.join("sys"))),
            nvmf: Some(NvmfControllers::of_tree(&root.join("sys"))),
        },
        None => Place {
            node: Box::new(KernelNode::open(&config.path.sysfs)?),
            collector: Collector::Ethtool,
            watch: Watch::Kernel,
            ports: Ports::Real,
            rdma: Some(RdmaCounters::of_kernel(&config.path.sysfs)),
            nvmf: Some(NvmfControllers::of_kernel(&config.path.sysfs)),
        },
    })
}

/// SIGHUP comes from a terminal that closes where the agent has one, and from an operator where it has none.
fn hangup() -> Hangup {
    match File::open("/dev/tty") {
        Ok(_) => Hangup::Ends,
        Err(_) => Hangup::Reloads,
    }
}

/// Ends with SIGTERM and SIGINT, and with SIGHUP where that means an end. All are caught from the call on, not from the
/// first time it is awaited.
pub(super) fn told_to_end(hangup: Hangup) -> impl Future<Output = ()> {
    let closes = (hangup == Hangup::Ends).then(SignalKind::hangup);
    let kinds = [SignalKind::terminate(), SignalKind::interrupt()].into_iter().chain(closes);
    let caught = kinds.map(signal).collect::<Result<Vec<_>, _>>();
    async move {
        match caught {
            Ok(mut signals) => {
                let any = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
                futures_util::future::select_all(any).await;
            }
            Err(error) => tracing::error!(%error, "signals cannot be caught: the agent ends"),
        }
    }
}
