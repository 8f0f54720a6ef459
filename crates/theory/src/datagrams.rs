//! Datagrams at a line: the loss of a constant source above it, and the wait of a Poisson source.

use cellway_units::{Bytes, Rate};

use crate::arguments::{Argument, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

/// The share of packets that a constant source of rate `source` loses at a line of rate `line` behind a buffer, in the
/// long run; the line passes what it can.
///
/// # Errors
/// [`Error::Undefined`] for a source of rate zero.
pub fn overload_loss(source: Rate, line: Rate) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[0];
    if source.as_bps() == 0 {
        return Err(undefined(equation.id, "a source of rate 0 sends nothing", "a rate above 0"));
    }
    let passed = line.as_bps() as f64 / source.as_bps() as f64;
    Ok(Predicted::new((1.0 - passed).max(0.0), "1", equation))
}

/// The mean wait, in s, of a packet of a Poisson source before a line, its own time on the line not counted: M/D/1.
///
/// # Errors
/// [`Error::Undefined`] if the source is not below the line.
pub fn md1_wait(packet: Bytes, source: Rate, line: Rate) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[1];
    if source >= line {
        return Err(undefined(equation.id, "the queue grows without end", "a source below the line"));
    }
    let load = source.as_bps() as f64 / line.as_bps() as f64;
    let service = packet.bits().0 as f64 / line.as_bps() as f64;
    Ok(Predicted::new(load / (2.0 * (1.0 - load)) * service, "s", equation))
}

pub(crate) const EQUATIONS: &[Equation] = &[
    Equation {
        id: "overload-loss",
        title: "loss of a constant source above a line",
        source: "conservation of packets; derived in docs/models/udp.md",
        formula: "1 − line / source; 0 where the source is not above the line",
        arguments: &[
            Argument::required("source", Kind::Rate, "the rate of the source"),
            Argument::required("line", Kind::Rate, "the rate of the line, framing taken off"),
        ],
        domain: "packets of one size, no other traffic, a buffer that holds a packet, times long beside that of the buffer",
        compute: |a| overload_loss(a.rate("source"), a.rate("line")),
    },
    Equation {
        id: "md1-wait",
        title: "mean wait of a Poisson source of packets of one size before a line",
        source: "F. Pollaczek, Mathematische Zeitschrift 32, 1930; A. Y. Khinchine 1932; L. Kleinrock, Queueing Systems, 1975, section 5.6",
        formula: "ρ / (2 (1 − ρ)) × packet / line; ρ = source / line",
        arguments: &[
            Argument::required("packet", Kind::Bytes, "a packet, with its framing"),
            Argument::required("source", Kind::Rate, "the mean rate of the source, with framing"),
            Argument::required("line", Kind::Rate, "the rate of the line"),
        ],
        domain: "Poisson arrivals, packets of one size, first come first served, a buffer without limit, source below line",
        compute: |a| md1_wait(a.bytes("packet"), a.rate("source"), a.rate("line")),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean wait of M/D/1 in service times, as tables print it: 1/18 at a load of 0.1, 0.5 at 0.5, 2 at 0.8, 4.5 at
    /// 0.9 and 9.5 at 0.95 (half of that of M/M/1: Kleinrock, section 5.6).
    #[test]
    fn waits_as_published() {
        let line = Rate::from_bps(1_000_000);
        for (percent, services) in [(10, 1.0 / 18.0), (50, 0.5), (80, 2.0), (90, 4.5), (95, 9.5)] {
            let wait = md1_wait(Bytes(125), Rate::from_bps(percent * 10_000), line).unwrap();
            assert!((wait.value / 1e-3 - services).abs() < 1e-12, "{percent} %: {}", wait.value);
        }
        assert!(md1_wait(Bytes(125), line, line).is_err());
    }

    #[test]
    fn losses_by_hand() {
        let mbps = |n: u64| Rate::from_bps(n * 1_000_000);
        assert_eq!(overload_loss(mbps(4), mbps(1)).unwrap().value, 0.75);
        assert_eq!(overload_loss(mbps(1), mbps(4)).unwrap().value, 0.0);
        assert!(overload_loss(mbps(0), mbps(1)).is_err());
    }
}
