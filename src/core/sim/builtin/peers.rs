//! What peers do to queues, on ports that work.

use super::{a_storm, acting, acting_on_links, bnxt, ms, pair, prio, s, three, with_port};
use crate::action::{ActionKind, Disruption, PauseConfig};
use crate::settings::Settings;
use crate::sim::faults::permille;
use crate::sim::peer::Pattern;
use crate::sim::random::Random;
use crate::sim::scenario::{Load, PauseSpec, PortSpec, Scenario};
use crate::units::{Direction, PriorityMask, Queue};
use std::time::Duration;

pub(super) fn idle(random: &mut Random) -> Scenario {
    let mut scenario = with_port(PortSpec::of("mlx5_core"), Settings::default());
    scenario.ports[0].load.clear();
    scenario.ports.push(bnxt());
    scenario.poll.jitter = permille(random.between(0, 300) as u16);
    scenario
}

pub(super) fn storm_without_demand(random: &mut Random) -> Scenario {
    let mut scenario = with_port(bnxt(), acting(ActionKind::PfcOff, Disruption::Priority));
    scenario.ports[0].load.clear();
    scenario.pauses = vec![a_storm(random)];
    scenario
}

pub(super) fn storm(random: &mut Random) -> Scenario {
    let spec = random.pick(&["mlx5_core", "bnxt_en"]);
    let spec = if spec == "bnxt_en" { bnxt() } else { PortSpec::of(spec) };
    let mut scenario = with_port(spec, acting_on_links(random));
    scenario.pauses = vec![a_storm(random)];
    scenario.poll.jitter = permille(random.between(0, 300) as u16);
    scenario
}

pub(super) fn short_storms(random: &mut Random) -> Scenario {
    let mut scenario = with_port(bnxt(), acting(ActionKind::PfcOff, Disruption::Priority));
    let length = random.span(ms(20), ms(400));
    let every = length * 2 + random.span(ms(0), ms(800));
    scenario.pauses = vec![PauseSpec::rx(three(), Pattern::Unbroken, s(2), length).every(every)];
    scenario
}

pub(super) fn choppy(random: &mut Random) -> Scenario {
    let mut settings = acting(ActionKind::PfcOff, Disruption::Priority);
    settings.rx.choppy_acts = random.between(0, 1) == 1;
    let mut scenario = with_port(bnxt(), settings);
    let duty = permille(random.between(780, 990) as u16);
    let pattern = Pattern::of_duty(duty, random.span(ms(1), ms(60)));
    scenario.pauses = vec![PauseSpec::rx(three(), pattern, s(3), random.span(s(2), s(20)))];
    scenario
}

pub(super) fn xoff_to_xon(random: &mut Random) -> Scenario {
    let mut scenario = with_port(bnxt(), acting(ActionKind::PfcOff, Disruption::Priority));
    let first = a_storm(random);
    let releases = Pattern::Releases { per_second: random.between(3000, 20_000) };
    scenario.pauses =
        vec![first, PauseSpec::rx(three(), releases, first.start + first.length, random.span(s(5), s(12)))];
    scenario
}

pub(super) fn xon_storm(random: &mut Random) -> Scenario {
    let mut scenario = with_port(PortSpec::of("mlx5_core"), acting_on_links(random));
    let releases = Pattern::Releases { per_second: random.between(1000, 50_000) };
    scenario.pauses = vec![PauseSpec::rx(three(), releases, s(3), s(12))];
    scenario
}

pub(super) fn slow_receiver(random: &mut Random) -> Scenario {
    let mut scenario = with_port(PortSpec::of("mlx5_core"), acting_on_links(random));
    let pattern = Pattern::of_duty(
        permille(random.between(50, 400) as u16),
        random.span(Duration::from_micros(200), ms(20)),
    );
    let pause = PauseSpec::rx(three(), pattern, s(2), s(80));
    let direction = random.pick(&[Direction::Rx, Direction::Tx]);
    scenario.pauses = vec![PauseSpec { direction, ..pause }];
    scenario.lasts = s(100);
    scenario
}

pub(super) fn incast(random: &mut Random) -> Scenario {
    let mut scenario = with_port(bnxt(), acting(ActionKind::PfcOff, Disruption::Priority));
    let pattern = Pattern::bursts(random.span(ms(1), ms(20)), random.span(ms(5), ms(50)));
    let train = PauseSpec::rx(three(), pattern, s(2), random.span(ms(100), s(3)));
    scenario.pauses = vec![train.every(random.span(s(3), s(6)))];
    scenario
}

