//! What the supervisor is told, by the protocol of sd_notify(3): that the agent is ready, how it is, that it ends, and
//! that it still decides. Without a supervisor that asks for it, nothing is told.
//!
//! The sign of life goes through the engine's loop: it is a snapshot that the loop has just made. A process whose
//! threads all run but that one gives none, and is started anew.

use std::env;
use std::fmt::Write;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

use rocewatch_core::settings::Mode;
use rocewatch_core::snapshot::Snapshot;
use rocewatch_core::units::MonoTime;
use tokio::sync::watch;

use crate::clock;
use crate::export::stats::AgentStats;

/// What a supervisor puts into the environment. A program that the agent starts is no part of the service, so that it
/// must not get them.
pub const VARIABLES: [&str; 3] = [SOCKET, WATCHDOG_USEC, WATCHDOG_PID];
const SOCKET: &str = "NOTIFY_SOCKET";
const WATCHDOG_USEC: &str = "WATCHDOG_USEC";
const WATCHDOG_PID: &str = "WATCHDOG_PID";

/// How often it is looked whether there is something to tell.
const LOOK: Duration = Duration::from_secs(1);
/// The loop makes a snapshot every second. One that is three times as old was made by a loop that does not go on.
const FRESH: Duration = Duration::from_secs(3);
/// A list of ports that hangs in the kernel would hang after a restart as well: the agent is not ended for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The supervisor, if there is one.
#[derive(Clone, Debug, Default)]
pub struct Supervisor {
    socket: Option<Arc<UnixDatagram>>,
    /// How often it wants a sign of life.
    watchdog: Option<Duration>,
}

impl Supervisor {
    /// The one that the environment names.
    #[must_use]
    pub fn of_environment() -> Self {
        let Some(name) = env::var_os(SOCKET).filter(|name| !name.is_empty()) else { return Self::default() };
        let variable = |name| env::var(name).ok();
        let watchdog = watchdog(variable(WATCHDOG_USEC), variable(WATCHDOG_PID), std::process::id());
        match connect(name.as_bytes()) {
            Ok(socket) => Self { socket: Some(Arc::new(socket)), watchdog },
            Err(error) => {
                tracing::warn!(%error, socket = ?name, "the supervisor cannot be told anything");
                Self::default()
            }
        }
    }

    /// Tells that the start takes up to `longest` longer.
    pub fn waiting(&self, longest: Duration) {
        let micros = longest.as_micros();
        self.tell(&format!(
            "EXTEND_TIMEOUT_USEC={micros}\nSTATUS=waiting for the runtime folder, which is in use"
        ));
    }

    /// Tells that the agent takes back what is owed, and ends.
    pub fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=taking back what is owed");
    }

    /// Tells how the agent is, for as long as it runs.
    pub async fn report(self, snapshots: watch::Receiver<Arc<Snapshot>>, stats: Arc<AgentStats>) {
        if self.socket.is_none() {
            return;
        }
        let mut report = Report { began: clock::now(), ready: false, status: String::new(), pinged_at: None };
        let look = self.watchdog.map_or(LOOK, |every| LOOK.min(every / 4));
        loop {
            let snapshot = Arc::clone(&snapshots.borrow());
            if let Some(message) = report.next(clock::now(), &snapshot, stats.is_discovered(), self.watchdog)
            {
                self.tell(&message);
            }
            tokio::time::sleep(look).await;
        }
    }

    /// A supervisor that does not read its socket must not hold anything up, and is told again soon.
    fn tell(&self, message: &str) {
        if let Some(Err(error)) = self.socket.as_ref().map(|socket| socket.send(message.as_bytes())) {
            tracing::debug!(%error, message, "the supervisor was not told");
        }
    }
}

/// A path, or behind an `@` a name that has none.
fn connect(name: &[u8]) -> io::Result<UnixDatagram> {
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name))?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// How often a sign of life is wanted of this process, and not of the one that has started it.
fn watchdog(usec: Option<String>, pid: Option<String>, own: u32) -> Option<Duration> {
    let ours = pid.is_none_or(|pid| pid.parse() == Ok(own));
    let every = usec.filter(|_| ours)?.parse().ok().filter(|usec| *usec > 0)?;
    Some(Duration::from_micros(every))
}

/// What was told already.
struct Report {
    began: MonoTime,
    ready: bool,
    status: String,
    pinged_at: Option<MonoTime>,
}

