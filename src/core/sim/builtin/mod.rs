//! The scenarios that have a name. A seed chooses their numbers.

mod acting;
mod operating;
mod peers;
mod readings;

use std::time::Duration;

use super::faults::{Trouble, What};
use super::peer::Pattern;
use super::random::Random;
use super::scenario::{Ending, PauseSpec, PortSpec, Scenario, Told};
use crate::action::{ActionKind, Disruption};
use crate::settings::{Guard, Mode, Settings};
use crate::units::{Priority, Queue};

type Build = fn(&mut Random) -> Scenario;

/// Every name and how it is built, from the plain to the mixed.
const ALL: &[(&str, Build)] = &[
    ("idle", peers::idle),
    ("storm-without-demand", peers::storm_without_demand),
    ("storm", peers::storm),
    ("short-storms", peers::short_storms),
    ("choppy", peers::choppy),
    ("xoff-to-xon", peers::xoff_to_xon),
    ("xon-storm", peers::xon_storm),
    ("slow-receiver", peers::slow_receiver),
    ("incast", peers::incast),
    ("two-priorities", peers::two_priorities),
    ("two-ports", peers::two_ports),
    ("sent-storm", peers::sent_storm),
    ("global-pause", peers::global_pause),
    ("frames-only", peers::frames_only),
    ("shared-queue", peers::shared_queue),
    ("link-flap", readings::link_flap),
    ("counter-reset", readings::counter_reset),
    ("wrap-32", readings::wrap_32),
    ("zero-glitch", readings::zero_glitch),
    ("jump", readings::jump),
    ("frozen", readings::frozen),
    ("slow-refresh", readings::slow_refresh),
    ("untold-refresh", readings::untold_refresh),
    ("bad-readings", readings::bad_readings),
    ("blind", readings::blind),
    ("failing-actions", acting::failing_actions),
    ("ignored-actions", acting::ignored_actions),
    ("useless-actions", acting::useless_actions),
    ("slow-actions", acting::slow_actions),
    ("failing-undo", acting::failing_undo),
    ("foreign-owner", acting::foreign_owner),
    ("device-gone", acting::device_gone),
    ("restart-in-storm", acting::restart_in_storm),
    ("restart-in-action", acting::restart_in_action),
    ("crash-loop", acting::crash_loop),
    ("many-queues", peers::many_queues),
    ("budget", operating::budget),
    ("guard", operating::guard),
    ("maintenance", operating::maintenance),
    ("journal", operating::journal),
    ("relapses", operating::relapses),
    ("mode-changes", operating::mode_changes),
    ("bond", operating::bond),
    ("renamed", operating::renamed),
    ("ladder", operating::ladder),
    ("random", random),
];

/// The names of all built-in scenarios.
#[must_use]
pub fn scenarios() -> Vec<&'static str> {
    ALL.iter().map(|(name, _)| *name).collect()
}

/// The built-in scenario `name`, with the numbers that `seed` gives it.
#[must_use]
pub fn scenario(name: &str, seed: u64) -> Option<Scenario> {
    let (name, build) = ALL.iter().find(|(known, _)| *known == name)?;
    let mut random = Random::new(seed ^ 0x5ce_0a21);
    let mut scenario = build(&mut random);
    scenario.name = (*name).to_owned();
    scenario.ending = random.pick(&[Ending::Natural, Ending::Natural, Ending::Observe, Ending::Stop]);
    Some(scenario)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn prio(priority: u8) -> Queue {
    Priority::new(priority).map_or(Queue::Global, Queue::Priority)
}

/// The one lossless priority of most scenarios.
fn three() -> Queue {
    prio(3)
}

/// Settings that act, with spans short enough for a scenario of a minute.
fn acting(kind: ActionKind, disruption_max: Disruption) -> Settings {
    let mut settings = Settings { mode: Mode::Enforce, disruption_max, ..Settings::default() };
    for rule in [&mut settings.rx, &mut settings.tx] {
        rule.actions = vec![ActionKind::Alert, kind];
        rule.hold = s(3);
        rule.hold_link = s(8);
        rule.hold_max = s(120);
        rule.hold_off = s(5);
        rule.budget_port = 20;
    }
    settings.budget_node = 40;
    settings
}

/// The same with a guard, for actions that take the link down.
fn acting_on_links(random: &mut Random) -> Settings {
    let mut settings = acting(ActionKind::PfcOff, Disruption::Link);
    settings.guard = Some(Guard {
        url: "http://sim".into(),
        query: "sum(rocewatch_watchdog_storm)".into(),
        limit: random.between(0, 5),
        delay: random.span(ms(200), s(3)),
    });
    settings
}

/// A bnxt port read without delay: its pfc-off leaves the link alone.
fn bnxt() -> PortSpec {
    PortSpec {
        refresh: Some(Duration::ZERO),
        refresh_told: Told::Yes,
        prevention_timeout_ms: None,
        ..PortSpec::of("bnxt_en")
    }
}

fn with_port(spec: PortSpec, settings: Settings) -> Scenario {
    Scenario { ports: vec![spec], settings, ..Scenario::default() }
}

/// Two ports of two kinds and settings that act.
fn pair(random: &mut Random) -> Scenario {
    let ports = vec![PortSpec::of("mlx5_core"), bnxt()];
    Scenario { ports, settings: acting_on_links(random), lasts: s(60), ..Scenario::default() }
}

fn trouble(at: Duration, port: usize, what: What) -> Trouble {
    Trouble { at, port, what }
}

/// A storm of a few seconds somewhere in the first half of a scenario.
fn a_storm(random: &mut Random) -> PauseSpec {
    let (start, length) = (random.span(s(3), s(10)), random.span(s(3), s(15)));
    PauseSpec::rx(three(), Pattern::Unbroken, start, length)
}

/// Parts of all the others, mixed.
fn random(random: &mut Random) -> Scenario {
    let mut mixed = acting::restarted(random, random.clone().between(0, 2), s(30));
    mixed.ports.extend((0..random.between(0, 3)).map(|_| bnxt()));
    let count = mixed.ports.len();
    for _ in 0..random.between(2, 8) {
        let (_, build) = random.pick(&ALL[..ALL.len() - 1]);
        let part = build(random);
        let port = random.between(0, count as u64 - 1) as usize;
        let moved = random.span(ms(0), s(40));
        mixed.pauses.extend(part.pauses.iter().take(4).map(|p| PauseSpec {
            port,
            start: p.start + moved,
            ..*p
        }));
        mixed.troubles.extend(part.troubles.iter().map(|t| Trouble { port, at: t.at + moved, ..*t }));
        if random.between(0, 3) == 0 {
            mixed.poll = part.poll;
        }
    }
    mixed.settings.ports_mitigated_max = random.between(1, 4) as u32;
    mixed.lasts = s(100);
    mixed
}
