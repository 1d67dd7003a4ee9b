//! What the engine has been told of a port's settings, so that it is told only what has changed.

use std::collections::BTreeMap;

use rocewatch_core::action::{Headroom, PauseConfig};
use rocewatch_core::ids::PortKey;
use rocewatch_core::input::{DcbOwner, Input, PortDcb, PortHealth, PortPause};
use rocewatch_core::units::PriorityMask;

use super::PortFacts;
use crate::sys::dcb::{Buffers, DcbSettings};

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
    let headroom = dcb.buffers.map(headroom_of);
    PortDcb { port, pfc: dcb.pfc.map(PriorityMask), owner, headroom }
}

pub(crate) const fn headroom_of(buffers: Buffers) -> Headroom {
    Headroom { buffer_of_priority: buffers.of_priority, bytes: buffers.bytes }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::devlink::Reporter;
    use crate::sys::ethtool_replies::PauseState;
    use crate::sys::netdev::BusDevice;

    const PORT: PortKey = PortKey(3);

    fn dcb(pfc: u8, dcbx: u8) -> PortFacts {
        let dcb = DcbSettings { pfc: Some(pfc), dcbx: Some(dcbx), ..DcbSettings::default() };
        PortFacts { dcb: Some(dcb), ..PortFacts::default() }
    }

    fn pause(rx: Option<bool>, prevention_timeout_ms: Option<u16>) -> PortFacts {
        let pause = rx.map(|rx| PauseState { rx: Some(rx), tx: Some(false), ..PauseState::default() });
        PortFacts { pause, prevention_timeout_ms, ..PortFacts::default() }
    }

    fn reporter(in_error: Option<bool>) -> PortFacts {
        let device = BusDevice { bus: "pci".into(), address: "0000:3b:00.0".into() };
        let tx = Reporter { device, port: None, name: "tx".into(), in_error, errors: None, recoveries: None };
        PortFacts { reporters: vec![tx], ..PortFacts::default() }
    }

    #[test]
    fn a_mask_is_told_once_and_another_one_makes_the_names_stale() {
        let mut told = Told::new(PORT);
        let mask = |bits| {
            let (pfc, owner) = (Some(PriorityMask(bits)), DcbOwner::Host);
            vec![Input::Dcb(PortDcb { port: PORT, pfc, owner, headroom: None })]
        };
        assert_eq!(told.news(&dcb(8, 1)), News { inputs: mask(8), names_are_stale: false });
        assert_eq!(told.news(&dcb(8, 1)), News::default());
        assert_eq!(told.news(&dcb(16, 1)), News { inputs: mask(16), names_are_stale: true });
        // One that could not be asked for is not a mask that went away.
        assert_eq!(told.news(&PortFacts::default()), News::default());
        assert_eq!(told.news(&dcb(16, 1)), News::default());
    }

    #[test]
    fn another_owner_is_news_and_changes_no_names() {
        let mut told = Told::new(PORT);
        told.news(&dcb(8, 1));
        let other = Input::Dcb(PortDcb {
            port: PORT,
            pfc: Some(PriorityMask(8)),
            owner: DcbOwner::Other,
            headroom: None,
        });
        assert_eq!(told.news(&dcb(8, 2)), News { inputs: vec![other], names_are_stale: false });
    }

    #[test]
    fn of_pause_what_is_known_is_told_and_nothing_where_nothing_is() {
        let mut told = Told::new(PORT);
        assert_eq!(told.news(&pause(None, None)), News::default());
        let input = |pause, prevention_timeout_ms| {
            vec![Input::Pause(PortPause { port: PORT, pause, prevention_timeout_ms })]
        };
        assert_eq!(told.news(&pause(None, Some(100))).inputs, input(None, Some(100)));
        let on = Some(PauseConfig { rx: true, tx: false });
        let news = told.news(&pause(Some(true), Some(100)));
        assert_eq!((news.inputs, news.names_are_stale), (input(on, Some(100)), true));
        let news = told.news(&pause(Some(true), Some(8000)));
        assert_eq!((news.inputs, news.names_are_stale), (input(on, Some(8000)), false));
    }

    #[test]
    fn a_reporter_is_news_when_its_state_changes_and_one_that_was_never_in_error_is_none() {
        let mut told = Told::new(PORT);
        let health = |in_error| {
            let reporter = "tx".into();
            vec![Input::Health(PortHealth { port: PORT, reporter, in_error })]
        };
        let sequence = [Some(false), Some(true), Some(true), None, Some(true), Some(false)];
        let news = sequence.map(|in_error| told.news(&reporter(in_error)).inputs);
        let expected = [vec![], health(true), vec![], vec![], vec![], health(false)];
        assert_eq!(news, expected);
    }
}
