//! Every expression that is given to users, asked of a real Prometheus that scrapes the demo: of the dashboards, of the
//! rules in alerts/, and the metrics that are named in the pages for people.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "running/mod.rs"]
mod running;
#[path = "skip/mod.rs"]
mod skip;
#[path = "promql/mod.rs"]
mod promql;
#[path = "prometheus/mod.rs"]
mod prometheus;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use prometheus::{Prometheus, Target};
use rocewatch::dashboards;
use rocewatch::dashboards::board::Variable;
use rocewatch::dashboards::panel::Kind;
use rocewatch_core::catalog::Family;
use running::Agent;

/// Nodes of the simulated fleet.
const FLEET: &str = "16";
/// Within this the demo has had storms on both of its ports, and has acted.
const DEMO: Duration = Duration::from_secs(60);
/// Within this something has gone wrong in the fleet.
const TROUBLE: Duration = Duration::from_secs(120);

/// What nothing that is simulated counts or tells, and why. The rest has to have data.
const NOT_SIMULATED: &[(&str, &str)] = &[
    ("rocewatch_devlink_healthy", "no simulated driver has health reporters"),
    ("rocewatch_devlink_health_errors_total", "no simulated driver has health reporters"),
    ("rocewatch_devlink_health_recoveries_total", "no simulated driver has health reporters"),
    ("rocewatch_global_rx_pause_seconds_total", "802.3x pause is off, and its names vanish with it"),
    ("rocewatch_global_tx_pause_seconds_total", "802.3x pause is off, and its names vanish with it"),
    ("rocewatch_pfc_rx_xoff_frames_total", "no simulated driver counts stop and go apart"),
    ("rocewatch_pfc_tx_xoff_frames_total", "no simulated driver counts stop and go apart"),
    ("rocewatch_pfc_rx_xon_frames_total", "no simulated driver counts stop and go apart"),
    ("rocewatch_pfc_tx_xon_frames_total", "no simulated driver counts stop and go apart"),
    ("rocewatch_retransmits_total", "the RDMA device of the fleet is mlx5, which has other names for it"),
    ("rocewatch_rnr_naks_sent_total", "the RDMA device of the fleet is mlx5, which does not count it"),
    ("rocewatch_saturated", "no simulated counter sticks at its end"),
    ("rocewatch_read_errors_total", "no simulated read fails"),
    ("rocewatch_raw_total", "a setting asks for it"),
    ("rocewatch_nvmet_port_info", "no simulated node serves storage"),
    ("rocewatch_nvmet_port_subsystem_info", "no simulated node serves storage"),
    ("rocewatch_nvmet_namespaces", "no simulated node serves storage"),
    ("rocewatch_nvmet_hosts_allowed", "no simulated node serves storage"),
    ("rocewatch_watchdog_port_maintenance_remaining_seconds", "an operator asks for it"),
    ("rocewatch_watchdog_tests_total", "an operator asks for it"),
];

/// What a page names that is no metric of its own: the beginning of several.
const PAGES: [&str; 3] = ["README.md", "docs", "alerts/runbooks"];
/// These are generated from the catalogue, and list what no NIC of the demo has.
const GENERATED: [&str; 2] = ["docs/metrics.md", "docs/nics.md"];

/// An expression, where it stands, and why it may have no answer.
struct Asked {
    place: String,
    expression: String,
    of: Of,
    may_be_empty: Option<&'static str>,
}

/// What is asked.
enum Of {
    Now,
    Lately,
}

#[test]
fn every_expression_is_answered_and_every_metric_in_it_is_emitted() {
    let simulated = Simulated::start();
    let Some(prometheus) = Prometheus::scraping(&simulated.targets()) else { return };
    wait_for_trouble(&prometheus);
    let mut wrong = Vec::new();
    let mut named = BTreeMap::new();
    let is_missing = |metric: &str| NOT_SIMULATED.iter().any(|(other, _)| *other == metric);
    for Asked { place, expression, of, may_be_empty } in on_dashboards() {
        let metrics = promql::metrics(&expression);
        let answer = match of {
            Of::Now => prometheus.ask(&expression),
            Of::Lately => prometheus.ask_lately(&expression),
        };
        match answer {
            Err(error) => wrong.push(format!("{place}: {error}: {expression}")),
            Ok(0) if may_be_empty.is_none() && !metrics.iter().any(|metric| is_missing(metric)) => {
                wrong.push(format!("{place}: no data: {expression}"));
            }
            Ok(_) => {}
        }
        wrong.extend(labels_not_emitted(&prometheus, &place, &expression));
        named.extend(metrics.into_iter().map(|metric| (metric.to_owned(), place.clone())));
    }
    let rules = prometheus.rules();
    assert_eq!(rules.len(), rocewatch::alerts::rules().count(), "Prometheus has read all rules");
    for rule in rules {
        let (place, expression) = (format!("rule {}", rule.name), &rule.query);
        wrong.extend(rule.error.map(|error| format!("{place}: {error}")));
        wrong.extend(promql::wrong_labels(expression).iter().map(|label| format!("{place}: label {label}")));
        wrong.extend(labels_not_emitted(&prometheus, &place, expression));
        let metrics = promql::metrics(expression);
        if rule.records
            && prometheus.ask(expression) == Ok(0)
            && !metrics.iter().any(|metric| is_missing(metric))
        {
            wrong.push(format!("{place}: records nothing: {expression}"));
        }
        named.extend(metrics.into_iter().map(|metric| (metric.to_owned(), place.clone())));
    }
    named.extend(on_pages());
    for (metric, place) in named {
        wrong.extend(
            not_emitted(&prometheus, &metric, &is_missing).map(|what| format!("{place}: {metric} {what}")),
        );
    }
    let stale = NOT_SIMULATED.iter().filter(|(metric, _)| prometheus.ask(metric) != Ok(0));
    wrong.extend(stale.map(|(metric, _)| format!("{metric} is simulated: NOT_SIMULATED need not list it")));
    assert!(wrong.is_empty(), "{} found:\n{}", wrong.len(), wrong.join("\n"));
}

