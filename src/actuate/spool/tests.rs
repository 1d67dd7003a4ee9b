//! Both sides on real files, with real commands.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rocewatch_core::action::ExecCall;
use tokio_util::sync::CancellationToken;

use super::worker::{Orders, pass};
use super::*;
use crate::clock;

const BOOT: &str = "11111111-2222-3333-4444-555555555555";
const LONG: Duration = Duration::from_secs(30);
const NEVER: fn() -> Option<&'static str> = || None;

/// A node: its spool, and a procfs that says which boot it is.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let random = folder.path().join("proc/sys/kernel/random");
        fs::create_dir_all(&random).unwrap();
        fs::write(random.join("boot_id"), format!("{BOOT}\n")).unwrap();
        fs::create_dir(folder.path().join("spool")).unwrap();
        let place = Self { folder };
        place.set_mode(0o750);
        place
    }

    fn spool(&self) -> PathBuf {
        self.folder.path().join("spool")
    }

    fn set_mode(&self, mode: u32) {
        fs::set_permissions(self.spool(), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn agent(&self) -> Spool {
        Spool::new(&self.spool(), &self.folder.path().join("proc"))
    }

    /// Leaves a job as an agent would.
    fn leave(&self, name: &str, deadline: MonoTime, evidence: &str) {
        let job = Job { rocewatch_job: FORMAT, deadline, evidence: evidence.into() };
        fs::write(self.spool().join(name), serde_json::to_string(&job).unwrap()).unwrap();
    }

    fn pass(&self, command: &[&str]) -> Result<bool, WorkerError> {
        let command = command.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let orders = Orders { command: &command, timeout: LONG, boot_id: BOOT };
        pass(&self.spool(), &orders, &CancellationToken::new())
    }

    fn answer(&self, action: u64) -> Answer {
        let file = self.spool().join(format!("{BOOT}-{action}.result"));
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    }

    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.spool()).unwrap().flatten();
        let mut names = names.map(|entry| entry.file_name().into_string().unwrap()).collect::<Vec<_>>();
        names.sort();
        names
    }

    /// Runs a worker beside `then`.
    fn with_worker<T>(&self, command: &[&str], then: impl FnOnce() -> T) -> T {
        let command = command.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let stop = CancellationToken::new();
        thread::scope(|scope| {
            let worker = scope.spawn(|| work(&self.spool(), (&command, LONG), BOOT, &stop));
            let found = then();
            stop.cancel();
            worker.join().unwrap().unwrap();
            found
        })
    }

    fn have_run(&self, action: u64, timeout: Duration) -> Result<(), String> {
        self.agent().have_run(ActionId(action), &call(timeout), &NEVER)
    }
}

fn call(timeout: Duration) -> ExecCall {
    // The command of the agent's own configuration is none of the worker's.
    ExecCall { command: vec!["/no/such/hook".into()], timeout, stdin: "a storm".into() }
}

fn soon() -> MonoTime {
    clock::now() + LONG
}

fn touch(place: &Place) -> (PathBuf, Vec<String>) {
    let witness = place.folder.path().join("witness");
    let script = format!("cat >> {}", witness.display());
    (witness, vec!["sh".into(), "-c".into(), script])
}

fn words(command: &[String]) -> Vec<&str> {
    command.iter().map(String::as_str).collect()
}

#[test]
fn the_workers_own_command_gets_the_evidence_and_the_agent_its_outcome() {
    let place = Place::new();
    let (witness, command) = touch(&place);
    assert_eq!(place.with_worker(&words(&command), || place.have_run(7, LONG)), Ok(()));
    assert_eq!(fs::read_to_string(witness).unwrap(), "a storm");
    assert!(place.files().is_empty(), "{:?}", place.files());
}

