//! The facts of one network device, as the kernel tells them.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Once;
use std::time::Duration;

use super::{PortFacts, Topic};
use crate::sys::dcb::{Dcb, DcbSettings};
use crate::sys::devlink::{Devlink, Reporter};
use crate::sys::ethtool::{Ethtool, EthtoolError};
use crate::sys::ethtool_genl::EthtoolNetlink;
use crate::sys::netdev::BusDevice;
use crate::sys::netlink::NetlinkError;
use crate::sys::renames::Names;

/// Longer than a firmware takes that is not broken.
const TIMEOUT: Duration = Duration::from_secs(10);

/// See the module. Opens its sockets on the thread that asks.
pub struct KernelFacts {
    ifindex: u32,
    netdev: String,
    device: Option<BusDevice>,
    dcb: Option<Dcb>,
    ethtool: Option<EthtoolNetlink>,
    tunables: Option<(Names, Ethtool)>,
    devlink: Option<Devlink>,
    /// The reporters as last seen; none before they were listed.
    reporters: Vec<Reporter>,
}

/// Why a fact could not be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum FactError {
    /// By netlink.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// By ioctl.
    #[error(transparent)]
    Ethtool(#[from] EthtoolError),
}

impl FactError {
    /// The kernel's error number, if it gave one.
    pub(super) fn errno(&self) -> Option<i32> {
        match self {
            Self::Netlink(error) => error.errno(),
            Self::Ethtool(error) => error.errno(),
        }
    }
}

impl KernelFacts {
    /// Of the device `ifindex`, called `netdev` for now, which is a function of `device`.
    #[must_use]
    pub const fn new(ifindex: u32, netdev: String, device: Option<BusDevice>) -> Self {
        Self {
            ifindex,
            netdev,
            device,
            dcb: None,
            ethtool: None,
            tunables: None,
            devlink: None,
            reporters: Vec::new(),
        }
    }

    /// The device's name when it came.
    pub(super) fn netdev(&self) -> &str {
        &self.netdev
    }

    /// The device on a bus that it is a function of.
    pub(super) const fn device(&self) -> Option<&BusDevice> {
        self.device.as_ref()
    }

    /// Asks about `topic`. What cannot be had is absent from `facts`, and costs nothing else its answer.
    ///
    /// # Errors
    /// The first thing that went wrong. That the kernel or the driver does not know something is not wrong.
    pub(super) fn read(&mut self, topic: Topic, facts: &mut PortFacts) -> Result<(), FactError> {
        match topic {
            Topic::Dcb => {
                facts.dcb = None;
                facts.dcb = self.dcb()?;
                Ok(())
            }
            Topic::Ethtool => self.read_ethtool(facts),
            Topic::Devlink => {
                facts.reporters.clear();
                self.read_reporters()?;
                facts.reporters.clone_from(&self.reporters);
                Ok(())
            }
        }
    }

    fn dcb(&mut self) -> Result<Option<DcbSettings>, FactError> {
        let dcb = match &mut self.dcb {
            Some(dcb) => dcb,
            closed @ None => closed.insert(Dcb::open(TIMEOUT)?),
        };
        Ok(dcb.settings(self.ifindex)?)
    }

    /// Each question by itself: a driver may fail at one and answer the others.
    fn read_ethtool(&mut self, facts: &mut PortFacts) -> Result<(), FactError> {
        let reporters = mem::take(&mut facts.reporters);
        *facts = PortFacts { dcb: facts.dcb, reporters, ..PortFacts::default() };
        let (ifindex, mut failure) = (self.ifindex, None);
        facts.prevention_timeout_ms = kept(self.prevention_timeout(), &mut failure);
        if let Some(ethtool) = kept(self.ethtool(), &mut failure) {
            facts.pause = kept(ethtool.pause(ifindex), &mut failure);
            facts.fec = kept(ethtool.fec(ifindex), &mut failure);
            facts.coalescing = kept(ethtool.coalescing(ifindex), &mut failure);
            facts.link = kept(ethtool.link_state(ifindex), &mut failure);
            facts.standard = kept(ethtool.standard(ifindex), &mut failure);
        }
        failure.map_or(Ok(()), Err)
    }

    fn ethtool(&mut self) -> Result<Option<&mut EthtoolNetlink>, FactError> {
        static TOLD: Once = Once::new();
        if self.ethtool.is_none() {
            self.ethtool = EthtoolNetlink::open(TIMEOUT)?;
        }
        if self.ethtool.is_none() {
            TOLD.call_once(|| tracing::info!("this kernel has no ethtool netlink: no facts from there"));
        }
        Ok(self.ethtool.as_mut())
    }