impl Report {
    /// What is to be told now.
    fn next(
        &mut self,
        now: MonoTime,
        snapshot: &Snapshot,
        discovered: bool,
        watchdog: Option<Duration>,
    ) -> Option<String> {
        let mut lines = Vec::new();
        if !self.ready && (discovered || now.since(self.began) >= PATIENCE) {
            self.ready = true;
            lines.push("READY=1".to_owned());
        }
        let status = status(snapshot, discovered);
        if status != self.status {
            lines.push(format!("STATUS={status}"));
            self.status = status;
        }
        if let Some(every) = watchdog {
            let due = self.pinged_at.is_none_or(|at| now.since(at) >= every / 2);
            if due && now.since(snapshot.at) < FRESH {
                self.pinged_at = Some(now);
                lines.push("WATCHDOG=1".to_owned());
            }
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// The agent in one line.
fn status(snapshot: &Snapshot, discovered: bool) -> String {
    if !discovered {
        return "looking for ports".into();
    }
    let mut line = match snapshot.ports.len() {
        1 => "1 port".to_owned(),
        ports => format!("{ports} ports"),
    };
    let _ = write!(line, ", mode {}", snapshot.mode.label());
    let queues = || snapshot.ports.iter().flat_map(|port| &port.queues);
    let counts = [
        (queues().filter(|queue| queue.storm_since.is_some()).count(), "in storm"),
        (snapshot.undos_pending as usize, "to be taken back"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        let _ = write!(line, ", {count} {what}");
    }
    if snapshot.maintenance {
        line.push_str(", in maintenance");
    }
    if snapshot.mode == Mode::Enforce && !snapshot.journal_writable {
        line.push_str(", no journal");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_secs(20);

    fn at(millis: u64) -> MonoTime {
        MonoTime::from_nanos(1_000_000_000_000 + millis * 1_000_000)
    }

    fn report() -> Report {
        Report { began: at(0), ready: false, status: String::new(), pinged_at: None }
    }

    fn made(millis: u64) -> Snapshot {
        Snapshot { at: at(millis), mode: Mode::DryRun, ..Snapshot::default() }
    }

    #[test]
    fn ready_is_told_once_when_ports_were_looked_for() {
        let mut report = report();
        assert_eq!(report.next(at(0), &made(0), false, None).as_deref(), Some("STATUS=looking for ports"));
        assert_eq!(report.next(at(1000), &made(0), false, None), None);
        let ready = report.next(at(2000), &made(0), true, None);
        assert_eq!(ready.as_deref(), Some("READY=1\nSTATUS=0 ports, mode dry_run"));
        assert_eq!(report.next(at(3000), &made(0), true, None), None);
    }

    #[test]
    fn a_list_of_ports_that_hangs_does_not_keep_the_service_from_having_started() {
        let mut report = report();
        let told = (0..60).filter_map(|s| report.next(at(s * 1000), &made(0), false, None));
        assert_eq!(told.collect::<Vec<_>>(), ["STATUS=looking for ports", "READY=1"]);
    }

    #[test]
    fn a_sign_of_life_is_given_at_half_of_the_time_and_only_while_the_loop_makes_snapshots() {
        let mut report = report();
        report.next(at(0), &made(0), true, None);
        let mut pings = |seconds: std::ops::Range<u64>, made_at: fn(u64) -> u64| {
            let given =
                |s: &u64| report.next(at(s * 1000), &made(made_at(s * 1000)), true, Some(EVERY)).is_some();
            seconds.filter(given).collect::<Vec<_>>()
        };
        assert_eq!(pings(0..35, |now| now), [0, 10, 20, 30]);
        assert_eq!(pings(35..60, |_| 35_000), Vec::<u64>::new(), "the loop made its last one at 35");
        assert_eq!(pings(60..75, |now| now), [60, 70]);
    }

    #[test]
    fn a_sign_of_life_is_owed_by_the_process_that_is_named_alone() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(watchdog(text("20000000"), None, 7), Some(EVERY));
        assert_eq!(watchdog(text("20000000"), text("7"), 7), Some(EVERY));
        for (usec, pid) in
            [(text("20000000"), text("8")), (text("0"), None), (text("soon"), None), (None, None)]
        {
            assert_eq!(watchdog(usec.clone(), pid.clone(), 7), None, "{usec:?} {pid:?}");
        }
    }

    #[test]
    fn a_socket_without_a_path_is_reached() {
        let name = format!("rocewatch-test-{}", std::process::id());
        let supervisor = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        connect(format!("@{name}").as_bytes()).unwrap().send(b"READY=1").unwrap();
        let mut told = [0; 64];
        let length = supervisor.recv(&mut told).unwrap();
        assert_eq!(&told[..length], b"READY=1");
    }

    #[test]
    fn the_status_tells_what_somebody_has_to_look_at() {
        let mut snapshot = Snapshot { mode: Mode::Enforce, journal_writable: true, ..Snapshot::default() };
        assert_eq!(status(&snapshot, true), "0 ports, mode enforce");
        snapshot.undos_pending = 2;
        snapshot.maintenance = true;
        snapshot.journal_writable = false;
        assert_eq!(
            status(&snapshot, true),
            "0 ports, mode enforce, 2 to be taken back, in maintenance, no journal"
        );
    }
}
