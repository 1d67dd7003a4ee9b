//! Runs the operator's command: no shell, the evidence on its standard input, ended after its time together with
//! everything it has started, or when whoever waits for it ends. One that cannot be ended is not waited for.

use std::fmt;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::Duration;

use rocewatch_core::action::ExecCall;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::clock;
use crate::service;
use crate::sys::oom;

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// A command that was killed dies at once, unless it hangs in the kernel; then nobody knows for how long.
pub(super) const DEATH_MAX: Duration = Duration::from_secs(1);
/// What is kept of a command's last words, in bytes: a few lines, and no page in an event.
const TAIL_MAX: usize = 1024;
/// Reads of its words in one look: a command that never ends to speak must not hold up the look at its time.
const READS_MAX: usize = 64;

/// Why a command has to be ended before its time: an answer ends the sentence "ended ...".
pub(super) type Ended<'a> = &'a dyn Fn() -> Option<&'static str>;

/// How a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// In one line, with the name of the program.
    pub(super) what: String,
    /// The end of what it wrote on standard error.
    pub(super) tail: String,
}

/// In one line, with the last that the command has said.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match self.tail.lines().rev().map(plain).find(|line| !line.is_empty()) {
            Some(line) => write!(f, ": {line}"),
            None => Ok(()),
        }
    }
}

/// A text without the characters that a terminal obeys, and without blanks around it.
pub(super) fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(shown).collect::<String>().trim().to_owned()
}

/// Runs `call` to its end, or until it is ended. What it has started in the background may go on after it, with its
/// standard error closed.
///
/// # Errors
/// If it cannot be started, ends with another status than 0, or takes longer than it may.
pub(super) fn run(call: &ExecCall, ended: Ended<'_>) -> Result<(), Failure> {
    let unspoken = |what: String| Failure { what, tail: String::new() };
    let Some((program, arguments)) = call.command.split_first() else {
        return Err(unspoken("no command".into()));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    // Its own, so that what it has started can be ended with it, and Ctrl-C at the terminal is the agent's affair.
    command.process_group(0);
    // Podman and systemd-notify among others would speak for the agent.
    for name in service::VARIABLES {
        command.env_remove(name);
    }
    // An agent may be spared when memory runs out; what a command takes is not to be spared with it.
    if oom::is_spared() {
        oom::begin_ordinary(&mut command);
    }
    let mut child = command.spawn().map_err(|error| unspoken(format!("{program}: {error}")))?;
    if let Some(mut stdin) = child.stdin.take() {
        let evidence = call.stdin.clone();
        // A command that does not read its input must not hold anything up: the pipe is written aside.
        let written = thread::Builder::new().name("exec-stdin".into()).spawn(move || {
            let _ = stdin.write_all(evidence.as_bytes());
        });
        drop(written);
    }
    let mut words = Words::of(child.stderr.take());
    let outcome = wait(child, call.timeout, ended, &mut words);
    words.take();
    outcome.map_err(|what| Failure { what: format!("{program}: {what}"), tail: words.tail() })
}

fn wait(mut child: Child, timeout: Duration, ended: Ended<'_>, words: &mut Words) -> Result<(), String> {
    let began = clock::now();
    loop {
        words.take();
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) => {}
            Err(error) => return Err(error.to_string()),
        }
        if let Some(why) = ended() {
            return Err(format!("{} {why}", end(child)));
        }
        if clock::now().since(began) >= timeout {
            return Err(format!("{} after {} ms", end(child), timeout.as_millis()));
        }
        thread::sleep(LOOK);
    }
}

/// Ends a command that runs, with all it has started; how that went. It has not been waited for, so its number is still
/// its own.
fn end(mut child: Child) -> &'static str {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if group.is_none_or(|group| kill_process_group(group, Signal::KILL).is_err()) {
        let _ = child.kill();
    }
    match await_death(child, DEATH_MAX) {
        Death::Seen => "ended",
        Death::Awaited => "could not be ended",
    }
}

/// What became of a command that was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    /// It is dead.
    Seen,
    /// It hangs in the kernel, as on a file system that does not answer. A thread waits for it.
    Awaited,
}

/// Waits for the end of a command that was killed, and no longer than `patience`: orders and jobs wait behind it.
fn await_death(mut child: Child, patience: Duration) -> Death {
    let began = clock::now();
    while let Ok(None) = child.try_wait() {
        if clock::now().since(began) >= patience {
            // Without the thread it stays in the list of processes, until this one ends.
            let _ = thread::Builder::new().name("exec-reaper".into()).spawn(move || child.wait());
            return Death::Awaited;
        }
        thread::sleep(LOOK);
    }
    Death::Seen
}

/// What a command says on standard error. Whoever holds the other end of the pipe, nobody waits for it.
struct Words {
    pipe: Option<ChildStderr>,
    last: Vec<u8>,
}

impl Words {
    fn of(pipe: Option<ChildStderr>) -> Self {
        // Words are worth less than the look at the time: a pipe that would have to be waited for is not read.
        let pipe = pipe.filter(|pipe| fcntl_setfl(pipe, OFlags::NONBLOCK).is_ok());
        Self { pipe, last: Vec::new() }
    }

