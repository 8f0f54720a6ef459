//! The count of duplicate acknowledgements, and limited transmit.

use crate::congestion::Flight;

/// Counts duplicate acknowledgements.
#[derive(Clone, Debug)]
pub(crate) struct DuplicateAcks {
    pub(crate) count: u32,
    pub(crate) threshold: u32,
    limited_transmit: bool,
    /// FlightSize at the first of them: segments that limited transmit sends later must not count as outstanding when
    /// the window is halved. RFC 5681 §3.2 (2) (bytes).
    flight_at_first: u64,
}

impl DuplicateAcks {
    pub(crate) fn new(threshold: u32, limited_transmit: bool) -> DuplicateAcks {
        DuplicateAcks { count: 0, threshold, limited_transmit, flight_at_first: 0 }
    }
    /// Counts one more.
    pub(crate) fn add(&mut self, flight: Flight) {
        if self.count == 0 {
            self.flight_at_first = flight.size();
        }
        self.count = self.count.saturating_add(1);
    }
    pub(crate) fn reset(&mut self) {
        self.count = 0;
    }
    /// Returns the data outstanding when the first arrived (bytes).
    pub(crate) fn flight(&self) -> u64 {
        self.flight_at_first
    }
    /// Returns the bytes beyond cwnd that the first two duplicates permit. RFC 3042, RFC 5681 §3.2 (1).
    pub(crate) fn limited_transmit(&self, mss: u64) -> u64 {
        let waiting = self.limited_transmit && self.count < self.threshold;
        if waiting { u64::from(self.count.min(2)) * mss } else { 0 }
    }
    /// Returns true if duplicates before the threshold may release new segments.
    pub(crate) fn limited_transmit_enabled(&self) -> bool {
        self.limited_transmit
    }
}
