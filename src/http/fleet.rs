//! Many nodes behind one server, for the simulated fleet: each answers under a path of its own as an agent does, and one
//! list tells a Prometheus where they are (HTTP service discovery).

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use rocewatch_core::snapshot::{QueueView, Snapshot};
use rocewatch_core::units::Direction;
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::landing::{Escaped, HEAD, count};
use super::{AppState, Limits, routes};
use crate::export::stats::AgentStats;

/// A node of the fleet.
#[derive(Clone)]
pub struct Member {
    /// Its name: the label `instance`.
    pub name: String,
    /// Its other labels.
    pub labels: BTreeMap<&'static str, String>,
    /// What it shows.
    pub state: AppState,
}

/// What the server of a fleet shows.
#[derive(Clone)]
pub struct FleetState {
    /// Its nodes.
    pub members: Vec<Member>,
    /// What is wrong with it now, in words.
    pub health: watch::Receiver<String>,
    /// The server's own counts, which no page shows.
    pub stats: Arc<AgentStats>,
    /// Bounds of what is served at once.
    pub limits: Limits,
}

/// The place of a node's metrics page.
#[must_use]
pub fn metrics_path(name: &str) -> String {
    format!("/node/{name}/metrics")
}

/// All routes, ready to serve.
pub(super) fn router(fleet: FleetState, stop: &CancellationToken) -> Router {
    let nodes = fleet.members.iter().fold(Router::new(), |router, member| {
        let node = routes::router(member.state.clone(), stop.clone());
        router.nest_service(&format!("/node/{}", member.name), node)
    });
    let own = Router::new()
        .route("/", get(index))
        .route("/sd", get(discovery))
        .route("/-/healthy", get(routes::healthy))
        .with_state(Arc::new(fleet));
    nodes.merge(own).fallback(routes::not_found).method_not_allowed_fallback(routes::not_allowed)
}

/// A group of targets, as Prometheus reads it.
#[derive(Serialize)]
struct Group {
    targets: [String; 1],
    labels: BTreeMap<&'static str, String>,
}

/// Targets are where the request came to: whoever reached the list reaches them too.
async fn discovery(State(fleet): State<Arc<FleetState>>, headers: HeaderMap) -> Response {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let group = |member: &Member| {
        let mut labels = member.labels.clone();
        labels.insert("__metrics_path__", metrics_path(&member.name));
        labels.insert("instance", member.name.clone());
        Group { targets: [host.to_owned()], labels }
    };
    let groups = fleet.members.iter().map(group).collect::<Vec<_>>();
    let json = serde_json::to_vec(&groups).expect("the list holds text alone");
    // Prometheus takes this type, and none with a character set.
    ([(CONTENT_TYPE, "application/json")], json).into_response()
}

async fn index(State(fleet): State<Arc<FleetState>>) -> Html<String> {
    let mut html = String::from(HEAD);
    // A string takes every write.
    let _ = write_page(&mut html, &fleet);
    Html(html)
}

fn write_page(html: &mut String, fleet: &FleetState) -> fmt::Result {
    let nodes = count(fleet.members.len() as u32, "simulated node");
    writeln!(html, "<h1>rocewatch <span class=\"dim\">{nodes}</span></h1>")?;
    writeln!(html, "<p>Now: <b>{}</b>.", Escaped(&fleet.health.borrow()))?;
    writeln!(html, "<a href=\"sd\"><code>/sd</code></a> lists the nodes for Prometheus.</p>")?;
    html.write_str("<table>\n<tr><th>node</th><th>place</th><th>state</th><th>storms so far</th></tr>\n")?;
    for member in &fleet.members {
        let snapshot = Arc::clone(&member.state.snapshots.borrow());
        let name = Escaped(&member.name);
        let labels = member.labels.iter().map(|(label, value)| format!("{label} {value}"));
        let place = labels.collect::<Vec<_>>().join(", ");
        let storms = queues(&snapshot).map(|queue| queue.storms).sum::<u64>();
        writeln!(
            html,
            "<tr><td><a href=\"node/{name}/\">{name}</a></td><td>{}</td><td>{}</td><td>{storms}</td></tr>",
            Escaped(&place),
            state(&snapshot)
        )?;
    }
    html.write_str("</table>\n</body></html>\n")
}

fn queues(snapshot: &Snapshot) -> impl Iterator<Item = &QueueView> {
    snapshot.ports.iter().flat_map(|port| &port.queues)
}

/// The worst that can be said of a node.
fn state(snapshot: &Snapshot) -> &'static str {
    let storm = |direction| queues(snapshot).any(|q| q.direction == direction && q.storm_since.is_some());
    if storm(Direction::Tx) {
        "<span class=\"bad\">holds its peer: storm</span>"
    } else if storm(Direction::Rx) {
        "<span class=\"bad\">held by its peer: storm</span>"
    } else if queues(snapshot).any(|queue| queue.milder.choppy || queue.milder.throttled.contains(&true)) {
        "throttled"
    } else {
        "healthy"
    }
}
