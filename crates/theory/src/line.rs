//! What common lines leave for cells or frames.

use std::str::FromStr;

use cellway_units::{CELL_BITS, CELL_OCTETS, CELL_PAYLOAD_OCTETS, Rate};

use crate::arguments::{Argument, Kind};
use crate::error::undefined;
use crate::predicted::Predicted;
use crate::registry::Equation;

/// A line with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// E1, 2.048 Mbit/s: 30 of 32 time slots (ITU-T G.804).
    E1,
    /// DS-1, 1.544 Mbit/s: 192 of 193 bits (ITU-T G.804).
    Ds1,
    /// E3, 34.368 Mbit/s: 530 of 537 octets of a G.832 frame, 8000 frames/s (ITU-T G.804).
    E3,
    /// DS-3 with the PLCP: 12 cells in 125 µs, 96 000 cell/s (ANSI T1.107a, ITU-T G.804).
    Ds3,
    /// OC-3c, 155.52 Mbit/s: 260 of 270 columns (ITU-T G.707, I.432.2).
    Oc3c,
    /// OC-12c, 622.08 Mbit/s: 1040 of 1080 columns (ITU-T G.707, I.432.2).
    Oc12c,
    /// TAXI, 100 Mbit/s: 54 octets a cell, one of them the code that begins it (ATM Forum UNI 3.1, section 2.3).
    Taxi,
    /// Ethernet, 10 Mbit/s.
    Ethernet,
    /// Fast Ethernet, 100 Mbit/s.
    FastEthernet,
    /// FDDI, 100 Mbit/s.
    Fddi,
}

impl Line {
    /// All lines.
    pub const ALL: [Line; 10] = [
        Line::E1,
        Line::Ds1,
        Line::E3,
        Line::Ds3,
        Line::Oc3c,
        Line::Oc12c,
        Line::Taxi,
        Line::Ethernet,
        Line::FastEthernet,
        Line::Fddi,
    ];

    /// What is left for cells of 53 octets, or for frames with their framing; in bit/s, rounded down.
    pub const fn rate(self) -> Rate {
        Rate::from_bps(match self {
            Line::E1 => 2_048_000 * 30 / 32,
            Line::Ds1 => 1_544_000 * 192 / 193,
            Line::E3 => 530 * 8 * 8000,
            Line::Ds3 => 12 * 53 * 8 * 8000,
            Line::Oc3c => 155_520_000 * 260 / 270,
            Line::Oc12c => 622_080_000 * 1040 / 1080,
            Line::Taxi => 100_000_000 * 53 / 54,
            Line::Ethernet => 10_000_000,
            Line::FastEthernet | Line::Fddi => 100_000_000,
        })
    }
    /// The name as text.
    pub const fn name(self) -> &'static str {
        match self {
            Line::E1 => "e1",
            Line::Ds1 => "ds1",
            Line::E3 => "e3",
            Line::Ds3 => "ds3",
            Line::Oc3c => "oc3c",
            Line::Oc12c => "oc12c",
            Line::Taxi => "taxi",
            Line::Ethernet => "ethernet",
            Line::FastEthernet => "fast-ethernet",
            Line::Fddi => "fddi",
        }
    }
}

impl FromStr for Line {
    type Err = ();
    fn from_str(text: &str) -> Result<Line, ()> {
        Line::ALL.into_iter().find(|line| line.name() == text).ok_or(())
    }
}

const NAMES: &[&str] = &["e1", "ds1", "e3", "ds3", "oc3c", "oc12c", "taxi", "ethernet", "fast-ethernet", "fddi"];

pub(crate) const EQUATIONS: &[Equation] = &[
    Equation {
        id: "line-rate",
        title: "what a line leaves for cells or frames",
        source: "ITU-T G.804 (E1, DS-1, E3, DS-3 with PLCP), I.432.2 (OC-3c, OC-12c); ATM Forum UNI 3.1 (TAXI); IEEE 802.3; ANSI X3.139 (FDDI)",
        formula: "line rate × octets for cells / octets of the frame",
        arguments: &[Argument::required("line", Kind::Word(NAMES), "the line")],
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
