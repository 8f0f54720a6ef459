//! The rates between one acknowledgement and the next: those of packets that left the bottleneck back to back have its
//! rate, whatever else it carries.
//!
//! Source: C. Dovrolis, P. Ramanathan, D. Moore, *Packet-dispersion techniques and a capacity-estimation methodology*,
//! IEEE/ACM ToN 12(6), 2004.

/// The lowest rate that is counted, in bit/s, and the ratio of the limits of a bin.
const LOWEST: f64 = 1e3;
const RATIO: f64 = 1.04;
/// Up to 1 Tbit/s.
const BINS: usize = 530;
/// The share of the octets in neighbouring bins that are no accident.
const SHARE: f64 = 0.05;
/// The bins on both sides of two neighbours with which these are compared, beyond one that is left out, and how many
/// times as many octets a peak has. Hosts that are late make rates higher, but not all by the same factor.
const AROUND: usize = 6;
const PEAK: f64 = 2.5;
/// The share of the octets that such a peak has.
const PEAK_SHARE: f64 = 0.15;

/// A histogram of rates, weighted by octets.
#[derive(Clone, Debug, Default)]
pub(super) struct Dispersion {
    /// Octets by rate; empty before the first.
    bins: Vec<u64>,
}

impl Dispersion {
    /// Takes octets that were acknowledged a time (ns) after those before them.
    pub(super) fn add(&mut self, octets: u64, time: u64) {
        if self.bins.is_empty() {
            self.bins = vec![0; BINS];
        }
        let rate = octets as f64 * 8e9 / time as f64;
        let bin = ((rate / LOWEST).ln() / RATIO.ln()).clamp(0.0, (BINS - 1) as f64) as usize;
        self.bins[bin] += octets;
    }

    /// Adds the counts of another.
    pub(super) fn merge(&mut self, other: &Dispersion) {
        self.bins.resize(BINS, 0);
        self.bins.iter_mut().zip(&other.bins).for_each(|(own, other)| *own += other);
    }

    /// Returns the highest rate that many octets have, in bit/s: of a peak, if there is one, where it is higher than
    /// `exact` (bit/s).
    pub(super) fn rate(&self, exact: f64) -> Option<f64> {
        let total: u64 = self.bins.iter().sum();
        let least = ((total as f64 * SHARE) as u64).max(1);
        // Two neighbours, as a rate can be at their common limit.
        let has_many = |at: &usize| self.bins[*at] + self.bins[at + 1] >= least;
        let mut many = (0..self.bins.len().saturating_sub(1)).rev().filter(has_many);
        let highest = many.clone().next()?;
        let is_exact = |at: usize| LOWEST * RATIO.powi(at as i32) < exact;
        let at = many.find(|at| is_exact(*at) || self.is_peak(*at, total)).unwrap_or(highest);
        let [low, high] = [self.bins[at], self.bins[at + 1]].map(|octets| octets as f64);
        let middle = at as f64 + (0.5 * low + 1.5 * high) / (low + high);
        Some(LOWEST * RATIO.powf(middle))
    }

    fn is_peak(&self, at: usize, total: u64) -> bool {
        let own = (self.bins[at] + self.bins[at + 1]) as f64 / 2.0;
        let below = self.bins[at.saturating_sub(1 + AROUND)..at.saturating_sub(1)].iter();
        let above = self.bins[(at + 3).min(BINS)..(at + 3 + AROUND).min(BINS)].iter();
        let around: u64 = below.chain(above).sum();
        own >= PEAK * around as f64 / (2 * AROUND) as f64 && 2.0 * own >= PEAK_SHARE * total as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_that_is_no_accident() {
        let mut all = Dispersion::default();
        assert_eq!(all.rate(0.0), None);
        // Pairs at 12 Mbit/s, more of them with others between, and one that is compressed.
        (0..200).for_each(|_| all.add(1_500, 1_000_000));
        (0..800).for_each(|n| all.add(1_500, 2_000_000 + n * 10_000));
        all.add(1_500, 10_000);
        let found = all.rate(0.0).unwrap();
        assert!((found / 12e6 - 1.0).abs() < 0.04, "{found}");
    }
}
