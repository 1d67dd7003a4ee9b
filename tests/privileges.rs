//! What the agent asks of whoever starts it, on the real kernel.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "skip/mod.rs"]
mod skip;

use std::path::Path;
use std::process::{Command, Output};

use skip::skip;

const ROCEWATCH: &str = env!("CARGO_BIN_EXE_rocewatch");
/// Gives up every capability, whoever starts it.
const BARE: [&str; 3] = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
/// A user namespace of its own, and all capabilities in it.
const NAMESPACE: [&str; 4] = ["unshare", "--user", "--map-root-user", "--"];

/// Starts an agent that ends as soon as it has begun: the port that it is to listen on is no port of this machine.
/// So status 1 says that its privileges were enough, and status 2 that they were not.
fn start(through: &[&str], arguments: &[&str], runtime: &Path) -> Output {
    let mut words = through.to_vec();
    words.extend([ROCEWATCH, "run", "--web.listen-address=203.0.113.1:1"]);
    words.extend(arguments);
    let folder = format!("--runtime.path={}", runtime.display());
    Command::new(words[0]).args(&words[1..]).arg(folder).output().unwrap()
}

fn code_and_words(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// How to be without the capability; nothing is needed for who has none.
fn without() -> Vec<&'static str> {
    if rustix::process::geteuid().is_root() { BARE.to_vec() } else { Vec::new() }
}

const ACTING: [&str; 2] = ["--watchdog.mode=enforce", "--watchdog.rx.actions=alert,pfc-off"];

#[test]
fn without_the_capability_the_agent_refuses_to_enforce_and_says_in_one_line_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let (code, words) = code_and_words(&start(&without(), &ACTING, folder.path()));
    assert_eq!(code, Some(2), "{words}");
    let told: Vec<_> = words.lines().filter(|line| line.contains("CAP_NET_ADMIN")).collect();
    assert_eq!(told.len(), 1, "{words}");
    for part in ["pfc-off needs CAP_NET_ADMIN in the initial user namespace", "AmbientCapabilities", "setcap"]
    {
        assert!(told[0].contains(part), "{words}");
    }
}

#[test]
fn without_the_capability_the_agent_watches_and_enforces_what_needs_none() {
    let folder = tempfile::tempdir().unwrap();
    let watching: [&[&str]; 3] = [
        &["--watchdog.mode=observe", "--watchdog.rx.actions=alert,pfc-off"],
        &["--watchdog.mode=dry_run", "--watchdog.rx.actions=alert,pfc-off"],
        &["--watchdog.mode=enforce", "--watchdog.rx.actions=alert,exec", "--actions.exec.command=true"],
    ];
    for arguments in watching {
        let (code, words) = code_and_words(&start(&without(), arguments, folder.path()));
        assert_eq!(code, Some(1), "{arguments:?}: {words}");
        assert!(words.contains("203.0.113.1:1") && !words.contains("CAP_NET_ADMIN"), "{words}");
    }
}

#[test]
fn where_ports_are_files_nothing_is_needed_to_enforce() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("net/eth0")).unwrap();
    let directory = format!("--source.directory={}", folder.path().display());
    let arguments = [&ACTING[..], &[directory.as_str()]].concat();
    let (code, words) = code_and_words(&start(&without(), &arguments, &folder.path().join("run")));
    assert_eq!(code, Some(1), "{words}");
    assert!(words.contains("203.0.113.1:1") && !words.contains("CAP_NET_ADMIN"), "{words}");
}

#[test]
fn the_capability_of_another_user_namespace_is_not_taken_for_the_right_to_enforce() {
    let test = "the_capability_of_another_user_namespace_is_not_taken_for_the_right_to_enforce";
    if !Command::new("unshare").args(&NAMESPACE[1..]).arg("true").status().is_ok_and(|s| s.success()) {
        return skip(test, "no user namespace can be made here");
    }
    let folder = tempfile::tempdir().unwrap();
    let (code, words) = code_and_words(&start(&NAMESPACE, &ACTING, folder.path()));
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("has it in another one (user:[") && !words.contains("setcap"), "{words}");
}

#[test]
fn an_ordinary_user_with_that_capability_alone_may_enforce() {
    let test = "an_ordinary_user_with_that_capability_alone_may_enforce";
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--no-new-privs",
        "--inh-caps=-all,+net_admin",
        "--ambient-caps=-all,+net_admin",
        "--bounding-set=-all,+net_admin",
    ];
    // Root of a container may lack the capability, and a checkout may lie where nobody else may look.
    let tried = Command::new("setpriv").args(&nobody[1..]).args([ROCEWATCH, "--version"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        return skip(test, "root's capabilities cannot be handed to another user here");
    }
    let folder = tempfile::tempdir().unwrap();
    let (code, words) = code_and_words(&start(&nobody, &ACTING, folder.path()));
    assert_eq!(code, Some(1), "{words}");
    assert!(words.contains("203.0.113.1:1") && !words.contains("CAP_NET_ADMIN"), "{words}");
}