    fn prevention_timeout(&mut self) -> Result<Option<u16>, FactError> {
        let (names, ethtool) = match &mut self.tunables {
            Some(open) => open,
            closed @ None => {
                let names = Names::open().map_err(|source| EthtoolError::Open { source })?;
                closed.insert((names, Ethtool::open()?))
            }
        };
        // A device that is gone has no limit; that it is gone, the other questions say.
        let asked = names.while_named(self.ifindex, |name| ethtool.prevention_timeout(name));
        Ok(asked.unwrap_or(Ok(None))?)
    }

    /// Listed once, and then asked one by one: a list of an older kernel waits for every device of the node.
    fn read_reporters(&mut self) -> Result<(), FactError> {
        static TOLD: Once = Once::new();
        let Some(device) = &self.device else { return Ok(()) };
        if self.devlink.is_none() {
            self.devlink = Devlink::open(TIMEOUT)?;
        }
        let Some(devlink) = &mut self.devlink else {
            TOLD.call_once(|| tracing::info!("this kernel has no devlink: no facts from there"));
            return Ok(());
        };
        if self.reporters.is_empty() {
            self.reporters = reporters_of_port(devlink, device, self.ifindex)?;
            return Ok(());
        }
        let mut reporters = Vec::with_capacity(self.reporters.len());
        for known in &self.reporters {
            reporters.extend(devlink.reporter(known)?);
        }
        // Where one has gone, there may be others.
        let is_whole = reporters.len() == self.reporters.len();
        self.reporters = if is_whole { reporters } else { reporters_of_port(devlink, device, self.ifindex)? };
        Ok(())
    }
}

/// The reporters that the port `ifindex` of `device` has.
///
/// # Errors
/// If the kernel does not list them.
pub(crate) fn reporters_of_port(
    devlink: &mut Devlink,
    device: &BusDevice,
    ifindex: u32,
) -> Result<Vec<Reporter>, NetlinkError> {
    let reporters = devlink.reporters_of(device)?;
    let has_ports = reporters.iter().any(|reporter| reporter.port.is_some());
    let ports = if has_ports { devlink.ports_of(device)? } else { Vec::new() };
    let own = ports.iter().find(|port| port.ifindex == Some(ifindex));
    Ok(of_port(reporters, own.map(|port| port.index)))
}

/// What was answered; the first failure is kept.
fn kept<T>(answer: Result<Option<T>, impl Into<FactError>>, failure: &mut Option<FactError>) -> Option<T> {
    match answer {
        Ok(answer) => answer,
        Err(error) => {
            failure.get_or_insert(error.into());
            None
        }
    }
}

/// The reporters of a port, one of each name: those of the port, and of those of the device the rest.
fn of_port(reporters: Vec<Reporter>, port: Option<u32>) -> Vec<Reporter> {
    let (own, others): (Vec<_>, Vec<_>) =
        reporters.into_iter().partition(|reporter| reporter.port.is_some() && reporter.port == port);
    let of_device = others.into_iter().filter(|reporter| reporter.port.is_none());
    let mut by_name = BTreeMap::new();
    for reporter in own.into_iter().chain(of_device) {
        by_name.entry(reporter.name.clone()).or_insert(reporter);
    }
    by_name.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reporter(port: Option<u32>, name: &str, errors: u64) -> Reporter {
        let device = BusDevice { bus: "pci".into(), address: "0000:3b:00.0".into() };
        Reporter { device, port, name: name.into(), in_error: None, errors: Some(errors), recoveries: None }
    }

    #[test]
    fn a_port_has_its_own_reporters_and_those_of_its_device_but_none_of_another_port() {
        let all = vec![
            reporter(None, "fw", 1),
            reporter(None, "tx", 2),
            reporter(Some(0), "tx", 3),
            reporter(Some(1), "tx", 4),
            reporter(Some(1), "rx", 5),
        ];
        let named = |port| {
            let found = of_port(all.clone(), port).into_iter();
            found.map(|reporter| (reporter.name, reporter.errors)).collect::<Vec<_>>()
        };
        assert_eq!(named(Some(0)), [("fw".into(), Some(1)), ("tx".into(), Some(3))]);
        assert_eq!(named(Some(1)), [("fw".into(), Some(1)), ("rx".into(), Some(5)), ("tx".into(), Some(4))]);
        assert_eq!(named(None), [("fw".into(), Some(1)), ("tx".into(), Some(2))]);
    }

    #[test]
    fn one_question_that_fails_costs_no_other_its_answer_and_the_first_failure_is_told() {
        let mut failure = None;
        let refused = |request| Err::<Option<u8>, _>(NetlinkError::Unsteady { request });
        assert_eq!(kept(Ok::<_, NetlinkError>(Some(1)), &mut failure), Some(1));
        assert_eq!(kept(refused("first"), &mut failure), None);
        assert_eq!(kept(Ok::<_, NetlinkError>(Some(2)), &mut failure), Some(2));
        assert_eq!(kept(refused("second"), &mut failure), None);
        assert!(failure.unwrap().to_string().contains("first"));
    }
}
