//! Every kernel number and layout in `sys::uapi` against the kernel's own headers: a C program prints what each
//! expression is there.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod skip;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use rocewatch::sys::uapi;
use skip::skip;

/// The oldest headers that a distribution in use has are of kernel 6.1. Expressions newer than that are listed here as
/// (expression, kernel file and version it was read in) and left out of the program.
const NEWER_THAN_HEADERS: &[(&str, &str)] = &[
    ("ETHTOOL_A_LINKSTATE_EXT_DOWN_CNT", "ethtool_netlink.h, 6.12"),
    ("ETHTOOL_A_PAUSE_STAT_TX_PAUSE_STORM_EVENTS", "ethtool_netlink_generated.h, 7.0"),
];

const HEADERS: [&str; 12] = [
    "stddef.h",
    "linux/if.h",
    "linux/sockios.h",
    "linux/ethtool.h",
    "linux/netlink.h",
    "linux/rtnetlink.h",
    "linux/if_link.h",
    "linux/dcbnl.h",
    "linux/genetlink.h",
    "linux/ethtool_netlink.h",
    "linux/devlink.h",
    "rdma/rdma_netlink.h",
];

#[test]
fn every_constant_is_the_kernels() {
    let test = "every_constant_is_the_kernels";
    let Some(compiler) = ["cc", "gcc", "clang"].into_iter().find(|name| runs(name)) else {
        return skip(test, "no C compiler");
    };
    if !Path::new("/usr/include/linux/ethtool.h").exists() {
        return skip(test, "no kernel headers in /usr/include/linux");
    }
    let kernel = values_of(compiler, &expressions());
    let wrong: Vec<_> = uapi::ALL
        .iter()
        .filter(|(expression, _)| !is_newer(expression))
        .filter(|(expression, ours)| kernel.get(*expression) != Some(ours))
        .map(|(expression, ours)| format!("{expression} is {:?}, here {ours}", kernel.get(*expression)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_newer_than_the_headers_is_used_and_has_a_source() {
    for (expression, source) in NEWER_THAN_HEADERS {
        assert!(uapi::ALL.iter().any(|(used, _)| used == expression), "{expression} is not used");
        assert!(!source.is_empty(), "{expression} has no source");
    }
}

fn is_newer(expression: &str) -> bool {
    NEWER_THAN_HEADERS.iter().any(|(newer, _)| *newer == expression)
}

fn expressions() -> Vec<&'static str> {
    uapi::ALL.iter().map(|(expression, _)| *expression).filter(|expression| !is_newer(expression)).collect()
}

fn runs(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// What the compiler makes of `expressions`.
fn values_of(compiler: &str, expressions: &[&str]) -> HashMap<String, u64> {
    let mut program: String = HEADERS.iter().map(|header| format!("#include <{header}>\n")).collect();
    program.push_str("#include <stdio.h>\nint main(void) {\n");
    for expression in expressions {
        program.push_str(&format!(
            "printf(\"%llu %s\\n\", (unsigned long long)({expression}), \"{expression}\");\n"
        ));
    }
    program.push_str("return 0; }\n");

    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("constants.c"), folder.path().join("constants"));
    std::fs::write(&source, program).unwrap();
    let compiled = Command::new(compiler).arg("-o").args([&binary, &source]).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let printed = Command::new(&binary).output().unwrap();
    String::from_utf8(printed.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            let (value, expression) = line.split_once(' ').unwrap();
            (expression.to_owned(), value.parse().unwrap())
        })
        .collect()
}
