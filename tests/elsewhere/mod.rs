//! A second network namespace, to which a test can move a device.

use std::io::Read;
use std::process::{Child, Command, Stdio};

/// The namespace, as long as this lives.
pub(crate) struct Elsewhere(Child);

impl Elsewhere {
    pub(crate) fn new() -> Self {
        // Says a line once it is there, and ends with its input.
        let mut child = Command::new("unshare")
            .args(["--net", "--", "sh", "-c", "echo there; read _"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare was there a moment ago");
        let mut line = [0; 6];
        let stdout = child.stdout.as_mut().expect("its output is a pipe");
        stdout.read_exact(&mut line).expect("it says a line once it is there");
        Self(child)
    }

    /// A process in it, by which `ip` finds it.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
