//! The window that fills a line.

use cellway_units::{Bytes, Rate, Span};

use crate::arguments::{Argument, Kind};
use crate::error::Error;
use crate::framing::{self, LineFraming};
use crate::predicted::Predicted;
use crate::registry::Equation;

/// Returns RTT × rate / 8, in bytes. With a framing and MSS, of the TCP payload that the line carries; otherwise of the
/// rate itself.
///
/// # Errors
/// As [`framing::goodput`].
pub fn bandwidth_delay(rate: Rate, rtt: Span, framed: Option<(LineFraming, Bytes)>) -> Result<Predicted, Error> {
    let (payload, caveats) = match framed {
        Some((framing, mss)) => {
            let goodput = framing::goodput(framing, mss, rate)?;
            (goodput.value, goodput.caveats)
        }
        None => (rate.as_bps() as f64, Vec::new()),
    };
    let value = payload * rtt.as_secs_f64() / 8.0;
    let result = Predicted::new(value, "B", &EQUATIONS[0])
        .unless(framed.is_some_and(|(_, mss)| value < mss.0 as f64), || {
            "less than one segment: a window of one segment fills the line".to_owned()
        });
    Ok(Predicted { caveats: [caveats, result.caveats].concat(), ..result })
}

pub(crate) const EQUATIONS: &[Equation] = &[Equation {
    id: "bandwidth-delay",
    title: "window that fills a line",
    source: "Sciuto 1996, baseline tests; RFC 7323 section 1.1",
    formula: "W = rate × efficiency × RTT / 8",
    arguments: &[
        Argument::required("rate", Kind::Rate, "what the line leaves for cells or frames"),
        Argument::required("rtt", Kind::Time, "the round trip"),
        Argument::or(
            "framing",
            Kind::Word(framing::NAMES),
            "",
            "what stands around packets; none: the rate is payload",
        ),
        Argument::or("mss", Kind::Bytes, "1460 B", "TCP payload of a segment, with a framing"),
    ],
    domain: "one connection, round trip constant while the line is full",
    compute: |a| {
        let framed = a.has("framing").then(|| (LineFraming::named(a.word("framing")), a.bytes("mss")));
        bandwidth_delay(a.rate("rate"), a.time("rtt"), framed)
    },
}];
