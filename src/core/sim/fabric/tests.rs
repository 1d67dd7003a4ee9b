use super::*;
use crate::units::Direction::{Rx, Tx};

const SEED: u64 = 7;
const SECONDS: u64 = 20;

/// A fabric of so many hosts, after `SECONDS` of `ailment`.
fn after(hosts: usize, ailment: Ailment) -> Fabric {
    let mut fabric = Fabric::new(Shape::of(hosts).unwrap(), SEED);
    (0..SECONDS * 200).for_each(|_| fabric.step(ailment));
    fabric
}

/// The share of the time that each host was paused, or has paused, in thousandths.
fn shares(fabric: &Fabric, direction: Direction) -> Vec<u64> {
    let hosts = 0..fabric.shape.hosts();
    hosts.map(|host| fabric.paused(host, direction).as_millis() as u64 / SECONDS).collect()
}

fn mean(shares: &[u64]) -> u64 {
    shares.iter().sum::<u64>() / shares.len() as u64
}

fn marks(fabric: &Fabric) -> (u64, u64) {
    let all = || fabric.tallies.iter().map(|tally| tally.congestion);
    (all().map(|c| c.marked.iter().sum::<u64>()).sum(), all().map(|c| c.cnp_sent).sum())
}

#[test]
fn a_healthy_fabric_marks_little_pauses_hardly_and_no_host_pauses_it() {
    for hosts in [5, 24, 200] {
        let fabric = after(hosts, Ailment::None);
        let (marked, cnps) = marks(&fabric);
        assert!(marked > 0 && cnps > 0 && fabric.marked().get() < 20, "{hosts}: {:?}", fabric.marked());
        assert!(mean(&shares(&fabric, Rx)) < 20, "{hosts}: {:?}", shares(&fabric, Rx));
        assert_eq!(shares(&fabric, Tx), vec![0; hosts]);
    }
}

#[test]
fn a_slow_host_alone_sends_pause_and_the_others_of_its_leaf_are_paused() {
    for hosts in [5, 24, 200] {
        let slow = 1;
        let fabric = after(hosts, Ailment::SlowHost(slow));
        let (rx, tx) = (shares(&fabric, Rx), shares(&fabric, Tx));
        assert!(tx[slow] > 900, "{hosts}: {tx:?}");
        assert!(tx.iter().enumerate().all(|(host, share)| host == slow || *share == 0), "{hosts}: {tx:?}");
        let others = fabric.shape.members(fabric.shape.leaf(slow)).filter(|host| *host != slow);
        assert!(others.clone().count() > 0 && others.clone().all(|host| rx[host] > 800), "{hosts}: {rx:?}");
    }
}

#[test]
fn pause_of_a_slow_host_spreads_beyond_its_leaf_and_not_over_all_of_a_large_fabric() {
    let fabric = after(200, Ailment::SlowHost(1));
    let rx = shares(&fabric, Rx);
    let beyond = rx[8..].iter().filter(|share| **share > 500).count();
    assert!((3..100).contains(&beyond), "{beyond}: {rx:?}");
}

#[test]
fn in_a_storm_of_the_fabric_many_are_paused_and_no_host_has_begun_it() {
    for hosts in [5, 24, 200] {
        let fabric = after(hosts, Ailment::StuckSpine(0));
        let rx = shares(&fabric, Rx);
        assert_eq!(shares(&fabric, Tx), vec![0; hosts]);
        assert!(rx.iter().filter(|share| **share > 900).count() * 2 > hosts, "{hosts}: {rx:?}");
    }
}

#[test]
fn where_nothing_marks_nobody_slows_down_and_the_load_is_paused_instead() {
    for hosts in [5, 24, 200] {
        let (marked, unmarked) = (after(hosts, Ailment::None), after(hosts, Ailment::Unmarked));
        assert_eq!(marks(&unmarked), (0, 0));
        assert!(mean(&shares(&unmarked, Rx)) > 10, "{hosts}: {:?}", shares(&unmarked, Rx));
        assert!(mean(&shares(&unmarked, Rx)) > 2 * mean(&shares(&marked, Rx)), "{hosts}");
        assert_eq!(shares(&unmarked, Tx), vec![0; hosts]);
    }
}

