//! Predictions for groups of datagrams.
//!
//! Each group is taken alone. What theory has no answer for says why.

use cellway_scenario::{Arrivals, Attachment, HostSpec, Scenario, Service, Traffic, UdpSource};
use cellway_units::{Bytes, Rate};

use super::hops::{self, Packet};
use crate::datagrams::{md1_wait, overload_loss};
use crate::leg::Stage;

/// A value, or why theory has none.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The value.
    Value(f64),
    /// No value, and why.
    None(String),
}

impl Answer {
    /// Returns the value, if there is one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Answer::Value(value) => Some(*value),
            Answer::None(_) => None,
        }
    }
}

/// The parameters of a group of datagrams.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct UdpPrediction {
    /// The name of the group.
    pub group: String,
    /// Its slots.
    pub sources: u32,
    /// Their total mean rate: bit/s of IP packets.
    pub rate: f64,
    /// The one-way delay of a packet that nothing delays, in s.
    pub path_delay: f64,
    /// The line that the group fills most, and the share of its time.
    pub busiest: (String, f64),
    /// The mean one-way delay, in s.
    pub delay_mean: Answer,
    /// The share of the packets that are lost.
    pub loss_ratio: Answer,
}

/// Returns what arithmetic says of each group of datagrams, in file order; of a group without slots as if it had one.
pub fn predict_udp(scenario: &Scenario) -> Vec<UdpPrediction> {
    let of = |(i, traffic): (usize, &Traffic)| {
        let source = traffic.udp()?;
        Some(group(scenario, i, source))
    };
    scenario.traffic.iter().enumerate().filter_map(of).collect()
}

/// The packets that the originator of a slot sends of a class of a workload file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassRate {
    /// Packets per second, on average.
    pub packets: f64,
    /// The IP packet of the mean size.
    pub packet: Bytes,
}

/// Returns what arithmetic says of the group of datagrams at `index`, which plays a class of a workload file: of the
/// packets from the originators. Times between arrivals, packets and their sizes are any, so there is no equation for
/// delay and loss.
pub fn predict_class(scenario: &Scenario, index: usize, class: ClassRate) -> UdpPrediction {
    let why = Answer::None("measured conversations have sizes and gaps of any distribution".to_owned());
    let ClassRate { packets, packet } = class;
    let lines = Lines::new(scenario, index, packet);
    UdpPrediction { delay_mean: why.clone(), loss_ratio: why, ..lines.outline(scenario, index, packets) }
}

/// The lines that the packets of a group pass.
struct Lines {
    hops: Vec<hops::Hop>,
    packet: Packet,
    stages: Vec<Stage>,
    octets: Bytes,
}

impl Lines {
    fn new(scenario: &Scenario, index: usize, octets: Bytes) -> Lines {
        let hops = hops::hops(scenario, index, false);
        let packet = Packet::new(&hops, octets);
        let stages = packet.stages(&hops);
        Lines { hops, packet, stages, octets }
    }

    /// Returns the one-way delay of a packet that nothing delays, in s.
    fn path_delay(&self) -> f64 {
        self.packet.transit(&self.hops, false) + self.hops.iter().map(|hop| hop.delay.as_secs_f64()).sum::<f64>()
    }

    /// Returns the prediction of a group whose slots send `packets` per second, without delay and loss.
    fn outline(&self, scenario: &Scenario, index: usize, packets: f64) -> UdpPrediction {
        let traffic = &scenario.traffic[index];
        let slots = f64::from(traffic.count.max(1));
        let share = |line: &Stage| (packets * line.seconds * if line.shared { slots } else { 1.0 }).min(1.0);
        let busiest = self.stages.iter().map(|line| (line.at.clone(), share(line)));
        let busiest = busiest.reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap_or_default();
        let none = Answer::None(String::new());
        UdpPrediction {
            group: traffic.name.clone(),
            sources: traffic.count,
            rate: packets * self.octets.bits().0 as f64 * slots,
            path_delay: self.path_delay(),
            busiest,
            delay_mean: none.clone(),
            loss_ratio: none,
        }
    }
}

