//! How much memory the lossless priority gets at a host, and what is left of a switch's.

use serde::Serialize;

use super::Fabric;
use super::headroom::{Term, in_cells};
use crate::config::Size;

/// The receive buffer of a host's lossless priority: headroom, and what fills before pause is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostBuffer {
    /// What it is made of, before rounding.
    pub terms: Vec<Term>,
    /// Its size, in whole cells.
    pub size: Size,
}

/// The largest MTU of ConnectX, in bytes: mlx5 keeps that much between XOFF and XON, whatever MTU is set.
const MLX5_MTU_MAX: u64 = 9978;
/// Below this speed mlx5 calculates as if it were reached, in Mbit/s.
const MLX5_SPEED_MIN: u64 = 40_000;

impl HostBuffer {
    /// For a fabric with this headroom. mlx5 refuses less than its own formula gives, so the larger one counts.
    #[must_use]
    pub fn of(fabric: &Fabric, headroom: Size) -> Self {
        let (mlx5, cell) = (mlx5_xoff(fabric), fabric.cell.get().max(1));
        let terms = vec![
            Term {
                name: "headroom, or what mlx5 wants for it",
                formula: format!("the larger of {headroom} and {}", Size::new(mlx5)),
                bytes: headroom.get().max(mlx5),
                source: "mlx5 en/port_buffer.c: (301 + 2.16 × metres) × Gbit/s + 2.72 × MTU",
            },
            Term {
                name: "between XOFF and XON",
                formula: format!("{MLX5_MTU_MAX} B"),
                bytes: MLX5_MTU_MAX,
                source: "mlx5 en/port_buffer.c: the largest MTU",
            },
            Term {
                name: "a cell",
                formula: format!("{cell} B"),
                bytes: cell,
                source: "mlx5 en/port_buffer.c",
            },
        ];
        Self { size: in_cells(&terms, fabric.cell), terms }
    }
}

/// `calculate_xoff` of Linux' mlx5 driver, in its own integers.
pub(super) fn mlx5_xoff(fabric: &Fabric) -> u64 {
    let metres = fabric.cable.get().div_ceil(1000);
    let megabits = (fabric.speed.get() / 1_000_000).max(MLX5_SPEED_MIN);
    (301 + 216 * metres / 100) * megabits / 1000 + 272 * u64::from(fabric.mtu) / 100
}

/// What becomes of a switch's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SwitchBuffer {
    /// The headroom of all ports, which nothing else may use.
    pub reserved: Size,
    /// What all queues share.
    pub shared: Size,
    /// What a port gets when all of them are congested; PFC starts there.
    pub per_port: Size,
}

impl SwitchBuffer {
    /// Of a switch with one lossless priority on each port. What does not fit leaves nothing to share.
    #[must_use]
    pub fn of(buffer: Size, ports: u32, headroom: Size) -> Self {
        let ports = u64::from(ports.max(1));
        let reserved = ports.saturating_mul(headroom.get());
        let shared = buffer.get().saturating_sub(reserved);
        Self { reserved: Size::new(reserved), shared: Size::new(shared), per_port: Size::new(shared / ports) }
    }
}
