//! What the engine has been told of a port's settings, so that it is told only what has changed.

use std::collections::BTreeMap;

use rocewatch_core::action::PauseConfig;
use rocewatch_core::ids::PortKey;
use rocewatch_core::input::{DcbOwner, Input, PortDcb, PortHealth, PortPause};
use rocewatch_core::units::{Priority, PriorityMask};

use super::PortFacts;
use crate::sys::dcb::DcbSettings;

/// See the module.
#[derive(Debug)]
pub(super) struct Told {
    port: PortKey,
    dcb: Option<PortDcb>,
    pause: Option<PortPause>,
    /// Whether a reporter is in error, by its name. One that never was is not told of.
    in_error: BTreeMap<String, bool>,
}

/// What has changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// For the engine.
    pub(super) inputs: Vec<Input>,
    /// Drivers have other names for other settings.
    pub(super) names_are_stale: bool,
}

impl Told {
    /// Of a port of which nothing has been told.
    pub(super) const fn new(port: PortKey) -> Self {
        Self { port, dcb: None, pause: None, in_error: BTreeMap::new() }
    }

    /// What `facts` have that was not told yet. What could not be asked for keeps what was told of it.
    pub(super) fn news(&mut self, facts: &PortFacts) -> News {
        let mut news = News::default();
        let port = self.port;
        if let Some(dcb) = facts.dcb.map(|dcb| dcb_of(port, dcb))
            && self.dcb != Some(dcb)
        {
            news.names_are_stale |= self.dcb.is_some_and(|before| before.pfc != dcb.pfc);
            self.dcb = Some(dcb);
            news.inputs.push(Input::Dcb(dcb));
        }
        if let Some(pause) = pause_of(port, facts)
            && self.pause != Some(pause)
        {
            news.names_are_stale |= self.pause.is_some_and(|before| before.pause != pause.pause);
            self.pause = Some(pause);
            news.inputs.push(Input::Pause(pause));
        }
        for reporter in &facts.reporters {
            let Some(in_error) = reporter.in_error else { continue };
            let before = self.in_error.insert(reporter.name.clone(), in_error).unwrap_or(false);
            if before != in_error {
                let reporter = reporter.name.clone();
                news.inputs.push(Input::Health(PortHealth { port, reporter, in_error }));
            }
        }
        news
    }
}

fn dcb_of(port: PortKey, dcb: DcbSettings) -> PortDcb {
    let owner = if dcb.is_owned_by_host() { DcbOwner::Host } else { DcbOwner::Other };
    PortDcb { port, pfc: dcb.pfc.map(mask_of), owner }
}

/// The priorities of a mask of bits.
pub(super) fn mask_of(bits: u8) -> PriorityMask {
    let on = Priority::ALL.iter().enumerate().filter(|(bit, _)| bits & 1 << bit != 0);
    on.fold(PriorityMask::default(), |mask, (_, priority)| mask.with(*priority))
}

/// `None` as long as nothing is known of either part.
fn pause_of(port: PortKey, facts: &PortFacts) -> Option<PortPause> {
    let set = facts.pause.and_then(|pause| pause.rx.zip(pause.tx));
    let pause = set.map(|(rx, tx)| PauseConfig { rx, tx });
    let prevention_timeout_ms = facts.prevention_timeout_ms;
    (pause.is_some() || prevention_timeout_ms.is_some()).then_some(PortPause {
        port,
        pause,
        prevention_timeout_ms,
    })
}
