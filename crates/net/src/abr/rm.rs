//! The contents of a resource management cell.

use cellway_units::Rate;

/// The direction of an RM cell (its DIR bit).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RmDirection {
    /// With the data, from source to destination.
    Forward,
    /// Back to the source.
    Backward,
}

/// The fields of an RM cell that the control loop uses. ATM Forum TM 4.0 section 5.10.3.
///
/// Rates are whole bit/s of cells of 53 octets. The standard's 16-bit floating-point format, which
/// rounds to one part in 512, is not modelled. Nor are the fields BN, QL, SN and RA; every backward cell is a forward
/// cell that the destination turned around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RmCell {
    /// Its direction.
    pub direction: RmDirection,
    /// Current cell rate: ACR of the source when it sent the cell.
    pub ccr: Rate,
    /// Minimum cell rate of the connection.
    pub mcr: Rate,
    /// Explicit rate: the most that the source may send. The source requests PCR; switches lower it.
    pub er: Rate,
    /// Congestion indication: the source must reduce ACR.
    pub ci: bool,
    /// No increase: the source must not raise ACR.
    pub ni: bool,
}

impl RmCell {
    /// Lowers the explicit rate to `rate`; never raises it. TM 4.0 section 5.10.6.
    pub fn limit(&mut self, rate: Rate) {
        self.er = self.er.min(rate);
    }
}
