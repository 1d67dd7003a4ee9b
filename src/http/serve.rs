//! Accepts connections and speaks HTTP/1.1 on them, within the limits. Knows no route.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::fleet::{self, FleetState};
use super::timed::Timed;
use super::{AppState, Limits, routes};
use crate::export::stats::{AgentStats, LevelGuard};

/// Between two tries after the kernel could not hand out a connection, as when descriptors have run out: it is told
/// once, and a loop that spins would take a processor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The longest head of a request, and the largest piece of a body that is looked at: the routes take no body at all.
const READ_BUFFER_BYTES: usize = 32 * 1024;
/// Sent to a connection above the limit, without waiting for its request.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\n\
    content-length: 21\r\nconnection: close\r\n\r\ntoo many connections\n";

/// Serves `state` on all `listeners` until `stop` is cancelled; then ends the event streams, lets the answers under
/// way finish within the grace time, and returns.
pub async fn serve(listeners: Vec<TcpListener>, state: AppState, stop: CancellationToken) {
    let router = routes::router(state.clone(), stop.clone());
    Server::new(router, state.limits, state.stats, stop).run(listeners).await;
}

/// The same for the nodes of a simulated fleet, each under a path of its own.
pub async fn serve_fleet(listeners: Vec<TcpListener>, fleet: FleetState, stop: CancellationToken) {
    let (limits, stats) = (fleet.limits.clone(), Arc::clone(&fleet.stats));
    let router = fleet::router(fleet, &stop);
    Server::new(router, limits, stats, stop).run(listeners).await;
}

struct Server {
    router: Router,
    limits: Limits,
    stats: Arc<AgentStats>,
    free: Arc<Semaphore>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// What an open connection holds: its place and its count.
struct Admission {
    _place: OwnedSemaphorePermit,
    _count: LevelGuard,
}

impl Server {
    fn new(router: Router, limits: Limits, stats: Arc<AgentStats>, stop: CancellationToken) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(limits.connections));
        Arc::new(Self { router, limits, stats, free, tasks: TaskTracker::new(), stop })
    }

    async fn run(self: Arc<Self>, listeners: Vec<TcpListener>) {
        for listener in listeners {
            let accepting = Arc::clone(&self);
            self.tasks.spawn(async move { accepting.accept(listener).await });
        }
        self.stop.cancelled().await;
        self.tasks.close();
        // Each task ends itself within the grace time.
        self.tasks.wait().await;
    }

    async fn accept(&self, listener: TcpListener) {
        let mut failing = false;
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    failing = false;
                    self.admit(stream);
                }
                // The client has gone again before it was its turn.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    if !failing {
                        tracing::warn!(%error, "no connection can be accepted");
                    }
                    failing = true;
                    tokio::select! {
                        () = self.stop.cancelled() => return,
                        () = sleep(ACCEPT_PAUSE) => {}
                    }
                }
            }
        }
    }

    fn admit(&self, stream: TcpStream) {
        let Ok(place) = Arc::clone(&self.free).try_acquire_owned() else {
            self.stats.http.rejected.one();
            refuse(stream);
            return;
        };
        let admission = Admission { _place: place, _count: self.stats.http.connections.enter() };
        let router = self.router.clone();
        let limits = self.limits.clone();
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            converse(stream, router, &limits, &stop).await;
            drop(admission);
        });
    }
}

/// Says that there is no room. Through the plain socket, as the runtime does not know yet that it can be written to;
/// its buffer is empty, so the kernel takes the whole of it at once or the connection is gone anyway.
fn refuse(stream: TcpStream) {
    if let Ok(mut stream) = stream.into_std() {
        let _ = stream.write(BUSY);
    }
}

/// Answers one client until it leaves, is too slow, or the server stops. What goes wrong with one client is its own
/// affair: it is neither logged nor counted as more than the end of its connection.
async fn converse(stream: TcpStream, router: Router, limits: &Limits, stop: &CancellationToken) {
    // Answers are written whole: waiting for more to send would only delay the last part.
    let _ = stream.set_nodelay(true);
    // A client whose machine is gone acknowledges nothing; the kernel alone would try for a quarter of an hour.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(limits.write_timeout));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(READ_BUFFER_BYTES)
        .serve_connection(
            TokioIo::new(Timed::new(stream, limits.write_timeout)),
            TowerToHyperService::new(router),
        );
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = timeout(limits.grace, connection).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_above_the_limit_has_the_length_it_says() {
        let text = std::str::from_utf8(BUSY).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())));
    }
}
