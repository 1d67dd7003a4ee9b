//! `rocewatch demo`: the agent on a simulated node, or on many.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use rocewatch_core::sim::fabric::Shape;
use rocewatch_core::sim::peer::{Pattern, Script, Spell};
use rocewatch_core::sim::scenario::{PortSpec, Told};
use rocewatch_core::units::{MonoTime, Priority, Queue};

use super::flags::ConfigFlags;
use super::fleet::{self, FleetArgs};
use super::run::told_to_end;
use super::{Exit, print};
use crate::agent::{self, Hangup, Place, Setup, Watch};
use crate::clock;
use crate::config::{Assignment, Config, ConfigError, FileChoice, Request, parse_span};
use crate::console::Console;
use crate::export::stats::Collector;
use crate::lines::{Flushed, Lines};
use crate::node::{SimulatedNode, SimulatedPort};
use crate::privileges::Ports;

/// What the demo is set to unless a flag says otherwise: it acts, often, and never locks.
const PRESETS: &[(&str, &str)] = &[
    ("watchdog.mode", "enforce"),
    ("watchdog.hold", "3s"),
    ("watchdog.hold_off", "2s"),
    ("watchdog.lock_storms", "0"),
    ("watchdog.budget_port", "1000"),
    ("watchdog.budget_node", "1000"),
    ("watchdog.rx.actions", "alert,pfc-off"),
    ("web.listen_address", "127.0.0.1:10019"),
    ("log.level", "warn"),
];
/// Storms come in turn on one port and the other, each again after this.
const ROUND: Duration = Duration::from_secs(12);
/// A week of them.
const ROUNDS: u32 = 50_400;
/// The shortest period that `ethtool -C stats-block-usecs` takes on bnxt_en.
const BNXT_REFRESH: Duration = Duration::from_millis(250);

/// The priority that storms strike, and storage goes by.
const LOSSLESS: Queue = Queue::Priority(Priority::ALL[3]);

/// How long the end waits for a reader that has stopped reading.
const LAST_LINES: Duration = Duration::from_millis(300);

/// What `demo` takes.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// End after this, such as 30s; otherwise Ctrl-C ends it
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_span)]
    pub length: Option<Duration>,
    /// Write all inputs and effects to FILE, for `rocewatch replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Many nodes instead of one.
    #[command(flatten)]
    pub fleet: FleetArgs,
    /// The configuration; the file in the usual place does not count here.
    #[command(flatten)]
    pub config: ConfigFlags,
}

/// Shows the agent at work on a simulated node.
///
/// # Errors
/// A configuration that is refused, an address that cannot be listened on.
pub fn run(args: DemoArgs) -> anyhow::Result<Exit> {
    if let Some(shape) = args.fleet.fleet {
        return run_fleet(&args, shape);
    }
    let folder = tempfile::Builder::new().prefix("rocewatch-demo-").tempdir()?;
    let config = config(&args.config, PRESETS, folder.path())?;
    let _lines = crate::telemetry::init(config.log)?;
    print(&greeting(&config, args.length))?;
    let runtime = config.runtime.path.clone();
    let began = clock::now();
    // A pager that waits for its user must not hold up the agent either.
    let screen =
        Lines::start(io::stdout(), |count| format!("{count} lines lost: nobody was reading them\n"))?;
    let console = Console::new(began, screen.clone());
    let (flags, own) = (args.config, folder.path().to_owned());
    let node = SimulatedNode::new(ports(began), began, 1);
    let nvmf = Some(node.controllers(LOSSLESS));
    let setup = Setup {
        config,
        place: Place {
            node: Box::new(node),
            collector: Collector::Simulation,
            watch: Watch::Nobody,
            ports: Ports::Imitated,
            rdma: None,
            nvmf,
        },
        sinks: vec![Box::new(console.clone())],
        record: args.record,
        load: Box::new(move || self::config(&flags, PRESETS, &own)),
        hangup: Hangup::Ends,
    };
    let (length, closed) = (args.length, screen.closed());
    let end = || {
        let signalled = told_to_end(Hangup::Ends);
        async move {
            tokio::select! {
                () = signalled => {}
                // Nobody looks any more.
                () = closed.cancelled() => {}
                () = tokio::time::sleep(length.unwrap_or(Duration::MAX)) => {}
            }
        }
    };
    agent::run(setup, end, |addresses| {
        let urls = addresses.iter().map(|address| format!("http://{address}/")).collect::<Vec<_>>();
        let _ = print(&format!(
            "Look at {} and {}metrics; ask it with `rocewatch ctl --runtime.path={} status`\n\n",
            urls.join(" "),
            urls.concat(),
            runtime.display()
        ));
    })?;
    if screen.flush(LAST_LINES) == Flushed::All {
        print(&format!("\n{}", console.summary()))?;
    }
    Ok(Exit::Fine)
}

