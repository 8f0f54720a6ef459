//! RACK-TLP: loss detection by the time since a segment was sent, and probes for lost tails. RFC 8985. PRR (RFC 9937)
//! spreads the reduction of the window.
//!
//! After a timeout F-RTO (RFC 5682) checks if anything was lost.

use cellway_units::{Span, Time};

use super::frto::{self, Check, Outcome};
use super::prr::{Progress, Prr};
use super::reordering::Reordering;
use super::{AckKind, Context, DuplicateAcks, Reaction};
use crate::Position;
use crate::congestion::{Acked, Control, Flight, Repair, Timeout};
use crate::retransmission_queue::{Losses, RetransmissionQueue};
use crate::send::{Chunk, Sender};
use crate::undo::Duplicate;

/// The delay of an acknowledgement that a probe of a single segment allows for: TLP.max_ack_delay of RFC 8985 §7.2.
const MAX_ACK_DELAY: Span = Span::from_ms(200);
/// The time until a probe before a round trip is measured. RFC 8985 §7.2.
const FIRST_PROBE: Span = Span::from_secs(1);
/// A repair in progress, until all data outstanding at its start are acknowledged.
#[derive(Clone, Copy, Debug)]
enum Episode {
    Fast(Prr),
    /// After a retransmission timeout.
    Timeout(Check),
}

/// A loss probe with an unknown outcome.
#[derive(Clone, Copy, Debug)]
struct Probe {
    start: Position,
    /// TLP.end_seq.
    end: Position,
    /// TLP.is_retrans.
    resent: bool,
}

impl Probe {
    /// Returns true if `duplicate` reports this probe.
    fn matches(self, duplicate: Duplicate) -> bool {
        self.resent && duplicate.end == self.end
    }
}

/// The purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    /// More may be lost once the reordering window has passed.
    Reordering(Time),
    /// A probe is due (PTO).
    Probe(Time),
}

/// The state of RACK-TLP.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Used only for its threshold and the setting of limited transmit.
    duplicates: DuplicateAcks,
    mss: u64,
    /// The time by which the timers fire late. Linux, `TCP_TIMEOUT_MIN_US`.
    margin: Span,
    /// RACK.xmit_ts and RACK.end_seq: of the segment sent last among those delivered.
    newest: Option<(Time, Position)>,
    /// RACK.rtt: the round trip of that segment.
    rtt: Span,
    /// RACK.fack: the position behind the highest byte delivered.
    highest: Position,
    reordering: Reordering,
    episode: Option<Episode>,
    recovery_point: Position,
    probe: Option<Probe>,
    /// A round trip has been measured since the last probe.
    measured: bool,
    timer: Option<Timer>,
    /// New data was sent, or data acknowledged, since the time of the probe was computed.
    moved: bool,
}

impl Rack {
    pub(super) fn new(duplicates: DuplicateAcks, mss: u64, margin: Span) -> Rack {
        Rack {
            duplicates,
            mss,
            margin,
            newest: None,
            rtt: Span::ZERO,
            highest: 0,
            reordering: Reordering::default(),
            episode: None,
            recovery_point: 0,
            probe: None,
            measured: true,
            timer: None,
            moved: false,
        }
    }

