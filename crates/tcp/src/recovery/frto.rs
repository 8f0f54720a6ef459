//! F-RTO: finds out if a timeout was spurious, without timestamps. RFC 5682 §3, with SACK.
//!
//! The first acknowledgement after a timeout may be that of the retransmission or of a first transmission that was late.
//! New data in place of further retransmissions brings another: that of late data if these are still in the network.

use super::AckKind;
use crate::Position;
use crate::retransmission_queue::Arrived;
use crate::send::Chunk;

/// The new segments that are sent. RFC 5682 §3, step 2.
const NEW_SEGMENTS: u8 = 2;
/// The largest window after a timeout that was not spurious, in segments. RFC 5682 §3, step 3.
pub(super) const WINDOW_AFTER_LOSS: u64 = 3;

/// The state of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// The first segment was retransmitted (step 1).
    Resent,
    /// That was acknowledged: up to this many segments of new data are sent in place of lost data (step 2).
    New(u8),
    /// The outcome is known, or cannot be known: lost data are retransmitted.
    Over,
}

/// The result of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Unknown,
    /// Nothing was lost.
    Spurious,
    /// No late data were acknowledged, only new data or nothing.
    Loss,
}

impl Check {
    /// Begins at a timeout. `repairing`: a loss is repaired already, so there is no check (step 1).
    pub(super) fn new(repairing: bool) -> Check {
        if repairing { Check::Over } else { Check::Resent }
    }
    /// Processes an acknowledgement that reports the segments `arrived`; data below `recovery_point` were sent before the
    /// timeout.
    pub(super) fn acked(&mut self, arrived: &[Arrived], ack: AckKind, recovery_point: Position) -> Outcome {
        if *self == Check::Over || arrived.is_empty() && ack != AckKind::Duplicate {
            return Outcome::Unknown;
        }
        if *self == Check::Resent {
            *self = if ack == AckKind::Advance { Check::New(NEW_SEGMENTS) } else { Check::Over };
            return Outcome::Unknown;
        }
        if arrived.iter().any(|s| !s.retransmitted && s.end <= recovery_point) {
            return Outcome::Spurious;
        }
        *self = Check::Over;
        Outcome::Loss
    }
    /// Returns what to send now, if the check decides that: new data if `new` has any, or nothing. Without new data there
    /// is no check.
    pub(super) fn next(&mut self, new: impl FnOnce() -> Option<Chunk>) -> Option<Option<Chunk>> {
        let Check::New(left) = *self else { return None };
        let chunk = if left > 0 { new() } else { None };
        if chunk.is_none() && left == NEW_SEGMENTS {
            *self = Check::Over;
            return None;
        }
        Some(chunk)
    }
    /// Counts a segment of new data.
    pub(super) fn sent_new(&mut self) {
        if let Check::New(left) = self {
            *left = left.saturating_sub(1);
        }
    }
}
