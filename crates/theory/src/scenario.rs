//! Predictions for the traffic groups of a scenario.
//!
//! Each group is predicted alone. The path of its data is divided into loops at the gateways that split its
//! connections; the loop with the least bound binds.

mod hops;
mod udp;

use std::collections::BTreeSet;

use cellway_scenario::{App, GatewaySpec, HostSpec, NodeIndex, Scenario, Service, TcpSpec, TcpTraffic, Traffic};
use cellway_units::{Bytes, Rate, Span};

use crate::framing::TIMESTAMPS;
use crate::leg::{Leg, Stage};
use crate::loss::{any_lost, loss_bounds, steady_timeout};
use crate::pftk::Lossy;
use crate::prediction::{Limit, Prediction};
use hops::{Hop, Packet};
pub use udp::{Answer, ClassRate, UdpPrediction, predict_class, predict_udp};

/// The largest loss that is used in formulas.
const MOST_LOSS: f64 = 1.0 - 1e-9;

/// The prediction for one traffic group.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct GroupPrediction {
    /// The name of the group.
    pub group: String,
    /// Its slots.
    pub connections: u32,
    /// The loops in the direction of the data: one, or three if gateways split the connections.
    pub legs: Vec<LegPrediction>,
    /// The index of the loop that binds in `legs`.
    pub binding: usize,
    /// The probability that the links lose one of its full packets, over the whole path: a packet of each loop.
    pub loss: f64,
    /// The least bound of all loops: TCP payload of all slots together, in bit/s.
    pub goodput: f64,
    /// The limitations of the prediction.
    pub caveats: Vec<String>,
}

/// The prediction for one loop.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct LegPrediction {
    /// The node where data enters it; "" for the implicit hosts.
    pub from: String,
    /// The node where it leaves.
    pub to: String,
    /// True if this is the transport between gateways, not TCP.
    pub transport: bool,
    /// The probability that the links of the loop lose a full packet, or one of its cells.
    pub loss: f64,
    /// Its bounds.
    pub prediction: Prediction,
}

/// Predicts each traffic group over TCP, in file order; a group without slots as if it had one.
pub fn predict(scenario: &Scenario) -> Vec<GroupPrediction> {
    scenario.traffic.iter().enumerate().filter_map(|(i, traffic)| Some(group(scenario, i, traffic.tcp()?))).collect()
}

/// An end of a loop.
struct End<'s> {
    name: String,
    host: HostSpec,
    tcp: &'s TcpSpec,
    gateway: Option<&'s GatewaySpec>,
    /// True if all connections of the group use this host.
    shared: bool,
}

fn group(scenario: &Scenario, index: usize, tcp: &TcpTraffic) -> GroupPrediction {
    let traffic = &scenario.traffic[index];
    // Responders send in these; in others most data is the originator's.
    let back = traffic.responder_sends();
    let hops = hops::hops(scenario, index, back);
    let legs = legs(scenario, traffic, tcp, &hops, back);
    let least = |a: usize, b: usize| if legs[b].prediction.goodput < legs[a].prediction.goodput { b } else { a };
    let binding = (1..legs.len()).fold(0, least);
    GroupPrediction {
        group: traffic.name.clone(),
        connections: traffic.count,
        goodput: legs[binding].prediction.goodput,
        binding,
        caveats: caveats(scenario, index, tcp, &hops),
        loss: any_lost(legs.iter().map(|leg| (leg.loss, 1.0))),
        legs,
    }
}

