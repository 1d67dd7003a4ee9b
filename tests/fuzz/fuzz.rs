//! Feeds one way in with what libFuzzer makes up. `ROCEWATCH_FUZZ_TARGET` says which; `run` builds and starts it.

#![no_main]

#[path = "../hostile/mod.rs"]
mod hostile;
#[path = "../web/mod.rs"]
#[allow(dead_code, reason = "only the server is needed")]
mod web;

use std::env;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use hostile::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let wanted = env::var("ROCEWATCH_FUZZ_TARGET").unwrap_or_default();
    let names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    let found = TARGETS.iter().find(|target| target.name == wanted);
    found.unwrap_or_else(|| panic!("ROCEWATCH_FUZZ_TARGET is {wanted:?}, expected one of {}", names()))
});

/// Writes what the target understands where libFuzzer looks for its first inputs.
fn sow() {
    if let Some(folder) = env::var_os("ROCEWATCH_FUZZ_SEEDS") {
        for (number, seed) in (TARGET.seeds)().iter().enumerate() {
            fs::write(Path::new(&folder).join(format!("seed-{number}")), seed).expect("the folder is there");
        }
    }
}

fuzz_target!(init: sow(), |bytes: &[u8]| (TARGET.feed)(bytes));
