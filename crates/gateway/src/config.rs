//! What can be chosen about a gateway.

use cellway_units::{Bytes, Rate, Span};

use crate::error::ConfigError;
use crate::packet::{DATA_OVERHEAD, Wire};

/// The least payload of a transport packet: with its headers, any frame fits into the packet.
const MIN_PAYLOAD: u64 = 64;
/// The largest IPv4 packet. RFC 791, section 3.1.
const MAX_PACKET: u64 = 65_535;

/// Everything that can be chosen about a gateway. Both gateways of a pair must use the same
/// `ack_delay`, and rates close enough that an acknowledgement does not wait for a packet of the
/// peer much longer than for an own one; the rest may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewayConfig {
    /// Most bytes of one flow and direction that a gateway holds: those taken from the local TCP
    /// and not acknowledged by the peer, and as many that the peer may have sent and the local TCP
    /// has not taken. kdd, section 4.2 (3): 1 MB and 256 KB.
    pub window: Bytes,
    /// Rate of all that is sent to the peer together: data, acknowledgements and what is sent
    /// again, counted as `wire` says. kdd, section 2.2 (5).
    pub rate: Rate,
    /// What of a packet counts against `rate`.
    pub wire: Wire,
    /// Most bytes of one data frame.
    pub payload: Bytes,
    /// Largest IP packet between the gateways.
    pub mtu: Bytes,
    /// Memory for all flows. A flow takes two windows; half of the memory is for the flows that are
    /// opened here, half for those that the peer opens.
    pub total_buffer: Bytes,
    /// How many flows of either origin may wait for memory; one more is refused.
    pub waiting: u32,
    /// After how many packets an acknowledgement is due. RFC 9000, section 13.2.2.
    pub ack_every: u32,
    /// After what time at the latest it is due. RFC 9000, section 18.2, `max_ack_delay`.
    pub ack_delay: Span,
    /// The round-trip time taken for granted before it is measured. RFC 9002, section 6.2.2.
    pub initial_rtt: Span,
    /// The longest probe timeout. The line between gateways is theirs: to
    /// probe it seldom helps nobody, and prolongs every outage.
    pub probe_max: Span,
}

impl GatewayConfig {
    /// Windows of 1 MiB, payloads of 8192 B on a 9180 B MTU (RFC 2225) of ATM without LLC/SNAP,
    /// 1 GiB of memory, the timers of RFC 9002, at most 1 s between probes.
    pub const fn new(rate: Rate) -> GatewayConfig {
        GatewayConfig {
            window: Bytes(1 << 20),
            rate,
            wire: Wire::Atm { llc: false },
            payload: Bytes(8192),
            mtu: Bytes(9180),
            total_buffer: Bytes(1 << 30),
            waiting: 1024,
            ack_every: 2,
            ack_delay: Span::from_ms(25),
            initial_rtt: Span::from_ms(333),
            probe_max: Span::from_secs(1),
        }
    }

    /// Whether a gateway can work like this.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let GatewayConfig { window, payload, mtu, total_buffer, .. } = *self;
        if self.rate.as_bps() == 0 {
            return Err(ConfigError::Rate);
        }
        if payload.0 < MIN_PAYLOAD || mtu.0 > MAX_PACKET || payload.0 + u64::from(DATA_OVERHEAD) > mtu.0 {
            return Err(ConfigError::Payload { payload, mtu });
        }
        if window < payload {
            return Err(ConfigError::Window { window, payload });
        }
        if self.flows_per_origin() == 0 {
            return Err(ConfigError::TotalBuffer { total_buffer, window });
        }
        for (field, zero) in [
            ("ack_every", self.ack_every == 0),
            ("ack_delay", self.ack_delay.is_zero()),
            ("initial_rtt", self.initial_rtt.is_zero()),
            ("probe_max", self.probe_max.is_zero()),
        ] {
            if zero {
                return Err(ConfigError::Zero { field });
            }
        }
        Ok(())
    }

    /// How many flows of one origin the memory holds.
    pub const fn flows_per_origin(&self) -> u64 {
        self.total_buffer.0 / 4 / self.window.0
    }
    /// By how much a limit must have grown to be announced: two payloads, at most half a window.
    pub(crate) fn credit_step(&self) -> u64 {
        (2 * self.payload.0).min(self.window.0 / 2).max(1)
    }
}
