//! The metrics page as it is sent, and when a new one is made.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use rocewatch_core::snapshot::Snapshot;
use rocewatch_core::units::MonoTime;

use super::sheet::{Labels, Sheet, family};
use super::stats::{AgentStats, PageFacts};
use super::{Clock, Moment, agent, node, nvmf, ports, rdma, text};

/// A page is made anew when it is older than this, though nothing has happened: ages go on.
const AGE_MAX: Duration = Duration::from_secs(1);
/// No two pages are made within this: many scrapers, or a fast one, cost no more than ten pages a second.
const AGE_MIN: Duration = Duration::from_millis(100);

/// A rendered page. Copies share the bytes.
#[derive(Clone, Debug)]
pub struct Page {
    /// The page as text.
    pub plain: Bytes,
    /// The same, compressed.
    pub gzip: Bytes,
    /// Lines with a value.
    pub series: usize,
}

impl Page {
    /// Its media type: the Prometheus text format.
    pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
}

/// The page of one snapshot.
#[must_use]
pub fn render(snapshot: &Snapshot, stats: &AgentStats, moment: &Moment) -> Page {
    let (rdma, nvmf) = (stats.rdma(), stats.nvmf());
    let mut sheet = Sheet::new();
    let shown = ports::shown(snapshot);
    node::collect(&mut sheet, snapshot, &shown, &rdma);
    for port in &shown {
        let own = stats.known_port(port.key);
        ports::collect(&mut sheet, port, own.as_deref(), snapshot, &rdma, moment);
    }
    rdma::collect(&mut sheet, &rdma);
    nvmf::collect(&mut sheet, &nvmf, moment);
    agent::collect(&mut sheet, stats, &shown, moment);
    let repeated = sheet.drop_duplicates();
    debug_assert_eq!(repeated, 0, "a series stands twice");
    sheet.add(const { family("rocewatch_series_repeated") }, &Labels::none(), repeated as u64);
    let series = sheet.series() + 1;
    sheet.add(const { family("rocewatch_series") }, &Labels::none(), series as u64);
    let plain = text::encode(&sheet);
    let gzip = compressed(&plain);
    Page { plain: plain.into(), gzip: gzip.into(), series }
}

/// At the fastest level: most of a page is repeated names and labels, which every level finds.
fn compressed(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 8), Compression::fast());
    encoder.write_all(plain).and_then(|()| encoder.finish()).expect("memory takes every write")
}

/// Keeps the last page. The first scrape that finds it too old makes the next one, the others wait for that.
#[derive(Clone, Debug, Default)]
pub struct PageCache {
    held: Arc<tokio::sync::Mutex<Option<Held>>>,
}

#[derive(Debug)]
struct Held {
    page: Page,
    /// What it was made of; kept, so that no other snapshot can lie at its address.
    snapshot: Arc<Snapshot>,
    made_at: MonoTime,
}

impl Held {
    /// Whether the page still serves at `now`, with `snapshot` being the newest.
    fn serves(&self, snapshot: &Arc<Snapshot>, now: MonoTime) -> bool {
        let age = now.since(self.made_at);
        age < AGE_MIN || (age <= AGE_MAX && Arc::ptr_eq(&self.snapshot, snapshot))
    }
}

/// A page could not be made.
#[derive(Debug, thiserror::Error)]
#[error("rendering the metrics page ended without a page")]
pub struct RenderFailed(#[source] tokio::task::JoinError);

impl PageCache {
    /// The page for a scrape that comes now.
    ///
    /// # Errors
    /// Rendering panicked, or the runtime is shutting down.
    pub async fn page(
        &self,
        snapshot: Arc<Snapshot>,
        stats: Arc<AgentStats>,
        clock: Clock,
    ) -> Result<Page, RenderFailed> {
        let mut held = Arc::clone(&self.held).lock_owned().await;
        if let Some(held) = held.as_ref().filter(|held| held.serves(&snapshot, clock().now)) {
            return Ok(held.page.clone());
        }
        // Away from the runtime's own threads, where a page of some milliseconds would hold up everything else. The
        // lock goes along: a client that leaves meanwhile does not set the next one free to begin another page.
        let rendering = tokio::task::spawn_blocking(move || {
            let begin = clock();
            let page = render(&snapshot, &stats, &begin);
            let took = clock().age(begin.now);
            stats.note_page(PageFacts { bytes: page.plain.len() as u64, took });
            *held = Some(Held { page: page.clone(), snapshot, made_at: begin.now });
            page
        });
        rendering.await.map_err(RenderFailed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(made_at: MonoTime, snapshot: &Arc<Snapshot>) -> Held {
        let page = Page { plain: Bytes::new(), gzip: Bytes::new(), series: 0 };
        Held { page, snapshot: Arc::clone(snapshot), made_at }
    }

    #[test]
    fn a_page_serves_a_second_while_its_snapshot_is_the_newest() {
        let (old, new) = (Arc::new(Snapshot::default()), Arc::new(Snapshot::default()));
        let held = held(MonoTime::from_millis(5000), &old);
        for (snapshot, millis, serves) in
            [(&old, 5999, true), (&old, 6001, false), (&new, 5099, true), (&new, 5100, false)]
        {
            assert_eq!(held.serves(snapshot, MonoTime::from_millis(millis)), serves, "{millis}");
        }
    }
}