fn legs(scenario: &Scenario, traffic: &Traffic, tcp: &TcpTraffic, hops: &[Hop], back: bool) -> Vec<LegPrediction> {
    let host = |attachment: cellway_scenario::Attachment| match attachment {
        cellway_scenario::Attachment::Host(node) => End {
            name: scenario.nodes[node.0].name.clone(),
            host: scenario.nodes[node.0].host,
            tcp: &tcp.tcp,
            gateway: None,
            shared: true,
        },
        cellway_scenario::Attachment::Router(_) => {
            End { name: String::new(), host: traffic.host, tcp: &tcp.tcp, gateway: None, shared: false }
        }
    };
    let gateway = |node: NodeIndex, side: usize| {
        let spec = scenario.nodes[node.0].gateway.as_ref();
        End {
            name: scenario.nodes[node.0].name.clone(),
            host: spec.map_or(HostSpec::default(), |g| g.host),
            tcp: &tcp.gateway_tcp[side],
            gateway: spec,
            shared: true,
        }
    };
    let mut ends = vec![host(traffic.from)];
    let mut cuts = Vec::new();
    if let Some(pair) = tcp.gateways {
        ends.extend([gateway(pair[0], 0), gateway(pair[1], 1)]);
        cuts.extend(pair);
    }
    ends.push(host(traffic.to));
    if back {
        ends.reverse();
        cuts.reverse();
    }
    let mut rest = hops;
    let mut found = Vec::new();
    for (i, pair) in ends.windows(2).enumerate() {
        let length = cuts.get(i).and_then(|cut| rest.iter().position(|h| h.to == Some(*cut)));
        let (these, after) = rest.split_at(length.map_or(rest.len(), |n| n + 1));
        rest = after;
        let transport = ends.len() == 4 && i == 1;
        let (leg, loss, refused) = leg(traffic, &pair[0], &pair[1], these, transport);
        let mut prediction = leg.predict();
        prediction.caveats.extend(refused);
        if transport {
            prediction
                .caveats
                .push("delays before the gateways acknowledge and grant credit are not counted".to_owned());
        }
        if transport && loss > 0.0 {
            prediction.caveats.push("what gateways send again because links lose it is not counted".to_owned());
        }
        found.push(LegPrediction { from: pair[0].name.clone(), to: pair[1].name.clone(), transport, loss, prediction });
    }
    found
}

