//! From samples to the Prometheus text format, version 0.0.4, by the `prometheus` crate. The only file that knows it.

use prometheus::proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{Encoder, TextEncoder};
use rocewatch_core::catalog::{FamilyKind, Unit};

use super::sheet::{Described, Distribution, Labels, Sample, Sheet, Value};

/// A line of a page has about this many bytes.
const LINE_BYTES: usize = 128;

/// The page as text. One family is turned into the crate's form at a time, so that memory holds the page once.
pub(super) fn encode(sheet: &Sheet<'_>) -> Vec<u8> {
    let mut page = Vec::with_capacity(sheet.series() * LINE_BYTES);
    for (described, samples) in sheet.filled() {
        let family = family(described, samples);
        TextEncoder::new()
            .encode(std::slice::from_ref(&family), &mut page)
            .expect("a family with a name and a sample encodes, and memory takes every write");
    }
    page
}

fn family(described: &Described, samples: &[Sample<'_>]) -> MetricFamily {
    let unit = described.family.unit;
    let mut family = MetricFamily::default();
    family.set_name(described.family.name.into());
    family.set_help(described.help.clone());
    let kind = match described.family.kind {
        FamilyKind::Counter => MetricType::COUNTER,
        FamilyKind::Gauge | FamilyKind::Info => MetricType::GAUGE,
        FamilyKind::Histogram(_) => MetricType::HISTOGRAM,
    };
    family.set_field_type(kind);
    family.set_metric(samples.iter().map(|sample| metric(sample, kind, unit)).collect());
    family
}

fn metric(sample: &Sample<'_>, kind: MetricType, unit: Unit) -> Metric {
    let mut metric = Metric::default();
    metric.set_label(labels(&sample.labels));
    match &sample.value {
        Value::Held(held) => set_number(&mut metric, kind, shown(*held, unit)),
        Value::Shown(number) => set_number(&mut metric, kind, *number),
        Value::Distribution(distribution) => metric.set_histogram(histogram(distribution, unit)),
    }
    metric
}

fn set_number(metric: &mut Metric, kind: MetricType, number: f64) {
    if kind == MetricType::COUNTER {
        let mut counter = Counter::default();
        counter.set_value(number);
        metric.set_counter(counter);
    } else {
        let mut gauge = Gauge::default();
        gauge.set_value(number);
        metric.set_gauge(gauge);
    }
}

/// A held value in the unit it is shown in. Above 2^53 the last digits are lost; Prometheus keeps no more either.
pub(super) fn shown(held: u64, unit: Unit) -> f64 {
    held as f64 / unit.base() as f64
}

fn labels(labels: &Labels<'_>) -> Vec<LabelPair> {
    let pair = |(name, value): (&str, &str)| {
        let mut pair = LabelPair::default();
        pair.set_name(name.into());
        pair.set_value(value.into());
        pair
    };
    labels.iter().map(pair).collect()
}

/// Buckets as the format wants them: each counts what lies at or below its bound; the encoder adds infinity.
fn histogram(distribution: &Distribution, unit: Unit) -> Histogram {
    let mut so_far = 0u64;
    let buckets = distribution.bounds.iter().zip(&distribution.counts).map(|(bound, count)| {
        so_far = so_far.saturating_add(*count);
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(shown(*bound, unit));
        bucket.set_cumulative_count(so_far);
        bucket
    });
    let mut histogram = Histogram::default();
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(distribution.counts.iter().fold(0, |sum: u64, n| sum.saturating_add(*n)));
    histogram.set_sample_sum(shown(distribution.sum, unit));
    histogram
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::sheet::family;
    use super::*;

    fn text(sheet: &Sheet<'_>) -> String {
        String::from_utf8(encode(sheet)).unwrap()
    }

    #[test]
    fn label_values_are_escaped() {
        let mut sheet = Sheet::new();
        let labels = Labels::none().with("hash", "a\"b\\c\nd\u{fffd}é");
        sheet.add(const { family("rocewatch_config_info") }, &labels, 1u64);
        assert!(text(&sheet).ends_with("rocewatch_config_info{hash=\"a\\\"b\\\\c\\nd\u{fffd}é\"} 1\n"));
    }

    #[test]
    fn spans_are_shown_in_seconds_and_shares_as_ratios() {
        let mut sheet = Sheet::new();
        let rx = Labels::none().with("direction", "rx");
        sheet.add(const { family("rocewatch_watchdog_hold_seconds") }, &rx, Duration::from_millis(1500));
        sheet.add(const { family("rocewatch_watchdog_threshold_ratio") }, &rx, Value::Held(950));
        let text = text(&sheet);
        assert!(text.contains("rocewatch_watchdog_hold_seconds{direction=\"rx\"} 1.5\n"), "{text}");
        assert!(text.contains("rocewatch_watchdog_threshold_ratio{direction=\"rx\"} 0.95\n"), "{text}");
    }

    #[test]
    fn buckets_are_cumulative_and_end_in_infinity() {
        let mut sheet = Sheet::new();
        let bounds = vec![100_000_000, 200_000_000];
        let distribution = Distribution { bounds, counts: vec![1, 2, 4], sum: 5_250_000_000 };
        sheet.add(const { family("rocewatch_watchdog_detection_seconds") }, &Labels::none(), distribution);
        let text = text(&sheet);
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "# TYPE rocewatch_watchdog_detection_seconds histogram",
                "rocewatch_watchdog_detection_seconds_bucket{le=\"0.1\"} 1",
                "rocewatch_watchdog_detection_seconds_bucket{le=\"0.2\"} 3",
                "rocewatch_watchdog_detection_seconds_bucket{le=\"+Inf\"} 7",
                "rocewatch_watchdog_detection_seconds_sum 5.25",
                "rocewatch_watchdog_detection_seconds_count 7",
            ]
        );
    }

    #[test]
    fn a_family_without_samples_is_not_on_the_page() {
        assert_eq!(text(&Sheet::new()), "");
    }
}
