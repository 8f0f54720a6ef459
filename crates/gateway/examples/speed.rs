//! How much time the machine and the encoding take for a packet: two gateways in memory, a line of
//! 10 Gbit/s and 20 ms of round trip, packets of 1200 octets, one direction.
//! Prints for some numbers of flows what one packet with data costs both gateways together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use cellway_gateway::{Action, Decoded, FlowId, Gateway, GatewayConfig, Output, Request, Transport, Window, Wire};
use cellway_units::{Bytes, Rate, Span, Time};

const PACKETS: u64 = 1_000_000;

/// A gateway, and what is on its way to it.
struct Side {
    gateway: Gateway,
    arriving: VecDeque<(Time, Vec<u8>)>,
    decoded: Decoded,
}

fn main() -> Result<(), cellway_gateway::ConfigError> {
    for flows in [1, 100, 10_000] {
        let (packets, seconds) = run(flows)?;
        println!("{flows:6} flows: {:.0} ns a packet of data", seconds * 1e9 / packets as f64);
    }
    Ok(())
}

fn run(flows: u64) -> Result<(u64, f64), cellway_gateway::ConfigError> {
    let config = GatewayConfig {
        window: Window::Fixed(Bytes(64 << 20)),
        floor: Bytes(16_384),
        transport: Transport::Quic { v6: false },
        wire: Wire::Packet,
        payload: Bytes(1200),
        mtu: Bytes(1500),
        ack_every: 10,
        credit_every: 32,
        ..GatewayConfig::new(Rate::from_bps(10_000_000_000))
    };
    let side = || -> Result<Side, cellway_gateway::ConfigError> {
        Ok(Side { gateway: Gateway::new(config)?, arriving: VecDeque::new(), decoded: Decoded::default() })
    };
    let mut sides = [side()?, side()?];
    let request = Arc::new(Request::UNNAMED);
    let mut out = Output::default();
    let mut now = Time::ZERO;
    for n in 0..flows {
        sides[0].gateway.incoming(now, FlowId(2 * n), request.clone(), &mut out);
        settle(&mut sides, 0, now, &mut out);
    }
    let mut sent = 0;
    let start = Instant::now();
    while sent < PACKETS {
        let next = |side: &Side| {
            let arrival = side.arriving.front().map(|&(at, _)| at);
            [arrival, side.gateway.deadline().map(|(at, _)| at)].into_iter().flatten().min()
        };
        let times = [next(&sides[0]), next(&sides[1])];
        let Some(at) = times.into_iter().flatten().min() else { break };
        let which = usize::from(times[0] != Some(at));
        now = now.max(at);
        let side = &mut sides[which];
        if side.arriving.front().is_some_and(|&(at, _)| at <= now) {
            let Some((_, octets)) = side.arriving.pop_front() else { break };
            if side.decoded.read(&octets, side.gateway.expected()).is_ok() {
                side.gateway.receive(now, &side.decoded.packet, &mut out);
            }
        } else {
            side.gateway.wake(now, &mut out);
        }
        if which == 0 {
            sent += out.packets.len() as u64;
        }
        settle(&mut sides, which, now, &mut out);
    }
    Ok((sent, start.elapsed().as_secs_f64()))
}

/// Does what a gateway asks for: hosts send without end and read everything.
fn settle(sides: &mut [Side; 2], which: usize, now: Time, out: &mut Output) {
    while let Some(action) = out.actions.pop() {
        let gateway = &mut sides[which].gateway;
        match action {
            Action::Connect { flow, .. } => {
                gateway.connected(now, flow, out);
                gateway.writable(now, flow, 1 << 40, out);
            }
            Action::Accept { flow } => gateway.received(now, flow, 1 << 40, out),
            _ => {}
        }
    }
    for packet in out.packets.drain(..) {
        let mut octets = Vec::with_capacity(1500);
        packet.encode(&mut octets, |_, _, len, out| out.resize(out.len() + len as usize, 0));
        sides[1 - which].arriving.push_back((now + Span::from_ms(10), octets));
    }
}
