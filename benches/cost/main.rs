//! What the agent costs a node: processor time and memory of reading eight ports, and of being scraped.
//! `cargo bench --bench cost`; with `-- short` a look of some seconds.
//!
//! Each figure stands beside that of a peer measured in the same run: the same reads without an agent, and Debian's
//! `prometheus-node-exporter` on the same files. Two aims are printed with each, the one that is meant and the one
//! whose miss fails the run: on a machine with other work, only a wide margin says something.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark may")]

mod client;
mod ports;
mod process;
mod scrape;
mod tree;

#[path = "../../tests/skip/mod.rs"]
mod skip;

use std::env;
use std::process::ExitCode;
use std::time::Duration;

/// How long is measured.
#[derive(Clone, Copy)]
struct Length {
    /// The agent at work.
    agent: Duration,
    /// The peer, before and after it.
    peer: Duration,
    /// Rounds of scrapes.
    rounds: usize,
}

/// Memory is full only after a minute and a half: so much is kept for incidents.
const LONG: Length = Length { agent: Duration::from_secs(100), peer: Duration::from_secs(10), rounds: 100 };
const SHORT: Length = Length { agent: Duration::from_secs(6), peer: Duration::from_secs(3), rounds: 20 };

/// An aim and how it was met.
struct Aim {
    what: String,
    measured: f64,
    meant: f64,
    /// Beyond this the run fails.
    most: f64,
    unit: &'static str,
}

impl Aim {
    /// Prints it; whether the run may go on.
    fn is_met(&self) -> bool {
        let Self { what, measured, meant, most, unit } = self;
        let verdict = if measured <= meant {
            "met"
        } else if measured <= most {
            "MISSED, within the margin"
        } else {
            "MISSED"
        };
        println!("  {what}: {measured:.3}{unit}, aim {meant}{unit}, fails above {most}{unit}: {verdict}");
        measured <= most
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let length = if has("short") { SHORT } else { LONG };
    if has(ports::SIMULATED) {
        return ports::run_simulated_agent();
    }
    let (aims, inside) = if has(ports::INSIDE) {
        (ports::real_ports(length), true)
    } else {
        let inside = ports::in_namespace(has("short"));
        let aims = [ports::simulated_ports(length), scrape::scrapes(length)];
        (aims.into_iter().flatten().collect(), inside)
    };
    // All are printed, whichever is missed.
    let met: Vec<bool> = aims.iter().map(Aim::is_met).collect();
    if inside && !met.contains(&false) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
