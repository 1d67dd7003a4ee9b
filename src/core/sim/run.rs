//! Runs a scenario to its end and lets the judge speak.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::faults::{AgentEnd, GuardMood, JournalMood, PollFaults};
use super::judge::{PortEnd, Violation};
use super::scenario::{Ending, Scenario};
use super::world::{Sink, World};
use crate::action::Order;
use crate::input::{Command, Effect, Input};
use crate::phase::Phase;
use crate::settings::{Mode, Settings};
use crate::units::MonoTime;

/// Between two looks at whether everything is over.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What a lock, a doubled hold and a retry need beyond the longest hold.
const CALM_SLACK: Duration = Duration::from_secs(600);

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunReport {
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Virtual time that passed.
    pub lasted: Duration,
    /// Inputs that the engine took.
    pub inputs: u64,
    /// Events told, by name.
    pub events: BTreeMap<&'static str, u64>,
    /// Plans that were ordered.
    pub plans: u64,
    /// Undos that were ordered.
    pub undos: u64,
    /// What was broken.
    pub violations: Vec<Violation>,
}

/// Runs `scenario` with `seed`.
#[must_use]
pub fn run(scenario: &Scenario, seed: u64) -> RunReport {
    run_with(scenario, seed, &mut |_, _, _| {})
}

/// Runs `scenario` with `seed`; `sink` sees each input, its time, and its effects, for a recording.
///
/// Each [`Input::Journal`] begins another life of the agent: a new engine with the settings in force.
pub fn run_with(scenario: &Scenario, seed: u64, sink: &mut Sink<'_>) -> RunReport {
    let (mut plans, mut undos) = (0, 0);
    let mut counting = |at: MonoTime, input: &Input, effects: &[Effect]| {
        for effect in effects {
            match effect {
                Effect::Act(order) => match order.as_ref() {
                    Order::Do(_) => plans += 1,
                    Order::Undo(_) => undos += 1,
                },
                Effect::Emit(_) | Effect::Withdraw(..) | Effect::Pace(..) | Effect::AskGuard => {}
            }
        }
        sink(at, input, effects);
    };
    let mut world = World::new(scenario.clone(), seed);
    world.advance(scenario.end(), &mut counting);
    world.calm_down(&mut counting);
    let ports = world.ends();
    let now = world.now;
    world.judge.finish(now, world.engine.as_ref(), &ports);
    RunReport {
        scenario: scenario.name.clone(),
        seed,
        lasted: now.since(scenario.start()),
        inputs: world.steps,
        events: world.judge.events.clone(),
        plans,
        undos,
        violations: world.judge.violations().to_vec(),
    }
}

/// Runs `scenario` twice with one seed, and reports a violation if the runs differ.
#[must_use]
pub fn run_twice(scenario: &Scenario, seed: u64) -> RunReport {
    let mut digests = [0u64; 2];
    let mut reports = digests.each_mut().map(|digest| {
        run_with(scenario, seed, &mut |at, input, effects| {
            *digest = mixed(*digest, &(at, input, effects));
        })
    });
    let [first, second] = &mut reports;
    if digests[0] != digests[1] || first != second {
        let mut judge = super::judge::Judge::new(seed, &scenario.settings);
        judge.differs(scenario.end());
        first.violations.extend_from_slice(judge.violations());
    }
    first.clone()
}

/// A digest of `value` on top of `digest`, by what it prints (FNV-1a).
fn mixed(digest: u64, value: &dyn std::fmt::Debug) -> u64 {
    struct Hash(u64);
    impl std::fmt::Write for Hash {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            for byte in text.bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
            Ok(())
        }
    }
    let mut hash = Hash(digest ^ 0xcbf2_9ce4_8422_2325);
    // Writing to a number cannot fail.
    let _ = std::fmt::write(&mut hash, format_args!("{value:?}"));
    hash.0
}

impl World {
    /// Ends every pause and every trouble, and goes on until nothing is owed and nothing is open any more.
    pub fn calm_down(&mut self, sink: &mut Sink<'_>) {
        let now = self.now;
        for port in &mut self.ports {
            port.nic.end_pauses(now);
            port.nic.thaw();
            port.nic.mood = super::faults::ActMood::Work;
            port.frozen_until = now;
            port.errors_until = now;
            port.readings_off_until = now;
            port.clean_since = now;
        }
        self.poll = PollFaults::default();
        self.guard = GuardMood::Agrees;
        self.journal_mood = JournalMood::Works;
        match self.scenario.ending {
            Ending::Natural => {}
            Ending::Observe => {
                let settings = Settings { mode: Mode::Observe, ..self.settings.clone() };
                self.tell(Input::Reconfigure(Box::new(settings)), sink);
            }
            Ending::Stop => self.tell(Input::Command(Command::Stop), sink),
        }
        let rules = [&self.settings.rx, &self.settings.tx];
        let longest = rules.map(|rule| rule.hold_max).into_iter().max().unwrap_or_default();
        let limit = now + longest * 2 + CALM_SLACK;
        let mut calm_for = 0;
        while self.now < limit && calm_for < 5 {
            self.advance(self.now + LOOK_EVERY, sink);
            calm_for = if self.is_calm() { calm_for + 1 } else { 0 };
            if self.waits_for_restart() {
                self.restart(AgentEnd::Killed, LOOK_EVERY, sink);
            }
        }
    }

    fn is_calm(&self) -> bool {
        let Some(engine) = &self.engine else { return false };
        let open = |phase: Phase| phase.open_storm().is_some() || phase.owed().is_some();
        let snapshot = engine.snapshot(self.now);
        engine.is_settled()
            && self.runs.is_empty()
            && !snapshot.ports.iter().flat_map(|port| &port.queues).any(|queue| open(queue.phase))
    }

    /// An undo that failed and was acknowledged is left to the next start.
    fn waits_for_restart(&self) -> bool {
        let Some(engine) = &self.engine else { return false };
        let given_up = |phase: Phase| matches!(phase, Phase::UndoFailed(failed) if failed.retry_at.is_none());
        engine.snapshot(self.now).ports.iter().flat_map(|p| &p.queues).any(|queue| given_up(queue.phase))
    }

    /// How the ports that are still there stand.
    #[must_use]
    pub fn ends(&self) -> Vec<PortEnd> {
        let present = self.ports.iter().filter(|port| port.present);
        present
            .map(|port| PortEnd { device: port.device, before: port.original, after: port.nic.config() })
            .collect()
    }
}