#[test]
fn status_and_last_words_of_a_command_come_back() {
    let place = Place::new();
    let script = "echo trying >&2; echo no route to host >&2; exit 3";
    let outcome = place.with_worker(&["sh", "-c", script], || place.have_run(7, LONG));
    assert_eq!(outcome, Err("sh: exit status: 3: trying / no route to host".into()));
}

#[test]
fn a_command_is_ended_at_the_deadline_of_its_job() {
    let place = Place::new();
    let outcome = place.with_worker(&["sleep", "60"], || place.have_run(7, Duration::from_millis(400)));
    let error = outcome.unwrap_err();
    assert!(error.starts_with("sleep: ended after "), "{error}");
    assert!(place.files().is_empty(), "{:?}", place.files());
}

#[test]
fn a_command_is_given_no_more_time_than_the_worker_has_for_one() {
    let place = Place::new();
    place.leave(&format!("{BOOT}-1.job"), soon(), "");
    let command = ["sleep".to_owned(), "60".into()];
    let orders = Orders { command: &command, timeout: Duration::from_millis(50), boot_id: BOOT };
    assert!(pass(&place.spool(), &orders, &CancellationToken::new()).unwrap());
    assert_eq!(place.answer(1).failed.as_deref(), Some("sleep: ended after 50 ms"));
}

#[test]
fn without_a_worker_the_agent_says_so_after_its_time_and_leaves_nothing_behind() {
    let place = Place::new();
    let error = place.have_run(7, Duration::from_millis(50)).unwrap_err();
    assert_eq!(error, "no worker has taken the job within 50 ms: rocewatch exec-worker has to run");
    assert!(place.files().is_empty());
}

#[test]
fn a_job_that_waits_behind_another_one_until_its_time_is_over_says_so() {
    let place = Place::new();
    let worker = place.agent().open().unwrap();
    assert!(worker.lock().unwrap());
    let error = place.have_run(7, Duration::from_millis(50)).unwrap_err();
    assert_eq!(error, "the worker has not come to the job within 50 ms: it is at another one");
    assert!(place.files().is_empty());
}

#[test]
fn the_end_of_the_agent_ends_the_command() {
    let place = Place::new();
    let started = place.folder.path().join("started");
    let script = format!("touch {}; sleep 60", started.display());
    let began = clock::now();
    let outcome = place.with_worker(&["sh", "-c", &script], || {
        place.agent().have_run(ActionId(7), &call(LONG), &|| started.exists().then_some("with the agent"))
    });
    assert_eq!(outcome, Err("ended with the agent".into()));
    assert!(clock::now().since(began) < LONG, "the worker has waited for the command");
    assert!(place.files().is_empty(), "{:?}", place.files());
}

#[test]
fn the_end_of_the_worker_ends_the_command_and_is_told() {
    let place = Place::new();
    place.leave(&format!("{BOOT}-1.job"), soon(), "");
    let command = ["sleep".to_owned(), "60".into()];
    let orders = Orders { command: &command, timeout: LONG, boot_id: BOOT };
    let stop = CancellationToken::new();
    stop.cancel();
    assert!(pass(&place.spool(), &orders, &stop).unwrap());
    assert_eq!(place.answer(1).failed.as_deref(), Some("sleep: ended with the worker"));
}

#[test]
fn a_job_that_has_expired_is_answered_and_not_run() {
    let place = Place::new();
    let (witness, command) = touch(&place);
    let deadline = MonoTime::from_nanos(clock::now().as_nanos() - 1_000_000);
    place.leave(&format!("{BOOT}-1.job"), deadline, "");
    assert!(place.pass(&words(&command)).unwrap());
    assert_eq!(place.answer(1).failed.as_deref(), Some("it had expired before the command could begin"));
    assert!(!witness.exists());
}

#[test]
fn what_is_of_another_boot_is_removed_and_not_run() {
    let place = Place::new();
    let (witness, command) = touch(&place);
    for ending in ["job", "taken", "result"] {
        place.leave(&format!("99999999-2222-3333-4444-555555555555-1.{ending}"), soon(), "");
    }
    assert!(!place.pass(&words(&command)).unwrap());
    assert!(place.files().is_empty() && !witness.exists());
}

