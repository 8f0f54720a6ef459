//! The configuration of a gateway.

use cellway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use crate::excess::Excess;
use crate::lease::Lease;
use crate::packet::DATA_OVERHEAD;
use crate::request::Request;
use crate::wire::{Transport, Wire};

/// The least payload of a transport packet: with its headers, any frame without a name fits into
/// the packet.
const MIN_PAYLOAD: u64 = 64;
/// The largest IPv4 packet. RFC 791, section 3.1.
const MAX_PACKET: u64 = 65_535;
/// [`Window::Line`] is this many bandwidth-delay products.
pub(crate) const LINES: u64 = 4;
/// The least window of [`Window::Line`]: that of TCP without RFC 7323.
pub(crate) const MIN_WINDOW: u64 = 65_536;

/// Most bytes of one flow and direction that a gateway holds, memory permitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Window {
    /// A fixed number of bytes.
    Fixed(Bytes),
    /// Four bandwidth-delay products: the rate times the smoothed round-trip time. One is in flight. A lost packet
    /// blocks the bytes behind it for a second one until it is retransmitted, and one that is lost twice for a third;
    /// its acknowledgement takes the fourth. At least 64 KiB.
    Line {
        /// The upper bound.
        most: Bytes,
    },
}

impl Window {
    /// Returns the window at `rate` and a round trip of `rtt` (bytes).
    pub(crate) fn at(self, rate: Rate, rtt: Span) -> u64 {
        self.lines(LINES, rate, rtt)
    }
    /// Returns the window of a flow of which no byte has arrived (bytes): two bandwidth-delay products, as it takes two
    /// round trips until the first bytes have arrived and more is granted.
    pub(crate) fn at_first(self, rate: Rate, rtt: Span) -> u64 {
        self.lines(LINES / 2, rate, rtt)
    }
    fn lines(self, lines: u64, rate: Rate, rtt: Span) -> u64 {
        match self {
            Window::Fixed(bytes) => bytes.0,
            Window::Line { most } => {
                let bits = u128::from(rate.as_bps()) * u128::from(rtt.as_ps()) / 1_000_000_000_000;
                u64::try_from(u128::from(lines) * bits / 8).unwrap_or(u64::MAX).max(MIN_WINDOW).min(most.0)
            }
        }
    }
    /// Returns the largest window.
    pub const fn most(self) -> Bytes {
        match self {
            Window::Fixed(most) | Window::Line { most } => most,
        }
    }
}

/// The response to a configured rate above the bandwidth of the path, over a transport that may lose packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GuardMode {
    /// The gateway does not detect such a rate.
    #[default]
    Off,
    /// The gateway reports it ([`Gateway::fits`](crate::Gateway::fits)).
    Reports,
    /// The gateway reports it and sends less until the queue has drained, then at the rate that fits. It tries the
    /// configured rate again after 10 s, then after intervals that double up to 5 minutes. A queue that does not drain
    /// belongs to other traffic: the gateway returns to the configured rate.
    Acts,
}

