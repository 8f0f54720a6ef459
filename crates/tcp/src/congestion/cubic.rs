//! CUBIC: the window as a cubic of the time since the last loss. RFC 9438.
//!
//! All numbers are integers: windows in bytes, times in microseconds. Remainders of divisions are kept for the next one.

use cellway_units::{Span, Time};

use super::full_window::FullWindow;
use super::hystart::{HyStart, Phase};
use super::reno::MOST_SEGMENTS;
use super::{Acked, Controller, Flight, Signal, Window, part};

/// The share of the window that is kept at a loss: beta of RFC 9438 §4.6 is 7/10.
const BETA: (u64, u64) = (7, 10);
/// The same at a mark, with ABE. RFC 8511 §3.
const BETA_ECN: (u64, u64) = (17, 20);
/// The growth of the estimated window of Reno, in segments per round trip, until that window has the size before the
/// loss: alpha of RFC 9438 §4.3 is 3 (1 - beta) / (1 + beta) = 9/17. After that alpha is 1.
const ALPHA: (u128, u128) = (9, 17);
/// C of RFC 9438 §4.1 is 2/5 segments / s^3, here for cubes of microseconds.
const C: (i128, i128) = (2, 5_000_000_000_000_000_000);
/// The longest time for which the cubic is computed, 2 h 47 min (us): after it the cubic is above any window.
const LONGEST: i128 = 10_000_000_000;

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// When it began; later by the time in which the window was not used. RFC 9438 §4.2, t_epoch.
    since: Time,
    /// The last acknowledgement.
    last: Time,
    /// The plateau of the cubic: RFC 9438 §4.1, W_max (bytes).
    plateau: u64,
    /// RFC 9438 §4.2, K: the time to the plateau (us).
    k: u64,
    /// RFC 9438 §4.3, W_est (bytes).
    reno: u64,
    /// Remainders of the two divisions by the window.
    carry: u128,
    reno_carry: u128,
}

/// The state before a reduction, which is restored if that was not needed. RFC 9438 §4.9.
#[derive(Clone, Debug)]
struct Before {
    max: Option<u64>,
    prior: u64,
    stage: Option<Stage>,
    hystart: Option<HyStart>,
}

/// The state of CUBIC.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    /// The window at the last loss, or less by fast convergence; `None`: no loss yet, or a timeout. RFC 9438 §4.1 (bytes).
    max: Option<u64>,
    /// RFC 9438 §4.1, cwnd_prior (bytes).
    prior: u64,
    stage: Option<Stage>,
    hystart: Option<HyStart>,
    paced: bool,
    /// The state before the last reduction.
    before: Option<Box<Before>>,
    full: FullWindow,
}

impl Cubic {
    pub(crate) fn new(hystart: bool, paced: bool) -> Cubic {
        let hystart = hystart.then(HyStart::default);
        Cubic { max: None, prior: 0, stage: None, hystart, paced, before: None, full: FullWindow::default() }
    }

    /// Grows the window in congestion avoidance. RFC 9438 §4.2 to §4.5.
    fn avoid(&mut self, cwnd: u64, mss: u64, acked: Acked, full: bool) -> u64 {
        let Acked { bytes, now, srtt, .. } = acked;
        let (max, prior) = (self.max, self.prior);
        let stage = self.stage.get_or_insert_with(|| Stage::new(cwnd, mss, max, now));
        if !full {
            stage.since += now.since(stage.last);
        }
        stage.last = now;
        if !full {
            return cwnd;
        }
        let t = micros(now.since(stage.since));
        // RFC 9438 §4.2: the target of the next round trip, from the present window to 1.5 of it.
        let target = stage.cubic(t + micros(srtt.unwrap_or(Span::ZERO)), mss).clamp(cwnd, cwnd + cwnd / 2);
        // (target - cwnd) / cwnd for each segment acknowledged; the RFC counts acknowledgements.
        let window = u128::from(cwnd);
        stage.carry += u128::from(bytes) * u128::from(target - cwnd);
        let grown = cwnd + narrow(stage.carry / window).min(target - cwnd);
        stage.carry %= window;
        // RFC 9438 §4.3: not below the window of Reno. `prior` is 0 before the first loss: alpha is 1 then.
        let (num, den) = if stage.reno >= prior { (1, 1) } else { ALPHA };
        stage.reno_carry += num * u128::from(bytes) * u128::from(mss);
        stage.reno += narrow(stage.reno_carry / (den * window));
        stage.reno_carry %= den * window;
        if stage.cubic(t, mss) < stage.reno { grown.max(stage.reno) } else { grown }
    }
}

