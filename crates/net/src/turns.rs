//! The turns of several queues that a line serves by rounds.

use cellway_units::Time;

use crate::pace::{Pace, Pulse};

/// Cells that several members send by turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    members: usize,
    /// The member whose turn is first.
    first: usize,
    /// The rounds in which all members have a turn, and the number of members that have one more.
    rounds: u16,
    more: usize,
}

impl Turns {
    /// `cells` cells, one or more, of which the first is of member `first`.
    #[inline]
    pub(crate) fn new(members: usize, first: usize, cells: u32) -> Turns {
        let among = members as u32;
        Turns { members, first, rounds: (cells / among) as u16, more: (cells % among) as usize }
    }

    /// Returns the number of turns of a member.
    #[inline]
    pub(crate) fn of(self, member: usize) -> u16 {
        let behind = if member < self.first { member + self.members } else { member } - self.first;
        self.rounds + u16::from(behind < self.more)
    }

    /// Returns the member that is `turns` turns behind the first, fewer than there are members.
    #[inline]
    fn behind(self, turns: usize) -> usize {
        let member = self.first + turns;
        if member < self.members { member } else { member - self.members }
    }

    /// Returns the member whose turn is next after all.
    #[inline]
    pub(crate) fn next(self) -> usize {
        self.behind(self.more)
    }

    /// Returns the member of the last turn.
    #[inline]
    pub(crate) fn last(self) -> usize {
        let next = self.next();
        if next == 0 { self.members - 1 } else { next - 1 }
    }

    /// Sets `lasts` to the instants of each member's last turn, the last of which is at a pulse of a pace. That of a member
    /// without a turn is of no use.
    pub(crate) fn set_lasts(self, lasts: &mut Vec<Time>, last: Pulse, pace: Pace) {
        lasts.clear();
        lasts.resize(self.members, Time::ZERO);
        let (mut member, mut pulse) = (self.last(), last);
        let turns = if self.rounds > 0 { self.members } else { self.more };
        for _ in 1..turns {
            lasts[member] = pulse.at();
            pulse = pace.before(pulse);
            member = if member == 0 { self.members - 1 } else { member - 1 };
        }
        lasts[member] = pulse.at();
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::Rate;

    use super::*;

    /// Against turns that are counted one by one.
    #[test]
    fn turns_are_those_of_a_count() {
        let pace = Pace::new(Rate::from_bps(7_000_000_001));
        for (members, first, cells) in (1..6).flat_map(|m| (0..m).flat_map(move |f| (1..17).map(move |c| (m, f, c)))) {
            let turns = Turns::new(members, first, cells);
            let (mut counted, mut instants) = (vec![0u16; members], vec![Time::ZERO; members]);
            let (mut member, mut last, mut pulse) = (first, first, Pulse::default());
            for _ in 0..cells {
                pulse = pace.after(pulse);
                (counted[member], instants[member], last) = (counted[member] + 1, pulse.at(), member);
                member = (member + 1) % members;
            }
            let mut lasts = Vec::new();
            turns.set_lasts(&mut lasts, pulse, pace);
            assert_eq!((0..members).map(|member| turns.of(member)).collect::<Vec<_>>(), counted);
            assert_eq!((lasts, turns.last(), turns.next()), (instants, last, member));
        }
    }
}