fn group(scenario: &Scenario, index: usize, source: &UdpSource) -> UdpPrediction {
    let traffic = &scenario.traffic[index];
    let of = Lines::new(scenario, index, source.packet);
    let Lines { hops, packet, stages: lines, .. } = &of;
    let path_delay = of.path_delay();
    let packets = source.mean_rate() / source.packet.bits().0 as f64;
    let unlike_fifo = hops.iter().find_map(|hop| hop.unlike_fifo);
    let alone = Alone { traffic, source, lines, path_delay, has_cells: packet.unit() == "cell", unlike_fifo };
    let (delay_mean, loss_ratio) = match obstacle(scenario, index) {
        Some(why) => (Answer::None(why.clone()), Answer::None(why)),
        None => (alone.delay(), alone.loss(packet.loss(hops))),
    };
    let rate = source.mean_rate() * f64::from(traffic.count.max(1));
    UdpPrediction { rate, delay_mean, loss_ratio, ..of.outline(scenario, index, packets) }
}

/// Why nothing can be said of delay and loss.
fn obstacle(scenario: &Scenario, index: usize) -> Option<String> {
    let traffic = &scenario.traffic[index];
    let shares = |other: &Traffic| other.count > 0 && other.route.iter().any(|link| traffic.route.contains(link));
    let others = scenario.traffic.iter().enumerate().filter(|(i, other)| *i != index && shares(other));
    let others: Vec<&str> = others.map(|(_, other)| &other.name[..]).collect();
    let costs = |end: Attachment| match end {
        Attachment::Host(node) => scenario.nodes[node.0].host != HostSpec::default(),
        Attachment::Router(_) => traffic.host != HostSpec::default(),
    };
    if !others.is_empty() {
        return Some(format!("{} send on the same links", others.join(", ")));
    }
    if !scenario.commands.is_empty() {
        return Some("programs send on the same links".to_owned());
    }
    if traffic.route.iter().any(|link| scenario.links[link.0].loses_by_number()) {
        return Some("links lose packets by their numbers (lost)".to_owned());
    }
    if scenario.changes_later() {
        return Some("rates change while it runs".to_owned());
    }
    if let Some(link) = traffic.route.iter().map(|link| &scenario.links[link.0]).find(|link| link.varies()) {
        return Some(format!("rate or delay of link {} vary", link.name));
    }
    let has_faults = |link: &&cellway_scenario::Link| {
        link.directions.iter().any(|direction| !direction.duplicate.is_zero() || !direction.corrupt.is_zero())
    };
    if let Some(link) = traffic.route.iter().map(|link| &scenario.links[link.0]).find(has_faults) {
        return Some(format!("link {} duplicates or corrupts packets", link.name));
    }
    let in_bursts = |link: &&cellway_scenario::Link| link.directions.iter().any(|direction| direction.burst.is_some());
    if let Some(link) = traffic.route.iter().map(|link| &scenario.links[link.0]).find(in_bursts) {
        return Some(format!("link {} loses in bursts", link.name));
    }
    if scenario.policers.iter().any(|policer| policer.traffic.contains(&index)) {
        return Some("a policer drops or tags cells".to_owned());
    }
    let shaped = scenario.shapers.iter().any(|shaper| shaper.traffic.contains(&index));
    if shaped || traffic.service != (Service::Ubr { pcr: None }) {
        return Some("a shaper or a service spaces its cells".to_owned());
    }
    if costs(traffic.from) || costs(traffic.to) {
        return Some("hosts take time for each packet".to_owned());
    }
    None
}

/// A group without anything else on its path.
struct Alone<'a> {
    traffic: &'a Traffic,
    source: &'a UdpSource,
    /// In the order of the path.
    lines: &'a [Stage],
    path_delay: f64,
    has_cells: bool,
    /// The difference of the discipline of a queue from first in, first out.
    unlike_fifo: Option<cellway_spec::UnlikeFifo>,
}

