//! The interface of a congestion controller, and what it is notified of.

use std::fmt::Debug;

use cellway_delivery::Sample;
use cellway_units::{Span, Time};

use crate::Position;

/// The window that a controller moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window (bytes). Fast recovery changes it for a time, unless the controller
    /// [sets it itself](Controller::sets_window).
    pub cwnd: u64,
    /// Slow-start threshold (bytes).
    pub ssthresh: u64,
    /// Segment size (bytes).
    pub mss: u64,
}

/// The outstanding data.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// The first position that is not acknowledged.
    pub una: Position,
    /// The next position to send.
    pub nxt: Position,
    /// The position behind the last that was ever sent.
    pub max: Position,
    /// The peer's window (bytes).
    pub peer_window: u64,
}

impl Flight {
    /// Returns the data sent and not acknowledged. RFC 5681 §2 (FlightSize) (bytes).
    pub fn size(self) -> u64 {
        self.nxt - self.una
    }
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// The data that it newly acknowledges (bytes).
    pub bytes: u64,
    /// The present time.
    pub now: Time,
    /// The round trip that it measures, if it does, as coarse as the clock of the endpoint.
    pub rtt: Option<Span>,
    /// The smoothed round trip.
    pub srtt: Option<Span>,
    /// The data that it reports as marked. The echo of RFC 3168 (ECE) counts for all that it acknowledges (bytes).
    pub marked: u64,
    /// It reports a mark.
    pub echoes_mark: bool,
}

/// The data that an acknowledgement of a connection with ECN reports, with and without marks.
#[derive(Clone, Copy, Debug)]
pub struct MarkReport {
    /// The present time.
    pub now: Time,
    /// Newly acknowledged; with AccECN selectively, too (bytes).
    pub delivered: u64,
    /// Newly reported as marked (bytes).
    pub marked: u64,
    /// Everything below is acknowledged.
    pub ack: Position,
    /// The data outstanding before it.
    pub flight: Flight,
    /// The smoothed round trip.
    pub srtt: Option<Span>,
}

/// The signal that reduces a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A segment was lost.
    Loss,
    /// The peer echoes a mark.
    Mark,
    /// A mark, to which the sender reacts less than to a loss. RFC 8511.
    MarkWithAbe,
}

/// The repair of a loss in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Fast recovery.
    Fast,
    /// After a retransmission timeout.
    Timeout,
}

/// The state of a connection after an acknowledgement, once the losses that it shows are known. Amounts are bytes of the
/// sequence space.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The present time.
    pub now: Time,
    /// Newly acknowledged, cumulatively or selectively.
    pub delivered: u64,
    /// Newly lost.
    pub lost: u64,
    /// Sent, and neither acknowledged nor lost.
    pub in_flight: u64,
    /// Delivered since the connection began.
    pub total_delivered: u64,
    /// The segment sent last among those that this acknowledgement reports.
    pub newest: Option<Newest>,
    /// The repair in progress.
    pub repair: Option<Repair>,
    /// The window was full at some time in the last round trip.
    pub window_limited: bool,
    /// The application has less to send than the sender may send.
    pub source_limited: bool,
}

/// The segment sent last among those that an acknowledgement reports. draft-ietf-ccwg-bbr, section "Delivery Rate
/// Samples".
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    /// The delivery rate while it was in flight; `None` if the sample is not reliable: over less than the least round
    /// trip.
    pub sample: Option<Sample>,
    /// The time since it was sent, if it was sent once.
    pub rtt: Option<Span>,
    /// Delivered since it was sent (bytes).
    pub delivered: u64,
    /// Delivered before it was sent (bytes).
    pub prior: u64,
    /// Lost since it was sent (bytes).
    pub lost: u64,
    /// In flight when it was sent, itself included (bytes).
    pub in_flight: u64,
    /// The application limited the sender when it was sent.
    pub limited: bool,
}

