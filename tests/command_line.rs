//! The binary as an operator meets it: what it prints, where, and with which exit status.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::process::{Command, Output, Stdio};

use rocewatch::config::Config;

fn rocewatch(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocewatch")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn assert_ended(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// A file with this text, and its path as an argument.
fn file(config: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    fs::write(&path, config).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn version_and_help_are_answers_and_nothing_is_a_usage_error() {
    let version = rocewatch(&["--version"]);
    assert_ended(&version, 0);
    assert_eq!(text(&version.stdout), format!("rocewatch {}\n", env!("CARGO_PKG_VERSION")));
    let help = rocewatch(&["--help"]);
    assert_ended(&help, 0);
    assert!(text(&help.stdout).contains("Exit status: 0"));
    let nothing = rocewatch(&[]);
    assert_ended(&nothing, 2);
    assert!(nothing.stdout.is_empty());
}

#[test]
fn the_catalogue_is_printed_and_a_reader_may_leave_early() {
    let output = rocewatch(&["counters"]);
    assert_ended(&output, 0);
    assert_eq!(text(&output.stdout), rocewatch_core::doc::reference());
    let mut child = Command::new(env!("CARGO_BIN_EXE_rocewatch"))
        .arg("counters")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_ended(&output, 0);
    assert!(output.stderr.is_empty());
}

#[test]
fn a_configuration_is_fine_or_doubtful_or_refused() {
    let (_folder, path) = file("[poll]\nfast = \"20ms\"\n");
    let check = rocewatch(&["config", "check", "--config.file", &path]);
    assert_ended(&check, 0);
    assert_eq!(text(&check.stdout), "the configuration is fine\n");

    let (_folder, path) = file("[watchdog]\nmode = \"enforce\"\n");
    let check = rocewatch(&["config", "check", "--config.file", &path]);
    assert_ended(&check, 1);
    let expected = format!(
        "warning: {path}:2:8: watchdog.mode: \"enforce\": every ladder holds alert only, so nothing is ever planned\n"
    );
    assert_eq!(text(&check.stdout), expected);

    let (_folder, path) = file("[watchdog]\ndetect = 200\nmood = \"off\"\n");
    for command in ["check", "show"] {
        let refused = rocewatch(&["config", command, "--config.file", &path, "--log.level", "loud"]);
        assert_ended(&refused, 2);
        assert!(refused.stdout.is_empty());
        let lines: Vec<_> = text(&refused.stderr).lines().collect();
        assert_eq!(
            lines,
            [
                format!(
                    "{path}:2:10: watchdog.detect: 200: expected a duration with its unit, from 10ms to 30s, such as \"200ms\""
                ),
                format!("{path}:3:1: watchdog.mood: \"off\": expected a key of [watchdog], perhaps mode"),
                "--log.level: loud: expected one of error, warn, info, debug, trace".into(),
            ]
        );
    }
}

#[test]
fn what_is_shown_is_a_configuration_and_says_where_it_comes_from() {
    let (_folder, path) = file("[poll]\nfast = \"20ms\"\n");
    let show = rocewatch(&[
        "config",
        "show",
        "--config.file",
        &path,
        "--watchdog.rx.actions=alert,pfc-off",
        "--poll.calm",
        "1s",
    ]);
    assert_ended(&show, 0);
    let shown = text(&show.stdout);
    assert!(shown.contains(&format!("\nfast = \"20ms\" # {path}:2\n")), "{shown}");
    assert!(shown.contains("\ncalm = \"1s\" # --poll.calm\n"), "{shown}");
    let config = Config::parse("shown", shown).unwrap();
    assert_eq!(config.to_toml().lines().count(), shown.lines().count());
    assert_eq!(config.settings.rx.actions.len(), 2);
}

#[test]
fn a_named_file_that_is_missing_is_refused_with_its_name_and_the_cause() {
    let output = rocewatch(&["config", "check", "--config.file", "/nonexistent/a.toml"]);
    assert_ended(&output, 2);
    assert!(text(&output.stderr).starts_with("config file /nonexistent/a.toml cannot be read: No such file"));
}

#[test]
fn a_misspelt_flag_is_refused_with_the_one_that_was_meant() {
    let output = rocewatch(&["config", "check", "--watchdog.detekt=1s"]);
    assert_ended(&output, 2);
    assert!(text(&output.stderr).contains("'--watchdog.detect'"), "{}", text(&output.stderr));
}

#[test]
fn short_help_shows_few_flags_and_long_help_all() {
    let [short, long] = ["-h", "--help"].map(|help| rocewatch(&["config", "check", help]));
    assert_ended(&short, 0);
    let all: Vec<_> = rocewatch::config::flags().map(|flag| format!("--{}", flag.name)).collect();
    let shown = |help: &Output| all.iter().filter(|flag| text(&help.stdout).contains(*flag)).count();
    assert!(shown(&short) < 15);
    assert_eq!(shown(&long), all.len());
}
