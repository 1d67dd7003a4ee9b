//! What nvmet serves, in the configfs that it is set up by.

use std::path::Path;

use super::NvmfTransport;
use super::tree::{Unread, entries, name, number, text};

/// Of one kind. Each is a series or two: a node that serves more shows the first ones.
const SHOWN_MAX: usize = 256;

/// A port that is served on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetPort {
    /// Its number, or whatever its folder is called.
    pub name: String,
    /// What carries it.
    pub transport: NvmfTransport,
    /// Where it listens, such as `192.0.2.1:4420`.
    pub address: String,
    /// The NQNs of what it serves.
    pub subsystems: Vec<String>,
}

/// A subsystem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetSubsystem {
    /// Its NQN.
    pub nqn: String,
    /// Namespaces that are enabled.
    pub namespaces: u64,
    /// Hosts that may connect; `None` if any may.
    pub hosts: Option<u64>,
}

/// What there is under `nvmet`, the folder of the module; nothing where that is not loaded.
pub(super) fn look(nvmet: &Path, unread: &mut Unread) -> (Vec<TargetPort>, Vec<TargetSubsystem>) {
    let ports = entries(&nvmet.join("ports"));
    let ports = ports.iter().filter_map(|folder| port(folder, unread)).take(SHOWN_MAX).collect();
    let subsystems = entries(&nvmet.join("subsystems"));
    (ports, subsystems.iter().take(SHOWN_MAX).map(|folder| subsystem(folder, unread)).collect())
}

/// `None` for what is no fabric, and for what is not set up yet.
fn port(folder: &Path, unread: &mut Unread) -> Option<TargetPort> {
    let mut told = |file: &str| text(&folder.join(file), unread).unwrap_or_default();
    let transport = NvmfTransport::of_sysfs(&told("addr_trtype"))?;
    let (host, service) = (told("addr_traddr"), told("addr_trsvcid"));
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let address = if service.is_empty() { host } else { format!("{host}:{service}") };
    let subsystems =
        entries(&folder.join("subsystems")).iter().take(SHOWN_MAX).map(|link| name(link)).collect();
    Some(TargetPort { name: name(folder), transport, address, subsystems })
}

fn subsystem(folder: &Path, unread: &mut Unread) -> TargetSubsystem {
    let namespaces = entries(&folder.join("namespaces"));
    let enabled = namespaces.iter().filter(|namespace| number(&namespace.join("enable"), unread) == Some(1));
    let namespaces = enabled.count() as u64;
    let any = number(&folder.join("attr_allow_any_host"), unread) == Some(1);
    let hosts = (!any).then(|| entries(&folder.join("allowed_hosts")).len() as u64);
    TargetSubsystem { nqn: name(folder), namespaces, hosts }
}