impl Controller for Cubic {
    fn grow(&mut self, window: &mut Window, acked: Acked, flight: Flight) {
        let Window { cwnd, ssthresh, mss } = *window;
        let used = self.full.lets_grow(*window, &acked, flight);
        if cwnd >= ssthresh {
            window.cwnd = self.avoid(cwnd, mss, acked, used);
            return;
        }
        let phase = self.hystart.as_mut().map_or(Phase::SlowStart, |h| h.acked(acked.rtt, flight));
        let most = if self.paced { acked.bytes } else { acked.bytes.min(MOST_SEGMENTS * mss) };
        let grown = |bytes: u64| if used { cwnd + bytes } else { cwnd };
        match phase {
            // Slow start ends at the threshold; congestion avoidance continues from there.
            Phase::SlowStart => window.cwnd = grown(most).min(ssthresh.max(cwnd + mss)),
            Phase::Conservative { divisor } => window.cwnd = grown(most / divisor),
            Phase::Over => {
                self.hystart = None;
                window.ssthresh = cwnd;
            }
        }
    }
    fn threshold(&self, window: Window, signal: Signal, outstanding: u64, _peer_window: u64) -> u64 {
        let beta = if signal == Signal::MarkWithAbe { BETA_ECN } else { BETA };
        part(outstanding, beta, window.mss)
    }
    /// Sets the plateau (W_max). RFC 9438 §4.6, §4.7.
    fn reduced(&mut self, cwnd: u64) {
        let (num, den) = BETA;
        let Cubic { max, prior, stage, hystart, .. } = *self;
        self.before = Some(Box::new(Before { max, prior, stage, hystart }));
        self.prior = cwnd;
        // Fast convergence: a plateau below the last one makes room for new flows; cwnd (1 + beta) / 2.
        let shrinks = self.max.is_some_and(|max| cwnd < max);
        self.max = Some(if shrinks { cwnd * (den + num) / (2 * den) } else { cwnd });
        self.stage = None;
        // RFC 9406 §4.3: only the first slow start is watched.
        self.hystart = None;
    }
    /// RFC 9438 §4.8: after a timeout the next stage begins at its plateau.
    fn timed_out(&mut self) {
        self.max = None;
        self.stage = None;
        self.hystart = None;
    }
    /// RFC 9438 §4.9: W_max, K, the epoch and the estimated window of Reno return, and HyStart++ if slow start does.
    fn undone(&mut self) {
        if let Some(before) = self.before.take() {
            let Before { max, prior, stage, hystart } = *before;
            (self.max, self.prior, self.stage, self.hystart) = (max, prior, stage, hystart);
        }
    }
    fn restarted(&mut self) {
        self.stage = None;
    }
}

impl Stage {
    fn new(cwnd: u64, mss: u64, max: Option<u64>, now: Time) -> Stage {
        // RFC 9438 §4.8, §4.10: without a loss, or past the old plateau, the stage begins at one.
        let plateau = max.map_or(cwnd, |max| max.max(cwnd));
        // K = cbrt((W_max - cwnd_epoch) / C), in segments and seconds.
        let (num, den) = (C.0.unsigned_abs(), C.1.unsigned_abs());
        let k = cube_root(u128::from(plateau - cwnd) * den / (num * u128::from(mss)));
        Stage { since: now, last: now, plateau, k, reno: cwnd, carry: 0, reno_carry: 0 }
    }
    /// Returns W_cubic(t): C (t - K)^3 + W_max (bytes). RFC 9438 §4.2.
    fn cubic(&self, t: i128, mss: u64) -> u64 {
        let d = (t - i128::from(self.k)).min(LONGEST);
        let offset = d * d * d * C.0 * i128::from(mss) / C.1;
        narrow((i128::from(self.plateau) + offset).max(0).unsigned_abs())
    }
}