/// A segment that was lost.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// The present time.
    pub now: Time,
    /// Delivered since the connection began (bytes).
    pub total_delivered: u64,
    /// Its first position.
    pub start: Position,
    /// The position behind it.
    pub end: Position,
    /// Lost since it was sent, itself included (bytes).
    pub lost: u64,
    /// In flight when it was sent, itself included (bytes).
    pub in_flight: u64,
    /// The application limited the sender when it was sent.
    pub limited: bool,
}

/// A variable of the model of a controller, under its name in draft-ietf-ccwg-bbr. Rates in bit/s, volumes in bytes, times
/// in seconds, a truth as 0 or 1; a bound that is not set is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// The number of the [`BbrState`](super::BbrState).
    State,
    /// BBR.round_count.
    RoundCount,
    /// BBR.pacing_gain.
    PacingGain,
    /// BBR.cwnd_gain.
    CwndGain,
    /// C.pacing_rate.
    PacingRate,
    /// C.send_quantum.
    SendQuantum,
    /// C.cwnd.
    Cwnd,
    /// C.inflight.
    Inflight,
    /// RS.delivery_rate.
    DeliveryRate,
    /// RS.is_app_limited.
    IsAppLimited,
    /// BBR.max_bw.
    MaxBw,
    /// BBR.bw.
    Bw,
    /// BBR.bw_shortterm.
    BwShortterm,
    /// BBR.inflight_shortterm.
    InflightShortterm,
    /// BBR.inflight_longterm.
    InflightLongterm,
    /// InflightWithHeadroom().
    InflightWithHeadroom,
    /// Inflight(1.0).
    InflightTarget,
    /// BBR.bdp.
    Bdp,
    /// BBR.min_rtt.
    MinRtt,
    /// BBR.extra_acked.
    ExtraAcked,
    /// BBR.full_bw_count.
    FullBwCount,
    /// BBR.full_bw_now.
    FullBwNow,
    /// BBR.full_bw_reached.
    FullBwReached,
    /// BBR.bw_probe_wait.
    BwProbeWait,
    /// BBR.idle_restart.
    IdleRestart,
    /// The number of repairs that were not needed.
    Undone,
    /// BBR.undo_bw_shortterm.
    UndoBwShortterm,
    /// BBR.undo_inflight_shortterm.
    UndoInflightShortterm,
    /// BBR.undo_inflight_longterm.
    UndoInflightLongterm,
}

/// Moves the congestion window, and sets the pacing rate.
///
/// The methods without a default are enough for a controller of the kind of Reno: the endpoint counts losses, reduces the
/// window once per round trip, and spreads that over a recovery. One that models the path
/// [sets the window](Controller::sets_window) itself, after each [acknowledgement](Controller::acknowledged).
pub trait Controller: Debug + Send + Sync + BoxedClone {
    /// Grows the window at an acknowledgement of new data outside recovery; `flight` is the data still outstanding.
    fn grow(&mut self, window: &mut Window, acked: Acked, flight: Flight);
    /// Returns ssthresh (bytes) after a signal of congestion with `outstanding` bytes in the network, where the peer
    /// permits `peer_window` bytes.
    fn threshold(&self, window: Window, signal: Signal, outstanding: u64, peer_window: u64) -> u64;
    /// Records that the connection is established; the handshake has measured `srtt`, as coarse as the clock of the
    /// endpoint.
    fn started(&mut self, _window: &mut Window, _now: Time, _srtt: Option<Span>) {}
    /// Records that a loss or a mark reduces a window of `cwnd` bytes.
    fn reduced(&mut self, _cwnd: u64) {}
    /// Counts the marks of an acknowledgement, before it has another effect.
    fn counted(&mut self, _report: &MarkReport) {}
    /// Records that a mark reduces the window.
    fn marked(&mut self, _now: Time) {}
    /// Returns true if a mark does not reduce the window, although it is the first in a round trip.
    fn ignores_mark(&self, _now: Time) -> bool {
        false
    }
    /// Returns true if the window also grows at acknowledgements that report marks.
    fn grows_at_marks(&self) -> bool {
        false
    }
    /// Returns true if segments are paced whatever the configuration.
    fn paces(&self) -> bool {
        false
    }
    /// Records a timeout.
    fn timed_out(&mut self) {}
    /// Records that sending restarts after an idle time with a smaller window.
    fn restarted(&mut self) {}
    /// Records that the last reduction was not needed: nothing was lost. The window before it is restored.
    fn undone(&mut self) {}
    /// Returns the time that `payload` bytes take at the pacing rate.
    fn pacing_gap(&self, window: Window, payload: u64, srtt: Span) -> Span {
        window.pacing_gap(payload, srtt)
    }
    /// Returns the data that may be sent together (bytes), if more than a segment. The time until the next is paced by
    /// its length.
    fn quantum(&self) -> u64 {
        0
    }