/// The configuration of a gateway. Both gateways of a pair must use the same `ack_delay` and `early`, and rates close
/// enough that an acknowledgement does not wait for a packet of the peer much longer than for one of this gateway; the
/// rest may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayConfig {
    /// Most bytes of one flow and direction that a gateway holds: those consumed from the local TCP and not
    /// acknowledged by the peer, and as many that the peer may have sent and the local TCP has not accepted.
    /// Kato et al. 1997, section 4.2 (3): 1 MB and 256 KB.
    pub window: Window,
    /// The bytes that each flow and direction may hold whatever the others do; a value above the window means the
    /// window.
    pub floor: Bytes,
    /// Most bytes that are consumed from a host beyond those that have left: the others stay in the buffers of the
    /// host. At least two payloads.
    pub ahead: Bytes,
    /// The rate of all packets to the peer together: data, acknowledgements and retransmissions, counted as `wire`
    /// says. Kato et al. 1997, section 2.2 (5).
    pub rate: Rate,
    /// Set if the bandwidth of the bottleneck link is not known: the gateway estimates it, and `rate` is the upper
    /// bound.
    pub auto: bool,
    /// The amount of lateness that is made up for, if the gateway is called late while a packet waits.
    pub slack: Span,
    /// The part of a packet that counts against `rate`.
    pub wire: Wire,
    /// The protocol that carries the packets.
    pub transport: Transport,
    /// Set if the transport neither loses nor reorders packets: then no packet is declared lost or retransmitted.
    pub reliable: bool,
    /// Most bytes of one data frame.
    pub payload: Bytes,
    /// Largest IP packet between the gateways.
    pub mtu: Bytes,
    /// Set if the rate is announced to the peer, so that its window follows it; otherwise the peer assumes its own
    /// rate.
    pub tells_rate: bool,
    /// Set if acknowledgements carry the time of sending. The peer needs it to estimate its rate, or to find that a
    /// configured one is too high, without the queue of the other direction.
    pub times_acks: bool,
    /// Memory for all flows. Half of it is for the flows that are opened here, half for those that
    /// the peer opens.
    pub total_buffer: Bytes,
    /// The memory that a flow takes in addition to its bytes.
    pub cost: Bytes,
    /// Set if bytes count as held until [`Gateway::wrote`](crate::Gateway::wrote) reports that the local TCP has
    /// accepted them; otherwise they count as written at once.
    pub confirmed_writes: bool,
    /// The number of flows of either origin that may wait for memory; more are refused.
    pub waiting: u32,
    /// Most bytes of a flow that is opened early that are sent before the far host has answered;
    /// `floor` if that is less.
    pub early: Bytes,
    /// The number of payloads by which a limit must have grown to be announced again; an eighth of the window is enough
    /// if that is two payloads or more, and half of it in any case.
    pub credit_every: u32,
    /// The most consecutive data frames of one flow while other flows have data. A turn is shorter if the turns of all
    /// flows together would take longer than an eighth of the round-trip time, and at least one frame.
    pub turn: u32,
    /// The number of packets after which an acknowledgement is due. RFC 9000, section 13.2.2.
    pub ack_every: u32,
    /// The longest time until an acknowledgement is due. RFC 9000, section 18.2, `max_ack_delay`.
    pub ack_delay: Span,
    /// The round-trip time that is assumed before it is measured. RFC 9002, section 6.2.2.
    pub initial_rtt: Span,
    /// The longest probe timeout. No other traffic benefits if the gateways probe their link rarely, and every outage
    /// would last longer.
    pub probe_max: Span,
    /// The least time beyond a round trip for which a peer may send nothing, while it owes an acknowledgement, before
    /// it counts as unresponsive: three times as long if the transport is reliable, and three probe timeouts in any
    /// case. `None`: never.
    pub patience: Option<Span>,
    /// The longest time for which a local host waits for the far host's answer. It should be longer than a connection
    /// attempt at the far side (127 s with the default `net.ipv4.tcp_syn_retries` of Linux), so that the result of the
    /// attempt arrives first, if there is one.
    pub opening: Span,
    /// Set if a client whose SYN is refused as [`PeerLost`](crate::Reason::PeerLost) may connect directly, past the
    /// gateways: the `Open` of each client that connects with its own address then grants a [`Lease`](crate::Lease).
    pub bypass: bool,
    /// The reaction to a configured rate above the bandwidth of the path.
    pub guard: GuardMode,
}

impl GatewayConfig {
    /// Creates a configuration with windows of 1 MiB, all of it guaranteed, payloads of 8192 B on a 9180 B MTU (RFC
    /// 2225) of ATM without LLC/SNAP, 1 GiB of memory, the timers of RFC 9002, and at most 1 s between probes.
    pub const fn new(rate: Rate) -> GatewayConfig {
        GatewayConfig {
            window: Window::Fixed(Bytes(1 << 20)),
            floor: Bytes(1 << 20),
            ahead: Bytes(u64::MAX),
            rate,
            auto: false,
            slack: Span::ZERO,
            wire: Wire::Atm { llc: false },
            transport: Transport::Ip,
            reliable: false,
            payload: Bytes(8192),
            mtu: Bytes(9180),
            tells_rate: false,
            times_acks: false,
            total_buffer: Bytes(1 << 30),
            cost: Bytes(0),
            confirmed_writes: false,
            waiting: 1024,
            early: Bytes(65_536),
            credit_every: 2,
            turn: 1,
            ack_every: 2,
            ack_delay: Span::from_ms(25),
            initial_rtt: Span::from_ms(333),
            probe_max: Span::from_secs(1),
            patience: None,
            opening: Span::from_secs(150),
            bypass: false,
            guard: GuardMode::Off,
        }
    }

