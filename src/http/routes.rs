//! What is answered where. Every handler reads what is there already; none waits for a device.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rocewatch_core::snapshot::{PortView, Snapshot};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::negotiate::{Encoding, encoding};
use super::{AppState, landing, state, stream};
use crate::export::{Page, PageCache};

/// The paths that are answered, with what a landing page says of them. The label `path` of the request counts has
/// one of these values, or `other`.
pub(super) const PATHS: [(&str, &str); 6] = [
    ("/", "this page"),
    ("/metrics", "metrics in the Prometheus text format"),
    ("/api/v1/state", "the state of every port and queue as JSON"),
    ("/api/v1/events", "events as they happen, as a stream"),
    ("/-/healthy", "whether the agent runs"),
    ("/-/ready", "whether every port has been read"),
];

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// What all handlers share.
struct Shared {
    app: AppState,
    pages: PageCache,
    requests: Semaphore,
    subscribers: Arc<Semaphore>,
    ready: AtomicBool,
    stop: CancellationToken,
}

/// All routes, ready to serve.
pub(super) fn router(app: AppState, stop: CancellationToken) -> Router {
    let shared = Arc::new(Shared {
        pages: PageCache::default(),
        requests: Semaphore::new(app.limits.requests),
        subscribers: Arc::new(Semaphore::new(app.limits.subscribers)),
        ready: AtomicBool::new(false),
        app,
        stop,
    });
    let costly = Router::new()
        .route("/", get(index))
        .route("/metrics", get(metrics))
        .route("/api/v1/state", get(api_state))
        .route_layer(from_fn_with_state(Arc::clone(&shared), limit));
    Router::new()
        .merge(costly)
        .route("/api/v1/events", get(api_events))
        .route("/-/healthy", get(healthy))
        .route("/-/ready", get(ready))
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn_with_state(Arc::clone(&shared), account))
        .with_state(shared)
}

impl Shared {
    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.app.snapshots.borrow())
    }

    fn busy(&self, text: &'static str) -> Response {
        self.app.stats.http.rejected.one();
        (StatusCode::SERVICE_UNAVAILABLE, [(CONTENT_TYPE, TEXT)], text).into_response()
    }

    /// Whether every port has been read, or is known not to be readable. Once so, it stays so: a port that comes
    /// later does not take the others out of service.
    fn is_ready(&self) -> bool {
        let answered = |port: &PortView| port.read_at.is_some() || port.accounts.failures > 0;
        if self.app.stats.is_discovered() && self.snapshot().ports.iter().all(answered) {
            self.ready.store(true, Ordering::Relaxed);
        }
        self.ready.load(Ordering::Relaxed)
    }
}

/// Counts each answer, and keeps browsers from guessing what it is.
async fn account(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let asked = request.uri().path();
    let path = PATHS.iter().find(|(path, _)| *path == asked).map_or("other", |(path, _)| path);
    let mut response = next.run(request).await;
    shared.app.stats.http.note_request(path, response.status().as_u16());
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Turns a request away while too many that cost something are in work.
async fn limit(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let Ok(_place) = shared.requests.try_acquire() else { return shared.busy("too many requests\n") };
    next.run(request).await
}

async fn metrics(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let (stats, clock) = (Arc::clone(&shared.app.stats), Arc::clone(&shared.app.clock));
    let Ok(page) = shared.pages.page(shared.snapshot(), stats, clock).await else {
        let text = "the metrics page could not be rendered\n";
        return (StatusCode::INTERNAL_SERVER_ERROR, [(CONTENT_TYPE, TEXT)], text).into_response();
    };
    let head = [
        (CONTENT_TYPE, HeaderValue::from_static(Page::CONTENT_TYPE)),
        (VARY, HeaderValue::from_static("accept-encoding")),
    ];
    match encoding(&headers) {
        Encoding::Plain => (head, page.plain).into_response(),
        Encoding::Gzip => {
            (head, [(CONTENT_ENCODING, HeaderValue::from_static("gzip"))], page.gzip).into_response()
        }
    }
}

async fn index(State(shared): State<Arc<Shared>>) -> Response {
    let moment = (shared.app.clock)();
    let html = landing::page(&shared.snapshot(), &shared.app.stats.build, &moment);
    ([(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))], html).into_response()
}

async fn api_state(State(shared): State<Arc<Shared>>) -> Response {
    let moment = (shared.app.clock)();
    let json = state::json(&shared.snapshot(), &shared.app.stats.build, &moment);
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], json).into_response()
}

async fn api_events(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let Ok(place) = Arc::clone(&shared.subscribers).try_acquire_owned() else {
        return shared.busy("too many clients follow the events\n");
    };
    let after = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.trim().parse().ok());
    let hub = &shared.app.events;
    let follower = after.map_or_else(|| hub.follow(), |seq| hub.follow_after(seq));
    let following = stream::Following {
        follower,
        clock: Arc::clone(&shared.app.clock),
        stop: shared.stop.clone(),
        _place: place,
    };
    let items = futures_util::stream::unfold(following, |mut following| async {
        let item = following.next().await?;
        Some((Ok::<_, Infallible>(item), following))
    });
    let keep_alive = KeepAlive::new().interval(shared.app.limits.keep_alive).text("keep-alive");
    Sse::new(items).keep_alive(keep_alive).into_response()
}

pub(super) async fn healthy() -> &'static str {
    "healthy\n"
}

async fn ready(State(shared): State<Arc<Shared>>) -> (StatusCode, &'static str) {
    if shared.is_ready() {
        return (StatusCode::OK, "ready\n");
    }
    (StatusCode::SERVICE_UNAVAILABLE, "not ready: not every port has been read yet\n")
}

pub(super) async fn not_found() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "there is nothing here; / lists what there is\n")
}

pub(super) async fn not_allowed() -> (StatusCode, &'static str) {
    (StatusCode::METHOD_NOT_ALLOWED, "read only: expected GET or HEAD\n")
}