/// What the Prometheus scrapes.
struct Simulated {
    node: Agent,
    fleet: Agent,
}

impl Simulated {
    fn start() -> Self {
        Self { node: Agent::start(&["demo"]), fleet: Agent::start(&["demo", "--fleet", FLEET]) }
    }

    fn targets(&self) -> Vec<Target> {
        let fleet = Target::List(format!("http://{}/sd", self.fleet.address()));
        vec![Target::Page(self.node.address().to_owned()), fleet]
    }
}

fn wait_for_trouble(prometheus: &Prometheus) {
    prometheus.wait_until(
        "storms on both ports, an action and a veto",
        DEMO,
        "count(rocewatch_watchdog_storms_total{direction='rx'} > 0) > 1 and sum(rocewatch_watchdog_actions_total) > 1 \
         and sum(rocewatch_watchdog_suppressed_total) > 1 and sum(rocewatch_watchdog_hold_off_remaining_seconds == 0) == 0",
    );
    let stopped = "sum(rate(rocewatch_pfc_tx_pause_seconds_total[5s])) > 0 and sum(rate(rocewatch_cnp_sent_total[1m])) > 1";
    prometheus.wait_until("pause of a sick host in the fleet", TROUBLE, stopped);
}

/// Every expression of every dashboard.
fn on_dashboards() -> Vec<Asked> {
    let mut all = Vec::new();
    for board in dashboards::all() {
        let place = |what: &str| format!("{} / {what}", board.uid);
        for panel in board.panels() {
            for query in &panel.queries {
                all.push(Asked {
                    place: place(panel.title),
                    expression: without_variables(&query.expression.promql()),
                    of: if matches!(panel.kind, Kind::TimeSeries(_)) { Of::Lately } else { Of::Now },
                    may_be_empty: query.may_be_empty,
                });
            }
        }
        for annotation in &board.annotations {
            let expression = without_variables(&annotation.expression.promql());
            all.push(Asked { place: place(annotation.name), expression, of: Of::Lately, may_be_empty: None });
        }
        for (variable, series) in
            board.variables().filter_map(|variable| Some((variable, variable.series()?)))
        {
            let expression = without_variables(&series.promql());
            all.push(Asked { place: place(variable.label()), expression, of: Of::Now, may_be_empty: None });
        }
    }
    all
}

/// As Grafana asks it while everything is selected.
fn without_variables(expression: &str) -> String {
    let built = [("$__rate_interval", "5s"), ("$__interval", "1s"), ("$__range", "30s")];
    let chosen = Variable::ALL.map(|variable| format!("${}", variable.name()));
    let text = built.iter().fold(expression.to_owned(), |text, (name, value)| text.replace(name, value));
    chosen.iter().fold(text, |text, name| text.replace(name, ".*"))
}

/// The metrics on pages for people, and where.
fn on_pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let in_folder = |folder: &str| {
        let files = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        files.map(|file| format!("{folder}/{}", file.file_name().to_string_lossy())).collect::<Vec<_>>()
    };
    let files = PAGES.iter().flat_map(|place| match place.ends_with(".md") {
        true => vec![(*place).to_owned()],
        false => in_folder(place),
    });
    let written = files.filter(|file| file.ends_with(".md") && !GENERATED.contains(&file.as_str()));
    let metrics = written.flat_map(|file| {
        let text = fs::read_to_string(root.join(&file)).unwrap();
        promql::metrics(&text).into_iter().map(|metric| (metric.to_owned(), file.clone())).collect::<Vec<_>>()
    });
    metrics.collect()
}

/// What is wrong with a metric that is named somewhere: it does not exist, or nothing has it.
fn not_emitted(
    prometheus: &Prometheus,
    metric: &str,
    is_missing: &dyn Fn(&str) -> bool,
) -> Option<&'static str> {
    if metric.ends_with('_') {
        let none = !Family::all().any(|family| family.name.starts_with(metric));
        return none.then_some("is the beginning of nothing in the catalogue");
    }
    match promql::family(metric) {
        None => Some("is not in the catalogue"),
        Some(_) if is_missing(metric) => None,
        Some(_) => {
            let lately = format!("count({metric}) or count({metric}_count)");
            (prometheus.ask_lately(&lately) == Ok(0)).then_some("is emitted by nothing that is simulated")
        }
    }
}

/// Labels that an expression selects by and no series of the metric has.
fn labels_not_emitted(prometheus: &Prometheus, place: &str, expression: &str) -> Vec<String> {
    let selected = promql::selections(expression).into_iter();
    let ours = selected.filter(|selection| promql::family(selection.metric).is_some());
    let mut wrong = Vec::new();
    for selection in ours {
        let series = prometheus.series(selection.metric);
        for label in selection.labels.iter().filter(|label| **label != "cluster") {
            if !series.is_empty() && !series.iter().flatten().any(|has| has == label) {
                wrong.push(format!("{place}: no series of {} has the label {label}", selection.metric));
            }
        }
    }
    wrong
}