/// The same engine on every node of a fleet.
fn run_fleet(args: &DemoArgs, shape: Shape) -> anyhow::Result<Exit> {
    let folder = tempfile::Builder::new().prefix("rocewatch-demo-").tempdir()?;
    let config = config(&args.config, fleet::PRESETS, folder.path())?;
    let _lines = crate::telemetry::init(config.log)?;
    let length = args.length.unwrap_or(Duration::MAX);
    fleet::run(&args.fleet, shape, config, || {
        let signalled = told_to_end(Hangup::Ends);
        async move {
            tokio::select! {
                () = signalled => {}
                () = tokio::time::sleep(length) => {}
            }
        }
    })
}

/// Presets of one demo.
type Presets = &'static [(&'static str, &'static str)];

fn config(flags: &ConfigFlags, presets: Presets, folder: &Path) -> Result<Config, ConfigError> {
    let own = [("runtime.path", folder.join("run")), ("incidents.path", folder.join("incidents"))];
    let own = own.iter().map(|(key, path)| Assignment::preset("demo", key, &path.to_string_lossy()));
    let presets = presets.iter().map(|(key, value)| Assignment::preset("demo", key, value)).chain(own);
    let request = Request { presets: presets.collect(), ..flags.request(FileChoice::None) };
    Config::load(&request)
}

fn greeting(config: &Config, length: Option<Duration>) -> String {
    let ends = match length {
        Some(length) => format!("It ends by itself after {} s; Ctrl-C ends it sooner.", length.as_secs()),
        None => "Ctrl-C ends it.".into(),
    };
    let given = config.to_toml_given();
    format!(
        "rocewatch {} on a simulated node: one mlx5 and one bnxt port, storms every few seconds.\n{ends}\n\n\
         Settings that differ from the defaults:\n\n{given}\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// An mlx5 port, whose PFC cannot be switched without a link flap, and a bnxt port, whose can.
fn ports(start: MonoTime) -> Vec<SimulatedPort> {
    let mlx5 = PortSpec::of("mlx5_core");
    let bnxt = PortSpec { refresh: Some(BNXT_REFRESH), refresh_told: Told::Yes, ..PortSpec::of("bnxt_en") };
    vec![
        SimulatedPort {
            netdev: "ens1f0np0".into(),
            device: "mlx5_0".into(),
            pci_address: "0000:3b:00.0".into(),
            spec: mlx5,
            scripts: storms(start, Duration::from_secs(9), Duration::from_millis(1800)),
        },
        SimulatedPort {
            netdev: "ens2f0np0".into(),
            device: "bnxt_re0".into(),
            pci_address: "0000:5e:00.0".into(),
            spec: bnxt,
            scripts: storms(start, Duration::from_secs(3), Duration::from_millis(3500)),
        },
    ]
}

/// Received pause on one priority, again and again.
fn storms(start: MonoTime, first: Duration, length: Duration) -> [[Script; 2]; Queue::COUNT] {
    let spells = (0..ROUNDS).map(|round| {
        let from = start + first + ROUND * round;
        Spell { from, until: from + length, pattern: Pattern::Unbroken }
    });
    let mut scripts: [[Script; 2]; Queue::COUNT] = Default::default();
    scripts[LOSSLESS.index()][0] = Script::new(spells.collect());
    scripts
}
