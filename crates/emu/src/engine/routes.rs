//! Routes of packets from host to host: over the gateways between them, hop by hop.

use std::collections::BTreeMap;

use cellway_testbed::{PathSegment, Testbed};

use super::hosts::{HostIndex, Hosts};
use crate::conversations::Kind;

/// Two hosts and a type, which determine a route. It is the same for both directions, the lower host first.
type Ends = (HostIndex, HostIndex, Kind);

/// The route between two hosts.
#[derive(Debug)]
struct Route {
    /// The two, and the gateways between them.
    hops: Vec<HostIndex>,
    /// From each hop to the next.
    segments: Vec<PathSegment>,
}

/// The position of a packet on its route: it goes `from` one hop `to` the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) from: HostIndex,
    pub(super) to: HostIndex,
    /// The ends of the route.
    origin: HostIndex,
    destination: HostIndex,
}

/// All requested routes; each is computed once.
#[derive(Debug, Default)]
pub(super) struct Routes {
    known: BTreeMap<Ends, Option<Route>>,
}

impl Routes {
    /// Returns the next step of a packet of `kind` that is at `from`, on its route from `origin` to `destination`, and
    /// the segment of the path for that step. From a gateway that is not on that route a new route begins there.
    pub(super) fn step<B: Clone>(
        &mut self,
        testbed: &Testbed<B>,
        hosts: &Hosts,
        (origin, from, destination): (HostIndex, HostIndex, HostIndex),
        kind: Kind,
    ) -> Option<(Step, &PathSegment)> {
        let joins = |route: &Route| route.hops.contains(&from) && from != destination;
        let on_it = origin != destination && self.route(testbed, hosts, (origin, destination), kind).is_some_and(joins);
        let origin = if on_it { origin } else { from };
        let route = self.route(testbed, hosts, (origin, destination), kind)?;
        let place = route.hops.iter().position(|&hop| hop == from)?;
        let next = if route.hops[0] == destination { place.checked_sub(1)? } else { place + 1 };
        let (to, segment) = (*route.hops.get(next)?, route.segments.get(place.min(next))?);
        Some((Step { from, to, origin, destination }, segment))
    }

    /// Returns the segment of a step for packets of another kind, if it leads to the same hop.
    pub(super) fn segment<B: Clone>(
        &mut self,
        testbed: &Testbed<B>,
        hosts: &Hosts,
        step: Step,
        kind: Kind,
    ) -> Option<&PathSegment> {
        let found = self.step(testbed, hosts, (step.origin, step.from, step.destination), kind);
        found.filter(|(other, _)| other.to == step.to).map(|(_, segment)| segment)
    }

    fn route<B: Clone>(
        &mut self,
        testbed: &Testbed<B>,
        hosts: &Hosts,
        (a, b): (HostIndex, HostIndex),
        kind: Kind,
    ) -> Option<&Route> {
        let ends = if a <= b { (a, b, kind) } else { (b, a, kind) };
        let found = self.known.entry(ends).or_insert_with(|| {
            let nodes = [ends.0, ends.1].map(|host| hosts[host].node);
            let segments = testbed.segments(nodes, kind.number()).ok()?;
            let mut hops = vec![ends.0];
            for segment in &segments {
                // A segment may be stored in the other direction.
                let here = hosts[*hops.last()?].node;
                let next = if segment.hosts[0] == here { segment.hosts[1] } else { segment.hosts[0] };
                hops.push(hosts.of_node(next)?);
            }
            Some(Route { hops, segments })
        });
        found.as_ref()
    }
}
