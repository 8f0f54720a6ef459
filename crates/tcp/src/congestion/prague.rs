//! TCP Prague: a window for queues that mark early and often (L4S). draft-briscoe-iccrg-prague-congestion-control, with
//! the values of Linux, `tcp_prague.c`, version 0.7.
//!
//! Like DCTCP it reduces the window by the share of marked data. Unlike DCTCP it goes on growing with the data that is not
//! marked, it grows with short round trips as slowly as with [`VIRTUAL_RTT`], and it paces.

use cellway_units::{Span, Time};

use super::full_window::FullWindow;
use super::marked_share::MarkedShare;
use super::{Acked, Controller, Flight, MarkReport, Signal, Window, part};
use crate::Position;

/// The least round trip whose growth and rounds a sender has, however short its own is. `prague_rtt_target`.
const VIRTUAL_RTT: Span = Span::from_ms(25);
/// The rounds after slow start in which it still has those of its own round trip. `prague_rtt_transition`.
const TRANSITION: u32 = 4;
/// The clock of timestamps may measure shorter round trips as none, with which the window would not grow.
const LEAST_RTT: Span = Span::from_ms(1);
/// The part of the outstanding data that is kept at a loss, and of the window at the first mark.
const HALF: (u64, u64) = (1, 2);

/// The state of Prague.
#[derive(Clone, Debug)]
pub(super) struct Prague {
    share: MarkedShare,
    /// The round ends when all below is acknowledged, and when the virtual round trip is over.
    round_end: Position,
    round_began: Time,
    /// Rounds since slow start.
    rounds: u32,
    /// There is a queue on the path that marks: the window was reduced for a mark.
    saw_mark: bool,
    /// The time of that reduction.
    reduced_at: Time,
    /// Remainder of the growth.
    carry: u128,
    full: FullWindow,
}

impl Prague {
    pub(super) fn new() -> Prague {
        Prague {
            share: MarkedShare::NONE,
            round_end: 0,
            round_began: Time::ZERO,
            rounds: 0,
            saw_mark: false,
            reduced_at: Time::ZERO,
            carry: 0,
            full: FullWindow::default(),
        }
    }
    /// Returns true once short round trips have the effect of long ones.
    fn is_virtual(&self) -> bool {
        self.rounds >= TRANSITION
    }
    /// Returns the round trip that counts for the growth and the rounds.
    fn round_trip(&self, srtt: Span) -> Span {
        if self.is_virtual() { srtt.max(VIRTUAL_RTT) } else { srtt }
    }
    /// Returns the growth in congestion avoidance for `bytes` without a mark: a segment in a round trip, as a part of the
    /// window, less by the square of the ratio of the round trips (bytes).
    fn increase(&mut self, window: Window, bytes: u64, srtt: Option<Span>) -> u64 {
        let micros = |span: Span| u128::from(span.as_ps() / 1_000_000);
        let (num, den) = match srtt.map(|srtt| srtt.max(LEAST_RTT)) {
            Some(srtt) => (micros(srtt).pow(2), micros(self.round_trip(srtt)).pow(2)),
            None => (1, 1),
        };
        let divisor = den * u128::from(window.cwnd);
        let grown = num * u128::from(bytes) * u128::from(window.mss) + self.carry.min(divisor);
        self.carry = grown % divisor;
        u64::try_from(grown / divisor).unwrap_or(u64::MAX).min(bytes)
    }
}

