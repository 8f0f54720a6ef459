//! Sources of UDP datagrams.

use cellway_spec::{Arrivals, SourceKind, UdpSource};
use cellway_units::{Bytes, Span};

use crate::check::Check;
use crate::check::crossing::Path;
use crate::file::{TrafficFile, UdpFile};
use crate::quantity::Quantity;
use crate::tree::{Step, at};

/// The least time between two packets of a source, which the clock counts to a thousandth.
const LEAST_INTERVAL: Span = Span::from_ns(1);

impl Check<'_> {
    /// Refuses the keys of a group of datagrams that are for TCP.
    pub(super) fn only_keys_of_udp(&mut self, i: usize, group: &TrafficFile) {
        let given: [(&str, bool, &str); 5] = [
            (
                "app",
                group.app.is_some(),
                "a group sends UDP datagrams (udp) or has an application over TCP (app), not both",
            ),
            ("workload", group.workload.is_some(), "is for an application over TCP; this group sends UDP datagrams"),
            ("tcp", group.tcp.is_some(), "is for TCP; this group sends UDP datagrams"),
            (
                "repeat",
                group.repeat.is_some(),
                "is for conversations, which end; a source of datagrams sends for its duration",
            ),
            (
                "gateway",
                group.gateway.is_some(),
                "is for TCP connections; gateways forward UDP datagrams as routers do",
            ),
        ];
        for (key, _, message) in given.into_iter().filter(|(_, is_given, _)| *is_given) {
            let accepted = match key {
                "app" => "udp or app",
                "repeat" => "no repeat here; udp.duration ends a source",
                _ => "udp with its own keys: source, packet, rate, on, off, duration",
            };
            self.refuse(&at!["traffic", i, key], message, accepted);
        }
    }

    /// Returns the source of group `i`; `path` is absent if it is not known.
    pub(super) fn udp(&mut self, i: usize, file: &UdpFile, path: Option<&Path>) -> Option<UdpSource> {
        let before = self.found.len();
        let at = |key: &str| at!["traffic", i, "udp", key];
        let (packet, rate) = (file.packet.map(|Quantity(packet)| packet), file.rate.map(|Quantity(rate)| rate));
        if let Some(packet) = packet {
            self.udp_packet(&at("packet"), packet, path);
        }
        let [on, off, duration] = [file.on, file.off, file.duration].map(|given| given.map(|Quantity(span)| span));
        let kind = file.source.unwrap_or(SourceKind::Constant);
        for (key, given) in [("on", file.on.is_some()), ("off", file.off.is_some())] {
            match kind {
                SourceKind::OnOff if !given && !self.is_bad(&at(key)) => {
                    let accepted = "a mean time, like on = \"1 s\" and off = \"1.35 s\"";
                    self.refuse(&at(key), "is missing: an on-off source needs it", accepted);
                }
                SourceKind::Constant | SourceKind::Poisson if given => {
                    let message = "is for source = \"on-off\", which pauses";
                    self.refuse(&at(key), message, "source = \"on-off\", or neither on nor off");
                }
                _ => {}
            }
        }
        let keys = ["source", "packet", "rate", "on", "off", "duration"];
        if self.is_bad(&at!["traffic", i, "udp"]) || keys.iter().any(|key| self.is_bad(&at(key))) {
            return None;
        }
        let (packet, rate) = (packet?, rate?);
        let interval = rate.time_for(packet.bits(), 0).0;
        if interval < LEAST_INTERVAL {
            let message = format!("{rate} leaves {interval} between packets of {} B", packet.0);
            self.refuse(&at("rate"), message, format!("at least {LEAST_INTERVAL} between two packets: a lower rate"));
        }
        let arrivals = match kind {
            SourceKind::Constant => Arrivals::Constant,
            SourceKind::Poisson => Arrivals::Poisson,
            SourceKind::OnOff => {
                let (on, off) = (on?, off?);
                if on < interval {
                    let message = format!("{on} is shorter than the time between two packets while on, {interval}");
                    self.refuse(&at("on"), message, format!("at least {interval}, or a higher rate"));
                }
                Arrivals::OnOff { on, off }
            }
        };
        (self.found.len() == before).then_some(UdpSource { arrivals, packet, rate, duration })
    }

    fn udp_packet(&mut self, at: &[Step], packet: Bytes, path: Option<&Path>) {
        if let Some((link, mtu)) = path.and_then(Path::narrowest)
            && packet > mtu
        {
            let message = format!("{} B are more than {link} takes, {} B (mtu)", packet.0, mtu.0);
            self.refuse(at, message, format!("at most {} B, or a larger mtu there", mtu.0));
        }
    }
}
