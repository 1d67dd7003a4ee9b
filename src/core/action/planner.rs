//! Pure planners: from a storm and what is known of its port to the operations and their undo.

use std::time::Duration;

use super::{ActionKind, Disruption, ExecCall, Headroom, Op, PauseConfig, Plan, Purpose, Target};
use crate::drivers::LinkEffect;
use crate::ids::{ActionId, PortKey};
use crate::settings::Settings;
use crate::units::{Direction, MonoTime, PriorityMask, Queue};

/// What a planner may look at.
#[derive(Clone, Debug)]
pub struct PlanRequest<'a> {
    /// The number the plan gets.
    pub id: ActionId,
    /// The port.
    pub port: PortKey,
    /// What it is for.
    pub purpose: Purpose,
    /// What this action disrupts on the port's driver.
    pub disruption: Disruption,
    /// The storms to be answered.
    pub targets: Vec<Target>,
    /// When the deciding reading was taken.
    pub evidence_at: MonoTime,
    /// What this action does to the port's link.
    pub link: LinkEffect,
    /// How old evidence may become: twice `detect`.
    pub lifetime: Duration,
    /// Time between two refreshes of the port's counters; zero for those read live.
    pub refresh: Duration,
    /// 802.3x pause as last read.
    pub pause: Option<PauseConfig>,
    /// The prevention timeout as last read, milliseconds.
    pub prevention_timeout_ms: Option<u16>,
    /// The port's receive buffers as last read.
    pub headroom: Option<Headroom>,
    /// A devlink reporter that is in error.
    pub reporter_in_error: Option<&'a str>,
    /// The evidence as JSON, for `exec`.
    pub evidence: &'a str,
    /// The operator's settings.
    pub settings: &'a Settings,
}

/// Why an action cannot be planned here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The action answers the other direction of pause, or another kind of it.
    #[error("it does not answer this kind of pause")]
    WrongPause,
    /// The port cannot do it.
    #[error("the port offers no such lever")]
    NoLever,
    /// What would have to be restored cannot be read.
    #[error("what it would change cannot be read first")]
    Unreadable,
    /// It would change nothing.
    #[error("it would change nothing")]
    NoEffect,
    /// No command is configured.
    #[error("no command is configured")]
    NoCommand,
}

/// The shortest time a queue gets to show that it moves again.
const PROOF_MIN: Duration = Duration::from_millis(200);
/// The same where the link has to come back first, which with training takes seconds.
const PROOF_OF_LINK: Duration = Duration::from_secs(10);
/// What a NIC may need beyond the limit on sent pause that it was given.
const SETTLE_SLACK: Duration = Duration::from_millis(20);

const fn ms(millis: u16) -> Duration {
    Duration::from_millis(millis as u64)
}

/// The plan of one action.
///
/// # Errors
/// [`Unsupported`], where this action has nothing to offer for this pause on this port.
pub fn plan(kind: ActionKind, request: PlanRequest<'_>) -> Result<Plan, Unsupported> {
    let (ops, undo) = match kind {
        ActionKind::Alert => return Err(Unsupported::NoEffect),
        ActionKind::Exec => exec(&request)?,
        ActionKind::PreventionTimeout => prevention_timeout(&request)?,
        ActionKind::PfcOff => pfc_off(&request)?,
        ActionKind::PauseOff => pause_off(&request)?,
        ActionKind::DevlinkRecover => devlink_recover(&request)?,
        ActionKind::LinkBounce => (vec![Op::LinkDown, Op::LinkUp], vec![Op::LinkUp]),
    };
    Ok(Plan {
        id: request.id,
        port: request.port,
        kind,
        purpose: request.purpose,
        disruption: request.disruption,
        targets: request.targets,
        ops,
        undo,
        evidence_at: request.evidence_at,
        expires: request.evidence_at + request.lifetime,
        refresh: request.refresh,
        settles: match kind {
            ActionKind::PreventionTimeout => ms(request.settings.prevention_timeout_ms) + SETTLE_SLACK,
            ActionKind::Alert
            | ActionKind::Exec
            | ActionKind::PfcOff
            | ActionKind::PauseOff
            | ActionKind::DevlinkRecover
            | ActionKind::LinkBounce => Duration::ZERO,
        },
        proof: match request.link {
            LinkEffect::Stays => PROOF_MIN.max(request.refresh * 5 / 2),
            LinkEffect::Flaps => PROOF_OF_LINK,
        },
        headroom: request.headroom.filter(|_| kind == ActionKind::PfcOff),
    })
}

type Ops = (Vec<Op>, Vec<Op>);

fn exec(request: &PlanRequest<'_>) -> Result<Ops, Unsupported> {
    let exec = request.settings.exec.as_ref().ok_or(Unsupported::NoCommand)?;
    let call =
        ExecCall { command: exec.command.clone(), timeout: exec.timeout, stdin: request.evidence.to_owned() };
    Ok((vec![Op::Exec(call)], Vec::new()))
}

/// It bounds the pause that this NIC sends, so it answers sent pause only (mlx5's en_ethtool.c).
fn prevention_timeout(request: &PlanRequest<'_>) -> Result<Ops, Unsupported> {
    if request.targets.iter().any(|target| target.direction == Direction::Rx) {
        return Err(Unsupported::WrongPause);
    }
    let wanted = request.settings.prevention_timeout_ms;
    let current = request.prevention_timeout_ms.ok_or(Unsupported::Unreadable)?;
    if current == wanted {
        return Err(Unsupported::NoEffect);
    }
    Ok((vec![Op::PreventionTimeout(wanted)], vec![Op::PreventionTimeout(current)]))
}

fn pfc_off(request: &PlanRequest<'_>) -> Result<Ops, Unsupported> {
    // The mask is one for both directions: two storms of one priority are one bit.
    let mut priorities = PriorityMask::default();
    for target in &request.targets {
        match target.queue {
            Queue::Priority(priority) => priorities = priorities.with(priority),
            Queue::Global => return Err(Unsupported::WrongPause),
        }
    }
    Ok((vec![Op::PfcDisable(priorities)], vec![Op::PfcEnable(priorities)]))
}

fn pause_off(request: &PlanRequest<'_>) -> Result<Ops, Unsupported> {
    if request.targets.iter().any(|target| target.queue != Queue::Global) {
        return Err(Unsupported::WrongPause);
    }
    let current = request.pause.ok_or(Unsupported::Unreadable)?;
    let mut wanted = current;
    for target in &request.targets {
        match target.direction {
            Direction::Rx => wanted.rx = false,
            Direction::Tx => wanted.tx = false,
        }
    }
    if wanted == current {
        return Err(Unsupported::NoEffect);
    }
    Ok((vec![Op::Pause(wanted)], vec![Op::Pause(current)]))
}

/// A reporter that is healthy returns success and does nothing (devlink_health_reporter_recover), so it is only
/// planned for one in error.
fn devlink_recover(request: &PlanRequest<'_>) -> Result<Ops, Unsupported> {
    let reporter = request.reporter_in_error.ok_or(Unsupported::NoEffect)?;
    Ok((vec![Op::DevlinkRecover(reporter.to_owned())], Vec::new()))
}
