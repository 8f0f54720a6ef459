//! The congestion window, its ways to grow, and the count of duplicate acknowledgements.

use super::cubic::{self, Cubic};
use super::{Acked, Flight};
use crate::{Config, MAX_WINDOW, Variant};

/// The kind of a timeout, which determines its effect on ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeout {
    /// A timeout outside fast recovery: a new loss.
    Loss,
    /// A timeout in fast recovery. The loss that began the recovery has lowered ssthresh already. As in Linux, the same
    /// loss event does not lower it again by the window, and never raises it.
    InRecovery,
    /// A timeout of a segment that the timer has resent before. RFC 5681 §3.1: ssthresh is held constant.
    Again,
}

impl Timeout {
    /// Returns the kind of a timeout; `again` is true if the timer resent the segment before.
    pub(crate) fn new(again: bool, in_recovery: bool) -> Timeout {
        match (again, in_recovery) {
            (true, _) => Timeout::Again,
            (false, true) => Timeout::InRecovery,
            (false, false) => Timeout::Loss,
        }
    }
}

/// The congestion window and the slow-start threshold.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// Congestion window (bytes).
    pub(crate) cwnd: u64,
    /// Slow-start threshold (bytes).
    pub(crate) ssthresh: u64,
    /// Segment size (bytes).
    pub(crate) mss: u64,
    /// The window after connecting (bytes).
    initial: u64,
    /// The state of CUBIC, if in use; otherwise Reno applies. Boxed: it is as large as the rest of a congestion
    /// control.
    cubic: Option<Box<Cubic>>,
}

impl Window {
    /// A window of `initial_segments` of `mss`.
    pub(crate) fn new(config: &Config, mss: u64, initial_segments: u64) -> Window {
        let initial = mss * initial_segments;
        let cubic = (config.variant == Variant::Cubic).then(|| Box::new(Cubic::new(config.hystart, config.pacing)));
        Window { cwnd: initial, ssthresh: config.initial_ssthresh, mss, initial, cubic }
    }

    /// An acknowledgement of new data arrived; `flight` is what is left.
    pub(crate) fn grow(&mut self, acked: Acked, flight: Flight) {
        let before = self.cwnd;
        match &mut self.cubic {
            None => self.cwnd += self.reno(acked.bytes),
            Some(cubic) => (self.cwnd, self.ssthresh) = cubic.grow(self.cwnd, self.ssthresh, self.mss, acked, flight),
        }
        // Past what any peer can announce, growth would only hide a later collapse.
        self.cwnd = self.cwnd.min(MAX_WINDOW.max(before));
    }
    /// The increase by Reno (bytes) for an acknowledgement that in slow start counts for `slow_start` bytes.
    fn reno(&self, slow_start: u64) -> u64 {
        if self.cwnd < self.ssthresh {
            slow_start.min(self.mss)
        } else {
            // RFC 5681 §3.1, equation 3: MSS * MSS / cwnd for each acknowledgement, at least 1 byte.
            (self.mss * self.mss / self.cwnd).max(1)
        }
    }
    /// Sets ssthresh after a loss outside recovery, with a FlightSize of `flight` bytes.
    ///
    /// RFC 5681 §3.1 requires half of the data outstanding in the network. FlightSize also counts data that has left
    /// the network, as reported by duplicates or SACK blocks, until the cumulative acknowledgement covers it. The
    /// congestion window does not, so the lesser of the two is used.
    pub(crate) fn reduce(&mut self, flight: u64) {
        let outstanding = flight.min(self.cwnd);
        self.ssthresh = self.kept(outstanding);
        if let Some(cubic) = &mut self.cubic {
            cubic.reduce(self.cwnd);
        }
    }
    /// Returns ssthresh (bytes) for `outstanding` bytes in the network: half of them by RFC 5681 §3.1, equation 4, or
    /// 0.7 by RFC 9438 §4.6 with CUBIC, and at least two segments.
    fn kept(&self, outstanding: u64) -> u64 {
        let (num, den) = if self.cubic.is_some() { cubic::BETA } else { (1, 2) };
        (outstanding * num / den).max(2 * self.mss)
    }
    /// Sets the window to one segment after a timeout, and ssthresh by the kind of the timeout. RFC 5681 §3.1.
    pub(crate) fn collapse(&mut self, flight: Flight, timeout: Timeout) {
        match timeout {
            Timeout::Loss => self.reduce(flight.size()),
            Timeout::InRecovery => self.ssthresh = self.ssthresh.min(self.kept(flight.size())),
            Timeout::Again => {}
        }
        self.cwnd = self.mss;
        if let Some(cubic) = &mut self.cubic {
            cubic.timed_out();
        }
    }
    /// RFC 5681 §4.1: after an idle time, at most the initial window.
    pub(crate) fn restart(&mut self) {
        if self.cwnd > self.initial {
            self.cwnd = self.initial;
            if let Some(cubic) = &mut self.cubic {
                cubic.restart();
            }
        }
    }
}

/// Counts duplicate acknowledgements.
#[derive(Clone, Debug)]
pub(crate) struct DuplicateAcks {
    pub(crate) count: u32,
    pub(crate) threshold: u32,
    limited_transmit: bool,
    /// FlightSize at the first of them: what limited transmit sends later must not count as
    /// outstanding when the window is halved. RFC 5681 §3.2 (2) (bytes).
    flight_at_first: u64,
}

impl DuplicateAcks {
    pub(crate) fn new(threshold: u32, limited_transmit: bool) -> DuplicateAcks {
        DuplicateAcks { count: 0, threshold, limited_transmit, flight_at_first: 0 }
    }
    /// One more.
    pub(crate) fn add(&mut self, flight: Flight) {
        if self.count == 0 {
            self.flight_at_first = flight.size();
        }
        self.count = self.count.saturating_add(1);
    }
    pub(crate) fn reset(&mut self) {
        self.count = 0;
    }
    /// What was outstanding when the first arrived (bytes).
    pub(crate) fn flight(&self) -> u64 {
        self.flight_at_first
    }
    /// RFC 3042, RFC 5681 §3.2 (1): the first two duplicates each let one segment past cwnd (bytes).
    pub(crate) fn limited_transmit(&self, mss: u64) -> u64 {
        let waiting = self.limited_transmit && self.count < self.threshold;
        if waiting { u64::from(self.count.min(2)) * mss } else { 0 }
    }
    /// Whether duplicates before the threshold may release new segments.
    pub(crate) fn limited_transmit_enabled(&self) -> bool {
        self.limited_transmit
    }
}
