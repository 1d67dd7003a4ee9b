//! Runs a test on a real kernel in a network namespace of its own, as any user where that is allowed. A child started
//! under `unshare` is the same test binary, asked for the one test.

#[path = "../skip/mod.rs"]
pub(crate) mod skip;

use std::env;
use std::process::{Command, Output};

use skip::skip;

/// Set in the child.
const INSIDE: &str = "ROCEWATCH_TEST_IN_NAMESPACE";
const UNSHARE: [&str; 4] = ["--user", "--map-root-user", "--net", "--"];

/// Runs `body` in a fresh network namespace, or says why it cannot. `test` is the full name of the calling test.
pub(crate) fn in_namespace(test: &str, body: impl FnOnce()) {
    if env::var_os(INSIDE).is_some() {
        return body();
    }
    if let Some(reason) = obstacle() {
        return skip(test, &reason);
    }
    let program = env::current_exe().expect("a test knows its own program");
    let child = Command::new("unshare")
        .args(UNSHARE)
        .arg(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .expect("unshare was there a moment ago");
    let said = said_by(&child);
    assert!(child.status.success(), "in the namespace: {said}");
    // A name with a slip in it would run no test and succeed.
    assert!(said.contains("1 passed"), "no test called {test}: {said}");
}

/// Runs `ip` with `arguments`, separated by blanks.
pub(crate) fn ip(arguments: &str) {
    let run =
        Command::new("ip").args(arguments.split_whitespace()).output().expect("ip was there a moment ago");
    assert!(run.status.success(), "ip {arguments}: {}", said_by(&run));
}

/// What stands in the way of a namespace with a veth in it.
fn obstacle() -> Option<String> {
    let script = "ip link add v0 type veth peer name v1";
    let tried = Command::new("unshare").args(UNSHARE).args(["sh", "-c", script]).output();
    match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("no veth in a namespace: {}", said_by(&output).trim())),
        Err(error) => Some(format!("no unshare: {error}")),
    }
}

fn said_by(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat()
}
