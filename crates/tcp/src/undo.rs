//! Evidence that the retransmissions of a loss episode were not needed, so that its reduction of the window is undone.
//!
//! Two kinds: the peer reports all retransmitted data as duplicates (D-SACK, RFC 2883; Linux counts them in
//! `undo_retrans`), or the acknowledgement of the retransmitted data echoes a timestamp from before the retransmission
//! (Eifel detection, RFC 3522). F-RTO, the third, is part of [RACK](crate::recovery).

use cellway_units::Time;

use crate::congestion::{Repair, Window};
use crate::send::Chunk;
use crate::{Position, SackBlock, SeqNum};

/// Data that the peer has received twice, as its D-SACK block reports. RFC 2883.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duplicate {
    pub(crate) start: Position,
    /// The position behind it.
    pub(crate) end: Position,
}

impl Duplicate {
    /// Returns the duplicate that the first of `blocks` reports, if it is a D-SACK block: it lies below the
    /// acknowledgement `ack` of its segment, or inside the second block. RFC 2883 §4. `iss` has position 0, and `una` is
    /// the first position not acknowledged.
    pub(crate) fn of(blocks: &[SackBlock], ack: Position, iss: SeqNum, una: Position) -> Option<Duplicate> {
        let position = |seq: SeqNum| seq.position(iss, una);
        let range = |block: &SackBlock| Some((position(block.start)?, position(block.end)?));
        let (start, end) = range(blocks.first()?)?;
        let inside = |(from, to): (Position, Position)| from <= start && end <= to;
        let is_duplicate = start < ack || blocks.get(1).and_then(range).is_some_and(inside);
        (is_duplicate && start < end).then_some(Duplicate { start, end })
    }
}

/// The timestamps that acknowledgements of the retransmitted data have echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Echoes {
    None,
    /// All from before the first retransmission: the first transmissions have arrived.
    Early,
    /// Not all: a retransmission was needed.
    Late,
}

/// A reduction of the window for a loss that may prove not to be one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// The window before the first reduction of the episode.
    pub(crate) before: Window,
    /// The repair that it began with.
    pub(crate) repair: Repair,
    /// The episode retransmits data between these.
    from: Position,
    to: Position,
    /// When it retransmitted first.
    first: Option<Time>,
    /// Retransmitted and not reported as duplicate, of the sequence space (bytes). As in Linux a block counts by its
    /// length: packets that the network duplicates look like retransmissions.
    unreported: u64,
    echoes: Echoes,
}

impl Reduction {
    /// Begins an episode with the data from `una` on. The peer may still report `probed` bytes that a loss probe has
    /// retransmitted.
    pub(crate) fn new(before: Window, repair: Repair, una: Position, probed: u64) -> Reduction {
        Reduction { before, repair, from: una, to: una, first: None, unreported: probed, echoes: Echoes::None }
    }
    /// Counts a retransmission.
    pub(crate) fn resent(&mut self, chunk: Chunk, now: Time) {
        self.first.get_or_insert(now);
        self.to = self.to.max(chunk.end());
        self.unreported += chunk.end() - chunk.from;
    }
    /// Counts a duplicate that the peer reports, if this episode may have caused it.
    pub(crate) fn reported(&mut self, duplicate: Duplicate) {
        if self.from <= duplicate.start && duplicate.end <= self.to {
            self.unreported = self.unreported.saturating_sub(duplicate.end - duplicate.start);
        }
    }
    /// Takes an acknowledgement that moves the first unacknowledged position from `una`, and echoes a timestamp that its
    /// segment carried no later than at `echo`. RFC 3522 §3.2, steps 4 and 5, for all retransmissions of the episode.
    pub(crate) fn acked(&mut self, una: Position, echo: Option<Time>) {
        if let (Some(echo), Some(first)) = (echo, self.first)
            && una < self.to
        {
            let early = echo <= first && self.echoes != Echoes::Late;
            self.echoes = if early { Echoes::Early } else { Echoes::Late };
        }
    }
    /// Returns true if nothing was lost, where everything below `una` is acknowledged.
    pub(crate) fn is_spurious(&self, una: Position) -> bool {
        self.first.is_some() && (self.unreported == 0 || self.echoes == Echoes::Early && una >= self.to)
    }
}
