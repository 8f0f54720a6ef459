//! The order of lines along the paths, and how far each is known ahead of the hosts.

use cellway_units::{Span, Time};

use super::super::{Fabric, Step};
use super::feedback::Feedback;
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
    /// Returns the ports in the order of the paths of all open conversations, their distances, and the state of those that
    /// wait for each other, if there are any; `None` if no time passes on a path, or on a line that waits for itself.
    pub(in crate::fabric) fn new<B: Clone>(
        now: Time,
        fabric: &Fabric<B>,
    ) -> Option<(Vec<u32>, Lookahead, Option<Feedback>)> {
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
        let mut done = 0;
        while let Some(&port) = order.get(done) {
            done += 1;
            for &port in &next[port as usize] {
                before[port as usize] -= 1;
                if before[port as usize] == 0 {
                    order.push(port);
                }
            }
        }
        // Those of rings, and those behind them, come last, in any order.
        let has_rings = order.len() < ports;
        order.extend((0..ports as u32).filter(|&port| before[port as usize] > 0));

        let from_ends = |ends: &[bool]| -> Vec<Span> {
            ends.iter().map(|&is_end| if is_end { Span::ZERO } else { Span::MAX }).collect()
        };
        let least = |port: usize| fabric.ports[port].least_delay();
        let mut distance = from_ends(&is_first);
        until_nothing_changes(order.iter(), |&here| {
            let onward = distance[here as usize] + least(here as usize);
            next[here as usize].iter().filter(|&&there| lower(&mut distance[there as usize], onward)).count() > 0
        });
        let mut rest = from_ends(&is_last);
        until_nothing_changes(order.iter().rev(), |&here| {
            let onward = next[here as usize].iter().map(|&behind| rest[behind as usize] + least(behind as usize)).min();
            onward.is_some_and(|onward| lower(&mut rest[here as usize], onward))
        });
        let lasts = (0..ports).filter(|&port| is_last[port]);
        let to_hosts = lasts.map(|port| distance[port] + least(port)).min().unwrap_or(Span::MAX);
        if to_hosts.is_zero() {
            return None;
        }
        let feedback = match has_rings || !fabric.joined.is_empty() {
            true => {
                let mut is_in_ring: Vec<bool> = before.iter().map(|&before| before > 0).collect();
                until_nothing_changes(order.iter().rev(), |&here| {
                    let leads_on = next[here as usize].iter().any(|&behind| is_in_ring[behind as usize]);
                    let is_over = is_in_ring[here as usize] && !leads_on;
                    is_in_ring[here as usize] &= leads_on;
                    is_over
                });
                Some(Feedback::new(now, fabric, &next, &is_first, &is_in_ring)?)
            }
            false => None,
        };
        let is_at_once = fabric.ports.iter().map(|port| port.least_delay().is_zero()).collect();
        let mut place = vec![0; ports];
        for (at, &port) in order.iter().enumerate() {
            place[port as usize] = at as u32;
        }
        Some((order, Lookahead { place, distance, rest, is_at_once, is_last, to_hosts }, feedback))
    }

    /// Returns true if a path agrees with the order, if there is one, the distances and the least times, so that it changes
    /// none of them. `least` is the least time of a port.
    pub(super) fn has(&self, path: &[PortId], least: impl Fn(PortId) -> Span, is_order: bool) -> bool {
        let ([first, ..], [.., last]) = (path, path) else { return false };
        let joins = |pair: &[PortId]| {
            let [a, b] = [pair[0], pair[1]].map(|port| port.0 as usize);
            (!is_order || self.place[a] < self.place[b])
                && self.distance[b] <= self.distance[a] + least(pair[0])
                && self.rest[a] <= self.rest[b] + least(pair[1])
        };
        let end = last.0 as usize;
        let is_whole = self.distance[first.0 as usize].is_zero() && self.is_last[end];
        is_whole && self.to_hosts <= self.distance[end] + least(*last) && path.windows(2).all(joins)
    }
}

/// Calls `pass` for each port in order, again and again until it returns true for none. Ports that are in the order of the paths
/// need one turn, and one that changes nothing.
fn until_nothing_changes<'a>(order: impl Iterator<Item = &'a u32> + Clone, mut pass: impl FnMut(&u32) -> bool) {
    while order.clone().filter(|port| pass(port)).count() > 0 {}
}

/// Lowers a value to `other` if that is less; returns true if it is.
fn lower(value: &mut Span, other: Span) -> bool {
    let is_less = other < *value;
    *value = other.min(*value);
    is_less
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
