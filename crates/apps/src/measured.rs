//! Measured traffic: conversations whose counts, sizes and times are drawn from the distributions of a class.
//!
//! A class over TCP is the exchange model of tmix (M. C. Weigle et al., "Tmix: a tool for generating realistic TCP
//! application workloads in ns-2", ACM SIGCOMM CCR 36(3), 2006): a conversation is a connection with a sequence of
//! requests, responses, and times between them. Each value is drawn on its own, or, if the class has recorded
//! conversations, one of these is drawn and played whole, as tmix does.

mod closed;
mod datagrams;
mod distribution;
mod exchanges;
mod law;
mod open;
mod replay;
mod script;
mod talk;

use std::sync::Arc;

use cellway_units::Span;

use crate::model::{Knot, QuantileModel};

pub use datagrams::MeasuredDatagrams;
pub use distribution::{Distribution, MOST_SECONDS};
pub use law::{FittedLaw, Law};
pub use replay::{Message, Recorded};

pub(crate) use closed::ClosedMeasured;
pub(crate) use datagrams::MeasuredSource;
pub(crate) use open::OpenMeasured;

/// The distributions of a class over TCP. Those that are absent were not seen: there is no response, or no time.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangeModel {
    /// Seconds between the starts of conversations.
    pub arrival_gap: Option<Distribution>,
    /// Exchanges of a conversation; one if absent.
    pub exchanges: Option<Distribution>,
    /// Octets from the originator in an exchange.
    pub request: Option<Distribution>,
    /// Octets from the responder in an exchange; 0 if it does not respond.
    pub response: Option<Distribution>,
    /// Seconds from the arrival of a whole request to the beginning of its response.
    pub pause: Option<Distribution>,
    /// Seconds from the arrival of a whole response to the next request.
    pub think: Option<Distribution>,
    /// Whole conversations, each as likely; without any, exchanges are drawn.
    pub recorded: Vec<Arc<Recorded>>,
}

/// The distributions of a class over UDP. Those that are absent were not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramModel {
    /// Seconds between the starts of conversations.
    pub arrival_gap: Option<Distribution>,
    /// Packets from the originator in a conversation.
    pub packets: Distribution,
    /// Packets from the responder in a conversation.
    pub packets_back: Option<Distribution>,
    /// Octets of payload of a packet from the originator.
    pub size: Distribution,
    /// Octets of payload of a packet from the responder.
    pub size_back: Option<Distribution>,
    /// Seconds between packets from the originator.
    pub gap: Option<Distribution>,
    /// Seconds between packets from the responder.
    pub gap_back: Option<Distribution>,
}

/// When the conversations of a class begin.
#[derive(Clone, Debug, PartialEq)]
pub enum MeasuredArrivals {
    /// As measured, whether or not earlier ones have ended; each over a connection of its own.
    Open {
        /// Conversations in place of one: a factor on their rate, above 0.
        scale: f64,
        /// The number of conversations after which no more arrive; without end if absent.
        count: Option<u64>,
        /// The time after which no more arrive; without end if absent.
        duration: Option<Span>,
        /// The most conversations that are open at once, at least 1; one that arrives beyond is rejected.
        limit: u32,
    },
    /// One after the other.
    Closed {
        /// The time from the end of a conversation to the next one.
        gap: Span,
    },
}

/// Conversations of a measured class: see [`Workload::Measured`](crate::Workload::Measured).
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredWorkload {
    /// The class.
    pub model: Arc<ExchangeModel>,
    /// True if values are drawn from the fitted laws, where a distribution has one.
    pub fits: bool,
    /// When conversations begin.
    pub arrivals: MeasuredArrivals,
}

impl ExchangeModel {
    /// Returns the model of conversations with one exchange of these sizes (octets).
    pub fn single(request: u32, response: u32) -> ExchangeModel {
        ExchangeModel {
            arrival_gap: None,
            exchanges: Some(Distribution::constant(1)),
            request: Some(Distribution::constant(request)),
            response: Some(Distribution::constant(response)),
            pause: None,
            think: None,
            recorded: Vec::new(),
        }
    }

    /// Returns true if recorded conversations are played. With `fits` the laws are, unless the class has no exchanges.
    pub fn plays_recorded(&self, fits: bool) -> bool {
        !self.recorded.is_empty() && (!fits || self.request.is_none())
    }

    /// Returns the mean octets of a conversation from the originator and from the responder; `None` if one is infinite.
    pub fn mean_octets(&self, fits: bool) -> Option<[f64; 2]> {
        if self.plays_recorded(fits) {
            let octets = |side: usize| self.recorded.iter().map(|one| one.octets()[side] as f64).sum::<f64>();
            return Some([0, 1].map(|side| octets(side) / self.recorded.len() as f64));
        }
        let mean = |of: &Option<Distribution>, absent| of.as_ref().map_or(Some(absent), |of| of.mean(fits));
        let exchanges = mean(&self.exchanges, 1.0)?;
        Some([exchanges * mean(&self.request, 0.0)?, exchanges * mean(&self.response, 0.0)?])
    }
}

impl Distribution {
    /// Returns the distribution of one value, as if it had been seen once.
    pub fn constant(value: u32) -> Distribution {
        let knots = [0.0, 1.0].map(|probability| Knot { probability, value: f64::from(value) }).to_vec();
        let model = QuantileModel::with_atoms(knots, "constant").expect("two knots of one value are a distribution");
        Distribution { model, samples: 1, fit: None }
    }
}
