//! The parameters of the ABR service.

use cellway_units::{Rate, Span};

use crate::{Fraction, Problem};

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
    /// A forward RM cell also goes out this long after the last, if Mrm = 2 cells were sent.
    pub trm: Span,
    /// Forward RM cells that may go unanswered before ACR falls.
    pub crm: u32,
    /// Cutoff decrease factor: each further unanswered one lowers ACR by CDF × ACR.
    pub cdf: Fraction,
    /// ACR decrease time factor: after a longer pause between forward RM cells ACR falls to ICR.
    pub adtf: Span,
}

impl AbrParameters {
    /// The values where a contract names only the peak rate: MCR 0, ICR = PCR, RIF, RDF and CDF
    /// 1/16, Nrm 32, Trm 100 ms, CRM 32, ADTF 500 ms.
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

    /// Checks the rules between the parameters.
    ///
    /// # Errors
    /// The parameters break a rule.
    pub fn check(&self) -> Result<(), Problem> {
        let AbrParameters { pcr, mcr, icr, nrm, .. } = *self;
        let problem = |key, message: String, accepted: &str| Err(Problem::new(&[key], message, accepted));
        if pcr.as_bps() == 0 {
            problem("pcr", format!("{pcr} is zero"), "more than 0")
        } else if mcr > pcr {
            problem("mcr", format!("{mcr} is more than pcr, {pcr}"), "at most pcr")
        } else if icr > pcr {
            problem("icr", format!("{icr} is more than pcr, {pcr}"), "from mcr to pcr")
        } else if nrm < 2 {
            problem("nrm", format!("{nrm} leaves no data cells: one of every nrm cells is an RM cell"), "at least 2")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_refused() {
        let good = AbrParameters::new(Rate::from_bps(1_000_000));
        let key = |parameters: AbrParameters| parameters.check().map_err(|problem| problem.keys[0].clone());
        assert_eq!(key(good), Ok(()));
        let high = Rate::from_bps(1_000_001);
        assert_eq!(key(AbrParameters { mcr: high, ..good }), Err("mcr".to_owned()));
        assert_eq!(key(AbrParameters { icr: high, ..good }), Err("icr".to_owned()));
        assert_eq!(key(AbrParameters { nrm: 1, ..good }), Err("nrm".to_owned()));
        let none = AbrParameters::new(Rate::from_bps(0)).check().unwrap_err();
        assert_eq!(none.to_string(), "pcr: 0 bit/s is zero; accepted: more than 0");
    }
}
