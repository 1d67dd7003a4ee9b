//! The only binary: parse, dispatch, exit code.

use std::process::ExitCode;

use clap::Parser;
use rocewatch::cli::{self, Cli};

fn main() -> ExitCode {
    // Help, version and usage errors are printed and end here, with the status that clap gives them: 0 or 2.
    let line = Cli::parse();
    match line.command.dispatch() {
        Ok(exit) => exit.into(),
        Err(error) => cli::report(&error).into(),
    }
}
