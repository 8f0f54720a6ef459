//! Plain counts of cells, octets and segments.

use cellway_units::{Bytes, Rate};

use crate::arguments::{Argument, Kind};
use crate::error::{Error, undefined};
use crate::framing::Framing;
use crate::predicted::Predicted;
use crate::registry::Equation;

/// What the 48 octets of payload of each cell make of a rate of whole cells, in bit/s.
pub fn cell_payload(rate: Rate) -> Predicted {
    Predicted::new(rate.as_bps() as f64 * 48.0 / 53.0, "bit/s", &EQUATIONS[0])
}

/// The time that a cell of 53 octets takes, in s.
///
/// # Errors
/// [`Error::Undefined`] if the rate is 0.
pub fn cell_time(rate: Rate) -> Result<Predicted, Error> {
    if rate.as_bps() == 0 {
        return Err(undefined(EQUATIONS[1].id, "a cell takes for ever", "a rate above 0"));
    }
    Ok(Predicted::new(424.0 / rate.as_bps() as f64, "s", &EQUATIONS[1]))
}

/// The cells that an IP packet takes in AAL5, with or without LLC/SNAP.
pub fn aal5_cells(packet: Bytes, llc_snap: bool) -> Predicted {
    let framing = if llc_snap { Framing::Aal5LlcSnap } else { Framing::Aal5VcMux };
    let cells = framing.cells(packet).expect("AAL5 goes in cells");
    Predicted::new(cells as f64, "cell", &EQUATIONS[2])
}

/// The whole segments of `mss` bytes of payload that a window holds.
///
/// # Errors
/// [`Error::Undefined`] if a segment is empty.
pub fn window_segments(window: Bytes, mss: Bytes) -> Result<Predicted, Error> {
    match window.0.checked_div(mss.0) {
        Some(segments) => Ok(Predicted::new(segments as f64, "segment", &EQUATIONS[3])),
        None => Err(undefined(EQUATIONS[3].id, "segments carry nothing", "mss of at least 1 B")),
    }
}

const RATE: Argument = Argument::required("rate", Kind::Rate, "the rate of whole cells");

pub(crate) const EQUATIONS: &[Equation] = &[
    Equation {
        id: "cell-payload",
        title: "payload of the cells of a line or contract",
        source: "ITU-T I.361",
        formula: "rate × 48 / 53",
        arguments: &[RATE],
        domain: "every cell full",
        compute: |a| Ok(cell_payload(a.rate("rate"))),
    },
    Equation {
        id: "cell-time",
        title: "time that a cell takes on a line",
        source: "ITU-T I.361",
        formula: "53 × 8 / rate",
        arguments: &[RATE],
        domain: "any rate above 0",
        compute: |a| cell_time(a.rate("rate")),
    },
    Equation {
        id: "aal5-cells",
        title: "cells of an IP packet",
        source: "ITU-T I.363.5, RFC 2684",
        formula: "⌈(packet + encapsulation + 8) / 48⌉",
        arguments: &[
            Argument::required("packet", Kind::Bytes, "the IP packet"),
            Argument::or("encapsulation", Kind::Word(&["llc-snap", "vc-mux"]), "llc-snap", "8 octets or none"),
        ],
        domain: "any packet",
        compute: |a| Ok(aal5_cells(a.bytes("packet"), a.word("encapsulation") == "llc-snap")),
    },
    Equation {
        id: "window-segments",
        title: "whole segments that a window holds",
        source: "RFC 9293 section 3.8",
        formula: "⌊window / mss⌋",
        arguments: &[
            Argument::required("window", Kind::Bytes, "the window"),
            Argument::required("mss", Kind::Bytes, "TCP payload of a segment"),
        ],
        domain: "a window that is a limit, of a sender that sends whole segments",
        compute: |a| window_segments(a.bytes("window"), a.bytes("mss")),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// `spacing` section 6: 33.92 Mbit/s, 12.5 µs; 1516 B, 32 cells; 60 × 1024 B, 41 segments. `kdd` section 4.2:
    /// 30.0 Mbit/s, 27.1 (cut off).
    #[test]
    fn the_counts_of_the_papers() {
        assert!((cell_time(Rate::from_bps(33_920_000)).unwrap().value - 12.5e-6).abs() < 1e-18);
        assert_eq!(aal5_cells(Bytes(1516), true).value, 32.0);
        assert_eq!([aal5_cells(Bytes(40), false), aal5_cells(Bytes(41), false)].map(|p| p.value), [1.0, 2.0]);
        assert_eq!(window_segments(Bytes(61_440), Bytes(1476)).unwrap().value, 41.0);
        let payload = cell_payload(Rate::from_bps(30_000_000)).value;
        assert!((27.16e6..27.18e6).contains(&payload), "{payload}");
        assert!(window_segments(Bytes(1), Bytes(0)).is_err() && cell_time(Rate::from_bps(0)).is_err());
    }
}
