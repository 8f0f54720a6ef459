//! The waiting time of a cell in a round robin of cell queues.

use cellway_units::{CELL_BITS, Rate};

use crate::arguments::{Argument, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

/// Returns the longest waiting time, in s, of a cell whose own queue is empty, with `others` queues that never are: the
/// rest of the cell on the line and one cell of each queue whose turn is before. One more if the token of a queue
/// returns to the end of the ring before its cell is sent (`early`), so that the queue being served can be before it
/// again.
///
/// # Errors
/// [`Error::Undefined`] for a rate of zero.
pub fn fair_queue_delay(others: u64, rate: Rate, early: bool) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[0];
    if rate.as_bps() == 0 {
        return Err(undefined(equation.id, "a line of rate 0 sends nothing", "a rate above 0"));
    }
    let cells = if others == 0 { 0 } else { others.saturating_add(u64::from(early)) };
    Ok(Predicted::new(cells as f64 * CELL_BITS.0 as f64 / rate.as_bps() as f64, "s", equation))
}

pub(crate) const EQUATIONS: &[Equation] = &[Equation {
    id: "fair-queue-delay",
    title: "longest wait of a single cell behind other queues",
    source: "Cáceres 1993, section 8 (the server); A. Demers et al., SIGCOMM 1989; derived in docs/models/theory.md",
    formula: "m × 424 bit / rate; m + 1 if the token goes back before the cell is sent",
    arguments: &[
        Argument::required("others", Kind::Count, "m: other queues, never empty"),
        Argument::required("rate", Kind::Rate, "rate of the line"),
        Argument::or(
            "token",
            Kind::Word(&["after", "before"]),
            "after",
            "whether a queue's token goes back after its cell or before",
        ),
    ],
    domain: "one cell in a queue of its own that was empty, all queues of one priority",
    compute: |a| fair_queue_delay(a.count("others"), a.rate("rate"), a.word("token") == "before"),
}];
