//! SYNs that bypassed the gateways. A retransmission must take the same path: the server may have answered the first
//! one.

use std::collections::{HashSet, VecDeque};
use std::net::SocketAddr;

use cellway_units::Span;
use serde::{Deserialize, Serialize};

use crate::daemon::moment::Moment;

/// The time for which a client may retransmit a SYN: Linux does so six times, the last time after 63 s (tcp(7),
/// `tcp_syn_retries`).
const LIFETIME: Span = Span::from_secs(65);
/// Most entries; the oldest are removed beyond that.
const ENTRIES: usize = 16_384;

/// Client, server and the initial sequence number of the client.
type Key = (SocketAddr, SocketAddr, u32);

/// The SYNs of connection attempts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "VecDeque<(Moment, Key)>", into = "VecDeque<(Moment, Key)>")]
pub(crate) struct Bypassed {
    /// In order of time, each with the time at which it is removed.
    order: VecDeque<(Moment, Key)>,
    syns: HashSet<Key>,
}

impl From<VecDeque<(Moment, Key)>> for Bypassed {
    fn from(order: VecDeque<(Moment, Key)>) -> Bypassed {
        Bypassed { syns: order.iter().map(|(_, syn)| *syn).collect(), order }
    }
}

impl From<Bypassed> for VecDeque<(Moment, Key)> {
    fn from(bypassed: Bypassed) -> VecDeque<(Moment, Key)> {
        bypassed.order
    }
}

impl Bypassed {
    /// Adds a SYN at `now`. Its lifetime begins with its first transmission, not with a retransmission.
    pub(crate) fn add(&mut self, syn: Key, now: Moment) {
        self.forget(now);
        if !self.syns.insert(syn) {
            return;
        }
        if self.order.len() == ENTRIES
            && let Some((_, oldest)) = self.order.pop_front()
        {
            self.syns.remove(&oldest);
        }
        self.order.push_back((now + LIFETIME, syn));
    }
    pub(crate) fn contains(&mut self, syn: Key, now: Moment) -> bool {
        self.forget(now);
        self.syns.contains(&syn)
    }
    fn forget(&mut self, now: Moment) {
        while let Some((_, syn)) = self.order.front().filter(|(end, _)| *end <= now) {
            self.syns.remove(syn);
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: Span = Span::from_ns(1);

    fn at(time: Span) -> Moment {
        Moment::default() + time
    }

    fn from(port: u16) -> Key {
        (([192, 0, 2, 1], port).into(), ([198, 51, 100, 1], 80).into(), 7)
    }

    #[test]
    fn a_syn_is_remembered_for_its_lifetime_however_often_it_is_repeated() {
        let mut bypassed = Bypassed::default();
        bypassed.add(from(1), at(Span::ZERO));
        bypassed.add(from(2), at(NS * 10));
        bypassed.add(from(1), at(LIFETIME - NS));
        assert!(bypassed.contains(from(1), at(LIFETIME - NS)) && !bypassed.contains(from(3), at(Span::ZERO)));
        let (client, server, _) = from(2);
        assert!(!bypassed.contains((client, server, 8), at(NS * 20)), "a new one from the same port");
        assert!(!bypassed.contains(from(1), at(LIFETIME)) && bypassed.contains(from(2), at(LIFETIME)));
        bypassed.add(from(1), at(LIFETIME + NS * 10));
        assert!(bypassed.contains(from(1), at(LIFETIME + NS * 10)));
        assert_eq!((bypassed.order.len(), bypassed.syns.len()), (1, 1));
    }

    #[test]
    fn many_take_bounded_memory() {
        let mut bypassed = Bypassed::default();
        (0..60_000).for_each(|port| bypassed.add(from(port), at(NS * u64::from(port))));
        assert_eq!((bypassed.order.len(), bypassed.syns.len()), (ENTRIES, ENTRIES));
        assert!(bypassed.contains(from(59_999), at(NS * 60_000)) && !bypassed.contains(from(40_000), at(NS * 60_000)));
    }
}
