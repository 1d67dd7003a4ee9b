//! The web server over real sockets of this machine.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

mod node;
mod web;

use std::collections::BTreeSet;
use std::io::{BufReader, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use node::{Node, Plan, identity};
use rocewatch::export::Clock;
use rocewatch_core::action::PauseConfig;
use rocewatch_core::event::{Event, EventKind, Place};
use rocewatch_core::ids::{PortIdentity, PortKey};
use rocewatch_core::phase::{Phase, Suspended};
use rocewatch_core::settings::Settings;
use rocewatch_core::snapshot::{PortView, Snapshot};
use rocewatch_core::units::{MonoTime, PriorityMask};
use web::{Body, Reply, Server, Stream, fixed, is_ended, read_to_end, wait_until};

/// Two ports that have been read.
fn snapshot() -> Snapshot {
    let mut node = Node::new(Settings::default());
    for (index, driver) in ["mlx5_core", "bnxt_en"].into_iter().enumerate() {
        node.add(plan(driver, identity(driver, "dev", index)), |n| n);
    }
    (0..30).for_each(|_| node.read(|_, _, _| {}));
    node.snapshot()
}

fn plan(driver: &str, identity: PortIdentity) -> Plan<'_> {
    let pause = Some(PauseConfig { rx: false, tx: true });
    Plan { driver, identity, pfc: Some(PriorityMask(0b1000)), pause, speed_mbps: Some(100_000) }
}

fn event(seq: u64) -> Arc<Event> {
    let place = Place { netdev: "eth0".into(), ..Place::default() };
    Arc::new(Event { seq, at: MonoTime::from_millis(seq), place, kind: EventKind::Sighted })
}

#[test]
fn every_path_answers_with_its_kind_of_page() {
    let server = Server::start(snapshot(), |_| {});
    server.stats.note_discovered();
    for (path, kind, part) in [
        ("/", "text/html; charset=utf-8", "<h1>rocewatch"),
        ("/metrics", "text/plain; version=0.0.4; charset=utf-8", "rocewatch_ports 2\n"),
        ("/api/v1/state", "application/json", "\"netdev\":\"eth0\""),
        ("/-/healthy", "text/plain; charset=utf-8", "healthy"),
        ("/-/ready", "text/plain; charset=utf-8", "ready"),
    ] {
        let reply = server.get(path);
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(kind)), "{path}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert!(reply.text().contains(part), "{path}: {}", reply.text());
    }
    server.stop();
}

#[test]
fn what_is_not_there_and_what_is_not_allowed_is_said_in_a_line() {
    let server = Server::start(snapshot(), |_| {});
    for (head, status) in [
        ("GET /nothing HTTP/1.1\r\n", 404),
        ("GET /metrics/ HTTP/1.1\r\n", 404),
        ("GET /../etc/passwd HTTP/1.1\r\n", 404),
        ("POST /metrics HTTP/1.1\r\n", 405),
        ("DELETE /api/v1/state HTTP/1.1\r\n", 405),
        ("PUT /nothing HTTP/1.1\r\n", 404),
        ("GARBAGE\r\n", 400),
    ] {
        let reply = server.ask(head);
        assert_eq!(reply.status, status, "{head}");
        assert!(status == 400 || reply.text().lines().count() == 1, "{head}");
        assert_eq!(reply.header("allow").is_some(), status == 405, "{head}");
    }
    let requests = server.stats.http.requests();
    assert_eq!(requests.get(&("other", 404)), Some(&4));
    assert_eq!(requests.get(&("/metrics", 405)), Some(&1));
    server.stop();
}

#[test]
fn a_head_longer_than_any_real_one_is_not_taken_in() {
    let server = Server::start(snapshot(), |_| {});
    let mut stream = server.connect();
    let line = format!("x: {}\r\n", "y".repeat(1 << 20));
    // The answer may be lost: what was not read any more resets the connection.
    let sent = stream
        .write_all(b"GET /-/healthy HTTP/1.1\r\n")
        .and_then(|()| (0..64).try_for_each(|_| stream.write_all(line.as_bytes())));
    assert!(sent.is_err(), "the server has taken 64 MiB");
    read_to_end(&mut stream);
    assert!(server.stats.http.requests().is_empty());
    assert_eq!(server.get("/-/healthy").status, 200);
    server.stop();
}

