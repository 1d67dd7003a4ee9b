//! Leaving out a test that the machine cannot run: never in silence, and not at all where nothing may be left out.

use std::env;

/// Set to 1 where all tools are known to be installed.
const REQUIRE_ALL: &str = "ROCEWATCH_REQUIRE_ALL";

/// Says that `test` is left out because of `reason`.
///
/// # Panics
///
/// With `ROCEWATCH_REQUIRE_ALL=1`.
pub(crate) fn skip(test: &str, reason: &str) {
    assert!(
        env::var_os(REQUIRE_ALL).is_none_or(|value| value != "1"),
        "{test} must not be skipped: {reason}"
    );
    println!("skipping {test}: {reason}");
}
