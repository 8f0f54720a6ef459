//! The octets that an IP packet takes on a line, and the rate that is left for TCP.

use cellway_spec::{Encapsulation, Framing};
use cellway_units::{Bytes, CELL_OCTETS, LLC_SNAP_OCTETS, Rate, aal5_cells, bare_cells, ethernet_octets, fddi_octets};

use crate::arguments::{Argument, Arguments, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

pub use cellway_spec::TCP_HEADERS as HEADERS;
pub(crate) use cellway_spec::TIMESTAMPS_OPTION as TIMESTAMPS;

/// The framing of an IP packet on the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFraming {
    /// Nothing.
    Packet,
    /// Ethernet II: see [`ethernet_octets`].
    Ethernet,
    /// FDDI: see [`fddi_octets`].
    Fddi,
    /// AAL5 (ITU-T I.363.5), trailer 8, full cells; nothing before the packet (RFC 2684 section 6.1).
    Aal5VcMux,
    /// AAL5 with LLC and SNAP, 8 more (RFC 2684 section 5.1).
    Aal5LlcSnap,
    /// Full cells without an adaptation layer: see [`bare_cells`].
    BareCells,
}

impl LineFraming {
    /// All of them.
    pub const ALL: [LineFraming; 6] = [
        LineFraming::Packet,
        LineFraming::Ethernet,
        LineFraming::Fddi,
        LineFraming::Aal5VcMux,
        LineFraming::Aal5LlcSnap,
        LineFraming::BareCells,
    ];

    /// Returns the framing of packets on a link whose cells carry them in such an encapsulation.
    pub const fn of(framing: Framing, encapsulation: Encapsulation) -> LineFraming {
        match framing {
            Framing::Packet => LineFraming::Packet,
            Framing::Ethernet => LineFraming::Ethernet,
            Framing::Fddi => LineFraming::Fddi,
            Framing::Atm => LineFraming::of_cells(encapsulation),
        }
    }
    /// Returns the framing of packets on an ATM link.
    pub const fn of_cells(encapsulation: Encapsulation) -> LineFraming {
        match encapsulation {
            Encapsulation::VcMux => LineFraming::Aal5VcMux,
            Encapsulation::LlcSnap => LineFraming::Aal5LlcSnap,
            Encapsulation::None => LineFraming::BareCells,
        }
    }
    /// Returns the name as text.
    pub const fn name(self) -> &'static str {
        match self {
            LineFraming::Packet => "packet",
            LineFraming::Ethernet => "ethernet",
            LineFraming::Fddi => "fddi",
            LineFraming::Aal5VcMux => "aal5-vc-mux",
            LineFraming::Aal5LlcSnap => "aal5-llc-snap",
            LineFraming::BareCells => "bare-cells",
        }
    }
    pub(crate) fn named(name: &str) -> LineFraming {
        LineFraming::ALL.into_iter().find(|f| f.name() == name).expect("a word of NAMES")
    }
    /// Returns the cells of an IP packet; `None` for a framing without cells.
    pub const fn cells(self, packet: Bytes) -> Option<u64> {
        match self {
            LineFraming::Aal5VcMux => Some(aal5_cells(packet).0),
            LineFraming::Aal5LlcSnap => Some(aal5_cells(Bytes(packet.0.saturating_add(LLC_SNAP_OCTETS))).0),
            LineFraming::BareCells => Some(bare_cells(packet).0),
            LineFraming::Packet | LineFraming::Ethernet | LineFraming::Fddi => None,
        }
    }
    /// Returns the octets that an IP packet of `packet` takes of the line's rate, which excludes the physical overhead.
    pub const fn octets(self, packet: Bytes) -> Bytes {
        let n = packet.0;
        Bytes(match self {
            LineFraming::Packet => n,
            LineFraming::Ethernet => ethernet_octets(packet).0,
            LineFraming::Fddi => fddi_octets(packet).0,
            LineFraming::Aal5VcMux | LineFraming::Aal5LlcSnap | LineFraming::BareCells => match self.cells(packet) {
                Some(cells) => cells.saturating_mul(CELL_OCTETS),
                None => n,
            },
        })
    }
    /// Returns the octets of a full segment, or with a payload of 0 of an acknowledgement.
    pub const fn segment(self, payload: Bytes) -> Bytes {
        self.octets(Bytes(payload.0.saturating_add(HEADERS)))
    }
    /// Returns the share of TCP payload in the octets on the line, for segments of `mss`.
    pub fn efficiency(self, mss: Bytes) -> f64 {
        mss.0 as f64 / self.segment(mss).0 as f64
    }
    /// Returns the default MTU of the framing.
    const fn mtu(self) -> u64 {
        let framing = match self {
            LineFraming::Packet => Framing::Packet,
            LineFraming::Ethernet => Framing::Ethernet,
            LineFraming::Fddi => Framing::Fddi,
            LineFraming::Aal5VcMux | LineFraming::Aal5LlcSnap | LineFraming::BareCells => Framing::Atm,
        };
        framing.usual_mtu().0
    }
}

pub(crate) const NAMES: &[&str] = &["packet", "ethernet", "fddi", "aal5-vc-mux", "aal5-llc-snap", "bare-cells"];

