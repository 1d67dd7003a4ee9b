//! Counters that say less than they should, or something else.

use std::time::Duration;

use super::peers::storm;
use super::{a_storm, acting, acting_on_links, bnxt, ms, pair, s, trouble, with_port};
use crate::action::{ActionKind, Disruption};
use crate::sim::faults::{PollFaults, What, permille};
use crate::sim::random::Random;
use crate::sim::scenario::{Counters, PauseSpec, PortSpec, Scenario, Told};

/// A storm, and `what` shortly before, during or after it, once or twice.
pub(super) fn disturbed(random: &mut Random, spec: PortSpec, what: What) -> Scenario {
    let mut scenario = with_port(spec, acting_on_links(random));
    let storm = a_storm(random);
    scenario.pauses = vec![storm];
    for _ in 0..random.between(1, 3) {
        let at = storm.start.saturating_sub(s(1)) + random.span(ms(0), storm.length + s(2));
        scenario.troubles.push(trouble(at, 0, what));
    }
    scenario
}

pub(super) fn link_flap(random: &mut Random) -> Scenario {
    let mut scenario = pair(random);
    scenario.pauses = vec![a_storm(random), a_storm(random).on(1)];
    for port in 0..2 {
        for _ in 0..random.between(1, 3) {
            let what = What::LinkFlap { lasts: random.span(ms(50), s(8)) };
            scenario.troubles.push(trouble(random.span(s(2), s(40)), port, what));
        }
    }
    scenario
}

pub(super) fn counter_reset(random: &mut Random) -> Scenario {
    disturbed(random, bnxt(), What::CounterReset)
}

pub(super) fn wrap_32(random: &mut Random) -> Scenario {
    let mut scenario = with_port(PortSpec { counters: Counters::Narrow, ..bnxt() }, acting_on_links(random));
    scenario.pauses = vec![a_storm(random)];
    scenario
}

pub(super) fn zero_glitch(random: &mut Random) -> Scenario {
    disturbed(random, bnxt(), What::ZeroGlitch)
}

pub(super) fn jump(random: &mut Random) -> Scenario {
    disturbed(random, bnxt(), What::Jump)
}

pub(super) fn frozen(random: &mut Random) -> Scenario {
    let lasts = random.span(s(1), s(10));
    disturbed(random, PortSpec::of("mlx5_core"), What::Freeze { lasts })
}

pub(super) fn slow_refresh(random: &mut Random) -> Scenario {
    let refresh = random.pick(&[250, 500, 1000]);
    let spec = PortSpec { refresh: Some(ms(refresh)), ..bnxt() };
    let mut scenario = with_port(spec, acting(ActionKind::PfcOff, Disruption::Priority));
    scenario.pauses = vec![a_storm(random)];
    scenario.lasts = s(60);
    scenario
}

pub(super) fn untold_refresh(random: &mut Random) -> Scenario {
    let refresh = Some(random.span(ms(300), ms(900)));
    let spec = PortSpec { refresh, refresh_told: Told::No, ..PortSpec::of("mlx5_core") };
    let mut scenario = with_port(spec, acting_on_links(random));
    // The refresh shows only after some steps of it.
    scenario.pauses = vec![PauseSpec { length: random.span(s(20), s(40)), ..a_storm(random) }];
    scenario.lasts = s(60);
    scenario
}

pub(super) fn bad_readings(random: &mut Random) -> Scenario {
    let mut scenario = storm(random);
    scenario.poll = PollFaults {
        jitter: permille(random.between(20, 300) as u16),
        lost: permille(random.between(0, 150) as u16),
        late: permille(random.between(0, 200) as u16),
        late_max: random.span(ms(50), ms(700)),
        failed: permille(random.between(0, 100) as u16),
        took_min: Duration::from_micros(300),
        took_max: random.span(ms(1), ms(60)),
    };
    scenario
}

pub(super) fn blind(random: &mut Random) -> Scenario {
    let lasts = random.span(ms(300), s(20));
    let what = random.pick(&[What::NoReadings { lasts }, What::ReadErrors { lasts }]);
    let spec = if random.between(0, 1) == 0 { bnxt() } else { PortSpec::of("mlx5_core") };
    disturbed(random, spec, what)
}
