//! The agent's modules in reading order, so that tests, benches and fuzz targets can link them.

pub mod cli;
pub mod agent;
pub mod config;
pub mod lines;
pub mod telemetry;
pub mod clock;
pub mod privileges;
pub mod sys;
pub mod sources;
pub mod node;
pub mod discovery;
pub mod notifications;
pub mod service;
mod inbox;
pub mod runtime;
pub mod actuate;
pub mod guard;
pub mod control;
pub mod recorder;
pub mod replay;
pub mod eventlog;
pub mod console;
pub mod export;
pub mod http;
pub mod alerts;
pub mod fleet;
pub mod dashboards;
