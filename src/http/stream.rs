//! An event as the stream sends it: server-sent events with JSON that says its units.

use axum::response::sse;
use rocewatch_core::event::Event;
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::events::{Follower, Told};
use crate::export::{Clock, Moment};

/// One client that follows the events.
pub(super) struct Following {
    pub(super) follower: Follower,
    pub(super) clock: Clock,
    pub(super) stop: CancellationToken,
    /// Its place among the subscribers, held for as long as it follows.
    pub(super) _place: OwnedSemaphorePermit,
}

impl Following {
    /// What the client is sent next; `None` when the server stops.
    pub(super) async fn next(&mut self) -> Option<sse::Event> {
        let told = tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            told = self.follower.next() => told,
        };
        Some(match told? {
            Told::Event(event) => sse::Event::default()
                .id(event.seq.to_string())
                .event(event.kind.name())
                .data(json(&event, &(self.clock)())),
            Told::Lost(lost) => sse::Event::default().comment(format!("{lost} events lost")),
        })
    }
}

/// Keys of an event that hold an instant, nanoseconds since boot.
const INSTANTS: [&str; 2] = ["at", "onset"];
/// Keys of an event that hold thousandths.
const SHARES: [&str; 1] = ["share"];

/// The event as JSON: spans in seconds under `…_seconds`, instants in seconds since 1970 under `…_timestamp_seconds`
/// (the event's own under `timestamp_seconds`), shares from 0 to 1 under `…_ratio`.
fn json(event: &Event, moment: &Moment) -> String {
    let value =
        serde_json::to_value(event).expect("an event holds only what JSON can: text keys, no fractions");
    with_units(value, moment).to_string()
}

fn with_units(value: Value, moment: &Moment) -> Value {
    match value {
        Value::Object(object) => {
            let entries = object.into_iter().map(|(key, value)| entry(key, value, moment));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(|item| with_units(item, moment)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn entry(key: String, value: Value, moment: &Moment) -> (String, Value) {
    if let Some(seconds) = span(&value) {
        return (format!("{key}_seconds"), seconds.into());
    }
    match value.as_u64() {
        Some(nanos) if INSTANTS.contains(&key.as_str()) => {
            let at = rocewatch_core::units::MonoTime::from_nanos(nanos);
            let key =
                if key == "at" { "timestamp_seconds".into() } else { format!("{key}_timestamp_seconds") };
            (key, moment.wall(at).as_secs_f64().into())
        }
        Some(thousandths) if SHARES.contains(&key.as_str()) => {
            (format!("{key}_ratio"), (thousandths as f64 / 1000.0).into())
        }
        Some(_) | None => (key, with_units(value, moment)),
    }
}

/// The seconds of a span, which serde writes as an object of two numbers.
fn span(value: &Value) -> Option<f64> {
    let object = value.as_object().filter(|object| object.len() == 2)?;
    let (seconds, nanos) = (object.get("secs")?.as_u64()?, object.get("nanos")?.as_u64()?);
    Some(seconds as f64 + nanos as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rocewatch_core::action::{ActionKind, ActionResult, ExecCall, Op, PutBack};
    use rocewatch_core::event::{EventKind, Place};
    use rocewatch_core::ids::{ActionId, PortKey, StormId};
    use rocewatch_core::phase::Class;
    use rocewatch_core::units::{Direction, MonoTime, Permille, Priority, Queue};

    use super::*;

    fn told(kind: EventKind) -> Value {
        let place = Place {
            port: Some(PortKey(0)),
            netdev: "eth0".into(),
            priority: Some(Queue::Priority(Priority::ALL[3])),
            direction: Some(Direction::Rx),
        };
        let event = Event { seq: 7, at: MonoTime::from_millis(2000), place, kind };
        let moment = Moment { now: MonoTime::from_millis(9000), boot: Duration::from_secs(1_700_000_000) };
        serde_json::from_str(&json(&event, &moment)).unwrap()
    }

    #[test]
    fn a_storm_says_its_units() {
        let storm = told(EventKind::StormDetected {
            storm: StormId(1),
            class: Class::Blocked,
            onset: MonoTime::from_millis(1750),
            paused: Duration::from_millis(250),
            share: Permille::new(987).unwrap(),
            estimated: false,
            resumed: false,
        });
        let expected = serde_json::json!({
            "seq": 7, "timestamp_seconds": 1_700_000_002.0, "port": 0, "netdev": "eth0", "priority": "3",
            "direction": "rx", "event": "storm_detected", "storm": 1, "class": "blocked",
            "onset_timestamp_seconds": 1_700_000_001.75, "paused_seconds": 0.25, "share_ratio": 0.987,
            "estimated": false, "resumed": false,
        });
        assert_eq!(storm, expected);
    }

    #[test]
    fn spans_deep_inside_say_their_unit_too() {
        let timeout = Duration::from_millis(1500);
        let call = ExecCall { command: vec!["/bin/true".into()], timeout, stdin: "{}".into() };
        let planned = told(EventKind::ActionPlanned {
            action: ActionId(1),
            purpose: rocewatch_core::action::Purpose::Storm,
            kind: ActionKind::Exec,
            ops: vec![Op::Exec(call)],
            undo: Vec::new(),
        });
        assert_eq!(planned["ops"][0]["exec"]["timeout_seconds"], 1.5);
        let ended = told(EventKind::ActionEnded {
            action: ActionId(1),
            purpose: rocewatch_core::action::Purpose::Storm,
            kind: ActionKind::PfcOff,
            result: ActionResult::Ok,
            put_back: PutBack::NotNeeded,
            took: Duration::from_micros(300),
            cause: None,
        });
        assert_eq!(ended["took_seconds"], 0.0003);
    }
}
