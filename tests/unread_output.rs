//! Output that nobody reads: a pager that waits for its user, a log daemon that hangs, a pipe whose reader has gone.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "running/mod.rs"]
mod running;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rocewatch::clock;
use running::{replace, value};

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An address that was free a moment ago: where the log cannot be read it cannot tell.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn a_log_that_nobody_reads_holds_up_neither_the_agent_nor_its_end() {
    let root = tempfile::tempdir().unwrap();
    replace(&root.path().join("net/eth0/driver"), "mlx5_core\n");
    replace(&root.path().join("net/eth0/ethtool.txt"), "rx_prio3_pause_duration: 1\n");
    let (_unread, mut full) = std::io::pipe().unwrap();
    let stderr = full.try_clone().unwrap();
    // Waits in the kernel as soon as the pipe is full, and ends with the test.
    thread::spawn(move || full.write_all(&vec![b'\n'; 1 << 22]));
    let address = free_address();
    let mut agent = Ended(
        Command::new(env!("CARGO_BIN_EXE_rocewatch"))
            .args(["run", "--source.directory", root.path().to_str().unwrap()])
            .arg(format!("--web.listen-address={address}"))
            .arg(format!("--runtime.path={}", root.path().join("run").display()))
            .stdin(Stdio::null())
            .stderr(stderr)
            .spawn()
            .unwrap(),
    );
    let until = clock::now() + Duration::from_secs(30);
    let readings = |page: &str| {
        let name = r#"rocewatch_watchdog_poll_lateness_seconds_count{device="",port="",netdev="eth0"}"#;
        value(page, name).filter(|count| *count > 3.0)
    };
    while ureq::get(format!("http://{address}/metrics"))
        .call()
        .ok()
        .and_then(|mut page| readings(&page.body_mut().read_to_string().ok()?))
        .is_none()
    {
        assert!(clock::now() < until, "the agent waits for its reader");
        thread::sleep(Duration::from_millis(20));
    }
    let began = clock::now();
    let pid = agent.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(agent.0.wait().unwrap().code(), Some(0));
    assert!(clock::now().since(began) < Duration::from_secs(2));
}

#[test]
fn a_demo_whose_reader_has_gone_ends() {
    let mut demo = Ended(
        Command::new(env!("CARGO_BIN_EXE_rocewatch"))
            .args(["demo", "--web.listen-address=127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut first = String::new();
    BufReader::new(demo.0.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("rocewatch "), "{first}");
    assert_eq!(demo.0.wait().unwrap().code(), Some(0));
}
