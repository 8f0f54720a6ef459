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

/// The prefix of all names.
const PREFIX: &str = "cellway_gateway";

/// Origins of connections.
const CLASSES: [&str; 5] = ["forward", "intercepted", "peer", "proved", "socks"];
/// Outcomes of connections of strangers.
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

/// Returns the metrics as OpenMetrics, where names of counters end in `_total`.
fn open_metrics(snapshot: Snapshot) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    registry.register_collector(Box::new(Picture(snapshot)));
    let mut text = String::new();
    // Only a write can fail, and a write to a string does not.
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
    ("uptime", "Time since the daemon started", Some(Unit::Seconds), |s| s.uptime),
    (
        "opening",
        "Connection attempts whose server has not answered, or whose client has not acknowledged the SYN-ACK",
        None,
        |s| s.opening as f64,
    ),
    ("draining", "1 while the gateway drains: it refuses new connections and waits for open ones to end", None, |s| {
        f64::from(u8::from(s.draining.is_some()))
    }),
    (
        "silent",
        "Connections kept without sending anything to their host, because the host at the other end has vanished",
        None,
        |s| s.silent as f64,
    ),
    ("longest_pass", "Duration of the longest pass of the data thread since the start", Some(Unit::Seconds), |s| {
        s.longest_pass
    }),
];

const COUNTERS: [Counter; 6] = [
    ("receive_drops", "Packets from peers dropped because the buffer of the UDP socket was full", |s| s.receive_drops),
    ("long_passes", "Passes of the data thread that took longer than 5 ms", |s| s.long_passes),
    ("held_back", "Times that bytes of a host waited because the line or the far host was slower", |s| {
        s.counters.held_back
    }),
    ("passed", "SYNs forwarded directly to their servers, because the peer was down or did not answer in time", |s| {
        s.counters.passed
    }),
    ("answered_first", "SYNs answered before the server was asked, so that the client proves its address", |s| {
        s.counters.answered_first
    }),
    ("rules_restored", "Times that kernel rules were missing and were set again", |s| s.counters.rules_restored),
];

const PEER_GAUGES: [PeerGauge; 10] = [
    ("peer_up", "1 if connections are carried to the peer and the kernel intercepts them", None, |p| {
        f64::from(u8::from(p.up))
    }),
    ("peer_responsive", "1 if the peer is up, has a connection and answers in time", None, |p| {
        f64::from(u8::from(p.up && !p.detached && !p.unresponsive))
    }),
    ("peer_rtt", "Smoothed round-trip time to the peer", Some(Unit::Seconds), |p| p.rtt),
    (
        "peer_packet",
        "Largest packet to the peer, without the headers of IP and the transport",
        Some(Unit::Bytes),
        |p| p.payload as f64,
    ),
    ("peer_line_rate", "Configured or measured rate of the line to the peer, in bytes per second", None, |p| {
        p.rate / 8.0
    }),
    (
        "peer_line_rate_fits",
        "Rate that the line was found to carry, at most peer_line_rate, in bytes per second",
        None,
        |p| p.fits.unwrap_or(p.rate) / 8.0,
    ),
    ("peer_sending_rate", "Current sending rate to the peer, in bytes per second", None, |p| p.sending_rate / 8.0),
    (
        "peer_held",
        "Buffered bytes that the peer has not acknowledged or a host has not accepted",
        Some(Unit::Bytes),
        |p| p.buffered_bytes as f64,
    ),
    ("peer_connections", "Open connections", None, |p| p.connections as f64),
    ("peer_opening", "Connections whose server has not answered yet", None, |p| p.opening as f64),
];

