//! Prints events as log lines: the message says what, the fields say where and how. Nothing else logs what an event
//! tells.

use std::sync::Arc;
use std::time::Duration;

use rocewatch_core::action::{Op, Purpose, PutBack, UndoResult};
use rocewatch_core::event::{Event, EventKind, Level};
use rocewatch_core::nvmf::{NvmfState, NvmfTold};
use tracing::{debug, error, info, warn};

use crate::runtime::EventSink;

/// Prints every event.
#[derive(Debug, Default)]
pub struct EventLog;

impl EventSink for EventLog {
    fn take(&mut self, event: &Arc<Event>) {
        print(event);
    }
}

/// Logs as loudly as the event is, with the fields that every event has and those of its kind.
macro_rules! line {
    ($event:expr, $message:literal $(, $($fields:tt)+)?) => {{
        let place = &$event.place;
        let port = (!place.netdev.is_empty()).then_some(place.netdev.as_str());
        let prio = place.priority.map(|queue| queue.label());
        let direction = place.direction.map(|direction| direction.label());
        match $event.kind.level() {
            Level::Error => error!(seq = $event.seq, port, prio, direction, $($($fields)+,)? $message),
            Level::Warn => warn!(seq = $event.seq, port, prio, direction, $($($fields)+,)? $message),
            Level::Debug => debug!(seq = $event.seq, port, prio, direction, $($($fields)+,)? $message),
            Level::Info => info!(seq = $event.seq, port, prio, direction, $($($fields)+,)? $message),
        }
    }};
}

fn sentence(ops: &[Op]) -> String {
    ops.iter().map(ToString::to_string).collect::<Vec<_>>().join(", then ")
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Only what is a test has the field.
fn test(purpose: Purpose) -> Option<bool> {
    (purpose == Purpose::Test).then_some(true)
}

#[allow(clippy::too_many_lines, reason = "one arm per event and nothing else")]
fn print(event: &Event) {
    match &event.kind {
        EventKind::StormDetected { storm, class, paused, share, estimated, resumed, .. } => {
            line!(event, "storm detected", storm = storm.0, class = class.label(), paused_ms = ms(*paused),
                share = %share, estimated, resumed
            )
        }
        EventKind::StormEnded { storm, reason, lasted } => {
            line!(event, "storm ended", storm = storm.0, reason = reason.label(), lasted_ms = ms(*lasted))
        }
        EventKind::PhaseChanged { from, to } => {
            line!(event, "phase changed", from = from.0.as_ref(), to = to.0.as_ref())
        }
        EventKind::PauseEntered { class, window, share } => {
            line!(event, "pause entered", class = class.label(), window_ms = ms(*window), share = %share
            )
        }
        EventKind::PauseLeft { class, window } => {
            line!(event, "pause left", class = class.label(), window_ms = ms(*window))
        }
        EventKind::Blinded { reason } => line!(event, "port blind", reason = reason.label()),
        EventKind::Sighted => line!(event, "port seen again"),
        EventKind::PortAdded { identity, pause } => {
            line!(event, "port added", device = identity.device, driver = identity.driver,
                pci = identity.pci_address, pause = ?pause
            )
        }
        EventKind::PortRemoved => line!(event, "port removed"),
        EventKind::PortRenamed { from } => line!(event, "port renamed", from),
        EventKind::LinkChanged { carrier } => line!(event, "link changed", carrier),
        EventKind::ReadFailed { error } => line!(event, "read failed", error),
        EventKind::ReadRecovered { failures } => line!(event, "read recovered", failures),
        EventKind::Reconfigured { mode } => line!(event, "reconfigured", mode = mode.label()),
        EventKind::DetectRaised { configured, effective } => line!(
            event,
            "detection is slower than configured: the source is",
            configured_ms = ms(*configured),
            effective_ms = ms(*effective)
        ),
        EventKind::NotArmed { configured, needed } => line!(
            event,
            "not armed: the source is too slow",
            configured_ms = ms(*configured),
            needed_ms = ms(*needed)
        ),
        EventKind::ActionUnsupported { kind, why } => {
            line!(event, "action unsupported: the port is only watched", action = kind.label(), why)
        }
        EventKind::ActionPlanned { action, kind, purpose, ops, undo } => {
            line!(
                event,
                "action planned",
                action_id = action.0,
                action = kind.label(),
                test = test(*purpose),
                ops = sentence(ops),
                undo = sentence(undo)
            )
        }
        EventKind::ActionVetoed { kind, purpose, reason } => {
            let test = test(*purpose);
            line!(event, "action vetoed", action = kind.label(), test, reason = reason.label())
        }
        EventKind::TestRefused { reason } => line!(event, "test refused", reason = reason.label()),
        EventKind::MaintenanceBegun { until, by } => {
            line!(event, "maintenance begun", for_s = until.since(event.at).as_secs(), uid = *by)
        }
        EventKind::MaintenanceEnded { by } => line!(event, "maintenance ended", uid = *by),
        EventKind::ActionEnded { action, kind, purpose, result, put_back, took, cause } => {
            let (action_id, action, result) = (action.0, kind.label(), result.label());
            let test = test(*purpose);
            let (took_ms, cause) = (ms(*took), cause.as_deref());
            match put_back {
                PutBack::Failed => {
                    line!(event, "action not put back", action_id, action, test, result, took_ms, cause)
                }
                PutBack::NotNeeded | PutBack::Done => {
                    line!(event, "action ended", action_id, action, test, result, took_ms, cause)
                }
            }
        }
        EventKind::UndoEnded { action, kind, purpose, result, cause } => {
            let (action_id, action, cause) = (action.0, kind.label(), cause.as_deref());
            let test = test(*purpose);
            match result {
                UndoResult::Failed => line!(event, "undo failed", action_id, action, test, cause),
                UndoResult::Foreign => {
                    line!(event, "undo left to another owner", action_id, action, test, cause)
                }
                UndoResult::NotNeeded => line!(event, "nothing to undo", action_id, action, test, cause),
                UndoResult::Done => line!(event, "undo done", action_id, action, test, cause),
            }
        }
        EventKind::UndoWaits { action } => {
            line!(event, "undo waits for its device", action_id = action.0)
        }
        EventKind::UndoDropped { action } => line!(event, "undo dropped", action_id = action.0),
        EventKind::NvmfChanged(NvmfTold { change, paused, estimated }) => {
            let (from, to) = (change.from.map(NvmfState::label), change.to.map(NvmfState::label));
            let (paused_share, estimated) =
                (paused.map(|share| share.to_string()), estimated.then_some(true));
            line!(
                event,
                "nvmf controller changed",
                controller = change.controller,
                from,
                to,
                transport = change.transport,
                address = change.address,
                subsystem = change.subsystem,
                paused_share,
                estimated
            )
        }
        EventKind::Acknowledged => line!(event, "acknowledged"),
    }
}
