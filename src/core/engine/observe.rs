//! What is seen of a port, and what it means for its queues.

use crate::action::ActionKind;
use crate::delta::Gap;
use crate::durable::PortName;
use crate::event::EventKind;
use crate::ids::PortKey;
use crate::input::{BoundPort, PortDcb, PortHealth, PortLink, PortPause, ReadFailed, Reading};
use crate::phase::Phase;
use crate::settings::Settings;
use crate::trigger::{By, Trigger};
use crate::units::{MonoTime, Queue};

use super::Engine;
use super::port::{Freeze, Port, Taken, pause_enabled};
use super::queue::Fit;

impl Engine {
    pub(super) fn bound(&mut self, bound: BoundPort, now: MonoTime) {
        let key = bound.port;
        if let Some(port) = self.ports.get_mut(&key) {
            let before = port.identity.netdev.clone();
            port.bind(bound);
            if port.identity.netdev != before {
                self.note_renamed(key, before, now);
            }
            let settings = self.settings.clone();
            self.configure_port(key, &settings, now);
            return self.tell_unsupported(key, now);
        }
        let port = Port::new(bound, &self.settings, now);
        let kind = EventKind::PortAdded { identity: port.identity.clone(), pause: port.pause_known() };
        self.ports.insert(key, port);
        self.emit_port(now, key, kind);
        let settings = self.settings.clone();
        self.configure_port(key, &settings, now);
        self.tell_unsupported(key, now);
        self.claim(key, now);
    }

    pub(super) fn configure_port(&mut self, key: PortKey, settings: &Settings, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        port.configure(settings);
        let refresh = port.refresh();
        let told = std::mem::replace(&mut port.detect_told, true);
        let worst = port.queues.iter().filter(|queue| queue.is_counted()).max_by_key(|q| q.windows.detect());
        let Some(queue) = worst.filter(|_| !told) else { return };
        let (configured, effective) = (queue.rule.detect, queue.windows.detect());
        let kind = match queue.detect_fits {
            Fit::TooSlow => EventKind::NotArmed { configured, needed: refresh * 2 },
            Fit::Fits if effective > configured => EventKind::DetectRaised { configured, effective },
            Fit::Fits => {
                port.detect_told = false;
                return;
            }
        };
        self.emit_port(now, key, kind);
    }

    pub(super) fn reading(&mut self, reading: &Reading, now: MonoTime) {
        let key = reading.port;
        let Some(port) = self.ports.get_mut(&key) else { return };
        if reading.values.len() != port.ledger.layout().len() {
            let error = format!("{} values for {} names", reading.values.len(), port.ledger.layout().len());
            self.read_failed(ReadFailed { port: key, error }, now);
            return;
        }
        self.read_recovered(key, now);
        let Some(port) = self.ports.get_mut(&key) else { return };
        let before = port.last_at;
        let refresh = port.refresh();
        let taken = port.take(reading);
        if port.refresh() != refresh {
            let settings = self.settings.clone();
            self.configure_port(key, &settings, now);
        }
        match taken {
            Taken::Merged => {}
            Taken::Blind(gap) => self.blind_port(key, gap, now),
            Taken::Fresh => {
                self.judge(key, reading.at, now);
                let poll = self.settings.poll.clone();
                if let Some(port) = self.ports.get_mut(&key) {
                    let span = reading.at.since(before.unwrap_or(reading.at));
                    let share = port.share_of_last(span);
                    port.pacing.note(reading.at, share, &poll);
                }
            }
        }
    }