/// Returns the TCP payload per second of full segments of `mss` that fill a line, in bit/s.
///
/// # Errors
/// [`Error::Undefined`] if `mss` is 0.
pub fn goodput(framing: LineFraming, mss: Bytes, rate: Rate) -> Result<Predicted, Error> {
    let equation = match framing {
        LineFraming::Packet => &EQUATIONS[3],
        LineFraming::Ethernet => &EQUATIONS[1],
        LineFraming::Fddi => &EQUATIONS[2],
        LineFraming::Aal5VcMux | LineFraming::Aal5LlcSnap => &EQUATIONS[0],
        LineFraming::BareCells => &EQUATIONS[7],
    };
    if mss.0 == 0 {
        return Err(undefined(equation.id, "segments carry nothing", "mss of at least 1 B"));
    }
    let (value, mtu) = (framing.efficiency(mss) * rate.as_bps() as f64, framing.mtu());
    Ok(Predicted::new(value, "bit/s", equation).unless(mss.0.saturating_add(HEADERS) > mtu, || {
        format!("a packet of {} B is above the usual MTU of {mtu} B", mss.0.saturating_add(HEADERS))
    }))
}

const MSS: Argument = Argument::required("mss", Kind::Bytes, "TCP payload of a segment, without options");
const RATE: Argument = Argument::required("rate", Kind::Rate, "what the line leaves for cells or frames");
const DOMAIN: &str = "full segments back to back, no TCP options, acknowledgements on the other direction";

const fn over(
    id: &'static str,
    title: &'static str,
    source: &'static str,
    formula: &'static str,
    arguments: &'static [Argument],
    compute: fn(&Arguments) -> Result<Predicted, Error>,
) -> Equation {
    Equation { id, title, source, formula, arguments, domain: DOMAIN, compute }
}

pub(crate) const EQUATIONS: &[Equation] = &[
    over(
        "aal5-goodput",
        "TCP payload over an ATM line",
        "ITU-T I.363.5, RFC 2684",
        "rate × mss / (53 ⌈(mss + 40 + encapsulation + 8) / 48⌉)",
        &[
            MSS,
            RATE,
            Argument::or("encapsulation", Kind::Word(&["llc-snap", "vc-mux"]), "llc-snap", "8 octets or none"),
        ],
        |a| {
            let framing =
                if a.word("encapsulation") == "vc-mux" { LineFraming::Aal5VcMux } else { LineFraming::Aal5LlcSnap };
            goodput(framing, a.bytes("mss"), a.rate("rate"))
        },
    ),
    over(
        "ethernet-goodput",
        "TCP payload over Ethernet",
        "IEEE 802.3 clause 3",
        "rate × mss / (max(mss + 40, 46) + 38)",
        &[MSS, Argument::or("rate", Kind::Rate, "ethernet", "what the line leaves for frames")],
        |a| goodput(LineFraming::Ethernet, a.bytes("mss"), a.rate("rate")),
    ),
    over(
        "fddi-goodput",
        "TCP payload over FDDI",
        "ANSI X3.139, RFC 1188",
        "rate × mss / (mss + 40 + 36)",
        &[MSS, Argument::or("rate", Kind::Rate, "fddi", "what the ring leaves for frames")],
        |a| goodput(LineFraming::Fddi, a.bytes("mss"), a.rate("rate")),
    ),
    over(
        "packet-goodput",
        "TCP payload over a line that adds nothing to IP",
        "RFC 791, RFC 9293",
        "rate × mss / (mss + 40)",
        &[MSS, RATE],
        |a| goodput(LineFraming::Packet, a.bytes("mss"), a.rate("rate")),
    ),
    over(
        "line-octets",
        "octets that an IP packet takes on a line",
        "ITU-T I.363.5, RFC 2684; IEEE 802.3 clause 3; ANSI X3.139, RFC 1188",
        "AAL5: 53 ⌈(packet + encapsulation + 8) / 48⌉; bare cells: 53 ⌈packet / 48⌉; Ethernet: max(packet, 46) + 38; FDDI: packet + 36",
        &[
            Argument::required("packet", Kind::Bytes, "the IP packet"),
            Argument::required("framing", Kind::Word(NAMES), "what stands around it"),
        ],
        |a| {
            let octets = LineFraming::named(a.word("framing")).octets(a.bytes("packet"));
            Ok(Predicted::new(octets.0 as f64, "B", &EQUATIONS[4]))
        },
    ),
    over(
        "tcp-goodput",
        "TCP payload over a line of any framing",
        "as the equation of the framing",
        "rate × mss / octets of a segment",
        &[MSS, RATE, Argument::required("framing", Kind::Word(NAMES), "what stands around packets")],
        |a| {
            let result = goodput(LineFraming::named(a.word("framing")), a.bytes("mss"), a.rate("rate"))?;
            Ok(Predicted { equation: "tcp-goodput", ..result })
        },
    ),
    over(
        "aal5-cells",
        "cells of an IP packet",
        "ITU-T I.363.5, RFC 2684",
        "⌈(packet + encapsulation + 8) / 48⌉",
        &[
            Argument::required("packet", Kind::Bytes, "the IP packet"),
            Argument::or("encapsulation", Kind::Word(&["llc-snap", "vc-mux"]), "llc-snap", "8 octets or none"),
        ],
        |a| {
            let framing =
                if a.word("encapsulation") == "vc-mux" { LineFraming::Aal5VcMux } else { LineFraming::Aal5LlcSnap };
            let octets = framing.octets(a.bytes("packet")).0;
            Ok(Predicted::new((octets / CELL_OCTETS) as f64, "cell", &EQUATIONS[6]))
        },
    ),
    over(
        "bare-cells-goodput",
        "TCP payload over an ATM line without an adaptation layer",
        "ITU-T I.361; no AAL5",
        "rate × mss / (53 ⌈(mss + 40) / 48⌉)",
        &[MSS, RATE],
        |a| goodput(LineFraming::BareCells, a.bytes("mss"), a.rate("rate")),
    ),
];
