//! Changes that contradict each other, or what does not change.

use cellway_units::Rate;

use crate::check::Check;
use crate::check::network::Network;
use crate::model::{Change, ChangeOf, Link, LinkIndex, NodeIndex, Service, Shaper, Traffic};
use crate::route;
use crate::tree::at;

/// A sender with a given rate, at one moment of a run.
struct Sender {
    /// Its name in messages.
    name: String,
    rate: Rate,
    /// The line that it sends on.
    line: LinkIndex,
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
        let mut links = network.links.clone();
        let mut senders = shaped(shapers);
        senders.extend(gateways(network, traffic));
        senders.extend(peaks(&links, traffic));
        let mut order: Vec<usize> = (0..changes.len()).collect();
        order.sort_by_key(|&i| changes[i].at);
        for moment in order.chunk_by(|&a, &b| changes[a].at == changes[b].at) {
            for change in moment.iter().map(|&i| &changes[i]) {
                match change.what {
                    ChangeOf::Link(link) => links[link.0].rate = change.rate,
                    what => senders.iter_mut().filter(|s| s.set_by == Some(what)).for_each(|s| s.rate = change.rate),
                }
            }
            for Sender { name, rate, line, set_by } in senders.iter().filter(|s| s.rate > links[s.line.0].rate) {
                let on_line = ChangeOf::Link(*line);
                let concerns = |&i: &usize| changes[i].what == on_line || Some(changes[i].what) == *set_by;
                let Link { name: link, rate: most, .. } = &links[line.0];
                let Some(i) = moment.iter().copied().rfind(concerns) else { continue };
                let message = format!("from then on {name} sends at {rate}, more than link {link:?} has, {most}");
                let accepted = if changes[i].what == on_line {
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

fn shaped(shapers: &[Shaper]) -> Vec<Sender> {
    let shaper = |(k, shaper): (usize, &Shaper)| Sender {
        name: format!("shaper {:?}", shaper.name),
        rate: shaper.rate,
        line: shaper.link,
        set_by: Some(ChangeOf::Shaper(k)),
    };
    shapers.iter().enumerate().map(shaper).collect()
}

/// Returns the gateways that split connections, once for each line between a pair, except lines that are slower than
/// the gateway from the start. No change sets the rates of gateways.
fn gateways(network: &Network, traffic: &[Traffic]) -> Vec<Sender> {
    let mut lines: Vec<(NodeIndex, LinkIndex)> = Vec::new();
    for group in traffic {
        for line in &group.route[route::between_gateways(&network.links, group)] {
            lines.extend(group.gateways.into_iter().flatten().map(|gateway| (gateway, *line)));
        }
    }
    lines.sort_unstable();
    lines.dedup();
    let sender = |(node, line): (NodeIndex, LinkIndex)| {
        let node = &network.nodes[node.0];
        let rate = node.gateway.as_ref()?.rate;
        let name = format!("gateway {:?}", node.name);
        (rate <= network.links[line.0].rate).then_some(Sender { name, rate, line, set_by: None })
    };
    lines.into_iter().filter_map(sender).collect()
}

/// Returns the peak cell rates of groups whose first cells are sent on a link of the network.
fn peaks(links: &[Link], traffic: &[Traffic]) -> Vec<Sender> {
    let peak = |(i, group): (usize, &Traffic)| {
        // The network sets the rate of an ABR source.
        let rate = group.service.pcr().filter(|_| !matches!(group.service, Service::Abr(_)))?;
        let line = route::source_link(links, group)?;
        Some(Sender { name: format!("traffic {:?}", group.name), rate, line, set_by: Some(ChangeOf::Pcr(i)) })
    };
    traffic.iter().enumerate().filter_map(peak).collect()
}
