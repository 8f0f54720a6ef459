//! Ways of packets from host to host: over the gateways between them, hop by hop.

use std::collections::BTreeMap;

use cellway_testbed::{Testbed, Way};

use super::hosts::{HostIndex, Hosts};
use crate::conversations::Kind;

/// Two hosts and a type: what decides a way. It is one for both directions, the lower host first.
type Ends = (HostIndex, HostIndex, Kind);

/// The way between two hosts.
#[derive(Debug)]
struct Journey {
    /// The two, and the gateways between them.
    hops: Vec<HostIndex>,
    /// From each hop to the next.
    stretches: Vec<Way>,
}

/// Where a packet is on its journey: it goes `from` one hop `to` the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) from: HostIndex,
    pub(super) to: HostIndex,
    /// Where the journey begins and ends.
    origin: HostIndex,
    destination: HostIndex,
}

/// All journeys that were asked for; each is looked for once.
#[derive(Debug, Default)]
pub(super) struct Journeys {
    known: BTreeMap<Ends, Option<Journey>>,
}

impl Journeys {
    /// The next step of a packet of `kind` that is at `from`, on its journey from `origin` to `destination`, and the way
    /// that it takes. From a gateway that is not on that journey it begins there.
    pub(super) fn step<B: Clone>(
        &mut self,
        testbed: &Testbed<B>,
        hosts: &Hosts,
        (origin, from, destination): (HostIndex, HostIndex, HostIndex),
        kind: Kind,
    ) -> Option<(Step, &Way)> {
        let joins = |journey: &Journey| journey.hops.contains(&from) && from != destination;
        let on_it =
            origin != destination && self.journey(testbed, hosts, (origin, destination), kind).is_some_and(joins);
        let origin = if on_it { origin } else { from };
        let journey = self.journey(testbed, hosts, (origin, destination), kind)?;
        let place = journey.hops.iter().position(|&hop| hop == from)?;
        let next = if journey.hops[0] == destination { place.checked_sub(1)? } else { place + 1 };
        let (to, way) = (*journey.hops.get(next)?, journey.stretches.get(place.min(next))?);
        Some((Step { from, to, origin, destination }, way))
    }

    /// The way of a step for packets of another kind, if it leads to the same hop.
    pub(super) fn way<B: Clone>(
        &mut self,
        testbed: &Testbed<B>,
        hosts: &Hosts,
        step: Step,
        kind: Kind,
    ) -> Option<&Way> {
        let found = self.step(testbed, hosts, (step.origin, step.from, step.destination), kind);
        found.filter(|(other, _)| other.to == step.to).map(|(_, way)| way)
    }

    fn journey<B: Clone>(
        &mut self,
        testbed: &Testbed<B>,
        hosts: &Hosts,
        (a, b): (HostIndex, HostIndex),
        kind: Kind,
    ) -> Option<&Journey> {
        let ends = if a <= b { (a, b, kind) } else { (b, a, kind) };
        let found = self.known.entry(ends).or_insert_with(|| {
            let nodes = [ends.0, ends.1].map(|host| hosts[host].node);
            let stretches = testbed.stretches(nodes, kind.number()).ok()?;
            let mut hops = vec![ends.0];
            for stretch in &stretches {
                // A way may be given from its other end.
                let here = hosts[*hops.last()?].node;
                let next = if stretch.hosts[0] == here { stretch.hosts[1] } else { stretch.hosts[0] };
                hops.push(hosts.of_node(next)?);
            }
            Some(Journey { hops, stretches })
        });
        found.as_ref()
    }
}
