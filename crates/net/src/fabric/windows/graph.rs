//! The order of lines along the paths, and how far each is known ahead of the hosts.

use cellway_units::{Span, Time};

use super::super::{Fabric, Step};
use crate::ids::PortId;

/// The order of the lines, and their distance from the hosts.
#[derive(Clone, Debug)]
pub(in crate::fabric) struct Lookahead {
    /// The place of each port in the order of the paths.
    pub(super) place: Vec<u32>,
    /// The least time from a host to the queue of each port.
    pub(super) distance: Vec<Span>,
    /// The least time from the far end of each port's link to a host.
    pub(super) rest: Vec<Span>,
    /// True for each port whose units may arrive in the instant in which they are served.
    pub(super) is_at_once: Vec<bool>,
    /// True for each port whose link leads to a host.
    pub(super) is_last: Vec<bool>,
    /// The least time from a host to a host.
    pub(super) to_hosts: Span,
}

impl Lookahead {
    /// Returns the ports in the order of the paths of all open conversations, and their distances; `None` if the paths have
    /// a loop, or no time passes on one of them.
    pub(in crate::fabric) fn new<B: Clone>(fabric: &Fabric<B>) -> Option<(Vec<u32>, Lookahead)> {
        let ports = fabric.ports.len();
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); ports];
        let mut is_first = vec![false; ports];
        let mut is_last = vec![false; ports];
        for path in fabric.paths() {
            is_first[path[0] as usize] = true;
            is_last[*path.last()? as usize] = true;
            for pair in path.windows(2) {
                next[pair[0] as usize].push(pair[1]);
            }
        }
        let mut before = vec![0u32; ports];
        for list in &mut next {
            list.sort_unstable();
            list.dedup();
            list.iter().for_each(|&port| before[port as usize] += 1);
        }
        let mut order: Vec<u32> = (0..ports as u32).filter(|&port| before[port as usize] == 0).collect();
        let mut distance: Vec<Span> =
            is_first.iter().map(|&first| if first { Span::ZERO } else { Span::MAX }).collect();
        let mut to_hosts = Span::MAX;
        let mut done = 0;
        while let Some(&port) = order.get(done) {
            done += 1;
            let here = port as usize;
            let onward = distance[here] + fabric.ports[here].least_delay();
            if is_last[here] {
                to_hosts = to_hosts.min(onward);
            }
            for &port in &next[here] {
                let there = port as usize;
                distance[there] = distance[there].min(onward);
                before[there] -= 1;
                if before[there] == 0 {
                    order.push(port);
                }
            }
        }
        if order.len() < ports || to_hosts.is_zero() {
            return None;
        }
        let mut rest: Vec<Span> = is_last.iter().map(|&last| if last { Span::ZERO } else { Span::MAX }).collect();
        for &port in order.iter().rev() {
            let here = port as usize;
            for &behind in &next[here] {
                let behind = behind as usize;
                rest[here] = rest[here].min(rest[behind] + fabric.ports[behind].least_delay());
            }
        }
        let is_at_once = fabric.ports.iter().map(|port| port.least_delay().is_zero()).collect();
        let mut place = vec![0; ports];
        for (at, &port) in order.iter().enumerate() {
            place[port as usize] = at as u32;
        }
        Some((order, Lookahead { place, distance, rest, is_at_once, is_last, to_hosts }))
    }

    /// Returns true if a path agrees with the order, the distances and the least times, so that it changes none of them.
    /// `least` is the least time of a port.
    pub(super) fn has(&self, path: &[PortId], least: impl Fn(PortId) -> Span) -> bool {
        let ([first, ..], [.., last]) = (path, path) else { return false };
        let joins = |pair: &[PortId]| {
            let [a, b] = [pair[0], pair[1]].map(|port| port.0 as usize);
            self.place[a] < self.place[b]
                && self.distance[b] <= self.distance[a] + least(pair[0])
                && self.rest[a] <= self.rest[b] + least(pair[1])
        };
        let end = last.0 as usize;
        let is_whole = self.distance[first.0 as usize].is_zero() && self.is_last[end];
        is_whole && self.to_hosts <= self.distance[end] + least(*last) && path.windows(2).all(joins)
    }

    /// Returns the instant up to which a port is known.
    #[inline]
    pub(super) fn known(&self, port: u32, sent_until: Time, horizon: Time) -> Time {
        (sent_until + self.distance[port as usize]).min(horizon)
    }
}

impl<B: Clone> Fabric<B> {
    /// Returns the ports of each open conversation in each direction.
    fn paths(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        self.conversations.iter().flatten().flat_map(|conversation| {
            conversation.ways().into_iter().map(|steps| {
                let mut path = Vec::new();
                for &step in steps {
                    match step {
                        Step::Packet(port) => path.push(port.0),
                        Step::Cells { .. } => {
                            let channel = self.channels_of(std::slice::from_ref(&step)).next();
                            path.extend(
                                channel.into_iter().flat_map(|channel| self.hops(channel)).map(|(port, _)| port.0),
                            );
                        }
                    }
                }
                path
            })
        })
    }
}
