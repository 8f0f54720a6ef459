//! Constants of a connection of the ABR service.

pub use cellway_spec::AbrParameters;
use cellway_units::Rate;

/// TCR, the rate of out-of-rate RM cells: 10 cells of 53 octets a second. TM 4.0 section 5.10.2.
pub const TAGGED_CELL_RATE: Rate = Rate::from_bps(4_240);

/// In-rate cells between forward RM cells, at the least. A constant of TM 4.0.
pub(super) const MRM: u32 = 2;

/// Returns the least ACR. TM 4.0 lets a source that MCR does not keep going probe with out-of-rate RM cells at TCR; here
/// such a source sends its in-rate cells at TCR instead.
pub(super) fn floor(parameters: &AbrParameters) -> Rate {
    parameters.mcr.max(TAGGED_CELL_RATE).min(parameters.pcr)
}
