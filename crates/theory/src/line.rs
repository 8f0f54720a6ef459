//! The rates of common lines for cells or frames, and the cells on them.

use cellway_units::{CELL_BITS, CELL_OCTETS, CELL_PAYLOAD_OCTETS, Line};

use crate::arguments::{Argument, Kind};
use crate::error::undefined;
use crate::predicted::Predicted;
use crate::registry::Equation;

pub(crate) const EQUATIONS: &[Equation] = &[
    Equation {
        id: "line-rate",
        title: "what a line leaves for cells or frames",
        source: "ITU-T G.804 (E1, DS-1, E3, DS-3 with PLCP), I.432.2 (OC-3c, OC-12c); ATM Forum UNI 3.1 (TAXI); IEEE 802.3; ANSI X3.139 (FDDI)",
        formula: "line rate × octets for cells / octets of the frame",
        arguments: &[Argument::required("line", Kind::Word(&Line::NAMES), "the line")],
        domain: "constant bit rate of the physical layer, no octets lost to justification",
        compute: |a| {
            let line: Line = a.word("line").parse().expect("a word of NAMES");
            Ok(Predicted::new(line.rate().as_bps() as f64, "bit/s", &EQUATIONS[0]))
        },
    },
    Equation {
        id: "cell-payload",
        title: "payload of the cells of a line",
        source: "ITU-T I.361",
        formula: "rate × 48 / 53",
        arguments: &[Argument::required("rate", Kind::Rate, "the rate of whole cells")],
        domain: "cells back to back",
        compute: |a| {
            let share = CELL_PAYLOAD_OCTETS as f64 / CELL_OCTETS as f64;
            Ok(Predicted::new(a.rate("rate").as_bps() as f64 * share, "bit/s", &EQUATIONS[1]))
        },
    },
    Equation {
        id: "cell-time",
        title: "time of a cell on a line",
        source: "ITU-T I.361",
        formula: "424 bit / rate",
        arguments: &[Argument::required("rate", Kind::Rate, "the rate of whole cells")],
        domain: "a rate above 0",
        compute: |a| match a.rate("rate").as_bps() {
            0 => Err(undefined("cell-time", "a line of rate 0 sends nothing", "a rate above 0")),
            bps => Ok(Predicted::new(CELL_BITS.0 as f64 / bps as f64, "s", &EQUATIONS[2])),
        },
    },
];
