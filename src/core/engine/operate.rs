//! What the operator wants, and how often ports are read.

use crate::event::{EventKind, Place};
use crate::input::{Command, Effect};
use crate::phase::Phase;
use crate::settings::{Mode, Settings};
use crate::trigger::Trigger;
use crate::units::MonoTime;

use super::pace::{self, Load};
use super::{Engine, Stopping};

impl Engine {
    pub(super) fn command(&mut self, command: Command, now: MonoTime) {
        match command {
            Command::Stop => {
                self.stopping = Stopping::Yes;
                self.withdraw_all(now);
            }
            Command::TestStorm { port, queue, direction, depth } => {
                self.test(port, queue, direction, depth, now);
            }
            Command::Ack { port, queue, direction } => {
                let Some(view) = self.ports.get(&port) else { return };
                let meant = |index: &usize| {
                    let state = &view.queues[*index];
                    let waits = matches!(state.phase, Phase::Locked(_) | Phase::UndoFailed(_));
                    waits
                        && state.queue == queue
                        && direction.is_none_or(|direction| direction == state.direction)
                };
                for index in (0..view.queues.len()).filter(meant).collect::<Vec<_>>() {
                    self.emit_queue(now, port, index, EventKind::Acknowledged);
                    self.trigger(port, index, Trigger::Ack, now);
                }
            }
        }
    }

    pub(super) fn reconfigure(&mut self, settings: Settings, now: MonoTime) {
        let before = std::mem::replace(&mut self.settings, settings.bounded());
        let mode = self.mode();
        let settings = self.settings.clone();
        for key in self.ports.keys().copied().collect::<Vec<_>>() {
            if let Some(port) = self.ports.get_mut(&key) {
                port.detect_told = false;
                port.unsupported_told.clear();
            }
            self.configure_port(key, &settings, now);
            self.tell_unsupported(key, now);
            if mode == Mode::Off {
                self.trigger_all(key, Trigger::Off, now);
            }
        }
        if before.mode == Mode::Enforce && mode != Mode::Enforce {
            self.withdraw_all(now);
        }
        if before != self.settings {
            self.emit(now, Place::default(), EventKind::Reconfigured { mode });
        }
    }

    fn withdraw_all(&mut self, now: MonoTime) {
        for key in self.ports.keys().copied().collect::<Vec<_>>() {
            self.trigger_all(key, Trigger::Withdraw, now);
        }
    }

    /// Tells the intervals that follow from what all reads of the node take.
    pub(super) fn set_paces(&mut self) {
        let poll = &self.settings.poll;
        let loads = self.ports.values().map(|port| Load { gait: port.pacing.gait(), took: port.took });
        let stretch = pace::stretch(loads, poll);
        let mut slower = Vec::new();
        for (key, port) in &mut self.ports {
            let fast = port.pacing.fast(poll);
            if let Some(interval) = pace::apply(&mut port.pacing, stretch, poll) {
                self.out.push(Effect::Pace(*key, interval));
            }
            if port.pacing.fast(poll) != fast {
                slower.push(*key);
            }
        }
        let settings = if slower.is_empty() { return } else { self.settings.clone() };
        for key in slower {
            if let Some(port) = self.ports.get_mut(&key) {
                port.configure(&settings);
            }
        }
    }
}
