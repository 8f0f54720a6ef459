//! Strict priorities: three bands by the DSCP of packets, of which the first that has a packet is served.

use std::collections::VecDeque;

use cellway_spec::{Dscp, Prio};
use cellway_units::Time;

use super::{Discipline, Drops, Memory, Queued};
use crate::line::Line;

/// Queues of three bands with one limit.
#[derive(Clone, Debug)]
pub(crate) struct PrioQueue {
    memory: Memory,
    /// The first has the highest priority.
    bands: [VecDeque<Queued>; 3],
    push_out: bool,
}

impl PrioQueue {
    /// Empty queues.
    pub(super) fn new(memory: Memory, prio: Prio) -> PrioQueue {
        PrioQueue { memory, bands: Default::default(), push_out: prio.push_out }
    }

    /// Drops the newest packets of bands below `band`, the lowest first, until a packet fits; returns false, and drops none, if
    /// it does not fit beside those of its own band and higher ones.
    #[cold]
    fn make_room(&mut self, band: usize, packet: Queued, drops: &mut Drops) -> bool {
        let above = self.bands[..=band].iter().flatten();
        let kept: u64 =
            above.filter(|other| self.memory.is_shared(packet, **other)).map(|other| u64::from(other.octets)).sum();
        let beside_them =
            Queued { octets: u32::try_from(kept + u64::from(packet.octets)).unwrap_or(u32::MAX), ..packet };
        if !self.push_out || !self.memory.can_hold(beside_them) {
            return false;
        }
        while !self.memory.admit(packet) {
            let below = self.bands[band + 1..].iter_mut().rev();
            let newest = below.filter_map(|queue| {
                let place = queue.iter().rposition(|other| self.memory.is_shared(packet, *other))?;
                queue.remove(place)
            });
            let Some(other) = newest.into_iter().next() else { return false };
            self.memory.release(other);
            self.memory.drop_overlimit(other, drops);
        }
        true
    }
}

/// Returns the band of a code point.
fn band(dscp: u8) -> usize {
    if dscp >= Dscp::Cs5.bits() {
        0
    } else if dscp == Dscp::Le.bits() || dscp == Dscp::Cs1.bits() {
        2
    } else {
        1
    }
}

impl Discipline for PrioQueue {
    #[inline(never)]
    fn enqueue(&mut self, _line: &Line, packet: Queued, drops: &mut Drops) {
        let band = band(packet.dscp);
        if self.memory.admit(packet) || self.make_room(band, packet, drops) {
            self.bands[band].push_back(packet);
        } else {
            self.memory.drop_overlimit(packet, drops);
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time, _drops: &mut Drops) -> Option<Queued> {
        let packet = self.bands.iter_mut().find_map(VecDeque::pop_front)?;
        self.memory.release(packet);
        self.memory.sent(now, packet);
        Some(packet)
    }

    /// A packet that finds no other is the first of its band.
    fn passes(&mut self, packet: Queued) -> bool {
        self.memory.is_empty() && self.memory.fits(packet)
    }

    fn discard(&mut self) -> Option<Queued> {
        let packet = self.bands.iter_mut().find_map(VecDeque::pop_front)?;
        self.memory.release(packet);
        Some(packet)
    }

    fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.bands.iter().flatten()
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::Rate;

    use super::*;
    use crate::qdisc::testing::{limited, limited_each, of_flow};

    fn outcome(memory: Memory, prio: Prio, packets: &[(u32, Dscp)]) -> (Vec<u32>, Vec<u32>) {
        let mut queue = PrioQueue::new(memory, prio);
        let (line, mut drops) = (Line::new(Rate::from_bps(1000)), Drops::new());
        for (number, &(conversation, dscp)) in (0..).zip(packets) {
            let packet = Queued { conversation, dscp: dscp.bits(), ..of_flow(number, 0, 500) };
            queue.enqueue(&line, packet, &mut drops);
        }
        let sent = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut Drops::new())).map(|sent| sent.packet.0);
        let sent = sent.collect();
        assert_eq!((queue.memory.packets(), queue.memory.buffer().used()), (0, 0));
        (drops.iter().map(|drop| drop.0).collect(), sent)
    }

    const PUSHED: Prio = Prio { push_out: true };

    #[test]
    fn the_code_point_decides_the_band() {
        let packets = [Dscp::Cs1, Dscp::Cs0, Dscp::Ef, Dscp::Le, Dscp::Af41, Dscp::Cs7, Dscp::Cs4, Dscp::Cs5];
        let (dropped, sent) = outcome(limited(9000), PUSHED, &packets.map(|dscp| (0, dscp)));
        assert_eq!((dropped, sent), (vec![], vec![2, 5, 7, 1, 4, 6, 0, 3]));
    }

    /// Three packets fit. The fourth, of the first band, takes the place of the newest of the last band, the fifth that of the
    /// only one of the middle band, and a further one of the last band has none.
    #[test]
    fn packets_of_lower_bands_make_room() {
        let packets = [(0, Dscp::Cs0), (0, Dscp::Cs1), (0, Dscp::Cs1), (0, Dscp::Ef), (0, Dscp::Ef), (0, Dscp::Cs1)];
        assert_eq!(outcome(limited(1500), PUSHED, &packets), (vec![2, 1, 5], vec![3, 4, 0]));
        assert_eq!(outcome(limited(1500), Prio { push_out: false }, &packets), (vec![3, 4, 5], vec![0, 1, 2]));
        // Beside two of its own band there is no room for a third, whatever is dropped.
        let packets = [(0, Dscp::Ef), (0, Dscp::Ef), (0, Dscp::Le), (0, Dscp::Ef)];
        assert_eq!(outcome(limited(1499), PUSHED, &packets), (vec![2, 3], vec![0, 1]));
        // With memory of its own a conversation takes no place of others.
        let packets = [(1, Dscp::Cs1), (0, Dscp::Cs1), (0, Dscp::Cs1), (0, Dscp::Ef)];
        assert_eq!(outcome(limited_each(1000), PUSHED, &packets), (vec![2], vec![3, 0, 1]));
    }
}
