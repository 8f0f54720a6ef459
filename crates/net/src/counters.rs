//! The counters of a port and a router, which never decrease: a reader computes differences.

use crate::pace::{Pace, Pulse};
use cellway_units::{Span, Time};

/// Totals of one output port since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Cells sent (0 on a packet line).
    pub cells: u64,
    /// Of these: resource management cells of ABR control loops.
    pub rm_cells: u64,
    /// Packets sent whole (0 on a cell line).
    pub packets: u64,
    /// Time that the line was sending.
    pub busy: Span,
    /// Integral of the units waiting over time, the one in service not counted, in unit × ps.
    pub queue_area: u128,
    /// Most units that have waited at once since the last [`crate::Fabric::forget_peaks`].
    pub queue_peak: u32,
    /// Fewest units that have waited at once since then.
    pub queue_min: u32,
    /// Frames or packets refused whole by the buffer of a node that handles packets.
    pub dropped_frames: u64,
    /// Of `dropped_frames`: packets that the queue discipline of a packet line dropped before its limit was reached.
    pub early_drops: u64,
    /// Packets that the queue discipline of a packet line marked with "congestion experienced". RFC 3168 section 5.
    pub marked: u64,
    /// Packets that the line has taken, the one on it included (0 on a cell line).
    pub taken: u64,
    /// The time that packets have waited at a packet line, summed over those that the line has taken, in ps.
    pub sojourn: u128,
    /// Cells refused one by one by the buffer, for whatever reason.
    pub dropped_cells: u64,
    /// Of `dropped_frames`, and of the frames whose cells are in `dropped_cells`: those refused completely by early
    /// packet discard.
    pub epd_frames: u64,
    /// Of `dropped_cells`: those refused for their loss priority.
    pub clp_discarded: u64,
    /// Cells that a policer dropped before the buffer.
    pub policed_discarded: u64,
    /// Cells that a policer tagged (cell loss priority 1) and passed on to the buffer.
    pub policed_tagged: u64,
    /// Cells (RM cells too) or packets that left the line and were lost on the link behind it.
    pub lost: u64,
    /// Packets that the link behind the line has delivered twice; a copy of them is counted nowhere else.
    pub duplicated: u64,
    /// Packets that were corrupted on the link behind the line.
    pub corrupted: u64,
    /// Of `dropped_frames`: packets that an outage has dropped from the queue.
    pub flushed: u64,
}

/// Totals of one output port that are counted as units leave. The others in [`PortCounters`] are derived, and kept where
/// they are made: each port has one, so its size matters.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitCounters {
    pub(crate) cells: u64,
    pub(crate) packets: u64,
    pub(crate) busy: Span,
    rare: Option<Box<RareCounters>>,
}

/// Totals that most ports never count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RareCounters {
    pub(crate) rm_cells: u64,
    pub(crate) dropped_frames: u64,
    pub(crate) dropped_cells: u64,
    pub(crate) epd_frames: u64,
    pub(crate) clp_discarded: u64,
    pub(crate) policed_discarded: u64,
    pub(crate) policed_tagged: u64,
    pub(crate) lost: u64,
}

impl UnitCounters {
    /// Returns the totals of what happens at few ports, to be counted further.
    #[inline]
    pub(crate) fn rare(&mut self) -> &mut RareCounters {
        self.rare.get_or_insert_default()
    }

    /// Returns the number of frames or packets that were refused whole.
    pub(crate) fn dropped_frames(&self) -> u64 {
        self.rare.as_ref().map_or(0, |rare| rare.dropped_frames)
    }

    /// Returns the totals of a port, with `level` as its queue.
    pub(crate) fn with_queue(&self, level: &Level, now: Time) -> PortCounters {
        let &UnitCounters { cells, packets, busy, ref rare } = self;
        let RareCounters {
            rm_cells,
            dropped_frames,
            dropped_cells,
            epd_frames,
            clp_discarded,
            policed_discarded,
            policed_tagged,
            lost,
        } = rare.as_deref().copied().unwrap_or_default();
        PortCounters {
            cells,
            rm_cells,
            packets,
            busy,
            queue_area: level.area(now),
            queue_peak: level.peak(),
            queue_min: level.min(),
            dropped_frames,
            dropped_cells,
            epd_frames,
            clp_discarded,
            policed_discarded,
            policed_tagged,
            lost,
            ..PortCounters::default()
        }
    }
}

/// Frames that a router's reassembly discarded, by the check that failed. ITU-T I.363.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCounters {
    /// The length in the trailer did not fit the octets received: cells were lost.
    pub length: u64,
    /// The length fitted but the CRC-32 did not: cells of two frames were mixed.
    pub crc: u64,
    /// The end of the frame did not come within the longest AAL5 frame.
    pub too_long: u64,
}

impl LossCounters {
    /// All discarded frames.
    pub fn total(&self) -> u64 {
        self.length + self.crc + self.too_long
    }
}

