use super::*;

/// The seeds of the short run; longer ones are the command's.
const SEEDS: u64 = 6;

#[test]
fn no_named_scenario_breaks_a_promise() {
    let mut told = Vec::new();
    for name in scenarios() {
        for seed in 0..SEEDS {
            let scenario = scenario(name, seed).unwrap();
            let report = run(&scenario, seed);
            told.extend(report.violations.iter().map(|violation| format!("{name}: {violation}")));
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

#[test]
fn one_seed_gives_one_run() {
    for name in ["random", "restart-in-action", "bad-readings", "many-queues"] {
        let report = run_twice(&scenario(name, 5).unwrap(), 5);
        assert_eq!(report.violations, [], "{name}");
    }
}

#[test]
fn a_world_goes_the_same_way_in_small_steps_as_in_one() {
    let scenario = scenario("two-ports", 2).unwrap();
    let mut whole = Vec::new();
    let mut world = world::World::new(scenario.clone(), 9);
    world
        .advance(scenario.end(), &mut |at, input, effects| whole.push((at, input.clone(), effects.to_vec())));
    let mut pieces = Vec::new();
    let mut world = world::World::new(scenario.clone(), 9);
    while world.now() < scenario.end() {
        let next = (world.now() + std::time::Duration::from_millis(17)).min(scenario.end());
        world.advance(next, &mut |at, input, effects| pieces.push((at, input.clone(), effects.to_vec())));
    }
    assert!(whole.len() > 1000);
    assert_eq!(whole, pieces);
}

#[test]
fn a_scenario_is_read_as_it_is_written() {
    for name in scenarios() {
        let written = scenario(name, 3).unwrap();
        let text = serde_json::to_string(&written).unwrap();
        let settings = written.settings.clone();
        let read = Scenario { settings, ..serde_json::from_str(&text).unwrap() };
        assert_eq!(read, written, "{name}");
    }
    let short = r#"{"pauses": [{"queue": "3", "pattern": "unbroken", "start": "5s", "length": "400ms"}]}"#;
    let read: Scenario = serde_json::from_str(short).unwrap();
    assert_eq!(read.ports.len(), 1);
    let wrong = serde_json::from_str::<Scenario>(r#"{"pauzes": []}"#).unwrap_err();
    assert!(wrong.to_string().contains("pauzes"), "{wrong}");
}

#[test]
fn a_scenario_that_nobody_knows_is_none() {
    assert_eq!(scenario("no-such-thing", 1), None);
}

#[test]
fn the_scenarios_find_storms_act_and_refuse() {
    let report = |name: &str| run(&scenario(name, 1).unwrap(), 1);
    assert_eq!(report("idle").events.get("storm_detected"), None);
    assert_eq!(report("slow-receiver").plans, 0);
    let storm = report("storm");
    assert!(storm.plans > 0 && storm.undos > 0, "{storm:?}");
    assert!(report("frames-only").events["action_vetoed"] > 0);
    assert!(report("crash-loop").events["storm_detected"] > 2);
}
