//! What the kernel thinks of a process when memory runs out (`/proc/PID/oom_score_adj`, proc(5)).

#![allow(unsafe_code, reason = "what is done between fork and exec has no safe form")]

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;

use rustix::fs::{Mode, OFlags, open};

const ADJUSTMENT: &str = "/proc/self/oom_score_adj";

/// Whether this process is spared more than others.
#[must_use]
pub fn is_spared() -> bool {
    fs::read_to_string(ADJUSTMENT).is_ok_and(|text| text.trim_start().starts_with('-'))
}

/// Has a command begin as ordinary as any process. To be spared less needs no privilege. Where it cannot be told, the
/// command begins all the same.
pub fn begin_ordinary(command: &mut impl CommandExt) {
    let ordinary = || -> io::Result<()> {
        if let Ok(file) = open(ADJUSTMENT, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
            let _ = rustix::io::write(&file, b"0");
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls alone, on texts that are constants: `open` copies a
    // path as short as this to the stack. It allocates nothing, takes no lock and cannot panic.
    unsafe { command.pre_exec(ordinary) };
}
