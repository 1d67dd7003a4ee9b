//! The lines that are kept in memory for an incident that may come. Nearly all are readings, twenty a second of a port
//! that shows pause, and of a reading hardly any counter differs from the one before: only the difference is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use rocewatch_core::ids::PortKey;
use rocewatch_core::input::{Effect, Input, Reading};
use rocewatch_core::units::MonoTime;

/// Bits of a number in one byte; the eighth says that more follow.
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

/// Lines in the order in which they came.
#[derive(Default)]
pub(super) struct Kept {
    lines: Vec<(MonoTime, Line, Box<[Effect]>)>,
    last: BTreeMap<PortKey, Vec<u64>>,
}

enum Line {
    Reading { port: PortKey, at: MonoTime, took: Duration, differs: Box<[u8]> },
    Other(Box<Input>),
}

impl Kept {
    /// Keeps one line.
    pub(super) fn push(&mut self, at: MonoTime, input: Box<Input>, effects: &[Effect]) {
        let line = if let Input::Reading(reading) = &*input {
            let last = self.last.entry(reading.port).or_default();
            let differs = differences(last, &reading.values);
            last.clone_from(&reading.values);
            Line::Reading { port: reading.port, at: reading.at, took: reading.took, differs }
        } else {
            Line::Other(input)
        };
        self.lines.push((at, line, effects.into()));
    }

    /// All lines as they came.
    pub(super) fn into_lines(self) -> impl Iterator<Item = (MonoTime, Box<Input>, Box<[Effect]>)> {
        let mut last: BTreeMap<PortKey, Vec<u64>> = BTreeMap::new();
        self.lines.into_iter().map(move |(taken_at, line, effects)| {
            let input = match line {
                Line::Other(input) => input,
                Line::Reading { port, at, took, differs } => {
                    let last = last.entry(port).or_default();
                    *last = values(last, &differs);
                    Box::new(Input::Reading(Reading { port, at, took, values: last.clone() }))
                }
            };
            (taken_at, input, effects)
        })
    }
}

/// For each value the bits in which it differs from the one before at its place, the lowest first. A counter that
/// stood still takes one byte.
fn differences(before: &[u64], values: &[u64]) -> Box<[u8]> {
    let before = before.iter().copied().chain(std::iter::repeat(0));
    let mut bytes = Vec::with_capacity(values.len() * 2);
    for (value, before) in values.iter().zip(before) {
        let mut left = value ^ before;
        while left >= u64::from(MORE) {
            bytes.push(left as u8 | MORE);
            left >>= BITS;
        }
        bytes.push(left as u8);
    }
    bytes.into()
}

/// The values again.
fn values(before: &[u64], differs: &[u8]) -> Vec<u64> {
    let mut before = before.iter().copied().chain(std::iter::repeat(0));
    let mut values = Vec::with_capacity(differs.len());
    let (mut difference, mut shift) = (0, 0);
    for byte in differs {
        difference |= u64::from(byte & !MORE) << shift;
        shift += BITS;
        if byte & MORE == 0 {
            values.push(difference ^ before.next().unwrap_or_default());
            (difference, shift) = (0, 0);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use rocewatch_core::sim::random::Random;

    use super::*;

    fn reading(port: u16, values: &[u64]) -> Box<Input> {
        let (at, took) = (MonoTime::from_millis(7), Duration::from_micros(600));
        Box::new(Input::Reading(Reading { port: PortKey(port), at, took, values: values.to_vec() }))
    }

    #[test]
    fn what_was_kept_comes_out_as_it_went_in() {
        let mut random = Random::new(1);
        let mut counters = vec![0, u64::MAX, 1 << 63, 127, 128];
        let mut inputs = vec![Box::new(Input::Tick), Box::new(Input::Gone(PortKey(1)))];
        for round in 0..1000_u64 {
            let place = random.between(0, counters.len() as u64 - 1) as usize;
            counters[place] = random.next() >> random.between(0, 63);
            // Names come and go, and two ports do not mix.
            counters.resize(random.between(1, 8) as usize, round);
            inputs.push(reading((round % 2) as u16, &counters));
        }
        let mut kept = Kept::default();
        for (at, input) in (0..).zip(&inputs) {
            kept.push(MonoTime::from_nanos(at), input.clone(), &[Effect::AskGuard]);
        }
        let out: Vec<_> = kept.into_lines().collect();
        assert_eq!(out.len(), inputs.len());
        for ((at, (taken_at, input, effects)), original) in (0..).zip(out).zip(inputs) {
            assert_eq!((taken_at, &input), (MonoTime::from_nanos(at), &original));
            assert_eq!(*effects, [Effect::AskGuard]);
        }
    }

    #[test]
    fn a_counter_that_stands_still_takes_a_byte() {
        let values: Vec<u64> = (1 << 40..).take(64).collect();
        assert_eq!(differences(&values, &values).len(), values.len());
        assert_eq!(differences(&[], &[0, 127, 128, u64::MAX]).len(), 1 + 1 + 2 + 10);
    }
}
