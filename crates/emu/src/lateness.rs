//! The lateness of an emulation: the time between the due instant of an event and its execution.

use std::sync::Arc;

use cellway_record::Rows;
use cellway_record::metric::{Metric, emulation};
use cellway_units::Span;
use hdrhistogram::Histogram;

/// The subject of the rows about the emulation itself.
pub(crate) const SUBJECT: &str = "emulation";

/// The bounds of the histogram in the tables, in ns.
static STEPS: [(u64, &Metric); 6] = [
    (10_000, &emulation::LATENESS_WITHIN_10US),
    (50_000, &emulation::LATENESS_WITHIN_50US),
    (100_000, &emulation::LATENESS_WITHIN_100US),
    (500_000, &emulation::LATENESS_WITHIN_500US),
    (1_000_000, &emulation::LATENESS_WITHIN_1MS),
    (10_000_000, &emulation::LATENESS_WITHIN_10MS),
];

/// The lateness of everything that real hosts were given: the instant at which a packet was written to its host,
/// less the instant at which its last bit arrived there in the network. In nanoseconds, to 0.1 %.
///
/// Its counterpart is earliness: the time by which a packet entered the network before it was read from its host, or
/// was written to its host before its last bit arrived. It is measured for each packet and must be zero: a host that
/// estimates its minimum round trip would keep the value of a single early packet.
#[derive(Clone, Debug)]
pub struct Lateness {
    histogram: Histogram<u64>,
    /// The largest earliness.
    earliness: Span,
}

impl Default for Lateness {
    fn default() -> Lateness {
        // Auto-resizing: an outage of minutes is recorded, too.
        let histogram = Histogram::new(3).expect("three digits are within what the histogram takes");
        Lateness { histogram, earliness: Span::ZERO }
    }
}

impl Lateness {
    /// Records an event that was executed `late` after it was due.
    pub fn record(&mut self, late: Span) {
        // It grows as needed: only memory could refuse.
        let _ = self.histogram.record(late.as_ps() / 1000);
    }

    /// Records that a packet entered or left the network `early`.
    pub fn record_early(&mut self, early: Span) {
        self.earliness = self.earliness.max(early);
    }

    /// Returns the largest earliness.
    pub fn earliness(&self) -> Span {
        self.earliness
    }

    /// Returns the number of events.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the lateness that a share `quantile` of all did not exceed; zero without events.
    pub fn quantile(&self, quantile: f64) -> Span {
        Span::from_ns(self.histogram.value_at_quantile(quantile))
    }

    /// Returns the 99th percentile, by which a run is judged.
    pub fn p99(&self) -> Span {
        self.quantile(0.99)
    }

    /// Returns the smallest lateness.
    pub fn min(&self) -> Span {
        Span::from_ns(self.histogram.min())
    }

    /// Returns the largest lateness.
    pub fn max(&self) -> Span {
        Span::from_ns(self.histogram.max())
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.histogram.clear();
        self.earliness = Span::ZERO;
    }

    /// Adds the count, percentiles, earliness and the histogram as shares to the rows of `subject`.
    pub fn report(&self, subject: &Arc<str>, rows: &mut Rows) {
        rows.put(subject, &emulation::LATENESS_COUNT, self.count() as f64);
        if self.count() == 0 {
            return;
        }
        for (metric, quantile) in [
            (&emulation::LATENESS_P50, 0.5),
            (&emulation::LATENESS_P90, 0.9),
            (&emulation::LATENESS_P99, 0.99),
            (&emulation::LATENESS_P999, 0.999),
        ] {
            rows.put(subject, metric, self.quantile(quantile).as_secs_f64());
        }
        rows.put(subject, &emulation::LATENESS_MIN, self.min().as_secs_f64());
        rows.put(subject, &emulation::LATENESS_MAX, self.max().as_secs_f64());
        rows.put(subject, &emulation::EARLINESS_MAX, self.earliness.as_secs_f64());
        for (bound, metric) in STEPS {
            rows.put(subject, metric, self.histogram.percentile_below(bound) / 100.0);
        }
    }

    /// Returns whether the 99th percentile is within `limit` and nothing was early.
    pub fn is_valid(&self, limit: Span) -> bool {
        self.p99() <= limit && self.earliness.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellway_record::Source;

    #[test]
    fn percentiles_shares_and_the_verdict() {
        let mut lateness = Lateness::default();
        assert!(lateness.is_valid(Span::ZERO), "nothing was late");
        let rows = |lateness: &Lateness| {
            let mut rows = Rows::new(Source::Emulate);
            lateness.report(&SUBJECT.into(), &mut rows);
            rows.finish()
        };
        assert_eq!(rows(&lateness).len(), 1);
        (0..98).for_each(|_| lateness.record(Span::from_us(5)));
        (0..2).for_each(|_| lateness.record(Span::from_ms(3)));
        assert_eq!(lateness.count(), 100);
        assert!(lateness.quantile(0.5).abs_diff(Span::from_us(5)) < Span::from_ns(10));
        assert!(lateness.p99().abs_diff(Span::from_ms(3)) < Span::from_us(3));
        assert!(!lateness.is_valid(Span::from_ms(1)) && lateness.is_valid(Span::from_ms(4)));
        let rows = rows(&lateness);
        let value = |metric| rows.iter().find(|row| row.metric == metric).unwrap().value;
        assert!((value("lateness_min") - 5e-6).abs() < 1e-8);
        assert!((value("lateness_within_1ms") - 0.98).abs() < 1e-9);
        assert_eq!(value("lateness_within_10ms"), 1.0);
        // An outage is not cut to the end of a scale.
        lateness.record(Span::from_secs(300));
        assert!(lateness.max() >= Span::from_secs(299));
    }
}
