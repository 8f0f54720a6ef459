//! The parameters of a connection of the ABR service.

use cellway_spec::Fraction;
use cellway_units::{Rate, Span};

/// TCR, the rate of out-of-rate RM cells: 10 cells of 53 octets a second. TM 4.0 section 5.10.2.
pub const TAGGED_CELL_RATE: Rate = Rate::from_bps(4_240);

/// The parameters of an ABR connection. ATM Forum TM 4.0 section 5.10.2. Rates are in bit/s of
/// whole cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbrParameters {
    /// Peak cell rate: ACR is never above.
    pub pcr: Rate,
    /// Minimum cell rate: ACR is never below.
    pub mcr: Rate,
    /// Initial cell rate, at the start and after a pause.
    pub icr: Rate,
    /// Rate increase factor: a backward RM cell may raise ACR by RIF × PCR.
    pub rif: Fraction,
    /// Rate decrease factor: one with CI lowers it by RDF × ACR.
    pub rdf: Fraction,
    /// In-rate cells for each forward RM cell, that one included.
    pub nrm: u32,
    /// A forward RM cell is also sent this long after the last, if Mrm = 2 cells were sent.
    pub trm: Span,
    /// Forward RM cells that may go unanswered before ACR falls.
    pub crm: u32,
    /// Cutoff decrease factor: each further unanswered one lowers ACR by CDF × ACR.
    pub cdf: Fraction,
    /// ACR decrease time factor: after a longer pause between forward RM cells ACR falls to ICR.
    pub adtf: Span,
}

/// In-rate cells between forward RM cells, at the least. A constant of TM 4.0.
pub(super) const MRM: u32 = 2;

impl AbrParameters {
    /// Returns the values for a contract with only a peak rate: MCR 0, ICR = PCR, RIF, RDF and CDF 1/16, Nrm 32, Trm
    /// 100 ms, CRM 32, ADTF 500 ms.
    pub const fn new(pcr: Rate) -> AbrParameters {
        AbrParameters {
            pcr,
            mcr: Rate::from_bps(0),
            icr: pcr,
            rif: Fraction::one_over(16),
            rdf: Fraction::one_over(16),
            nrm: 32,
            trm: Span::from_ms(100),
            crm: 32,
            cdf: Fraction::one_over(16),
            adtf: Span::from_ms(500),
        }
    }

    /// Checks the parameters for contradictions.
    pub fn check(&self) -> Result<(), AbrError> {
        if self.pcr.as_bps() == 0 {
            Err(AbrError::NoPeak)
        } else if self.mcr > self.pcr {
            Err(AbrError::MinimumAbovePeak { mcr: self.mcr, pcr: self.pcr })
        } else if self.icr > self.pcr {
            Err(AbrError::InitialAbovePeak { icr: self.icr, pcr: self.pcr })
        } else if self.nrm < 2 {
            Err(AbrError::OnlyRmCells { nrm: self.nrm })
        } else {
            Ok(())
        }
    }

    /// Returns the least ACR. TM 4.0 lets a source with MCR 0 probe with out-of-rate RM cells at TCR; here such a
    /// source sends its in-rate cells at TCR instead.
    pub(super) fn floor(&self) -> Rate {
        self.mcr.max(TAGGED_CELL_RATE).min(self.pcr)
    }
}

/// The reason why a set of parameters is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AbrError {
    /// PCR is zero.
    #[error("PCR of an ABR connection must be above 0")]
    NoPeak,
    /// MCR above PCR.
    #[error("MCR {mcr} is above PCR {pcr}")]
    MinimumAbovePeak {
        /// MCR.
        mcr: Rate,
        /// PCR.
        pcr: Rate,
    },
    /// ICR above PCR.
    #[error("ICR {icr} is above PCR {pcr}")]
    InitialAbovePeak {
        /// ICR.
        icr: Rate,
        /// PCR.
        pcr: Rate,
    },
    /// No room for data.
    #[error("Nrm must be at least 2, not {nrm}: one of every Nrm cells is an RM cell")]
    OnlyRmCells {
        /// Nrm.
        nrm: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_round_the_way_they_say() {
        let sixteenth = Fraction::one_over(16);
        assert_eq!((sixteenth.floor_of(33), sixteenth.ceil_of(33)), (2, 3));
        assert_eq!((sixteenth.floor_of(32), sixteenth.ceil_of(32)), (2, 2));
        assert_eq!(Fraction::one_over(1).floor_of(u64::MAX), u64::MAX);
        assert_eq!(Fraction::new(3, 2), None);
        assert_eq!(Fraction::new(0, 0), None);
    }

    #[test]
    fn contradictions_are_refused() {
        let good = AbrParameters::new(Rate::from_bps(1_000_000));
        assert_eq!(good.check(), Ok(()));
        let high = Rate::from_bps(1_000_001);
        assert!(matches!(AbrParameters { mcr: high, ..good }.check(), Err(AbrError::MinimumAbovePeak { .. })));
        assert!(matches!(AbrParameters { icr: high, ..good }.check(), Err(AbrError::InitialAbovePeak { .. })));
        assert!(matches!(AbrParameters { nrm: 1, ..good }.check(), Err(AbrError::OnlyRmCells { nrm: 1 })));
        assert_eq!(AbrParameters::new(Rate::from_bps(0)).check(), Err(AbrError::NoPeak));
    }
}
