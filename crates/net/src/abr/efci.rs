//! Binary marking: a long queue marks the data cells that pass.

use cellway_units::Cells;

/// Explicit forward congestion indication: while at least `threshold` cells wait, the port sets EFCI in the data cells
/// it sends. ATM Forum TM 4.0 section 5.10.6, the first method by which a switch may control ABR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EfciMarker {
    threshold: Cells,
}

impl EfciMarker {
    /// Marks from a queue of `threshold` cells on.
    pub const fn new(threshold: Cells) -> EfciMarker {
        EfciMarker { threshold }
    }

    /// Returns true if a data cell that leaves a queue of `waiting` cells, itself counted, is marked. A mark of an
    /// earlier switch remains in any case.
    pub const fn marks(self, waiting: Cells) -> bool {
        waiting.0 >= self.threshold.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_marked_from_the_threshold_on() {
        let marker = EfciMarker::new(Cells(64));
        assert!(!marker.marks(Cells(63)));
        assert!(marker.marks(Cells(64)));
    }
}
