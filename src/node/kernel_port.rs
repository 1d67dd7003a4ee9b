//! One port of the kernel's as the actuator has it: what can be set there, how it is set, and what it reads as.
//!
//! Everything goes by the number of the device, which a rename does not change and a device that comes back does not
//! get again. A success of the kernel or of a driver proves nothing, so whoever sets something reads it back.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rocewatch_core::action::{ActionKind, Op, PauseConfig, PortConfig};
use rocewatch_core::units::PriorityMask;

use super::Offer;
use crate::actuate::Machine;
use crate::sources::{headroom_of, reporters_of_port, with_causes};
use crate::sys::dcb::{Dcb, DcbSettings};
use crate::sys::devlink::{Devlink, Reporter};
use crate::sys::ethtool::{Ethtool, EthtoolError};
use crate::sys::ethtool_genl::EthtoolNetlink;
use crate::sys::ethtool_replies::PauseState;
use crate::sys::netdev::BusDevice;
use crate::sys::netlink::NetlinkError;
use crate::sys::renames::Names;
use crate::sys::rtnl::{AdminState, Rtnl};

/// How long each part of an answer may take beyond the work itself, which is done while the question is sent.
const TIMEOUT: Duration = Duration::from_secs(10);

/// See the module.
pub(super) struct KernelPort {
    ifindex: u32,
    device: Option<BusDevice>,
    sockets: Mutex<Sockets>,
}

/// Opened when first needed: most ports are never acted on.
#[derive(Default)]
struct Sockets {
    dcb: Option<Dcb>,
    pause: Option<EthtoolNetlink>,
    limit: Option<(Names, Ethtool)>,
    devlink: Option<Devlink>,
    rtnl: Option<Rtnl>,
}

impl KernelPort {
    /// The device `ifindex`, which is a function of `device`.
    #[must_use]
    pub(super) fn new(ifindex: u32, device: Option<BusDevice>) -> Self {
        Self { ifindex, device, sockets: Mutex::default() }
    }

    /// What can be done on it. What cannot be found out is offered: an operation begins with reading what it would
    /// change, and ends there if it cannot.
    pub(super) fn offer(&self) -> Offer {
        Offer::of(|kind| match kind {
            ActionKind::Alert | ActionKind::Exec | ActionKind::LinkBounce => None,
            ActionKind::PreventionTimeout => match self.prevention_timeout() {
                Ok(None) => Some("its driver has no limit on sent pause (ethtool --get-tunable)".into()),
                Ok(Some(_)) | Err(_) => None,
            },
            ActionKind::PfcOff => match self.dcb() {
                Ok(None) => Some("its driver has no DCB".into()),
                Ok(Some(DcbSettings { pfc: None, .. })) => {
                    Some("its driver does not tell its PFC mask".into())
                }
                Ok(Some(_)) | Err(_) => None,
            },
            ActionKind::PauseOff => match self.pause() {
                Ok(None) => Some("its driver has no 802.3x pause (ethtool -a)".into()),
                Ok(Some(pause)) if pause.autoneg == Some(true) => Some(NEGOTIATED.into()),
                Ok(Some(_)) | Err(_) => None,
            },
            ActionKind::DevlinkRecover => match self.reporters() {
                Ok(reporters) if reporters.is_empty() => Some("it has no devlink health reporter".into()),
                Ok(_) | Err(_) => None,
            },
        })
    }

