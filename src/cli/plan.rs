//! `rocewatch plan`: from a fabric's figures to its settings.

use clap::{Args, ValueEnum};
use rocewatch_core::units::Priority;

use super::{Exit, print};
use crate::config::{ConfigError, Entry, Length, Place, Problem, Problems, Setting, Size, Speed};
use crate::plan::{self, Fabric, Plan, response_speeds};

/// What `plan` takes. Values are texts until all of them are looked at, so that all that is wrong is said at once.
#[derive(Clone, Debug, Args)]
pub struct PlanArgs {
    /// What every port runs at, such as 400G
    #[arg(long, value_name = "SPEED")]
    pub speed: String,
    /// The longest cable between two ports, such as 30m
    #[arg(long, value_name = "LENGTH")]
    pub cable: String,
    /// Bytes of an IP packet; 4200 is enough for an RDMA MTU of 4096
    #[arg(long, value_name = "BYTES", default_value = "4200")]
    pub mtu: String,
    /// Ports of one switch
    #[arg(long, value_name = "N", default_value = "32")]
    pub ports: String,
    /// The priority that carries RoCE
    #[arg(long, value_name = "0..7", default_value = "3")]
    pub priority: String,
    /// The DSCP of RoCE packets
    #[arg(long, value_name = "0..63", default_value = "26")]
    pub dscp: String,
    /// The DSCP of congestion notifications
    #[arg(long, value_name = "0..63", default_value = "48")]
    pub cnp_dscp: String,
    /// The priority that carries them
    #[arg(long, value_name = "0..7", default_value = "6")]
    pub cnp_priority: String,
    /// The shared packet memory of one switch, such as 64MB
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<String>,
    /// The pieces in which packet memory is given out
    #[arg(long, value_name = "SIZE", default_value = "256B")]
    pub cell: String,
    /// How much of the traffic is packets of 64 bytes, which fill a cell badly; 100 is the worst case
    #[arg(long, value_name = "PERCENT", default_value = "0")]
    pub small_packets: String,
    /// What to print
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// What a plan is printed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people: every figure with its terms
    Text,
    /// Commands for one port of a host
    Commands,
    /// A fragment of CONFIG_DB for SONiC switches
    Sonic,
    /// The profile for rocewatch doctor --profile
    Profile,
    /// All figures as JSON
    Json,
}

/// Prints the plan.
///
/// # Errors
/// Everything that is wrong with the figures.
pub fn run(args: &PlanArgs) -> anyhow::Result<Exit> {
    let plan = plan_of(args)?;
    let made_by = command_line(&plan.fabric);
    let page = match args.format {
        Format::Text => plan::text(&plan),
        Format::Commands => plan::commands(&plan, &made_by),
        Format::Sonic => pretty(&plan::sonic(&plan))?,
        Format::Profile => plan.profile(&made_by).to_toml(),
        Format::Json => pretty(&plan)?,
    };
    print(&page)?;
    Ok(Exit::Fine)
}

