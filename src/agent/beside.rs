//! What is read besides the ports: the host, RDMA devices, and NVMe-oF controllers. Each on a thread of its own, at its own pace.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use rocewatch_core::input::Input;

use super::StartError;
use crate::clock;
use crate::config::Config;
use crate::export::host::HostProbe;
use crate::export::stats::{AgentStats, Collector};
use crate::sources::{NvmfControllers, RdmaCounters};

/// How often the host is looked at.
const HOST_EVERY: Duration = Duration::from_secs(5);
/// How often RDMA counters are read.
const RDMA_EVERY: Duration = Duration::from_secs(1);

/// Reads what is no port: the host, and RDMA devices.
pub(super) fn look_beside(
    config: &Config,
    rdma: Option<RdmaCounters>,
    stats: &Arc<AgentStats>,
) -> Result<(), StartError> {
    watch_host(&config.path.procfs, Arc::clone(stats))?;
    match rdma {
        Some(counters) => {
            let counters = counters.watching(config.devices.clone(), config.metrics.raw.clone());
            read_rdma(counters, Arc::clone(stats))?;
        }
        None => stats.note_rdma(Vec::new()),
    }
    Ok(())
}

fn watch_host(procfs: &Path, stats: Arc<AgentStats>) -> Result<(), StartError> {
    let mut probe = match HostProbe::new(procfs) {
        Ok(probe) => probe,
        Err(error) => {
            tracing::warn!(%error, "no facts of the host");
            return Ok(());
        }
    };
    thread::Builder::new().name("host".into()).spawn(move || {
        loop {
            let began = clock::now();
            let facts = probe.read();
            stats.note_host(facts);
            stats.reads.note_read(Collector::Host, clock::now().since(began), Ok(()));
            thread::sleep(HOST_EVERY);
        }
    })?;
    Ok(())
}

fn read_rdma(mut counters: RdmaCounters, stats: Arc<AgentStats>) -> Result<(), StartError> {
    thread::Builder::new().name("rdma".into()).spawn(move || {
        loop {
            let began = clock::now();
            let views = counters.read(began, &stats.reads);
            stats.note_rdma(views);
            stats.reads.note_read(Collector::Rdma, clock::now().since(began), counters.outcome());
            thread::sleep(RDMA_EVERY);
        }
    })?;
    Ok(())
}

/// Looks at NVMe-oF controllers until the engine is gone, and tells it what becomes of them.
pub(super) fn watch_nvmf(
    mut controllers: NvmfControllers,
    inputs: SyncSender<Input>,
    stats: Arc<AgentStats>,
) -> Result<(), StartError> {
    thread::Builder::new().name("nvmf".into()).spawn(move || {
        loop {
            let began = clock::now();
            stats.reads.note_begin(Collector::Nvmf, began);
            let (view, changes) = controllers.read(began, &stats.reads);
            stats.note_nvmf(view);
            stats.reads.note_read(Collector::Nvmf, clock::now().since(began), controllers.outcome());
            for change in changes {
                if inputs.send(Input::Nvmf(change)).is_err() {
                    return;
                }
            }
            thread::sleep(controllers.pace());
        }
    })?;
    Ok(())
}