#[test]
fn jobs_are_run_one_at_a_time_and_the_oldest_first() {
    let place = Place::new();
    let (witness, command) = touch(&place);
    for action in [10, 9, 11] {
        place.leave(&format!("{BOOT}-{action}.job"), soon(), &format!("{action} "));
    }
    for _ in 0..3 {
        assert!(place.pass(&words(&command)).unwrap());
    }
    assert!(!place.pass(&words(&command)).unwrap());
    assert_eq!(fs::read_to_string(witness).unwrap(), "9 10 11 ");
}

#[test]
fn a_second_worker_does_nothing_while_the_first_is_at_it() {
    let place = Place::new();
    let first = place.agent().open().unwrap();
    assert!(first.lock().unwrap());
    place.leave(&format!("{BOOT}-1.job"), soon(), "");
    assert!(!place.pass(&["true"]).unwrap());
    assert_eq!(place.files(), [format!("{BOOT}-1.job")]);
    drop(first);
    assert!(place.pass(&["true"]).unwrap());
}

#[test]
fn a_claim_of_a_worker_that_was_killed_is_answered_as_failed_and_not_run_again() {
    let place = Place::new();
    let (witness, command) = touch(&place);
    let deadline = soon();
    place.leave(&format!("{BOOT}-1.taken"), deadline, "");
    assert!(!place.pass(&words(&command)).unwrap());
    let answer = place.answer(1);
    assert_eq!(answer.failed.as_deref(), Some("the worker was ended while the command ran"));
    assert_eq!((answer.deadline, witness.exists()), (deadline, false));
    assert_eq!(place.files(), [format!("{BOOT}-1.result")]);
}

#[test]
fn an_answer_that_nobody_fetches_is_removed_when_its_time_is_over() {
    let place = Place::new();
    let answer =
        |deadline| Answer { rocewatch_result: FORMAT, deadline, failed: None, stderr: String::new() };
    let write =
        |action, text: &str| fs::write(place.spool().join(format!("{BOOT}-{action}.result")), text).unwrap();
    write(1, &serde_json::to_string(&answer(MonoTime::ZERO)).unwrap());
    write(2, &serde_json::to_string(&answer(soon())).unwrap());
    write(3, "rubbish");
    place.pass(&["true"]).unwrap();
    assert_eq!(place.files(), [format!("{BOOT}-2.result")]);
}

#[test]
fn an_answer_to_an_earlier_job_of_the_same_number_is_not_taken() {
    let place = Place::new();
    let answer =
        Answer { rocewatch_result: FORMAT, deadline: MonoTime::ZERO, failed: None, stderr: String::new() };
    let text = serde_json::to_string(&answer).unwrap();
    fs::write(place.spool().join(format!("{BOOT}-7.result")), text).unwrap();
    let error = place.have_run(7, Duration::from_millis(50)).unwrap_err();
    assert!(error.starts_with("no worker has taken the job"), "{error}");
}

#[test]
fn rubbish_in_the_spool_costs_itself_alone() {
    let place = Place::new();
    let (witness, command) = touch(&place);
    let at = |name: &str| place.spool().join(name);
    fs::write(at(&format!("{BOOT}-1.job")), "rubbish").unwrap();
    fs::write(at(&format!("{BOOT}-2.job")), [0xff; 64]).unwrap();
    fs::write(at(&format!("{BOOT}-3.job")), vec![b' '; 3 << 20]).unwrap();
    place.leave(&format!("{BOOT}-007.job"), soon(), "not as it is written");
    fs::create_dir(at(&format!("{BOOT}-4.job"))).unwrap();
    assert!(Command::new("mkfifo").arg(at(&format!("{BOOT}-5.job"))).status().unwrap().success());
    for name in ["notes", ".job", "-.job", &format!("{BOOT}-x.job")] {
        fs::write(at(name), "rubbish").unwrap();
    }
    place.leave(&format!("{BOOT}-99.job"), soon(), "good");
    for _ in 0..4 {
        assert!(place.pass(&words(&command)).unwrap());
    }
    assert!(!place.pass(&words(&command)).unwrap());
    assert_eq!(fs::read_to_string(witness).unwrap(), "good");
    assert_eq!(place.answer(99).failed, None);
    assert!([1, 2, 3].iter().all(|action| !at(&format!("{BOOT}-{action}.job")).exists()));
}

