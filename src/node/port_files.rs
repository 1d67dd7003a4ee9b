//! The files that tell of a port in a directory: `link.json` and `dcb.json`. A key that is wrong or unknown is named
//! and costs itself, nothing beside it.

use rocewatch_core::input::DcbOwner;
use rocewatch_core::units::Priority;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::sys::link::LinkStats;

/// `link.json`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkFile {
    pub(super) carrier: Option<bool>,
    pub(super) speed_mbps: Option<u64>,
    pub(super) mtu_bytes: Option<u32>,
    pub(super) bond: Option<String>,
    pub(super) carrier_changes: Option<u64>,
    pub(super) pci_address: Option<String>,
    pub(super) driver_version: Option<String>,
    pub(super) firmware_version: Option<String>,
    pub(super) numa_node: Option<u32>,
    /// Milliseconds between two refreshes of the counters; 0 for live ones.
    pub(super) refresh_ms: Option<u64>,
    pub(super) stats: Option<LinkStats>,
}

/// `dcb.json`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DcbFile {
    pub(super) pfc: Option<Vec<Priority>>,
    pub(super) owner: DcbOwner,
    pub(super) pause_rx: Option<bool>,
    pub(super) pause_tx: Option<bool>,
    pub(super) prevention_timeout_ms: Option<u16>,
}

/// What a file holds, and what in it is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed<T> {
    /// Everything that could be understood.
    pub value: T,
    /// One line for each key that could not.
    pub problems: Vec<String>,
}

impl LinkFile {
    /// Reads `text`.
    #[must_use]
    pub fn parse(text: &str) -> Parsed<Self> {
        parse(text, |fields| Self {
            carrier: fields.take("carrier"),
            speed_mbps: fields.take("speed_mbps"),
            mtu_bytes: fields.take("mtu_bytes"),
            bond: fields.take("bond"),
            carrier_changes: fields.take("carrier_changes"),
            pci_address: fields.take("pci_address"),
            driver_version: fields.take("driver_version"),
            firmware_version: fields.take("firmware_version"),
            numa_node: fields.take("numa_node"),
            refresh_ms: fields.take("refresh_ms"),
            stats: fields.inner("stats64", |stats| LinkStats {
                rx_packets: stats.take("rx_packets").unwrap_or_default(),
                tx_packets: stats.take("tx_packets").unwrap_or_default(),
                rx_bytes: stats.take("rx_bytes").unwrap_or_default(),
                tx_bytes: stats.take("tx_bytes").unwrap_or_default(),
                rx_errors: stats.take("rx_errors").unwrap_or_default(),
                tx_errors: stats.take("tx_errors").unwrap_or_default(),
                rx_dropped: stats.take("rx_dropped").unwrap_or_default(),
                tx_dropped: stats.take("tx_dropped").unwrap_or_default(),
                rx_missed: 0,
            }),
        })
    }
}

impl DcbFile {
    /// Reads `text`.
    #[must_use]
    pub fn parse(text: &str) -> Parsed<Self> {
        parse(text, |fields| Self {
            pfc: fields.take("pfc"),
            owner: fields.take("owner").unwrap_or_default(),
            pause_rx: fields.take("pause_rx"),
            pause_tx: fields.take("pause_tx"),
            prevention_timeout_ms: fields.take("prevention_timeout_ms"),
        })
    }
}

fn parse<T: Default>(text: &str, read: impl FnOnce(&mut Fields) -> T) -> Parsed<T> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => {
            let mut fields = Fields { map, problems: Vec::new() };
            let value = read(&mut fields);
            Parsed { value, problems: fields.finish("") }
        }
        Ok(_) => Parsed { value: T::default(), problems: vec!["expected an object".into()] },
        Err(error) => Parsed { value: T::default(), problems: vec![error.to_string()] },
    }
}

/// The keys of an object that nobody has asked for yet.
struct Fields {
    map: Map<String, Value>,
    problems: Vec<String>,
}

impl Fields {
    /// The value of a key, if it is there and of this type.
    fn take<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.map.remove(key)?;
        match serde_json::from_value(value) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problems.push(format!("{key}: {error}"));
                None
            }
        }
    }

    fn inner<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let map: Map<String, Value> = self.take(key)?;
        let mut fields = Self { map, problems: Vec::new() };
        let value = read(&mut fields);
        self.problems.extend(fields.finish(&format!("{key}.")));
        Some(value)
    }

    /// Everything that was wrong; what is left was asked for by nobody.
    fn finish(mut self, prefix: &str) -> Vec<String> {
        let unknown = self.map.keys().map(|key| format!("{key}: unknown key"));
        self.problems.extend(unknown);
        self.problems.into_iter().map(|problem| format!("{prefix}{problem}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_wrong_or_unknown_is_named_and_costs_itself_alone() {
        let parsed = LinkFile::parse(
            r#"{"carrier": true, "speed": 100000, "mtu_bytes": "4200", "stats64": {"rx_packets": 7, "rx_bytes": -1, "x": 0}}"#,
        );
        assert_eq!(parsed.value.carrier, Some(true));
        assert_eq!(parsed.value.mtu_bytes, None);
        assert_eq!(parsed.value.stats.map(|stats| stats.rx_packets), Some(7));
        assert_eq!(
            parsed.problems,
            [
                "mtu_bytes: invalid type: string \"4200\", expected u32",
                "stats64.rx_bytes: invalid value: integer `-1`, expected u64",
                "stats64.x: unknown key",
                "speed: unknown key",
            ]
        );
    }

    #[test]
    fn a_file_that_is_no_object_says_so_and_tells_nothing() {
        for (text, problem) in [
            ("[]", "expected an object"),
            ("{\"pfc\": [3", "EOF while parsing a list at line 1 column 10"),
            ("", "EOF while parsing a value at line 1 column 0"),
        ] {
            let parsed = DcbFile::parse(text);
            assert_eq!((parsed.value, parsed.problems), (DcbFile::default(), vec![problem.to_owned()]));
        }
    }
}
