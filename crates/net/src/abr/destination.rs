//! The destination end system: it turns RM cells around.

use super::rm::{RmCell, RmDirection};

/// A destination end system. ATM Forum TM 4.0 section 5.10.5; the rules are named by their numbers
/// there. It is never congested itself (rule 2b) and makes no RM cells of its own (rule 5).
#[derive(Clone, Debug, Default)]
pub struct AbrDestination {
    /// The EFCI mark of the last data cell.
    efci: bool,
    turned: Option<RmCell>,
    replaced: u64,
}

impl AbrDestination {
    /// Creates a destination that has received nothing.
    pub fn new() -> AbrDestination {
        AbrDestination::default()
    }

    /// Takes a data cell with or without the EFCI mark (rule 1).
    pub fn data(&mut self, efci: bool) {
        self.efci = efci;
    }

    /// Stores a forward RM cell until it can be sent back. It replaces one that still waits (rule 3a), so that newer
    /// cells never overtake older ones (rule 4).
    pub fn forward(&mut self, rm: RmCell) {
        debug_assert_eq!(rm.direction, RmDirection::Forward);
        let turned = RmCell { direction: RmDirection::Backward, ..rm };
        self.replaced += u64::from(self.turned.replace(turned).is_some());
    }

    /// Returns true if a cell waits to be sent back.
    pub fn is_waiting(&self) -> bool {
        self.turned.is_some()
    }

    /// Returns the cell to send back now. It reports congestion seen up to now (rule 2a).
    pub fn send(&mut self) -> Option<RmCell> {
        let mut rm = self.turned.take()?;
        rm.ci |= std::mem::take(&mut self.efci);
        Some(rm)
    }

    /// Cells that never went back because a newer one came first.
    pub fn replaced(&self) -> u64 {
        self.replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellway_units::Rate;

    fn forward(ccr: u64) -> RmCell {
        let [ccr, mcr, er] = [ccr, 1_000, 9_000_000].map(Rate::from_bps);
        RmCell { direction: RmDirection::Forward, ccr, mcr, er, ci: false, ni: true }
    }

    /// Rule 2: only the direction changes.
    #[test]
    fn a_cell_goes_back_unchanged() {
        let mut destination = AbrDestination::new();
        destination.forward(forward(5_000_000));
        assert!(destination.is_waiting());
        let back = RmCell { direction: RmDirection::Backward, ..forward(5_000_000) };
        assert_eq!(destination.send(), Some(back));
        assert_eq!(destination.send(), None);
    }

    /// Rules 1 and 2a: the mark of the last data cell counts, once.
    #[test]
    fn the_last_efci_mark_goes_back_as_congestion() {
        let mut destination = AbrDestination::new();
        let mut ci_after = |marks: &[bool]| {
            marks.iter().for_each(|&efci| destination.data(efci));
            destination.forward(forward(1));
            destination.send().unwrap().ci
        };
        assert!(!ci_after(&[]));
        assert!(ci_after(&[false, true]));
        assert!(!ci_after(&[]), "the mark was reported");
        assert!(!ci_after(&[true, false]), "the last cell was not marked");
    }

    /// Rule 2: CI set by a switch on the path remains.
    #[test]
    fn congestion_that_a_switch_reported_stays() {
        let mut destination = AbrDestination::new();
        destination.forward(RmCell { ci: true, ..forward(1) });
        assert!(destination.send().unwrap().ci);
    }

    /// Rule 2a: a mark that arrives while the cell waits is in time.
    #[test]
    fn marks_count_until_the_cell_leaves() {
        let mut destination = AbrDestination::new();
        destination.forward(forward(1));
        destination.data(true);
        assert!(destination.send().unwrap().ci);
    }

    /// Rules 3a and 4.
    #[test]
    fn a_newer_cell_takes_the_place_of_one_that_waits() {
        let mut destination = AbrDestination::new();
        destination.forward(forward(1));
        destination.forward(forward(2));
        assert_eq!(destination.send().unwrap().ccr, Rate::from_bps(2));
        assert!(!destination.is_waiting());
        assert_eq!(destination.replaced(), 1);
    }
}
