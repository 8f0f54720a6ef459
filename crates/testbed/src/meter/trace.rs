//! The record of a slot in `observe.trace`: its window, and the variables of its congestion control, at each change.

use cellway_record::metric::Metric;
use cellway_units::Time;

use super::Meter;
use super::changes::Changes;

/// The recorded changes of a slot.
#[derive(Debug)]
pub(crate) struct Trace {
    most: usize,
    pub(super) window: Changes,
    pub(super) variables: Vec<TracedVariable>,
    /// The place behind the last variable: they come in the same order each time.
    next: usize,
}

/// A variable with its last value.
#[derive(Debug)]
pub(super) struct TracedVariable {
    pub(super) metric: &'static Metric,
    last: f64,
    pub(super) changes: Changes,
}

impl Trace {
    /// Creates an empty record with at most `most` changes of each quantity.
    pub(crate) fn new(most: usize) -> Trace {
        Trace { most, window: Changes::new(most), variables: Vec::new(), next: 0 }
    }

    /// Records the value of a variable, if it is new.
    pub(super) fn variable(&mut self, now: Time, metric: &'static Metric, value: f64) {
        let is = |at: usize| self.variables.get(at).is_some_and(|known| std::ptr::eq(known.metric, metric));
        let guess = self.next % self.variables.len().max(1);
        let at = if is(guess) { Some(guess) } else { (0..self.variables.len()).find(|&at| is(at)) };
        if let Some(at) = at {
            self.next = at + 1;
            let known = &mut self.variables[at];
            if known.last != value {
                known.last = value;
                known.changes.push(now, value);
            }
            return;
        }
        let mut changes = Changes::new(self.most);
        changes.push(now, value);
        self.variables.push(TracedVariable { metric, last: value, changes });
    }
}

impl Meter {
    /// Returns true if the variables of a model of congestion control are recorded for a slot.
    pub fn traces(&self, slot: usize) -> bool {
        self.slots[slot].trace.is_some()
    }

    /// Records a variable of the model of the slot's newest connection, if it has changed.
    pub fn variable(&mut self, now: Time, slot: usize, variable: &'static Metric, value: f64) {
        if let Some(trace) = &mut self.slots[slot].trace {
            trace.variable(now, variable, value);
        }
    }
}
