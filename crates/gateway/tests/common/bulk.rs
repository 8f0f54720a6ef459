//! Bulk transfers through two gateways that are configured as the daemon configures them.

use cellway_gateway::{FlowId, GatewayConfig, Transport, Window, Wire};
use cellway_units::{Bytes, Rate, Span, Time};

use super::host::Plan;
use super::pair::{FlowPlan, Line, Pair};

/// The highest rate of a gateway that estimates it, the daemon's default.
pub const CEILING: Rate = Rate::from_bps(10_000_000_000);

/// Returns the configuration of the daemon (`cellway-gatewayd`, `daemon/peers/settings.rs`) for a link of `rate`.
pub fn config(rate: Rate, auto: bool) -> GatewayConfig {
    GatewayConfig {
        auto,
        window: Window::Line { most: Bytes(64 << 20) },
        floor: Bytes(12 << 10),
        ahead: Bytes(32 << 10),
        turn: 16,
        tells_rate: true,
        times_acks: true,
        wire: Wire::Packet,
        transport: Transport::Quic { v6: false },
        mtu: Bytes(1_400),
        payload: Bytes(1_325),
        ack_every: 8,
        credit_every: 32,
        slack: Span::from_ms(4),
        ..GatewayConfig::new(rate)
    }
}

/// Returns a host with an endless transfer to send, and one that reads all of it.
pub fn sender() -> Plan {
    Plan { buffer: 1 << 20, sends: 1 << 20, ..Plan::sender(1 << 40) }
}
pub fn reader() -> Plan {
    Plan { waits_for_peer: true, buffer: 1 << 20, reads: 1 << 20, ..Plan::sender(0) }
}

/// Begins transfers between the hosts behind the two gateways, all at once. The first gateway opens them. Each timer
/// expires up to 0.5 ms late.
pub fn transfers(configs: [GatewayConfig; 2], line: Line, hosts: &[[Plan; 2]]) -> Pair {
    let plan = |&hosts| FlowPlan { opener: 0, start: Time::ZERO, refuse: false, early: false, hosts };
    let plans: Vec<FlowPlan> = hosts.iter().map(plan).collect();
    let mut pair = Pair::new(configs, line, &plans, 1);
    pair.late = Span::from_us(500);
    pair
}

/// Returns the bytes that the hosts behind `side` have read, of all flows.
pub fn read(pair: &Pair, side: usize, flows: usize) -> u64 {
    (0..flows as u64).map(|n| pair.host(side, FlowId(2 * n)).read).sum()
}
