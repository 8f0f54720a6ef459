//! Congestion control: the window and the pacing rate. One file for each algorithm.
//!
//! A [`Controller`] reacts to acknowledgements, rate samples, losses, marks and timeouts. It does not decide which
//! segments are lost or sent next: that is loss recovery. `Control` holds the one of a connection.

mod bbr;
mod controller;
mod cubic;
mod dctcp;
mod full_window;
mod hystart;
mod marked_share;
mod prague;
mod reno;
mod tahoe;
#[cfg(test)]
mod tests;

use cellway_units::{Span, Time};

use crate::{Config, CongestionControl, LossRecovery, MAX_WINDOW, Position};
pub use bbr::{Bbr, BbrState};
pub use controller::{
    Ack, Acked, BoxedClone, Controller, Flight, Loss, MarkReport, Newest, Repair, Signal, Variable, Window,
};
use cubic::Cubic;
use dctcp::Dctcp;
use full_window::FullWindow;
use prague::Prague;
use reno::Reno;
use tahoe::Tahoe;

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

/// The results of the handshake that a controller may need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreed {
    /// Both ends permit selective acknowledgements.
    pub(crate) sack: bool,
    /// Both use AccECN.
    pub(crate) acc_ecn: bool,
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
    Bbr(Box<Bbr>),
    Dctcp(Box<Dctcp>),
    Prague(Box<Prague>),
    /// A controller from outside this crate.
    Own(Box<dyn Controller>),
}

/// Evaluates an expression with the algorithm in use, without a virtual call.
macro_rules! with {
    ($algorithms:expr, $algorithm:ident => $call:expr) => {
        match $algorithms {
            Algorithms::Tahoe($algorithm) => $call,
            Algorithms::Reno($algorithm) => $call,
            Algorithms::Cubic($algorithm) => $call,
            Algorithms::Bbr($algorithm) => $call,
            Algorithms::Dctcp($algorithm) => $call,
            Algorithms::Prague($algorithm) => $call,
            Algorithms::Own($algorithm) => $call,
        }
    };
}

/// The congestion window, the slow-start threshold and the algorithm that moves them.
#[derive(Clone, Debug)]
pub(crate) struct Control {
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
    /// A mark reduces the window over a round trip, as a loss does in a recovery by PRR (RFC 9937), and not at once. As in
    /// Linux, tcp_enter_cwr().
    proportional: bool,
    /// Of a controller that sets the window.
    full: FullWindow,
    algorithm: Algorithms,
}

impl Control {
    /// Creates a controller with a window of `initial_segments` of `mss`. Its random numbers follow from `seed`. A model
    /// of the path needs the peer's selective acknowledgements; without these Reno takes its place.
    pub(crate) fn new(config: &Config, mss: u64, initial_segments: u64, seed: u32, agreed: Agreed) -> Control {
        let initial = mss * initial_segments;
        let reno = Reno::new(config.tcp.byte_counting);
        let algorithm = match config.tcp.control() {
            CongestionControl::Bbr if agreed.sack => Algorithms::Bbr(Box::new(Bbr::new(seed.into()))),
            CongestionControl::Prague if agreed.acc_ecn => Algorithms::Prague(Box::new(Prague::new())),
            CongestionControl::Bbr | CongestionControl::Prague => Algorithms::Reno(reno),
            CongestionControl::Dctcp => Algorithms::Dctcp(Box::new(Dctcp::new(reno))),
            CongestionControl::Tahoe => Algorithms::Tahoe(Tahoe),
            CongestionControl::Reno => Algorithms::Reno(reno),
            CongestionControl::Cubic => Algorithms::Cubic(Box::new(Cubic::new(config.tcp.hystart, config.tcp.pacing))),
        };
        let ssthresh = config.tcp.initial_ssthresh.map_or(MAX_WINDOW, |threshold| threshold.0);
        Control {
            window: Window { cwnd: initial, ssthresh, mss },
            initial,
            marked_until: 0,
            reduced_until: 0,
            collapsed_until: 0,
            abe: config.tcp.abe,
            proportional: config.tcp.recovery() == LossRecovery::Rack,
            full: FullWindow::default(),
            algorithm,
        }
    }
    /// Replaces the algorithm by `own`, before the connection is established.
    pub(crate) fn own(&mut self, own: Box<dyn Controller>) {
        self.algorithm = Algorithms::Own(own);
    }
    /// Begins anew with `new` when the connection is established; a controller from outside stays.
    pub(crate) fn establish(&mut self, new: Control, now: Time, srtt: Option<Span>) {
        let old = std::mem::replace(self, new);
        if let Algorithms::Own(own) = old.algorithm {
            self.own(own);
        }
        with!(&mut self.algorithm, a => a.started(&mut self.window, now, srtt));
        self.window.cwnd = self.window.cwnd.max(self.window.mss);
    }