    fn sockets(&self) -> MutexGuard<'_, Sockets> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dcb(&self) -> Result<Option<DcbSettings>, String> {
        let mut sockets = self.sockets();
        told(opened(&mut sockets.dcb, || Dcb::open(TIMEOUT))?.settings(self.ifindex))
    }

    fn pause(&self) -> Result<Option<PauseState>, String> {
        let mut sockets = self.sockets();
        told(opened_if_there(&mut sockets.pause, || EthtoolNetlink::open(TIMEOUT))?.pause(self.ifindex))
    }

    fn reporters(&self) -> Result<Vec<Reporter>, String> {
        let Some(device) = &self.device else { return Ok(Vec::new()) };
        let mut sockets = self.sockets();
        let devlink = opened_if_there(&mut sockets.devlink, || Devlink::open(TIMEOUT))?;
        told(reporters_of_port(devlink, device, self.ifindex))
    }

    fn prevention_timeout(&self) -> Result<Option<u16>, String> {
        self.with_limit(|names, ethtool| {
            names.while_named(self.ifindex, |name| ethtool.prevention_timeout(name))
        })
    }

    fn set_prevention_timeout(&self, ms: u16) -> Result<(), String> {
        self.with_limit(|names, ethtool| {
            names.set_named(self.ifindex, |name| ethtool.set_prevention_timeout(name, ms))
        })
    }

    fn with_limit<T>(
        &self,
        ask: impl FnOnce(&Names, &Ethtool) -> Option<Result<T, EthtoolError>>,
    ) -> Result<T, String> {
        let mut sockets = self.sockets();
        let open = || -> Result<_, EthtoolError> {
            Ok((Names::open().map_err(|source| EthtoolError::Open { source })?, Ethtool::open()?))
        };
        let (names, ethtool) = opened(&mut sockets.limit, open)?;
        match ask(names, ethtool) {
            Some(answer) => told(answer),
            None => Err("the device is gone".into()),
        }
    }

    fn is_up(&self) -> Result<bool, String> {
        let mut sockets = self.sockets();
        told(opened(&mut sockets.rtnl, || Rtnl::open(TIMEOUT))?.link(self.ifindex)).map(|link| link.is_up)
    }

    fn set_link(&self, state: AdminState) -> Result<(), String> {
        let mut sockets = self.sockets();
        told(opened(&mut sockets.rtnl, || Rtnl::open(TIMEOUT))?.set_link(self.ifindex, state))
    }

    fn change_pfc(
        &self,
        change: impl Fn(u8, &DcbSettings) -> Result<u8, NetlinkError>,
    ) -> Result<(), String> {
        let mut sockets = self.sockets();
        told(opened(&mut sockets.dcb, || Dcb::open(TIMEOUT))?.change_pfc(self.ifindex, change))
    }

    fn set_pause(&self, pause: PauseConfig) -> Result<(), String> {
        // Negotiation that is on now would be off afterwards, and nothing would put it back.
        if self.pause()?.is_some_and(|now| now.autoneg == Some(true)) {
            return Err(NEGOTIATED.into());
        }
        let mut sockets = self.sockets();
        let ethtool = opened_if_there(&mut sockets.pause, || EthtoolNetlink::open(TIMEOUT))?;
        told(ethtool.set_pause(self.ifindex, pause.rx, pause.tx))
    }

    fn recover(&self, name: &str) -> Result<(), String> {
        let reporters = self.reporters()?;
        let reporter = reporters.iter().find(|reporter| reporter.name == name);
        let reporter =
            reporter.ok_or_else(|| format!("it has no devlink health reporter {name} any more"))?;
        let mut sockets = self.sockets();
        told(opened_if_there(&mut sockets.devlink, || Devlink::open(TIMEOUT))?.recover(reporter))
    }

    /// Adds what `op` would change to `config`.
    fn read(&self, op: &Op, config: &mut PortConfig) -> Result<(), String> {
        match op {
            Op::PfcDisable(_) | Op::PfcEnable(_) if config.pfc.is_none() => {
                let dcb = self.dcb()?.unwrap_or_default();
                config.pfc = dcb.pfc.map(PriorityMask);
                config.headroom = dcb.buffers.map(headroom_of);
            }
            Op::PreventionTimeout(_) => config.prevention_timeout_ms = self.prevention_timeout()?,
            Op::Pause(_) => {
                let set = self.pause()?.and_then(|pause| pause.rx.zip(pause.tx));
                config.pause = set.map(|(rx, tx)| PauseConfig { rx, tx });
            }
            Op::DevlinkRecover(name) => {
                let reporters = self.reporters()?;
                let reporter = reporters.iter().find(|reporter| reporter.name == *name);
                config.devlink_recoveries = reporter.and_then(|reporter| reporter.recoveries);
            }
            Op::LinkDown | Op::LinkUp => config.link_up = Some(self.is_up()?),
            Op::PfcDisable(_) | Op::PfcEnable(_) | Op::Exec(_) => {}
        }
        Ok(())
    }
}

const NEGOTIATED: &str =
    "its 802.3x pause is negotiated (ethtool -a): switching that off would negotiate the link anew";

impl Machine for KernelPort {
    fn config(&self, about: &[Op]) -> Result<PortConfig, String> {
        let mut config = PortConfig::default();
        about.iter().try_for_each(|op| self.read(op, &mut config))?;
        Ok(config)
    }

    fn apply(&self, op: &Op) -> Result<(), String> {
        match op {
            Op::PfcDisable(off) => self.change_pfc(|mask, now| match now.is_owned_by_host() {
                false => Err(NetlinkError::NotOwner { dcbx: now.dcbx }),
                true => Ok(mask & !off.0),
            }),
            // Whoever owns the mask by now: what we took out is put back.
            Op::PfcEnable(on) => self.change_pfc(|mask, _| Ok(mask | on.0)),
            Op::PreventionTimeout(ms) => self.set_prevention_timeout(*ms),
            Op::Pause(pause) => self.set_pause(*pause),
            Op::DevlinkRecover(name) => self.recover(name),
            Op::LinkDown => self.set_link(AdminState::Down),
            Op::LinkUp => self.set_link(AdminState::Up),
            Op::Exec(call) => Err(format!("{:?} is no operation on a port", call.command)),
        }
    }
}

fn opened<T, E: std::error::Error>(
    socket: &mut Option<T>,
    open: impl FnOnce() -> Result<T, E>,
) -> Result<&mut T, String> {
    opened_if_there(socket, || open().map(Some))
}

/// The socket, opened if it is not yet; an error where the kernel has nothing to open.
fn opened_if_there<T, E: std::error::Error>(
    socket: &mut Option<T>,
    open: impl FnOnce() -> Result<Option<T>, E>,
) -> Result<&mut T, String> {
    if socket.is_none() {
        *socket = told(open())?;
    }
    socket.as_mut().ok_or_else(|| "this kernel has nothing of the kind".into())
}

fn told<T, E: std::error::Error>(answer: Result<T, E>) -> Result<T, String> {
    answer.map_err(|error| with_causes(&error))
}