/// The packets of one conversation since it was opened, both directions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConversationCounters {
    /// Packets that its hosts have sent, and copies that links have made of them.
    pub sent: u64,
    /// Packets that have come to their host intact.
    pub delivered: u64,
    /// Packets lost whole as they came to a port that handles packets: refused by its buffer, or by its policer
    /// to the last cell.
    pub refused: u64,
    /// Packets lost on links, whole or as frames that missed cells; counted when the last cell has left the network. Also
    /// those that have come to their host corrupted.
    pub damaged: u64,
}

impl ConversationCounters {
    /// Packets inside the network.
    pub fn inside(&self) -> u64 {
        self.sent - self.delivered - self.refused - self.damaged
    }
}

/// A sum in 128 bits with the alignment of 64, as each port has one, and the padding behind it would be memory, too.
#[derive(Clone, Copy, Debug, Default)]
#[repr(Rust, packed(8))]
pub(crate) struct Sum128(u128);

impl Sum128 {
    #[inline(always)]
    pub(crate) fn get(self) -> u128 {
        self.0
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, value: u128) {
        self.0 = self.get() + value;
    }
}

/// A queue length that is integrated over time as it changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    now: u32,
    since: Time,
    area: Sum128,
    peak: u32,
    min: u32,
    /// Each change since the last call, if they are recorded.
    #[expect(clippy::box_collection, reason = "few queues are watched, and each port has one, so its size matters")]
    changes: Option<Box<Vec<(Time, u32)>>>,
}

impl Level {
    /// Returns the area since the last change. Of two products of 64 bits, as WebAssembly multiplies no more at once.
    #[inline]
    fn since_change(&self, at: Time) -> u128 {
        let (now, ps) = (u64::from(self.now), (at - self.since).as_ps());
        u128::from(now * (ps & 0xffff_ffff)) + (u128::from(now * (ps >> 32)) << 32)
    }

    #[inline]
    pub(crate) fn change(&mut self, at: Time, to: u32) {
        if self.now > 0 {
            self.area.add(self.since_change(at));
        }
        self.now = to;
        self.since = at;
        self.peak = self.peak.max(to);
        if to < self.min {
            self.min = to;
        }
        if self.changes.is_some() {
            self.record(at, to);
        }
    }

    /// Changes the length by -1 at each of `count` pulses of a pace, one or more, from `first` to `last`.
    #[inline]
    pub(crate) fn fall(&mut self, [first, last]: [Pulse; 2], pace: Pace, count: u32) {
        self.area.add(self.since_change(first.at()));
        let last = last.at();
        if count > 1 {
            self.area.add(self.falls_since(first, pace, count, last));
        }
        self.now -= count;
        self.since = last;
        self.min = self.min.min(self.now);
    }

    /// Returns the area from the first of several falls to the last: by the length before the last for all of the time, and one
    /// more for the time up to each fall between the two.
    #[inline]
    fn falls_since(&self, first: Pulse, pace: Pace, count: u32, last: Time) -> u128 {
        let between = pace.sum_since(first, count - 1).unwrap_or_else(|| {
            (1..count - 1).map(|step| u128::from((pace.after_many(first, step).at() - first.at()).as_ps())).sum()
        });
        u128::from(self.now - (count - 1)) * u128::from((last - first.at()).as_ps()) + between
    }

    /// Records a unit that arrives at the empty queue and leaves it at once.
    #[inline]
    pub(crate) fn pass(&mut self, at: Time) {
        debug_assert_eq!(self.now, 0, "a unit passes others that wait");
        self.since = at;
        self.peak = self.peak.max(1);
        if self.changes.is_some() {
            self.record(at, 1);
            self.record(at, 0);
        }
    }

    #[cold]
    fn record(&mut self, at: Time, to: u32) {
        if let Some(changes) = &mut self.changes {
            changes.push((at, to));
        }
    }

    pub(crate) fn area(&self, at: Time) -> u128 {
        self.area.get() + self.since_change(at)
    }

    pub(crate) fn peak(&self) -> u32 {
        self.peak
    }

    pub(crate) fn min(&self) -> u32 {
        self.min
    }

    /// Starts peak and minimum anew from the present length.
    pub(crate) fn forget_extremes(&mut self) {
        (self.peak, self.min) = (self.now, self.now);
    }

    pub(crate) fn watch(&mut self) {
        self.changes.get_or_insert_default();
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.changes.is_some()
    }

    pub(crate) fn watched(&mut self) -> Vec<(Time, u32)> {
        self.changes.as_mut().map(|changes| std::mem::take(&mut **changes)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_exact_over_any_time() {
        for (queue, ps) in [(1, 1), (3, u64::from(u32::MAX)), (7, 1 << 32), (u32::MAX, 86_400_000_000_000_007)] {
            let level = Level { now: queue, ..Level::default() };
            let area = level.area(Time::ZERO + cellway_units::Span::from_ps(ps));
            assert_eq!(area, u128::from(queue) * u128::from(ps), "{queue} for {ps} ps");
        }
    }
}
