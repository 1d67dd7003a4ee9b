//! What sort of port each network device is, as devlink says.
//!
//! Devlink is asked on a thread of its own: it waits for each device in turn, and a driver holds its device through a
//! whole reset. The list of devices must not wait for that.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rocewatch_core::units::MonoTime;

use crate::sources::with_causes;
use crate::sys::devlink::{Devlink, DevlinkPort};
use crate::sys::netlink::NetlinkError;

/// How long a device that has come is held back for its flavour. Long enough for a firmware that works, short enough
/// for a node that starts.
const WAIT: Duration = Duration::from_millis(500);
/// Some drivers tell devlink of a network device only after it was announced.
const ASK_AGAIN: Duration = Duration::from_secs(30);
/// For one part of the answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The ports by the number of their network device.
pub(super) type Ports = BTreeMap<u32, DevlinkPort>;

/// See the module.
pub(super) struct Flavours {
    /// `None` where no thread can be had: then nothing is known. An answer is `None` if devlink failed.
    line: Option<(Sender<()>, Receiver<Option<Ports>>)>,
    known: Ports,
    /// The devices there were when it was last asked, and when that was.
    asked: Option<(Vec<u32>, MonoTime)>,
}

impl Flavours {
    /// Of which nothing is known yet.
    pub(super) fn start() -> Self {
        let (questions, asked) = channel();
        let (answers, answered) = channel();
        let thread = thread::Builder::new().name("devlink".into()).spawn(move || answer(&asked, &answers));
        if let Err(error) = &thread {
            tracing::error!(%error, "no thread to ask devlink: ports are told by their bus");
        }
        let line = thread.ok().map(|_| (questions, answered));
        Self { line, known: Ports::new(), asked: None }
    }

    /// The ports of these devices, as far as they are known. For new devices it waits a little.
    pub(super) fn of(&mut self, devices: Vec<u32>, now: MonoTime) -> &Ports {
        let Some((questions, answers)) = &self.line else { return &self.known };
        let changed = self.asked.as_ref().is_none_or(|(known, _)| *known != devices);
        let old = self.asked.as_ref().is_none_or(|(_, at)| now.since(*at) >= ASK_AGAIN);
        // An answer that came late counts as well, and the newest counts.
        let mut answer = answers.try_iter().last();
        if changed || old {
            self.asked = Some((devices, now));
            // It ends only after this value does, unless it has panicked.
            let asked = questions.send(()).is_ok();
            if asked && changed {
                answer = answers.recv_timeout(WAIT).ok().or(answer);
            }
        }
        match answer {
            Some(Some(ports)) => self.known = ports,
            // It is asked again at the next opportunity.
            Some(None) => self.asked = None,
            None => {}
        }
        &self.known
    }
}

/// Answers until nobody asks any more.
fn answer(asked: &Receiver<()>, answers: &Sender<Option<Ports>>) {
    let mut devlink = None;
    let mut failed = None;
    for () in asked {
        let ports = ports(&mut devlink);
        let failure = ports.as_ref().err().map(|error| with_causes(error));
        if let Some(error) = failure.as_ref().filter(|error| failed.as_ref() != Some(*error)) {
            tracing::warn!(error, "devlink does not tell the ports: they are told by their bus");
        }
        failed = failure;
        if answers.send(ports.ok()).is_err() {
            return;
        }
    }
}

fn ports(devlink: &mut Option<Devlink>) -> Result<Ports, NetlinkError> {
    if devlink.is_none() {
        *devlink = Devlink::open(TIMEOUT)?;
    }
    let Some(devlink) = devlink else { return Ok(Ports::new()) };
    let ports = devlink.ports()?;
    Ok(ports.into_iter().filter_map(|port| Some((port.ifindex?, port))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::devlink::Flavour;
    use crate::sys::netdev::BusDevice;

    fn ports(ifindex: u32) -> Ports {
        let device = BusDevice { bus: "pci".into(), address: "0000:3b:00.0".into() };
        let flavour = Some(Flavour::Physical);
        let port = DevlinkPort { device, index: 0, flavour, number: Some(0), ifindex: Some(ifindex) };
        [(ifindex, port)].into()
    }

    /// A devlink that gives these answers one after the other, and then none any more.
    fn devlink(answers: Vec<Option<Ports>>) -> Flavours {
        let (questions, asked) = channel();
        let (given, answered) = channel();
        thread::spawn(move || {
            for (answer, ()) in answers.into_iter().zip(asked) {
                let _ = given.send(answer);
            }
        });
        Flavours { line: Some((questions, answered)), known: Ports::new(), asked: None }
    }

    const START: MonoTime = MonoTime::from_millis(1000);

    #[test]
    fn devlink_is_asked_when_devices_come_and_once_in_a_while() {
        let mut flavours = devlink(vec![Some(ports(1)), Some(ports(2))]);
        assert_eq!(*flavours.of(vec![1], START), ports(1));
        assert_eq!(*flavours.of(vec![1], START + ASK_AGAIN / 2), ports(1));
        assert_eq!(*flavours.of(vec![1, 2], START + ASK_AGAIN / 2), ports(2));
    }

    #[test]
    fn where_devlink_fails_what_was_known_stands_and_it_is_asked_again() {
        let mut flavours = devlink(vec![Some(ports(1)), None, Some(ports(2))]);
        assert_eq!(*flavours.of(vec![1], START), ports(1));
        assert_eq!(*flavours.of(vec![1, 2], START), ports(1));
        assert_eq!(*flavours.of(vec![1, 2], START), ports(2));
    }

    #[test]
    fn where_devlink_has_ended_nothing_is_waited_for() {
        let (questions, asked) = channel();
        let (given, answered) = channel();
        drop((asked, given));
        let mut flavours = Flavours { line: Some((questions, answered)), known: Ports::new(), asked: None };
        assert_eq!(*flavours.of(vec![1], START), Ports::new());
    }
}
