//! A real Alertmanager (Debian's package) with the inhibitions of `alerts/`, and the webhook that it tells.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rocewatch::clock;
use rocewatch_core::units::MonoTime;
use serde_json::Value;

use crate::skip::skip;

const PROGRAM: &str = "prometheus-alertmanager";

/// A running Alertmanager; ended with the test.
pub(crate) struct Alertmanager {
    child: Child,
    address: String,
    pub(crate) told: Receiver<Alert>,
    _folder: tempfile::TempDir,
}

/// An alert as the webhook was told of it.
#[derive(Debug)]
pub(crate) struct Alert {
    pub(crate) at: MonoTime,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) summary: String,
}

impl Alert {
    pub(crate) fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

impl Alertmanager {
    /// Starts one that waits for `group_wait` seconds before it tells of an alert; none if it is not installed.
    pub(crate) fn start(group_wait: u64) -> Option<Self> {
        let version =
            Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if version.is_err() {
            skip("what is told to a webhook", "prometheus-alertmanager is not installed");
            return None;
        }
        let hook = TcpListener::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("alertmanager.yml");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let inhibitions = fs::read_to_string(root.join("alerts/alertmanager/inhibitions.yml")).unwrap();
        let url = format!("http://{}/", hook.local_addr().unwrap());
        let route = format!(
            "route: {{ receiver: hook, group_by: ['...'], group_wait: {group_wait}s, group_interval: 1s }}"
        );
        let receiver = format!("receivers: [ {{ name: hook, webhook_configs: [ {{ url: \"{url}\" }} ] }} ]");
        fs::write(&config, format!("{route}\n{receiver}\n{inhibitions}")).unwrap();
        // Free a moment ago; nothing else on this machine looks for one just now.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let child = Command::new(PROGRAM)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .args(["--cluster.listen-address=", "--log.level=error"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (tell, told) = channel();
        thread::spawn(move || {
            for stream in hook.incoming().flatten() {
                hear(stream, &tell);
            }
        });
        Some(Self { child, address, told, _folder: folder })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// How many alerts with this name and cluster are kept quiet by another one now.
    pub(crate) fn kept_quiet(&self, name: &str, cluster: &str) -> usize {
        let url = format!("http://{}/api/v2/alerts", self.address);
        let filters = [format!("alertname={name}"), format!("cluster={cluster}")];
        let query = filters.iter().map(|filter| ("filter", filter.as_str()));
        let mut answer = ureq::get(&url).query_pairs(query).call().unwrap();
        let alerts: Value = serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
        let quiet = |alert: &&Value| !alert["status"]["inhibitedBy"].as_array().is_none_or(Vec::is_empty);
        alerts.as_array().unwrap().iter().filter(quiet).count()
    }
}

impl Drop for Alertmanager {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hears one message of the webhook, and says yes to it.
fn hear(mut stream: TcpStream, tell: &Sender<Alert>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).is_ok_and(|read| read > 0) && line != "\r\n" {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap();
    for alert in message["alerts"].as_array().unwrap() {
        if alert["status"] == "firing" {
            let labels = serde_json::from_value(alert["labels"].clone()).unwrap();
            let summary = alert["annotations"]["summary"].as_str().unwrap_or_default().to_owned();
            // The test may have ended.
            let _ = tell.send(Alert { at: clock::now(), labels, summary });
        }
    }
}
