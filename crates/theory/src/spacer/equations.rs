//! The spacer's results by id.

use cellway_units::Span;

use super::{Acknowledgements, Count, Spacer, SpacerInput};
use crate::arguments::{Argument, Arguments, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

const SEGMENT: Argument = Argument::required("segment", Kind::Cells, "σ: cells of a segment");
const PEAK: Argument = Argument::required("peak", Kind::Rate, "h: rate of the source, of whole cells");
const RATE: Argument = Argument::required("rate", Kind::Rate, "c: the spacing rate, of whole cells");
const RTT: Argument =
    Argument::required("rtt", Kind::Time, "Δ = δ + dσ/c: from the first cell of d segments to their acknowledgement");
const WINDOW: Argument = Argument::required("window", Kind::Segments, "w: the largest window");
const ACKS: Argument = Argument::or(
    "acks",
    Kind::Word(&["every", "second"]),
    "every",
    "d: which segments are acknowledged (d = 1, d = 2)",
);
const SECOND: Argument = Argument::or(
    "acks",
    Kind::Word(&["every", "second"]),
    "second",
    "d: which segments are acknowledged (d = 1, d = 2)",
);
const INITIAL: Argument = Argument::or("initial", Kind::Segments, "", "w₀: the initial window; none: d");
const THRESHOLD: Argument = Argument::or("threshold", Kind::Segments, "", "b: the slow start threshold; none: w");
const BOUND: Argument = Argument::or("bound", Kind::Word(&["upper", "lower"]), "upper", "which end of the oscillation");
const COUNT: Argument = Argument::or(
    "count",
    Kind::Word(&["fluid", "cells", "waiting"]),
    "fluid",
    "fractions of cells; whole cells; whole cells without the one being served",
);

const THEOREM_1: &[Argument] = &[SEGMENT, PEAK, RATE, RTT, WINDOW, ACKS, INITIAL, THRESHOLD, BOUND, COUNT];
const THEOREM_2: &[Argument] = &[SEGMENT, PEAK, RATE, RTT, WINDOW, ACKS, BOUND, COUNT];
const THEOREM_3: &[Argument] = &[SEGMENT, PEAK, RATE, RTT, WINDOW, SECOND, BOUND, COUNT];
const TIMES: &[Argument] = &[SEGMENT, PEAK, RATE, RTT, WINDOW, ACKS, INITIAL, THRESHOLD];
const BUFFER: &[Argument] = &[SEGMENT, PEAK, RATE, RTT, WINDOW, ACKS, INITIAL, THRESHOLD, COUNT];
const INTERVAL: &[Argument] = &[
    SEGMENT,
    PEAK,
    RATE,
    RTT,
    WINDOW,
    ACKS,
    INITIAL,
    THRESHOLD,
    COUNT,
    Argument::required(
        "interval",
        Kind::Count,
        "n: from 0 if every segment is acknowledged, from 1 if every second is",
    ),
];

const DOMAIN: &str = "c < h; one connection that always has data; no loss; δ constant; whole segments";
const CONDITION: &str = "as Theorem 2, and condition C1: the oscillation begins before the window b is acknowledged";

fn spacer(a: &Arguments, id: &'static str) -> Result<(Spacer, Vec<String>), Error> {
    let segment = a.cells("segment").0;
    let acknowledgements = match a.word("acks") {
        "second" => Acknowledgements::EverySecond,
        _ => Acknowledgements::EverySegment,
    };
    let d = acknowledgements.segments();
    let rate = a.rate("rate");
    let window = a.segments("window", segment);
    let or = |name: &str, default: u64| if a.has(name) { a.segments(name, segment) } else { default };
    let through = (d * segment * 424) as f64 / rate.as_bps().max(1) as f64;
    let rtt = a.time("rtt").as_secs_f64();
    if rtt < through {
        let what = format!("a round trip of {rtt} s is shorter than d segments take at the spacing rate ({through} s)");
        return Err(undefined(id, what, "Δ of at least dσ/c"));
    }
    let input = SpacerInput {
        segment,
        peak: a.rate("peak"),
        rate,
        delay: Span::from_secs_f64(rtt - through),
        acknowledgements,
        initial: or("initial", d),
        threshold: or("threshold", window),
        window,
    };
    let spacer = Spacer::new(input)?;
    let mut caveats = Vec::new();
    if a.is_ragged("window", segment) {
        caveats.push(format!("the window is not whole segments; {window} of {segment} cells are used"));
    }
    Ok((spacer, caveats))
}

fn count(a: &Arguments) -> Count {
    match a.word("count") {
        "cells" => Count::Cells,
        "waiting" => Count::Waiting,
        _ => Count::Fluid,
    }
}

/// Returns the `bound` of the oscillation at a window of `segments`.
fn level(a: &Arguments, spacer: &Spacer, segments: u64) -> f64 {
    match a.word("bound") {
        "lower" => spacer.low_counted(segments, count(a)),
        _ => spacer.peak_counted(spacer.high(segments), count(a)),
    }
}

fn with(equation: &'static Equation, value: f64, unit: &'static str, caveats: Vec<String>) -> Predicted {
    Predicted { caveats, ..Predicted::new(value, unit, equation) }
}

/// Returns the reason for which Theorem 1 and its times do not hold, if any.
fn outside(spacer: &Spacer) -> Option<String> {
    (!spacer.slow_start().condition && spacer.window() > spacer.threshold())
        .then(|| "outside condition C1: the window grows on before the content has settled at the threshold".to_owned())
}

fn final_level(a: &Arguments, equation: &'static Equation) -> Result<Predicted, Error> {
    let (spacer, caveats) = spacer(a, equation.id)?;
    Ok(with(equation, level(a, &spacer, spacer.window()), "cell", caveats))
}

pub(crate) const EQUATIONS: &[Equation] = &[
    Equation {
        id: "spacer-theorem-1",
        title: "content of a spacer at the end of slow start",
        source: "Guillemin et al., Theorem 1, equation (3); Theorem 3, equation (22)",
        formula: "(bσ − cΔ)⁺, and dσ(1 − c/h) more",
        arguments: THEOREM_1,
        domain: CONDITION,
        compute: |a| {
            let (spacer, mut caveats) = spacer(a, "spacer-theorem-1")?;
            caveats.extend(outside(&spacer));
            Ok(with(&EQUATIONS[0], level(a, &spacer, spacer.threshold()), "cell", caveats))
        },
    },
    Equation {
        id: "spacer-theorem-2",
        title: "content of a spacer at the largest window",
        source: "Guillemin et al., Theorem 2, equation (13)",
        formula: "(wσ − cΔ)⁺, and dσ(1 − c/h) more",
        arguments: THEOREM_2,
        domain: DOMAIN,
        compute: |a| final_level(a, &EQUATIONS[1]),
    },
    Equation {
        id: "spacer-theorem-3",
        title: "content of a spacer at the largest window, every second segment acknowledged",
        source: "Guillemin et al., Theorem 3, equations (23) and (24), with Δ′ = δ + 2σ/c throughout",
        formula: "(wσ − cΔ′)⁺, and 2σ(1 − c/h) more",
        arguments: THEOREM_3,
        domain: DOMAIN,
        compute: |a| final_level(a, &EQUATIONS[2]),
    },
    Equation {
        id: "spacer-interval",
        title: "largest content of a spacer in one interval of slow start",
        source: "Guillemin et al., equations (7), (8), (18) and (19), recursion (17)",
        formula: "σ min(g − 1 + (d+1)(1 − c/h), (d+1)g(1 − c/h)) for g acknowledgements, at most L(h − c)",
        arguments: INTERVAL,
        domain: DOMAIN,
        compute: |a| {
            let (spacer, caveats) = spacer(a, "spacer-interval")?;
            let intervals = spacer.slow_start().intervals;
            let Some(interval) = intervals.iter().find(|i| i.number == a.count("interval")) else {
                let (first, last) = (intervals[0].number, intervals[intervals.len() - 1].number);
                let what = format!("slow start has the intervals {first} to {last} that begin with an empty spacer");
                return Err(undefined("spacer-interval", what, "one of those"));
            };
            Ok(with(&EQUATIONS[3], spacer.peak_counted(interval.maximum, count(a)), "cell", caveats))
        },
    },
    Equation {
        id: "spacer-oscillation-time",
        title: "when the content begins to oscillate at the threshold",
        source: "Guillemin et al., Theorem 1, equations (4) to (6), corrected in docs/models/spacing.md",
        formula: "t_b = start of interval ν + 1, and max(b − W_ν, ⌈c/(d(h − c)) (b − W_ν + (p_ν − hL_ν/σ)⁺)⌉) dσ/c",
        arguments: TIMES,
        domain: CONDITION,
        compute: |a| {
            let (spacer, mut caveats) = spacer(a, "spacer-oscillation-time")?;
            caveats.extend(outside(&spacer));
            Ok(with(&EQUATIONS[4], spacer.slow_start().oscillation_time, "s", caveats))
        },
    },
    Equation {
        id: "spacer-window-time",
        title: "when the window is at its maximum",
        source: "Guillemin et al., section 4, derived in docs/models/spacing.md",
        formula: "⌈b/d⌉ + … + ⌈(w − 1)/d⌉ acknowledgements after τ_b, dσ/c apart while the spacer is busy",
        arguments: TIMES,
        domain: "as Theorem 2; the window grows by one segment for each window acknowledged",
        compute: |a| {
            let (spacer, caveats) = spacer(a, "spacer-window-time")?;
            Ok(with(&EQUATIONS[5], spacer.avoidance().window_time, "s", caveats))
        },
    },
    Equation {
        id: "spacer-buffer",
        title: "buffer of a spacer for a transfer without loss",
        source: "Guillemin et al., sections 3 to 6; derived in docs/models/spacing.md",
        formula: "the largest content of slow start, congestion avoidance and the final oscillation",
        arguments: BUFFER,
        domain: DOMAIN,
        compute: |a| {
            let (spacer, caveats) = spacer(a, "spacer-buffer")?;
            Ok(with(&EQUATIONS[6], spacer.peak_counted(spacer.buffer(), count(a)), "cell", caveats))
        },
    },
];
