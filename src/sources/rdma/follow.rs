//! The counters of one port from reading to reading: names become slots, and counters of 32 bits go on above them.

use std::collections::BTreeMap;

use rocewatch_core::binding::{Binding, Bound};
use rocewatch_core::catalog::Group;
use rocewatch_core::delta::{Tracker, is_saturated};
use rocewatch_core::drivers::{self, Driver, Kind};
use rocewatch_core::snapshot::CounterView;

use super::{RdmaView, Sample};

/// Follows one port.
#[derive(Debug)]
pub(super) struct Followed {
    names: Vec<String>,
    binding: Binding,
    /// By native name: what another name counts is another counter, even of the same meaning.
    trackers: BTreeMap<String, Tracker>,
}

impl Followed {
    /// A port without counters yet.
    pub(super) fn new() -> Self {
        Self { names: Vec::new(), binding: bind("", &[]), trackers: BTreeMap::new() }
    }

    /// Takes a reading into `view`. No counter can have grown by more than `limit` since the last one.
    pub(super) fn advance(&mut self, view: &mut RdmaView, sample: Sample, limit: u64) {
        if self.names != sample.names {
            self.binding = bind(&view.driver, &sample.names);
            self.names.clone_from(&sample.names);
        }
        // A counter that could not be read goes on with the next reading.
        if sample.unread.is_empty() {
            self.trackers.retain(|name, _| self.names.contains(name));
        }
        for bound in self.binding.layout() {
            let place = bound.from as usize;
            let (Some(name), Some(native)) = (sample.names.get(place), sample.values.get(place)) else {
                continue;
            };
            if !view.may_speak_roce() && bound.slot.counter().entry().family.group == Group::Congestion {
                view.unmapped.push((name.clone(), *native));
                continue;
            }
            let tracker = self.trackers.entry(name.clone()).or_default();
            view.counters.extend(shown(bound, tracker, *native, limit));
        }
        for place in self.binding.unmapped().iter().map(|place| *place as usize) {
            // All ones is how a driver says that it has no value, as `delta` knows.
            let value = sample.values.get(place).copied().filter(|value| *value != u64::MAX);
            view.unmapped.extend(sample.names.get(place).cloned().zip(value));
        }
        view.unread = sample.unread;
    }
}

fn shown(bound: &Bound, tracker: &mut Tracker, native: u64, limit: u64) -> Option<CounterView> {
    let value = match bound.kind {
        Kind::Gauge => native,
        Kind::Counter => {
            tracker.advance(native, bound.width, bound.overflow, limit);
            tracker.total()?
        }
    };
    Some(CounterView {
        slot: bound.slot,
        value: value.saturating_mul(bound.scale),
        saturated: is_saturated(native, bound.width, bound.overflow),
    })
}

fn bind(driver: &str, names: &[String]) -> Binding {
    Binding::rdma(table(driver, names), names)
}

/// The table that knows most of the names; among equals that of the device's own driver. What a port offers is judged by
/// the names present, not by what it is called.
fn table(driver: &str, names: &[String]) -> &'static Driver {
    let knows = |table: &Driver, name: &str| table.rdma.iter().any(|row| row.matches(name.trim()).is_some());
    let fit = |table: &&&'static Driver| {
        let known = names.iter().filter(|name| knows(table, name)).count();
        (known, table.aliases.contains(&driver))
    };
    drivers::ALL.iter().max_by_key(fit).copied().unwrap_or_else(|| drivers::for_driver(driver))
}

#[cfg(test)]
mod tests {
    use rocewatch_core::catalog::Counter;

    use super::*;
    use crate::sys::rdma_wire::Protocol;

    const PLENTY: u64 = 1 << 40;

    fn sample(counters: &[(&str, u64)]) -> Sample {
        let mut sample = Sample::default();
        counters.iter().for_each(|(name, value)| sample.take((*name).to_owned(), *value));
        sample
    }

    fn read(followed: &mut Followed, counters: &[(&str, u64)]) -> RdmaView {
        let mut view = RdmaView::default();
        followed.advance(&mut view, sample(counters), PLENTY);
        view
    }

    fn value(view: &RdmaView, counter: Counter) -> Option<u64> {
        view.counters.iter().find(|view| view.slot.counter() == counter).map(|view| view.value)
    }

