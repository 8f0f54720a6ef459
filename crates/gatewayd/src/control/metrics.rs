//! A snapshot as metrics, in either text format.

use std::collections::BTreeMap;
use std::fmt;

use cellway_gateway::Reason;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use super::format::{self, Format};
use crate::daemon::tally::PASSED;
use crate::status::{ClassStatus, PeerStatus, Snapshot};

/// What all names begin with.
const PREFIX: &str = "cellway_gateway";

/// How connections come.
const CLASSES: [&str; 5] = ["forward", "intercepted", "peer", "proved", "socks"];
/// The ends of connections of strangers.
const STRANGERS: [&str; 4] = ["failed", "refused", "replaced", "silent"];
/// Kinds of errors.
const ERRORS: [&str; 8] = ["accept", "device", "lost-bytes", "malformed", "reload", "rules", "socket", "upgrade"];

/// Returns the metrics in `format`.
pub(super) fn text(snapshot: Snapshot, format: Format) -> String {
    match format {
        Format::OpenMetrics => open_metrics(snapshot),
        Format::Classic => format::classic(&open_metrics(snapshot)),
    }
}

/// Names of counters end in `_total`, as the format demands.
fn open_metrics(snapshot: Snapshot) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Picture(snapshot)));
    let mut text = String::new();
    // Only writing can fail, and a string takes everything.
    let _ = text::encode(&mut text, &registry);
    text
}

#[derive(Debug)]
struct Picture(Snapshot);

/// A value of a peer as a counter.
type PeerCounter = (&'static str, &'static str, Option<Unit>, fn(&PeerStatus) -> u64);
/// A value of a peer as a gauge.
type PeerGauge = (&'static str, &'static str, Option<Unit>, fn(&PeerStatus) -> f64);

/// A value of the gateway as a gauge.
type Gauge = (&'static str, &'static str, Option<Unit>, fn(&Snapshot) -> f64);
/// A value of the gateway as a counter.
type Counter = (&'static str, &'static str, fn(&Snapshot) -> u64);

const GAUGES: [Gauge; 5] = [
    ("uptime", "Time since the start", Some(Unit::Seconds), |s| s.uptime),
    (
        "opening",
        "Openings here that wait for their servers, or for their clients to acknowledge the answer",
        None,
        |s| s.opening as f64,
    ),
    ("draining", "1 while it takes no new connections and lets the others end", None, |s| {
        f64::from(u8::from(s.draining.is_some()))
    }),
    ("silent", "Connections whose host is left without an answer, as the other one has vanished", None, |s| {
        s.silent as f64
    }),
    ("longest_pass", "Duration of the longest pass of the data thread since the start", Some(Unit::Seconds), |s| {
        s.longest_pass
    }),
];

const COUNTERS: [Counter; 6] = [
    ("receive_drops", "Packets of peers lost here, not on the line, as they were not read in time", |s| {
        s.receive_drops
    }),
    ("long_passes", "Passes of the data thread that took longer than 5 ms", |s| s.long_passes),
    ("held_back", "How often a host was not read because the line was behind", |s| s.counters.held_back),
    ("passed", "Openings that went on without the pair, as the peer could not be reached", |s| s.counters.passed),
    ("answered_first", "Openings answered here first, so that their clients prove their addresses", |s| {
        s.counters.answered_first
    }),
    ("rules_restored", "How often rules of the kernel were lacking and were set again", |s| s.counters.rules_restored),
];

const PEER_GAUGES: [PeerGauge; 10] = [
    ("peer_up", "Whether the peer can be reached", None, |p| f64::from(u8::from(p.up))),
    ("peer_responsive", "Whether the peer answers", None, |p| f64::from(u8::from(p.up && !p.unresponsive))),
    ("peer_rtt", "Smoothed round-trip time", Some(Unit::Seconds), |p| p.rtt),
    ("peer_packet", "Largest packet to the peer", Some(Unit::Bytes), |p| p.payload as f64),
    ("peer_line_rate", "Rate of the line to the peer, in bytes per second", None, |p| p.rate / 8.0),
    ("peer_line_rate_fits", "Rate that the line carries, if less than that, in bytes per second", None, |p| {
        p.fits.unwrap_or(p.rate) / 8.0
    }),
    ("peer_sending_rate", "Rate at which packets leave now, in bytes per second", None, |p| p.sending_rate / 8.0),
    ("peer_held", "Bytes held: not acknowledged by the peer, or not taken by a host", Some(Unit::Bytes), |p| {
        p.buffered_bytes as f64
    }),
    ("peer_connections", "Connections that are open", None, |p| p.connections as f64),
    ("peer_opening", "Connections that wait for the far host's answer", None, |p| p.opening as f64),
];

const PEER_COUNTERS: [PeerCounter; 11] = [
    ("peer_surplus", "Connections of the peer that were ended because it opened too many", None, |p| p.surplus),
    ("peer_downs", "How often the peer became unreachable", None, |p| p.downs),
    ("peer_stalls", "How often the peer became unresponsive", None, |p| p.stalls),
    ("peer_overloads", "How often the rate was found to be above what the line carries", None, |p| p.overloads),
    ("peer_line", "Octets of IP packets sent to the peer, everything included", Some(Unit::Bytes), |p| p.line_octets),
    ("peer_packets_sent", "Packets sent to the peer", None, |p| p.packets_sent),
    ("peer_packets_received", "Packets received from the peer", None, |p| p.packets_received),
    ("peer_packets_lost", "Packets to the peer taken for lost", None, |p| p.packets_lost),
    ("peer_resent", "Bytes of connections sent again", Some(Unit::Bytes), |p| p.resent_bytes),
    ("peer_sent", "Bytes of connections sent, those sent again not counted", Some(Unit::Bytes), |p| p.sent_bytes),
    ("peer_received", "Bytes of connections received, each once", Some(Unit::Bytes), |p| p.received_bytes),
];

