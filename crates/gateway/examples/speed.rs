//! The processing time of a packet in the state machine and in the encoding: two gateways in memory, data in one
//! direction or both, packets of 1200 octets. Prints for some links and numbers of flows the time that both gateways
//! together take for one packet with data. An argument selects one of the cases, counted from 0.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use cellway_gateway::{Action, Decoded, FlowId, Gateway, GatewayConfig, Output, Request, Transport, Window, Wire};
use cellway_units::{Bytes, Rate, Span, Time};

const PACKETS: u64 = 1_000_000;

/// A gateway, and the packets in flight to it.
struct Side {
    gateway: Gateway,
    arriving: VecDeque<(Time, Vec<u8>)>,
    decoded: Decoded,
}

/// The parameters of a run.
#[derive(Clone, Copy)]
struct Case {
    flows: u64,
    mbps: u64,
    round_trip: Span,
    /// One in this many packets of a gateway is lost.
    loss: Option<u64>,
    both_ways: bool,
}

const CASES: [Case; 6] = {
    let one = Case { flows: 1, mbps: 10_000, round_trip: Span::from_ms(20), loss: None, both_ways: false };
    let long = Case { mbps: 622, round_trip: Span::from_ms(500), ..one };
    [
        one,
        Case { flows: 100, ..one },
        Case { flows: 10_000, ..one },
        Case { flows: 100, both_ways: true, ..one },
        Case { loss: Some(100), ..long },
        // 100 000 packets in flight.
        Case { mbps: 2_000, loss: Some(100), ..long },
    ]
};

fn main() -> Result<(), cellway_gateway::ConfigError> {
    let chosen = std::env::args().nth(1).and_then(|arg| arg.parse::<usize>().ok());
    for (_, case) in CASES.into_iter().enumerate().filter(|&(n, _)| chosen.is_none_or(|chosen| chosen == n)) {
        let (packets, back, seconds) = run(case)?;
        let Case { flows, mbps, round_trip, loss, both_ways } = case;
        println!(
            "{flows:6} flows, {mbps:5} Mbit/s, {:3.0} ms, loss {:.0} %, {}: {:.0} ns a packet of data, {:.2} packets back each",
            round_trip.as_millis_f64(),
            loss.map_or(0.0, |n| 100.0 / n as f64),
            if both_ways { "both ways" } else { "one way" },
            seconds * 1e9 / packets as f64,
            back as f64 / packets as f64,
        );
    }
    Ok(())
}

/// Returns the packets of both directions, and the seconds.
fn run(case: Case) -> Result<(u64, u64, f64), cellway_gateway::ConfigError> {
    let flows = case.flows;
    let config = GatewayConfig {
        window: Window::Fixed(Bytes(512 << 20)),
        total_buffer: Bytes(8 << 30),
        floor: Bytes(16_384),
        transport: Transport::Quic { v6: false },
        wire: Wire::Packet,
        payload: Bytes(1200),
        mtu: Bytes(1500),
        ack_every: 10,
        credit_every: 32,
        ..GatewayConfig::new(Rate::from_bps(case.mbps * 1_000_000))
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
        deliver_all(&mut sides, case, 0, now, &mut out);
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
        deliver_all(&mut sides, case, which, now, &mut out);
    }
    let back = sides[1].gateway.stats().packets_sent;
    Ok((sent, back, start.elapsed().as_secs_f64()))
}

/// Executes the actions of a gateway: hosts send without end and read everything.
fn deliver_all(sides: &mut [Side; 2], case: Case, which: usize, now: Time, out: &mut Output) {
    while let Some(action) = out.actions.pop() {
        let gateway = &mut sides[which].gateway;
        match action {
            Action::Connect { flow, .. } => {
                gateway.connected(now, flow, out);
                gateway.writable(now, flow, 1 << 40, out);
                if case.both_ways {
                    gateway.received(now, flow, 1 << 40, out);
                }
            }
            Action::Accept { flow } => {
                gateway.writable(now, flow, 1 << 40, out);
                gateway.received(now, flow, 1 << 40, out);
            }
            _ => {}
        }
    }
    for packet in out.packets.drain(..) {
        if case.loss.is_some_and(|n| packet.number % n == n / 2) {
            continue;
        }
        let mut octets = Vec::with_capacity(1500);
        packet.encode(&mut octets, |_, _, len, out| out.resize(out.len() + len as usize, 0));
        sides[1 - which].arriving.push_back((now + case.round_trip / 2, octets));
    }
}
