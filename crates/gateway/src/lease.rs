//! A lease bounds the time in which the far gateway may connect to a server in the name of a client. After it has ended,
//! the client may connect by another path.
//!
//! A client whose SYN goes to the server directly must not meet a connection that the far gateway opens from the same
//! address and port. So the near gateway grants a lease with the `Open` and keeps the SYN at least until the lease has
//! ended (C. Gray and D. Cheriton, "Leases", SOSP 1989). The two clocks are not compared: the lease counts from the
//! arrival of a packet of the far gateway at the near one, and the far gateway counts from the time when it sent that
//! packet, which was earlier. So the lease ends at the far gateway first, however long either direction takes; only
//! the drift of the clocks between the packet and the end of the lease counts.

use std::collections::VecDeque;

use cellway_units::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::packet::PS_PER_US;
use crate::varint;

/// The time in which the receiver of an `Open` may connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The number of the newest packet that the sender of the `Open` had received.
    pub after: u64,
    /// The end of the lease, counted from the arrival of that packet, in whole microseconds.
    pub within: Span,
}

impl Lease {
    /// The place of a lease that is granted only when its `Open` leaves. It has the length of the longest lease.
    pub(crate) const PENDING: Lease = Lease { after: varint::MAX, within: Span::from_ps(u64::MAX) };

    /// The largest length (octets).
    pub(crate) const MOST_OCTETS: u32 = Lease::PENDING.octets();

    /// Its length (octets).
    pub(crate) const fn octets(self) -> u32 {
        varint::octets(self.after) + varint::octets(self.within.as_ps() / PS_PER_US)
    }
}

/// The resolution of [`Departures`]: a lease ends earlier by up to this time.
const SPACING: Span = Span::from_ms(50);
/// Most entries of [`Departures`]: 13 s of packets without a pause.
const ENTRIES: usize = 256;

/// Records when packets left, so that leases can be counted from there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Departures {
    /// A number and the time at which it left, at most one in [`SPACING`].
    log: VecDeque<(u64, Time)>,
}

impl Departures {
    /// Records that packet `number` leaves.
    pub(crate) fn sent(&mut self, now: Time, number: u64) {
        if self.log.back().is_some_and(|&(_, last)| now < last + SPACING) {
            return;
        }
        if self.log.len() == ENTRIES {
            self.log.pop_front();
        }
        self.log.push_back((number, now));
    }
    /// Returns the end of a lease: never later than at the peer that granted it. A lease that counts from a packet
    /// older than the records has ended.
    pub(crate) fn end(&self, lease: Lease) -> Time {
        let later = self.log.partition_point(|&(number, _)| number <= lease.after);
        let left = later.checked_sub(1).and_then(|index| self.log.get(index));
        left.map_or(Time::ZERO, |&(_, left)| left + lease.within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }
    fn lease(after: u64, ms: u64) -> Lease {
        Lease { after, within: Span::from_ms(ms) }
    }

    #[test]
    fn a_lease_ends_no_later_than_counted_from_its_packet_and_less_than_the_resolution_earlier() {
        let mut departures = Departures::default();
        let leaves = |number: u64| at(1_000 + 7 * number);
        (0..1_000).for_each(|number| departures.sent(leaves(number), number));
        for number in 0..1_000 {
            let exact = leaves(number) + Span::from_ms(300);
            let end = departures.end(lease(number, 300));
            assert!(end <= exact && exact < end + SPACING + Span::from_ms(7), "{number}: {end:?}");
        }
    }

    #[test]
    fn a_packet_of_long_ago_counts_unless_many_followed() {
        let mut departures = Departures::default();
        assert_eq!(departures.end(lease(0, 1_000)), Time::ZERO, "nothing was sent");
        departures.sent(at(10), 0);
        assert_eq!(departures.end(lease(0, 86_400_000)), at(86_400_010));
        (1..=ENTRIES as u64).for_each(|number| departures.sent(at(100 * number), number));
        assert_eq!(departures.end(lease(0, 86_400_000)), Time::ZERO);
        assert_eq!(departures.end(lease(1, 1_000)), at(1_100));
    }
}
