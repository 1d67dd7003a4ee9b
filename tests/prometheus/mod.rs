//! A real Prometheus (Debian's package) that scrapes what a test started, and evaluates the rules in `alerts/`.

use std::fmt::Write;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rocewatch::clock;
use serde_json::Value;

use crate::skip::skip;

/// Between two looks at something that is waited for.
const LOOK: Duration = Duration::from_millis(200);
/// Seconds that a question about a time range looks back: more than a round of the demo's storms.
const RANGE: u64 = 30;

/// Where a Prometheus finds what it scrapes.
pub(crate) enum Target {
    /// `/metrics` at an address.
    Page(String),
    /// What a list at this address names.
    List(String),
}

/// How often it looks, in seconds.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// `scrape_interval`.
    pub(crate) scrape: u64,
    /// `evaluation_interval`.
    pub(crate) evaluate: u64,
}

pub(crate) const EACH_SECOND: Pace = Pace { scrape: 1, evaluate: 1 };

/// A running Prometheus; ended with the test.
pub(crate) struct Prometheus {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

/// A rule as Prometheus evaluated it.
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) query: String,
    pub(crate) records: bool,
    pub(crate) error: Option<String>,
}

impl Prometheus {
    /// Starts one with a scrape and an evaluation each second, and the rules as they are committed; none if it is not
    /// installed.
    pub(crate) fn scraping(targets: &[Target]) -> Option<Self> {
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("alerts");
        Self::alerting(targets, &rules, None, EACH_SECOND)
    }

    /// One with the rules in a folder, an Alertmanager to tell, and a pace of its own.
    pub(crate) fn alerting(
        targets: &[Target],
        rules: &Path,
        alertmanager: Option<&str>,
        pace: Pace,
    ) -> Option<Self> {
        if Command::new("prometheus")
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_err()
        {
            skip("what is asked of a Prometheus", "prometheus is not installed (Debian package prometheus)");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("prometheus.yml");
        fs::write(&config, configuration(targets, rules, alertmanager, pace)).unwrap();
        // Free a moment ago; nothing else on this machine looks for one just now.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=error")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Some(Self { child, address, _folder: folder })
    }

    /// Waits until an expression has an answer.
    pub(crate) fn wait_until(&self, what: &str, within: Duration, expression: &str) {
        let until = clock::now() + within;
        while self.ask(expression).unwrap_or(0) == 0 {
            assert!(clock::now() < until, "{what} did not come within {within:?}: {expression}");
            thread::sleep(LOOK);
        }
    }

    /// How many series an expression has now.
    pub(crate) fn ask(&self, expression: &str) -> Result<usize, String> {
        let answer = self.get("query", &[("query", expression)])?;
        Ok(answer["result"].as_array().map_or(0, Vec::len))
    }

    /// How many series an expression had in the last half minute.
    pub(crate) fn ask_lately(&self, expression: &str) -> Result<usize, String> {
        let now = clock::since_1970().as_secs();
        let (start, end) = ((now - RANGE).to_string(), now.to_string());
        let range = [("query", expression), ("start", &start), ("end", &end), ("step", "1")];
        Ok(self.get("query_range", &range)?["result"].as_array().map_or(0, Vec::len))
    }

    /// The labels of all series of a metric.
    pub(crate) fn series(&self, metric: &str) -> Vec<Vec<String>> {
        let answer = self.get("series", &[("match[]", metric)]).unwrap();
        let labels = |series: &Value| series.as_object().unwrap().keys().cloned().collect();
        answer.as_array().unwrap().iter().map(labels).collect()
    }

    /// The rules, as far as there are any.
    pub(crate) fn rules(&self) -> Vec<Rule> {
        let answer = self.get("rules", &[]).unwrap();
        let groups = answer["groups"].as_array().unwrap().iter();
        let rules = groups.flat_map(|group| group["rules"].as_array().unwrap());
        let text = |rule: &Value, key: &str| rule[key].as_str().unwrap_or_default().to_owned();
        let rule = |rule: &Value| Rule {
            name: text(rule, "name"),
            query: text(rule, "query"),
            records: rule["type"] == "recording",
            error: Some(text(rule, "lastError")).filter(|error| !error.is_empty()),
        };
        rules.map(rule).collect()
    }

    fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, String> {
        let url = format!("http://{}/api/v1/{path}", self.address);
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let mut response =
            agent.get(&url).query_pairs(query.iter().copied()).call().map_err(|e| e.to_string())?;
        let body = response.body_mut().read_to_string().map_err(|e| e.to_string())?;
        let mut answer: Value = serde_json::from_str(&body).map_err(|_| body)?;
        if answer["status"] == "success" {
            Ok(answer["data"].take())
        } else {
            Err(answer["error"].to_string())
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One job for all, as the rules expect it.
fn configuration(targets: &[Target], rules: &Path, alertmanager: Option<&str>, pace: Pace) -> String {
    let Pace { scrape, evaluate } = pace;
    let (mut pages, mut lists, mut told) = (String::new(), String::new(), String::new());
    for target in targets {
        let _ = match target {
            Target::Page(address) => write!(pages, "\"{address}\", "),
            Target::List(url) => write!(lists, "{{ url: \"{url}\" }}, "),
        };
    }
    if let Some(address) = alertmanager {
        let _ = writeln!(
            told,
            "alerting: {{ alertmanagers: [ {{ static_configs: [ {{ targets: [ \"{address}\" ] }} ] }} ] }}"
        );
    }
    format!(
        "global: {{ scrape_interval: {scrape}s, scrape_timeout: {}s, evaluation_interval: {evaluate}s }}\n\
         rule_files: [ {}/*.yml ]\n{told}scrape_configs:\n\
         - job_name: rocewatch\n  static_configs: [ {{ targets: [ {pages} ] }} ]\n  http_sd_configs: [ {lists} ]\n",
        scrape.min(10),
        rules.display()
    )
}
