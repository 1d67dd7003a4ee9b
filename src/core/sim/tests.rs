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