    /// Judges every queue of a port by its last reading.
    fn judge(&mut self, key: PortKey, at: MonoTime, now: MonoTime) {
        let mut worst: Option<Gap> = None;
        let count = self.ports.get(&key).map_or(0, |port| port.queues.len());
        for index in 0..count {
            let Some(port) = self.ports.get_mut(&key) else { return };
            let queue = &port.queues[index];
            if !queue.is_counted() {
                if self.lose_queue(key, index, now) {
                    worst = worst.max(Some(Gap::MissingName));
                }
                continue;
            }
            match port.sample(queue, at) {
                Err(gap) => {
                    // Where nothing can be paused, nothing is overlooked.
                    let suspended = matches!(queue.phase, Phase::Suspended(_));
                    self.blind_queue(key, index, gap, now, at);
                    let counts = gap != Gap::FirstReading && !suspended;
                    worst = worst.max(Some(gap).filter(|_| counts));
                }
                Ok(sample) => {
                    let alone = port.stands_for_itself(index);
                    let queue = &mut port.queues[index];
                    queue.blind = None;
                    let windows = queue.windows;
                    let mut evidence = queue.track.observe(&sample, &windows);
                    queue.resume(&mut evidence, at);
                    queue.accounts.note_share(at, evidence.share);
                    queue.evidence = Some(evidence);
                    let trigger = if alone { queue.trigger(&evidence, at) } else { Trigger::Clear };
                    self.trigger(key, index, trigger, now);
                    self.note_milder(key, index, now);
                }
            }
        }
        self.note_sight(key, worst, now);
    }

    /// A queue without counters: blind where it should have some. Says whether that is worth telling.
    fn lose_queue(&mut self, key: PortKey, index: usize, now: MonoTime) -> bool {
        let Some(port) = self.ports.get_mut(&key) else { return false };
        let expected = port.queues[index].phase.owed().is_some();
        let watched = port.is_watched(&port.queues[index]);
        let queue = &mut port.queues[index];
        queue.blind = Some(Gap::MissingName);
        queue.evidence = None;
        // A pause name that our own pfc-off took away is no loss; an undo of ours that brings it back is no start.
        if expected || matches!(queue.phase, Phase::Healthy | Phase::Suspended(_) | Phase::Locked(_)) {
            return watched && !expected;
        }
        self.trigger(key, index, Trigger::Blind, now);
        watched
    }

    fn blind_queue(&mut self, key: PortKey, index: usize, gap: Gap, now: MonoTime, at: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        let flapping = port.in_own_flap(now);
        let queue = &mut port.queues[index];
        queue.blind = Some(gap);
        queue.evidence = None;
        if queue.places.time.is_none_or(|place| !port.ledger.is_doubted(place)) {
            queue.track.restart(at);
        }
        // A first reading after our own operation brought the name back says nothing about the queue.
        if gap == Gap::FirstReading && (flapping || matches!(queue.phase, Phase::Probation(_))) {
            return;
        }
        self.trigger(key, index, Trigger::Blind, now);
    }

    fn blind_port(&mut self, key: PortKey, gap: Gap, now: MonoTime) {
        let Some(port) = self.ports.get(&key) else { return };
        let at = port.last_at.unwrap_or(now);
        for index in 0..port.queues.len() {
            self.blind_queue(key, index, gap, now, at);
        }
        self.note_sight(key, Some(gap), now);
    }

    /// Tells when a port begins or ceases to be blind. A first reading is how every port begins.
    fn note_sight(&mut self, key: PortKey, gap: Option<Gap>, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        let before = std::mem::replace(&mut port.blind, gap);
        match (before, gap) {
            (before, Some(reason)) if before != Some(reason) && reason != Gap::FirstReading => {
                self.emit_port(now, key, EventKind::Blinded { reason });
            }
            (Some(reason), None) if reason != Gap::FirstReading => {
                self.emit_port(now, key, EventKind::Sighted);
            }
            _ => {}
        }
    }

    /// When a port is blind for want of readings.
    pub(super) fn sight_deadline(&self, port: &Port) -> Option<MonoTime> {
        // A port without counters to be judged by is not expected to give readings.
        if port.blind == Some(Gap::NoReading) || !port.ledger.is_watched() {
            return None;
        }
        // A port that is read more slowly than twice `detect` is not blind between two readings.
        Some(port.last_sign + (port.detect() * 2).max(port.pacing.interval() * 2))
    }