#[test]
fn a_fabric_recovers_when_its_fault_is_over() {
    for ailment in [Ailment::SlowHost(1), Ailment::StuckSpine(1), Ailment::Unmarked] {
        let mut fabric = after(24, ailment);
        (0..200).for_each(|_| fabric.step(Ailment::None));
        let before = fabric.clone();
        (0..SECONDS * 200).for_each(|_| fabric.step(Ailment::None));
        let hosts = 0..fabric.shape.hosts();
        let paused = hosts.map(|host| fabric.paused(host, Rx) - before.paused(host, Rx)).max().unwrap();
        assert!(paused < Duration::from_secs(1), "{ailment:?}: {paused:?}");
    }
}

#[test]
fn a_seed_makes_one_run_and_another_seed_another() {
    let run = |seed| {
        let mut fabric = Fabric::new(Shape::of(24).unwrap(), seed);
        (0..2000).for_each(|_| fabric.step(Ailment::SlowHost(3)));
        fabric.tallies
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn what_a_link_has_brought_waits_for_the_next_one_and_nothing_is_lost() {
    let mut fabric = Fabric::new(Shape::of(24).unwrap(), SEED);
    for step in 0..4000 {
        fabric.step(if step % 1000 < 500 { Ailment::SlowHost(2) } else { Ailment::StuckSpine(1) });
        let mut waiting = vec![0; fabric.links.len()];
        for flow in &fabric.flows {
            let links = (0..LAYERS).filter_map(|layer| Some((layer, flow.link(layer)?))).collect::<Vec<_>>();
            for pair in links.windows(2) {
                waiting[pair[0].1] += flow.waiting[pair[1].0];
            }
        }
        for (link, waiting) in waiting.iter().enumerate().take(fabric.shape.down(0)) {
            assert_eq!(fabric.links[link].behind, *waiting, "link {link} in step {step}");
        }
    }
}

#[test]
fn a_link_stops_soon_enough_that_buffers_stay_small() {
    let fabric = after(24, Ailment::SlowHost(1));
    assert!(fabric.links.iter().all(|link| link.behind <= 2 * link.capacity));
}

#[test]
fn faults_take_turns_and_leave_the_fabric_healthy_between() {
    let seconds = Duration::from_secs;
    let faults = vec![Fault::SlowHost, Fault::EcnOff];
    let mut schedule =
        Schedule { faults, start: seconds(30), length: seconds(60), every: Some(seconds(180)) };
    let fault = |schedule: &Schedule, at| schedule.at(seconds(at)).map(|bout| bout.fault);
    let seen = [0, 29, 30, 89, 90, 210, 390].map(|at| fault(&schedule, at));
    let (slow, ecn) = (Some(Fault::SlowHost), Some(Fault::EcnOff));
    assert_eq!(seen, [None, None, slow, slow, None, ecn, slow]);
    schedule.every = None;
    assert_eq!([30, 90, 150, 390].map(|at| fault(&schedule, at)), [slow, ecn, None, None]);
    schedule.faults.clear();
    assert_eq!(fault(&schedule, 30), None);
}

#[test]
fn a_fault_that_comes_again_strikes_another_host() {
    let bout = |round| Bout { fault: Fault::SlowHost, round, into: Duration::ZERO };
    let struck = (0..9).map(|round| Ailment::of(Some(bout(round)), 200, SEED)).collect::<Vec<_>>();
    assert!(struck.iter().any(|ailment| *ailment != struck[0]));
    assert_eq!(Ailment::of(Some(bout(3)), 200, SEED), struck[3]);
}

#[test]
fn a_fabric_has_a_host_and_not_too_many() {
    assert_eq!(Shape::of(0), Err(TooManyHosts(0)));
    assert!(Shape::of(HOSTS_MAX).is_ok() && Shape::of(HOSTS_MAX + 1).is_err());
    for hosts in 1..100 {
        let fabric = Fabric::new(Shape::of(hosts).unwrap(), SEED);
        let shape = fabric.shape;
        assert_eq!(fabric.links.len(), shape.down(hosts));
        assert!(hosts == 1 || shape.leaves() > 1, "{hosts}");
        assert_eq!((0..shape.leaves()).map(|leaf| shape.members(leaf).len()).sum::<usize>(), hosts);
        assert!(fabric.flows.iter().all(|flow| flow.from != flow.to && flow.to < hosts));
    }
}