fn micros(span: Span) -> i128 {
    i128::from(span.as_ps() / 1_000_000)
}
fn narrow(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Returns the largest whole number whose cube is not above `n`.
fn cube_root(n: u128) -> u64 {
    // The root of 2^128 lies below 2^43.
    (0..43).rev().fold(0, |root: u64, bit| {
        let tried = root | 1 << bit;
        let cube = u128::from(tried).checked_pow(3);
        if cube.is_some_and(|cube| cube <= n) { tried } else { root }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_exact() {
        for n in [0u128, 1, 7, 8, 9, 26, 27, 28, 10u128.pow(18), 10u128.pow(18) - 1, u128::MAX] {
            let root = u128::from(cube_root(n));
            assert!(root.pow(3) <= n && (root + 1).checked_pow(3).is_none_or(|above| above > n), "{n}: {root}");
        }
    }

    /// Compares the curve with the same in floating point, over windows of 2 to 500,000 segments.
    #[test]
    fn the_cubic_is_that_of_the_rfc() {
        for mss in [100u64, 1448, 9140] {
            for segments in [2u64, 10, 100, 10_000, 500_000] {
                let max = segments * mss;
                let epoch = max * 7 / 10;
                let stage = Stage::new(epoch, mss, Some(max), Time::ZERO);
                let k = ((max - epoch) as f64 / mss as f64 / 0.4).cbrt();
                assert!((stage.k as f64 / 1e6 - k).abs() < 2e-6, "K {} us, {k} s", stage.k);
                for t in 0..200 {
                    let t = f64::from(t) * k / 80.0;
                    let expected = (0.4 * (t - k).powi(3) + segments as f64) * mss as f64;
                    let actual = stage.cubic((t * 1e6) as i128, mss) as f64;
                    assert!((actual - expected).abs() < 2.0 + expected * 1e-5, "{t} s: {actual} for {expected}");
                }
                assert!(stage.cubic(0, mss).abs_diff(epoch) <= 1 + epoch / 100_000);
            }
        }
    }

    /// RFC 9438 §4.9: also after a timeout in the same episode, and with the first slow start.
    #[test]
    fn an_undone_reduction_leaves_no_trace() {
        let flight = Flight { una: 1, nxt: 100_001, max: 100_001, peer_window: 1 << 30 };
        let state = |cubic: &Cubic| format!("{:?}", (cubic.max, cubic.prior, cubic.stage, cubic.hystart));
        let mut window = Window { cwnd: 100_000, ssthresh: 1 << 30, mss: 1000 };
        let mut cubic = Cubic::new(true, false);
        for stage in ["slow start", "congestion avoidance"] {
            for n in 1..5 {
                let (now, rtt) = (Time::ZERO + Span::from_ms(100 * n), Some(Span::from_ms(100)));
                cubic.grow(
                    &mut window,
                    Acked { bytes: 1000, now, rtt, srtt: rtt, marked: 0, echoes_mark: false },
                    flight,
                );
            }
            let before = state(&cubic);
            cubic.reduced(window.cwnd);
            cubic.timed_out();
            assert_ne!(state(&cubic), before, "{stage}");
            cubic.undone();
            assert_eq!(state(&cubic), before, "{stage}");
            // The reduction counts now.
            cubic.reduced(window.cwnd);
            window.ssthresh = window.cwnd;
        }
        // Nothing to undo: the last state was taken.
        cubic.undone();
        let before = state(&cubic);
        cubic.undone();
        assert_eq!(state(&cubic), before);
    }

    #[test]
    fn fast_convergence_lowers_a_plateau_that_was_not_reached() {
        let mut cubic = Cubic::new(false, false);
        for (cwnd, plateau) in [(100_000, 100_000), (80_000, 68_000), (90_000, 90_000)] {
            cubic.reduced(cwnd);
            assert_eq!(cubic.max, Some(plateau), "{cwnd}");
        }
        cubic.timed_out();
        assert_eq!((cubic.max, cubic.prior), (None, 90_000));
    }
}