impl Controller for Prague {
    fn grow(&mut self, window: &mut Window, acked: Acked, flight: Flight) {
        let Window { cwnd, ssthresh, mss } = *window;
        let bytes = acked.bytes.saturating_sub(acked.marked);
        if !self.full.acked((cwnd, mss), &acked, flight) {
            return;
        }
        window.cwnd += if cwnd < ssthresh { bytes } else { self.increase(*window, bytes, acked.srtt) };
    }
    fn threshold(&self, window: Window, signal: Signal, outstanding: u64, _peer_window: u64) -> u64 {
        match signal {
            Signal::Loss => part(outstanding, HALF, window.mss),
            // At the first mark there is no average yet.
            _ if !self.saw_mark => part(window.cwnd, HALF, window.mss),
            _ => self.share.reduce(window.cwnd).max(2 * window.mss),
        }
    }
    fn counted(&mut self, report: &MarkReport) {
        self.share.count(report.delivered, report.marked);
        let trip = report.srtt.map_or(Span::ZERO, |srtt| self.round_trip(srtt));
        // Of the virtual round trip only the part beyond the own one is waited for by the clock.
        let is_over = !self.is_virtual() || report.now.since(self.round_began) >= trip.min(VIRTUAL_RTT);
        if report.ack < self.round_end || !is_over {
            return;
        }
        if self.saw_mark {
            self.share.end_round();
            self.rounds = self.rounds.saturating_add(1);
        } else {
            self.share.discard_round();
        }
        (self.round_end, self.round_began) = (report.flight.nxt, report.now);
    }
    fn marked(&mut self, now: Time) {
        (self.saw_mark, self.reduced_at) = (true, now);
    }
    fn ignores_mark(&self, now: Time) -> bool {
        self.is_virtual() && now.since(self.reduced_at) < VIRTUAL_RTT
    }
    fn grows_at_marks(&self) -> bool {
        true
    }
    fn paces(&self) -> bool {
        true
    }
    /// The rate is that of the window, and twice that in slow start.
    fn pacing_gap(&self, window: Window, payload: u64, srtt: Span) -> Span {
        let factor = if window.cwnd < window.ssthresh / 2 { 2 } else { 1 };
        let gap = u128::from(payload) * u128::from(srtt.as_ps()) / (factor * u128::from(window.cwnd.max(1)));
        Span::from_ps(u64::try_from(gap).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }
    fn avoiding(cwnd: u64) -> Window {
        Window { cwnd, ssthresh: cwnd / 2, mss: MSS }
    }
    /// Acknowledges `window.cwnd` bytes in segments, `marked` of each 1000 bytes with a mark.
    fn round(prague: &mut Prague, window: &mut Window, rtt: u64, marked: u64) {
        let whole = window.cwnd;
        let srtt = Some(Span::from_ms(rtt));
        for una in 1..=whole / MSS {
            let flight = Flight { una: una * MSS, nxt: una * MSS + whole, max: una * MSS + whole, peer_window: whole };
            let acked = Acked { bytes: MSS, now: at(0), rtt: srtt, srtt, marked, echoes_mark: marked > 0 };
            prague.grow(window, acked, flight);
        }
    }
    fn report(prague: &mut Prague, ms: u64, ack: u64, marked: u64) {
        let flight = Flight { una: ack - 10_000, nxt: ack, max: ack, peer_window: 100_000 };
        let srtt = Some(Span::from_ms(5));
        prague.counted(&MarkReport { now: at(ms), delivered: 10_000, marked, ack, flight, srtt });
    }

    /// A segment in a round trip of 25 ms or more; over a shorter one the square of the ratio less, so that after a second
    /// the windows of all have grown at the same rate in bytes a second. Marked data does not count.
    #[test]
    fn short_round_trips_grow_as_slowly_as_long_ones() {
        for (rounds, rtt, marked, expected) in [
            (0, 5, 0, 1000.0),
            (TRANSITION, 5, 0, 1000.0 / 25.0),
            (TRANSITION, 10, 0, 1000.0 * 0.16),
            (TRANSITION, 25, 0, 1000.0),
            (TRANSITION, 80, 0, 1000.0),
            (TRANSITION, 25, 400, 600.0),
            (TRANSITION, 25, 1000, 0.0),
        ] {
            let mut prague = Prague { rounds, ..Prague::new() };
            let mut window = avoiding(100_000);
            round(&mut prague, &mut window, rtt, marked);
            let grown = (window.cwnd - 100_000) as f64;
            // The window, by which it is divided, grows by 1 % meanwhile.
            assert!((expected * 0.99 - 1.0..=expected).contains(&grown), "{rtt} ms, {marked}: {grown}");
        }
    }

    #[test]
    fn slow_start_grows_by_the_data_without_marks() {
        let mut window = Window { cwnd: 10_000, ssthresh: 1_000_000, mss: MSS };
        round(&mut Prague::new(), &mut window, 5, 250);
        assert_eq!(window.cwnd, 17_500);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let (mut prague, mut window) = (Prague::new(), avoiding(100_000));
        let flight = Flight { una: 5000, nxt: 20_000, max: 20_000, peer_window: 100_000 };
        let acked = Acked { bytes: MSS, now: at(0), rtt: None, srtt: None, marked: 0, echoes_mark: false };
        prague.grow(&mut window, acked, flight);
        assert_eq!(window.cwnd, 100_000);
    }

    /// The first mark halves the window, as there is no average yet; later ones reduce it by half of that, and a loss
    /// halves what is outstanding.
    #[test]
    fn marks_reduce_the_window_by_half_of_their_share() {
        let mut prague = Prague::new();
        let window = avoiding(100_000);
        assert_eq!(prague.threshold(window, Signal::Mark, 80_000, 0), 50_000);
        prague.marked(at(0));
        report(&mut prague, 0, 20_000, 10_000);
        assert_eq!(prague.share.average(), 1.0 / 16.0);
        assert_eq!(prague.threshold(window, Signal::Mark, 80_000, 0), 96_875);
        assert_eq!(prague.threshold(window, Signal::Loss, 80_000, 0), 40_000);
        assert_eq!(prague.threshold(avoiding(2000), Signal::Mark, 2000, 0), 2000, "two segments remain");
    }

    /// Before the first mark no round counts; then each of the own round trip, and after four each of 25 ms.
    #[test]
    fn the_share_is_averaged_once_in_a_virtual_round_trip() {
        let mut prague = Prague::new();
        report(&mut prague, 0, 20_000, 0);
        assert_eq!(prague.rounds, 0);
        prague.marked(at(0));
        for i in 1..=4 {
            report(&mut prague, 5 * i, 20_000 + 10_000 * i, 10_000);
            assert_eq!(prague.rounds as u64, i);
        }
        let before = prague.share.average();
        for i in 5..9 {
            report(&mut prague, 5 * i, 20_000 + 10_000 * i, 0);
            assert_eq!(prague.share.average(), before, "{i}");
        }
        report(&mut prague, 45, 110_000, 0);
        assert!((prague.share.average() / before - 15.0 / 16.0).abs() < 1e-6);
        assert!(prague.ignores_mark(at(24)) && !prague.ignores_mark(at(25)));
    }

    #[test]
    fn the_pace_is_the_window_in_a_round_trip_and_twice_that_in_slow_start() {
        let gap = |window| Prague::new().pacing_gap(window, MSS, Span::from_ms(20));
        assert_eq!(gap(avoiding(10_000)), Span::from_ms(2));
        assert_eq!(gap(Window { cwnd: 10_000, ssthresh: 100_000, mss: MSS }), Span::from_ms(1));
    }
}
