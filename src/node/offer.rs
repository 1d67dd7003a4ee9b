//! The actions that a port offers, and who finds that out. A device may hang while it is asked: then only its own actions
//! wait, as ones that it does not have yet.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rocewatch_core::action::ActionKind;
use rocewatch_core::input::UnsupportedAction;

const NOT_KNOWN_YET: &str = "not known yet: the device has not answered what it supports";

/// The actions of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Those that can be carried out.
    pub actions: Vec<ActionKind>,
    /// The others, and why.
    pub unsupported: Vec<UnsupportedAction>,
}

impl Offer {
    /// Each action with the reason why the port does not have it, if it has not.
    pub fn of(mut reason: impl FnMut(ActionKind) -> Option<String>) -> Self {
        let mut offer = Self::default();
        for kind in ActionKind::ALL {
            match reason(kind) {
                None => offer.actions.push(kind),
                Some(why) => offer.unsupported.push(UnsupportedAction { kind, why }),
            }
        }
        offer
    }

    /// What needs nothing from a port.
    #[must_use]
    pub fn commands_only(why: &str) -> Self {
        Self::of(|kind| match kind {
            ActionKind::Alert | ActionKind::Exec => None,
            ActionKind::PreventionTimeout
            | ActionKind::PfcOff
            | ActionKind::PauseOff
            | ActionKind::DevlinkRecover
            | ActionKind::LinkBounce => Some(why.to_owned()),
        })
    }
}

/// What a node knows of it.
pub enum Offering {
    /// It needs not be asked for.
    Known(Offer),
    /// The device has to be asked, which can take any time.
    Asked(Box<dyn FnOnce() -> Offer + Send>),
}

/// The actions of a port as far as they are known.
#[derive(Debug)]
pub struct Support {
    offer: Offer,
    answer: Option<Receiver<Offer>>,
}

impl Support {
    /// Has the device asked, on a thread that is not waited for.
    #[must_use]
    pub fn of(netdev: &str, offering: Offering) -> Self {
        let ask = match offering {
            Offering::Known(offer) => return offer.into(),
            Offering::Asked(ask) => ask,
        };
        let (answers, answer) = channel();
        // The port may be gone by then.
        let work = move || drop(answers.send(ask()));
        match thread::Builder::new().name(format!("ask-{netdev}")).spawn(work) {
            Ok(_) => Self { offer: Offer::commands_only(NOT_KNOWN_YET), answer: Some(answer) },
            Err(error) => Offer::commands_only(&format!("no thread to ask the device: {error}")).into(),
        }
    }

    /// Waits for the answer, as long as it is worth while.
    pub fn wait(&mut self, at_most: Duration) {
        let answer = self.answer.as_ref().and_then(|answer| answer.recv_timeout(at_most).ok());
        self.take(answer);
    }

    /// Whether it has become known since.
    pub fn is_new(&mut self) -> bool {
        let answer = self.answer.as_ref().and_then(|answer| answer.try_recv().ok());
        self.take(answer)
    }

    /// What is known now.
    #[must_use]
    pub const fn offer(&self) -> &Offer {
        &self.offer
    }

    fn take(&mut self, answer: Option<Offer>) -> bool {
        let Some(offer) = answer else { return false };
        (self.offer, self.answer) = (offer, None);
        true
    }
}

impl From<Offer> for Support {
    fn from(offer: Offer) -> Self {
        Self { offer, answer: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_a_device_has_answered_its_actions_are_not_known_yet_and_nobody_waits_for_it() {
        let (release, held) = channel();
        let ask = Box::new(move || {
            held.recv().unwrap();
            Offer::of(|_| None)
        });
        let mut support = Support::of("eth0", Offering::Asked(ask));
        support.wait(Duration::ZERO);
        let all = || ActionKind::ALL.to_vec();
        assert!(!support.is_new());
        assert_eq!(support.offer().actions, [ActionKind::Alert, ActionKind::Exec]);
        assert!(support.offer().unsupported.iter().all(|action| action.why.contains("not known yet")));
        release.send(()).unwrap();
        support.wait(Duration::from_secs(30));
        assert_eq!(support.offer().actions, all());
        assert!(!support.is_new(), "it is new once");
    }

    #[test]
    fn a_question_that_panics_leaves_its_actions_unknown() {
        let mut support = Support::of("eth0", Offering::Asked(Box::new(|| panic!("a fault"))));
        support.wait(Duration::from_secs(30));
        assert!(!support.offer().unsupported.is_empty());
    }
}
