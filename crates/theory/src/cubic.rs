//! Throughput of CUBIC under rare loss.

use cellway_units::{Bytes, Span};

use crate::arguments::{Argument, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

/// The constants C (segments/s³) and β of RFC 9438, sections 4.1 and 4.6.
const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// The average window under independent losses over that under periodic ones, both with the cubic function, for rare
/// losses: 1.197 (RTT/p)^¾ over 1.054 (RTT/p)^¾. The first is the mean over a long sequence of losses, with fast
/// convergence (RFC 9438 section 4.7); the test `independent_losses` computes it.
const INDEPENDENT: f64 = 1.136;

/// The times between losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Losses {
    /// One in every 1/p packets.
    Periodic,
    /// Each packet with the chance p, whatever happened to others.
    Independent,
}

/// Returns the rate of the larger of the two average windows of RFC 9438 section 5.1, in bit/s: that of the cubic function
/// and that of the Reno-friendly region.
///
/// # Errors
/// [`Error::Undefined`] if the round trip or the loss is 0, or all packets are lost.
pub fn cubic(mss: Bytes, rtt: Span, loss: f64, losses: Losses) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[0];
    if rtt.is_zero() || !(loss > 0.0 && loss < 1.0) {
        let what = format!("no rate for a loss of {loss} at a round trip of {rtt}");
        return Err(undefined(equation.id, what, "0 < loss < 1 and a round trip above 0"));
    }
    let factor = match losses {
        Losses::Periodic => 1.0,
        Losses::Independent => INDEPENDENT,
    };
    let seconds = rtt.as_secs_f64();
    let by_time = factor * periodic() * libm::pow(seconds / loss, 0.75);
    let like_reno = libm::sqrt(3.0 / (2.0 * loss));
    let value = mss.bits().0 as f64 / seconds * by_time.max(like_reno);
    Ok(Predicted::new(value, "bit/s", equation)
        .unless(loss > 0.02, || format!("a loss of {loss} is above 0.02: timeouts, left out here, decide")))
}

/// The average window of the cubic function is this times (RTT/p)^¾. RFC 9438 section 5.1.
fn periodic() -> f64 {
    libm::pow(C * (3.0 + BETA) / (4.0 * (1.0 - BETA)), 0.25)
}

pub(crate) const EQUATIONS: &[Equation] = &[Equation {
    id: "cubic",
    title: "throughput of CUBIC under rare loss",
    source: "RFC 9438, section 5.1; the factor for independent losses is Cellway's own",
    formula: "8 MSS/RTT × max((C (3+β) / 4(1−β))^¼ (RTT/p)^¾, √(3/2p)), C = 0.4, β = 0.7; the first 1.136 times as large for independent losses",
    arguments: &[
        Argument::required("mss", Kind::Bytes, "payload of a segment"),
        Argument::required("rtt", Kind::Time, "the round trip"),
        Argument::required("loss", Kind::Probability, "p: losses per packet"),
        Argument::or(
            "losses",
            Kind::Word(&["periodic", "independent"]),
            "periodic",
            "one in every 1/p packets, or each packet with the chance p",
        ),
    ],
    domain: "p up to about 0.02, losses mended without timeouts, window not limited by the receiver",
    compute: |a| {
        let losses = if a.word("losses") == "independent" { Losses::Independent } else { Losses::Periodic };
        cubic(a.bytes("mss"), a.time("rtt"), a.number("loss"), losses)
    },
}];

#[cfg(test)]
mod tests {
    use super::*;

    /// In units of (RTT/p)^¾ segments and (RTT/p)^¼ s the window is C (t - K)³ + W_max, and a loss comes when its
    /// integral reaches an exponential number with mean 1.
    #[test]
    fn independent_losses() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut exponential = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let bits = state.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            -libm::log1p(-((bits >> 11) as f64 / (1u64 << 53) as f64))
        };
        let (mut window, mut last, mut sent, mut time) = (1.0_f64, 0.0_f64, 0.0, 0.0);
        for _ in 0..300_000 {
            let plateau = if window < last { window * (1.0 + BETA) / 2.0 } else { window };
            last = plateau;
            let k = libm::cbrt((plateau - BETA * window) / C);
            let packets = exponential();
            let missing = |t: f64| C / 4.0 * ((t - k).powi(4) - k.powi(4)) + plateau * t - packets;
            let (mut low, mut high) = (0.0, 16.0);
            for _ in 0..50 {
                let middle = (low + high) / 2.0;
                *(if missing(middle) < 0.0 { &mut low } else { &mut high }) = middle;
            }
            window = C * (low - k).powi(3) + plateau;
            (sent, time) = (sent + packets, time + low);
        }
        let factor = sent / time / periodic();
        assert!((factor - INDEPENDENT).abs() < 0.005, "{factor}");
    }
}
