//! The link between the gateways.

use cellway_units::{Span, Time};

use super::case::{Case, LinePlan, Random};

/// Most packets that are lost at random, so that every case ends.
const LOSSES: u32 = 20_000;

pub(crate) struct Line {
    plan: LinePlan,
    reliable: bool,
    random: Random,
    lost: u32,
    /// Packets sent to each side before this time are lost.
    broken: [Time; 2],
    /// The arrival of the last packet at each side: a reliable line keeps the order.
    last: [Time; 2],
    /// Set from the end of a connection until the next one begins: all packets are lost.
    pub(crate) is_dead: bool,
}

impl Line {
    pub(crate) fn new(case: &Case) -> Line {
        let (broken, last) = ([Time::ZERO; 2], [Time::ZERO; 2]);
        let reliable = case.configs[0].reliable;
        Line { plan: case.line, reliable, random: Random(case.seed ^ 0x11), lost: 0, broken, last, is_dead: false }
    }
    /// Loses the packets sent before `until` to `side`, or to both sides.
    pub(crate) fn breaks(&mut self, until: Time, side: Option<usize>) {
        for (n, broken) in self.broken.iter_mut().enumerate() {
            if side.is_none_or(|side| side == n) {
                *broken = (*broken).max(until);
            }
        }
    }
    /// Returns the times at which a packet of `side` arrives at the other one: none, one or two.
    pub(crate) fn carry(&mut self, now: Time, side: usize) -> Vec<Time> {
        let LinePlan { delay, jitter, loss_per_mille, duplicate_per_mille } = self.plan;
        let to = 1 - side;
        let loses = self.lost < LOSSES && self.random.below(1000) < loss_per_mille;
        if self.is_dead || loses || now < self.broken[to] {
            self.lost += u32::from(loses);
            return Vec::new();
        }
        let copies = 1 + u64::from(self.random.below(1000) < duplicate_per_mille);
        let mut arrival = |_| {
            let at = now + delay + Span::from_ps(self.random.below(jitter.as_ps()));
            if self.reliable {
                self.last[to] = self.last[to].max(at);
                self.last[to]
            } else {
                at
            }
        };
        (0..copies).map(&mut arrival).collect()
    }
}
