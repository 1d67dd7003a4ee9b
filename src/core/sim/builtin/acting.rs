//! Operations that do not do what they say, owners that change their minds, agents that end in the middle.

use std::time::Duration;

use super::{a_storm, ms, pair, s, three, trouble};
use crate::input::DcbOwner;
use crate::sim::faults::{ActMood, AgentEnd, Switch, What};
use crate::sim::random::Random;
use crate::sim::scenario::{Scenario, Told};
use crate::units::{Direction, PriorityMask};

pub(super) fn with_moods(random: &mut Random, mood: ActMood) -> Scenario {
    let mut scenario = pair(random);
    scenario.pauses = vec![a_storm(random), a_storm(random).on(1)];
    scenario.troubles = (0..2).map(|port| trouble(s(0), port, What::Acts(mood))).collect();
    let back = random.span(s(15), s(50));
    scenario.troubles.extend((0..2).map(|port| trouble(back, port, What::Acts(ActMood::Work))));
    scenario
}

pub(super) fn failing_actions(random: &mut Random) -> Scenario {
    with_moods(random, ActMood::Fail)
}

pub(super) fn ignored_actions(random: &mut Random) -> Scenario {
    with_moods(random, ActMood::Ignore)
}

pub(super) fn useless_actions(random: &mut Random) -> Scenario {
    with_moods(random, ActMood::Useless)
}

pub(super) fn failing_undo(random: &mut Random) -> Scenario {
    let mut scenario = with_moods(random, ActMood::WorkOnce);
    if random.between(0, 1) == 1 {
        let ack = What::Ack { queue: three(), direction: Direction::Rx };
        scenario.troubles.push(trouble(random.span(s(10), s(50)), 1, ack));
    }
    scenario
}

pub(super) fn slow_actions(random: &mut Random) -> Scenario {
    let mut scenario = pair(random);
    scenario.pauses = vec![a_storm(random), a_storm(random).on(1)];
    let (min, max) = (random.span(ms(1), ms(500)), random.span(ms(500), s(6)));
    for port in 0..2 {
        scenario.troubles.push(trouble(s(0), port, What::ActsTake { min, max }));
    }
    let max = random.span(ms(1), ms(700));
    scenario.troubles.push(trouble(s(0), 0, What::JournalTakes { max }));
    scenario
}

pub(super) fn foreign_owner(random: &mut Random) -> Scenario {
    let mut scenario = pair(random);
    let storms = [a_storm(random), a_storm(random).on(1)];
    scenario.pauses = storms.to_vec();
    for storm in storms {
        let at = storm.start + random.span(ms(0), storm.length + s(5));
        let told = random.pick(&[Told::Yes, Told::No]);
        let on = random.pick(&[Switch::On, Switch::Off]);
        let priority = random.pick(&[3, 3, 4]);
        let pfc = PriorityMask(random.between(0, 255) as u8);
        let what = random.pick(&[
            What::ForeignBit { priority, on, told },
            What::ForeignMask { pfc, told },
            What::Owner(DcbOwner::Other),
        ]);
        scenario.troubles.push(trouble(at, storm.port, what));
    }
    scenario
}

pub(super) fn device_gone(random: &mut Random) -> Scenario {
    let mut scenario = pair(random);
    let storms = [a_storm(random), a_storm(random).on(1)];
    scenario.pauses = storms.to_vec();
    for storm in storms {
        let at = storm.start + random.span(ms(0), storm.length + s(5));
        scenario.troubles.push(trouble(at, storm.port, What::Remove));
        let back = at + random.span(ms(100), s(10));
        scenario.troubles.push(trouble(back, storm.port, What::Return));
    }
    scenario
}

/// A storm on each of two ports, and restarts of the agent within `window` of the first one's beginning.
pub(super) fn restarted(random: &mut Random, times: u64, window: Duration) -> Scenario {
    let mut scenario = pair(random);
    let storms = [a_storm(random), a_storm(random).on(1)];
    scenario.pauses = storms.to_vec();
    for _ in 0..times {
        let at = random.pick(&storms).start + random.span(ms(0), window);
        let how = random.pick(&[AgentEnd::Killed, AgentEnd::Killed, AgentEnd::Stopped]);
        let away = random.span(ms(50), s(5));
        scenario.troubles.push(trouble(at, 0, What::Restart { how, away }));
    }
    scenario
}

pub(super) fn restart_in_storm(random: &mut Random) -> Scenario {
    restarted(random, 1, s(15))
}

pub(super) fn restart_in_action(random: &mut Random) -> Scenario {
    let mut scenario = restarted(random, 2, s(5));
    scenario.settings.guard.iter_mut().for_each(|guard| guard.delay = ms(100));
    let (min, max) = (ms(50), ms(900));
    scenario.troubles.extend((0..2).map(|port| trouble(s(0), port, What::ActsTake { min, max })));
    scenario
}

pub(super) fn crash_loop(random: &mut Random) -> Scenario {
    let mut scenario = restarted(random, 12, s(40));
    scenario.settings.budget_node = 3;
    scenario.settings.rx.budget_port = 2;
    scenario.settings.rx.hold_off = s(1);
    scenario.pauses.iter_mut().for_each(|pause| pause.length = s(40));
    scenario
}
