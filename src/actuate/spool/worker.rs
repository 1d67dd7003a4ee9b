//! The worker's side: takes one job after another, runs its own command for it, answers, and cleans up.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rocewatch_core::action::ExecCall;
use rocewatch_core::units::MonoTime;
use tokio_util::sync::CancellationToken;

use super::folder::{Author, Folder, FolderError};
use super::{Answer, FORMAT, GRACE, Job, Name, Stage};
use crate::actuate::exec::{self, Failure};
use crate::clock;

/// How often a job is looked for. It is little beside what a hook takes.
const LOOK: Duration = Duration::from_millis(100);
/// An answer that nobody has fetched for so long after its deadline is not waited for any more.
const KEPT: Duration = Duration::from_secs(60);

/// Why the worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The folder is none that may be worked in.
    #[error("{0}")]
    Refused(String),
    /// The folder cannot be worked in.
    #[error("work off spool {path}")]
    Failed {
        /// The folder.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What the worker runs.
#[derive(Debug)]
pub(super) struct Orders<'a> {
    pub(super) command: &'a [String],
    /// A job may give the command less time than this, not more.
    pub(super) timeout: Duration,
    pub(super) boot_id: &'a str,
}

/// Runs `command` for each job in the folder at `path`, one at a time, until `stop`. A folder that is not there may come.
///
/// # Errors
/// The folder may not or cannot be worked in.
pub fn work(
    path: &Path,
    (command, timeout): (&[String], Duration),
    boot_id: &str,
    stop: &CancellationToken,
) -> Result<(), WorkerError> {
    let orders = Orders { command, timeout, boot_id };
    while !stop.is_cancelled() {
        if !pass(path, &orders, stop)? {
            thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// Works off the next job, if there is one. The folder is opened anew each time: it comes and goes with the agent.
pub(super) fn pass(path: &Path, orders: &Orders<'_>, stop: &CancellationToken) -> Result<bool, WorkerError> {
    let folder = match Folder::open(path) {
        Ok(folder) => folder,
        Err(error) if error.is_absent() => return Ok(false),
        Err(FolderError::Open { source, .. }) => {
            return Err(WorkerError::Failed { path: path.display().to_string(), source });
        }
        Err(error @ FolderError::Unsafe { .. }) => return Err(WorkerError::Refused(error.to_string())),
    };
    let failed = |source| WorkerError::Failed { path: path.display().to_string(), source };
    // Another worker is at it, which does no harm.
    if !folder.lock().map_err(failed)? {
        return Ok(false);
    }
    let files = folder.files().map_err(failed)?;
    let mut jobs = Vec::new();
    for (name, stage) in files.iter().filter_map(|file| Name::parse(file)) {
        if name.boot_id != orders.boot_id {
            let _ = folder.remove(&name.file(stage));
            continue;
        }
        match stage {
            Stage::Job => jobs.push(name),
            Stage::Taken => give_up(&folder, &name),
            Stage::Result => expire(&folder, &name),
        }
    }
    let Some(name) = jobs.into_iter().min() else { return Ok(false) };
    take(&folder, &name, orders, stop);
    Ok(true)
}

/// A claim while nobody works: its worker was ended, and nobody knows how far the command came.
fn give_up(folder: &Folder, name: &Name) {
    let what = "the worker was ended while the command ran";
    tracing::warn!(action = name.action, what);
    if let Ok(job) = read_job(folder, &name.file(Stage::Taken)) {
        answer(folder, name, job.deadline, Err(Failure { what: what.into(), tail: String::new() }));
    }
    let _ = folder.remove(&name.file(Stage::Taken));
}

/// Removes an answer that nobody waits for any more.
fn expire(folder: &Folder, name: &Name) {
    let file = name.file(Stage::Result);
    let kept = |text: String| serde_json::from_str::<Answer>(&text).ok().map(|answer| answer.deadline + KEPT);
    match folder.read(&file, Author::Worker).map(kept) {
        Ok(Some(until)) if clock::now() < until => {}
        Ok(_) | Err(_) => drop(folder.remove(&file)),
    }
}

fn read_job(folder: &Folder, file: &str) -> Result<Job, String> {
    let text = folder.read(file, Author::Owner).map_err(|error| error.to_string())?;
    // What stands in it is not repeated: it may be of a file that only looks like a job.
    let job = serde_json::from_str::<Job>(&text).map_err(|_| "it is no job".to_owned())?;
    if job.rocewatch_job == FORMAT { Ok(job) } else { Err(format!("it is of a format other than {FORMAT}")) }
}

/// Claims a job and runs the command for it.
fn take(folder: &Folder, name: &Name, orders: &Orders<'_>, stop: &CancellationToken) {
    let (job, taken) = (name.file(Stage::Job), name.file(Stage::Taken));
    // The agent may just have withdrawn it.
    if folder.rename(&job, &taken).is_err() {
        return;
    }
    match read_job(folder, &taken) {
        Ok(job) => {
            let action = name.action;
            tracing::info!(action, "the command begins");
            let outcome = run(folder, &taken, &job, orders, stop);
            match &outcome {
                Ok(()) => tracing::info!(action, "the command has ended well"),
                Err(failure) => tracing::warn!(action, %failure, "the command has failed"),
            }
            // Nobody waits for an answer to a job that was withdrawn.
            if folder.holds(&taken) {
                answer(folder, name, job.deadline, outcome);
            }
        }
        Err(error) => tracing::warn!(file = job, error, "not a job that is run"),
    }
    let _ = folder.remove(&taken);
}

fn run(
    folder: &Folder,
    taken: &str,
    job: &Job,
    orders: &Orders<'_>,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let left = job.deadline.since(clock::now());
    if left.is_zero() {
        return Err(Failure {
            what: "it had expired before the command could begin".into(),
            tail: String::new(),
        });
    }
    let call = ExecCall {
        command: orders.command.to_vec(),
        timeout: left.min(orders.timeout),
        stdin: job.evidence.clone(),
    };
    exec::run(&call, &|| {
        if stop.is_cancelled() {
            return Some("with the worker");
        }
        (!folder.holds(taken)).then_some("because the agent has withdrawn it")
    })
}

fn answer(folder: &Folder, name: &Name, deadline: MonoTime, outcome: Result<(), Failure>) {
    // The agent has gone on without it.
    if clock::now() >= deadline + GRACE {
        return;
    }
    let (failed, stderr) = match outcome {
        Ok(()) => (None, String::new()),
        Err(Failure { what, tail }) => (Some(what), tail),
    };
    let answer = Answer { rocewatch_result: FORMAT, deadline, failed, stderr };
    let written = serde_json::to_string(&answer)
        .map_err(io::Error::from)
        .and_then(|text| folder.write(&name.file(Stage::Result), &text));
    if let Err(error) = written {
        tracing::warn!(action = name.action, %error, "the agent cannot be answered");
    }
}
