//! CUBIC (RFC 9438) over a line that loses chosen segments: against its equations in floating point, and
//! against the average window that they give.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{Endpoint, TcpSpec, Variant};
use cellway_units::{Bytes, Span, Time};
use common::line::Line;

const MSS: f64 = 1000.0;
const C: f64 = 0.4;
const BETA: f64 = 0.7;

fn config(variant: Variant) -> TcpSpec {
    TcpSpec {
        variant,
        mss: Bytes(1012),
        window: Bytes(200 << 20),
        send_buffer: Bytes(200 << 20),
        window_scaling: true,
        timestamps: true,
        initial_window: 10,
        rto_initial: Span::from_secs(3),
        timer_granularity: Span::from_ms(1),
        ..TcpSpec::default()
    }
}
fn second(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}
/// Returns W_cubic(t), in segments and seconds. RFC 9438 §4.2, figures 1 and 2.
fn w_cubic(t: f64, w_max: f64, epoch: f64) -> f64 {
    let k = ((w_max - epoch) / C).cbrt();
    C * (t - k).powi(3) + w_max
}

/// RFC 9438 §4.1 to §4.5 in floating point, acknowledgement by acknowledgement, after one loss.
struct Float {
    w_max: f64,
    epoch: f64,
    since: f64,
    cwnd: f64,
    w_est: f64,
}
impl Float {
    fn acked(&mut self, now: f64, segments: f64, rtt: f64) {
        let t = now - self.since;
        let target = w_cubic(t + rtt, self.w_max, self.epoch).clamp(self.cwnd, 1.5 * self.cwnd);
        let alpha = if self.w_est >= self.w_max { 1.0 } else { 3.0 * (1.0 - BETA) / (1.0 + BETA) };
        self.w_est += alpha * segments / self.cwnd;
        self.cwnd += segments * (target - self.cwnd) / self.cwnd;
        if w_cubic(t, self.w_max, self.epoch) < self.w_est {
            self.cwnd = self.cwnd.max(self.w_est);
        }
    }
}

/// Returns (time since the epoch, window) in s and segments after one loss in slow start at a window of some hundred
/// segments, for `seconds`; each acknowledgement is compared with the equations.
fn after_one_loss(rtt_ms: u64, seconds: u64, lost: u64) -> (f64, Vec<(f64, f64)>) {
    let rtt = rtt_ms as f64 / 1e3;
    let mut line = Line::new(TcpSpec { hystart: false, ..config(Variant::Cubic) }, Span::from_ms(rtt_ms));
    let mut prior = 0.0;
    let mut float: Option<Float> = None;
    let mut curve = Vec::new();
    line.run(
        second(seconds),
        |n| n == lost,
        |now, before, after| {
            let now = now.as_secs_f64();
            let cwnd = |e: &Endpoint| e.congestion_window() as f64 / MSS;
            if !before.in_recovery() && after.in_recovery() {
                prior = cwnd(before);
                let kept = after.ssthresh() as f64 / MSS;
                assert!((kept / prior - BETA).abs() < 0.02, "{kept} of {prior}");
            }
            let acked = (after.stats().bytes_acked - before.stats().bytes_acked) as f64 / MSS;
            if prior == 0.0 || before.in_recovery() || acked == 0.0 {
                return;
            }
            let epoch = cwnd(before);
            let float = float.get_or_insert(Float { w_max: prior, epoch, since: now, cwnd: epoch, w_est: epoch });
            float.acked(now, acked, rtt);
            assert!((cwnd(after) - float.cwnd).abs() < 0.05, "{now} s: {} for {}", cwnd(after), float.cwnd);
            curve.push((now - float.since, cwnd(after)));
        },
    );
    assert_eq!((line.sender.stats().fast_retransmits, line.sender.stats().timeouts), (1, 0));
    (prior, curve)
}

#[test]
fn the_window_after_a_loss_is_the_cubic_of_the_time_since() {
    let (w_max, curve) = after_one_loss(100, 25, 700);
    let epoch = curve[0].1;
    assert!((300.0..1000.0).contains(&w_max), "{w_max}");
    let k = ((w_max - epoch) / C).cbrt();
    assert!(curve.last().unwrap().0 > 1.5 * k, "past the plateau, into the convex part");
    // The window follows the curve; it is moved towards the value of the next round trip.
    for (t, window) in curve.into_iter().filter(|&(t, _)| t > 0.3) {
        let (early, late) = (w_cubic(t - 0.2, w_max, epoch), w_cubic(t + 0.1, w_max, epoch));
        assert!((early - 0.1..late + 0.1).contains(&window), "{t} s: {window}, {early} to {late}");
    }
}

