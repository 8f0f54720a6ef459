//! How late an emulation was: what was due, against when it was done.

use cellway_record::Row;
use cellway_units::Span;
use hdrhistogram::Histogram;

/// The subject of the rows that tell how the emulation itself went.
pub(crate) const SUBJECT: &str = "emulation";

/// The bounds of the histogram in the tables.
const STEPS: [(u64, &str); 6] = [
    (10_000, "lateness_within_10us"),
    (50_000, "lateness_within_50us"),
    (100_000, "lateness_within_100us"),
    (500_000, "lateness_within_500us"),
    (1_000_000, "lateness_within_1ms"),
    (10_000_000, "lateness_within_10ms"),
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
    /// One thing was done `late` after it was due.
    pub fn record(&mut self, late: Span) {
        // It grows as needed: only memory could refuse.
        let _ = self.histogram.record(late.as_ps() / 1000);
    }

    /// Records that a packet entered or left the network `early`.
    pub fn record_early(&mut self, early: Span) {
        self.earliness = self.earliness.max(early);
    }

    /// The largest earliness.
    pub fn earliness(&self) -> Span {
        self.earliness
    }

    /// How many things were done.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The lateness that a share `quantile` of all did not pass; zero if nothing was done.
    pub fn quantile(&self, quantile: f64) -> Span {
        Span::from_ns(self.histogram.value_at_quantile(quantile))
    }

    /// The 99th percentile, by which a run is judged.
    pub fn p99(&self) -> Span {
        self.quantile(0.99)
    }

    /// The smallest lateness.
    pub fn min(&self) -> Span {
        Span::from_ns(self.histogram.min())
    }

    /// The largest of all.
    pub fn max(&self) -> Span {
        Span::from_ns(self.histogram.max())
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.histogram.clear();
        self.earliness = Span::ZERO;
    }

    /// The count, percentiles, earliness and the histogram as shares.
    pub fn rows(&self) -> Vec<Row> {
        let row = |metric, unit, value| Row { subject: SUBJECT.into(), metric, unit, t: None, value };
        let mut rows = vec![row("lateness_count", "packet", self.count() as f64)];
        if self.count() == 0 {
            return rows;
        }
        for (metric, quantile) in
            [("lateness_p50", 0.5), ("lateness_p90", 0.9), ("lateness_p99", 0.99), ("lateness_p999", 0.999)]
        {
            rows.push(row(metric, "s", self.quantile(quantile).as_secs_f64()));
        }
        rows.push(row("lateness_min", "s", self.min().as_secs_f64()));
        rows.push(row("lateness_max", "s", self.max().as_secs_f64()));
        rows.push(row("earliness_max", "s", self.earliness.as_secs_f64()));
        for (bound, metric) in STEPS {
            rows.push(row(metric, "1", self.histogram.percentile_below(bound) / 100.0));
        }
        rows
    }

    /// Returns whether the 99th percentile is within `limit` and nothing was early.
    pub fn is_valid(&self, limit: Span) -> bool {
        self.p99() <= limit && self.earliness.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_shares_and_the_verdict() {
        let mut lateness = Lateness::default();
        assert!(lateness.is_valid(Span::ZERO), "nothing was late");
        assert_eq!(lateness.rows().len(), 1);
        (0..98).for_each(|_| lateness.record(Span::from_us(5)));
        (0..2).for_each(|_| lateness.record(Span::from_ms(3)));
        assert_eq!(lateness.count(), 100);
        assert!(lateness.quantile(0.5).abs_diff(Span::from_us(5)) < Span::from_ns(10));
        assert!(lateness.p99().abs_diff(Span::from_ms(3)) < Span::from_us(3));
        assert!(!lateness.is_valid(Span::from_ms(1)) && lateness.is_valid(Span::from_ms(4)));
        let rows = lateness.rows();
        let value = |metric| rows.iter().find(|row| row.metric == metric).unwrap().value;
        assert!((value("lateness_min") - 5e-6).abs() < 1e-8);
        assert!((value("lateness_within_1ms") - 0.98).abs() < 1e-9);
        assert_eq!(value("lateness_within_10ms"), 1.0);
        // An outage is not cut to the end of a scale.
        lateness.record(Span::from_secs(300));
        assert!(lateness.max() >= Span::from_secs(299));
    }
}