impl Alone<'_> {
    /// The first of the lines that take a packet the longest time.
    fn slowest(&self) -> Option<&Stage> {
        self.lines.iter().reduce(|a, b| if b.seconds > a.seconds { b } else { a })
    }

    /// The time between two packets of a slot, of an on-off source while it is on, in s.
    fn interval(&self) -> f64 {
        self.source.packet.bits().0 as f64 / self.source.rate.as_bps() as f64
    }

    fn delay(&self) -> Answer {
        let none = |why: &str| Answer::None(why.to_owned());
        let Some(slowest) = self.slowest() else { return none("there is no line") };
        let one = self.traffic.count <= 1;
        match (self.source.arrivals, self.unlike_fifo) {
            (Arrivals::Ping { .. }, _) => none("pings measure the round trip"),
            (Arrivals::Video(_), _) => none("frames of random sizes arrive at once"),
            // Each packet has left every line before the next one comes.
            (Arrivals::Constant | Arrivals::OnOff { .. }, _) if one && slowest.seconds <= self.interval() => {
                Answer::Value(self.path_delay)
            }
            (Arrivals::Constant | Arrivals::OnOff { .. }, _) if one => {
                none("the source sends faster than the slowest line")
            }
            (Arrivals::Constant | Arrivals::OnOff { .. }, _) => {
                none("several sources meet in phases that chance decides")
            }
            (Arrivals::Poisson, Some(unlike_fifo)) => Answer::None(unlike_fifo.to_string()),
            (Arrivals::Poisson, None) if self.has_cells => none("links carry cells: M/D/1 is about packets"),
            (Arrivals::Poisson, None) if !one && !self.lines.iter().all(|line| line.shared) => {
                none("the access links space the packets of each source before they meet")
            }
            (Arrivals::Poisson, None) => {
                // With packets of one size a series of lines makes them wait as long as the slowest alone.
                let bits = slowest.seconds * slowest.rate;
                let framed = bits / self.source.packet.bits().0 as f64;
                let slots = f64::from(self.traffic.count.max(1));
                let rate = Rate::from_bps((self.source.rate.as_bps() as f64 * framed * slots).round() as u64);
                let packet = Bytes((bits / 8.0).round() as u64);
                match md1_wait(packet, rate, Rate::from_bps(slowest.rate as u64)) {
                    Ok(wait) => Answer::Value(self.path_delay + wait.value),
                    Err(_) => none("the sources send faster than the slowest line"),
                }
            }
        }
    }

    /// `on_links` is the chance that links lose a packet.
    fn loss(&self, on_links: f64) -> Answer {
        let none = |why: &str| Answer::None(why.to_owned());
        let Some(slowest) = self.slowest() else { return none("there is no line") };
        let one = self.traffic.count <= 1;
        match (self.source.arrivals, self.unlike_fifo) {
            (Arrivals::Ping { .. }, _) => none("pings measure the round trip"),
            (Arrivals::Video(_), _) => none("the buffer takes part of each frame"),
            (Arrivals::Poisson, _) => none("the queue of a Poisson source has no bound, the buffer has"),
            _ if !one => none("several sources meet in phases that chance decides"),
            _ if slowest.seconds <= self.interval() => Answer::Value(on_links),
            (Arrivals::OnOff { .. }, _) => none("the buffer takes part of each burst"),
            (Arrivals::Constant, Some(unlike_fifo)) => Answer::None(unlike_fifo.to_string()),
            (Arrivals::Constant, None) if on_links > 0.0 => none("links lose packets before or after the slowest line"),
            (Arrivals::Constant, None) if self.has_cells => none("the buffer may drop single cells of frames"),
            (Arrivals::Constant, None) if slowest.buffer.is_none() => {
                none("the host queues without limit before its line")
            }
            (Arrivals::Constant, None) => {
                // The rates of packets, on a common scale.
                let [source, line] =
                    [self.interval(), slowest.seconds].map(|time| Rate::from_bps((1e12 / time) as u64));
                overload_loss(source, line)
                    .map_or_else(|e| Answer::None(e.to_string()), |loss| Answer::Value(loss.value))
            }
        }
    }
}
