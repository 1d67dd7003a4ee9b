//! From a fabric's figures to settings: headroom, marking, watchdog times, and the same as commands for hosts, as a
//! fragment for SONiC switches and as the profile that a doctor checks.
//!
//! Everything here is arithmetic on values. It reads no file, asks no port, and sets nothing.

use rocewatch_core::units::Priority;
use serde::Serialize;

use crate::config::{Length, Size, Speed};
use crate::profile::Profile;

mod headroom;
mod buffers;
mod marking;
mod dcqcn;
mod times;
mod profile;
mod commands;
mod sonic;
mod text;

pub use buffers::{HostBuffer, SwitchBuffer};
pub use commands::{Command, commands, list as command_list};
pub use dcqcn::{PARAMETERS, Parameter};
pub use headroom::{Demand, Headroom, Term, headroom, response_quanta, response_speeds};
pub use marking::Marking;
pub use sonic::sonic;
pub use text::text;
pub use times::Times;

/// What is known of a fabric before anything is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fabric {
    /// What every port runs at.
    pub speed: Speed,
    /// The longest cable between two ports.
    pub cable: Length,
    /// Bytes of an IP packet.
    pub mtu: u32,
    /// Ports of one switch.
    pub ports: u32,
    /// The priority that carries RoCE.
    pub priority: Priority,
    /// The DSCP of RoCE packets.
    pub dscp: u8,
    /// The DSCP of congestion notifications.
    pub cnp_dscp: u8,
    /// The priority that carries them.
    pub cnp_priority: Priority,
    /// The shared packet memory of one switch, where it is known.
    pub buffer: Option<Size>,
    /// The pieces in which packet memory is given out.
    pub cell: Size,
    /// How much of the traffic is packets of 64 bytes, in percent: they fill a cell badly.
    pub small_packets: u8,
}

/// ECN-capable transport, ECT(0): what the two low bits of the traffic class have to be for a switch to mark
/// (RFC 3168 section 5).
const ECT0: u8 = 0b10;

impl Fabric {
    /// The whole byte of the header: DSCP and ECN bits.
    #[must_use]
    pub const fn traffic_class(&self) -> u8 {
        self.dscp << 2 | ECT0
    }

    /// What a receiver has to hold on the lossless priority; none where no response time is known for the speed.
    #[must_use]
    pub fn headroom(&self) -> Option<Headroom> {
        headroom(&Demand {
            speed: self.speed,
            cable: self.cable,
            mtu: self.mtu,
            response_quanta: None,
            cell: self.cell,
            small_packets: self.small_packets,
        })
    }
}

/// What follows from a fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The fabric.
    pub fabric: Fabric,
    /// The traffic class of RoCE packets.
    pub traffic_class: u8,
    /// Bytes of payload of an RDMA packet.
    pub rdma_mtu: Option<u32>,
    /// What the lossless priority has to hold after pause was asked for.
    pub headroom: Headroom,
    /// What the host's buffer of that priority holds.
    pub host_buffer: HostBuffer,
    /// How the switch's memory divides, where its size is known.
    pub switch_buffer: Option<SwitchBuffer>,
    /// When switches mark.
    pub marking: Marking,
    /// Who gives up when.
    pub times: Times,
    /// DCQCN, as the vendor ships it.
    pub dcqcn: &'static [Parameter],
}

impl Plan {
    /// The plan for a fabric; none where no response time is known for its speed.
    #[must_use]
    pub fn of(fabric: Fabric) -> Option<Self> {
        let headroom = fabric.headroom()?;
        let switch_buffer = fabric.buffer.map(|buffer| SwitchBuffer::of(buffer, fabric.ports, headroom.size));
        Some(Self {
            traffic_class: fabric.traffic_class(),
            rdma_mtu: crate::profile::rdma_mtu(fabric.mtu),
            host_buffer: HostBuffer::of(&fabric, headroom.size),
            switch_buffer,
            marking: Marking::at(fabric.speed),
            times: Times::of(fabric.ports),
            dcqcn: PARAMETERS,
            headroom,
            fabric,
        })
    }

    /// The profile that a doctor checks this plan with.
    #[must_use]
    pub fn profile(&self, made_by: &str) -> Profile {
        profile::profile(self, made_by)
    }
}

#[cfg(test)]
mod tests;
