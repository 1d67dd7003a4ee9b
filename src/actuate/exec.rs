//! Runs the operator's command: no shell, the evidence on its standard input, ended after its time together with
//! everything it has started, or when the agent ends.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rocewatch_core::action::ExecCall;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio_util::sync::CancellationToken;

use crate::clock;

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Runs `call` to its end, or until `stop`.
///
/// # Errors
/// If it cannot be started, ends with another status than 0, or takes longer than it may.
pub(super) fn run(call: &ExecCall, stop: &CancellationToken) -> Result<(), String> {
    let Some((program, arguments)) = call.command.split_first() else { return Err("no command".into()) };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Its own, so that what it has started can be ended with it, and Ctrl-C at the terminal is the agent's affair.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let evidence = call.stdin.clone();
        // A command that does not read its input must not hold anything up: the pipe is written aside.
        let written = thread::Builder::new().name("exec-stdin".into()).spawn(move || {
            let _ = stdin.write_all(evidence.as_bytes());
        });
        drop(written);
    }
    wait(&mut child, program, call.timeout, stop)
}

fn wait(child: &mut Child, program: &str, timeout: Duration, stop: &CancellationToken) -> Result<(), String> {
    let began = clock::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{program}: {status}")),
            Ok(None) if stop.is_cancelled() => {
                end(child);
                return Err(format!("{program}: ended with the agent"));
            }
            Ok(None) if clock::now().since(began) < timeout => thread::sleep(LOOK),
            Ok(None) => {
                end(child);
                return Err(format!("{program}: ended after {} ms", timeout.as_millis()));
            }
            Err(error) => return Err(format!("{program}: {error}")),
        }
    }
}

/// Ends a command that runs, with all it has started. It has not been waited for, so its number is still its own.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if group.is_none_or(|group| kill_process_group(group, Signal::KILL).is_err()) {
        let _ = child.kill();
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, pidfd_open};

    use super::*;

    fn call(command: &[&str], millis: u64, stdin: &str) -> ExecCall {
        ExecCall {
            command: command.iter().map(|&part| part.to_owned()).collect(),
            timeout: Duration::from_millis(millis),
            stdin: stdin.into(),
        }
    }

    #[test]
    fn a_command_gets_the_evidence_on_its_standard_input() {
        assert_eq!(run(&call(&["grep", "-q", "storm"], 5000, "a storm"), &CancellationToken::new()), Ok(()));
        assert!(run(&call(&["grep", "-q", "storm"], 5000, "nothing"), &CancellationToken::new()).is_err());
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended() {
        let error = run(&call(&["sleep", "60"], 50, ""), &CancellationToken::new()).unwrap_err();
        assert_eq!(error, "sleep: ended after 50 ms");
    }

    #[test]
    fn what_a_command_has_started_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 60 & echo $! > {}; wait", file.display());
        run(&call(&["sh", "-c", &script], 500, ""), &CancellationToken::new()).unwrap_err();
        let pid: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        // Gone, or dying: a killed process is dead once the kernel gets to it, and its descriptor tells when.
        if let Ok(pidfd) = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()) {
            let long = Timespec { tv_sec: 30, tv_nsec: 0 };
            assert_eq!(poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&long)), Ok(1), "it still runs");
        }
    }

    #[test]
    fn a_command_that_is_not_there_is_named() {
        let error = run(&call(&["/no/such/hook"], 50, ""), &CancellationToken::new()).unwrap_err();
        assert!(error.starts_with("/no/such/hook: "), "{error}");
    }

    #[test]
    fn a_command_that_does_not_read_holds_nothing_up() {
        let much = "x".repeat(1 << 20);
        assert_eq!(run(&call(&["true"], 5000, &much), &CancellationToken::new()), Ok(()));
    }

    #[test]
    fn a_command_that_runs_ends_with_the_agent() {
        let stop = CancellationToken::new();
        stop.cancel();
        let error = run(&call(&["sleep", "60"], 60_000, ""), &stop);
        assert_eq!(error, Err("sleep: ended with the agent".into()));
    }
}
