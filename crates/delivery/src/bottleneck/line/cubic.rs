//! CUBIC (RFC 9438) for a flow from outside the gateways. Losses are detected by SACK. Slow start ends when the delay has
//! grown, as in HyStart: with the constants of RFC 9406, section 4.2, but compared with the least round trip of the
//! connection, and without CSS. Windows are in segments.

use cellway_units::{Span, Time};

const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// RFC 9406: samples per round, and the bounds of the increase of the delay that ends slow start.
const SAMPLES: u32 = 8;
const LEAST: Span = Span::from_ms(4);
const MOST: Span = Span::from_ms(16);

pub(super) struct Cubic {
    window: f64,
    threshold: f64,
    w_max: f64,
    /// The window that Reno would have, and when the epoch began.
    reno: f64,
    epoch: Option<(Time, f64)>,
    /// Packets from this number on were sent after the last reduction.
    recovery: u64,
    min_rtt: Option<Span>,
    round_end: u64,
    round_rtt: Option<Span>,
    samples: u32,
}

impl Cubic {
    pub(super) fn new() -> Cubic {
        Cubic {
            window: 10.0,
            threshold: f64::INFINITY,
            w_max: 0.0,
            reno: 0.0,
            epoch: None,
            recovery: 0,
            min_rtt: None,
            round_end: 0,
            round_rtt: None,
            samples: 0,
        }
    }
    pub(super) fn window(&self) -> f64 {
        self.window
    }
    pub(super) fn acked(&mut self, now: Time, newest: u64, next: u64, acked: u64, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            self.round_rtt = Some(self.round_rtt.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        if newest < self.recovery {
            return;
        }
        if self.window < self.threshold {
            self.window += acked as f64;
            if let (Some(least), Some(round), true) = (self.min_rtt, self.round_rtt, self.samples >= SAMPLES)
                && round >= least + (least / 8).max(LEAST).min(MOST)
            {
                self.threshold = self.window;
            }
        } else {
            self.avoid_congestion(now, acked as f64);
        }
        if newest >= self.round_end {
            (self.round_end, self.round_rtt, self.samples) = (next, None, 0);
        }
    }
    fn avoid_congestion(&mut self, now: Time, acked: f64) {
        let rtt = self.min_rtt.unwrap_or_default().as_secs_f64();
        if self.epoch.is_none() {
            self.w_max = self.w_max.max(self.window);
            self.reno = self.window;
            self.epoch = Some((now, ((self.w_max - self.window) / C).cbrt()));
        }
        let Some((start, k)) = self.epoch else { return };
        let t = (now - start).as_secs_f64();
        let target = (C * (t + rtt - k).powi(3) + self.w_max).clamp(self.window, 1.5 * self.window);
        self.reno += 3.0 * (1.0 - BETA) / (1.0 + BETA) * acked / self.window;
        self.window = (self.window + (target - self.window) / self.window * acked).max(self.reno);
    }
    pub(super) fn lost(&mut self, number: u64, next: u64) {
        if number < self.recovery {
            return;
        }
        self.w_max = if self.window < self.w_max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.window = (self.window * BETA).max(2.0);
        (self.threshold, self.recovery, self.epoch) = (self.window, next, None);
    }
    pub(super) fn timed_out(&mut self, next: u64) {
        self.w_max = self.window;
        self.threshold = (self.window * BETA).max(2.0);
        (self.window, self.recovery, self.epoch) = (1.0, next, None);
    }
}
