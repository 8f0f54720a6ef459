//! The spacer of a scenario.

use cellway_scenario::{
    App, Attachment, Framing as Line, HostSpec, LinkIndex, Scenario, Service, TcpSpec, TcpTraffic, Traffic,
};
use cellway_spec::CongestionControl;
use cellway_units::{Bytes, CELL_BITS, Rate, Span};

use super::{Acknowledgements, SpacerInput};
use crate::error::{Error, undefined};
use crate::framing::{LineFraming, TIMESTAMPS};

/// Returns the parameters of the content of the single shaper of `scenario`, δ included, with the times of the
/// simulator's cells to the rounding of a picosecond. See docs/models/spacing.md.
///
/// # Errors
/// [`Error::Undefined`] if the scenario does not satisfy the theorems: one connection that always has data, between two
/// hosts of no cost on cell links, through one shaper that nothing changes.
pub fn spacer_of(scenario: &Scenario) -> Result<SpacerInput, Error> {
    let refuse = |what: &str, accepted: &str| Err(undefined("spacer", what, accepted));
    let ([traffic], [shaper]) = (&scenario.traffic[..], &scenario.shapers[..]) else {
        return refuse("the theorems are about one connection and one spacer", "one [[traffic]] and one [[shaper]]");
    };
    let greedy = |tcp: &&TcpTraffic| matches!(tcp.app, App::Bulk { size: None, write: None, .. });
    let Some(conversations) = traffic.tcp().filter(|tcp| traffic.count == 1 && greedy(tcp)) else {
        return refuse("the theorems are about one connection that always has data", "count = 1, app = \"bulk\"");
    };
    let plain = scenario.changes.is_empty() && scenario.policers.is_empty() && conversations.gateways.is_none();
    if !plain || shaper.sustained.is_some() || traffic.service != (Service::Ubr { pcr: None }) {
        return refuse("something else than the spacer acts on the cells", "UBR, a peak rate, and no change of it");
    }
    let free = [traffic.from, traffic.to].into_iter().all(|end| {
        let node = &scenario.nodes[end.node().0];
        matches!(end, Attachment::Host(_)) && node.host == HostSpec::default()
    });
    if !free || traffic.route.iter().any(|link| scenario.links[link.0].framing != Line::Atm) {
        return refuse("segments are not cells all the way", "two hosts without costs, and ATM links only");
    }
    let nodes = scenario.visited(traffic.from.node(), &traffic.route);
    let Some(place) = (0..traffic.route.len()).find(|&i| nodes[i] == shaper.at && traffic.route[i] == shaper.link)
    else {
        return refuse("the spacer acts on acknowledgements", "a spacer on the way of the data");
    };
    let tcp = &conversations.tcp;
    let grows = matches!(tcp.control(), CongestionControl::Tahoe | CongestionControl::Reno);
    if !grows || tcp.pacing || tcp.pacing_rate.is_some() {
        return refuse(
            "the window does not grow as the theorems have it",
            "control \"tahoe\" or \"reno\", and no pacing",
        );
    }
    if traffic.route.iter().any(|link| scenario.links[link.0].is_lossy()) {
        return refuse("links lose cells, which stops the acknowledgements", "links without loss and lost");
    }
    Ok(input(scenario, (traffic, tcp), shaper.rate, traffic.route.split_at(place)))
}

/// Returns them for a spacer at `rate` with the links `before` and `after` it.
fn input(
    scenario: &Scenario,
    (traffic, tcp): (&Traffic, &TcpSpec),
    rate: Rate,
    (before, after): (&[LinkIndex], &[LinkIndex]),
) -> SpacerInput {
    let link = |place: &LinkIndex| &scenario.links[place.0];
    let cell = |rate: Rate| CELL_BITS.0 as f64 / rate.as_bps() as f64;
    let framing = LineFraming::of_cells(scenario.multiplexing.encapsulation);
    let cells = |packet: u64| framing.cells(Bytes(packet)).expect("each of these makes cells");
    let bare = traffic.family().tcp_headers();
    let headers = bare + if tcp.timestamps { TIMESTAMPS } else { 0 };
    let whole = (tcp.mss.0 + bare).min(traffic.mtu.0);
    let mss = whole.saturating_sub(headers).max(1);
    let acknowledgements = match tcp.delayed_ack.0 {
        Some(_) => Acknowledgements::EverySecond,
        None => Acknowledgements::EverySegment,
    };
    let all = || before.iter().chain(after).map(link);
    // Both directions: each cell takes its own time on each line and the propagation.
    let one_way: f64 = all().map(|l| l.mean_delay().as_secs_f64() + cell(l.rate)).sum();
    // The last cell of an acknowledgement follows the first at the pace of the slowest line. The last cell of a
    // segment begins on the line 1/c before its time in the spacer would be over.
    let slowest = all().map(|l| cell(l.rate)).fold(0.0, f64::max);
    let delay = 2.0 * one_way + (cells(headers) - 1) as f64 * slowest - cell(rate);
    let window = tcp.window.0.min(tcp.send_buffer.0) / mss;
    SpacerInput {
        segment: cells(mss + headers),
        peak: before.iter().map(|l| link(l).rate).min().unwrap_or(rate),
        rate,
        delay: Span::from_secs_f64(delay.max(0.0)),
        acknowledgements,
        initial: u64::from(tcp.initial_window),
        threshold: tcp.initial_ssthresh.map_or(window, |b| b.0.div_ceil(mss)),
        window,
    }
}
