//! The parameters of a source of UDP datagrams.

use cellway_settings::choice;
use cellway_units::{Bytes, Ecn, Rate, Span};

use crate::Family;

/// Octets of payload in which an emulation carries the sequence number and the send time of a datagram.
pub const UDP_MARK_OCTETS: u64 = 16;

choice! {
    /// The times at which the packets of a source leave.
    pub enum SourceKind {
        /// At a constant rate.
        Constant = "constant",
        /// As a Poisson process: the times between packets are random (exponential).
        Poisson = "poisson",
        /// At a constant rate while it is on. The periods on and off have random (exponential) lengths.
        OnOff = "on-off",
        /// The frames of a video: packets leave together, at a constant frame rate.
        Video = "video",
        /// One packet at each interval, which the responder sends back.
        Ping = "ping",
    }
}

/// The times at which the packets of a source leave, with the lengths of periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// At a constant rate.
    Constant,
    /// As a Poisson process: the times between packets are exponential and independent.
    Poisson,
    /// At a constant rate while the source is on. Periods on and off alternate; their lengths are exponential and
    /// independent. Between two packets lies a fixed time on.
    OnOff {
        /// The mean length of a period on. Never zero.
        on: Span,
        /// The mean length of a period off.
        off: Span,
    },
    /// As frames, cut into packets of which all but the last are full.
    Video(Video),
    /// One packet at each interval. The responder sends each back at once.
    Ping {
        /// The time between two packets. Never zero.
        interval: Span,
    },
}

/// The frames of a video. The size of a frame is random (log-normal) around the mean of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Video {
    /// Frames per second, above 0.
    pub frame_rate: f64,
    /// Frames from one key frame to the next, at least 1: every frame. The first frame is a key frame.
    pub key_frame_interval: u32,
    /// The mean size of a key frame, in those of the other frames, at least 1.
    pub key_frame_ratio: f64,
    /// The standard deviation of the natural logarithm of the size, from 0 on.
    pub frame_sigma: f64,
    /// The time from the capture of a frame to its play-out. A frame that is complete later is late.
    pub playout_delay: Span,
}

choice! {
    /// The ECN field of the datagrams of a source. RFC 3168 section 5, RFC 9331 section 4.
    pub enum DatagramEcn {
        /// Queues drop them.
        NotEct = "not-ect",
        /// Queues may mark them in place of a drop.
        Ect0 = "ect0",
        /// The same; "dualpi2" has a queue with little delay for them.
        Ect1 = "ect1",
    }
}

impl DatagramEcn {
    /// Returns the field.
    pub const fn field(self) -> Ecn {
        match self {
            DatagramEcn::NotEct => Ecn::NotEct,
            DatagramEcn::Ect0 => Ecn::Ect0,
            DatagramEcn::Ect1 => Ecn::Ect1,
        }
    }
}

/// A source of UDP datagrams: of one size, of a video, or pings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UdpSource {
    /// The times at which packets leave.
    pub arrivals: Arrivals,
    /// The version of IP.
    pub family: Family,
    /// An IP packet, with its headers; of a video the largest. At least [`UdpSource::least_packet`].
    pub packet: Bytes,
    /// Bits of IP packets per second: the mean rate; of an on-off source the rate while it is on; of pings that of
    /// their interval, rounded. Never zero.
    pub rate: Rate,
    /// The time for which it sends from its start; without end if absent.
    pub duration: Option<Span>,
    /// The ECN field of its packets.
    pub ecn: DatagramEcn,
}

impl Arrivals {
    /// Returns the choice in a file.
    pub const fn kind(self) -> SourceKind {
        match self {
            Arrivals::Constant => SourceKind::Constant,
            Arrivals::Poisson => SourceKind::Poisson,
            Arrivals::OnOff { .. } => SourceKind::OnOff,
            Arrivals::Video(_) => SourceKind::Video,
            Arrivals::Ping { .. } => SourceKind::Ping,
        }
    }
}

impl UdpSource {
    /// Returns the least packet of a family: headers, sequence number and send time.
    pub const fn least_packet(family: Family) -> Bytes {
        Bytes(family.udp_headers() + UDP_MARK_OCTETS)
    }

    /// Returns the video, if it is one.
    pub const fn video(&self) -> Option<&Video> {
        match &self.arrivals {
            Arrivals::Video(video) => Some(video),
            Arrivals::Constant | Arrivals::Poisson | Arrivals::OnOff { .. } | Arrivals::Ping { .. } => None,
        }
    }

    /// Returns true if the responder sends each packet back.
    pub const fn is_echoed(&self) -> bool {
        matches!(self.arrivals, Arrivals::Ping { .. })
    }

    /// Returns the mean rate over all time, in bit/s of IP packets.
    pub fn mean_rate(&self) -> f64 {
        let rate = self.rate.as_bps() as f64;
        match self.arrivals {
            Arrivals::Constant | Arrivals::Poisson | Arrivals::Video(_) => rate,
            Arrivals::Ping { interval } => self.packet.bits().0 as f64 / interval.as_secs_f64(),
            Arrivals::OnOff { on, off } => {
                let [on, off] = [on, off].map(Span::as_secs_f64);
                rate * on / (on + off)
            }
        }
    }
}
