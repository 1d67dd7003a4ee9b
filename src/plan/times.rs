//! Who gives up when: the NIC that pauses, the switch that is paused, the agent, and the transport that waits.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// Times in the order in which they have to run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Times {
    /// After this long a NIC stops sending pause by itself.
    #[serde(rename = "prevention_timeout_ms", serialize_with = "millis")]
    pub prevention_timeout: Duration,
    /// After this long a switch takes the port for stuck, and drops.
    #[serde(rename = "switch_detection_ms", serialize_with = "millis")]
    pub switch_detection: Duration,
    /// After this long without pause a switch forwards again.
    #[serde(rename = "switch_restoration_ms", serialize_with = "millis")]
    pub switch_restoration: Duration,
    /// How often a switch looks.
    #[serde(rename = "switch_poll_ms", serialize_with = "millis")]
    pub switch_poll: Duration,
    /// How long a host that is paused leaves the storm to the switches: `watchdog.rx.detect` of the agent.
    #[serde(rename = "rx_detect_ms", serialize_with = "millis")]
    pub rx_detect: Duration,
    /// For how long a queue pair sends anew before it breaks.
    #[serde(rename = "transport_ms", serialize_with = "millis")]
    pub transport: Duration,
}

/// The shortest that mlx5 takes, and what it takes for "auto".
const PREVENTION: Duration = Duration::from_millis(100);
/// What `pfcwd start_default` of SONiC begins with, for each 32 ports that a switch has or begins to have.
const STEP: Duration = Duration::from_millis(200);
const STEP_PORTS: u32 = 32;
/// The limits of SONiC.
const DETECTION_MAX: Duration = Duration::from_millis(5000);
const POLL_MAX: Duration = Duration::from_millis(1000);

/// The default of NCCL_IB_TIMEOUT: 4.096 µs × 2 to this power.
pub(super) const IB_TIMEOUT: u8 = 20;
/// The default of NCCL_IB_RETRY_CNT.
pub(super) const IB_RETRY_COUNT: u8 = 7;

impl Times {
    /// For switches with so many ports, as SONiC scales its own defaults.
    #[must_use]
    pub fn of(ports: u32) -> Self {
        let steps = ports.saturating_sub(1) / STEP_PORTS + 1;
        let scaled = STEP.saturating_mul(steps);
        let (detection, poll) = (scaled.min(DETECTION_MAX), scaled.min(POLL_MAX));
        Self {
            prevention_timeout: PREVENTION,
            switch_detection: detection,
            switch_restoration: detection,
            switch_poll: poll,
            rx_detect: detection + poll,
            transport: Duration::from_nanos(4096 << IB_TIMEOUT) * u32::from(IB_RETRY_COUNT),
        }
    }
}

fn millis<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}