    /// Takes an acknowledgement of new data.
    pub(super) fn acked(&mut self, control: &mut Control, acked: Acked, flight: Flight) -> Reaction {
        self.measured |= acked.rtt.is_some();
        self.moved = true;
        // After a timeout the window grows again by slow start.
        if !self.in_recovery() {
            control.grow(acked, flight);
        }
        Reaction::Continue
    }
    /// Finishes an acknowledgement after the queue has marked the segments that it reports as delivered. RFC 8985
    /// §6.2.
    pub(super) fn delivered(
        &mut self,
        control: &mut Control,
        context: Context,
        queue: &mut RetransmissionQueue,
        ack: AckKind,
    ) -> Reaction {
        self.learn(&context, queue);
        if self.was_timeout_spurious(control, queue, ack) {
            return Reaction::Undo;
        }
        let ended = self.repair().filter(|_| context.flight.una >= self.recovery_point);
        if let Some(repair) = ended {
            control.repaired(repair);
            self.episode = None;
        }
        self.adapt_reordering_window(&context, ended.is_some());
        let repaired = self.judge_probe(&context, ack);
        let reaction = self.detect(control, &context, queue, ack == AckKind::Advance);
        if repaired && self.episode.is_none() {
            // RFC 8985 §7.4.2: the probe has repaired a loss that no one else has noticed.
            control.repairing(Repair::Fast);
            control.reduce(context.flight, queue.before_ack());
            control.repaired(Repair::Fast);
            return Reaction::Reduced;
        }
        reaction
    }
    /// Updates the newest segment delivered, and detects reordering. RFC 8985 §6.2, steps 2 and 3.
    fn learn(&mut self, context: &Context, queue: &RetransmissionQueue) {
        // Segments that one acknowledgement reports arrived in an unknown order: they are compared with earlier reports.
        let highest = self.highest;
        for s in queue.arrived() {
            let rtt = context.now.since(s.sent);
            // The acknowledgement of an earlier transmission is no information about the last. The echo is that of a
            // segment at the left edge (RFC 7323 §4.3): for one that is reported above a hole it is too old.
            let echoed_before = s.end <= context.flight.una && context.echo.is_some_and(|echo| echo <= s.sent);
            let ambiguous = s.retransmitted && (echoed_before || queue.min_rtt().is_some_and(|least| rtt < least));
            let sent = Some((s.sent, s.end));
            if !ambiguous && sent > self.newest {
                (self.newest, self.rtt) = (sent, rtt);
            }
            self.highest = self.highest.max(s.end);
            self.reordering.seen |= s.end < highest && !s.retransmitted;
        }
    }
    /// Adapts the reordering window; `ended`: a recovery has ended. As in Linux (`FLAG_DSACK_TLP`), the duplicate of a loss
    /// probe does not count: reordering has not caused it.
    fn adapt_reordering_window(&mut self, context: &Context, ended: bool) {
        let of_probe = |duplicate| self.probe.is_some_and(|probe| probe.matches(duplicate));
        let duplicate = context.duplicate.is_some_and(|duplicate| !of_probe(duplicate));
        self.reordering.adapt(context.flight, duplicate, ended);
    }
    /// Returns true if F-RTO finds that nothing was lost. RFC 5682 §3.
    fn was_timeout_spurious(&mut self, control: &mut Control, queue: &RetransmissionQueue, ack: AckKind) -> bool {
        let Some(Episode::Timeout(check)) = &mut self.episode else { return false };
        match check.acked(queue.arrived(), ack, self.recovery_point) {
            Outcome::Spurious => return true,
            Outcome::Loss if !control.sets_window() => {
                control.window.cwnd = control.window.cwnd.min(frto::WINDOW_AFTER_LOSS * control.window.mss);
            }
            Outcome::Loss | Outcome::Unknown => {}
        }
        false
    }
    /// Returns the time that a segment may be late (RACK.reo_wnd). RFC 8985 §6.2, step 4.
    fn reordering_window(&self, context: &Context, queue: &RetransmissionQueue) -> Span {
        if !self.reordering.seen && (self.episode.is_some() || queue.sacked_segments() >= self.duplicates.threshold) {
            return Span::ZERO;
        }
        self.reordering.window(queue.min_rtt().unwrap_or_default()).min(self.round_trip(context))
    }
    /// Returns the smoothed round trip; on a coarse clock, at least the last one.
    fn round_trip(&self, context: &Context) -> Span {
        context.srtt.unwrap_or_default().max(self.rtt)
    }
    /// RFC 8985 §6.2, step 5: finds losses, and the bounds of the window.
    fn detect(
        &mut self,
        control: &mut Control,
        context: &Context,
        queue: &mut RetransmissionQueue,
        advanced: bool,
    ) -> Reaction {
        let Some(newest) = self.newest else { return Reaction::Continue };
        let patience = self.rtt + self.reordering_window(context, queue);
        let Losses { bytes, remaining } = queue.mark_lost(newest, patience, context.now);
        let reordering = remaining.map(|remaining| Timer::Reordering(context.now + remaining + self.margin));
        self.timer = reordering.or(self.probe_timer());
        let mut reaction = Reaction::Continue;
        if bytes > 0 && self.episode.is_none() {
            self.recovery_point = context.flight.max;
            control.reduce(context.flight, context.flight.size());
            control.repairing(Repair::Fast);
            self.episode = Some(Episode::Fast(Prr::new(queue.before_ack())));
            reaction = Reaction::Repair;
        }
        control.lost(queue.lost());
        if let Some(Episode::Fast(prr)) = &mut self.episode
            && !control.sets_window()
            && (queue.arrived_bytes() > 0 || reaction == Reaction::Repair)
        {
            let in_network = queue.in_network();
            let progress = Progress { delivered: queue.arrived_bytes(), in_network, safe: advanced && bytes == 0 };
            let count = prr.acked(progress, control.window.ssthresh, control.window.mss);
            control.window.cwnd = (in_network + count).max(control.window.mss);
        }
        reaction
    }
    /// Determines the outcome of a probe; returns true if it has repaired a loss. RFC 8985 §7.4.2. The peer reports a probe
    /// that was not needed as a duplicate, or without D-SACK acknowledges nothing new.
    fn judge_probe(&mut self, context: &Context, ack: AckKind) -> bool {
        let una = context.flight.una;
        let Some(probe) = self.probe.filter(|probe| una >= probe.end) else { return false };
        let matched = context.duplicate.is_some_and(|duplicate| probe.matches(duplicate));
        let repaired = probe.resent && !matched && una > probe.end;
        if !probe.resent || matched || repaired || ack == AckKind::Duplicate {
            self.probe = None;
        }
        repaired
    }

