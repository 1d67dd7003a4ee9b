//! The agent's side: a job goes out, and its answer is waited for.

use std::io;
use std::thread;
use std::time::Duration;

use rocewatch_core::action::ExecCall;
use rocewatch_core::ids::ActionId;
use rocewatch_core::units::MonoTime;

use super::folder::{Author, Folder};
use super::{Answer, FORMAT, GRACE, Job, Name, Spool, Stage};
use crate::actuate::exec::{Ended, plain};
use crate::clock;

/// How often an answer is looked for.
const LOOK: Duration = Duration::from_millis(20);

impl Spool {
    /// Has the worker run its command with the evidence of `call`, and waits for the end of it, of the time, or of the
    /// agent.
    pub(in crate::actuate) fn have_run(
        &self,
        action: ActionId,
        call: &ExecCall,
        ended: Ended<'_>,
    ) -> Result<(), String> {
        let folder = self.open().map_err(|error| error.to_string())?;
        let name = Name::new(clock::boot_id(&self.procfs).map_err(|error| error.to_string())?, action);
        let deadline = clock::now() + call.timeout;
        let job = Job { rocewatch_job: FORMAT, deadline, evidence: call.stdin.clone() };
        let text = serde_json::to_string(&job).map_err(|error| format!("encode the job: {error}"))?;
        folder.write(&name.file(Stage::Job), &text).map_err(|error| format!("write the job: {error}"))?;
        loop {
            match folder.read(&name.file(Stage::Result), Author::Worker) {
                Ok(text) => {
                    let _ = folder.remove(&name.file(Stage::Result));
                    if let Some(outcome) = outcome(&text, deadline) {
                        return outcome;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    withdraw(&folder, &name);
                    return Err(format!("read the worker's answer: {error}"));
                }
            }
            if let Some(why) = ended() {
                withdraw(&folder, &name);
                return Err(format!("ended {why}"));
            }
            if clock::now() >= deadline + GRACE {
                let within = format!("within {} ms", call.timeout.as_millis());
                return Err(match withdraw(&folder, &name) {
                    Withdrawn::Waiting if folder.is_locked() => {
                        format!("the worker has not come to the job {within}: it is at another one")
                    }
                    Withdrawn::Waiting => {
                        format!("no worker has taken the job {within}: rocewatch exec-worker has to run")
                    }
                    Withdrawn::Taken => format!("the worker has not answered {within}"),
                });
            }
            thread::sleep(LOOK);
        }
    }
}

/// How far a job had come that was taken back.
enum Withdrawn {
    Waiting,
    Taken,
}

/// Takes the job back, wherever it is.
fn withdraw(folder: &Folder, name: &Name) -> Withdrawn {
    if folder.remove(&name.file(Stage::Job)).is_ok() {
        return Withdrawn::Waiting;
    }
    // The worker sees that its claim is gone, and ends the command. Its answer, if it came just now, it removes itself
    // later.
    let _ = folder.remove(&name.file(Stage::Taken));
    Withdrawn::Taken
}

/// What an answer says; `None` if it is one to another job.
fn outcome(text: &str, deadline: MonoTime) -> Option<Result<(), String>> {
    match serde_json::from_str::<Answer>(text) {
        Ok(answer) if answer.rocewatch_result != FORMAT => {
            Some(Err(format!("the worker's answer has format {}, not {FORMAT}", answer.rocewatch_result)))
        }
        Ok(answer) if answer.deadline != deadline => None,
        Ok(Answer { failed: None, .. }) => Some(Ok(())),
        Ok(Answer { failed: Some(what), stderr, .. }) => {
            let said = stderr.lines().map(plain).filter(|line| !line.is_empty()).collect::<Vec<_>>();
            let parts = [plain(&what)].into_iter().chain((!said.is_empty()).then(|| said.join(" / ")));
            Some(Err(parts.collect::<Vec<_>>().join(": ")))
        }
        Err(error) => Some(Err(format!("the worker's answer cannot be read: {error}"))),
    }
}
