//! One end of one connection: ties sending, receiving, recovery and timers together.

mod acknowledge;
mod arrive;
mod ecn;
mod handshake;
mod transmit;
mod undo;
mod wake;

use std::sync::Arc;

use cellway_delivery::Sample;
use cellway_units::{Span, Time};

use crate::congestion::{Agreed, Control, Controller, Variable};
use crate::ecn::EcnState;
use crate::output::{Event, Output};
use crate::pacer::Pacer;
use crate::receive::Receiver;
use crate::recovery::Recovery;
use crate::retransmission_queue::RetransmissionQueue;
use crate::rto::Rto;
use crate::send::Sender;
use crate::stats::Counts;
use crate::timers::Timers;
use crate::timestamps::TimestampClock;
use crate::undo::Reduction;
use crate::{AccEcnCounts, Config, Options, Problem, Segment, SeqNum, State, Stats, TimerKind, Timestamps};

/// One end of one TCP connection, without I/O.
///
/// The calls fall into two groups. *Handle*: [`connect`](Endpoint::connect),
/// [`write`](Endpoint::write), [`shutdown`](Endpoint::shutdown), [`abort`](Endpoint::abort),
/// [`consume`](Endpoint::consume), [`receive`](Endpoint::receive) and [`wake`](Endpoint::wake) take
/// the present time, which must never go back, and append to an [`Output`]. *Get*: all others; among
/// them [`deadline`](Endpoint::deadline), which may change at any handled call.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Shared, because most endpoints of a network have the same configuration.
    config: Arc<Config>,
    state: State,
    /// True if it began in LISTEN.
    passive: bool,
    iss: SeqNum,
    sender: Sender,
    receiver: Receiver,
    control: Control,
    recovery: Recovery,
    /// Kept only if an option needs it: it takes memory for each segment.
    queue: Option<Box<RetransmissionQueue>>,
    /// The last reduction of the window for a loss, while it can be undone. Only with selective acknowledgements.
    undo: Option<Box<Reduction>>,
    rto: Rto,
    timestamps: TimestampClock,
    pacer: Pacer,
    timers: Timers,
    /// Shift of the peer's windows.
    peer_shift: u8,
    /// True if both SYNs permitted selective acknowledgements.
    sack: bool,
    /// Present if both SYNs have agreed to ECN. Boxed: most connections do without.
    ecn: Option<Box<EcnState>>,
    /// Times in a row that the timer fired for the same data.
    timeouts_in_a_row: u32,
    /// Window probes sent since the window closed.
    probes: u32,
    /// Window probes sent since the last segment of the peer.
    probes_unanswered: u32,
    /// A SYN had to be sent again.
    syn_lost: bool,
    /// When data or a FIN was last sent.
    last_sent: Time,
    /// The last instant in which all data that may be sent was sent; `Time::MAX` before the first.
    transmitted: Time,
    stats: Counts,
}

/// Making and handling.
impl Endpoint {
    /// Creates an endpoint that will [`connect`](Endpoint::connect), with `iss` as its initial sequence number.
    ///
    /// `config` is used as it is: check it with [`Config::validate`] first.
    pub fn active(config: impl Into<Arc<Config>>, iss: u32) -> Endpoint {
        Endpoint::new(config.into(), iss, State::Closed)
    }
    /// Creates an endpoint that listens for one peer, with `iss` as its initial sequence number.
    ///
    /// `config` is used as it is: check it with [`Config::validate`] first.
    pub fn passive(config: impl Into<Arc<Config>>, iss: u32) -> Endpoint {
        Endpoint::new(config.into(), iss, State::Listen)
    }
    /// Creates an endpoint like [`active`](Endpoint::active) and [`passive`](Endpoint::passive), with the check.
    pub fn checked(config: Config, iss: u32, passive: bool) -> Result<Endpoint, Problem> {
        config.validate()?;
        Ok(if passive { Endpoint::passive(config, iss) } else { Endpoint::active(config, iss) })
    }

    fn new(config: Arc<Config>, iss: u32, state: State) -> Endpoint {
        let mss = config.tcp.mss.0;
        Endpoint {
            state,
            passive: state == State::Listen,
            iss: SeqNum(iss),
            sender: Sender::new(mss, config.tcp.send_buffer.0, config.tcp.nagle),
            receiver: Receiver::new(&config),
            control: Control::new(&config, mss, u64::from(config.tcp.initial_window), iss, Agreed::default()),
            recovery: Recovery::new(&config, mss, false),
            queue: None,
            undo: None,
            rto: Rto::new(config.clone()),
            timestamps: TimestampClock::new(config.tcp.timer_granularity, iss),
            pacer: Pacer::default(),
            timers: Timers::default(),
            peer_shift: 0,
            sack: false,
            ecn: None,
            timeouts_in_a_row: 0,
            probes: 0,
            probes_unanswered: 0,
            syn_lost: false,
            last_sent: Time::ZERO,
            transmitted: Time::MAX,
            stats: Counts::default(),
            config,
        }
    }

