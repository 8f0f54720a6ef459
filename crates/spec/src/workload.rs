//! Conversations drawn from a class of a workload file.

use cellway_settings::choice;
use cellway_units::Span;

choice! {
    /// The instants at which the conversations of a class begin.
    pub enum ConversationArrivals {
        /// At the measured distances, whether or not earlier ones have ended; each over a connection of its own.
        Open = "open",
        /// One after the other in each slot, as of a user who waits for the end of each.
        Closed = "closed",
    }
}

/// The rate of conversations that arrive by themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConversationPace {
    /// Conversations of a slot in place of one of the measured ones, above 0.
    Scale(f64),
    /// The rate at which the octets of the conversations of all slots of a group have this share of the rate of the
    /// bottleneck link, above 0, in the direction that has more of them.
    Load(f64),
}

/// When the conversations of a slot begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConversationUse {
    /// [`ConversationArrivals::Open`].
    Open {
        /// Their rate.
        pace: ConversationPace,
        /// The number of conversations after which no more arrive; without end if absent.
        count: Option<u64>,
        /// The time after which no more arrive, from the start of the slot; without end if absent.
        duration: Option<Span>,
        /// The most conversations that are open at once, at least 1. One that arrives beyond is rejected.
        limit: u32,
    },
    /// [`ConversationArrivals::Closed`].
    Closed {
        /// The time from the end of a conversation to the next one.
        gap: Span,
    },
}

/// Conversations drawn from a class of a workload file.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// The file, relative to that of the scenario.
    pub file: String,
    /// The name of the class.
    pub class: String,
    /// True if values are drawn from the fitted laws, where a distribution has one.
    pub fits: bool,
    /// When they begin.
    pub arrivals: ConversationUse,
}

impl WorkloadSpec {
    /// The default of the most conversations that are open at once.
    pub const LIMIT: u32 = 10_000;
}

impl ConversationUse {
    /// Returns the choice in a file.
    pub const fn arrivals(&self) -> ConversationArrivals {
        match self {
            ConversationUse::Open { .. } => ConversationArrivals::Open,
            ConversationUse::Closed { .. } => ConversationArrivals::Closed,
        }
    }
}