/// At short round trips Reno's window is larger than the cubic: RFC 9438 §4.3.
#[test]
fn at_short_round_trips_the_window_is_reno_s() {
    let (w_max, curve) = after_one_loss(10, 3, 60);
    let epoch = curve[0].1;
    let (t, window) = curve[curve.len() / 2];
    // 9/17 of a segment each round trip until the window has its size before the loss, then a whole one.
    let to_prior = (w_max - epoch) / (9.0 / 17.0);
    let trips = t / 0.01;
    assert!(trips > to_prior, "{trips} round trips, {to_prior}");
    let expected = w_max + (trips - to_prior);
    assert!((window - expected).abs() < 0.05 * expected, "{t} s: {window} for {expected}");
    assert!(window > 1.5 * w_cubic(t, w_max, epoch));
}

/// Returns the average window with one of `every` segments lost, from the data that arrive in a round trip (segments).
fn average(variant: Variant, rtt: Span, every: u64, seconds: u64) -> f64 {
    let mut line = Line::new(TcpSpec { hystart: false, ..config(variant) }, rtt);
    let warm = seconds / 4;
    line.run(second(warm), |n| n % every == 0, |_, _, _| {});
    let before = line.receiver.stats().bytes_received;
    line.run(second(seconds), |n| n % every == 0, |_, _, _| {});
    assert_eq!(line.sender.stats().timeouts, 0, "{variant:?} {rtt} {every}");
    let bytes = (line.receiver.stats().bytes_received - before) as f64;
    bytes / MSS / (seconds - warm) as f64 * rtt.as_secs_f64()
}

/// RFC 9438 §5.1, the average window: (C (3 + beta) / (4 (1 - beta)))^(1/4) RTT^(3/4) / p^(3/4); if that is less than
/// Reno's (3 / (2 p))^(1/2), Reno's. The round trip of each recovery, which they leave out, lowers it a little.
#[test]
fn the_average_window_is_that_of_the_rfc() {
    let factor = (C * (3.0 + BETA) / (4.0 * (1.0 - BETA))).powf(0.25);
    for (rtt, every, seconds) in [(200, 10_000, 600), (175, 3_000, 400), (100, 30_000, 600)] {
        let expected = factor * (rtt as f64 / 1e3 * every as f64).powf(0.75);
        let found = average(Variant::Cubic, Span::from_ms(rtt), every, seconds);
        assert!((found / expected - 1.0).abs() < 0.1, "{rtt} ms, 1/{every}: {found:.1} for {expected:.1}");
    }
    for (rtt, every, seconds) in [(10, 1_000, 60), (20, 3_000, 120)] {
        let expected = (1.5 * every as f64).sqrt();
        for variant in [Variant::Cubic, Variant::Sack] {
            let found = average(variant, Span::from_ms(rtt), every, seconds);
            assert!(
                (found / expected - 1.0).abs() < 0.1,
                "{variant:?}, {rtt} ms, 1/{every}: {found:.1} for {expected:.1}"
            );
        }
    }
}

/// RFC 9438 §4.8: after a timeout ssthresh is 0.7 of the flight, and the next stage begins at its plateau.
#[test]
fn after_a_timeout_the_cubic_begins_at_its_plateau() {
    let mut line = Line::new(TcpSpec { hystart: false, ..config(Variant::Cubic) }, Span::from_ms(100));
    // All of a flight after the 150th segment is lost: no duplicate reports it.
    let mut stage: Vec<(f64, f64)> = Vec::new();
    let mut flight = 0;
    line.run(
        second(12),
        |n| (151..=310).contains(&n),
        |now, before, after| {
            if after.stats().timeouts == 0 {
                flight = flight.max(after.in_flight());
            } else if before.congestion_window() >= before.ssthresh() && !before.in_recovery() {
                stage.push((now.as_secs_f64(), after.congestion_window() as f64 / MSS));
            }
        },
    );
    let stats = line.sender.stats();
    assert_eq!(stats.timeouts, 1, "{stats:?}");
    let (since, first) = stage[0];
    assert!((first * MSS / flight as f64 - BETA).abs() < 0.02, "{first} of {flight}");
    let (now, window) = *stage.last().unwrap();
    // Flat at first, and Reno's line below it.
    let cubic = C * (now - since).powi(3) + first;
    assert!((window / cubic - 1.0).abs() < 0.02, "{window} for {cubic}, {} s", now - since);
}

/// RFC 9438 §5.8: a window that is unused because of the peer's does not grow beyond twice the used window.
#[test]
fn an_unused_window_does_not_grow() {
    for (variant, grows) in [(Variant::Cubic, false), (Variant::Sack, true)] {
        let config = TcpSpec { window: Bytes(50_000), ..config(variant) };
        let mut line = Line::new(config, Span::from_ms(50));
        line.run(second(20), |_| false, |_, _, _| {});
        let window = line.sender.congestion_window();
        assert_eq!(window > 102_000, grows, "{variant:?}: {window} B");
    }
}
