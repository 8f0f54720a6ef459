//! Sources of UDP datagrams.

use cellway_spec::{Arrivals, Family, SourceKind, UdpSource, Video};
use cellway_units::{Bytes, Rate, Span};

use crate::check::Check;
use crate::check::crossing::Path;
use crate::file::UdpFile;
use crate::tree::{Step, at};

/// The least time between two packets of a source, which the clock counts to a thousandth.
const LEAST_INTERVAL: Span = Span::from_ns(1);

/// A key frame every two seconds at 30 frames/s, as segments of streams have.
const KEY_FRAME_INTERVAL: u32 = 60;
const KEY_FRAME_RATIO: f64 = 5.0;
const FRAME_SIGMA: f64 = 0.25;
/// The delay that most users of a conversation do not notice. ITU-T G.114.
const PLAYOUT_DELAY: Span = Span::from_ms(150);

impl Check<'_> {
    /// Refuses the keys of a group of datagrams that are for TCP.
    pub(super) fn only_keys_of_udp(&mut self, i: usize) {
        let own = "udp with its own keys: source, packet, rate, duration, ecn and those of the source";
        for (key, message, accepted) in [
            ("app", "a group sends UDP datagrams (udp) or has an application over TCP (app), not both", "udp or app"),
            ("flows", "are transfers over TCP; this group sends UDP datagrams", "udp or flows"),
            ("workload", "is for an application over TCP; this group sends UDP datagrams", own),
            ("tcp", "is for TCP; this group sends UDP datagrams", own),
            (
                "repeat",
                "is for conversations, which end; a source of datagrams sends for its duration",
                "no repeat here; udp.duration ends a source",
            ),
            ("gateway", "is for TCP connections; gateways forward UDP datagrams as routers do", own),
        ] {
            if self.is_accepted(&at!["traffic", i, key]) {
                self.refuse(&at!["traffic", i, key], message, accepted);
            }
        }
    }

    /// Returns the source of group `i`; `path` is absent if it is not known.
    pub(super) fn udp(&mut self, i: usize, file: &UdpFile, family: Family, path: Option<&Path>) -> Option<UdpSource> {
        let before = self.found.len();
        let at = |key: &str| at!["traffic", i, "udp", key];
        if let Some(packet) = file.packet {
            self.udp_packet(&at("packet"), packet, family, path);
        }
        let (kind, packet) = (file.source?, file.packet);
        let interval = self.ping_interval(i, kind, file);
        let video = self.video(i, kind, file);
        for (key, given) in [("on", file.on), ("off", file.off)] {
            match (kind, given) {
                (SourceKind::OnOff, Some(None)) => {
                    let accepted = "a mean time, like on = \"1 s\" and off = \"1.35 s\"";
                    self.refuse(&at(key), "is missing: an on-off source needs it", accepted);
                }
                (_, Some(Some(_))) if kind != SourceKind::OnOff => {
                    let message = "is for source = \"on-off\", which pauses";
                    self.refuse(&at(key), message, "source = \"on-off\", or neither on nor off");
                }
                _ => {}
            }
        }
        let (packet, on, off, duration) = (packet?, file.on?, file.off?, file.duration?);
        let rate = match interval {
            Some(interval) => rounded_rate(packet, interval),
            None => self.udp_rate(i, kind, file)?,
        };
        let interval = interval.unwrap_or_else(|| rate.time_for(packet.bits(), 0).0);
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
            SourceKind::Video => Arrivals::Video(video?),
            SourceKind::Ping => Arrivals::Ping { interval },
        };
        (self.found.len() == before).then_some(UdpSource { arrivals, family, packet, rate, duration, ecn: file.ecn? })
    }

    /// Returns the rate of a source that is no ping.
    fn udp_rate(&mut self, i: usize, kind: SourceKind, file: &UdpFile) -> Option<Rate> {
        let rate = file.rate?;
        if rate.is_none() && kind != SourceKind::Ping {
            let accepted = "bits of IP packets per second, like rate = \"80 kbit/s\"";
            self.refuse(&at!["traffic", i, "udp", "rate"], "is missing", accepted);
        }
        rate
    }

    /// Returns the time between pings. Refuses it for any other source, and a rate for pings.
    fn ping_interval(&mut self, i: usize, kind: SourceKind, file: &UdpFile) -> Option<Span> {
        let at = |key: &str| at!["traffic", i, "udp", key];
        if kind != SourceKind::Ping {
            if self.is_accepted(&at("interval")) {
                self.refuse(&at("interval"), "is for source = \"ping\"; other sources have a rate", "rate");
            }
            return None;
        }
        if self.is_accepted(&at("rate")) {
            self.refuse(&at("rate"), "is not for source = \"ping\", which has an interval", "interval");
        }
        let interval = file.interval?;
        if interval.is_none() {
            self.refuse(
                &at("interval"),
                "is missing: pings need it",
                "the time between two, like interval = \"200 ms\"",
            );
        }
        interval
    }

    /// Returns the frames of a video, and refuses their keys of any other source.
    fn video(&mut self, i: usize, kind: SourceKind, file: &UdpFile) -> Option<Video> {
        let at = |key: &str| at!["traffic", i, "udp", key];
        if kind != SourceKind::Video {
            for key in ["frame-rate", "key-frame-interval", "key-frame-ratio", "frame-sigma", "playout-delay"] {
                if self.is_accepted(&at(key)) {
                    self.refuse(&at(key), "is for source = \"video\", which has frames", "source = \"video\"");
                }
            }
            return None;
        }
        let frame_rate = file.frame_rate?;
        if frame_rate.is_none() {
            self.refuse(&at("frame-rate"), "is missing: a video needs it", "frames per second, like 30");
        }
        Some(Video {
            frame_rate: frame_rate?,
            key_frame_interval: file.key_frame_interval?.unwrap_or(KEY_FRAME_INTERVAL),
            key_frame_ratio: file.key_frame_ratio?.unwrap_or(KEY_FRAME_RATIO),
            frame_sigma: file.frame_sigma?.unwrap_or(FRAME_SIGMA),
            playout_delay: file.playout_delay?.unwrap_or(PLAYOUT_DELAY),
        })
    }

    fn udp_packet(&mut self, at: &[Step], packet: Bytes, family: Family, path: Option<&Path>) {
        let least = UdpSource::least_packet(family);
        if packet < least {
            let message = format!("{} B leave no room for the headers of {} and a mark", packet.0, family.name());
            self.refuse(at, message, format!("at least \"{} B\"", least.0));
        }
        if let Some((link, mtu)) = path.and_then(Path::narrowest)
            && packet > mtu
        {
            let message = format!("{} B are more than {link} takes, {} B (mtu)", packet.0, mtu.0);
            self.refuse(at, message, format!("at most {} B, or a larger mtu there", mtu.0));
        }
    }
}

/// Returns the rate of a packet in each interval, rounded to a bit per second and at least 1.
fn rounded_rate(packet: Bytes, interval: Span) -> Rate {
    Rate::from_bps((packet.bits().0 as f64 / interval.as_secs_f64()).round().max(1.0) as u64)
}
