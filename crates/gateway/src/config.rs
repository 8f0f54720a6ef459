//! What can be chosen about a gateway.

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
/// How often [`Window::Line`] holds what the line holds.
pub(crate) const LINES: u64 = 4;
/// The least that [`Window::Line`] gives: the window of TCP without RFC 7323.
pub(crate) const MIN_WINDOW: u64 = 65_536;

/// Most bytes of one flow and direction that a gateway holds, memory permitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Window {
    /// So many.
    Fixed(Bytes),
    /// Four times what the line holds, rate times smoothed round-trip time. One is under way; a packet that is lost
    /// holds back what is behind it for a second one until it has come again, and one that is lost twice for a third;
    /// the news of it comes after that. At least 64 KiB.
    Line {
        /// At most so many.
        most: Bytes,
    },
}

impl Window {
    /// The window at `rate` and a round trip of `rtt` (bytes).
    pub(crate) fn at(self, rate: Rate, rtt: Span) -> u64 {
        self.lines(LINES, rate, rtt)
    }
    /// The window of a flow of which nothing has come (bytes): twice what the line holds at `rate` and a round trip of
    /// `rtt`, as long as it takes until the first bytes have come and more is granted.
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
    /// The most it can be.
    pub const fn most(self) -> Bytes {
        match self {
            Window::Fixed(most) | Window::Line { most } => most,
        }
    }
}

/// The response to a configured rate above the bandwidth of the path, over a transport that may lose packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RateGuard {
    /// Such a rate is not detected.
    #[default]
    Off,
    /// It is reported ([`Gateway::fits`](crate::Gateway::fits)).
    Reports,
    /// It is reported, and the gateway sends less until the queue has drained, then at the rate that fits. It tries the
    /// configured rate again after 10 s, then after intervals that double up to 5 minutes. A queue that does not drain
    /// is that of other traffic: the gateway returns to the configured rate.
    Acts,
}

/// Everything that can be chosen about a gateway. Both gateways of a pair must use the same
/// `ack_delay` and `early`, and rates close enough that an acknowledgement does not wait for a packet
/// of the peer much longer than for an own one; the rest may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayConfig {
    /// Most bytes of one flow and direction that a gateway holds: those taken from the local TCP
    /// and not acknowledged by the peer, and as many that the peer may have sent and the local TCP
    /// has not taken. kdd, section 4.2 (3): 1 MB and 256 KB.
    pub window: Window,
    /// What each flow and direction may hold whatever the others do; more than the window means the window.
    pub floor: Bytes,
    /// Most bytes that are taken from a host beyond those that have left: further ones that wait for the line wait with
    /// the host. At least two payloads.
    pub ahead: Bytes,
    /// Rate of all that is sent to the peer together: data, acknowledgements and what is sent
    /// again, counted as `wire` says. kdd, section 2.2 (5).
    pub rate: Rate,
    /// Whether the rate of the line is not known: then it is found out, and `rate` is the most it can be.
    pub auto: bool,
    /// How much of the time by which it is called late, while something waits to be sent, is made up for.
    pub slack: Span,
    /// What of a packet counts against `rate`.
    pub wire: Wire,
    /// What carries the packets.
    pub transport: Transport,
    /// Whether it loses and reorders nothing: then nothing is taken for lost, and nothing sent again.
    pub reliable: bool,
    /// Most bytes of one data frame.
    pub payload: Bytes,
    /// Largest IP packet between the gateways.
    pub mtu: Bytes,
    /// Whether the peer is told the rate, so that its window follows it; it takes it to be its own otherwise.
    pub tells_rate: bool,
    /// Set if acknowledgements carry the time of sending. The peer needs it to estimate its rate, or to find that a
    /// configured one is too high, without the queue of the other direction.
    pub times_acks: bool,
    /// Memory for all flows. Half of it is for the flows that are opened here, half for those that
    /// the peer opens.
    pub total_buffer: Bytes,
    /// What a flow takes of it beside the bytes.
    pub cost: Bytes,
    /// Set if bytes count as held until [`Gateway::wrote`](crate::Gateway::wrote) reports that the local TCP has taken
    /// them; otherwise it takes them as soon as it is asked.
    pub confirmed_writes: bool,
    /// How many flows of either origin may wait for memory; one more is refused.
    pub waiting: u32,
    /// Most bytes of a flow that is opened early that are sent before the far host has answered;
    /// `floor` if that is less.
    pub early: Bytes,
    /// By how many payloads a limit must have grown to be told again; an eighth of what may be held is enough where
    /// that is two payloads or more, and half of it in any case.
    pub credit_every: u32,
    /// The most consecutive data frames of one flow while other flows have data. A turn is shorter if the turns of all
    /// flows together would take longer than an eighth of the round-trip time, and at least one frame.
    pub turn: u32,
    /// After how many packets an acknowledgement is due. RFC 9000, section 13.2.2.
    pub ack_every: u32,
    /// After what time at the latest it is due. RFC 9000, section 18.2, `max_ack_delay`.
    pub ack_delay: Span,
    /// The round-trip time taken for granted before it is measured. RFC 9002, section 6.2.2.
    pub initial_rtt: Span,
    /// The longest probe timeout. The line between gateways is theirs: to
    /// probe it seldom helps nobody, and prolongs every outage.
    pub probe_max: Span,
    /// The least time beyond a round trip for which a peer may send nothing, while something awaits an answer, before
    /// it counts as unresponsive: three times as long if the transport is reliable, and three probe timeouts in any
    /// case. `None`: never.
    pub patience: Option<Span>,
    /// The longest time for which a local host waits for the far host's answer. It should be longer than a connection
    /// attempt at the far side (127 s with the default `net.ipv4.tcp_syn_retries` of Linux), so that the result of that
    /// arrives first, if there is one.
    pub opening: Span,
    /// Set where a client whose SYN is refused as [`PeerLost`](crate::Reason::PeerLost) may connect past the gateways:
    /// the `Open` of each that connects with its own address then grants a [`Lease`](crate::Lease).
    pub bypass: bool,
    /// What becomes of a configured rate that is above what the path carries.
    pub guard: RateGuard,
}