    pub(super) fn pass_time(&mut self, now: MonoTime) {
        self.end_maintenance(now);
        let keys = self.ports.keys().copied().collect::<Vec<_>>();
        for key in keys {
            let Some(port) = self.ports.get(&key) else { continue };
            if self.sight_deadline(port).is_some_and(|at| now >= at) {
                for index in 0..port.queues.len() {
                    let Some(port) = self.ports.get_mut(&key) else { break };
                    port.queues[index].blind = Some(Gap::NoReading);
                    self.trigger(key, index, Trigger::Blind, now);
                }
                self.note_sight(key, Some(Gap::NoReading), now);
            }
            let count = self.ports.get(&key).map_or(0, |port| port.queues.len());
            for index in 0..count {
                let due = self.ports[&key].queues[index].phase_deadline();
                if due.is_some_and(|due| now >= due) {
                    self.trigger(key, index, Trigger::Time, now);
                }
            }
        }
    }

    pub(super) fn read_failed(&mut self, failed: ReadFailed, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&failed.port) else { return };
        port.failures += 1;
        port.accounts.failures += 1;
        let new = port.last_error.as_ref() != Some(&failed.error);
        port.last_error = Some(failed.error.clone());
        if new {
            self.emit_port(now, failed.port, EventKind::ReadFailed { error: failed.error });
        }
    }

    fn read_recovered(&mut self, key: PortKey, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        let failures = std::mem::take(&mut port.failures);
        port.last_error = None;
        if failures > 0 {
            self.emit_port(now, key, EventKind::ReadRecovered { failures });
        }
    }

    pub(super) fn link(&mut self, link: PortLink, now: MonoTime) {
        let key = link.port;
        let Some(port) = self.ports.get_mut(&key) else { return };
        let was = port.link.carrier;
        let is = link.carrier;
        let renamed = (link.netdev != port.identity.netdev).then(|| port.identity.netdev.clone());
        port.identity.netdev.clone_from(&link.netdev);
        let flapped = has_flapped(&port.link, &link);
        let freeze = port.note_link(link, now);
        let by = if port.in_own_flap(now) { By::Us } else { By::Others };
        if let Some(from) = renamed {
            self.note_renamed(key, from, now);
        }
        if was != is && (was.is_some() || is == Some(false)) {
            self.emit_port(now, key, EventKind::LinkChanged { carrier: is != Some(false) });
        }
        if is == Some(false) && was != Some(false) {
            self.trigger_all(key, Trigger::CarrierLost(by), now);
        } else if is != Some(false) && was == Some(false) {
            self.restart_all(key, now);
            self.trigger_all(key, Trigger::CarrierUp, now);
            if let Some(port) = self.ports.get_mut(&key) {
                port.own_flap_until = None;
            }
        } else if flapped {
            self.restart_all(key, now);
        }
        if freeze == Freeze::Begun {
            self.blind_port(key, Gap::FrozenSource, now);
        }
    }

    /// A port keeps what it has spent under its new name.
    fn rename_spending(&mut self, key: PortKey, from: &str) {
        let Some(after) = self.ports.get(&key).map(|port| PortName::of(&port.identity)) else { return };
        let before = PortName { netdev: from.to_owned(), ..after.clone() };
        for (name, _) in self.spent.iter_mut().filter(|(name, _)| *name == before) {
            name.clone_from(&after);
        }
    }

    /// The new name may come with the link or with the names of its counters, whichever is read first.
    fn note_renamed(&mut self, key: PortKey, from: String, now: MonoTime) {
        self.rename_spending(key, &from);
        self.rename_maintenance(key, &from);
        self.revision += 1;
        self.emit_port(now, key, EventKind::PortRenamed { from });
    }

    /// After a flap nothing before is comparable.
    fn restart_all(&mut self, key: PortKey, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&key) else { return };
        let at = port.last_at.unwrap_or(now);
        for queue in &mut port.queues {
            queue.track.restart(at);
        }
    }

    pub(super) fn dcb(&mut self, dcb: PortDcb, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&dcb.port) else { return };
        port.owner = dcb.owner;
        port.headroom = dcb.headroom;
        let before = std::mem::replace(&mut port.pfc, dcb.pfc);
        for index in 0..port.queues.len() {
            let Some(port) = self.ports.get(&dcb.port) else { return };
            let Queue::Priority(priority) = port.queues[index].queue else { continue };
            let on = [before, dcb.pfc].map(|mask| Some(mask?.contains(priority)));
            let Some(trigger) = self.switched(dcb.port, index, ActionKind::PfcOff, on) else { continue };
            self.restart_queue(dcb.port, index, now);
            self.trigger(dcb.port, index, trigger, now);
        }
    }

    /// What it means for a queue that its pause is on or off now; `None` where that cannot be read, which means that
    /// it is watched. It was us if an action of ours that does this is under way or in force; while one is under way
    /// or undone, the pause also comes back through us.
    fn switched(
        &self,
        key: PortKey,
        index: usize,
        lever: ActionKind,
        [was, is]: [Option<bool>; 2],
    ) -> Option<Trigger> {
        let phase = self.ports.get(&key)?.queues[index].phase;
        // What another kind of action has set stays ours, whoever switches the pause meanwhile.
        let taken = phase.owed().and_then(|id| self.actions.get(&id)).is_some_and(|a| a.kind == lever);
        let under_way = matches!(phase, Phase::Undoing(_) | Phase::Storm(_));
        match (was.unwrap_or(true), is.unwrap_or(true)) {
            (true, false) => Some(Trigger::PfcOff(if taken { By::Us } else { By::Others })),
            // Not to be readable does not mean that somebody has put back what we took.
            (false, true) if taken && is.is_none() => None,
            (false, true) => Some(Trigger::PfcOn(if taken && !under_way { By::Others } else { By::Us })),
            (true, true) | (false, false) => None,
        }
    }

    fn restart_queue(&mut self, key: PortKey, index: usize, now: MonoTime) {
        if let Some(port) = self.ports.get_mut(&key) {
            let at = port.last_at.unwrap_or(now);
            port.queues[index].track.restart(at);
        }
    }

    pub(super) fn pause(&mut self, pause: PortPause, now: MonoTime) {
        let Some(port) = self.ports.get_mut(&pause.port) else { return };
        port.prevention_timeout_ms = pause.prevention_timeout_ms;
        let before = std::mem::replace(&mut port.pause, pause.pause);
        for index in 0..port.queues.len() {
            let Some(port) = self.ports.get(&pause.port) else { return };
            let queue = &port.queues[index];
            if queue.queue != Queue::Global {
                continue;
            }
            let on = [before, pause.pause].map(|pause| Some(pause_enabled(pause?, queue.direction)));
            let Some(trigger) = self.switched(pause.port, index, ActionKind::PauseOff, on) else { continue };
            self.restart_queue(pause.port, index, now);
            self.trigger(pause.port, index, trigger, now);
        }
    }

    pub(super) fn health(&mut self, health: PortHealth) {
        let Some(port) = self.ports.get_mut(&health.port) else { return };
        if health.in_error {
            port.reporters_in_error.insert(health.reporter);
        } else {
            port.reporters_in_error.remove(&health.reporter);
        }
    }

    pub(super) fn route(&mut self, in_band: &[PortKey]) {
        // Told perhaps before the ports are known: they introduce themselves on threads of their own.
        self.in_band = in_band.to_vec();
    }
}

/// Whether a link that is up was down since the last update, although nobody has said so: the kernel has counted it, or
/// the speed is another, which no port changes with its link up.
fn has_flapped(before: &PortLink, now: &PortLink) -> bool {
    let counted = before.carrier_changes.zip(now.carrier_changes).is_some_and(|(then, now)| now > then);
    let slower_or_faster = before.speed_mbps.zip(now.speed_mbps).is_some_and(|(then, now)| then != now);
    now.carrier == Some(true) && (counted || slower_or_faster)
}
