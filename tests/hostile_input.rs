//! Bytes from outside that are truncated, too long, of the wrong type or made to do harm: none of them ends the agent,
//! or makes a number that nobody counted.
//!
//! A few thousand mutations of what is understood, the same in each run. `tests/fuzz/run` looks further; what it finds
//! is kept in `tests/hostile/cases` and fed here first.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

mod hostile;
#[path = "web/mod.rs"]
#[allow(dead_code, reason = "only the server is needed")]
mod web;

use std::panic::catch_unwind;
use std::path::Path;

use hostile::{TARGETS, Target};
use rocewatch::replay::Recording;
use rocewatch_core::sim::random::Random;

/// No mutation makes an input longer than this.
const LEN_MAX: usize = 64 * 1024;
/// What goes wrong most easily: ends of ranges, lengths that lie, brackets and ends of text.
const WORDS: [&[u8]; 18] = [
    b"\0",
    b"\xff",
    b"\n",
    b"\"",
    b"{",
    b"[",
    b"null",
    b"-1",
    b"1e999",
    b"18446744073709551615",
    b"18446744073709551616",
    b"9999999999999999999999",
    b"65535",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\xff\xff",
    b"\x04\x00\x00\x00",
    b"\xf0\x9f\x92\xa9",
];

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).expect("the name is that of a target")
}

/// A place in `bytes`, or their end.
fn place(random: &mut Random, bytes: &[u8]) -> usize {
    random.between(0, bytes.len() as u64) as usize
}

/// Changes one thing.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    let (from, to) = (place(random, bytes), place(random, bytes));
    let part = from.min(to)..from.max(to);
    match random.between(0, 8) {
        0 => bytes.truncate(from),
        1 => drop(bytes.drain(part)),
        2 => {
            let copy = bytes[part].to_vec();
            bytes.splice(to..to, copy);
        }
        3 => {
            let with = place(random, other);
            bytes.splice(from.., other[with..].iter().copied());
        }
        4 => {
            let word = random.pick(&WORDS);
            bytes.splice(from..from, word.iter().copied());
        }
        5 => {
            let word = random.pick(&WORDS);
            let end = (from + word.len()).min(bytes.len());
            bytes.splice(from..end, word.iter().copied());
        }
        6 => numbers(random, bytes),
        _ => {
            let bit = random.between(0, 7);
            if let Some(byte) = bytes.get_mut(from) {
                *byte ^= 1 << bit;
            }
        }
    }
    bytes.truncate(LEN_MAX);
}

/// Puts another number for the next one that is written in digits.
fn numbers(random: &mut Random, bytes: &mut Vec<u8>) {
    let from = place(random, bytes);
    let Some(begin) = bytes[from..].iter().position(u8::is_ascii_digit).map(|at| from + at) else { return };
    let len = bytes[begin..].iter().position(|byte| !byte.is_ascii_digit());
    let end = len.map_or(bytes.len(), |len| begin + len);
    let number = match random.between(0, 3) {
        0 => random.between(0, 300),
        1 => u64::MAX - random.between(0, 2),
        2 => 1 << random.between(0, 63),
        _ => random.next(),
    };
    bytes.splice(begin..end, number.to_string().into_bytes());
}

/// Feeds `bytes` and says, if that panics, what they were.
fn feed(target: &Target, bytes: &[u8], what: &str) {
    if catch_unwind(|| (target.feed)(bytes)).is_err() {
        let folder = std::env::temp_dir().join(format!("{}-{what}", target.name));
        let kept = std::fs::write(&folder, bytes).map(|()| folder.display().to_string());
        panic!("{} does not bear {what}; it is kept in {kept:?}", target.name);
    }
}

fn survives(name: &str, rounds: u64) {
    let target = target(name);
    let seeds = (target.seeds)();
    for (number, seed) in seeds.iter().enumerate() {
        feed(target, seed, &format!("seed {number}"));
    }
    for round in 0..rounds {
        let mut random = Random::new(round);
        let pick = |random: &mut Random| &seeds[random.between(0, seeds.len() as u64 - 1) as usize];
        let mut bytes = pick(&mut random).clone();
        let other = pick(&mut random);
        for _ in 0..random.between(1, 6) {
            mutate(&mut random, &mut bytes, other);
        }
        feed(target, &bytes, &format!("round {round}"));
    }
}

#[test]
fn netlink_datagrams_may_hold_anything() {
    survives("netlink", 20_000);
}

#[test]
fn answers_to_ethtool_requests_may_hold_anything() {
    survives("ethtool_answer", 5000);
}

#[test]
fn what_is_said_of_settings_may_hold_anything() {
    survives("settings", 5000);
}

#[test]
fn what_is_said_of_rdma_may_hold_anything() {
    survives("rdma", 5000);
    survives("rdma_files", 1000);
}

#[test]
fn the_files_of_nvmf_may_hold_anything() {
    survives("nvmf_files", 1000);
}

#[test]
fn an_ethtool_text_may_hold_anything() {
    survives("ethtool_text", 2000);
}

#[test]
fn the_files_of_a_port_may_hold_anything() {
    survives("port_folder", 2000);
}

#[test]
fn a_configuration_may_hold_anything() {
    survives("config", 1000);
}

#[test]
fn a_profile_may_hold_anything() {
    survives("profile", 1000);
}

#[test]
fn a_journal_may_hold_anything() {
    survives("journal", 500);
}

#[test]
fn a_recording_may_hold_anything() {
    survives("recording", 1500);
}

#[test]
fn the_engine_may_be_told_anything() {
    survives("inputs", 1500);
}

#[test]
fn a_client_may_send_anything() {
    survives("request", 500);
}

#[test]
fn what_was_once_found_is_borne_now() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/cases");
    for target in TARGETS {
        let Ok(folder) = std::fs::read_dir(cases.join(target.name)) else { continue };
        for file in folder.flatten() {
            feed(target, &std::fs::read(file.path()).unwrap(), &file.file_name().to_string_lossy());
        }
    }
}

#[test]
fn a_recording_that_begins_with_an_engine_no_agent_has_written_is_refused() {
    let begins_late = (target("recording").seeds)().pop().unwrap();
    let whole = String::from_utf8(begins_late).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let open = |text: &str| {
        std::fs::write(file.path(), text).unwrap();
        Recording::open(file.path()).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(open(&whole), Ok(()));
    for (was, is, found) in [
        (r#""told":{"secs":0"#, r#""told":{"secs":31622401"#, "a span of more than a year"),
        (r#""traffic":[4"#, r#""traffic":[99"#, "counters that are not there"),
        (r#""places":{"time":null"#, r#""places":{"time":7"#, "counters that are not there"),
    ] {
        let broken = whole.replacen(was, is, 1);
        assert!(broken != whole, "{was} is nowhere in it");
        assert!(open(&broken).is_err_and(|error| error.ends_with(found)), "{is}");
    }
}
