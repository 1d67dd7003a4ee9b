//! Eight ports at the fast pace: of a real kernel by its real ioctl, and simulated.

use std::env;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use rocewatch::agent::{self, Hangup, Place, Setup, Watch};
use rocewatch::clock;
use rocewatch::config::{Assignment, Config, Request};
use rocewatch::export::stats::Collector;
use rocewatch::node::{Node, SimulatedNode, SimulatedPort};
use rocewatch::privileges::Ports;
use rocewatch::sources::{EthtoolSource, Source};
use rocewatch::sys::netdev::NetdevName;
use rocewatch_core::sim::scenario::PortSpec;

use crate::client::{Client, Form, sum};
use crate::process::{Process, Times, percent, times_of};
use crate::skip::skip;
use crate::{Aim, Length};

/// Ports of a node with eight GPUs.
const PORTS: usize = 8;
/// Queues of each veth for each direction: with them it has 1,153 counters.
const QUEUES: u32 = 128;
/// The number of the first veth; the others follow.
const FIRST_INDEX: u32 = 100;
/// The default of `poll.fast`.
const PACE: Duration = Duration::from_millis(50);
/// The program was started in a namespace.
pub(crate) const INSIDE: &str = "inside";
/// The program is to be the agent on a simulated node.
pub(crate) const SIMULATED: &str = "simulated";
/// Always at the fast pace, however long the kernel takes.
const FAST: [&str; 3] = ["--poll.fast-enter=0", "--poll.fast=50ms", "--poll.rtnl-share-max=1"];

/// Runs [`real_ports`] in a network namespace of its own; whether all is well.
pub(crate) fn in_namespace(short: bool) -> bool {
    let unshare = ["--user", "--map-root-user", "--net", "--"];
    let tried =
        Command::new("unshare").args(unshare).args(["ip", "link", "add", "v0", "type", "veth"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        skip("the cost of real ports", "no veth in a namespace of its own");
        return true;
    }
    let mut inside = Command::new("unshare");
    inside.args(unshare).arg(env::current_exe().unwrap()).arg(INSIDE).args(short.then_some("short"));
    inside.status().unwrap().success()
}

/// The agent on eight veths.
pub(crate) fn real_ports(length: Length) -> Vec<Aim> {
    ip("link set lo up");
    let names: Vec<String> = (0..PORTS).map(|index| format!("v{index}")).collect();
    for (name, index) in names.iter().zip(FIRST_INDEX..) {
        ip(&format!(
            "link add {name} index {index} numtxqueues {QUEUES} numrxqueues {QUEUES} type veth peer name p{name}"
        ));
        ip(&format!("link set {name} up"));
        ip(&format!("link set p{name} up"));
    }
    let open = |(name, index): (&String, u32)| {
        EthtoolSource::open(NetdevName::new(name).unwrap(), index).unwrap().unwrap()
    };
    let counters = open((&names[0], FIRST_INDEX)).names().unwrap().len();
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rocewatch"));
    command.args(["run", "--devices.include=v[0-7]"]).args(FAST);
    command.arg(format!("--runtime.path={}", folder.path().join("run").display()));
    command.arg(format!("--incidents.path={}", folder.path().join("incidents").display()));
    let sources =
        || names.iter().zip(FIRST_INDEX..).map(|device| Box::new(open(device)) as Box<dyn Source>).collect();
    let title = format!("{PORTS} veths of {counters} counters, by the kernel's ioctl");
    weigh(&title, "the same ioctls alone", &mut command, sources, length)
}

/// The agent on eight simulated ports.
pub(crate) fn simulated_ports(length: Length) -> Vec<Aim> {
    let mut command = Command::new(env::current_exe().unwrap());
    command.arg(SIMULATED);
    let sources = || {
        let mut node = node();
        let seen = node.scan().unwrap();
        seen.iter().map(|seen| node.source(seen).unwrap().unwrap()).collect()
    };
    let title = format!("{PORTS} simulated ports");
    weigh(&title, "the same reads of the simulation alone", &mut command, sources, length)
}

fn node() -> SimulatedNode {
    let now = clock::now();
    let port = |index: usize| SimulatedPort {
        netdev: format!("ens{index}np0"),
        device: format!("mlx5_{index}"),
        pci_address: format!("0000:{index:02x}:00.0"),
        spec: PortSpec::of("mlx5_core"),
        scripts: Default::default(),
    };
    SimulatedNode::new((0..PORTS).map(port).collect(), now, 1)
}

/// This program as the agent on a simulated node, until it is ended.
pub(crate) fn run_simulated_agent() -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let address = env::args().find_map(|word| word.strip_prefix("address=").map(str::to_owned)).unwrap();
    let keys = [
        ("poll.fast_enter", "0".to_owned()),
        ("poll.rtnl_share_max", "1".to_owned()),
        ("web.listen_address", address),
        ("runtime.path", path("run")),
        ("incidents.path", path("incidents")),
    ];
    let presets = keys.iter().map(|(key, value)| Assignment::preset("bench", key, value)).collect();
    let config = Config::load(&Request { presets, ..Request::default() }).unwrap();
    let place = Place {
        node: Box::new(node()),
        collector: Collector::Simulation,
        watch: Watch::Nobody,
        ports: Ports::Imitated,
        rdma: None,
        nvmf: None,
    };
    let setup = Setup {
        config,
        place,
        sinks: Vec::new(),
        record: None,
        load: Box::new(|| Ok(Config::default())),
        hangup: Hangup::Ends,
    };
    agent::run(setup, std::future::pending::<()>, |_| {}).unwrap();
    ExitCode::SUCCESS
}