    #[test]
    fn a_counter_of_32_bits_goes_on_above_them() {
        let mut followed = Followed::new();
        read(&mut followed, &[("out_of_sequence", 4_294_967_290)]);
        let view = read(&mut followed, &[("out_of_sequence", 4)]);
        assert_eq!(value(&view, Counter::OutOfSequence), Some(4_294_967_300));
    }

    #[test]
    fn a_counter_that_fails_to_be_read_once_keeps_what_was_counted() {
        let mut followed = Followed::new();
        read(&mut followed, &[("out_of_sequence", 4_294_967_290)]);
        read(&mut followed, &[("out_of_sequence", 4)]);
        let mut failed = RdmaView::default();
        let unread = vec![("hw_counters".to_owned(), "ETIMEDOUT".to_owned())];
        followed.advance(&mut failed, Sample { unread: unread.clone(), ..Sample::default() }, PLENTY);
        assert_eq!((failed.counters.len(), failed.unread), (0, unread));
        let view = read(&mut followed, &[("out_of_sequence", 5)]);
        assert_eq!(value(&view, Counter::OutOfSequence), Some(4_294_967_301));
    }

    #[test]
    fn a_better_name_that_comes_later_is_a_counter_of_its_own() {
        let mut followed = Followed::new();
        read(&mut followed, &[("port_xmit_data", 1000)]);
        let view = read(&mut followed, &[("port_xmit_data", 1001), ("rdma_tx_bytes", 64)]);
        assert_eq!(value(&view, Counter::RdmaTxBytes), Some(64), "switched on just now");
        let view = read(&mut followed, &[("port_xmit_data", 1002)]);
        assert_eq!(value(&view, Counter::RdmaTxBytes), Some(4008));
    }

    #[test]
    fn words_of_four_bytes_are_multiplied_once() {
        let mut followed = Followed::new();
        for (words, bytes) in [(10, 40), (11, 44)] {
            let view = read(&mut followed, &[("port_rcv_data", words)]);
            assert_eq!(value(&view, Counter::RdmaRxBytes), Some(bytes));
        }
    }

    #[test]
    fn a_legacy_counter_at_its_end_is_saturated_and_does_not_wrap() {
        let mut followed = Followed::new();
        for (raw, saturated) in [(254, false), (255, true), (255, true)] {
            let view = read(&mut followed, &[("link_downed", raw)]);
            let [counter] = view.counters[..] else { panic!("{view:?}") };
            assert_eq!((counter.value, counter.saturated), (raw, saturated));
        }
    }

    #[test]
    fn a_name_that_no_table_knows_is_kept_as_it_is() {
        let view = read(&mut Followed::new(), &[("RNR  odd name", 7), ("np_cnp_sent", 1)]);
        assert_eq!(view.unmapped, [("RNR  odd name".to_owned(), 7)]);
    }

    #[test]
    fn among_tables_that_fit_alike_that_of_the_devices_driver_counts() {
        let fit = |driver, name: &str| table(driver, &[name.to_owned()]).name;
        assert_eq!((fit("bnxt_en", "odd"), fit("mlx5_core", "odd")), ("bnxt_en", "mlx5_core"));
        assert_eq!(fit("bnxt_en", "np_ecn_marked_roce_packets"), "mlx5_core", "a name says more");
    }

    #[test]
    fn all_bits_set_is_no_count() {
        let view = read(&mut Followed::new(), &[("np_cnp_sent", u64::MAX), ("firmware_name", u64::MAX)]);
        assert_eq!((view.counters.len(), view.unmapped.len()), (0, 0));
    }

    #[test]
    fn what_is_not_roce_gives_no_evidence_of_roce_congestion() {
        let counters = [("np_cnp_sent", 5), ("out_of_sequence", 3)];
        for (protocol, marks) in [
            (None, Some(5)),
            (Some(Protocol::Roce), Some(5)),
            (Some(Protocol::InfiniBand), None),
            (Some(Protocol::Iwarp), None),
        ] {
            let mut view = RdmaView { protocol, ..RdmaView::default() };
            Followed::new().advance(&mut view, sample(&counters), PLENTY);
            assert_eq!(value(&view, Counter::CnpSent), marks, "{protocol:?}");
            assert_eq!(value(&view, Counter::OutOfSequence), Some(3), "{protocol:?}");
            assert_eq!(view.unmapped.len(), usize::from(marks.is_none()), "shown by its own name");
        }
    }
}
