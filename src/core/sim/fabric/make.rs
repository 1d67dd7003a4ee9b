//! The counters of the fabric's ports, under the names of their driver.

use super::{Fabric, LOSSLESS};
use crate::drivers::{self, Driver};
use crate::sim::counters::{Directory, Shown};
use crate::sim::scenario::Names;
use crate::units::{Direction, PriorityMask};

/// All ports of a fabric are of one make: mlx5, which counts most. They begin at 0.
#[derive(Clone, Debug)]
pub struct Make {
    driver: &'static Driver,
    port: Directory,
    rdma: Directory,
}

impl Default for Make {
    fn default() -> Self {
        let driver = drivers::for_driver("mlx5_core");
        let shown =
            Shown { which: Names::All, pfc: PriorityMask::of(LOSSLESS), global: false, mask: u64::MAX };
        Self { driver, port: Directory::new(driver, shown, None), rdma: Directory::rdma(driver) }
    }
}

impl Make {
    /// What the driver's table says.
    #[must_use]
    pub const fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// The names of a port's counters.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.port.names
    }

    /// The names of the counters of its RDMA device.
    #[must_use]
    pub fn rdma_names(&self) -> &[String] {
        &self.rdma.names
    }

    /// Replaces `values` by the counters of a host's port, in the order of [`Make::names`].
    pub fn read(&self, fabric: &Fabric, host: usize, values: &mut Vec<u64>) {
        self.port.read(&fabric.tallies[host], values);
    }

    /// Replaces `values` by those of its RDMA device.
    pub fn read_rdma(&self, fabric: &Fabric, host: usize, values: &mut Vec<u64>) {
        self.rdma.read(&fabric.tallies[host], values);
    }
}

impl Fabric {
    /// Packets that a host's port has received and sent.
    #[must_use]
    pub fn packets(&self, host: usize) -> [u64; 2] {
        Direction::ALL.map(|direction| self.tallies[host].port_packets(direction))
    }
}
