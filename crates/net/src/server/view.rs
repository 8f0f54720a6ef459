//! The cells that wait, for a reader of the network.

use cellway_spec::Discipline;

use super::CellServer;
use crate::cell::{Flags, Seen};
use crate::packet::PacketRef;

impl CellServer {
    /// Passes the cells that wait to `see`, as runs of a frame with their queue; ends early if that returns false. A
    /// first in first out is in the order of service. In a round robin, whose order is that of its queues, all cells of
    /// a queue come together. Queues whose cells a gate holds back are last.
    pub(crate) fn view(&self, mut see: impl FnMut(u32, PacketRef, Flags, u16) -> bool) {
        let mut seen = vec![Seen::default(); self.slots.len()];
        let mut pass = |slot: u32, most: u32| {
            let queue = &self.slots[slot as usize].queue;
            queue.see(&mut seen[slot as usize], most, &mut |frame, flags, cells| see(slot, frame, flags, cells))
        };
        let mut tokens = self.tokens.iter().peekable();
        while let Some(slot) = tokens.next() {
            let mut most = 1;
            if self.discipline == Discipline::RoundRobin || self.slots[slot as usize].gated {
                most = u32::MAX;
            } else {
                while tokens.next_if_eq(&slot).is_some() {
                    most += 1;
                }
            }
            if !pass(slot, most) {
                return;
            }
        }
        for slot in 0..self.slots.len() as u32 {
            if !pass(slot, u32::MAX) {
                return;
            }
        }
    }
}
