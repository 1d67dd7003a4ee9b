//! The only binary: parse, set up telemetry, dispatch, exit code.

fn main() {}