/// Measures the agent that `command` starts, between two measurements of its peer: threads that only read.
fn weigh(
    title: &str,
    peer: &str,
    command: &mut Command,
    sources: impl Fn() -> Vec<Box<dyn Source>>,
    length: Length,
) -> Vec<Aim> {
    let before = read_only(sources(), length.peer);
    let flag =
        if command.get_args().any(|word| word == SIMULATED) { "address=" } else { "--web.listen-address=" };
    let process = Process::start(command, flag);
    let reads = || {
        // A connection that idles is ended before the second look.
        let (page, _) = Client::connect(&process.address).unwrap().scrape(Form::Plain);
        sum(std::str::from_utf8(&page).unwrap(), "rocewatch_watchdog_poll_lateness_seconds_count")
    };
    // What it costs to begin is another question.
    thread::sleep(Duration::from_secs(2));
    let (reads_before, times, began) = (reads(), process.times(), clock::now());
    thread::sleep(length.agent);
    let (times, span) = (process.times().since(times), clock::now().since(began));
    let made = reads() - reads_before;
    let resident = process.resident_mib();
    drop(process);
    let after = read_only(sources(), length.peer);
    let per_read = (before.0.total + after.0.total).as_secs_f64() / (before.1 + after.1);
    let alone = per_read * made / span.as_secs_f64() * 100.0;
    let beyond = percent(times.total, span) - alone;
    println!("{title}, each every {} ms, {} s:", PACE.as_millis(), span.as_secs());
    println!(
        "  {:.1} reads a second; {:.2} % of one core: {:.2} % outside the kernel, {:.2} % inside; {peer}: {alone:.2} % \
         ({:.1} us a read)",
        made / span.as_secs_f64(),
        percent(times.total, span),
        percent(times.user, span),
        percent(times.system, span),
        per_read * 1e6,
    );
    vec![
        Aim { what: format!("{title}: beyond {peer}"), measured: beyond, meant: 1.0, most: 3.0, unit: " %" },
        Aim { what: format!("{title}: resident"), measured: resident, meant: 20.0, most: 30.0, unit: " MiB" },
    ]
}

/// Reads every source at the pace on a thread of its own, and nothing else; what that used, and the reads.
fn read_only(sources: Vec<Box<dyn Source>>, span: Duration) -> (Times, f64) {
    let before = times_of("self");
    let until = clock::now() + span;
    let threads: Vec<_> = sources
        .into_iter()
        .enumerate()
        .map(|(index, mut source)| {
            thread::spawn(move || {
                let (mut values, mut reads) = (Vec::new(), 0.0);
                source.names().unwrap();
                let mut due = clock::now() + PACE * index as u32 / PORTS as u32;
                while due < until {
                    thread::sleep(due.since(clock::now()));
                    source.read(&mut values).unwrap();
                    reads += 1.0;
                    due = due + PACE;
                }
                // Counted while the thread is still there.
                let task = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
                let used = task.split(' ').next().unwrap().parse::<u64>().unwrap();
                (reads, Duration::from_nanos(used))
            })
        })
        .collect();
    let done: Vec<(f64, Duration)> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let used = times_of("self").since(before);
    let total = done.iter().map(|(_, used)| *used).sum();
    (Times { total, ..used }, done.iter().map(|(reads, _)| reads).sum())
}

fn ip(arguments: &str) {
    let run = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
    assert!(run.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&run.stderr));
}
