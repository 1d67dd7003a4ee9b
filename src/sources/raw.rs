//! Native counters that have no metric of their own, for the operator who asked for them by name: a source that shows
//! what passes through it. It changes nothing that passes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rocewatch_core::binding::Binding;
use rocewatch_core::drivers::Driver;
use rocewatch_core::input::SourceRefresh;
use rocewatch_core::units::MonoTime;

use super::{ReadError, Source};
use crate::clock;
use crate::config::Pattern;
use crate::export::stats::PortStats;

/// Nobody scrapes more often, and the fast pace of a storm must not pay for it.
const SHOWN_EVERY: Duration = Duration::from_secs(1);
/// Of one port. Drivers have a few hundred names besides those of their queues; a pattern that takes in the queues of
/// a large machine must not bury its Prometheus.
const SHOWN_MAX: usize = 1000;

/// See the module.
pub struct RawTap {
    source: Box<dyn Source>,
    driver: &'static Driver,
    include: Pattern,
    stats: Arc<PortStats>,
    /// Where the wanted values are.
    places: Vec<usize>,
    shown_at: Option<MonoTime>,
}

impl RawTap {
    /// `source`, of a port of `driver`, with the counters that `include` names shown in `stats`.
    #[must_use]
    pub const fn new(
        source: Box<dyn Source>,
        driver: &'static Driver,
        include: Pattern,
        stats: Arc<PortStats>,
    ) -> Self {
        Self { source, driver, include, stats, places: Vec::new(), shown_at: None }
    }
}

impl Source for RawTap {
    fn names(&mut self) -> Result<Vec<String>, ReadError> {
        let names = self.source.names()?;
        let binding = Binding::new(self.driver, &names);
        let mut seen = BTreeSet::new();
        let mut wanted: Vec<_> = binding
            .unmapped()
            .iter()
            .map(|place| *place as usize)
            // A name that a driver gives twice is one series.
            .filter(|place| self.include.matches(names[*place].trim()) && seen.insert(names[*place].trim()))
            .collect();
        if wanted.len() > SHOWN_MAX {
            tracing::warn!(
                included = wanted.len(),
                shown = SHOWN_MAX,
                "metrics.raw_include takes in more counters of a port than are shown"
            );
            wanted.truncate(SHOWN_MAX);
        }
        self.stats.name_raw(wanted.iter().map(|place| names[*place].trim().to_owned()).collect());
        self.places = wanted;
        self.shown_at = None;
        Ok(names)
    }

    fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
        self.source.read(values)?;
        let now = clock::now();
        if self.shown_at.is_none_or(|at| now.since(at) >= SHOWN_EVERY) {
            self.shown_at = Some(now);
            self.stats.note_raw(self.places.iter().filter_map(|place| values.get(*place)).copied());
        }
        Ok(())
    }

    fn refresh(&self) -> Option<SourceRefresh> {
        self.source.refresh()
    }
}

#[cfg(test)]
mod tests {
    use rocewatch_core::drivers::for_driver;

    use super::*;

    struct Fixed(Vec<(&'static str, u64)>);

    impl Source for Fixed {
        fn names(&mut self) -> Result<Vec<String>, ReadError> {
            Ok(self.0.iter().map(|(name, _)| (*name).to_owned()).collect())
        }

        fn read(&mut self, values: &mut Vec<u64>) -> Result<(), ReadError> {
            values.clear();
            values.extend(self.0.iter().map(|(_, value)| value));
            Ok(())
        }
    }

    fn shown(include: &str, counters: Vec<(&'static str, u64)>) -> Vec<(String, u64)> {
        let stats = Arc::new(PortStats::default());
        let include = Pattern::new(include).unwrap();
        let mut tap =
            RawTap::new(Box::new(Fixed(counters)), for_driver("mlx5_core"), include, Arc::clone(&stats));
        assert!(stats.raw().is_empty());
        tap.names().unwrap();
        assert!(stats.raw().is_empty(), "a name without a value is shown");
        tap.read(&mut Vec::new()).unwrap();
        stats.raw()
    }

    #[test]
    fn what_is_named_and_has_no_metric_of_its_own_is_shown_once_with_its_value() {
        let counters = vec![
            ("rx_prio3_pause", 1),
            ("rx_steer_missed_packets ", 2),
            ("rx0_packets", 3),
            ("rx_steer_missed_packets", 4),
        ];
        assert_eq!(shown("rx_.*", counters), [("rx_steer_missed_packets".to_owned(), 2)]);
    }

    #[test]
    fn a_pattern_that_takes_in_everything_shows_a_bounded_number() {
        let counters = (0..1100).map(|queue| (&*format!("rx{queue}_packets").leak(), 1)).collect();
        assert_eq!(shown(".*", counters).len(), SHOWN_MAX);
    }
}
