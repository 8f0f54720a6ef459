//! The samples of one direction in the order of time: its deliveries, and the delays on both sides of the tap.

use super::bulk::TICK;

/// The samples of a series that are kept one by one. Later ones in the same millisecond are joined.
const MAX_SINGLE: usize = 300_000;

/// One acknowledgement of new octets, or one segment of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// The time at the tap, in ns.
    pub(super) at: u64,
    /// Octets that were delivered: of payload with an acknowledgement, of IP packets with data.
    pub(super) octets: u32,
    /// The time on that side of the tap up to now, there and back, in ns; `NONE` if it is unknown.
    pub(super) delay: u32,
    /// The octets of payload that passed the tap together and took part in that delay.
    pub(super) burst: u32,
    /// The clock of the host that sent this segment; 0 without timestamps.
    pub(super) stamp: u32,
    /// The octets of IP packets with acknowledgements since the sample before; of data, up to the one that it echoes.
    pub(super) length: u32,
}

/// The delay of a sample without one.
pub(super) const NONE: u32 = u32::MAX;

impl Sample {
    /// Returns the delay, in s, if there is one.
    pub(super) fn delay(&self) -> Option<f64> {
        (self.delay != NONE).then(|| f64::from(self.delay) / 1e9)
    }

    /// Returns the time at the tap, in s since `start` (ns).
    pub(super) fn time(&self, start: u64) -> f64 {
        self.at.saturating_sub(start) as f64 / 1e9
    }
}

/// Clips a delay in ns to that of a sample: 4.3 s at most.
pub(super) fn clipped(delay: u64) -> u32 {
    u32::try_from(delay).unwrap_or(NONE - 1).min(NONE - 1)
}

/// Samples with rising times.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    pub(super) all: Vec<Sample>,
}

impl Series {
    /// Takes a sample. Returns true if it is kept besides those before, never unless `may_keep`.
    pub(super) fn add(&mut self, sample: Sample, may_keep: bool) -> bool {
        let is_single = self.all.len() < MAX_SINGLE && may_keep;
        match self.all.last_mut() {
            Some(last) if !is_single && (last.at / TICK == sample.at / TICK || !may_keep) => {
                let octets = last.octets.saturating_add(sample.octets);
                let known = if sample.delay == NONE { *last } else { sample };
                let length = last.length.saturating_add(sample.length);
                *last = Sample { octets, length, at: last.at.max(sample.at), stamp: sample.stamp, ..known };
                false
            }
            _ if may_keep => {
                self.all.push(sample);
                true
            }
            _ => false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_kept_where_samples_are_joined() {
        let mut series = Series::default();
        let sample = |at| Sample { at, octets: 10, delay: 5, burst: 10, stamp: 0, length: 0 };
        assert!(series.add(sample(0), true) && series.add(sample(1), true));
        assert!(!series.add(sample(2), false));
        assert_eq!((series.len(), series.all[1].octets), (2, 20));
    }
}