/// Returns the loop, the probability that its links lose a packet, and the reason for which there is no bound for that,
/// if there is none.
fn leg(traffic: &Traffic, from: &End<'_>, to: &End<'_>, hops: &[Hop], transport: bool) -> (Leg, f64, Option<String>) {
    let spec = from.gateway.filter(|_| transport);
    let (mss, headers) = match spec {
        Some(gateway) => (gateway.packet, gateway.transport.header_octets()),
        None => {
            let headers = traffic.family().tcp_headers();
            let fits = traffic.mtu.0.saturating_sub(headers).max(1);
            let whole = from.tcp.mss.min(to.tcp.mss).min(Bytes(fits)).0;
            let options = if from.tcp.timestamps && to.tcp.timestamps { TIMESTAMPS } else { 0 };
            (Bytes(whole.saturating_sub(options).max(1)), headers + options)
        }
    };
    let data = Packet::new(hops, Bytes(mss.0 + headers));
    let ack = Packet::new(hops, Bytes(headers));
    let mut stages = Vec::new();
    stages.extend(host_stage(&from.name, from.host.rate, from.host.send, &data, from.shared));
    if let (Some(gateway), Some(first)) = (spec, hops.first()) {
        let seconds = first.framing.octets(data.octets).0 as f64 * 8.0 / gateway.rate.as_bps() as f64;
        stages.push(Stage { rate: gateway.rate.as_bps() as f64, ..stage(Limit::Gateway, &from.name, seconds, true) });
    }
    stages.extend(data.stages(hops));
    stages.extend(host_stage(&to.name, to.host.rate, to.host.receive, &data, to.shared));
    let propagation: f64 = hops.iter().map(|h| h.delay.as_secs_f64() + h.delay_back.as_secs_f64()).sum();
    let cost =
        |host: &HostSpec, packet: &Packet| host.rate.map_or(0.0, |r| packet.octets.bits().0 as f64 / r.as_bps() as f64);
    let machines = cost(&from.host, &data)
        + from.host.send.as_secs_f64()
        + cost(&to.host, &data)
        + to.host.receive.as_secs_f64()
        + cost(&to.host, &ack)
        + to.host.send.as_secs_f64()
        + cost(&from.host, &ack)
        + from.host.receive.as_secs_f64();
    let (window, send_buffer) = match spec {
        Some(gateway) => (gateway.window, Bytes(u64::MAX)),
        None => (to.tcp.window, from.tcp.send_buffer),
    };
    let (round_trip, loss) =
        (propagation + data.transit(hops, false) + ack.transit(hops, true) + machines, data.loss(hops));
    let delayed_ack = !transport && to.tcp.delayed_ack.0.is_some();
    let connections = u64::from(traffic.count.max(1));
    let rtt = Span::from_secs_f64(round_trip);
    let rto = steady_timeout(rtt, from.tcp.rto_min, from.tcp.timer_granularity).min(from.tcp.rto_max);
    // The formulas have no value if everything is lost.
    let lossy = Lossy { mss, rtt, loss: loss.min(MOST_LOSS), rto, delayed_ack, window: None };
    // They apply to TCP.
    let bounds = if transport { Ok(Vec::new()) } else { loss_bounds(from.tcp.control(), lossy, connections as f64) };
    let (others, refused) = match bounds {
        Ok(bounds) => (bounds, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let leg = Leg {
        mss,
        window,
        send_buffer,
        covers: if delayed_ack { 2 } else { 1 },
        initial: u64::from(from.tcp.initial_window),
        connections,
        round_trip,
        stages,
        units: data.units(),
        unit: data.unit(),
        others,
        transport,
        nagle: transport || from.tcp.nagle,
    };
    (leg, loss, refused)
}

fn stage(limit: Limit, at: &str, seconds: f64, shared: bool) -> Stage {
    Stage { limit, at: at.to_owned(), seconds, rate: f64::INFINITY, equation: "packet-goodput", shared, buffer: None }
}

/// Returns the stage of the host's processing time for each segment, if there is any.
fn host_stage(
    at: &str,
    rate: Option<Rate>,
    fixed: cellway_units::Span,
    packet: &Packet,
    shared: bool,
) -> Option<Stage> {
    let seconds = fixed.as_secs_f64() + rate.map_or(0.0, |r| packet.octets.bits().0 as f64 / r.as_bps() as f64);
    let at = if at.is_empty() { "host" } else { at };
    (seconds > 0.0).then(|| stage(Limit::Host, at, seconds, shared))
}

fn caveats(scenario: &Scenario, index: usize, tcp: &TcpTraffic, hops: &[Hop]) -> Vec<String> {
    let traffic = &scenario.traffic[index];
    let mut found = Vec::new();
    let mut note = |holds: bool, text: String| {
        if holds {
            found.push(text);
        }
    };
    let limited = tcp.tcp.pacing_rate.map_or(String::new(), |rate| format!(" {rate}"));
    note(!limited.is_empty(), format!("the sender's own pacing-rate,{limited}, is not counted"));
    note(traffic.count == 0, "the group has no slots; predicted as if it had one".to_owned());
    let greedy = matches!(tcp.app, App::Bulk { .. } | App::Ttcp { .. } | App::FtpGet { .. });
    let flows = tcp.app.arrives_by_itself();
    note(
        flows,
        "flows arrive by themselves and overlap; predicted as one transfer without end for each slot".to_owned(),
    );
    let pages = matches!(tcp.app, App::Page(_));
    note(pages, "pages load over several connections; predicted as one transfer without end for each slot".to_owned());
    note(
        !greedy && !flows && !pages,
        format!("{} does not always have data to send: an upper bound", tcp.app.kind().name()),
    );
    let shares = |other: &Traffic| other.count > 0 && other.route.iter().any(|l| traffic.route.contains(l));
    let others: Vec<&str> = (scenario.traffic.iter().enumerate())
        .filter(|(i, other)| *i != index && shares(other))
        .map(|(_, other)| &other.name[..])
        .collect();
    note(!others.is_empty(), format!("predicted alone, without {} on the same links", others.join(", ")));
    note(scenario.changes_later(), "rates change while it runs; predicted for those at the start".to_owned());
    for link in traffic.route.iter().map(|link| &scenario.links[link.0]).filter(|link| link.varies()) {
        note(true, format!("link {} varies; predicted for its rate and delay as given", link.name));
    }
    for link in traffic.route.iter().map(|link| &scenario.links[link.0]) {
        let in_bursts = link.directions.iter().any(|direction| direction.burst.is_some());
        note(in_bursts, format!("link {} loses in bursts; predicted for independent losses", link.name));
    }
    for link in traffic.route.iter().map(|link| &scenario.links[link.0]) {
        let has_faults =
            |direction: &cellway_scenario::Direction| !direction.duplicate.is_zero() || !direction.corrupt.is_zero();
        let faulty = link.directions.iter().any(has_faults);
        note(faulty, format!("link {} duplicates or corrupts packets, which is not counted", link.name));
    }
    let policed = scenario.policers.iter().find(|p| p.traffic.contains(&index));
    if let Some(policer) = policed {
        note(true, format!("policer {} drops or tags what does not conform; losses are not predicted", policer.name));
    }
    for difference in hops.iter().filter_map(|hop| hop.unlike_fifo).collect::<BTreeSet<_>>() {
        note(true, format!("predicted as first in, first out, but {difference}"));
    }
    let numbered = traffic.route.iter().any(|link| scenario.links[link.0].loses_by_number());
    note(numbered, "packets that links lose by their numbers (lost) are not counted".to_owned());
    note(matches!(traffic.service, Service::Abr(_)), "ABR can be told any rate down to MCR; PCR is used".to_owned());
    found
}