    /// Processes the expiry of the retransmission timer. RFC 8985 §6.3.
    pub(super) fn timed_out(
        &mut self,
        control: &mut Control,
        context: Context,
        queue: &mut RetransmissionQueue,
        again: bool,
    ) {
        let timeout = Timeout::new(again, self.in_recovery());
        let patience = self.rtt + self.reordering_window(&context, queue);
        let before = Time::from_ps(context.now.as_ps().saturating_sub(patience.as_ps()));
        queue.mark_lost_on_timeout(before, context.now);
        let repairing = again || self.episode.is_some();
        self.episode = Some(Episode::Timeout(Check::new(repairing)));
        self.recovery_point = context.flight.max;
        (self.probe, self.timer) = (None, None);
        control.collapse(context.flight, timeout, queue.lost());
        // Data that may still arrive do not prevent a retransmission of the first segment; as in Linux,
        // tcp_enter_loss().
        control.window.cwnd += queue.in_network();
    }

    /// Returns the next segment: lost data, then new data, as long as the window has room for it.
    pub(super) fn next(
        &mut self,
        control: &Control,
        sender: &Sender,
        queue: &mut RetransmissionQueue,
    ) -> Option<Chunk> {
        let in_network = queue.in_network();
        // Data that have left the network make room.
        let room = control.window.cwnd + (sender.nxt - sender.una).saturating_sub(in_network);
        if let Some(Episode::Timeout(check)) = &mut self.episode
            && let Some(new) = check.next(|| sender.next(room, None))
        {
            return new;
        }
        if let Some((start, end)) = queue.first_lost() {
            return sender.sent(start, end).filter(|chunk| in_network + chunk.len <= control.window.cwnd);
        }
        if !self.duplicates.limited_transmit_enabled() && self.episode.is_none() && queue.sacked_segments() > 0 {
            return None;
        }
        sender.next(room, None)
    }
    /// Counts a segment sent; `new` is true if it was not sent before.
    pub(super) fn sent(&mut self, bytes: u64, new: bool) {
        self.moved |= new;
        match &mut self.episode {
            Some(Episode::Fast(prr)) => prr.sent(bytes),
            Some(Episode::Timeout(check)) if new => check.sent_new(),
            _ => {}
        }
    }
    /// Returns the data that a probe of unknown outcome has retransmitted.
    pub(super) fn probed(&self) -> Option<(Position, Position)> {
        self.probe.filter(|probe| probe.resent).map(|probe| (probe.start, probe.end))
    }
    /// Ends an episode in which nothing was lost. If that was a fast recovery, segments were reordered.
    pub(super) fn undone(&mut self, began_with: Option<Repair>, queue: &mut RetransmissionQueue) {
        self.reordering.seen |= began_with == Some(Repair::Fast);
        self.episode = None;
        queue.find_lost();
    }
    pub(super) fn in_recovery(&self) -> bool {
        matches!(self.episode, Some(Episode::Fast(_)))
    }
    /// Returns the repair in progress.
    pub(super) fn repair(&self) -> Option<Repair> {
        self.episode.as_ref().map(|episode| match episode {
            Episode::Fast(_) => Repair::Fast,
            Episode::Timeout(_) => Repair::Timeout,
        })
    }

