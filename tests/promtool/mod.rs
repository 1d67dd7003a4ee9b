//! Prometheus's own checks, where they are installed.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::io::Write;
use std::process::{Command, Stdio};

use crate::skip;

/// `promtool check metrics` has nothing to say about a page.
pub(crate) fn check_metrics(page: &str) {
    let spawned = Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).spawn();
    let mut promtool = match spawned {
        Ok(promtool) => promtool,
        Err(error) => return skip::skip("promtool check metrics", &format!("no promtool: {error}")),
    };
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    assert!(promtool.wait().unwrap().success());
}
