//! A simulated node, for tests, measurements and the demonstration: the same engine, in virtual time.
//!
//! ```text
//! scenario ─▶ world ─┬▶ peer ─▶ nic ─▶ polling ─Input─▶ Engine ─Effect─▶ acting ─▶ nic
//!                    └▶ faults, troubles                  │
//!                                     truth ─────▶ judge ◀┘
//! ```

pub mod random;
pub mod spans;
pub mod peer;
pub mod faults;
pub mod scenario;
mod tally;
mod counters;
pub mod nic;
pub mod path;
pub mod fabric;
pub mod judge;
pub mod world;
mod polling;
mod acting;
mod troubles;
mod truth;
mod builtin;
mod run;
pub mod promise;

pub use builtin::{scenario, scenarios};
pub use run::{RunReport, run, run_twice, run_with};
pub use scenario::Scenario;

#[cfg(test)]
mod tests;
