//! Changes that contradict each other, or what does not change.

use cellway_units::{Rate, Span};

use crate::check::Check;
use crate::check::network::Network;
use crate::file::ChangeFile;
use crate::model::{Change, ChangeOf, Link, LinkIndex, NodeIndex, Service, Shaper, Traffic};
use crate::quantity::RttSpan;
use crate::route;
use crate::tree::at;

/// A sender with a given rate, at one moment of a run.
struct Sender {
    /// Its name in messages.
    name: String,
    rate: Rate,
    /// The link that it sends on, and its direction: 0 is forward, 1 is back.
    line: (LinkIndex, usize),
    /// The kind of change that sets its rate, if any.
    set_by: Option<ChangeOf>,
}

impl Check<'_> {
    /// Refuses changes that leave a shaper, a gateway or the peak rate of a group above the rate of a line that it
    /// sends on.
    pub(super) fn rates_stay_within(
        &mut self,
        changes: &[Change],
        network: &Network,
        traffic: &[Traffic],
        shapers: &[Shaper],
    ) {
        let links = &network.links;
        let mut rates: Vec<[Rate; 2]> = links.iter().map(|link| [0, 1].map(|end| link.rate_of(end))).collect();
        let mut senders = shaped(links, shapers);
        senders.extend(gateways(network, traffic));
        senders.extend(peaks(links, traffic));
        let mut order: Vec<usize> = (0..changes.len()).collect();
        order.sort_by_key(|&i| changes[i].at);
        for moment in order.chunk_by(|&a, &b| changes[a].at == changes[b].at) {
            for change in moment.iter().map(|&i| &changes[i]) {
                match change.what {
                    ChangeOf::Link(link, direction) => {
                        direction.ports().iter().for_each(|&end| rates[link.0][end] = change.rate);
                    }
                    what => senders.iter_mut().filter(|s| s.set_by == Some(what)).for_each(|s| s.rate = change.rate),
                }
            }
            let available = |sender: &Sender| rates[sender.line.0.0][sender.line.1];
            for sender in senders.iter().filter(|sender| sender.rate > available(sender)) {
                let Sender { name, rate, line: (link, end), set_by } = sender;
                let on_line = |i: usize| match changes[i].what {
                    ChangeOf::Link(changed, direction) => changed == *link && direction.ports().contains(end),
                    ChangeOf::Shaper(_) | ChangeOf::Pcr(_) => false,
                };
                let concerns = |&i: &usize| on_line(i) || Some(changes[i].what) == *set_by;
                let (link, most) = (&links[link.0].name, available(sender));
                let Some(i) = moment.iter().copied().rfind(concerns) else { continue };
                let message = format!("from then on {name} sends at {rate}, more than link {link:?} has, {most}");
                let accepted = if on_line(i) {
                    format!("at least {rate}, or a lower rate of {name}")
                } else {
                    format!("at most {most}")
                };
                let key = if matches!(changes[i].what, ChangeOf::Pcr(_)) { "pcr" } else { "rate" };
                self.refuse(&at!["change", i, key], message, accepted);
            }
        }
    }
}

/// Returns the rates of links when the run starts, forward and back: their own, or those of changes at 0 s.
pub(super) fn rates_at_start(changes: &[ChangeFile], links: &[Link]) -> Vec<[Rate; 2]> {
    let mut rates: Vec<[Rate; 2]> = links.iter().map(|link| [0, 1].map(|end| link.rate_of(end))).collect();
    let is_at_start = |at: RttSpan| at.resolve(Span::from_secs(1)).is_some_and(Span::is_zero);
    for change in changes.iter().filter(|change| change.at.is_some_and(is_at_start)) {
        let (Some(Some(name)), Some(Some(line)), Some(direction)) = (&change.link, change.rate, change.direction)
        else {
            continue;
        };
        if let Some(link) = links.iter().position(|link| link.name == *name) {
            direction.ports().iter().for_each(|&end| rates[link][end] = line.rate);
        }
    }
    rates
}

/// Returns the direction of a link in which `from` sends on it: 0 is forward, 1 is back.
pub(super) fn direction(link: &Link, from: NodeIndex) -> usize {
    usize::from(link.a != from)
}

fn shaped(links: &[Link], shapers: &[Shaper]) -> Vec<Sender> {
    let shaper = |(k, shaper): (usize, &Shaper)| Sender {
        name: format!("shaper {:?}", shaper.name),
        rate: shaper.rate,
        line: (shaper.link, direction(&links[shaper.link.0], shaper.at)),
        set_by: Some(ChangeOf::Shaper(k)),
    };
    shapers.iter().enumerate().map(shaper).collect()
}

/// Returns the gateways that split connections, once for each line between a pair, except lines that are slower than
/// the gateway from the start. No change sets the rates of gateways.
fn gateways(network: &Network, traffic: &[Traffic]) -> Vec<Sender> {
    let mut lines: Vec<(NodeIndex, (LinkIndex, usize))> = Vec::new();
    for group in traffic {
        let nodes = route::visited(&network.links, group.from.node(), &group.route);
        for hop in route::between_gateways(&network.links, group) {
            let line = group.route[hop];
            // The first gateway sends along the route, the other one against it.
            let senders = group.gateways().into_iter().flatten().zip([nodes[hop], nodes[hop + 1]]);
            lines.extend(senders.map(|(gateway, from)| (gateway, (line, direction(&network.links[line.0], from)))));
        }
    }
    lines.sort_unstable();
    lines.dedup();
    let sender = |(node, line): (NodeIndex, (LinkIndex, usize))| {
        let node = &network.nodes[node.0];
        let rate = node.gateway.as_ref()?.rate;
        let name = format!("gateway {:?}", node.name);
        (rate <= network.links[line.0.0].rate_of(line.1)).then_some(Sender { name, rate, line, set_by: None })
    };
    lines.into_iter().filter_map(sender).collect()
}

/// Returns the peak cell rates of groups whose first cells are sent on a link of the network.
fn peaks(links: &[Link], traffic: &[Traffic]) -> Vec<Sender> {
    let peak = |(i, group): (usize, &Traffic)| {
        // The network sets the rate of an ABR source.
        let rate = group.service.pcr().filter(|_| !matches!(group.service, Service::Abr(_)))?;
        let link = route::source_link(links, group)?;
        let hop = group.route.iter().position(|&hop| hop == link)?;
        // Responders of these applications send most.
        let end = usize::from(group.responder_sends());
        let from = route::visited(links, group.from.node(), &group.route)[hop + end];
        let line = (link, direction(&links[link.0], from));
        Some(Sender { name: format!("traffic {:?}", group.name), rate, line, set_by: Some(ChangeOf::Pcr(i)) })
    };
    traffic.iter().enumerate().filter_map(peak).collect()
}