const PEER_COUNTERS: [PeerCounter; 11] = [
    (
        "peer_surplus",
        "Connections of the peer to this gateway that were closed because it opened too many, or too often",
        None,
        |p| p.surplus,
    ),
    ("peer_downs", "Times that the peer went down", None, |p| p.downs),
    ("peer_stalls", "Times that the peer became unresponsive", None, |p| p.stalls),
    ("peer_overloads", "Times that the rate was found to be above what the line carries", None, |p| p.overloads),
    ("peer_line", "Bytes of IP packets sent to the peer, all headers included", Some(Unit::Bytes), |p| p.line_octets),
    ("peer_packets_sent", "Packets sent to the peer", None, |p| p.packets_sent),
    ("peer_packets_received", "Packets received from the peer", None, |p| p.packets_received),
    ("peer_packets_lost", "Packets to the peer declared lost", None, |p| p.packets_lost),
    ("peer_resent", "Bytes of connections retransmitted to the peer", Some(Unit::Bytes), |p| p.resent_bytes),
    ("peer_sent", "Bytes of connections sent to the peer, without retransmissions", Some(Unit::Bytes), |p| {
        p.sent_bytes
    }),
    ("peer_received", "Bytes of connections received from the peer, without duplicates", Some(Unit::Bytes), |p| {
        p.received_bytes
    }),
];

/// A value of a class as a counter.
type ClassCounter = (&'static str, &'static str, Option<Unit>, fn(&ClassStatus) -> f64);
/// A value of a class as a gauge, if there is one.
type ClassGauge = (&'static str, &'static str, fn(&ClassStatus) -> Option<f64>);

const CLASS_GAUGES: [ClassGauge; 3] = [
    ("class_connections", "Open connections of the class", |c| Some(c.connections as f64)),
    ("class_share", "Weight of the class", |c| Some(f64::from(c.share))),
    ("class_ceiling", "Ceiling of the class, in bytes per second; absent without a ceiling", |c| {
        c.ceiling.map(|ceiling| ceiling / 8.0)
    }),
];

const CLASS_COUNTERS: [ClassCounter; 4] = [
    ("class_frames", "Data frames of the class sent to the peer", None, |c| c.frames as f64),
    (
        "class_sent",
        "Bytes of connections of the class sent to the peer, retransmissions included",
        Some(Unit::Bytes),
        |c| c.sent_bytes as f64,
    ),
    ("class_line", "Bytes that the class used of the rate to the peer, headers included", Some(Unit::Bytes), |c| {
        c.line_octets as f64
    }),
    (
        "class_at_ceiling",
        "Time for which the class had data to send and waited because of its ceiling",
        Some(Unit::Seconds),
        |c| c.at_ceiling,
    ),
];

impl Collector for Picture {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Picture(snapshot) = self;
        let counters = &snapshot.counters;
        let info = [("version", env!("CARGO_PKG_VERSION")), ("name", snapshot.name.as_str())];
        encoder
            .encode_descriptor("build", "Version and name of this gateway", None, MetricType::Info)?
            .encode_info(&info)?;
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
        let mut family =
            encoder.encode_descriptor("peer_transport", "Transport to each peer that is up", None, MetricType::Info)?;
        for peer in snapshot.peers.iter().filter(|peer| peer.up && !peer.detached) {
            family.encode_info(&[("peer", peer.name.as_str()), ("transport", peer.transport.as_str())])?;
        }
        // A label value that was never counted is exported as 0, so that its first count is an increase.
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
        by("opened", "Connections opened, by origin", "class", &CLASSES, &counters.opened)?;
        by("refused", "Connection attempts refused, by reason", "reason", &reasons, &counters.refused)?;
        by("ended", "Connections ended, by outcome", "how", &ways, &counters.ended)?;
        by("errors", "Errors by kind", "kind", &ERRORS, &counters.errors)?;
        let help = "Connections to the port for peers that ended before a peer was authenticated, by outcome";
        by("strangers", help, "how", &STRANGERS, &counters.strangers)?;
        let (buckets, count) = buckets(&counters.connect_seconds);
        let help = "Time from a SYN to its answer";
        let mut histogram = encoder.encode_descriptor("connect", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        histogram.encode_histogram::<[(&str, &str); 0]>(counters.connect_seconds_sum, count, &buckets, None)
    }
}

/// Returns the buckets, the last of which has no bound, and the sum of their counts.
fn buckets(counts: &[(f64, u64)]) -> (Vec<(f64, u64)>, u64) {
    let (mut bounded, beyond): (Vec<_>, Vec<_>) = counts.iter().copied().partition(|(bound, _)| *bound < f64::MAX);
    bounded.push((f64::INFINITY, beyond.iter().map(|(_, count)| count).sum()));
    (bounded, counts.iter().map(|(_, count)| count).sum())
}