#[test]
fn no_link_is_followed_by_either_side() {
    let place = Place::new();
    let (witness, command) = touch(&place);
    let outside = place.folder.path().join("outside");
    let job = Job { rocewatch_job: FORMAT, deadline: soon(), evidence: String::new() };
    fs::write(&outside, serde_json::to_string(&job).unwrap()).unwrap();
    let link = |name: &str| symlink(&outside, place.spool().join(format!("{BOOT}-{name}"))).unwrap();
    link("1.job");
    link("2.taken");
    assert!(!place.pass(&words(&command)).unwrap());
    assert!(!witness.exists(), "what a link points at is no job");
    // Where the worker puts its answer together, and where it puts it.
    place.leave(&format!("{BOOT}-3.job"), soon(), "");
    link("3.result");
    link("3.result.new");
    assert!(place.pass(&words(&command)).unwrap());
    assert_eq!(place.answer(3).failed, None);
    link("4.result");
    let error = place.have_run(4, LONG).unwrap_err();
    assert!(error.starts_with("read the worker's answer: "), "{error}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), serde_json::to_string(&job).unwrap());
}

#[test]
fn a_folder_that_others_can_write_to_is_refused_by_both_sides_with_its_mode_and_owner() {
    for mode in [0o770, 0o757, 0o1777] {
        let place = Place::new();
        place.leave(&format!("{BOOT}-1.job"), soon(), "");
        place.set_mode(mode);
        let own = rustix::process::geteuid().as_raw();
        let told = format!("spool {}: mode {mode:04o}, owner {own}: expected", place.spool().display());
        let refused = place.pass(&["true"]).unwrap_err();
        assert!(matches!(&refused, WorkerError::Refused(why) if why.starts_with(&told)), "{refused}");
        let error = place.have_run(1, LONG).unwrap_err();
        assert!(error.starts_with(&told), "{error}");
    }
}

#[test]
fn a_link_in_the_place_of_the_folder_is_refused() {
    let place = Place::new();
    let other = place.folder.path().join("link");
    symlink(place.spool(), &other).unwrap();
    let command = ["true".to_owned()];
    let orders = Orders { command: &command, timeout: LONG, boot_id: BOOT };
    assert!(pass(&other, &orders, &CancellationToken::new()).is_err());
}

#[test]
fn a_job_of_somebody_else_is_not_run() {
    let place = Place::new();
    let (witness, command) = touch(&place);
    let name = format!("{BOOT}-1.job");
    place.leave(&name, soon(), "");
    // Only root can give a file away.
    if std::os::unix::fs::chown(place.spool().join(&name), Some(65_534), None).is_err() {
        return;
    }
    assert!(place.pass(&words(&command)).unwrap());
    assert!(!witness.exists() && place.files().is_empty(), "{:?}", place.files());
}

#[test]
fn a_folder_that_is_not_there_yet_is_waited_for() {
    let place = Place::new();
    let orders = Orders { command: &[], timeout: LONG, boot_id: BOOT };
    assert!(!pass(Path::new("/no/such/spool"), &orders, &CancellationToken::new()).unwrap());
    fs::remove_dir(place.spool()).unwrap();
    let error = place.have_run(1, LONG).unwrap_err();
    assert!(error.starts_with("spool ") && error.contains("No such file"), "{error}");
}