    /// Grows the window at an acknowledgement of new data outside recovery; `flight` is the data still outstanding.
    pub(crate) fn grow(&mut self, acked: Acked, flight: Flight) {
        if self.shrink(acked.bytes, flight) {
            return;
        }
        // RFC 3168 §6.1.2: an acknowledgement that echoes a mark does not grow the window. After a timeout it does, as in
        // Linux: the peer echoes old marks until new data carries CWR, and retransmissions cannot carry it.
        if acked.echoes_mark && flight.una > self.collapsed_until && !with!(&self.algorithm, a => a.grows_at_marks()) {
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
        if self.sets_window() {
            return;
        }
        // RFC 3168 §6.1.2: one reduction for the losses and marks of a window.
        if flight.una < self.marked_until {
            return;
        }
        self.reduced_until = flight.max;
        self.lower(Signal::Loss, size.min(self.window.cwnd), flight);
    }
    /// Reduces the window at an acknowledgement of `acked` bytes that echoes a mark, outside recovery and once per window
    /// of data; a controller that sets the window reduces it itself. Returns true once per window, when the peer is to be
    /// notified of the reduction. RFC 3168 §6.1.2.
    pub(crate) fn mark(&mut self, now: Time, flight: Flight, acked: u64) -> bool {
        // The acknowledgement of the last segment of a window was sent before the first that carries CWR arrived.
        if flight.una <= self.reduced_until || with!(&self.algorithm, a => a.ignores_mark(now)) {
            return false;
        }
        if self.sets_window() {
            self.reduced_until = flight.max;
            return true;
        }
        // RFC 8511 changes the reaction in congestion avoidance only.
        let abe = self.abe && self.window.cwnd >= self.window.ssthresh;
        let signal = if abe { Signal::MarkWithAbe } else { Signal::Mark };
        // As at a loss: the data outstanding before the acknowledgement.
        self.lower(signal, (flight.size() + acked).min(self.window.cwnd), flight);
        (self.marked_until, self.reduced_until) = (flight.max, flight.max);
        if flight.size() == 0 || !self.reduces_over_a_round_trip() {
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
        with!(&mut self.algorithm, a => a.marked(now));
        true
    }
    /// Returns true if the last mark reduces the window over a round trip: after a later timeout it does not, nor in
    /// Prague, which reduces it by little.
    fn reduces_over_a_round_trip(&self) -> bool {
        let prague = matches!(self.algorithm, Algorithms::Prague(_));
        self.proportional && self.collapsed_until < self.marked_until && !prague
    }
    /// Continues the reduction at a mark at an acknowledgement of `acked` bytes: of what is left of it, the part that the
    /// acknowledged data has of the data that was outstanding. Returns false if none is in progress.
    fn shrink(&mut self, acked: u64, flight: Flight) -> bool {
        let left = self.marked_until.saturating_sub(flight.una - acked);
        if left == 0 || !self.reduces_over_a_round_trip() {
            return false;
        }
        let Window { cwnd, ssthresh, .. } = self.window;
        self.window.cwnd = cwnd - cwnd.saturating_sub(ssthresh) * acked.min(left) / left;
        true
    }
    /// Sets ssthresh at a signal of congestion with `outstanding` bytes in the network.
    fn lower(&mut self, signal: Signal, outstanding: u64, flight: Flight) {
        self.window.ssthresh = self.threshold(signal, outstanding, flight);
        with!(&mut self.algorithm, a => a.reduced(self.window.cwnd));
    }
    fn threshold(&self, signal: Signal, outstanding: u64, flight: Flight) -> u64 {
        with!(&self.algorithm, a => a.threshold(self.window, signal, outstanding, flight.peer_window))
    }
    /// Returns the window that a loss would reduce, unless a mark has reduced it already.
    pub(crate) fn before_loss(&self, flight: Flight) -> Option<Window> {
        (flight.una >= self.marked_until).then_some(self.window)
    }
    /// Undoes the reductions of an episode in which nothing was lost: restores the window `before` it. `repair` is in
    /// progress, and `total_delivered` bytes have arrived. RFC 4015 §3; as in Linux, tcp_undo_cwnd_reduction(), a window that
    /// has grown larger stays.
    pub(crate) fn undo(&mut self, before: Option<Window>, repair: Option<Repair>, total_delivered: u64) {
        if let Some(repair) = repair {
            self.repaired(repair);
        }
        if self.sets_window() {
            with!(&mut self.algorithm, a => a.spurious(&mut self.window, total_delivered));
            self.bound();
        } else if let Some(before) = before {
            self.window.cwnd = self.window.cwnd.max(before.cwnd);
            self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
            self.reduced_until = self.marked_until;
            with!(&mut self.algorithm, a => a.undone());
        }
    }
    /// Sets the window to one segment after a timeout with `losses`, and ssthresh by the kind of the timeout. RFC 5681 §3.1.
    /// A controller that sets the window judges the losses by the window before.
    pub(crate) fn collapse(&mut self, flight: Flight, timeout: Timeout, losses: &[Loss]) {
        match timeout {
            Timeout::Loss => self.reduce(flight, flight.size()),
            Timeout::InRecovery if self.sets_window() => {}
            Timeout::InRecovery => {
                let threshold = self.threshold(Signal::Loss, flight.size(), flight);
                self.window.ssthresh = self.window.ssthresh.min(threshold);
            }
            Timeout::Again => {}
        }
        self.repairing(Repair::Timeout);
        self.lost(losses);
        self.window.cwnd = self.window.mss;
        (self.collapsed_until, self.reduced_until) = (flight.max, flight.max);
        with!(&mut self.algorithm, a => a.timed_out());
    }
    /// Restarts after an idle time with at most the initial window. RFC 5681 §4.1.
    pub(crate) fn restart(&mut self) {
        if self.window.cwnd > self.initial && !self.sets_window() {
            self.window.cwnd = self.initial;
            with!(&mut self.algorithm, a => a.restarted());
        }
    }

    /// Counts the marks of an acknowledgement.
    pub(crate) fn counted(&mut self, report: &MarkReport) {
        with!(&mut self.algorithm, a => a.counted(report));
    }
    /// Returns true if segments are paced whatever the configuration.
    pub(crate) fn paces(&self) -> bool {
        with!(&self.algorithm, a => a.paces())
    }
    /// Returns the time that `payload` bytes take at the pacing rate.
    pub(crate) fn pacing_gap(&self, payload: u64, srtt: Span) -> Span {
        with!(&self.algorithm, a => a.pacing_gap(self.window, payload, srtt))
    }
    /// Returns the data that may be sent together (bytes).
    pub(crate) fn quantum(&self) -> u64 {
        with!(&self.algorithm, a => a.quantum())
    }

    /// Returns true if the controller sets the window at all times.
    pub(crate) fn sets_window(&self) -> bool {
        with!(&self.algorithm, a => a.sets_window())
    }
    /// Begins a repair.
    pub(crate) fn repairing(&mut self, repair: Repair) {
        if self.sets_window() {
            with!(&mut self.algorithm, a => a.repairing(&mut self.window, repair));
            self.bound();
        }
    }
    /// Ends a repair.
    pub(crate) fn repaired(&mut self, repair: Repair) {
        if self.sets_window() {
            with!(&mut self.algorithm, a => a.repaired(&mut self.window));
            self.bound();
        } else if repair == Repair::Fast {
            self.window.cwnd = self.window.ssthresh;
        }
    }
    /// Processes the segments that were found to be lost.
    pub(crate) fn lost(&mut self, losses: &[Loss]) {
        if !self.sets_window() {
            return;
        }
        for loss in losses {
            with!(&mut self.algorithm, a => a.lost(&mut self.window, loss));
        }
        self.bound();
    }
    /// Processes an acknowledgement after its losses.
    pub(crate) fn acknowledged(&mut self, ack: &Ack) {
        with!(&mut self.algorithm, a => a.acknowledged(&mut self.window, ack));
        self.bound();
    }
    /// Keeps the window between one segment and the largest that a peer can announce.
    fn bound(&mut self) {
        self.window.cwnd = self.window.cwnd.min(MAX_WINDOW).max(self.window.mss);
    }
    /// Returns the reason for which the controller cannot go on.
    pub(crate) fn failure(&self) -> Option<String> {
        with!(&self.algorithm, a => a.failure())
    }
    /// Returns the least round trip of the model, if there is one.
    pub(crate) fn min_rtt(&self) -> Option<Span> {
        with!(&self.algorithm, a => a.min_rtt())
    }
    /// Passes the variables of the model to `see`.
    pub(crate) fn variables(&self, see: &mut dyn FnMut(Variable, f64)) {
        with!(&self.algorithm, a => a.variables(&self.window, see));
    }
    /// Returns true if the controller sends less than the path carries on purpose.
    pub(crate) fn holds_back(&self) -> bool {
        with!(&self.algorithm, a => a.holds_back())
    }
    /// Prepares to send while nothing is in flight.
    pub(crate) fn resumed(&mut self, now: Time, source_limited: bool) {
        with!(&mut self.algorithm, a => a.resumed(&mut self.window, now, source_limited));
        self.bound();
    }
    /// Records that the window is full, with `flight` outstanding.
    pub(crate) fn filled(&mut self, flight: Flight) {
        self.full.filled(flight.max);
    }
    /// Returns true if the window was full within a round trip.
    pub(crate) fn was_full(&self, flight: Flight) -> bool {
        self.full.was_full(flight)
    }
}
