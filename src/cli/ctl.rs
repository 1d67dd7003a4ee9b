//! `rocewatch ctl`: asks the agent that runs on this node, or tells it something.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use rocewatch_core::units::{Direction, Queue};

use super::{Exit, print, tell};
use crate::config::{parse_span, span_text};
use crate::control::{
    Answer, Depth, Maintenance, PortStatus, QueueStatus, Request, Status, Verdict, ask, queue_name,
};

/// What `ctl` takes.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exit status: 0 done; 1 refused, nothing was done; 2 no agent can be reached, it does not answer or \
    does not know whether it was done, or usage.\n\nOf `status --check`: 0 healthy; 1 something to look at; 2 a person is needed (an undo failed, nothing is \
    decided any more), or no agent can be reached. docs/control.md has the exact rule."
)]
pub struct CtlArgs {
    /// The agent's runtime folder, where its control socket is
    #[arg(long = "runtime.path", value_name = "DIR", default_value = "/run/rocewatch", global = true)]
    pub runtime: PathBuf,
    /// What to do.
    #[command(subcommand)]
    pub command: CtlCommand,
}

/// What can be asked for.
#[derive(Clone, Debug, Subcommand)]
pub enum CtlCommand {
    /// Show how the node is
    Status {
        /// Exit with 0 if it is healthy, 1 if there is something to look at, 2 if a person is needed
        #[arg(long)]
        check: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Acknowledge a lock, or an undo that failed
    Ack {
        /// The port
        netdev: String,
        /// 0 to 7, or global for 802.3x pause
        #[arg(value_name = "PRIO")]
        priority: Queue,
        /// rx or tx; both if not given
        #[arg(value_parser = direction)]
        direction: Option<Direction>,
    },
    /// Keep the watchdog from acting for a while
    #[command(subcommand)]
    Maintenance(MaintenanceCommand),
    /// Read the configuration again
    Reload,
    /// Try out what a storm of a queue would lead to: tell the plan, or its veto
    TestStorm {
        /// The port
        netdev: String,
        /// 0 to 7, or global for 802.3x pause
        #[arg(value_name = "PRIO")]
        priority: Queue,
        /// rx or tx
        #[arg(value_parser = direction, default_value = "rx")]
        direction: Direction,
        /// Carry the plan out, hold it and take it back; needs mode enforce and this port in maintenance
        #[arg(long)]
        act: bool,
    },
}

/// Maintenance.
#[derive(Clone, Debug, Subcommand)]
pub enum MaintenanceCommand {
    /// Begin it, or set its end anew
    On {
        /// The port; all if none is given
        netdev: Option<String>,
        /// For so long, such as 1h30m
        #[arg(long = "for", value_name = "DURATION", value_parser = span)]
        length: Duration,
    },
    /// End it
    Off {
        /// The port; all maintenance ends if none is given
        netdev: Option<String>,
    },
}

/// Asks, and prints the answer.
///
/// # Errors
/// The answer cannot be printed.
pub fn run(args: &CtlArgs) -> anyhow::Result<Exit> {
    let answer = match ask(&args.runtime, &args.command.request()) {
        Ok(answer) => answer,
        Err(error) => {
            tell(&format!("rocewatch ctl: {error}"));
            return Ok(Exit::Refused);
        }
    };
    match answer {
        Answer::Status(status) => show(&status, &args.command),
        Answer::Done(lines) => {
            print(&(lines.join("\n") + "\n"))?;
            Ok(Exit::Fine)
        }
        Answer::Refused(lines) => {
            tell(&format!("rocewatch ctl: {}", lines.join("\n")));
            Ok(Exit::Failed)
        }
        Answer::Unknown(lines) => {
            tell(&format!("rocewatch ctl: {}", lines.join("\n")));
            Ok(Exit::Refused)
        }
    }
}

impl CtlCommand {
    fn request(&self) -> Request {
        match self.clone() {
            Self::Status { .. } => Request::Status,
            Self::Ack { netdev, priority, direction } => Request::Ack { netdev, priority, direction },
            Self::Maintenance(MaintenanceCommand::On { netdev, length }) => {
                Request::MaintenanceOn { netdev, seconds: length.as_secs() }
            }
            Self::Maintenance(MaintenanceCommand::Off { netdev }) => Request::MaintenanceOff { netdev },
            Self::Reload => Request::Reload,
            Self::TestStorm { netdev, priority, direction, act } => {
                let depth = if act { Depth::Act } else { Depth::Plan };
                Request::TestStorm { netdev, priority, direction, depth }
            }
        }
    }
}

fn show(status: &Status, command: &CtlCommand) -> anyhow::Result<Exit> {
    let (check, json) = match command {
        CtlCommand::Status { check, json } => (*check, *json),
        CtlCommand::Ack { .. }
        | CtlCommand::Maintenance(_)
        | CtlCommand::Reload
        | CtlCommand::TestStorm { .. } => (false, false),
    };
    let text = if json { serde_json::to_string(status)? + "\n" } else { table(status) };
    print(&text)?;
    Ok(match (check, status.verdict) {
        (false, _) | (true, Verdict::Healthy) => Exit::Fine,
        (true, Verdict::Look) => Exit::Failed,
        (true, Verdict::Person) => Exit::Refused,
    })
}

/// What a tired person reads: the verdict, its reasons, a line per port.
fn table(status: &Status) -> String {
    let verdict = match status.verdict {
        Verdict::Healthy => "healthy",
        Verdict::Look => "something to look at",
        Verdict::Person => "A PERSON IS NEEDED",
    };
    let mut text = format!("{verdict}\n");
    for reason in &status.reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    let journal = if status.journal_writable { "journal ok" } else { "NO JOURNAL" };
    let (budget, undos) = (status.budget_remaining, status.undos_pending);
    let mode = status.mode.label();
    text.push_str(&format!("\nmode {mode}, {journal}, budget left {budget}, undos owed {undos}"));
    if let Some(left) = maintenance(status.maintenance) {
        text.push_str(&format!(", all in maintenance {left}"));
    }
    text.push('\n');
    let header = ["port", "link", "budget", "hold-off", "state"].map(str::to_owned);
    let rows = std::iter::once(header).chain(status.ports.iter().map(row)).collect::<Vec<_>>();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    for row in &rows {
        for (cell, width) in row.iter().zip(widths) {
            text.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(&row[4]);
        text.push('\n');
    }
    text
}

fn row(port: &PortStatus) -> [String; 5] {
    let link = match port.carrier {
        Some(true) => "up",
        Some(false) => "down",
        None => "?",
    };
    let hold_off = match port.hold_off_seconds {
        0 => "-".into(),
        seconds => short(seconds),
    };
    let mut states = port.blind.iter().map(|gap| format!("blind: {gap}")).collect::<Vec<_>>();
    states.extend(maintenance(port.maintenance).map(|left| format!("maintenance {left}")));
    states.extend(port.queues.iter().map(queue));
    if states.is_empty() {
        states.push(if port.watched == 0 { "not watched" } else { "healthy" }.into());
    }
    [port.netdev.clone(), link.into(), port.budget_remaining.to_string(), hold_off, states.join("; ")]
}

fn queue(queue: &QueueStatus) -> String {
    let mut text = format!("{} {}: {}", queue_name(queue.priority), queue.direction, queue.phase);
    if queue.test {
        text.push_str(" (test)");
    }
    if let Some(seconds) = queue.remaining_seconds {
        text.push_str(&format!(", {} left", short(seconds)));
    }
    text
}

fn maintenance(maintenance: Maintenance) -> Option<String> {
    match maintenance {
        Maintenance::Off => None,
        Maintenance::RemainingSeconds(seconds) => Some(format!("for {}", short(seconds))),
        Maintenance::UntilEnded => Some("until it is ended".into()),
    }
}

fn short(seconds: u64) -> String {
    span_text(Duration::from_secs(seconds))
}

fn direction(text: &str) -> Result<Direction, String> {
    let found = Direction::ALL.into_iter().find(|direction| direction.label() == text);
    found.ok_or_else(|| format!("{text:?} is no direction: expected rx or tx"))
}

fn span(text: &str) -> Result<Duration, String> {
    let span = parse_span(text).map_err(|error| error.to_string())?;
    if span < Duration::from_secs(1) {
        return Err(format!("{text} is too short: expected a second or more"));
    }
    Ok(span)
}