#[test]
fn the_page_is_compressed_for_those_who_take_it() {
    let server = Server::start(snapshot(), |_| {});
    let plain = server.get("/metrics");
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(plain.header("vary"), Some("accept-encoding"));
    let refused = server.ask("GET /metrics HTTP/1.1\r\naccept-encoding: gzip;q=0, br\r\n");
    assert_eq!(refused.body, plain.body);
    let packed = server.ask("GET /metrics HTTP/1.1\r\naccept-encoding: deflate, gzip\r\n");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == plain.body);
    server.stop();
}

#[test]
fn a_request_for_the_head_alone_gets_no_body() {
    let server = Server::start(snapshot(), |_| {});
    let full = server.get("/metrics");
    let mut stream = server.connect();
    write!(stream, "HEAD /metrics HTTP/1.1\r\nhost: x\r\n\r\nGET /-/healthy HTTP/1.1\r\nhost: x\r\n\r\n")
        .unwrap();
    let mut reader = BufReader::new(stream);
    let head = Reply::read(&mut reader, Body::Absent);
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-length"), full.header("content-length"));
    // Were there a body, it would be read as the next answer.
    assert_eq!(Reply::read(&mut reader, Body::Follows).text(), "healthy\n");
    server.stop();
}

#[test]
fn one_request_too_many_is_told_so_at_once() {
    let (entered, has_entered) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let first = AtomicBool::new(true);
    // The first rendering asks for the time and waits there.
    let clock: Clock = Arc::new(move || {
        if first.swap(false, Ordering::SeqCst) {
            entered.send(()).unwrap();
            released.lock().unwrap().recv().unwrap();
        }
        fixed(MonoTime::from_millis(5))()
    });
    let server = Server::start_at("127.0.0.1:0", snapshot(), clock, |limits| limits.requests = 1);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.get("/metrics").status);
        has_entered.recv_timeout(web::DEADLINE).unwrap();
        assert_eq!(server.get("/metrics").status, 503);
        assert_eq!(server.get("/api/v1/state").status, 503);
        assert_eq!(server.get("/-/healthy").status, 200);
        release.send(()).unwrap();
        assert_eq!(waiting.join().unwrap(), 200);
    });
    assert_eq!(server.stats.http.rejected.get(), 2);
    assert_eq!(server.get("/metrics").status, 200);
    server.stop();
}

#[test]
fn one_connection_too_many_is_told_so_and_closed() {
    let server = Server::start(snapshot(), |limits| limits.connections = 2);
    let first = server.connect();
    let second = server.connect();
    wait_until("two connections", || server.stats.http.connections.get() == 2);
    let mut reader = BufReader::new(server.connect());
    let reply = Reply::read(&mut reader, Body::Follows);
    assert_eq!((reply.status, reply.text()), (503, "too many connections\n"));
    assert!(is_ended(&reader.read(&mut [0; 1])));
    assert_eq!(server.stats.http.rejected.get(), 1);
    drop(first);
    wait_until("one connection", || server.stats.http.connections.get() == 1);
    assert_eq!(server.get("/-/healthy").status, 200);
    drop(second);
    server.stop();
}

