//! The web server on a free port of this machine, and clients that speak to it byte by byte.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rocewatch::config::ListenAddress;
use rocewatch::export::stats::AgentStats;
use rocewatch::export::{Clock, Moment};
use rocewatch::http::{AppState, EventHub, Limits, bind, serve};
use rocewatch_core::snapshot::Snapshot;
use rocewatch_core::units::MonoTime;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Whatever a test waits for comes at once, or the test has failed after this.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) stats: Arc<AgentStats>,
    pub(crate) events: EventHub,
    pub(crate) snapshots: watch::Sender<Arc<Snapshot>>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    runtime: Runtime,
}

impl Server {
    /// With the default limits but for what `change` changes.
    pub(crate) fn start(snapshot: Snapshot, change: impl FnOnce(&mut Limits)) -> Self {
        let now = snapshot.at;
        Self::start_at("127.0.0.1:0", snapshot, fixed(now), change)
    }

    pub(crate) fn start_at(
        address: &str,
        snapshot: Snapshot,
        clock: Clock,
        change: impl FnOnce(&mut Limits),
    ) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        let listener = {
            let _inside = runtime.enter();
            bind(&address.parse::<ListenAddress>().unwrap()).unwrap()
        };
        let address = listener.local_addr().unwrap();
        let mut limits = Limits::default();
        change(&mut limits);
        let stats = Arc::new(AgentStats::default());
        let events = EventHub::new(Arc::clone(&stats));
        let (snapshots, receiver) = watch::channel(Arc::new(snapshot));
        let state = AppState {
            snapshots: receiver,
            events: events.clone(),
            stats: Arc::clone(&stats),
            clock,
            limits,
        };
        let stop = CancellationToken::new();
        let serving = runtime.spawn(serve(vec![listener], state, stop.clone()));
        Self { address, stats, events, snapshots, stop, serving, runtime }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    /// The answer to one request on a connection of its own. `head` is the request line and what follows it.
    pub(crate) fn ask(&self, head: &str) -> Reply {
        ask(self.address, head)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask(&format!("GET {path} HTTP/1.1\r\n"))
    }

    /// Tells the server to stop, and waits until it has.
    pub(crate) fn stop(self) {
        self.stop.cancel();
        let ended = async { tokio::time::timeout(DEADLINE, self.serving).await };
        self.runtime.block_on(ended).expect("the server stops").expect("it does not panic");
    }
}

/// A clock that stands still.
pub(crate) fn fixed(now: MonoTime) -> Clock {
    Arc::new(move || Moment { now, boot: Duration::from_secs(1_700_000_000) })
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    stream
}

pub(crate) fn ask(address: SocketAddr, head: &str) -> Reply {
    let mut stream = connect(address);
    write!(stream, "{head}host: localhost\r\nconnection: close\r\n\r\n").unwrap();
    Reply::read(&mut BufReader::new(stream), Body::from_request(head))
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Whether a body follows the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Follows,
    Absent,
}

impl Body {
    fn from_request(head: &str) -> Self {
        if head.starts_with("HEAD ") { Self::Absent } else { Self::Follows }
    }
}

impl Reply {
    pub(crate) fn read(reader: &mut impl BufRead, body: Body) -> Self {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status in {line:?}"));
        let status = status.parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let mut reply = Self { status, headers, body: Vec::new() };
        if body == Body::Follows && reply.header("content-type") != Some("text/event-stream") {
            let length = reply.header("content-length").map_or(0, |length| length.parse().unwrap());
            reply.body = vec![0; length];
            reader.read_exact(&mut reply.body).unwrap();
        }
        reply
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// Follows the events.
pub(crate) struct Stream {
    reader: BufReader<TcpStream>,
    pub(crate) reply: Reply,
}

impl Stream {
    /// As HTTP/1.0, so that the stream comes without chunks.
    pub(crate) fn open(server: &Server, headers: &str) -> Self {
        let mut stream = server.connect();
        write!(stream, "GET /api/v1/events HTTP/1.0\r\n{headers}\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let reply = Reply::read(&mut reader, Body::Follows);
        Self { reader, reply }
    }

    /// The next block of lines, without the empty line that ends it; `None` at the end of the stream.
    pub(crate) fn block(&mut self) -> Option<String> {
        let mut block = String::new();
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if line == "\n" {
                return Some(block);
            }
            block.push_str(&line);
        }
    }

    /// The next block that is no keep-alive.
    pub(crate) fn event(&mut self) -> Option<String> {
        loop {
            let block = self.block()?;
            if block != ": keep-alive\n" {
                return Some(block);
            }
        }
    }
}

/// Whether the server has ended the connection: it closed it, or it threw away what was still under way.
pub(crate) fn is_ended(result: &io::Result<usize>) -> bool {
    match result {
        Ok(read) => *read == 0,
        Err(error) => matches!(
            error.kind(),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted
        ),
    }
}

/// Reads until the server ends the connection.
pub(crate) fn read_to_end(stream: &mut TcpStream) {
    let mut buffer = [0; 4096];
    loop {
        let result = stream.read(&mut buffer);
        if is_ended(&result) {
            return;
        }
        result.expect("the server ends the connection in time");
    }
}

/// Waits until `condition` holds.
pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let mut left = DEADLINE;
    let step = Duration::from_millis(5);
    while !condition() {
        left = left.checked_sub(step).unwrap_or_else(|| panic!("{what}: not within {DEADLINE:?}"));
        std::thread::sleep(step);
    }
}
