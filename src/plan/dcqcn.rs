//! The parameters of DCQCN as the vendor ships them. A plan shows them and sets none: which of them is better for a
//! fabric only its own measurement says.

use serde::Serialize;

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its key in the section `dcqcn` of a profile, and in mlx5's `cc_params`.
    pub name: &'static str,
    /// The default of ConnectX.
    pub value: u32,
    /// What it counts in.
    pub unit: &'static str,
}

const fn of(name: &'static str, value: u32, unit: &'static str) -> Parameter {
    Parameter { name, value, unit }
}

/// The defaults of ConnectX: NVIDIA's "DCQCN CC Parameters", and `mlxconfig` of a ConnectX for the last seven.
pub const PARAMETERS: &[Parameter] = &[
    of("rp_dce_tcp_g", 1019, "parts of 1024"),
    of("rp_dce_tcp_rtt", 1, "µs"),
    of("rp_initial_alpha_value", 1023, "parts of 1023"),
    of("rp_min_dec_fac", 50, "%"),
    of("rp_min_rate", 1, "Mbit/s"),
    of("rp_gd", 11, "power of 2"),
    of("rp_rate_reduce_monitor_period", 4, "µs"),
    of("rp_time_reset", 300, "µs"),
    of("rp_byte_reset", 32_767, "B"),
    of("rp_threshold", 1, "raises"),
    of("rp_max_rate", 0, "Mbit/s, 0 is the line's"),
    of("rp_ai_rate", 5, "Mbit/s"),
    of("rp_hai_rate", 50, "Mbit/s"),
    of("np_min_time_between_cnps", 4, "µs; 2 on some firmware"),
];
