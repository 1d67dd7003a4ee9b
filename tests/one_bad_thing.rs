//! One bad thing at a time, with the whole agent running: what it happens to is called by its name, and everything
//! else goes on as if nothing were. See `tests/trial` for what is judged.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

#[path = "running/mod.rs"]
mod running;
mod trial;

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::time::Duration;

use running::{replace, value};
use trial::{BAD, Hang, ORIGIN, OTHERS, Trial, ethtool, is_child, port, run_child, sent, series};

/// The bad port is as it was, or not there.
fn unchanged(sent: u64) -> bool {
    sent == ORIGIN
}

fn blind(page: &str, netdev: &str) -> Option<f64> {
    let labels = format!(r#"device="",port="",netdev="{netdev}",priority="3",direction="rx""#);
    value(page, &format!("rocewatch_watchdog_armed{{{labels}}}"))
}

/// Whether a source is shown as failed.
fn failed(page: &str, collector: &str) -> Option<()> {
    let success = value(page, &format!(r#"rocewatch_collector_success{{collector="{collector}"}}"#))?;
    (success == 0.0).then_some(())
}

#[test]
fn a_source_that_hangs_costs_its_own_port() {
    if is_child() {
        return run_child();
    }
    let mut trial = Trial::hanging("a_source_that_hangs_costs_its_own_port", Hang::OneSource);
    trial.hang();
    trial.judge("a source that hangs", |_| (), unchanged);
    let page = trial.page();
    assert_eq!(blind(&page, BAD), Some(0.0), "a port that is not read is not watched:\n{page}");
    assert_eq!(blind(&page, OTHERS[0]), Some(1.0));
}

#[test]
fn a_list_of_devices_that_hangs_costs_no_reading() {
    if is_child() {
        return run_child();
    }
    let mut trial = Trial::hanging("a_list_of_devices_that_hangs_costs_no_reading", Hang::List);
    trial.hang();
    trial.judge("a slow path that hangs", |_| (), unchanged);
    trial.wait_for("the failure of the list", |page| failed(page, "link"));
}

#[test]
fn while_the_rtnl_lock_is_held_rdma_is_read_pages_are_served_and_nothing_is_called_healthy() {
    if is_child() {
        return run_child();
    }
    let test = "while_the_rtnl_lock_is_held_rdma_is_read_pages_are_served_and_nothing_is_called_healthy";
    let trial = Trial::hanging(test, Hang::Rtnl);
    trial.hang();
    for netdev in OTHERS.into_iter().chain([BAD]) {
        trial.wait_for("blindness", |page| blind(page, netdev).filter(|armed| *armed == 0.0));
    }
    trial.wait_for("the failure of reads that hang", |page| failed(page, "ethtool"));
    let counter = trial.path("sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent");
    for count in [13.0, 14.0] {
        replace(&counter, &format!("{count}\n"));
        trial.wait_for("the RDMA counter", |page| {
            let line =
                page.lines().find(|line| line.starts_with("rocewatch_cnp_sent_total{device=\"mlx5_0\""))?;
            line.ends_with(&format!(" {count}")).then_some(())
        });
    }
}

#[test]
#[should_panic(expected = "were due")]
fn the_judge_sees_ports_that_are_not_read() {
    if is_child() {
        return run_child();
    }
    let mut trial = Trial::hanging("the_judge_sees_ports_that_are_not_read", Hang::Rtnl);
    trial.hang();
    trial.judge("everything hangs", |_| (), unchanged);
}

#[test]
fn a_device_that_goes_and_comes_back_under_another_name_is_another_port() {
    let mut trial = Trial::start(&[]);
    let names = Cell::new((BAD, "other"));
    let turn = |trial: &Trial| {
        let (from, to) = names.get();
        // Gone for as long as one look of discovery takes at least now and then.
        fs::rename(trial.path("net").join(from), trial.path("net").join(to)).unwrap();
        names.set((to, from));
    };
    trial.judge("a device under another name", turn, unchanged);
    let (is, was) = names.get();
    trial.wait_for("the port under its name", |page| {
        (sent(page, is) == Some(ORIGIN) && !page.contains(&format!("netdev=\"{was}\""))).then_some(())
    });
}

#[test]
fn a_counter_that_begins_anew_is_counted_on() {
    let mut trial = Trial::start(&[]);
    let step = Cell::new(0_u64);
    let reset = |trial: &Trial| {
        // Up by 100 three times, then from nothing again.
        step.set(step.get() + 1);
        replace(&trial.file(BAD, "ethtool.txt"), &ethtool(step.get() % 4 * 100));
    };
    // What was lost between the last reading and the reset is not made up: it is counted on from nothing.
    trial.judge("a counter that begins anew", reset, |sent| [0, 100, 200, 300, ORIGIN].contains(&sent));
    let resets = series(BAD, "rocewatch_resets_total");
    trial.wait_for("resets", |page| value(page, &resets).filter(|resets| *resets > 0.0));
}

#[test]
fn names_that_shift_at_the_same_count_keep_their_values() {
    let mut trial = Trial::start(&[]);
    let turn = Cell::new(0);
    let shift = |trial: &Trial| {
        let text = ethtool(ORIGIN);
        let mut lines: Vec<_> = text.lines().collect();
        turn.set((turn.get() + 1) % lines.len());
        lines.rotate_left(turn.get());
        replace(&trial.file(BAD, "ethtool.txt"), &(lines.join("\n") + "\n"));
    };
    trial.judge("names that shift", shift, unchanged);
}

#[test]
fn a_device_of_4096_names_is_read_like_any_other() {
    let mut trial = Trial::start(&[]);
    let mut text = ethtool(ORIGIN);
    for index in text.lines().count()..4096 {
        text += &format!("ch{index}_poll_of_a_rather_long_name: {index}\n");
    }
    assert_eq!(text.lines().count(), 4096);
    replace(&trial.file(BAD, "ethtool.txt"), &text);
    trial.judge("a device of 4096 names", |_| (), unchanged);
    assert_eq!(sent(&trial.page(), BAD), Some(ORIGIN));
}

#[test]
fn a_pipe_in_place_of_a_file_holds_nobody_up() {
    let mut trial = Trial::start(&[]);
    for name in ["ethtool.txt", "link.json", "dcb.json"] {
        let file = trial.file(BAD, name);
        fs::remove_file(&file).unwrap();
        assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    }
    trial.judge("a pipe in place of files", |_| (), unchanged);
    let page = trial.page();
    assert_eq!(blind(&page, BAD).unwrap_or(0.0), 0.0, "a port that is not read is not watched:\n{page}");
}

/// Sends `request`, then the end; all of the answer, however the connection ends.
fn answer(address: &str, request: &[u8]) -> String {
    let mut client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    client.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
    // The agent may have had enough before it has read everything.
    let _ = client.write_all(request).and_then(|()| client.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n";

#[test]
fn a_thousand_scrapes_at_once_are_answered_or_refused() {
    let mut trial = Trial::start(&[]);
    let (full, refused) = (Cell::new(0), Cell::new(0));
    let storm = |trial: &Trial| {
        // A client that was refused may find its connection gone before it has sent anything.
        let open = || TcpStream::connect(&trial.address).unwrap();
        let mut clients: Vec<TcpStream> = (0..1000).map(|_| open()).collect();
        clients.iter_mut().for_each(|client| drop(client.write_all(REQUEST)));
        for mut client in clients {
            client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let mut answer = Vec::new();
            let ended = client.read_to_end(&mut answer);
            if answer.starts_with(b"HTTP/1.1 200") {
                assert!(answer.ends_with(b"\n") && ended.is_ok());
                full.set(full.get() + 1);
            } else if answer.starts_with(b"HTTP/1.1 503") {
                refused.set(refused.get() + 1);
            } else {
                assert!(answer.is_empty() && ended.is_err(), "{}", String::from_utf8_lossy(&answer));
            }
        }
    };
    trial.judge("a thousand scrapes at once", storm, unchanged);
    println!("a thousand scrapes at once: {} answered, {} told to come again", full.get(), refused.get());
    assert!(full.get() > 0 && refused.get() > 0);
}

#[test]
fn a_request_of_ten_mebibytes_is_not_kept() {
    let mut trial = Trial::start(&[]);
    let long = vec![b'x'; 10 << 20];
    let head = [b"GET /metrics HTTP/1.1\r\nhost: here\r\nx: ", &long[..], b"\r\n\r\n"].concat();
    let body =
        [b"POST /metrics HTTP/1.1\r\nhost: here\r\ncontent-length: 10485760\r\n\r\n", &long[..]].concat();
    let path = [b"GET /", &long[..], b" HTTP/1.1\r\nhost: here\r\n\r\n"].concat();
    let send = |trial: &Trial| {
        for (request, codes) in [(&head, ["431", "400"]), (&body, ["405", "413"]), (&path, ["414", "431"])] {
            let answer = answer(&trial.address, request);
            // Who is still sending when the agent has said no may lose the answer.
            let told =
                answer.is_empty() || codes.iter().any(|code| answer.starts_with(&format!("HTTP/1.1 {code}")));
            assert!(told, "{}", answer.lines().next().unwrap_or_default());
        }
    };
    trial.judge("requests of ten mebibytes", send, unchanged);
}

#[test]
fn clients_that_send_a_byte_now_and_then_are_let_go() {
    let mut trial = Trial::start(&["--web.header-timeout=2s"]);
    let open = |trial: &Trial| (TcpStream::connect(&trial.address).unwrap(), 0_usize);
    let clients = RefCell::new((0..16).map(|_| open(&trial)).collect::<Vec<_>>());
    let ended = Cell::new(0);
    let drip = |trial: &Trial| {
        for (client, sent) in &mut *clients.borrow_mut() {
            let byte = REQUEST[*sent % 20];
            *sent += 1;
            client.set_nonblocking(true).unwrap();
            let mut answer = [0; 256];
            let gone = client.write_all(&[byte]).is_err() || client.read(&mut answer).is_ok();
            if gone {
                ended.set(ended.get() + 1);
                (*client, *sent) = open(trial);
            }
        }
    };
    trial.judge("clients that send a byte now and then", drip, unchanged);
    assert!(ended.get() >= 16, "{} were let go", ended.get());
}

#[test]
fn ports_that_come_and_go_hold_up_none_that_stays() {
    let mut trial = Trial::start(&[]);
    let round = Cell::new(0);
    let come = |trial: &Trial| {
        round.set(round.get() + 1);
        let name = format!("new{}", round.get());
        port(&trial.path(""), &name, &ethtool(ORIGIN));
        if round.get() > 5 {
            fs::remove_dir_all(trial.path(&format!("net/new{}", round.get() - 5))).unwrap();
        }
    };
    trial.judge("ports that come and go", come, unchanged);
}
