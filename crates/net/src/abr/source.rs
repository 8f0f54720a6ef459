//! The source end system: its rate, and its next cell.

use cellway_units::{Rate, Span, Time};

use super::parameters::{AbrParameters, MRM, floor};
use super::rm::{RmCell, RmDirection};
use crate::gcra::Gcra;

/// The cells that a source could send, besides forward RM cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// A data cell.
    pub data: bool,
    /// A backward RM cell, turned around for the connection of the other direction.
    pub backward: bool,
}

/// The cell that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InRateCell {
    /// A forward RM cell, made now.
    ForwardRm(RmCell),
    /// The backward RM cell that waits.
    BackwardRm,
    /// The data cell that waits.
    Data,
}

/// A source end system. ATM Forum TM 4.0 section 5.10.4; the rules are named by their numbers
/// there. All its cells are in-rate: out-of-rate RM cells (rule 11) are not sent.
///
/// ACR is in whole bit/s. Where a rule says "at least" or "no more than", the rounding keeps to it.
#[derive(Clone, Debug)]
pub struct AbrSource {
    parameters: AbrParameters,
    acr: Rate,
    pacer: Gcra,
    /// When the last forward RM cell was sent.
    forward_at: Option<Time>,
    /// In-rate cells sent since.
    since_forward: u32,
    /// True if a backward RM cell was among them.
    backward_sent: bool,
    /// Forward RM cells sent since a backward one was received.
    unanswered: u32,
}

impl AbrSource {
    /// Creates a source that may start at once, at ICR (rule 2). The parameters must pass [`AbrParameters::check`].
    pub fn new(parameters: AbrParameters) -> AbrSource {
        debug_assert_eq!(parameters.check(), Ok(()));
        let acr = parameters.icr.max(floor(&parameters));
        AbrSource {
            parameters,
            acr,
            pacer: Gcra::new(acr, Span::ZERO),
            forward_at: None,
            since_forward: 0,
            backward_sent: false,
            unanswered: 0,
        }
    }

    /// Returns the allowed cell rate ACR (bit/s of whole cells).
    pub fn acr(&self) -> Rate {
        self.acr
    }

    /// Returns the parameters of the connection.
    pub fn parameters(&self) -> &AbrParameters {
        &self.parameters
    }

    /// Returns the first instant from `now` on at which ACR permits the next in-rate cell (rule 1). It changes with
    /// ACR: call again after [`receive`](AbrSource::receive).
    #[inline]
    pub fn earliest(&self, now: Time) -> Time {
        self.pacer.earliest(now)
    }

    /// Sends the next in-rate cell at `now`, which is not before [`earliest`](AbrSource::earliest), and returns its
    /// kind; `None` if no cell waits.
    #[inline]
    pub fn send(&mut self, now: Time, waiting: Waiting) -> Option<InRateCell> {
        debug_assert!(self.earliest(now) <= now, "too early at {now}");
        if !waiting.data && !waiting.backward {
            return None;
        }
        let cell = if self.is_forward_due(now) {
            InRateCell::ForwardRm(self.forward(now))
        } else {
            self.since_forward += 1;
            // Rule 3b, and 3c.
            if waiting.backward && (!self.backward_sent || !waiting.data) {
                self.backward_sent = true;
                InRateCell::BackwardRm
            } else {
                InRateCell::Data
            }
        };
        self.pacer.take(now);
        Some(cell)
    }

    /// Returns true if the next in-rate cell is a forward RM cell (rules 2 and 3a).
    #[inline]
    fn is_forward_due(&self, now: Time) -> bool {
        self.forward_at.is_none_or(|at| {
            self.since_forward >= self.parameters.nrm - 1
                || (self.since_forward >= MRM && now.since(at) >= self.parameters.trm)
        })
    }

    /// Returns the pacer, if data is next.
    #[inline]
    pub(crate) fn pacer(&mut self) -> Option<&mut Gcra> {
        (self.most_data().0 > 0).then_some(&mut self.pacer)
    }

    /// Returns the most data cells before the next forward RM cell, and an instant up to which that is not due for its time.
    #[inline]
    pub(crate) fn most_data(&self) -> (u32, Time) {
        match self.forward_at {
            Some(at) => ((self.parameters.nrm - 1).saturating_sub(self.since_forward), at + self.parameters.trm),
            None => (0, Time::ZERO),
        }
    }

    /// Counts data cells that the pacer has spaced.
    #[inline]
    pub(crate) fn sent_data(&mut self, cells: u32) {
        self.since_forward += cells;
    }

    fn forward(&mut self, now: Time) -> RmCell {
        let AbrParameters { pcr, mcr, icr, crm, cdf, adtf, .. } = self.parameters;
        // Rule 5: a rate that was not used is lost.
        if self.acr > icr && self.forward_at.is_some_and(|at| now.since(at) > adtf) {
            self.set_acr(now, icr.as_bps());
        }
        // Rule 6: no backward RM cells arrive.
        if self.unanswered >= crm {
            self.set_acr(now, self.acr.as_bps() - cdf.ceil_of(self.acr.as_bps()));
        }
        self.unanswered = self.unanswered.saturating_add(1);
        self.forward_at = Some(now);
        self.since_forward = 0;
        self.backward_sent = false;
        // Rules 7 and 10.
        RmCell { direction: RmDirection::Forward, ccr: self.acr, mcr: mcr.min(pcr), er: pcr, ci: false, ni: false }
    }

    /// Processes a backward RM cell that arrives at `now` (rules 8 and 9).
    pub fn receive(&mut self, now: Time, rm: &RmCell) {
        debug_assert_eq!(rm.direction, RmDirection::Backward);
        self.unanswered = 0;
        let AbrParameters { pcr, rif, rdf, .. } = self.parameters;
        let acr = self.acr.as_bps();
        let acr = if rm.ci {
            acr - rdf.ceil_of(acr)
        } else if rm.ni {
            acr
        } else {
            acr.saturating_add(rif.floor_of(pcr.as_bps()))
        };
        self.set_acr(now, acr.min(rm.er.as_bps()));
    }

    /// Changes the contract's peak rate at `now`. While it is below MCR or ICR it replaces them.
    pub fn set_pcr(&mut self, now: Time, pcr: Rate) {
        self.parameters.pcr = pcr;
        self.set_acr(now, self.acr.as_bps());
    }

    /// Sets ACR, between MCR and PCR. Rule 1.
    fn set_acr(&mut self, now: Time, bps: u64) {
        let acr = Rate::from_bps(bps).min(self.parameters.pcr).max(floor(&self.parameters));
        if acr != self.acr {
            self.acr = acr;
            self.pacer.set_rate(now, acr);
        }
    }
}

#[cfg(test)]
mod tests;
