//! The retransmission timeout. RFC 6298.

use std::sync::Arc;

use cellway_units::{Span, Time};

use crate::timers::TickClock;
use crate::{Config, Position};

/// The timeout after a lost SYN. RFC 6298 (5.7).
const AFTER_SYN_LOSS: Span = Span::from_secs(3);

/// Estimates the round trip and the retransmission timeout.
#[derive(Clone, Debug)]
pub(crate) struct Rto {
    config: Arc<Config>,
    srtt: Option<Span>,
    rttvar: Span,
    /// The timeout without backing off.
    base: Span,
    /// Doublings in a row.
    doublings: u32,
    /// The segment being timed: the position behind it and when it was sent.
    timed: Option<(Position, Time)>,
}

impl Rto {
    pub(crate) fn new(config: Arc<Config>) -> Rto {
        // RFC 6298 (2.1): before a measurement, the initial value.
        let base = config.tcp.rto_initial;
        Rto { config, srtt: None, rttvar: Span::ZERO, base, doublings: 0, timed: None }
    }

    fn clock(&self) -> TickClock {
        TickClock { tick: self.config.tcp.timer_granularity }
    }
    /// Returns the least by which the timeout is above the smoothed round trip; the G of RFC 6298 (2.3) unless it is set.
    fn margin(&self) -> Span {
        self.config.tcp.rto_margin.unwrap_or(self.config.tcp.timer_granularity)
    }

    /// Returns the smoothed round-trip time, as coarse as the clock.
    pub(crate) fn smoothed(&self) -> Option<Span> {
        self.srtt
    }
    /// Returns the present timeout.
    pub(crate) fn current(&self) -> Span {
        self.backed_off(self.doublings)
    }
    /// Returns the timeout doubled `doublings` times, within its ceiling.
    pub(crate) fn backed_off(&self, doublings: u32) -> Span {
        // RFC 6298 (2.5): a maximum may be placed on the timeout, also when backed off (5.5).
        let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        self.base.saturating_mul(factor).min(self.config.tcp.rto_max)
    }
    /// Returns the expiry of a timer set at `now` for the present timeout.
    pub(crate) fn deadline(&self, now: Time) -> Time {
        self.clock().after(now, self.current())
    }
    /// Returns the expiry of a timer set at `now` for `span`.
    pub(crate) fn after(&self, now: Time, span: Span) -> Time {
        self.clock().after(now, span)
    }
    /// Doubles the timeout after the timer has expired. RFC 6298 (5.5).
    pub(crate) fn back_off(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
    }
    /// Ends the doubling, which was for a timeout that was not needed.
    pub(crate) fn end_back_off(&mut self) {
        self.doublings = 0;
    }
    /// Responds to a lost SYN: if its timeout was short, data begin with 3 s. RFC 6298 (5.7).
    pub(crate) fn recover_from_syn_loss(&mut self) {
        if self.base < AFTER_SYN_LOSS {
            self.base = AFTER_SYN_LOSS.min(self.config.tcp.rto_max);
        }
        self.doublings = 0;
    }

    /// Begins to measure the segment that ends before `end`, unless a measurement is in progress: one at a time
    /// satisfies RFC 6298 §3.
    pub(crate) fn sent(&mut self, end: Position, now: Time) {
        self.timed.get_or_insert((end, now));
    }
    /// Ends the measurement at a retransmission. RFC 6298 §3 (Karn): no retransmitted data may be measured. As in BSD,
    /// any retransmission ends it, for a hole before the data would be measured too.
    pub(crate) fn resent(&mut self) {
        self.timed = None;
    }
    /// Processes the acknowledgement of everything below `una`; returns the measurement if that ends it.
    pub(crate) fn acked(&mut self, una: Position, now: Time) -> Option<Span> {
        let (_, at) = self.timed.filter(|&(end, _)| una >= end)?;
        self.timed = None;
        let rtt = self.clock().elapsed(at, now);
        self.sample(rtt);
        Some(rtt)
    }
    /// Takes a measurement. With timestamps each acknowledgement is one and has the full weight, as in Linux
    /// (`tcp_rtt_estimator`) and FreeBSD. RFC 7323 §4.2 and appendix G divide the weights by the number of measurements
    /// in a round trip: the estimate then stays behind a round trip that slow start doubles in one, and the timer fires
    /// before a fast retransmit can be acknowledged.
    pub(crate) fn sample(&mut self, rtt: Span) {
        let (alpha, beta) = (8, 4);
        match self.srtt {
            // RFC 6298 (2.2): SRTT <- R, RTTVAR <- R/2.
            None => {
                self.rttvar = rtt / 2;
                self.srtt = Some(rtt);
            }
            // RFC 6298 (2.3): RTTVAR first, with the old SRTT; alpha = 1/8, beta = 1/4.
            Some(srtt) => {
                self.rttvar = self.rttvar / beta * (beta - 1) + srtt.abs_diff(rtt) / beta;
                self.srtt = Some(srtt / alpha * (alpha - 1) + rtt / alpha);
            }
        }
        let srtt = self.srtt.unwrap_or(rtt);
        // RFC 6298 (2.2), (2.3): RTO <- SRTT + max(G, 4 RTTVAR); (2.4): at least the minimum.
        let rto = srtt + self.rttvar.saturating_mul(4).max(self.margin());
        self.base = rto.max(self.config.tcp.rto_min).min(self.config.tcp.rto_max);
        // RFC 6298 §5: a new measurement ends the backing off.
        self.doublings = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpSpec;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }
    fn with(tcp: TcpSpec) -> Rto {
        Rto::new(Arc::new(tcp.into()))
    }
    fn fine() -> Rto {
        let [rto_initial, rto_min] = [Span::from_secs(1), Span::from_ms(1)];
        with(TcpSpec { rto_initial, rto_min, timer_granularity: Span::ZERO, ..TcpSpec::default() })
    }

