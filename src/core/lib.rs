//! The deciding half of rocewatch, in reading order.
//!
//! Everything that can change a decision enters as an input with its time; everything wanted leaves as an effect.
//! Nothing here reads a clock, a file or a socket, draws a random number, starts a thread, logs, or compares
//! floating-point numbers, so that a live run, a replay and a simulation of the same inputs end the same.

#![forbid(unsafe_code)]
#![warn(clippy::float_arithmetic, clippy::disallowed_types, clippy::disallowed_methods)]

pub mod units;
pub mod ids;
pub mod catalog;
pub mod action;
pub mod drivers;
pub mod binding;
pub mod settings;
pub mod delta;
pub mod evidence;
pub mod phase;
pub mod trigger;
pub mod watchdog;
pub mod policy;
pub mod durable;
pub mod nvmf;
pub mod event;
pub mod input;
pub mod engine;
pub mod snapshot;
pub mod record;
pub mod sim;
pub mod doc;
