//! The samples of one page before they are text: by family, in the order of the catalogue. Collectors fill it, the
//! encoder reads it, and neither knows the other.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;
use std::time::Duration;

use rocewatch_core::catalog::{Counter, FAMILIES, Family};
use rocewatch_core::units::Permille;

/// A family by its place in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FamilyId(usize);

/// The family called `name`. Asked in a `const` block, so that a misspelt name does not build.
pub(super) const fn family(name: &str) -> FamilyId {
    let (mut table, mut place) = (0, 0);
    while table < FAMILIES.len() {
        let mut row = 0;
        while row < FAMILIES[table].len() {
            if FAMILIES[table][row].is_called(name) {
                return FamilyId(place);
            }
            row += 1;
            place += 1;
        }
        table += 1;
    }
    panic!("a sample names a family that is not in the catalogue")
}

/// The catalogue with the texts that never change.
static DESCRIBED: LazyLock<Vec<Described>> =
    LazyLock::new(|| Family::all().map(|family| Described { family, help: family.help() }).collect());

/// The family of each native counter, by its index.
static OF_COUNTER: LazyLock<Vec<FamilyId>> =
    LazyLock::new(|| Counter::ALL.iter().map(|counter| family(counter.entry().family.name)).collect());

/// A family and its help text.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) family: &'static Family,
    pub(super) help: String,
}

/// The family a native counter is shown in.
pub(super) fn family_of(counter: Counter) -> FamilyId {
    OF_COUNTER[counter.index()]
}

/// The labels of a sample, in the order of the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Labels<'a>(Vec<(&'static str, Cow<'a, str>)>);

impl<'a> Labels<'a> {
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// These and one more.
    pub(super) fn with(&self, name: &'static str, value: impl Into<Cow<'a, str>>) -> Self {
        let mut labels = self.clone();
        labels.0.push((name, value.into()));
        labels
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_ref()))
    }
}

/// The value of a sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// In the unit the family is held in: nanoseconds, thousandths, bytes or a count.
    Held(u64),
    /// In the unit the family is shown in; finite.
    Shown(f64),
    /// A distribution of held values.
    Distribution(Distribution),
}

/// A distribution of held values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Distribution {
    /// Upper bounds, ascending.
    pub(super) bounds: Vec<u64>,
    /// Observations per bucket, not cumulative; one more than bounds.
    pub(super) counts: Vec<u64>,
    /// Sum of all observations.
    pub(super) sum: u64,
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Held(count)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Held(u64::from(flag))
    }
}

impl From<Duration> for Value {
    fn from(span: Duration) -> Self {
        Self::Held(rocewatch_core::units::nanos(span))
    }
}

impl From<Permille> for Value {
    fn from(share: Permille) -> Self {
        Self::Held(u64::from(share.get()))
    }
}

impl From<Distribution> for Value {
    fn from(distribution: Distribution) -> Self {
        Self::Distribution(distribution)
    }
}

impl Value {
    /// A number that was measured as a fraction; unknown if it is none.
    pub(super) fn shown(number: f64) -> Option<Self> {
        number.is_finite().then_some(Self::Shown(number))
    }

    /// Lines it takes on the page.
    fn series(&self) -> usize {
        match self {
            Self::Held(_) | Self::Shown(_) => 1,
            // One per bucket, infinity among them, then sum and count.
            Self::Distribution(distribution) => distribution.counts.len() + 2,
        }
    }
}

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) labels: Labels<'a>,
    pub(super) value: Value,
}

/// All samples of a page.
#[derive(Debug)]
pub(super) struct Sheet<'a> {
    samples: Vec<Vec<Sample<'a>>>,
}

impl<'a> Sheet<'a> {
    pub(super) fn new() -> Self {
        Self { samples: DESCRIBED.iter().map(|_| Vec::new()).collect() }
    }

    pub(super) fn add(&mut self, family: FamilyId, labels: &Labels<'a>, value: impl Into<Value>) {
        self.samples[family.0].push(Sample { labels: labels.clone(), value: value.into() });
    }

    /// Adds a sample if its value is known: what is not known has no series.
    pub(super) fn add_known(
        &mut self,
        family: FamilyId,
        labels: &Labels<'a>,
        value: Option<impl Into<Value>>,
    ) {
        if let Some(value) = value {
            self.add(family, labels, value);
        }
    }

    /// Whether a series stands on the page already.
    pub(super) fn has(&self, family: FamilyId, labels: &Labels<'a>) -> bool {
        self.samples[family.0].iter().any(|sample| sample.labels == *labels)
    }

    /// The labels of all samples of a family so far.
    pub(super) fn labels_of(&self, family: FamilyId) -> BTreeSet<Labels<'a>> {
        self.samples[family.0].iter().map(|sample| sample.labels.clone()).collect()
    }

    /// Lines with a value on the page.
    pub(super) fn series(&self) -> usize {
        self.samples.iter().flatten().map(|sample| sample.value.series()).sum()
    }

    /// The families that have samples.
    pub(super) fn filled(&self) -> impl Iterator<Item = (&'static Described, &[Sample<'a>])> {
        let families = DESCRIBED.iter().zip(&self.samples);
        families.filter(|(_, samples)| !samples.is_empty()).map(|(family, samples)| (family, &samples[..]))
    }

    /// Leaves out every series that stands on the page already, and says how many: for one, Prometheus would refuse the
    /// whole page.
    pub(super) fn drop_duplicates(&mut self) -> usize {
        self.samples.iter_mut().map(drop_repeated).sum()
    }
}

fn drop_repeated(samples: &mut Vec<Sample<'_>>) -> usize {
    let mut seen = HashSet::with_capacity(samples.len());
    let repeated = samples.iter().enumerate().filter(|(_, sample)| !seen.insert(&sample.labels));
    let repeated: Vec<_> = repeated.map(|(place, _)| place).collect();
    repeated.iter().rev().for_each(|place| drop(samples.remove(*place)));
    repeated.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_found_at_its_place_in_the_catalogue() {
        for (place, described) in DESCRIBED.iter().enumerate() {
            assert_eq!(family(described.family.name), FamilyId(place));
        }
    }

    #[test]
    fn of_a_series_that_stands_twice_the_first_stays() {
        let mut sheet = Sheet::new();
        let labels = Labels::none().with("mode", "observe");
        sheet.add(const { family("rocewatch_watchdog_mode") }, &labels, true);
        assert_eq!(sheet.drop_duplicates(), 0);
        sheet.add(const { family("rocewatch_watchdog_mode") }, &labels, false);
        sheet.add(const { family("rocewatch_watchdog_mode") }, &Labels::none().with("mode", "off"), false);
        assert_eq!(sheet.drop_duplicates(), 1);
        let values: Vec<_> =
            sheet.filled().flat_map(|(_, samples)| samples).map(|sample| &sample.value).collect();
        assert_eq!(values, [&Value::from(true), &Value::from(false)]);
    }

    #[test]
    fn a_distribution_counts_as_its_buckets_and_its_two_sums() {
        let mut sheet = Sheet::new();
        let distribution = Distribution { bounds: vec![1, 2], counts: vec![0, 0, 0], sum: 0 };
        sheet.add(const { family("rocewatch_watchdog_detection_seconds") }, &Labels::none(), distribution);
        assert_eq!(sheet.series(), 5);
    }

    #[test]
    fn a_number_that_is_none_is_not_shown() {
        assert_eq!(Value::shown(f64::NAN), None);
        assert_eq!(Value::shown(0.5), Some(Value::Shown(0.5)));
    }
}
