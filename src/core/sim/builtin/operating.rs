//! Limits, refusals, and operators.

use super::{a_storm, acting, bnxt, ms, pair, s, three, trouble, with_port};
use crate::action::{ActionKind, Disruption};
use crate::settings::{ExecSettings, Mode};
use crate::sim::faults::{ActMood, AgentEnd, GuardMood, JournalMood, What};
use crate::sim::peer::Pattern;
use crate::sim::random::Random;
use crate::sim::scenario::{PauseSpec, Scenario};
use crate::units::Direction;

pub(super) fn budget(random: &mut Random) -> Scenario {
    let mut settings = acting(ActionKind::PfcOff, Disruption::Priority);
    settings.budget_node = random.between(0, 4) as u32;
    settings.rx.budget_port = random.between(0, 3) as u32;
    settings.rx.hold = ms(500);
    settings.rx.hold_off = s(1);
    settings.rx.lock_storms = random.pick(&[0, 0, 3]);
    let mut scenario = with_port(bnxt(), settings);
    scenario.ports.push(bnxt());
    let storm = PauseSpec::rx(three(), Pattern::Unbroken, s(2), s(2)).every(s(7));
    scenario.pauses = vec![storm, storm.on(1)];
    scenario.lasts = s(90);
    scenario
}

pub(super) fn guard(random: &mut Random) -> Scenario {
    let mut scenario = pair(random);
    let moods = [GuardMood::Agrees, GuardMood::Refuses, GuardMood::Fails, GuardMood::Silent];
    scenario.guard = random.pick(&moods);
    let at = random.span(s(3), s(30));
    scenario.troubles.push(trouble(at, 0, What::Guard(random.pick(&moods))));
    scenario.pauses = vec![PauseSpec { length: s(40), ..a_storm(random) }];
    if random.between(0, 3) == 0 {
        scenario.settings.guard = None;
    }
    scenario.ports[0].in_band = random.between(0, 3) == 0;
    scenario
}

pub(super) fn maintenance(random: &mut Random) -> Scenario {
    let mut scenario = pair(random);
    scenario.pauses = vec![a_storm(random), a_storm(random).on(1)];
    for port in 0..2 {
        let what = What::Maintenance { lasts: random.span(s(1), s(20)) };
        scenario.troubles.push(trouble(random.span(s(1), s(12)), port, what));
    }
    scenario
}

pub(super) fn journal(random: &mut Random) -> Scenario {
    let mut scenario = pair(random);
    scenario.pauses = vec![a_storm(random), a_storm(random).on(1)];
    scenario.journal_writable = random.between(0, 1) == 1;
    let (fails, works) = (random.span(s(1), s(20)), random.span(s(20), s(40)));
    scenario.troubles = vec![
        trouble(fails, 0, What::Journal(JournalMood::Fails)),
        trouble(works, 0, What::Journal(JournalMood::Works)),
    ];
    scenario
}

pub(super) fn relapses(random: &mut Random) -> Scenario {
    let mut settings = acting(ActionKind::PfcOff, Disruption::Priority);
    settings.rx.hold_off = s(1);
    settings.rx.lock_storms = random.pick(&[0, 2, 3]);
    settings.rx.lock_for = random.span(s(20), s(60));
    let mut scenario = with_port(bnxt(), settings);
    scenario.pauses = vec![PauseSpec::rx(three(), Pattern::Unbroken, s(3), random.span(s(60), s(200)))];
    scenario.lasts = s(240);
    if random.between(0, 1) == 1 {
        let ack = What::Ack { queue: three(), direction: Direction::Rx };
        scenario.troubles.push(trouble(random.span(s(20), s(150)), 0, ack));
    }
    scenario
}

pub(super) fn mode_changes(random: &mut Random) -> Scenario {
    let mut scenario = pair(random);
    scenario.pauses = vec![a_storm(random), a_storm(random).on(1)];
    for _ in 0..random.between(2, 6) {
        let at = random.span(s(3), s(40));
        scenario.troubles.push(trouble(at, 0, What::Mode(random.pick(&Mode::ALL))));
    }
    scenario
}

pub(super) fn bond(random: &mut Random) -> Scenario {
    let mut scenario = pair(random);
    scenario.ports.extend([bnxt(), bnxt(), bnxt()]);
    for index in [1, 2] {
        scenario.ports[index].bond = Some("bond0".into());
    }
    scenario.pauses = vec![a_storm(random).on(1), a_storm(random).on(2)];
    let what = What::LinkFlap { lasts: random.span(s(1), s(10)) };
    scenario.troubles.push(trouble(random.span(s(2), s(12)), 2, what));
    scenario
}

pub(super) fn renamed(random: &mut Random) -> Scenario {
    let mut scenario = budget(random);
    for _ in 0..random.between(1, 4) {
        let at = random.span(s(3), s(60));
        scenario.troubles.push(trouble(at, random.between(0, 1) as usize, What::Rename));
    }
    let how = random.pick(&[AgentEnd::Killed, AgentEnd::Stopped]);
    let at = random.span(s(5), s(60));
    scenario.troubles.push(trouble(at, 0, What::Restart { how, away: s(1) }));
    // While nobody is there to see it.
    let renamed = random.between(0, 1) as usize;
    scenario.troubles.push(trouble(at + ms(900), renamed, What::Rename));
    scenario
}

/// Every action in turn, up to taking the device's link down.
pub(super) fn ladder(random: &mut Random) -> Scenario {
    let mut scenario = pair(random);
    let mut actions = ActionKind::ALL.to_vec();
    for _ in 0..random.between(0, 3) {
        actions.remove(random.between(0, actions.len() as u64 - 1) as usize);
    }
    scenario.settings.disruption_max = Disruption::Device;
    scenario.settings.rx.actions.clone_from(&actions);
    scenario.settings.tx.actions = actions;
    scenario.settings.exec = Some(ExecSettings {
        command: vec!["/usr/local/bin/hook".into()],
        timeout: s(1),
        disruption: random.pick(&Disruption::ALL),
    });
    for port in 0..2 {
        let direction = random.pick(&Direction::ALL);
        let storm = PauseSpec { length: random.span(s(20), s(40)), ..a_storm(random) };
        scenario.pauses.push(PauseSpec { direction, ..storm }.on(port));
        let mood = random.pick(&[ActMood::Work, ActMood::Useless, ActMood::Fail]);
        scenario.troubles.push(trouble(s(0), port, What::Acts(mood)));
    }
    scenario
}