    /// Returns true if this controller sets the window at all times, and the pacing rate. The endpoint then neither
    /// reduces the window nor spreads a reduction over a recovery; after a timeout the window is what is in flight and a
    /// segment. Such a controller needs the records of RACK.
    fn sets_window(&self) -> bool {
        false
    }
    /// Processes a segment that was lost, for a controller that sets the window. Called before [`acknowledged`](Controller::acknowledged).
    fn lost(&mut self, _window: &mut Window, _loss: &Loss) {}
    /// Processes an acknowledgement, also during recovery, after its losses.
    fn acknowledged(&mut self, _window: &mut Window, _ack: &Ack) {}
    /// Records that a repair begins, for a controller that sets the window. A timeout may come in a fast recovery; the
    /// window is cut after it, and after its losses.
    fn repairing(&mut self, _window: &mut Window, _repair: Repair) {}
    /// Records that a repair has ended.
    fn repaired(&mut self, _window: &mut Window) {}
    /// Records that a repair was not needed: nothing was lost. `total_delivered`: since the connection began (bytes). For a
    /// controller that sets the window.
    fn spurious(&mut self, _window: &mut Window, _total_delivered: u64) {}
    /// Records that data is about to be sent while none is in flight. `source_limited`: the application had none to
    /// send before.
    fn resumed(&mut self, _window: &mut Window, _now: Time, _source_limited: bool) {}
    /// Returns the least round trip of the model.
    fn min_rtt(&self) -> Option<Span> {
        None
    }
    /// Passes the variables of the model to `see`, as far as they are of interest to an observer.
    fn variables(&self, _window: &Window, _see: &mut dyn FnMut(Variable, f64)) {}
    /// Returns the reason for which this controller cannot go on; the driver ends the run then.
    fn failure(&self) -> Option<String> {
        None
    }
    /// Returns true while this controller sends less than the path carries on purpose, so that rates measured now do not
    /// count as the path's.
    fn holds_back(&self) -> bool {
        false
    }
}

/// Copies a controller behind a pointer; all that can be cloned have it.
pub trait BoxedClone {
    /// Returns a copy.
    fn boxed_clone(&self) -> Box<dyn Controller>;
}

impl<T: Controller + Clone + 'static> BoxedClone for T {
    fn boxed_clone(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Controller> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

/// The pacing rate is 200 % of window / round trip below half of the slow-start threshold, then 120 %. Linux,
/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio` (per cent).
const SLOW_START_PERCENT: u128 = 200;
const AVOIDANCE_PERCENT: u128 = 120;

impl Window {
    /// Returns the time that `payload` bytes take at the pacing rate of Linux: payload / (percent * cwnd / srtt).
    pub fn pacing_gap(self, payload: u64, srtt: Span) -> Span {
        let percent = if self.cwnd < self.ssthresh / 2 { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
        let gap = u128::from(payload) * u128::from(srtt.as_ps()) * 100 / (percent * u128::from(self.cwnd.max(1)));
        Span::from_ps(u64::try_from(gap).unwrap_or(u64::MAX))
    }
}