fn pretty(value: &impl serde::Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// What makes the same plan again.
fn command_line(fabric: &Fabric) -> String {
    let Fabric { speed, cable, mtu, ports, priority, dscp, cnp_dscp, cnp_priority, .. } = fabric;
    let buffer = fabric.buffer.map_or(String::new(), |buffer| format!(" --buffer {buffer}"));
    format!(
        "rocewatch plan --speed {speed} --cable {cable} --mtu {mtu} --ports {ports} --priority {priority} --dscp {dscp} \
         --cnp-dscp {cnp_dscp} --cnp-priority {cnp_priority}{buffer} --cell {} --small-packets {}",
        fabric.cell, fabric.small_packets
    )
}

/// The plan that the flags describe.
///
/// # Errors
/// Every flag that is refused: alone, or beside another.
pub fn plan_of(args: &PlanArgs) -> Result<Plan, ConfigError> {
    let mut flags = Flags { problems: Vec::new() };
    let fabric = flags.fabric(args);
    let plan = fabric.and_then(|fabric| {
        flags.contradictions(args, &fabric);
        let plan = Plan::of(fabric)?;
        flags.room(args, &plan);
        Some(plan)
    });
    match plan {
        Some(plan) if flags.problems.is_empty() => Ok(plan),
        Some(_) | None => Err(ConfigError::Refused(Problems::new(flags.problems, None))),
    }
}

struct Flags {
    problems: Vec<Problem>,
}

fn entry(flag: &str, text: &str) -> Entry {
    Entry::bare(text, Place::Flag(flag.into()))
}

impl Flags {
    fn read<T: Setting>(&mut self, flag: &str, text: &str, limit: &T::Limit) -> Option<T> {
        let entry = entry(flag, text);
        T::read(&entry, limit)
            .map_err(|mismatch| {
                self.problems.push(Problem::expected(String::new(), &entry, &mismatch.expected));
            })
            .ok()
    }

    fn refuse(&mut self, flag: &str, text: &str, expected: &str) {
        self.problems.push(Problem::expected(String::new(), &entry(flag, text), expected));
    }

    /// Reads every flag before it is known whether one of them is wrong.
    fn fabric(&mut self, args: &PlanArgs) -> Option<Fabric> {
        let speed = self.speed(&args.speed);
        let cable = self.read("--cable", &args.cable, &(Length::new(100)..=Length::new(100_000_000)));
        let mtu = self.read("--mtu", &args.mtu, &(512..=9978));
        let ports = self.read("--ports", &args.ports, &(1..=1024));
        let priority = self.read::<Priority>("--priority", &args.priority, &());
        let dscp = self.read("--dscp", &args.dscp, &(0..=63));
        let cnp_dscp = self.read("--cnp-dscp", &args.cnp_dscp, &(0..=63));
        let cnp_priority = self.read::<Priority>("--cnp-priority", &args.cnp_priority, &());
        let sizes = Size::new(1)..=Size::new(64_000_000_000);
        let buffer = args.buffer.as_ref().map(|text| self.read("--buffer", text, &sizes));
        let cell = self.read("--cell", &args.cell, &(Size::new(1)..=Size::new(65_536)));
        let small_packets = self.read("--small-packets", &args.small_packets, &(0..=100));
        Some(Fabric {
            speed: speed?,
            cable: cable?,
            mtu: mtu?,
            ports: ports?,
            priority: priority?,
            dscp: dscp?,
            cnp_dscp: cnp_dscp?,
            cnp_priority: cnp_priority?,
            buffer: match buffer {
                Some(given) => Some(given?),
                None => None,
            },
            cell: cell?,
            small_packets: small_packets?,
        })
    }

    fn speed(&mut self, text: &str) -> Option<Speed> {
        let known = response_speeds().find(|speed| text.parse() == Ok(*speed));
        if known.is_none() {
            let speeds: Vec<_> = response_speeds().map(|speed| speed.to_string()).collect();
            self.refuse("--speed", text, &format!("one of {}", speeds.join(", ")));
        }
        known
    }

    fn contradictions(&mut self, args: &PlanArgs, fabric: &Fabric) {
        if fabric.priority == fabric.cnp_priority {
            let expected =
                format!("another one than --priority ({}), behind which they would wait", fabric.priority);
            self.refuse("--cnp-priority", &args.cnp_priority, &expected);
        }
        if fabric.priority.get() == 0 || fabric.cnp_priority.get() == 0 {
            let (flag, text) = if fabric.priority.get() == 0 {
                ("--priority", &args.priority)
            } else {
                ("--cnp-priority", &args.cnp_priority)
            };
            self.refuse(flag, text, "a priority from 1 to 7: 0 is for all traffic that nobody has marked");
        }
        if fabric.dscp == fabric.cnp_dscp {
            self.refuse("--cnp-dscp", &args.cnp_dscp, &format!("another one than --dscp ({})", fabric.dscp));
        }
    }

    fn room(&mut self, args: &PlanArgs, plan: &Plan) {
        if let (Some(text), Some(switch)) = (&args.buffer, &plan.switch_buffer)
            && switch.shared.get() == 0
        {
            let (ports, headroom) = (plan.fabric.ports, plan.headroom.size);
            let expected =
                format!("more than {} ({ports} ports with a headroom of {headroom})", switch.reserved);
            self.refuse("--buffer", text, &expected);
        }
    }
}