/// A value of a class as a counter.
type ClassCounter = (&'static str, &'static str, Option<Unit>, fn(&ClassStatus) -> f64);
/// A value of a class as a gauge, if there is one.
type ClassGauge = (&'static str, &'static str, fn(&ClassStatus) -> Option<f64>);

const CLASS_GAUGES: [ClassGauge; 3] = [
    ("class_connections", "Connections of the class that have not ended", |c| Some(c.connections as f64)),
    ("class_share", "Weight of the class", |c| Some(f64::from(c.share))),
    ("class_ceiling", "The most that is sent of the class, in bytes per second; only where there is a ceiling", |c| {
        c.ceiling.map(|ceiling| ceiling / 8.0)
    }),
];

const CLASS_COUNTERS: [ClassCounter; 4] = [
    ("class_frames", "Data frames of the class sent to the peer", None, |c| c.frames as f64),
    ("class_sent", "Bytes of connections of the class sent, each time", Some(Unit::Bytes), |c| c.sent_bytes as f64),
    ("class_line", "Octets that the class took of the rate to the peer", Some(Unit::Bytes), |c| c.line_octets as f64),
    ("class_at_ceiling", "Time for which the class waited for its ceiling", Some(Unit::Seconds), |c| c.at_ceiling),
];

impl Collector for Picture {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Picture(snapshot) = self;
        let counters = &snapshot.counters;
        let info = [("version", env!("CARGO_PKG_VERSION")), ("name", snapshot.name.as_str())];
        encoder.encode_descriptor("build", "This gateway", None, MetricType::Info)?.encode_info(&info)?;
        for (name, help, unit, value) in &GAUGES {
            let family = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
            ConstGauge::new(value(snapshot)).encode(family)?;
        }
        for (name, help, value) in &COUNTERS {
            let family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(value(snapshot)).encode(family)?;
        }
        for (name, help, unit, value) in &PEER_GAUGES {
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
            for peer in &snapshot.peers {
                let labels = [("peer", peer.name.as_str())];
                ConstGauge::new(value(peer)).encode(family.encode_family(&labels)?)?;
            }
        }
        for (name, help, unit, value) in &PEER_COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
            for peer in &snapshot.peers {
                let labels = [("peer", peer.name.as_str())];
                ConstCounter::new(value(peer)).encode(family.encode_family(&labels)?)?;
            }
        }
        let classes = || snapshot.peers.iter().flat_map(|peer| peer.classes.iter().map(move |class| (peer, class)));
        for (name, help, value) in &CLASS_GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (peer, class) in classes() {
                let Some(value) = value(class) else { continue };
                let labels = [("peer", peer.name.as_str()), ("class", class.name.as_str())];
                ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        for (name, help, unit, value) in &CLASS_COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
            for (peer, class) in classes() {
                let labels = [("peer", peer.name.as_str()), ("class", class.name.as_str())];
                ConstCounter::new(value(class)).encode(family.encode_family(&labels)?)?;
            }
        }
        let mut family = encoder.encode_descriptor("peer_transport", "How packets travel", None, MetricType::Info)?;
        for peer in snapshot.peers.iter().filter(|peer| peer.up) {
            family.encode_info(&[("peer", peer.name.as_str()), ("transport", peer.transport.as_str())])?;
        }
        // What has not happened yet is 0, so that the first time is seen as an increase.
        let mut by = |name, help, label, never: &[&str], counts: &BTreeMap<String, u64>| {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            let never = never.iter().map(|&value| (value, 0));
            let counts: BTreeMap<&str, u64> =
                never.chain(counts.iter().map(|(v, &count)| (v.as_str(), count))).collect();
            for (value, count) in counts {
                ConstCounter::new(count).encode(family.encode_family(&[(label, value)])?)?;
            }
            fmt::Result::Ok(())
        };
        let reasons = Reason::ALL.map(Reason::name);
        let ways: Vec<&str> = ["clean", PASSED].into_iter().chain(reasons).collect();
        by("opened", "Connections by how they came", "class", &CLASSES, &counters.opened)?;
        by("refused", "Refused openings by reason", "reason", &reasons, &counters.refused)?;
        by("ended", "Ended connections by how", "how", &ways, &counters.ended)?;
        by("errors", "Errors by kind", "kind", &ERRORS, &counters.errors)?;
        let help = "Connections to the port for peers that never became a peer's";
        by("strangers", help, "how", &STRANGERS, &counters.strangers)?;
        let (buckets, count) = buckets(&counters.connect_seconds);
        let help = "Time from an opening to its answer";
        let mut histogram = encoder.encode_descriptor("connect", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        histogram.encode_histogram::<[(&str, &str); 0]>(counters.connect_seconds_sum, count, &buckets, None)
    }
}

/// The buckets as the format wants them, the last without bound, and the sum of all.
fn buckets(counts: &[(f64, u64)]) -> (Vec<(f64, u64)>, u64) {
    let (mut bounded, beyond): (Vec<_>, Vec<_>) = counts.iter().copied().partition(|(bound, _)| *bound < f64::MAX);
    bounded.push((f64::INFINITY, beyond.iter().map(|(_, count)| count).sum()));
    (bounded, counts.iter().map(|(_, count)| count).sum())
}