    #[test]
    fn the_estimator_follows_the_equations() {
        let mut rto = fine();
        assert_eq!(rto.current(), Span::from_secs(1));
        rto.sent(1, ms(0));
        rto.acked(1, ms(80));
        assert_eq!((rto.smoothed(), rto.current()), (Some(Span::from_ms(80)), Span::from_ms(80 + 160)));
        rto.sent(2, ms(100));
        rto.acked(2, ms(340));
        // RTTVAR = 3/4 40 + 1/4 160 = 70, SRTT = 7/8 80 + 1/8 240 = 100.
        assert_eq!((rto.smoothed(), rto.current()), (Some(Span::from_ms(100)), Span::from_ms(380)));
    }

    #[test]
    fn the_timeout_keeps_its_margin() {
        let rto_margin = Some(Span::from_ms(200));
        let mut rto = with(TcpSpec { rto_margin, ..fine().config.tcp });
        // Of 4 RTTVAR, 160 ms at first, nothing remains in the end.
        for i in 0..60 {
            rto.sent(i, ms(i * 100));
            rto.acked(i, ms(i * 100 + 80));
            assert_eq!(rto.current().as_millis_f64().round(), 280.0);
        }
    }

    #[test]
    fn backing_off_doubles_to_the_ceiling_and_lasts_until_a_measurement() {
        let mut rto = fine();
        for expected in [2, 4, 8, 16, 32, 64, 64] {
            rto.back_off();
            assert_eq!(rto.current(), Span::from_secs(expected));
        }
        rto.resent();
        rto.acked(9, ms(5));
        assert_eq!(rto.current(), Span::from_secs(64));
        rto.sent(10, ms(10));
        rto.acked(10, ms(20));
        assert_eq!(rto.current(), Span::from_ms(30));
    }

    #[test]
    fn a_coarse_clock_measures_ticks() {
        let mut rto = with(TcpSpec::default());
        rto.sent(1, ms(10));
        rto.acked(1, ms(55));
        assert_eq!((rto.smoothed(), rto.current()), (Some(Span::ZERO), Span::from_secs(1)));
        rto.sent(2, ms(460));
        rto.acked(2, ms(505));
        assert_eq!(rto.smoothed(), Some(Span::from_us(62_500)));
        assert_eq!(rto.deadline(ms(505)), ms(1500));
    }

    #[test]
    fn a_lost_syn_raises_a_short_timeout_only() {
        let mut rto = fine();
        rto.back_off();
        rto.recover_from_syn_loss();
        assert_eq!(rto.current(), Span::from_secs(3));
        let mut long = with(TcpSpec { rto_initial: Span::from_secs(6), ..TcpSpec::default() });
        long.back_off();
        long.recover_from_syn_loss();
        assert_eq!(long.current(), Span::from_secs(6));
    }

    #[test]
    fn a_steady_round_trip_leaves_one_tick_of_margin() {
        let mut rto = with(TcpSpec::default());
        for i in 0..60 {
            rto.sent(i, ms(i * 2000));
            rto.acked(i, ms(i * 2000 + 1500));
        }
        let rto = rto.current().as_millis_f64();
        assert!((1999.0..2001.0).contains(&rto), "{rto} ms");
    }
}
