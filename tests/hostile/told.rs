//! What the engine and the server are told.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rocewatch::export::stats::AgentStats;
use rocewatch::export::{Moment, render};
use rocewatch_core::action::{ActionKind, Disruption};
use rocewatch_core::binding::Binding;
use rocewatch_core::drivers::for_driver;
use rocewatch_core::engine::Engine;
use rocewatch_core::ids::{PortIdentity, PortKey};
use rocewatch_core::input::{BoundPort, Effect, Input};
use rocewatch_core::record::Line;
use rocewatch_core::settings::{Guard, Mode, Rule, Settings};
use rocewatch_core::snapshot::Snapshot;
use rocewatch_core::units::MonoTime;

use crate::web::Server;

/// An input may come as much later than the one before: what a clock does not do, an engine need not bear.
const LATER_MAX: Duration = Duration::from_secs(1 << 20);

/// An engine that may act, and its time.
pub(super) struct Told {
    pub(super) engine: Engine,
    pub(super) now: MonoTime,
    events: u64,
}

impl Told {
    pub(super) fn new() -> Self {
        let actions = vec![ActionKind::PfcOff];
        let rx = Rule { actions, ..Rule::default() };
        let guard = Some(Guard {
            url: "http://fleet".into(),
            query: "count(storms)".into(),
            limit: 3,
            delay: Duration::ZERO,
        });
        let settings = Settings {
            mode: Mode::Enforce,
            disruption_max: Disruption::Device,
            rx,
            guard,
            ..Settings::default()
        };
        Self { engine: Engine::new(settings), now: MonoTime::from_millis(1000), events: 0 }
    }

    pub(super) fn tell(&mut self, later_ms: u64, input: Input) -> Vec<Effect> {
        self.pass(Duration::from_millis(later_ms).min(LATER_MAX));
        let effects = self.engine.handle(self.now, &input);
        for effect in &effects {
            if let Effect::Emit(event) = effect {
                self.events += 1;
                assert_eq!(event.seq, self.events, "events are numbered without a gap");
            }
        }
        effects
    }

    pub(super) fn pass(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    pub(super) fn add_port(&mut self) {
        self.tell(0, Input::Bound(port()));
    }

    /// Shows everything that is known by now.
    pub(super) fn show(&self) {
        let snapshot = self.engine.snapshot(self.now);
        let page = render(&snapshot, &AgentStats::default(), &Moment { now: self.now, boot: Duration::ZERO });
        assert!(page.series > 0);
    }

    /// That the engine can be written down, and goes on from there.
    pub(super) fn keep(&self) {
        let engine = serde_json::to_string(&self.engine.checkpoint()).unwrap();
        let again: Engine = serde_json::from_str(&engine).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), engine);
    }
}

/// The names of an mlx5 port that a watchdog looks at.
pub(super) const NAMES: [&str; 8] = [
    "rx_packets_phy",
    "tx_packets_phy",
    "rx_prio3_packets",
    "tx_prio3_packets",
    "rx_prio3_pause",
    "rx_prio3_pause_duration",
    "tx_prio3_pause",
    "tx_prio3_pause_duration",
];

/// An mlx5 port.
pub(super) fn port() -> BoundPort {
    let identity = PortIdentity {
        netdev: "eth0".into(),
        driver: "mlx5_core".into(),
        pci_address: "0000:3b:00.0".into(),
        ..PortIdentity::default()
    };
    let binding = Binding::new(for_driver("mlx5_core"), &NAMES.map(str::to_owned));
    let layout = binding.layout().to_vec();
    BoundPort {
        port: PortKey(0),
        identity,
        layout,
        refresh: None,
        actions: ActionKind::ALL.to_vec(),
        unsupported: Vec::new(),
    }
}

/// Lines of a recording without its header, told to one engine; what is no line is passed over.
pub(super) fn inputs(bytes: &[u8]) {
    let mut told = Told::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(Line::Input { at, input }) = serde_json::from_slice(line) else { continue };
        told.tell(at.since(told.now).as_millis() as u64, *input);
        if let Some(due) = told.engine.next_deadline() {
            told.now = due.min(told.now + LATER_MAX).max(told.now);
            told.tell(0, Input::Tick);
        }
    }
    // No page is made of it: layouts come from a binding, which never gives a counter twice.
    assert!(told.engine.snapshot(told.now).at == told.now);
    told.keep();
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    Server::start(Snapshot::default(), |limits| {
        limits.header_timeout = Duration::from_millis(100);
        limits.connections = 10_000;
    })
});

/// The type of an answer that goes on for as long as its client listens.
const EVENTS: &[u8] = b"text/event-stream";

/// What a client sends: it is answered, or the connection ends.
pub(super) fn request(bytes: &[u8]) {
    let server = &*SERVER;
    let mut client = server.connect();
    // The server may have had enough before it has read everything.
    let _ = client.write_all(bytes).and_then(|()| client.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match client.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => answer.extend(&piece[..read]),
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::WouldBlock, "no answer and no end");
                break;
            }
        }
        // A stream of events has no end.
        if answer.windows(EVENTS.len()).any(|part| part == EVENTS) {
            break;
        }
    }
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{}", String::from_utf8_lossy(&answer));
    assert!(Arc::strong_count(&server.stats) < 100_000, "connections that have ended are let go");
}
