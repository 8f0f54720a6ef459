//! The times that packets were inside the network.

use cellway_units::Span;
use hdrhistogram::Histogram;

/// One-way delays of all packets that were delivered, from reading them to the arrival of their last bit at the
/// other host. In nanoseconds, to 0.1 %.
#[derive(Clone, Debug)]
pub struct Delays {
    histogram: Histogram<u64>,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays { histogram: Histogram::new(3).expect("three digits are within what the histogram takes") }
    }
}

impl Delays {
    pub(crate) fn record(&mut self, delay: Span) {
        // It grows as needed: only memory could refuse.
        let _ = self.histogram.record(delay.as_ps() / 1000);
    }

    /// Packets delivered.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the delay that a share `quantile` of the packets did not exceed; zero without packets.
    pub fn quantile(&self, quantile: f64) -> Span {
        Span::from_ns(self.histogram.value_at_quantile(quantile))
    }
}
