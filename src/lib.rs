//! The agent's modules in reading order, so that tests, benches and fuzz targets can link them.

pub mod cli;
pub mod config;
pub mod telemetry;
pub mod clock;
pub mod sys;
pub mod sources;
pub mod actuate;
pub mod node;
pub mod guard;
pub mod recorder;
pub mod replay;
pub mod export;
pub mod http;