pub(super) fn two_priorities(random: &mut Random) -> Scenario {
    let mut spec = if random.between(0, 1) == 0 { bnxt() } else { PortSpec::of("mlx5_core") };
    spec.pfc = PriorityMask(0b0001_1000);
    spec.load.push(Load { priority: 4, rx: 300_000, tx: 250_000 });
    let mut scenario = with_port(spec, acting_on_links(random));
    let first = a_storm(random);
    let later = PauseSpec { queue: prio(4), start: first.start + random.span(ms(0), s(2)), ..first };
    scenario.pauses = vec![first, PauseSpec { length: random.span(s(1), s(15)), ..later }];
    scenario
}

pub(super) fn two_ports(random: &mut Random) -> Scenario {
    let mut scenario = pair(random);
    scenario.ports.extend([PortSpec::of("mlx5_core"), PortSpec::of("mlx5_core"), bnxt()]);
    let first = a_storm(random);
    let second = PauseSpec { start: first.start + random.span(ms(0), s(4)), ..a_storm(random) };
    scenario.pauses = vec![first.on(0), second.on(2), a_storm(random).on(1)];
    scenario
}

pub(super) fn sent_storm(random: &mut Random) -> Scenario {
    let kind = random.pick(&[ActionKind::PreventionTimeout, ActionKind::PfcOff]);
    let mut settings = acting_on_links(random);
    settings.tx.actions = vec![kind];
    settings.prevention_timeout_ms = random.pick(&[100, 200, 0xffff, 50]);
    let mut scenario = with_port(PortSpec::of("mlx5_core"), settings);
    scenario.ports[0].prevention_timeout_ms = random.pick(&[Some(8000), Some(0), None]);
    let storm = a_storm(random);
    scenario.pauses = vec![PauseSpec { direction: Direction::Tx, ..storm }];
    scenario.lasts = s(60);
    scenario
}

pub(super) fn global_pause(random: &mut Random) -> Scenario {
    let mut spec = PortSpec::of("mlx5_core");
    spec.pfc = PriorityMask(0);
    spec.pause = PauseConfig { rx: true, tx: true };
    let mut scenario = with_port(spec, acting(ActionKind::PauseOff, Disruption::Priority));
    let direction = random.pick(&[Direction::Rx, Direction::Tx]);
    scenario.pauses = vec![PauseSpec { queue: Queue::Global, direction, ..a_storm(random) }];
    scenario
}

pub(super) fn frames_only(random: &mut Random) -> Scenario {
    let mut spec = PortSpec::of("ice");
    spec.pfc = PriorityMask(0b0001_1000);
    let mut settings = acting_on_links(random);
    settings.tx.actions = vec![ActionKind::PfcOff];
    let mut scenario = with_port(spec, settings);
    let direction = random.pick(&Direction::ALL);
    scenario.pauses = vec![PauseSpec { direction, ..a_storm(random) }];
    scenario
}

pub(super) fn shared_queue(random: &mut Random) -> Scenario {
    let mut spec = bnxt();
    spec.shared = PriorityMask(0b0000_1100);
    let mut scenario = with_port(spec, acting(ActionKind::PfcOff, Disruption::Priority));
    scenario.pauses = vec![a_storm(random)];
    scenario
}

pub(super) fn many_queues(random: &mut Random) -> Scenario {
    let mut spec = if random.between(0, 2) == 0 { bnxt() } else { PortSpec::of("mlx5_core") };
    spec.pfc = PriorityMask(0xff);
    spec.load = (0..8).map(|priority| Load { priority, rx: 100_000, tx: 100_000 }).collect();
    let mut settings = acting_on_links(random);
    settings.rx.hold_off = s(2);
    let mut scenario = Scenario { ports: vec![spec; 8], settings, lasts: s(40), ..Scenario::default() };
    let (start, length) = (random.span(s(2), s(4)), random.span(s(5), s(20)));
    for port in 0..8 {
        for priority in 0..8 {
            let late = random.span(ms(0), ms(50));
            let pause = PauseSpec::rx(prio(priority), Pattern::Unbroken, start + late, length);
            scenario.pauses.push(pause.on(port));
        }
    }
    if random.between(0, 1) == 1 {
        // Half of the ports and fewer: the node as a whole is fine.
        scenario.ports.extend(vec![PortSpec::of("mlx5_core"); 10]);
        scenario.settings.ports_mitigated_max = random.between(1, 20) as u32;
    }
    scenario
}