    /// Checks that a gateway can work with this configuration.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let GatewayConfig { payload, mtu, total_buffer, .. } = *self;
        let overhead = self.transport.overhead() + DATA_OVERHEAD;
        if self.rate.as_bps() == 0 {
            return Err(ConfigError::Rate);
        }
        if payload.0 < MIN_PAYLOAD || mtu.0 > MAX_PACKET || payload.0 + u64::from(overhead) > mtu.0 {
            return Err(ConfigError::Payload { payload, mtu, overhead });
        }
        let floor = Bytes(self.least());
        if floor < payload {
            return Err(ConfigError::Window { window: floor, payload });
        }
        if self.flows_per_origin() == 0 {
            return Err(ConfigError::TotalBuffer { total_buffer, window: floor });
        }
        for (field, zero) in [
            ("ack_every", self.ack_every == 0),
            ("credit_every", self.credit_every == 0),
            ("ack_delay", self.ack_delay.is_zero()),
            ("initial_rtt", self.initial_rtt.is_zero()),
            ("probe_max", self.probe_max.is_zero()),
            ("opening", self.opening.is_zero()),
        ] {
            if zero {
                return Err(ConfigError::Zero { field });
            }
        }
        Ok(())
    }

    /// Returns true if the client of `request` may connect past the gateways once the peer is unresponsive. One that is
    /// answered early does not wait for the peer.
    pub(crate) fn leases(&self, request: &Request) -> bool {
        self.bypass && self.patience.is_some() && request.client.is_some() && !request.early
    }
    /// Returns the bytes that each direction of a flow may hold whatever the others do.
    pub(crate) fn least(&self) -> u64 {
        self.floor.0.min(self.window.most().0)
    }
    /// Returns the number of flows of one origin that the memory holds.
    pub fn flows_per_origin(&self) -> u64 {
        self.total_buffer.0 / 2 / self.per_flow()
    }
    /// Returns the most memory (bytes) that unacknowledged packets may take, the bytes of flows not counted.
    pub fn most_unacknowledged(&self) -> u64 {
        Excess::MOST_UNACKNOWLEDGED + self.total_buffer.0 / Excess::UNACKNOWLEDGED_PART
    }
    /// Returns the least memory that a flow takes (bytes).
    pub(crate) fn per_flow(&self) -> u64 {
        2 * self.least() + self.cost.0
    }
    /// Returns the most bytes that are consumed from a host beyond those that have left.
    pub(crate) fn ahead(&self) -> u64 {
        self.ahead.0.max(2 * self.payload.0)
    }
    /// Returns the most bytes that the opener of an early flow may send before it is answered.
    pub(crate) fn early(&self) -> u64 {
        self.early.0.min(self.least())
    }
    /// Returns the number of bytes by which a limit must have grown to be announced. The sender cannot use credit that
    /// is not announced: with a step of the whole window its rate would halve.
    pub(crate) fn credit_step(&self, share: u64) -> u64 {
        let eighth = (share / 8).max(2 * self.payload.0);
        (u64::from(self.credit_every) * self.payload.0).min(eighth).min(share / 2).max(1)
    }
    /// Returns the most octets of a packet without the headers of its transport.
    pub(crate) fn capacity(&self) -> u32 {
        self.mtu.0 as u32 - self.transport.overhead()
    }
    /// Sets the largest packet of the transport (octets), but not less than any frame takes.
    pub(crate) fn set_capacity(&mut self, octets: usize) {
        let octets = (octets as u64).clamp(MIN_CAPACITY, MAX_PACKET - u64::from(self.transport.overhead()));
        self.mtu = Bytes(octets + u64::from(self.transport.overhead()));
        self.payload = Bytes(octets);
    }
}

/// A packet with the longest control frame, an `Open` with a name and a client of IPv6.
const MIN_CAPACITY: u64 = 4 + 1 + 8 + 8 + Lease::MOST_OCTETS as u64 + 1 + 18 + 1 + 255 + 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_the_line_is_four_times_what_it_holds() {
        let window = Window::Line { most: Bytes(4 << 20) };
        let at = |mbps: u64, ms| window.at(Rate::from_bps(mbps * 1_000_000), Span::from_ms(ms));
        assert_eq!(at(30, 175), 4 * 30_000_000 / 8 * 175 / 1000);
        assert_eq!((at(1, 100), at(400, 100)), (65_536, 4 << 20));
        assert_eq!(Window::Fixed(Bytes(7)).at(Rate::from_bps(1), Span::ZERO), 7);
    }
}
