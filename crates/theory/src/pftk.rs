//! Throughput under loss with timeouts: Padhye, Firoiu, Towsley and Kurose.

use cellway_units::{Bytes, Span};

use crate::arguments::{Argument, Arguments, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

/// The parameters of throughput under loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lossy {
    /// Payload of a segment.
    pub mss: Bytes,
    /// The round trip.
    pub rtt: Span,
    /// p: the probability that a packet is lost, if the one before it in the round was not.
    pub loss: f64,
    /// T₀: the retransmission timeout, before any doubling.
    pub rto: Span,
    /// True if b, the packets acknowledged at a time, is 2, false if it is 1.
    pub delayed_ack: bool,
    /// W_m: the receiver's window; none if it never limits.
    pub window: Option<Bytes>,
}

impl Lossy {
    fn check(&self, equation: &'static Equation) -> Result<Parameters, Error> {
        if self.rtt.is_zero() || self.mss.0 == 0 || !(self.loss > 0.0 && self.loss < 1.0) {
            let what = format!("no rate for a loss of {} at a round trip of {}", self.loss, self.rtt);
            return Err(undefined(equation.id, what, "0 < loss < 1, a segment and a round trip above 0"));
        }
        Ok(Parameters {
            p: self.loss,
            r: self.rtt.as_secs_f64(),
            t0: self.rto.as_secs_f64(),
            b: if self.delayed_ack { 2.0 } else { 1.0 },
            wm: self.window.map_or(f64::INFINITY, |w| w.0 as f64 / self.mss.0 as f64),
        })
    }
    fn predicted(&self, packets: f64, equation: &'static Equation) -> Predicted {
        Predicted::new(packets * self.mss.bits().0 as f64, "bit/s", equation)
            .unless(self.window.is_some_and(|w| w < self.mss), || {
                "the window is below one segment, which the model does not know".to_owned()
            })
            .unless(self.loss > 0.1, || {
                format!("a loss of {} is above what the model was compared with (0.1)", self.loss)
            })
            .unless(self.rto <= self.rtt, || "the timeout is not above the round trip".to_owned())
    }
}

/// The parameters in packets and seconds.
struct Parameters {
    p: f64,
    r: f64,
    t0: f64,
    b: f64,
    wm: f64,
}

/// Returns the short form, in bit/s.
///
/// # Errors
/// [`Error::Undefined`] if the round trip, segment or loss is 0, or all packets are lost.
pub fn pftk_short(lossy: Lossy) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[1];
    let Parameters { p, r, t0, b, wm } = lossy.check(equation)?;
    let timeouts = t0 * (3.0 * libm::sqrt(3.0 * b * p / 8.0)).min(1.0) * p * (1.0 + 32.0 * p * p);
    let packets = (wm / r).min(1.0 / (r * libm::sqrt(2.0 * b * p / 3.0) + timeouts));
    Ok(lossy.predicted(packets, equation))
}

/// Returns the full model, in bit/s.
///
/// # Errors
/// As [`pftk_short`].
pub fn pftk(lossy: Lossy) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[0];
    let Parameters { p, r, t0, b, wm } = lossy.check(equation)?;
    let q = 1.0 - p;
    // Expected window at the end of a period without timeout.
    let a = (2.0 + b) / (3.0 * b);
    let w = a + libm::sqrt(8.0 * q / (3.0 * b * p) + a * a);
    // Probability that a loss in a window of `w` is detected by timeout.
    let timeout = |w: f64| {
        let cubed = 1.0 - q * q * q;
        (cubed * (1.0 + q * q * q * (1.0 - libm::pow(q, w - 3.0))) / (1.0 - libm::pow(q, w))).clamp(0.0, 1.0)
    };
    // A sequence of timeouts doubles up to 64 times.
    let doubling = 1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))));
    let window = w.min(wm);
    let chance = timeout(window);
    let rounds = if w < wm { b / 2.0 * w + 1.0 } else { b / 8.0 * wm + q / (p * wm) + 2.0 };
    let packets = (q / p + window + chance / q) / (r * rounds + chance * t0 * doubling / q);
    Ok(lossy.predicted(packets, equation))
}

const ARGUMENTS: &[Argument] = &[
    Argument::required("mss", Kind::Bytes, "payload of a segment"),
    Argument::required("rtt", Kind::Time, "the round trip"),
    Argument::required("loss", Kind::Probability, "p: losses per packet"),
    Argument::or("rto", Kind::Time, "1 s", "T₀: the retransmission timeout before any doubling"),
    Argument::or("delayed-ack", Kind::Word(&["no", "yes"]), "no", "b = 1, or b = 2 packets acknowledged at a time"),
    Argument::or("window", Kind::Bytes, "", "the receiver's window; none: it never limits"),
];
const SOURCE: &str =
    "J. Padhye et al., Modeling TCP Throughput: A Simple Model and its Empirical Validation, SIGCOMM 1998";
const DOMAIN: &str =
    "Reno; losses in a round follow each other, rounds are independent; W_m at least 1 segment; p up to 0.1";

fn lossy(a: &Arguments) -> Lossy {
    Lossy {
        mss: a.bytes("mss"),
        rtt: a.time("rtt"),
        loss: a.number("loss"),
        rto: a.time("rto"),
        delayed_ack: a.word("delayed-ack") == "yes",
        window: a.has("window").then(|| a.bytes("window")),
    }
}

pub(crate) const EQUATIONS: &[Equation] = &[
    Equation {
        id: "pftk",
        title: "throughput under loss with timeouts",
        source: SOURCE,
        formula: "((1−p)/p + W + Q(W)/(1−p)) / (RTT (bW/2 + 1) + Q(W) T₀ G(p)/(1−p)), W = (2+b)/3b + √(8(1−p)/3bp + ((2+b)/3b)²); at W_m: RTT (bW_m/8 + (1−p)/pW_m + 2)",
        arguments: ARGUMENTS,
        domain: DOMAIN,
        compute: |a| pftk(lossy(a)),
    },
    Equation {
        id: "pftk-short",
        title: "throughput under loss with timeouts, approximation",
        source: SOURCE,
        formula: "min(W_m/RTT, 1 / (RTT √(2bp/3) + T₀ min(1, 3√(3bp/8)) p (1 + 32p²)))",
        arguments: ARGUMENTS,
        domain: DOMAIN,
        compute: |a| pftk_short(lossy(a)),
    },
];
