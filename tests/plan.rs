//! `rocewatch plan` as an operator meets it.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use rocewatch::profile::Profile;
use serde_json::Value;

const FABRIC: [&str; 8] = ["--speed", "400G", "--cable", "30m", "--mtu", "4200", "--ports", "64"];

fn plan(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocewatch")).arg("plan").args(args).output().unwrap()
}

fn printed(format: &str) -> String {
    let output = plan(&[&FABRIC[..], &["--format", format]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(args: &[&str]) -> Vec<String> {
    let output = plan(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    String::from_utf8(output.stderr).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_planned_profile_is_one_and_says_how_it_was_made() {
    let text = printed("profile");
    let profile = Profile::parse("planned", &text).unwrap();
    assert_eq!(profile.to_toml(), text);
    let made_by = profile.profile.made_by.unwrap();
    let args: Vec<_> = made_by.split(' ').skip(2).chain(["--format", "profile"]).collect();
    assert_eq!(String::from_utf8(plan(&args).stdout).unwrap(), text);
}

#[test]
fn the_formats_tell_the_same_figures() {
    let json: Value = serde_json::from_str(&printed("json")).unwrap();
    let sonic: Value = serde_json::from_str(&printed("sonic")).unwrap();
    let profile = Profile::parse("planned", &printed("profile")).unwrap();
    let commands = printed("commands");
    assert_eq!(json["headroom"]["size"], "112.384KB");
    assert_eq!(json["times"]["switch_detection_ms"], 400);
    assert_eq!(sonic["BUFFER_PROFILE"]["roce_lossless_400000_30m_profile"]["xoff"], "112384");
    assert_eq!(json["host_buffer"]["size"], profile.headroom.min.unwrap().to_string());
    assert!(commands.contains(&format!("buffer-size 1:{}", profile.headroom.min.unwrap().get())));
    assert!(printed("text").contains("112384 B"));
}

#[test]
fn the_commands_are_a_script_that_a_shell_reads() {
    let mut shell = Command::new("sh").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    shell.stdin.take().unwrap().write_all(printed("commands").as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
}

#[test]
fn everything_that_is_wrong_is_said_at_once_with_flag_and_value() {
    let args = ["--speed", "400", "--cable", "30", "--mtu", "9", "--priority", "8", "--buffer", "64"];
    assert_eq!(
        refused(&args),
        [
            "--speed: 400: expected one of 10G, 25G, 40G, 50G, 100G, 200G, 400G, 800G",
            "--cable: 30: expected a length with its unit, from 0.1m to 100km, such as \"30m\"",
            "--mtu: 9: expected a whole number from 512 to 9978",
            "--priority: 8: expected a priority, from 0 to 7",
            "--buffer: 64: expected a size with its unit, from 1B to 64GB, such as \"64MB\"",
        ]
    );
}

#[test]
fn figures_that_contradict_each_other_are_refused() {
    let args = [&FABRIC[..], &["--cnp-priority", "3", "--cnp-dscp", "26", "--buffer", "7MB"]].concat();
    assert_eq!(
        refused(&args),
        [
            "--cnp-priority: 3: expected another one than --priority (3), behind which they would wait",
            "--cnp-dscp: 26: expected another one than --dscp (26)",
            "--buffer: 7MB: expected more than 7192.576KB (64 ports with a headroom of 112.384KB)",
        ]
    );
    let zero = [&FABRIC[..], &["--priority", "0"]].concat();
    assert!(refused(&zero)[0].starts_with("--priority: 0: expected a priority from 1 to 7"));
}

#[test]
fn the_figures_that_nobody_can_guess_have_to_be_given() {
    let error = refused(&[]).join("\n");
    assert!(error.contains("--speed") && error.contains("--cable"), "{error}");
}
