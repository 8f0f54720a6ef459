//! The memory of a queue discipline: its limit, the packets in it by number and octets, and what became of them.

use std::sync::Arc;

use cellway_units::{Ecn, Sketch, Span, Time, rank};

use super::{Drops, QdiscCounters, Queued};
use crate::buffer::{Buffer, BufferSpec, Owner};
use crate::counters::Sum128;

/// The packets that wait, without their order.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    buffer: Buffer,
    packets: u32,
    octets: u64,
    /// Packets that have left it for the line, those that did not wait included.
    pub(super) taken: u64,
    /// The time that they have waited, in ps.
    sojourn: Sum128,
    rare: Option<Box<Rare>>,
}

/// Totals that most queues never count.
#[derive(Clone, Debug, Default)]
struct Rare {
    overlimit: u64,
    early: u64,
    marked: u64,
    /// The waits of packets, if they are recorded.
    waits: Option<Waits>,
}

impl Memory {
    /// Memory without packets; without a limit it takes all.
    pub(super) fn new(limit: Option<Arc<BufferSpec>>) -> Memory {
        let (buffer, sojourn) = (Buffer::new(limit), Sum128::default());
        Memory { buffer, packets: 0, octets: 0, taken: 0, sojourn, rare: None }
    }

    /// Returns the totals since the start.
    pub(crate) fn counters(&self) -> QdiscCounters {
        let (overlimit, early, marked) =
            self.rare.as_ref().map_or((0, 0, 0), |rare| (rare.overlimit, rare.early, rare.marked));
        QdiscCounters { overlimit, early, marked, taken: self.taken, sojourn: self.sojourn.get() }
    }

    /// Counts a packet that was refused before it came to the queue.
    pub(super) fn count_refused(&mut self) {
        self.rare().overlimit += 1;
    }

    #[inline]
    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Returns the number of packets that wait.
    #[inline(always)]
    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    /// Returns the IP octets that wait.
    #[inline]
    pub(super) fn octets(&self) -> u64 {
        self.octets
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Returns true if the buffer has room for a packet.
    #[inline(always)]
    pub(super) fn fits(&mut self, packet: Queued) -> bool {
        self.buffer.fits_packet(owner(packet))
    }

    /// Returns true if an empty buffer would have room for a packet.
    pub(super) fn can_hold(&mut self, packet: Queued) -> bool {
        self.buffer.can_hold_packet(owner(packet))
    }

    /// Returns true if `other` would leave room for a packet: the two share a limit.
    pub(super) fn is_shared(&self, packet: Queued, other: Queued) -> bool {
        packet.conversation == other.conversation || !self.buffer.is_by_conversation()
    }

    /// Takes a packet if the buffer has room for it.
    #[inline(always)]
    pub(super) fn admit(&mut self, packet: Queued) -> bool {
        let is_admitted = self.buffer.admit_packet(owner(packet));
        if is_admitted {
            self.packets += 1;
            self.octets += u64::from(packet.octets);
        }
        is_admitted
    }

    /// Frees the memory of a packet that leaves the queue, for the line or dropped.
    #[inline(always)]
    pub(super) fn release(&mut self, packet: Queued) {
        self.buffer.release_packet(owner(packet));
        self.packets -= 1;
        self.octets -= u64::from(packet.octets);
    }

    /// Counts the wait of a packet that goes to the line.
    #[inline(always)]
    pub(super) fn sent(&mut self, now: Time, packet: Queued) {
        self.taken += 1;
        let wait = now - packet.since;
        if !wait.is_zero() {
            self.sojourn.add(wait.as_ps().into());
            if let Some(waits) = self.rare.as_mut().and_then(|rare| rare.waits.as_mut()) {
                waits.0.add(wait.as_ps());
            }
        }
    }

    /// Drops a packet for which the buffer has no room.
    #[inline]
    pub(super) fn drop_overlimit(&mut self, packet: Queued, drops: &mut Drops) {
        self.rare().overlimit += 1;
        drops.push(packet.packet);
    }

    /// Drops a packet although the buffer has room for it.
    #[inline]
    pub(super) fn drop_early(&mut self, packet: Queued, drops: &mut Drops) {
        self.rare().early += 1;
        drops.push(packet.packet);
    }

    /// Marks a packet in place of dropping it; returns false if its flow does not use ECN. RFC 3168 section 5.
    #[inline]
    pub(super) fn mark(&mut self, packet: &mut Queued) -> bool {
        packet.marked |= packet.ecn.is_capable() && packet.ecn != Ecn::Ce;
        if packet.marked {
            self.rare().marked += 1;
        }
        packet.ecn.is_capable()
    }

    /// Returns the waits of packets, if they are recorded, since the last call of `forget_waits`.
    pub(crate) fn waits(&self) -> Option<&Waits> {
        self.rare.as_ref()?.waits.as_ref()
    }

    /// Records the waits of packets from now on.
    pub(crate) fn record_waits(&mut self) {
        self.rare().waits.get_or_insert_default();
    }

    pub(crate) fn forget_waits(&mut self) {
        if let Some(waits) = self.rare.as_mut().and_then(|rare| rare.waits.as_mut()) {
            waits.0.clear();
        }
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }
}

/// The waits of packets at a queue, in picoseconds; those of packets that did not wait are left out.
#[derive(Clone, Debug, Default)]
pub struct Waits(Sketch);

impl Waits {
    /// Returns the `q` quantile of the waits of `packets` packets, 0 <= q <= 1, to 0.4 %; `None` without packets.
    pub fn percentile(&self, q: f64, packets: u64) -> Option<Span> {
        let waited = self.0.count();
        let passed = packets.saturating_sub(waited);
        let rank = rank(q, passed + waited)?;
        if rank <= passed {
            return Some(Span::ZERO);
        }
        self.0.percentile((rank - passed) as f64 / waited as f64).map(Span::from_ps)
    }

    /// Returns the longest wait.
    pub fn max(&self) -> Span {
        Span::from_ps(self.0.max().unwrap_or_default())
    }
}

/// A packet line has one queue for the buffer, its slot 0.
#[inline]
fn owner(packet: Queued) -> Owner {
    Owner { slot: 0, conversation: packet.conversation, octets: packet.octets }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_did_not_wait_count_in_percentiles() {
        let mut waits = Waits::default();
        (1..=10).for_each(|ms| waits.0.add(Span::from_ms(ms).as_ps()));
        let percentile = |q, packets| waits.percentile(q, packets).map(|wait| wait.as_millis_f64().round());
        assert_eq!([0.0, 0.5, 1.0].map(|q| percentile(q, 10)), [Some(1.0), Some(5.0), Some(10.0)]);
        // Of 20, ten did not wait.
        assert_eq!([0.5, 0.51, 0.95, 1.0].map(|q| percentile(q, 20)), [Some(0.0), Some(1.0), Some(9.0), Some(10.0)]);
        assert_eq!((waits.max(), Waits::default().percentile(0.5, 0)), (Span::from_ms(10), None));
        assert_eq!(Waits::default().percentile(0.99, 7), Some(Span::ZERO));
    }
}