    /// Replaces the congestion control of the configuration. To be called before the connection is established. One that
    /// [sets the window](Controller::sets_window) needs [`LossRecovery::Rack`](crate::LossRecovery::Rack).
    pub fn set_controller(&mut self, own: Box<dyn Controller>) {
        self.control.own(own);
    }

    /// Opens the connection. RFC 9293 §3.10.1. Does nothing unless the endpoint is active and unused.
    pub fn connect(&mut self, now: Time, out: &mut Output) {
        if self.state == State::Closed && !self.passive && self.sender.max == 0 {
            self.state = State::SynSent;
            self.send_syn(now, out);
        }
    }
    /// Queues up to `bytes` of payload and returns the number accepted. The rest must be offered again after
    /// [`Event::Writable`]. Before the handshake is complete bytes wait; after this side is shut down or the connection
    /// has ended, none are accepted.
    pub fn write(&mut self, now: Time, bytes: u64, out: &mut Output) -> u64 {
        if !self.state.may_write() || self.sender.is_finished() {
            return 0;
        }
        let has_sent_all = self.has_sent_all(now);
        let accepted = self.sender.write(bytes);
        if !has_sent_all {
            self.transmit(now, out);
        }
        accepted
    }
    /// Closes this side: a FIN follows the queued bytes. RFC 9293 §3.10.4. The peer may continue to send.
    pub fn shutdown(&mut self, now: Time, out: &mut Output) {
        if self.sender.is_finished() {
            return;
        }
        match self.state {
            State::Listen => self.state = State::Closed,
            // Bytes written before the handshake are still delivered, then the FIN.
            State::SynSent | State::SynReceived => self.sender.finish(),
            State::Established => self.finish(State::FinWait1, now, out),
            State::CloseWait => self.finish(State::LastAck, now, out),
            _ => {}
        }
    }
    fn finish(&mut self, next: State, now: Time, out: &mut Output) {
        self.sender.finish();
        self.state = next;
        self.transmit(now, out);
    }
    /// Drops the connection at once, with a reset to the peer. RFC 9293 §3.10.5. Reports no event.
    pub fn abort(&mut self, now: Time, out: &mut Output) {
        if matches!(self.state, State::SynReceived) || self.state.is_synchronised() && self.state != State::TimeWait {
            self.send_reset(now, out);
        }
        self.close();
    }
    /// Reads up to `bytes` of the [`readable`](Endpoint::readable) ones. As in BSD a window update is sent once that
    /// opens the window by two segments or half the buffer, in a segment that acknowledges everything that has arrived.
    /// Without effect if the configuration reads everything at once.
    pub fn consume(&mut self, now: Time, bytes: u64, out: &mut Output) {
        if self.receiver.consume(bytes) > 0 && self.state.may_receive() && self.receiver.wants_update() {
            self.send_ack(now, out);
        }
    }
    /// A segment arrived from the peer. RFC 9293 §3.10.7.
    pub fn receive(&mut self, now: Time, segment: &Segment, out: &mut Output) {
        self.stats.segments_received += 1;
        match self.state {
            State::Closed => self.refuse(segment, out),
            State::Listen => self.arrive_in_listen(now, segment, out),
            State::SynSent => self.arrive_in_syn_sent(now, segment, out),
            _ => self.arrive(now, segment, out),
        }
    }
    /// Processes the timers that are due at `now`. Called early, it does nothing.
    pub fn wake(&mut self, now: Time, out: &mut Output) {
        while let Some(kind) = self.timers.take_due(now) {
            self.fire(kind, now, out);
        }
    }

    /// Closes the connection: no more segments will be sent without a call.
    fn close(&mut self) {
        self.state = State::Closed;
        self.timers.cancel_all();
    }
}

