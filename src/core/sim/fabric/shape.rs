//! Which hosts, leaves and spines there are, and the numbers of the links between them.

use std::ops::Range;

use super::{Ailment, HOST_BYTES};

/// So many hosts are tried: the work of a step grows with them, and a fleet has to keep up with the clock.
pub const HOSTS_MAX: usize = 2000;
/// Hosts of a leaf, in a fabric that has enough.
const LEAF_HOSTS: usize = 8;
/// A small fabric has several leaves too.
const LEAVES_WANTED: usize = 3;
/// Spines.
pub(super) const SPINES: usize = 2;
/// A way goes up from the host, to a spine, to a leaf, down to the host.
pub(super) const LAYERS: usize = 4;

/// See the module. Hosts and leaves are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    hosts: usize,
    leaf_hosts: usize,
}

/// A fabric that cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} nodes: expected 1 to {HOSTS_MAX}")]
pub struct TooManyHosts(pub usize);

impl Shape {
    /// The fabric of so many hosts.
    ///
    /// # Errors
    /// None, or more than [`HOSTS_MAX`].
    pub const fn of(hosts: usize) -> Result<Self, TooManyHosts> {
        if hosts == 0 || hosts > HOSTS_MAX {
            return Err(TooManyHosts(hosts));
        }
        let wanted = hosts.div_ceil(LEAVES_WANTED);
        let leaf_hosts = if wanted < LEAF_HOSTS { wanted } else { LEAF_HOSTS };
        Ok(Self { hosts, leaf_hosts })
    }

    /// How many hosts.
    #[must_use]
    pub const fn hosts(&self) -> usize {
        self.hosts
    }

    /// How many leaves.
    #[must_use]
    pub const fn leaves(&self) -> usize {
        self.hosts.div_ceil(self.leaf_hosts)
    }

    /// The leaf of a host.
    #[must_use]
    pub const fn leaf(&self, host: usize) -> usize {
        host / self.leaf_hosts
    }

    /// The hosts of a leaf.
    #[must_use]
    pub fn members(&self, leaf: usize) -> Range<usize> {
        let first = leaf * self.leaf_hosts;
        first..(first + self.leaf_hosts).min(self.hosts)
    }

    /// The host with the same place on a leaf so many leaves further; it may have none.
    pub(super) const fn peer(&self, host: usize, further: usize) -> Option<usize> {
        let leaf = (self.leaf(host) + further) % self.leaves();
        let peer = leaf * self.leaf_hosts + host % self.leaf_hosts;
        if peer < self.hosts && leaf != self.leaf(host) { Some(peer) } else { None }
    }

    /// From a host to its leaf.
    pub(super) const fn up(&self, host: usize) -> usize {
        host
    }

    /// From a leaf to a spine.
    const fn rise(&self, leaf: usize, spine: usize) -> usize {
        self.hosts + leaf * SPINES + spine
    }

    /// From a spine to a leaf.
    const fn fall(&self, leaf: usize, spine: usize) -> usize {
        self.rise(self.leaves(), 0) + leaf * SPINES + spine
    }

    /// From a leaf to its host.
    pub(super) const fn down(&self, host: usize) -> usize {
        self.fall(self.leaves(), 0) + host
    }

    /// The links of a layer.
    pub(super) const fn layer(&self, layer: usize) -> Range<usize> {
        let leaves = self.leaves();
        match layer {
            0 => 0..self.hosts,
            1 => self.rise(0, 0)..self.rise(leaves, 0),
            2 => self.fall(0, 0)..self.fall(leaves, 0),
            _ => self.down(0)..self.down(self.hosts),
        }
    }

    /// What each link carries in a step: a leaf has as much to the spines as to its hosts.
    pub(super) fn capacities(&self) -> impl Iterator<Item = u64> + use<> {
        let (hosts, between) = (self.hosts, 2 * self.leaves() * SPINES);
        let uplink = HOST_BYTES * self.leaf_hosts as u64 / SPINES as u64;
        std::iter::repeat_n(HOST_BYTES, hosts)
            .chain(std::iter::repeat_n(uplink, between))
            .chain(std::iter::repeat_n(HOST_BYTES, hosts))
    }

    /// The links from one host to another, by layer.
    pub(super) fn way(&self, from: usize, to: usize, spine: usize) -> [Option<usize>; LAYERS] {
        let (here, there) = (self.leaf(from), self.leaf(to));
        let (rise, fall) = (self.rise(here, spine), self.fall(there, spine));
        let over = (here != there).then_some((rise, fall));
        [Some(self.up(from)), over.map(|over| over.0), over.map(|over| over.1), Some(self.down(to))]
    }

    /// Whether nothing goes over a link, because the spine before it is stuck.
    pub(super) fn is_stuck(&self, link: usize, ailment: Ailment) -> bool {
        let falls = self.layer(2);
        ailment
            .stuck_spine()
            .is_some_and(|spine| falls.contains(&link) && (link - falls.start) % SPINES == spine)
    }
}
