//! The agent's modules in reading order, so that tests, benches and fuzz targets can link them.

pub mod clock;
pub mod sys;