/// Getting.
impl Endpoint {
    /// Returns the time at which [`wake`](Endpoint::wake) must be called if no other call precedes it, and its timer.
    #[inline]
    pub fn deadline(&self) -> Option<(Time, TimerKind)> {
        self.timers.earliest()
    }
    /// Returns the state of the connection.
    pub fn state(&self) -> State {
        self.state
    }
    /// Returns the congestion window, with the temporary additions of recovery (bytes).
    pub fn congestion_window(&self) -> u64 {
        self.control.window.cwnd
    }
    /// Returns the smaller of the congestion window and the peer's window (bytes).
    pub fn send_window(&self) -> u64 {
        self.control.window.cwnd.min(self.sender.window)
    }
    /// Returns the window that the peer last announced (bytes).
    pub fn peer_window(&self) -> u64 {
        self.sender.window
    }
    /// Returns the slow-start threshold (bytes).
    pub fn ssthresh(&self) -> u64 {
        self.control.window.ssthresh
    }
    /// Returns the data sent and not acknowledged; after a step back to the first unacknowledged byte, the data sent
    /// since (bytes). SYN and FIN count as one each.
    pub fn in_flight(&self) -> u64 {
        self.sender.flight().size()
    }
    /// Returns true during fast recovery.
    pub fn in_recovery(&self) -> bool {
        self.recovery.in_recovery()
    }
    /// Returns the smoothed round-trip time, as coarse as the clock; `None` before the first measurement.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.rto.smoothed()
    }
    /// Returns the least round-trip time that the sender keeps: that of the model of a congestion controller, else that of
    /// the records of the segments in flight; `None` without either.
    pub fn min_rtt(&self) -> Option<Span> {
        self.control.min_rtt().or_else(|| self.queue.as_ref()?.min_rtt())
    }
    /// Returns the rate at which full segments are paced now (bit/s of payload); `None` if they are not.
    pub fn pacing_rate(&self) -> Option<u64> {
        let timestamps = self.timestamps.agreed.then(Timestamps::default);
        let header =
            Segment { options: Options { timestamps, ..Options::default() }, ..Segment::default() }.header_len();
        self.pacer.rate((self.sender.mss, header), &self.config, &self.control, self.rto.smoothed())
    }
    /// Returns the reason for which the congestion controller cannot go on, if it has failed.
    pub fn controller_failure(&self) -> Option<String> {
        self.control.failure()
    }
    /// Passes the variables of the model of a congestion controller to `see`; none of one without a model.
    pub fn variables(&self, mut see: impl FnMut(Variable, f64)) {
        self.control.variables(&mut see);
    }
    /// Returns the latest sample of the delivery rate, in bits of payload; `None` before the first, and unless
    /// [`Config::delivery_rate`] or RACK is on. draft-ietf-ccwg-bbr, section "Delivery Rate Samples".
    pub fn delivery_rate(&self) -> Option<Sample> {
        self.queue.as_ref()?.sample()
    }
    /// Returns true if both ends have agreed to ECN. RFC 3168 §6.1.1.
    pub fn uses_ecn(&self) -> bool {
        self.ecn.is_some()
    }
    /// Returns the AccECN counters of what arrived here and, as far as the peer has reported, there; `None` unless both
    /// ends have agreed to it. RFC 9768 §3.2.
    pub fn acc_ecn(&self) -> Option<[AccEcnCounts; 2]> {
        self.ecn.as_ref()?.counts()
    }
    /// Returns the retransmission timeout, with its present backoff.
    pub fn retransmission_timeout(&self) -> Span {
        self.rto.current()
    }
    /// Bytes received in order and not yet consumed (bytes).
    pub fn readable(&self) -> u64 {
        self.receiver.unread
    }
    /// Returns the number of bytes that [`write`](Endpoint::write) would accept.
    pub fn writable(&self) -> u64 {
        if self.state.may_write() && !self.sender.is_finished() { self.sender.room() } else { 0 }
    }
    /// Returns true if further data changes nothing but the queue: a full segment waits, so that everything that may be sent
    /// in this instant has been sent.
    #[inline]
    pub fn has_sent_all(&self, now: Time) -> bool {
        self.sender.waiting() >= self.sender.mss && self.transmitted == now
    }
    /// Returns the window announced to the peer and not yet used (bytes).
    pub fn receive_window(&self) -> u64 {
        self.receiver.window()
    }
    /// Returns the payload of a full segment, as agreed with the peer (bytes).
    pub fn mss(&self) -> u64 {
        self.sender.mss
    }
    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        self.stats.stats()
    }
    /// Returns the counters without those of segments and bytes sent, acknowledged and received; `None`, the usual case,
    /// if all of them are zero.
    #[inline]
    pub fn rare_stats(&self) -> Option<&Stats> {
        self.stats.rare_if_any()
    }
}

/// Appends `event` to `out`.
fn tell(out: &mut Output, event: Event) {
    out.events.push(event);
}
