//! The samples of the agent's own counts, and of the host it runs on.

use std::collections::BTreeMap;
use std::sync::Arc;

use rocewatch_core::snapshot::PortView;

use super::Moment;
use super::host::{HostFacts, ProcessFacts};
use super::sheet::{Labels, Sheet, Value, family};
use super::stats::{AgentStats, Collector, PortStats};

/// All samples of the agent. `ports` are those that are shown: what was counted for others is not.
pub(super) fn collect<'a>(
    sheet: &mut Sheet<'a>,
    stats: &AgentStats,
    ports: &[&'a PortView],
    moment: &Moment,
) {
    identity(sheet, stats);
    reads(sheet, stats, ports, moment);
    serving(sheet, stats);
    recording(sheet, stats);
    if let Some(host) = stats.host() {
        self::host(sheet, &host);
    }
}

fn identity(sheet: &mut Sheet<'_>, stats: &AgentStats) {
    let none = Labels::none();
    let build = none
        .with("version", stats.build.version)
        .with("revision", stats.build.revision)
        .with("rustc", stats.build.rustc)
        .with("target", stats.build.target.clone());
    sheet.add(const { family("rocewatch_build_info") }, &build, 1u64);
    let config = stats.config();
    if let Some(hash) = config.hash {
        sheet.add(const { family("rocewatch_config_info") }, &none.with("hash", hash), 1u64);
    }
    let accepted = const { family("rocewatch_config_last_reload_successful") };
    sheet.add_known(accepted, &none, config.accepted);
    let at = const { family("rocewatch_config_last_reload_success_timestamp_seconds") };
    sheet.add_known(at, &none, config.accepted_at);
}

/// A source counts as working if it worked on every port, and as slow as on the slowest.
fn reads<'a>(sheet: &mut Sheet<'a>, stats: &AgentStats, ports: &[&'a PortView], moment: &Moment) {
    let own: Vec<_> = ports.iter().filter_map(|port| Some((*port, stats.known_port(port.key)?))).collect();
    for collector in Collector::ALL {
        let of_ports = own.iter().filter_map(|(_, own)| own.reads.last(collector, moment.now));
        let last = of_ports.chain(stats.reads.last(collector, moment.now));
        let worst = last.reduce(|a, b| (a.0 && b.0, a.1.max(b.1)));
        let labels = Labels::none().with("collector", collector.label());
        let (worked, took) = worst.unzip();
        sheet.add_known(const { family("rocewatch_collector_success") }, &labels, worked);
        sheet.add_known(const { family("rocewatch_collector_duration_seconds") }, &labels, took);
    }
    failures(sheet, stats, &own);
}

/// Ports without a netdev share their series.
fn failures<'a>(sheet: &mut Sheet<'a>, stats: &AgentStats, own: &[(&'a PortView, Arc<PortStats>)]) {
    let of_ports = own.iter().map(|(port, own)| (port.identity.netdev.as_str(), &own.reads));
    let mut sums: BTreeMap<_, u64> = BTreeMap::new();
    for (netdev, reads) in of_ports.chain([("", &stats.reads)]) {
        for ((collector, failure), times) in reads.failures() {
            *sums.entry((collector, netdev, failure)).or_default() += times;
        }
    }
    for ((collector, netdev, failure), times) in sums {
        let labels =
            Labels::none().with("collector", collector.label()).with("netdev", netdev).with("error", failure);
        sheet.add(const { family("rocewatch_read_errors_total") }, &labels, times);
    }
}

fn serving(sheet: &mut Sheet<'_>, stats: &AgentStats) {
    let none = Labels::none();
    for ((path, code), times) in stats.http.requests() {
        let labels = none.with("path", path).with("code", code.to_string());
        sheet.add(const { family("rocewatch_http_requests_total") }, &labels, times);
    }
    let rejected = stats.http.rejected.get();
    sheet.add(const { family("rocewatch_http_requests_rejected_total") }, &none, rejected);
    sheet.add(const { family("rocewatch_http_connections") }, &none, stats.http.connections.get());
    sheet.add(const { family("rocewatch_event_subscribers") }, &none, stats.events.subscribers.get());
    sheet.add(const { family("rocewatch_events_dropped_total") }, &none, stats.events.dropped.get());
    let page = stats.page();
    let bytes = page.map(|page| page.bytes);
    let took = page.map(|page| page.took);
    sheet.add_known(const { family("rocewatch_page_bytes") }, &none, bytes);
    sheet.add_known(const { family("rocewatch_page_render_seconds") }, &none, took);
}

fn recording(sheet: &mut Sheet<'_>, stats: &AgentStats) {
    let none = Labels::none();
    let recorder = &stats.recorder;
    let rows = [
        (const { family("rocewatch_incidents_total") }, &recorder.incidents),
        (const { family("rocewatch_incidents_failed_total") }, &recorder.incidents_failed),
        (const { family("rocewatch_recorder_records_total") }, &recorder.records),
        (const { family("rocewatch_recorder_bytes_total") }, &recorder.bytes),
        (const { family("rocewatch_recorder_dropped_total") }, &recorder.dropped),
    ];
    for (family, count) in rows {
        sheet.add(family, &none, count.get());
    }
}

fn host(sheet: &mut Sheet<'_>, host: &HostFacts) {
    let none = Labels::none();
    sheet.add_known(const { family("rocewatch_host_cpus") }, &none, host.cpus);
    let usage = host.cpu_usage.and_then(Value::shown);
    sheet.add_known(const { family("rocewatch_host_cpu_usage_ratio") }, &none, usage);
    for (window, load) in ["1m", "5m", "15m"].into_iter().zip(host.load.into_iter().flatten()) {
        let labels = none.with("window", window);
        sheet.add_known(const { family("rocewatch_host_load_average") }, &labels, Value::shown(load));
    }
    for (resource, waited) in &host.pressure {
        let labels = none.with("resource", *resource);
        sheet.add(const { family("rocewatch_host_pressure_seconds_total") }, &labels, *waited);
    }
    sheet.add_known(const { family("rocewatch_host_memory_bytes") }, &none, host.memory_bytes);
    let available = host.memory_available_bytes;
    sheet.add_known(const { family("rocewatch_host_memory_available_bytes") }, &none, available);
    if let Some(process) = &host.process {
        self::process(sheet, process);
    }
}

fn process(sheet: &mut Sheet<'_>, process: &ProcessFacts) {
    let none = Labels::none();
    sheet.add(const { family("process_cpu_seconds_total") }, &none, process.cpu);
    sheet.add(const { family("process_resident_memory_bytes") }, &none, process.resident_bytes);
    sheet.add(const { family("process_virtual_memory_bytes") }, &none, process.virtual_bytes);
    sheet.add_known(const { family("process_open_fds") }, &none, process.open_fds);
    sheet.add_known(const { family("process_max_fds") }, &none, process.max_fds);
    sheet.add(const { family("process_start_time_seconds") }, &none, process.started);
}
