//! The agent as a user starts it: the built binary, on a free port, with folders of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    reason = "a test may, and no test uses all of it"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rocewatch::clock;

/// Whatever a test waits for comes soon, or the test has failed after this.
const DEADLINE: Duration = Duration::from_secs(30);
/// Between two looks at something that is waited for.
const LOOK: Duration = Duration::from_millis(20);

/// A running agent; ended with the test.
pub(crate) struct Agent {
    child: Child,
    address: String,
    said: Receiver<String>,
    pub(crate) folder: Rc<tempfile::TempDir>,
}

impl Agent {
    /// Starts `rocewatch` with `arguments` and waits until it serves.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_in(&Rc::new(tempfile::tempdir().unwrap()), arguments)
    }

    /// The same in a folder that another agent has used, or uses.
    pub(crate) fn start_in(folder: &Rc<tempfile::TempDir>, arguments: &[&str]) -> Self {
        Self::launch(Command::new(env!("CARGO_BIN_EXE_rocewatch")), folder, arguments)
    }

    /// The same without a controlling terminal, as a service starts.
    pub(crate) fn start_as_service(folder: &Rc<tempfile::TempDir>, arguments: &[&str]) -> Self {
        Self::start_by(&["setsid"], folder, arguments)
    }

    /// The same by a program that starts another one.
    pub(crate) fn start_by(starter: &[&str], folder: &Rc<tempfile::TempDir>, arguments: &[&str]) -> Self {
        let mut command = Command::new(starter[0]);
        command.args(&starter[1..]).arg(env!("CARGO_BIN_EXE_rocewatch"));
        Self::launch(command, folder, arguments)
    }

    fn launch(mut command: Command, folder: &Rc<tempfile::TempDir>, arguments: &[&str]) -> Self {
        let mut child = command
            .args(arguments)
            .arg("--web.listen-address=127.0.0.1:0")
            .arg(format!("--runtime.path={}", folder.path().join("run").display()))
            .arg(format!("--incidents.path={}", folder.path().join("incidents").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (lines, said) = channel();
        follow(child.stdout.take().unwrap(), lines.clone());
        follow(child.stderr.take().unwrap(), lines);
        let mut agent = Self { child, address: String::new(), said, folder: Rc::clone(folder) };
        // `run` logs where it listens, `demo` prints it.
        agent.address = agent.wait_for_line(|line| {
            let rest = line.split_once("listening address=").or_else(|| line.split_once("http://"))?.1;
            Some(rest.split(['/', ' ']).next().unwrap_or_default().to_owned())
        });
        agent
    }

    /// The first line of which `wanted` makes something.
    pub(crate) fn wait_for_line<T>(&self, wanted: impl Fn(&str) -> Option<T>) -> T {
        let mut said = String::new();
        let until = clock::now() + DEADLINE;
        while let Ok(line) = self.said.recv_timeout(until.since(clock::now())) {
            if let Some(found) = wanted(&line) {
                return found;
            }
            said.push_str(&line);
            said.push('\n');
        }
        panic!("it was never said; all that was said:\n{said}");
    }

    /// Where it serves.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The body of a page.
    pub(crate) fn get(&self, path: &str) -> String {
        let url = format!("http://{}{path}", self.address);
        let mut response = ureq::get(&url).call().unwrap_or_else(|error| panic!("{url}: {error}"));
        response.body_mut().read_to_string().unwrap()
    }

    /// The value of one series of the metrics page, written as there.
    pub(crate) fn metric(&self, series: &str) -> Option<f64> {
        value(&self.get("/metrics"), series)
    }

    /// Waits until `seen` makes something of the metrics page.
    pub(crate) fn wait_for<T>(&self, what: &str, seen: impl Fn(&str) -> Option<T>) -> T {
        let until = clock::now() + DEADLINE;
        loop {
            let page = self.get("/metrics");
            if let Some(found) = seen(&page) {
                return found;
            }
            assert!(clock::now() < until, "{what} did not come; the page:\n{page}");
            thread::sleep(LOOK);
        }
    }

    /// Sends SIGTERM; the exit code and the time it took.
    pub(crate) fn terminate(&mut self) -> (Option<i32>, Duration) {
        self.end_by("TERM")
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    }

    /// Sends a signal that ends it; the exit code and the time it took.
    pub(crate) fn end_by(&mut self, signal: &str) -> (Option<i32>, Duration) {
        let began = clock::now();
        self.signal(signal);
        let status = self.child.wait().unwrap();
        (status.code(), clock::now().since(began))
    }

    /// Waits for its own end; the exit code and everything it has said since.
    pub(crate) fn wait(&mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        (status.code(), self.said.iter().collect::<Vec<_>>().join("\n"))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An agent in the folder of another one, and what it says.
pub(crate) fn beside(first: &Agent, mode: &str) -> (Child, std::io::Lines<impl BufRead + use<>>) {
    let runtime = first.folder.path().join("run");
    let mut second = Command::new(env!("CARGO_BIN_EXE_rocewatch"))
        .args(["run", "--web.listen-address=127.0.0.1:0", "--log.format=json"])
        .args([format!("--watchdog.mode={mode}"), format!("--runtime.path={}", runtime.display())])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(second.stderr.take().unwrap());
    (second, said.lines())
}

/// The first line that has `text` in it.
pub(crate) fn line_with(said: &mut std::io::Lines<impl BufRead>, text: &str) -> serde_json::Value {
    let line = said.map_while(Result::ok).find(|line| line.contains(text));
    serde_json::from_str(&line.unwrap_or_else(|| panic!("it never says {text:?}"))).unwrap()
}

fn follow(stream: impl Read + Send + 'static, lines: std::sync::mpsc::Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
}

/// The value of a series on a page.
pub(crate) fn value(page: &str, series: &str) -> Option<f64> {
    let line =
        page.lines().find(|line| line.strip_prefix(series).is_some_and(|rest| rest.starts_with(' ')))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

/// Runs the binary to its end; exit code, standard output, standard error.
pub(crate) fn rocewatch(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rocewatch")).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Replaces a file as the directory source wants it: whole.
pub(crate) fn replace(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let beside = path.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, path).unwrap();
}

/// What a counter of the network stack says in this network namespace: sysfs shows that in which it was mounted.
pub(crate) fn statistic(netdev: &str, name: &str) -> u64 {
    let column = match name {
        "rx_bytes" => 0,
        "rx_packets" => 1,
        "tx_bytes" => 8,
        "tx_packets" => 9,
        other => panic!("{other} is no column of /proc/net/dev"),
    };
    let table = fs::read_to_string("/proc/net/dev").unwrap();
    let row = table.lines().find_map(|line| line.trim_start().strip_prefix(&format!("{netdev}:")));
    row.and_then(|row| row.split_whitespace().nth(column)?.parse().ok()).unwrap()
}
