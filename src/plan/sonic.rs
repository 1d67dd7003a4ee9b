//! A plan as a fragment of SONiC's CONFIG_DB, for the static buffer model: names and fields as in
//! `files/build_templates/qos_config.j2` of sonic-buildimage.

use rocewatch_core::units::Priority;
use serde_json::{Map, Value, json};

use super::Plan;

/// The name of all maps.
const MAP: &str = "ROCE";
const WRED: &str = "ROCE_LOSSLESS";
const LOSSY: &str = "scheduler.0";
const LOSSLESS: &str = "scheduler.1";
const NOTIFICATIONS: &str = "scheduler.2";
/// From this speed on a port has eight lanes, and SONiC counts ports by lanes.
const EIGHT_LANES_BITS: u64 = 400_000_000_000;

/// The fragment.
#[must_use]
pub fn sonic(plan: &Plan) -> Value {
    let names = ports(plan);
    let per_port = |value: Value| names.iter().map(|name| (name.clone(), value.clone())).collect();
    let global = |key: &str, value: Value, mut rest: Map<String, Value>| {
        rest.insert(key.into(), value);
        Value::Object(rest)
    };
    let cable = json!(cable(plan));
    json!({
        "DSCP_TO_TC_MAP": { MAP: dscp_to_tc(plan) },
        "TC_TO_PRIORITY_GROUP_MAP": { MAP: by_priority(|tc| if tc == plan.fabric.priority { tc.get() } else { 0 }) },
        "TC_TO_QUEUE_MAP": { MAP: by_priority(Priority::get) },
        "MAP_PFC_PRIORITY_TO_QUEUE": { MAP: by_priority(Priority::get) },
        "PORT_QOS_MAP": global("global", json!({ "dscp_to_tc_map": MAP }), per_port(port_map(plan))),
        "WRED_PROFILE": { WRED: wred(plan) },
        "SCHEDULER": {
            LOSSY: { "type": "DWRR", "weight": "50" },
            LOSSLESS: { "type": "DWRR", "weight": "50" },
            NOTIFICATIONS: { "type": "STRICT" },
        },
        "QUEUE": queues(plan, &names),
        "BUFFER_PROFILE": { profile_name(plan): buffer_profile(plan) },
        "BUFFER_PG": priority_groups(plan, &names),
        "CABLE_LENGTH": { "AZURE": Value::Object(per_port(cable)) },
        "PFC_WD": global(
            "GLOBAL",
            json!({ "POLL_INTERVAL": plan.times.switch_poll.as_millis().to_string() }),
            per_port(watchdog(plan)),
        ),
    })
}

/// SONiC names a port by the first of its lanes.
fn ports(plan: &Plan) -> Vec<String> {
    let lanes = if plan.fabric.speed.get() < EIGHT_LANES_BITS { 4 } else { 8 };
    (0..plan.fabric.ports).map(|port| format!("Ethernet{}", port * lanes)).collect()
}

fn by_priority(to: impl Fn(Priority) -> u8) -> Value {
    Priority::ALL.into_iter().map(|from| (from.to_string(), json!(to(from).to_string()))).collect()
}

fn dscp_to_tc(plan: &Plan) -> Value {
    let fabric = &plan.fabric;
    let class = |dscp: u8| match dscp {
        _ if dscp == fabric.dscp => fabric.priority.get(),
        _ if dscp == fabric.cnp_dscp => fabric.cnp_priority.get(),
        _ => 0,
    };
    (0..64).map(|dscp| (dscp.to_string(), json!(class(dscp).to_string()))).collect()
}

fn port_map(plan: &Plan) -> Value {
    let priority = plan.fabric.priority.to_string();
    json!({
        "dscp_to_tc_map": MAP,
        "tc_to_queue_map": MAP,
        "tc_to_pg_map": MAP,
        "pfc_to_queue_map": MAP,
        "pfc_enable": priority,
        "pfcwd_sw_enable": priority,
    })
}

fn wred(plan: &Plan) -> Value {
    let mut fields = Map::from_iter([("ecn".to_owned(), json!("ecn_all"))]);
    for colour in ["green", "yellow", "red"] {
        let marking = &plan.marking;
        for (field, value) in [
            (format!("wred_{colour}_enable"), "true".to_owned()),
            (format!("{colour}_min_threshold"), marking.min.get().to_string()),
            (format!("{colour}_max_threshold"), marking.max.get().to_string()),
            (format!("{colour}_drop_probability"), marking.probability.to_string()),
        ] {
            fields.insert(field, json!(value));
        }
    }
    Value::Object(fields)
}

fn queues(plan: &Plan, names: &[String]) -> Value {
    let (priority, cnp) = (plan.fabric.priority, plan.fabric.cnp_priority);
    let queue = |name: &String, queue: Priority| {
        let value = match queue {
            _ if queue == priority => json!({ "scheduler": LOSSLESS, "wred_profile": WRED }),
            _ if queue == cnp => json!({ "scheduler": NOTIFICATIONS }),
            _ => json!({ "scheduler": LOSSY }),
        };
        (format!("{name}|{queue}"), value)
    };
    names.iter().flat_map(|name| Priority::ALL.map(|priority| queue(name, priority))).collect()
}

/// SONiC takes whole metres.
fn cable(plan: &Plan) -> String {
    format!("{}m", plan.fabric.cable.get().div_ceil(1000))
}

/// Not `pg_lossless_…`: profiles of that name are SONiC's own to make.
fn profile_name(plan: &Plan) -> String {
    format!("roce_lossless_{}_{}_profile", plan.fabric.speed.get() / 1_000_000, cable(plan))
}

/// XON is a frame below XOFF, so that one frame does not turn pause on and off.
fn buffer_profile(plan: &Plan) -> Value {
    let xoff = plan.headroom.size.get();
    let xon = u64::from(plan.fabric.mtu).next_multiple_of(plan.fabric.cell.get().max(1));
    json!({
        "pool": "ingress_lossless_pool",
        "xon": xon.to_string(),
        "xoff": xoff.to_string(),
        "size": (xon + xoff).to_string(),
        "dynamic_th": "0",
    })
}

fn priority_groups(plan: &Plan, names: &[String]) -> Value {
    let priority = plan.fabric.priority;
    let lossless = profile_name(plan);
    names
        .iter()
        .flat_map(|name| {
            [
                (format!("{name}|0"), json!({ "profile": "ingress_lossy_profile" })),
                (format!("{name}|{priority}"), json!({ "profile": lossless })),
            ]
        })
        .collect()
}

fn watchdog(plan: &Plan) -> Value {
    json!({
        "action": "drop",
        "detection_time": plan.times.switch_detection.as_millis().to_string(),
        "restoration_time": plan.times.switch_restoration.as_millis().to_string(),
    })
}