    /// Takes what is there.
    fn take(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut read = [0; 4096];
        for _ in 0..READS_MAX {
            match pipe.read(&mut read) {
                Ok(count @ 1..) => self.last.extend_from_slice(&read[..count]),
                Ok(0) | Err(_) => break,
            }
            let surplus = self.last.len().saturating_sub(TAIL_MAX);
            self.last.drain(..surplus);
        }
    }

    fn tail(&self) -> String {
        let text = String::from_utf8_lossy(&self.last);
        // A letter that was cut becomes a sign of three bytes.
        text.trim_start_matches(char::REPLACEMENT_CHARACTER).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, kill_process, pidfd_open, test_kill_process};

    use super::*;

    const NEVER: fn() -> Option<&'static str> = || None;

    fn call(command: &[&str], millis: u64, stdin: &str) -> ExecCall {
        ExecCall {
            command: command.iter().map(|&part| part.to_owned()).collect(),
            timeout: Duration::from_millis(millis),
            stdin: stdin.into(),
        }
    }

    #[test]
    fn a_command_gets_the_evidence_on_its_standard_input() {
        assert_eq!(run(&call(&["grep", "-q", "storm"], 5000, "a storm"), &NEVER), Ok(()));
        assert!(run(&call(&["grep", "-q", "storm"], 5000, "nothing"), &NEVER).is_err());
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended() {
        let error = run(&call(&["sleep", "60"], 50, ""), &NEVER).unwrap_err();
        assert_eq!(error.to_string(), "sleep: ended after 50 ms");
    }

    #[test]
    fn a_command_that_does_not_die_holds_nothing_up_and_is_waited_for_all_the_same() {
        // No test can have a process hang in the kernel: this one was simply not killed.
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        assert_eq!(await_death(child, Duration::from_millis(30)), Death::Awaited);
        kill_process(pid, Signal::KILL).unwrap();
        let began = clock::now();
        // A process that was waited for has no number any more.
        while test_kill_process(pid).is_ok() {
            assert!(clock::now().since(began) < Duration::from_secs(30), "nobody waits for it");
            thread::sleep(LOOK);
        }
    }

    #[test]
    fn what_a_command_has_started_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 60 & echo $! > {}; wait", file.display());
        run(&call(&["sh", "-c", &script], 500, ""), &NEVER).unwrap_err();
        let pid: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        // Gone, or dying: a killed process is dead once the kernel gets to it, and its descriptor tells when.
        if let Ok(pidfd) = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()) {
            let long = Timespec { tv_sec: 30, tv_nsec: 0 };
            assert_eq!(poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&long)), Ok(1), "it still runs");
        }
    }

    #[test]
    fn a_command_begins_as_ordinary_as_any_when_memory_runs_out() {
        let own = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap();
        // More than before needs no privilege, and neither does to go back to that.
        std::fs::write("/proc/self/oom_score_adj", "1").unwrap();
        let mut command = Command::new("cat");
        command.arg("/proc/self/oom_score_adj");
        oom::begin_ordinary(&mut command);
        let said = command.output().unwrap();
        std::fs::write("/proc/self/oom_score_adj", own).unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "0\n");
    }

    #[test]
    fn a_command_that_is_not_there_is_named() {
        let error = run(&call(&["/no/such/hook"], 50, ""), &NEVER).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/hook: "), "{error}");
    }

    #[test]
    fn a_command_that_does_not_read_holds_nothing_up() {
        let much = "x".repeat(1 << 20);
        assert_eq!(run(&call(&["true"], 5000, &much), &NEVER), Ok(()));
    }

    #[test]
    fn a_command_that_runs_ends_with_the_agent() {
        let error = run(&call(&["sleep", "60"], 60_000, ""), &|| Some("with the agent")).unwrap_err();
        assert_eq!(error.to_string(), "sleep: ended with the agent");
    }

    #[test]
    fn the_last_that_a_command_has_said_stands_behind_its_status() {
        let script = "echo first >&2; printf 'no route to \\033[1mhost\\n\\n' >&2; exit 3";
        let error = run(&call(&["sh", "-c", script], 5000, ""), &NEVER).unwrap_err();
        assert_eq!(error.to_string(), "sh: exit status: 3: no route to  [1mhost");
        assert!(error.tail.starts_with("first\n"), "{error:?}");
    }

    #[test]
    fn of_many_words_the_last_are_kept() {
        let script = "yes a long line of words | head -c 1000000 >&2; echo the end >&2; exit 1";
        let error = run(&call(&["sh", "-c", script], 20_000, ""), &NEVER).unwrap_err();
        assert!(error.tail.len() <= TAIL_MAX && error.tail.ends_with("the end\n"), "{error:?}");
    }

    #[test]
    fn what_goes_on_in_the_background_with_the_pipe_in_its_hand_is_not_waited_for() {
        let began = clock::now();
        let error =
            run(&call(&["sh", "-c", "sleep 20 & echo gone >&2; exit 4"], 15_000, ""), &NEVER).unwrap_err();
        assert_eq!(error.to_string(), "sh: exit status: 4: gone");
        assert!(clock::now().since(began) < Duration::from_secs(10));
    }
}