#[test]
fn many_clients_at_once_are_all_served() {
    let server = Server::start(snapshot(), |limits| (limits.connections, limits.requests) = (300, 300));
    let mut streams: Vec<_> = (0..300).map(|_| server.connect()).collect();
    for stream in &mut streams {
        write!(stream, "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    }
    let sizes: BTreeSet<_> = streams
        .into_iter()
        .map(|stream| {
            let reply = Reply::read(&mut BufReader::new(stream), Body::Follows);
            assert_eq!(reply.status, 200);
            reply.body.len()
        })
        .collect();
    assert_eq!(sizes.len(), 1, "one page for all of them, as no time has passed: {sizes:?}");
    server.stop();
}

#[test]
fn a_client_that_asks_byte_by_byte_is_ended() {
    let server = Server::start(snapshot(), |limits| limits.header_timeout = Duration::from_millis(300));
    let mut stream = server.connect();
    // Waiting for an answer that does not come is the pause between two bytes.
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let head = "GET /metrics HTTP/1.1\r\nx: ".bytes().chain(std::iter::repeat(b'y'));
    let ended = head.take(1000).any(|byte| {
        let sent = stream.write(&[byte]);
        is_ended(&sent) || is_ended(&stream.read(&mut [0; 1]))
    });
    assert!(ended, "still open after 20 s");
    wait_until("no connection", || server.stats.http.connections.get() == 0);
    server.stop();
}

#[test]
fn a_client_that_asks_nothing_is_ended() {
    let server = Server::start(snapshot(), |limits| limits.header_timeout = Duration::from_millis(500));
    let mut silent = server.connect();
    read_to_end(&mut silent);
    let mut done = server.connect();
    write!(done, "GET /-/healthy HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    // Answered, then idle.
    read_to_end(&mut done);
    assert_eq!(server.stats.http.requests().get(&("/-/healthy", 200)), Some(&1));
    server.stop();
}

/// So many ports that the state is larger than the kernel's buffers of both sides.
fn crowded() -> Snapshot {
    let one = snapshot();
    let ports = (0..500).map(|key| PortView { key: PortKey(key), ..one.ports[0].clone() });
    Snapshot { ports: ports.collect(), ..one }
}

#[test]
fn a_client_that_takes_its_answer_in_drops_is_ended() {
    let server = Server::start(crowded(), |limits| limits.write_timeout = Duration::from_millis(200));
    let mut stream = server.connect();
    write!(stream, "GET /api/v1/state HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    wait_until("an answer", || !server.stats.http.requests().is_empty());
    let taken = AtomicU64::new(0);
    wait_until("no connection", || {
        // Enough to show the kernel that somebody is there, too little to be done in time.
        let mut drop = [0; 16 * 1024];
        taken.fetch_add((&stream).read(&mut drop).unwrap_or(0) as u64, Ordering::Relaxed);
        server.stats.http.connections.get() == 0
    });
    read_to_end(&mut stream);
    let whole = server.get("/api/v1/state").body.len() as u64;
    assert!(taken.into_inner() < whole / 2, "of {whole} bytes");
    server.stop();
}

#[test]
fn a_client_that_takes_nothing_is_ended() {
    let server = Server::start(crowded(), |limits| limits.write_timeout = Duration::from_millis(200));
    let mut stream = server.connect();
    write!(stream, "GET /api/v1/state HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    wait_until("an answer", || !server.stats.http.requests().is_empty());
    wait_until("no connection", || server.stats.http.connections.get() == 0);
    read_to_end(&mut stream);
    server.stop();
}

#[test]
fn a_body_is_not_taken_in() {
    let server = Server::start(snapshot(), |_| {});
    for (method, status) in [("GET", 200), ("POST", 405)] {
        let mut stream = server.connect();
        let length = 64 << 20;
        write!(stream, "{method} /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n").unwrap();
        let chunk = vec![b'x'; 1 << 20];
        let sent = (0..length / chunk.len()).take_while(|_| stream.write_all(&chunk).is_ok()).count();
        assert!(sent < 64, "the server has taken {sent} MiB");
        read_to_end(&mut stream);
        wait_until("an answer", || server.stats.http.requests().get(&("/metrics", status)) == Some(&1));
    }
    // Within one piece, the answer arrives as well.
    let mut stream = server.connect();
    write!(stream, "POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello").unwrap();
    assert_eq!(Reply::read(&mut BufReader::new(stream), Body::Follows).status, 405);
    server.stop();
}

#[test]
fn events_come_as_they_happen_and_again_for_one_who_comes_back() {
    let server = Server::start(snapshot(), |_| {});
    server.events.publish(event(1));
    let mut stream = Stream::open(&server, "");
    assert_eq!(stream.reply.header("content-type"), Some("text/event-stream"));
    server.events.publish(event(2));
    let told = stream.event().unwrap();
    let data =
        "data: {\"event\":\"sighted\",\"netdev\":\"eth0\",\"seq\":2,\"timestamp_seconds\":1700000000.002}";
    let expected: BTreeSet<_> = [data, "event: sighted", "id: 2"].into();
    assert_eq!(told.lines().collect::<BTreeSet<_>>(), expected);
    assert_eq!(server.stats.events.subscribers.get(), 1);
    drop(stream);
    (3..=5).for_each(|seq| server.events.publish(event(seq)));
    let mut stream = Stream::open(&server, "Last-Event-ID: 2\r\n");
    for seq in 3..=5 {
        assert!(stream.event().unwrap().contains(&format!("\"seq\":{seq},")));
    }
    server.stop();
}

#[test]
fn one_who_comes_back_too_late_is_told_how_much_is_gone() {
    let server = Server::start(snapshot(), |_| {});
    (1..=1200).for_each(|seq| server.events.publish(event(seq)));
    let mut stream = Stream::open(&server, "Last-Event-ID: 50\r\n");
    assert_eq!(stream.event().unwrap(), ": 150 events lost\n");
    assert!(stream.event().unwrap().contains("\"seq\":201,"));
    assert_eq!(server.stats.events.dropped.get(), 150);
    server.stop();
}

#[test]
fn a_quiet_stream_is_kept_alive_and_a_client_that_left_is_noticed() {
    let server = Server::start(snapshot(), |limits| limits.keep_alive = Duration::from_millis(20));
    let mut stream = Stream::open(&server, "");
    assert_eq!(stream.block().unwrap(), ": keep-alive\n");
    drop(stream);
    wait_until("no subscriber", || server.stats.events.subscribers.get() == 0);
    server.stop();
}

#[test]
fn one_subscriber_too_many_is_told_so() {
    let server = Server::start(snapshot(), |limits| limits.subscribers = 1);
    let first = Stream::open(&server, "");
    assert_eq!(first.reply.status, 200);
    assert_eq!(server.get("/api/v1/events").status, 503);
    assert_eq!(server.stats.http.rejected.get(), 1);
    drop(first);
    wait_until("no subscriber", || server.stats.events.subscribers.get() == 0);
    assert_eq!(Stream::open(&server, "").reply.status, 200);
    server.stop();
}

#[test]
fn stopping_ends_streams_and_idle_connections_and_refuses_new_ones() {
    // Longer than the test waits: everything has to end of its own accord.
    let server = Server::start(snapshot(), |limits| limits.grace = Duration::from_secs(600));
    let address = server.address;
    let mut stream = Stream::open(&server, "");
    let mut idle = server.connect();
    write!(idle, "GET /-/healthy HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut idle_reader = BufReader::new(idle.try_clone().unwrap());
    assert_eq!(Reply::read(&mut idle_reader, Body::Follows).status, 200);
    let stats = Arc::clone(&server.stats);
    server.stop();
    assert_eq!(stream.event(), None);
    read_to_end(&mut idle);
    assert_eq!((stats.http.connections.get(), stats.events.subscribers.get()), (0, 0));
    assert!(std::net::TcpStream::connect(address).is_err());
}

/// Says why a test cannot run here; where everything has to run, that is a failure.
fn skip(reason: &str) {
    assert!(std::env::var_os("ROCEWATCH_REQUIRE_ALL").is_none(), "{reason}");
    eprintln!("skipped: {reason}");
}

#[test]
fn a_port_without_a_host_is_open_for_both_families() {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return skip("this machine has no IPv6");
    }
    let server = Server::start_at(":0", snapshot(), fixed(MonoTime::ZERO), |_| {});
    let port = server.address.port();
    for host in [SocketAddr::from((Ipv6Addr::LOCALHOST, port)), SocketAddr::from((Ipv4Addr::LOCALHOST, port))]
    {
        assert_eq!(web::ask(host, "GET /-/healthy HTTP/1.1\r\n").status, 200, "{host}");
    }
    server.stop();
    let one = Server::start_at("[::1]:0", snapshot(), fixed(MonoTime::ZERO), |_| {});
    assert_eq!(one.get("/-/healthy").status, 200);
    one.stop();
}

#[test]
fn ready_once_every_port_was_read_or_cannot_be() {
    let mut node = Node::new(Settings::default());
    let server = Server::start(node.snapshot(), |_| {});
    assert_eq!(server.get("/-/ready").status, 503, "nobody has looked for ports yet");
    node.add(plan("mlx5_core", identity("mlx5_core", "dev", 0)), |_| 0);
    server.snapshots.send(Arc::new(node.snapshot())).unwrap();
    server.stats.note_discovered();
    assert_eq!(server.get("/-/ready").status, 503, "the port has not been read yet");
    node.read(|_, _, _| {});
    server.snapshots.send(Arc::new(node.snapshot())).unwrap();
    assert_eq!(server.get("/-/ready").status, 200);
    node.add(plan("bnxt_en", identity("bnxt_en", "dev", 1)), |_| 0);
    server.snapshots.send(Arc::new(node.snapshot())).unwrap();
    assert_eq!(server.get("/-/ready").status, 200, "a port that comes later takes nobody out of service");
    server.stop();
}

/// Every key of a JSON value, at any depth; the keys of `vetoes` are data.
fn keys(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                if key != "vetoes" {
                    keys(value, found);
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => {}
    }
}

#[test]
fn every_field_of_the_state_is_explained() {
    let server = Server::start(snapshot(), |_| {});
    let state: serde_json::Value = serde_json::from_slice(&server.get("/api/v1/state").body).unwrap();
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/http.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut found = BTreeSet::new();
    keys(&state, &mut found);
    for key in &found {
        assert!(page.contains(&format!("`{key}`")), "docs/http.md does not explain {key}");
    }
    let port = &state["ports"][0];
    assert_eq!(port["pfc_priorities"], serde_json::json!(["3"]));
    assert_eq!((&port["pause_rx"], &port["pause_tx"]), (&false.into(), &true.into()));
    assert_eq!(port["reading"]["interval_seconds"], 0.25);
    let counters = port["counters"].as_array().unwrap();
    let named = |name: &str| counters.iter().find(|counter| counter["counter"] == name).unwrap();
    assert_eq!(named("pfc_rx_pause_time")["value"], 0.099007);
    assert_eq!(named("pfc_rx_pause_time")["metric"], "rocewatch_pfc_rx_pause_seconds_total");
    assert!(named("port_rx_packets")["value"].is_u64());
    server.stop();
}

#[test]
fn the_landing_page_shows_ports_and_lets_no_name_become_markup() {
    let mut node = Node::new(Settings::default());
    let hostile = PortIdentity { netdev: "<b>eth0".into(), ..identity("mlx5_core", "dev", 0) };
    node.add(plan("mlx5_core", hostile), |_| 0);
    (0..3).for_each(|_| node.read(|_, _, _| {}));
    let server = Server::start(node.snapshot(), |_| {});
    let page = server.get("/");
    for part in
        ["&lt;b&gt;eth0", "up, 100 Gbit/s", "time measured", "Mode <b>observe</b>", "href=\"metrics\""]
    {
        assert!(page.text().contains(part), "{part} in {}", page.text());
    }
    assert!(!page.text().contains("<b>eth0"));
    assert!(page.text().contains("<td>healthy; watching priority 3</td>"), "{}", page.text());
    let mut down = node.snapshot();
    down.ports[0].link.carrier = Some(false);
    down.ports[0].queues.iter_mut().for_each(|queue| {
        queue.phase = Phase::Suspended(Suspended { carrier_lost: true, pfc_off: false });
    });
    server.snapshots.send(Arc::new(down)).unwrap();
    let page = server.get("/");
    assert!(page.text().contains("<td>waiting for the link</td>"), "{}", page.text());
    server.stop();
}
