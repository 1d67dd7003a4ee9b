//! How much a receiver has to hold after it has asked for pause: all that its peer sends until it falls silent.

use serde::Serialize;

use crate::config::{Length, Size, Speed};

/// What the headroom follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The speed of the link.
    pub speed: Speed,
    /// The cable.
    pub cable: Length,
    /// Bytes of an IP packet.
    pub mtu: u32,
    /// How long the peer takes to act on pause, in quanta of 512 bit times; by speed, if not given.
    pub response_quanta: Option<u32>,
    /// The pieces in which memory is given out.
    pub cell: Size,
    /// How much of the traffic is packets of 64 bytes, in percent.
    pub small_packets: u8,
}

/// A headroom with all that it is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Headroom {
    /// What adds up to it, before rounding.
    pub terms: Vec<Term>,
    /// The sum, rounded up to whole cells.
    pub size: Size,
}

/// A part of a sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Term {
    /// What it is.
    pub name: &'static str,
    /// How it was calculated, with its numbers.
    pub formula: String,
    /// How much it is.
    pub bytes: u64,
    /// Where that comes from.
    pub source: &'static str,
}

/// How long light takes in glass, and about as long a signal in copper.
const NANOS_PER_METRE: u64 = 5;
/// Ethernet header 14, VLAN tag 4, checksum 4, preamble 8, gap between frames 12 (IEEE 802.3).
const FRAME_BYTES: u64 = 42;
/// A PFC frame of 64 bytes with preamble and gap.
const PFC_BYTES: u64 = 84;
/// Bytes in 512 bit times.
const QUANTUM_BYTES: u64 = 64;
/// In tenths of a nanosecond: 614.4 ns is what 802.1Qbb allows for the layers above the MAC.
const OWN_TENTHS: u64 = 6144;
/// The smallest frame, which decides how badly a cell is filled.
const SMALLEST_BYTES: u64 = 64;

/// Within how many quanta a pause is obeyed, by speed: IEEE 802.3 annex 31B.3.7, as SONiC has it.
const RESPONSES: [(Speed, u32); 8] = [
    (gigabit(10), 67),
    (gigabit(25), 80),
    (gigabit(40), 118),
    (gigabit(50), 147),
    (gigabit(100), 394),
    (gigabit(200), 453),
    (gigabit(400), 905),
    (gigabit(800), 905),
];

const fn gigabit(speed: u64) -> Speed {
    Speed::new(speed * 1_000_000_000)
}

/// The speeds that a response time is known for.
pub fn response_speeds() -> impl Iterator<Item = Speed> {
    RESPONSES.into_iter().map(|(speed, _)| speed)
}

/// Within how many quanta of 512 bit times a peer at this speed has to obey a pause, where that is known.
#[must_use]
pub fn response_quanta(speed: Speed) -> Option<u32> {
    RESPONSES.into_iter().find(|(known, _)| *known == speed).map(|(_, quanta)| quanta)
}

/// The headroom for a demand; none where neither the demand nor the table knows a response time.
#[must_use]
pub fn headroom(demand: &Demand) -> Option<Headroom> {
    let quanta = demand.response_quanta.or_else(|| response_quanta(demand.speed))?;
    let mut terms = [&wire(demand)[..], &reaction(demand, quanta)].concat();
    terms.extend(half_empty_cells(demand, sum(&terms)));
    Some(Headroom { size: in_cells(&terms, demand.cell), terms })
}

fn sum(terms: &[Term]) -> u64 {
    terms.iter().fold(0, |sum, term| sum.saturating_add(term.bytes))
}

/// The sum of all terms, rounded up to whole cells.
pub(super) fn in_cells(terms: &[Term], cell: Size) -> Size {
    let cell = cell.get().max(1);
    Size::new(sum(terms).div_ceil(cell).saturating_mul(cell))
}

/// What is under way, and what delays the asking.
fn wire(demand: &Demand) -> [Term; 4] {
    let Demand { speed, cable, mtu, .. } = *demand;
    let frame = u64::from(mtu) + FRAME_BYTES;
    let picoseconds = cable.get().saturating_mul(2 * NANOS_PER_METRE);
    [
        Term {
            name: "cable, both ways",
            formula: format!("2 × {cable} × {NANOS_PER_METRE} ns/m × {speed}bit/s"),
            bytes: bytes_in(speed, picoseconds, 1_000_000_000_000),
            source: "802.1Qbb annex O: cable delay",
        },
        Term {
            name: "a frame of ours before the PFC frame",
            formula: format!("{mtu} + {FRAME_BYTES} B"),
            bytes: frame,
            source: "802.1Qbb annex O: a frame that has begun is finished first",
        },
        Term {
            name: "the PFC frame",
            formula: format!("64 + 20 B, {PFC_BYTES} in all"),
            bytes: PFC_BYTES,
            source: "802.1Qbb annex O: PFC frame",
        },
        Term {
            name: "a frame of the peer's after it has obeyed",
            formula: format!("{mtu} + {FRAME_BYTES} B"),
            bytes: frame,
            source: "802.1Qbb annex O: a frame that has begun is finished first",
        },
    ]
}

/// How long both sides think.
fn reaction(demand: &Demand, quanta: u32) -> [Term; 2] {
    let speed = demand.speed;
    [
        Term {
            name: "the peer's response",
            formula: format!("{quanta} quanta × {QUANTUM_BYTES} B"),
            bytes: u64::from(quanta) * QUANTUM_BYTES,
            source: "IEEE 802.3 annex 31B.3.7, both interfaces and the MAC of the peer",
        },
        Term {
            name: "our own reaction",
            formula: format!("{}.{} ns × {speed}bit/s", OWN_TENTHS / 10, OWN_TENTHS % 10),
            bytes: bytes_in(speed, OWN_TENTHS, 10_000_000_000),
            source: "802.1Qbb: higher layer delay",
        },
    ]
}

/// What small packets waste: one of 64 bytes takes a whole cell, one of a byte more than a cell takes two.
fn half_empty_cells(demand: &Demand, sum: u64) -> Option<Term> {
    let (cell, share) = (demand.cell.get().max(1), u64::from(demand.small_packets));
    let permille =
        if cell > 2 * SMALLEST_BYTES { cell * 1000 / SMALLEST_BYTES } else { 2000 * cell / (1 + cell) };
    let waste = permille.saturating_sub(1000) * share / 100;
    (waste > 0).then(|| Term {
        name: "cells that small packets leave half empty",
        formula: format!(
            "{share} % of it in packets that take {}.{:03} times their size",
            permille / 1000,
            permille % 1000
        ),
        bytes: sum.saturating_mul(waste).div_ceil(1000),
        source: "SONiC's headroom formula: small_packet_percentage",
    })
}

/// What a link carries in `time` / `per_second` of a second, rounded up.
fn bytes_in(speed: Speed, time: u64, per_second: u64) -> u64 {
    let bits = u128::from(speed.get()) * u128::from(time);
    u64::try_from(bits.div_ceil(u128::from(per_second) * 8)).unwrap_or(u64::MAX)
}