    fn probe_timer(&self) -> Option<Timer> {
        self.timer.filter(|timer| matches!(timer, Timer::Probe(_)))
    }
    /// Returns the time at which [`expired`](Rack::expired) must be called. To be called once all that may be sent has
    /// been sent. RFC 8985 §7.2: a probe is due after two round trips (1 s before any measurement), later by the delay
    /// of an acknowledgement if only one segment is in the network, and not after the retransmission timeout. None is
    /// due while a loss is repaired or SACK blocks report one.
    pub(super) fn deadline(&mut self, context: &Context, queue: &RetransmissionQueue) -> Option<Time> {
        if let Some(Timer::Reordering(at)) = self.timer {
            return Some(context.timeout_at.map_or(at, |timeout| timeout.min(at)));
        }
        let probes = self.episode.is_none() && queue.sacked_segments() == 0 && self.probe.is_none();
        if !probes || queue.in_network() == 0 {
            self.timer = None;
        } else if std::mem::take(&mut self.moved) {
            // A coarse clock measures no time at all in the handshake.
            let round_trip = Some(self.round_trip(context)).filter(|rtt| !rtt.is_zero());
            let mut after = round_trip.map_or(FIRST_PROBE, |rtt| rtt * 2);
            after += if queue.in_network() <= self.mss { MAX_ACK_DELAY } else { self.margin };
            let at = context.now + after;
            self.timer = Some(Timer::Probe(context.timeout_at.map_or(at, |timeout| timeout.min(at))));
        }
        self.timer.map(|timer| match timer {
            Timer::Reordering(at) | Timer::Probe(at) => at,
        })
    }
    /// Processes the expiry of the timer: finds losses, or returns a probe to send. RFC 8985 §7.3: new data if the
    /// peer's window allows, else the last segment.
    pub(super) fn expired(
        &mut self,
        control: &mut Control,
        context: Context,
        sender: &Sender,
        queue: &mut RetransmissionQueue,
    ) -> (Reaction, Option<Chunk>) {
        if let Some(Timer::Reordering(_)) = self.timer.take() {
            queue.begin_ack();
            return (self.detect(control, &context, queue, false), None);
        }
        if !std::mem::take(&mut self.measured) {
            return (Reaction::Continue, None);
        }
        let new = sender.next(u64::MAX, None);
        let again = || queue.last().and_then(|(start, end)| sender.sent(start, end));
        let chunk = new.or_else(again);
        self.probe =
            chunk.map(|chunk| Probe { start: chunk.from, end: sender.max.max(chunk.end()), resent: new.is_none() });
        (Reaction::Continue, chunk)
    }
}
