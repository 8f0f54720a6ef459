//! Congestion control: the window and the pacing rate. One file for each algorithm.
//!
//! A [`Controller`] reacts to acknowledgements, rate samples, losses, marks and timeouts. It does not decide which
//! segments are lost or sent next: that is [recovery](crate::recovery).

mod cubic;
mod hystart;
mod reno;
mod tahoe;
#[cfg(test)]
mod tests;

use cellway_delivery::Sample;
use cellway_units::{Span, Time};

use crate::{Config, CongestionControl, MAX_WINDOW, Position};
use cubic::Cubic;
use reno::Reno;
use tahoe::Tahoe;

/// The pacing rate is 200 % of window / round trip below half of the slow-start threshold, then 120 %. Linux,
/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio` (per cent).
const SLOW_START_PERCENT: u128 = 200;
const AVOIDANCE_PERCENT: u128 = 120;

/// The outstanding data, as an argument of an algorithm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    /// The first position that is not acknowledged.
    pub(crate) una: Position,
    /// The next position to send.
    pub(crate) nxt: Position,
    /// The position behind the last that was ever sent.
    pub(crate) max: Position,
    /// The peer's window (bytes).
    pub(crate) peer_window: u64,
}

impl Flight {
    /// Returns the data sent and not acknowledged. RFC 5681 §2 (FlightSize) (bytes).
    pub(crate) fn size(self) -> u64 {
        self.nxt - self.una
    }
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    /// The data that it newly acknowledges (bytes).
    pub(crate) bytes: u64,
    pub(crate) now: Time,
    /// The round trip that it measures, if it does.
    pub(crate) rtt: Option<Span>,
    /// The smoothed round trip.
    pub(crate) srtt: Option<Span>,
    /// It echoes a mark (ECE). RFC 3168 §6.1.2.
    pub(crate) echoes_mark: bool,
}

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

/// The signal that reduces a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Congestion {
    Loss,
    Mark,
    /// A mark, to which the sender reacts less than to a loss. RFC 8511.
    MarkWithAbe,
}

/// The window that an algorithm moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Congestion window (bytes). Fast recovery changes it for a time.
    pub(crate) cwnd: u64,
    /// Slow-start threshold (bytes).
    pub(crate) ssthresh: u64,
    /// Segment size (bytes).
    pub(crate) mss: u64,
}

/// A congestion control algorithm.
trait Algorithm {
    /// Processes the rate sample of an acknowledgement, which also measures during recovery; `flight` is the data still
    /// outstanding. Growth follows if the acknowledgement has new data.
    fn sampled(&mut self, _window: &mut Window, _sample: &Sample, _flight: Flight) {}
    /// Grows the window at an acknowledgement of new data outside recovery; `flight` is the data still outstanding.
    fn grow(&mut self, window: &mut Window, acked: Acked, flight: Flight);
    /// Returns ssthresh (bytes) after a signal of congestion with `outstanding` bytes in the network, where the peer
    /// permits `peer_window` bytes.
    fn threshold(&self, window: Window, signal: Congestion, outstanding: u64, peer_window: u64) -> u64;
    /// Records that a loss or a mark reduces a window of `cwnd` bytes.
    fn reduced(&mut self, _cwnd: u64) {}
    /// Records a timeout.
    fn timed_out(&mut self) {}
    /// Records that sending restarts after an idle time with a smaller window.
    fn restarted(&mut self) {}
    /// Returns the time that `payload` bytes take at the pacing rate: payload / (percent * cwnd / srtt).
    fn pacing_gap(&self, window: Window, payload: u64, srtt: Span) -> Span {
        let percent = if window.cwnd < window.ssthresh / 2 { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
        let gap = u128::from(payload) * u128::from(srtt.as_ps()) * 100 / (percent * u128::from(window.cwnd.max(1)));
        Span::from_ps(u64::try_from(gap).unwrap_or(u64::MAX))
    }
}

/// Returns the part `(numerator, denominator)` of the outstanding data, at least two segments (bytes).
fn part(outstanding: u64, (num, den): (u64, u64), mss: u64) -> u64 {
    (outstanding * num / den).max(2 * mss)
}

/// The algorithms.
#[derive(Clone, Debug)]
enum Algorithms {
    Tahoe(Tahoe),
    Reno(Reno),
    /// Boxed: it is as large as the rest of a controller.
    Cubic(Box<Cubic>),
    #[cfg(test)]
    ByRate(tests::ByRate),
}

/// Evaluates an expression with the algorithm in use, without a virtual call.
macro_rules! with {
    ($algorithms:expr, $algorithm:ident => $call:expr) => {
        match $algorithms {
            Algorithms::Tahoe($algorithm) => $call,
            Algorithms::Reno($algorithm) => $call,
            Algorithms::Cubic($algorithm) => $call,
            #[cfg(test)]
            Algorithms::ByRate($algorithm) => $call,
        }
    };
}

/// The congestion window, the slow-start threshold and the algorithm that moves them.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    pub(crate) window: Window,
    /// The window after connecting (bytes).
    initial: u64,
    /// The window was reduced, for a mark and for whatever reason: for this round trip, until all below is acknowledged.
    marked_until: Position,
    reduced_until: Position,
    /// The last timeout retransmits the data below.
    collapsed_until: Position,
    /// A mark reduces the window less than a loss does (ABE, RFC 8511).
    abe: bool,
    algorithm: Algorithms,
}

impl Controller {
    /// Creates a controller with a window of `initial_segments` of `mss`.
    pub(crate) fn new(config: &Config, mss: u64, initial_segments: u64) -> Controller {
        let initial = mss * initial_segments;
        let algorithm = match config.tcp.control() {
            CongestionControl::Tahoe => Algorithms::Tahoe(Tahoe),
            CongestionControl::Reno => Algorithms::Reno(Reno),
            CongestionControl::Cubic => Algorithms::Cubic(Box::new(Cubic::new(config.tcp.hystart, config.tcp.pacing))),
        };
        let ssthresh = config.tcp.initial_ssthresh.map_or(MAX_WINDOW, |threshold| threshold.0);
        Controller {
            window: Window { cwnd: initial, ssthresh, mss },
            initial,
            marked_until: 0,
            reduced_until: 0,
            collapsed_until: 0,
            abe: config.tcp.abe,
            algorithm,
        }
    }

    /// Processes the rate sample of an acknowledgement; `flight` is the data still outstanding.
    pub(crate) fn sampled(&mut self, sample: &Sample, flight: Flight) {
        with!(&mut self.algorithm, a => a.sampled(&mut self.window, sample, flight));
    }
    /// Grows the window at an acknowledgement of new data outside recovery; `flight` is the data still outstanding.
    pub(crate) fn grow(&mut self, acked: Acked, flight: Flight) {
        // RFC 3168 §6.1.2: an acknowledgement that echoes a mark does not grow the window. After a timeout it does, as in
        // Linux: the peer echoes old marks until new data carries CWR, and retransmissions cannot carry it.
        if acked.echoes_mark && flight.una > self.collapsed_until {
            return;
        }
        let before = self.window.cwnd;
        with!(&mut self.algorithm, a => a.grow(&mut self.window, acked, flight));
        // Above any window that a peer can announce, growth would only hide a later collapse.
        self.window.cwnd = self.window.cwnd.min(MAX_WINDOW.max(before));
    }
    /// Sets ssthresh at a loss outside recovery, with a FlightSize of `size` bytes.
    ///
    /// RFC 5681 §3.1 requires half of the data outstanding in the network. FlightSize also counts data that has left
    /// the network, as reported by duplicates or SACK blocks, until the cumulative acknowledgement covers it. The
    /// congestion window does not, so the lesser of the two is used.
    pub(crate) fn reduce(&mut self, flight: Flight, size: u64) {
        // RFC 3168 §6.1.2: one reduction for the losses and marks of a window.
        if flight.una < self.marked_until {
            return;
        }
        self.reduced_until = flight.max;
        self.lower(Congestion::Loss, size.min(self.window.cwnd), flight);
    }
    /// Reduces the window at an acknowledgement of `acked` bytes that echoes a mark, outside recovery and once per window
    /// of data. Returns true if it does. RFC 3168 §6.1.2.
    pub(crate) fn mark(&mut self, flight: Flight, acked: u64) -> bool {
        // The acknowledgement of the last segment of a window was sent before the first that carries CWR arrived.
        if flight.una <= self.reduced_until {
            return false;
        }
        // RFC 8511 changes the reaction in congestion avoidance only.
        let abe = self.abe && self.window.cwnd >= self.window.ssthresh;
        let signal = if abe { Congestion::MarkWithAbe } else { Congestion::Mark };
        // As at a loss: the data outstanding before the acknowledgement.
        self.lower(signal, (flight.size() + acked).min(self.window.cwnd), flight);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        (self.marked_until, self.reduced_until) = (flight.max, flight.max);
        true
    }
    /// Sets ssthresh at a signal of congestion with `outstanding` bytes in the network.
    fn lower(&mut self, signal: Congestion, outstanding: u64, flight: Flight) {
        self.window.ssthresh = self.threshold(signal, outstanding, flight);
        with!(&mut self.algorithm, a => a.reduced(self.window.cwnd));
    }
    fn threshold(&self, signal: Congestion, outstanding: u64, flight: Flight) -> u64 {
        with!(&self.algorithm, a => a.threshold(self.window, signal, outstanding, flight.peer_window))
    }
    /// Sets the window to one segment after a timeout, and ssthresh by the kind of the timeout. RFC 5681 §3.1.
    pub(crate) fn collapse(&mut self, flight: Flight, timeout: Timeout) {
        match timeout {
            Timeout::Loss => self.reduce(flight, flight.size()),
            Timeout::InRecovery => {
                let threshold = self.threshold(Congestion::Loss, flight.size(), flight);
                self.window.ssthresh = self.window.ssthresh.min(threshold);
            }
            Timeout::Again => {}
        }
        self.window.cwnd = self.window.mss;
        (self.collapsed_until, self.reduced_until) = (flight.max, flight.max);
        with!(&mut self.algorithm, a => a.timed_out());
    }
    /// Restarts after an idle time with at most the initial window. RFC 5681 §4.1.
    pub(crate) fn restart(&mut self) {
        if self.window.cwnd > self.initial {
            self.window.cwnd = self.initial;
            with!(&mut self.algorithm, a => a.restarted());
        }
    }

    /// Returns the time that `payload` bytes take at the pacing rate.
    pub(crate) fn pacing_gap(&self, payload: u64, srtt: Span) -> Span {
        with!(&self.algorithm, a => a.pacing_gap(self.window, payload, srtt))
    }
}