impl GatewayConfig {
    /// Windows of 1 MiB, all of it guaranteed, payloads of 8192 B on a 9180 B MTU (RFC 2225) of ATM
    /// without LLC/SNAP, 1 GiB of memory, the timers of RFC 9002, at most 1 s between probes.
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
            guard: RateGuard::Off,
        }
    }

    /// Whether a gateway can work like this.
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
    /// What each direction of a flow may hold whatever the others do (bytes).
    pub(crate) fn least(&self) -> u64 {
        self.floor.0.min(self.window.most().0)
    }
    /// How many flows of one origin the memory holds.
    pub fn flows_per_origin(&self) -> u64 {
        self.total_buffer.0 / 2 / self.per_flow()
    }
    /// Returns the most memory (bytes) that unacknowledged packets may take, the bytes of flows not counted.
    pub fn most_unacknowledged(&self) -> u64 {
        Excess::MOST_UNACKNOWLEDGED + self.total_buffer.0 / Excess::UNACKNOWLEDGED_PART
    }
    /// What a flow takes of the memory at least (bytes).
    pub(crate) fn per_flow(&self) -> u64 {
        2 * self.least() + self.cost.0
    }
    /// How far beyond what has left is taken from a host (bytes).
    pub(crate) fn ahead(&self) -> u64 {
        self.ahead.0.max(2 * self.payload.0)
    }
    /// How far the opener of an early flow may send before it is answered (bytes).
    pub(crate) fn early(&self) -> u64 {
        self.early.0.min(self.least())
    }
    /// By how much a limit must have grown to be announced. What is not announced the sender does without: half a
    /// window would halve its rate.
    pub(crate) fn credit_step(&self, share: u64) -> u64 {
        let eighth = (share / 8).max(2 * self.payload.0);
        (u64::from(self.credit_every) * self.payload.0).min(eighth).min(share / 2).max(1)
    }
    /// Most octets of a packet without what carries it.
    pub(crate) fn capacity(&self) -> u32 {
        self.mtu.0 as u32 - self.transport.overhead()
    }
    /// The largest packet of the transport is `octets` now; not less than any frame takes.
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
