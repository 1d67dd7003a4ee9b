//! What a scrape costs, beside Debian's node_exporter with its InfiniBand collector on the same files.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rocewatch::clock;

use crate::client::{Client, Form};
use crate::process::Process;
use crate::skip::skip;
use crate::{Aim, Length, tree};

const PORTS: usize = 8;
const PEER: &str = "prometheus-node-exporter";
/// A page is made anew at most so often; a scrape that comes after it gets a new one.
const PAGE_AGE_MIN: Duration = Duration::from_millis(100);
/// What a program does behind an answer, such as collecting garbage, belongs to the answer.
const SETTLE: Duration = Duration::from_millis(20);
/// Scrapes in a row of one page.
const CACHED: usize = 50;
/// Fresh scrapes in a row of each exporter.
const FRESH: usize = 2;

/// The scrapes of one kind.
#[derive(Default)]
struct Scrapes {
    latencies: Vec<Duration>,
    /// Processor time of all of them.
    used: Duration,
    bytes: usize,
}

/// An exporter, and what it costs while nobody asks.
struct Exporter {
    process: Process,
    client: Client,
    idle: f64,
    page: Vec<u8>,
}

impl Exporter {
    fn start(command: &mut Command) -> Self {
        let process = Process::start(command, "--web.listen-address=");
        let mut client = Client::connect(&process.address).unwrap();
        client.scrape(Form::Compressed);
        thread::sleep(Duration::from_secs(1));
        let (before, began) = (process.times(), clock::now());
        thread::sleep(Duration::from_secs(2));
        let idle =
            process.times().since(before).total.as_secs_f64() / clock::now().since(began).as_secs_f64();
        Self { process, client, idle, page: Vec::new() }
    }

    /// Scrapes `count` times. Pages that were sent before go to `cached`, the others to `fresh`; the processor time to
    /// the one of which there were more.
    fn scrape(&mut self, count: usize, fresh: &mut Scrapes, cached: &mut Scrapes) {
        let (before, began) = (self.process.times(), clock::now());
        let counted = |fresh: &Scrapes, cached: &Scrapes| (fresh.latencies.len(), cached.latencies.len());
        let so_far = counted(fresh, cached);
        for _ in 0..count {
            let (page, took) = self.client.scrape(Form::Compressed);
            let kind = if page == self.page { &mut *cached } else { &mut *fresh };
            kind.latencies.push(took);
            kind.bytes = page.len();
            self.page = page;
        }
        thread::sleep(SETTLE);
        let span = clock::now().since(began);
        let used = self.process.times().since(before).total;
        let used = used.saturating_sub(Duration::from_secs_f64(self.idle * span.as_secs_f64()));
        let now = counted(fresh, cached);
        let kind = if now.0 - so_far.0 >= now.1 - so_far.1 { fresh } else { cached };
        kind.used += used;
    }

    fn series(&mut self) -> usize {
        let (page, _) = self.client.scrape(Form::Plain);
        page.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#').count()
    }
}

impl Scrapes {
    fn at(&self, percent: usize) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort();
        sorted[(sorted.len() - 1) * percent / 100].as_secs_f64() * 1e6
    }

    fn used_each(&self) -> f64 {
        self.used.as_secs_f64() / self.latencies.len() as f64 * 1e6
    }

    fn row(&self, name: &str) {
        println!(
            "  {name:22} {:10.0} {:10.0} {:14.0} {:10} {:8}",
            self.at(50),
            self.at(99),
            self.used_each(),
            self.bytes,
            self.latencies.len()
        );
    }
}

/// Both exporters in turn.
pub(crate) fn scrapes(length: Length) -> Vec<Aim> {
    if !std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|p| p.join(PEER).exists()))
    {
        skip("the cost of a scrape", "prometheus-node-exporter is not installed");
        return Vec::new();
    }
    let root = tempfile::tempdir().unwrap();
    tree::fill(root.path(), PORTS);
    let mut ours = Exporter::start(&mut rocewatch(root.path()));
    let mut theirs = Exporter::start(&mut peer(root.path()));
    let [mut fresh, mut cached, mut asked, mut repeated] = [(); 4].map(|()| Scrapes::default());
    for _ in 0..length.rounds {
        for _ in 0..FRESH {
            thread::sleep(PAGE_AGE_MIN);
            ours.scrape(1, &mut fresh, &mut cached);
            theirs.scrape(1, &mut asked, &mut repeated);
        }
        ours.scrape(CACHED, &mut fresh, &mut cached);
    }
    // It keeps no page: one that looks like the last was made all the same.
    asked.latencies.append(&mut repeated.latencies);
    asked.used += repeated.used;
    asked.bytes = asked.bytes.max(repeated.bytes);
    println!("a scrape of {PORTS} devices, compressed; times in us:");
    println!(
        "  {:22} {:>10} {:>10} {:>14} {:>10} {:>8}",
        "", "median", "p99", "processor time", "bytes", "scrapes"
    );
    fresh.row("rocewatch, fresh");
    cached.row("rocewatch, cached");
    asked.row("node_exporter");
    println!("  series: rocewatch {}, node_exporter {}", ours.series(), theirs.series());
    println!(
        "  between scrapes: rocewatch, which reads all the time, {:.2} % of one core, node_exporter {:.2} %; resident \
         {:.1} and {:.1} MiB",
        ours.idle * 100.0,
        theirs.idle * 100.0,
        ours.process.resident_mib(),
        theirs.process.resident_mib()
    );
    let aim = |what: &str, measured: f64, meant: f64, most: f64| Aim {
        what: format!("{what} of node_exporter's"),
        measured,
        meant,
        most,
        unit: " x",
    };
    vec![
        aim("fresh: latency", fresh.at(50) / asked.at(50), 1.0, 2.0),
        aim("fresh: processor time", fresh.used_each() / asked.used_each(), 1.0, 2.0),
        aim("cached: latency", cached.at(50) / asked.at(50), 0.1, 0.3),
        aim("cached: processor time", cached.used_each() / asked.used_each(), 0.1, 0.3),
    ]
}

fn rocewatch(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rocewatch"));
    command.args(["run", "--source.directory"]).arg(root);
    command.arg(format!("--runtime.path={}", root.join("run").display()));
    command.arg(format!("--incidents.path={}", root.join("incidents").display()));
    command
}

fn peer(root: &Path) -> Command {
    let mut command = Command::new(PEER);
    command.args([
        "--collector.disable-defaults",
        "--collector.infiniband",
        "--web.disable-exporter-metrics",
    ]);
    command.arg(format!("--path.sysfs={}", root.join("sys").display()));
    command
}
