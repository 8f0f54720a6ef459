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

    /// Returns the instant of a member's last turn, if it has one; that of all is at the pulse `last` of a pace.
    pub(crate) fn last_of(self, member: usize, last: Pulse, pace: Pace) -> Time {
        let of_all = self.last();
        let before = if member <= of_all { of_all } else { of_all + self.members } - member;
        (0..before).fold(last, |pulse, _| pace.before(pulse)).at()
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
            assert_eq!((turns.last(), turns.next()), (last, member));
            for member in 0..members {
                assert_eq!(turns.of(member), counted[member]);
                assert!(counted[member] == 0 || turns.last_of(member, pulse, pace) == instants[member]);
            }
        }
    }
}
