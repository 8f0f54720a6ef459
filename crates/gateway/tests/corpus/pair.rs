//! Two gateways, each with a correct caller. Packets between them are lost, duplicated, reordered, truncated or changed
//! in some octets.
//!
//! Each is checked as in `machine.rs`: no packet of the other, changed or not, makes it request an action that is
//! impossible for a TCP connection, hold more than its memory, or send more than fits.

use cellway_gateway::{FlowId, Reason, Transport};
use cellway_units::Span;

use super::machine::{Input, STEPS, World};

/// Runs the steps of `data`.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut sides = [World::new(&mut input), World::new(&mut input)];
    for _ in 0..STEPS {
        if input.0.is_empty() {
            break;
        }
        step(&mut sides, &mut input);
        sides.iter_mut().for_each(World::check);
    }
    for side in &mut sides {
        side.down(Reason::Stopping);
        side.check();
    }
}

fn step(sides: &mut [World; 2], input: &mut Input<'_>) {
    let kind = input.octet();
    let which = usize::from(kind >> 7);
    match kind & 0x0f {
        0 => {
            let FlowId(n) = input.flow();
            sides[which].incoming(FlowId(n & !1 | which as u64), input);
        }
        local @ 1..=6 => sides[which].local(local, input),
        7 => {
            let later = Span::from_us(input.number().min(60_000_000));
            for side in sides {
                side.now += later;
                side.wake();
                side.check();
            }
        }
        8 => {
            // Both have lost the connection between them.
            for side in sides {
                side.down(Reason::PeerLost);
                let transport = Transport::Quic { v6: kind & 0x10 != 0 };
                side.gateway.set_transport(transport, kind & 0x20 != 0, None);
            }
        }
        9 => {
            // Both advance to the next deadline of either, up to eight times.
            for _ in 0..=kind >> 4 & 7 {
                let next = sides.iter().filter_map(|side| side.gateway.deadline()).map(|(at, _)| at).min();
                let Some(at) = next else { break };
                for side in sides.iter_mut() {
                    side.advance(at);
                    side.check();
                }
            }
        }
        _ => deliver(sides, which, kind >> 4 & 7, input),
    }
}

/// Delivers a packet of one side to the other, or drops it.
fn deliver(sides: &mut [World; 2], from: usize, how: u8, input: &mut Input<'_>) {
    // The newest packet is in front. Mostly the oldest one is delivered, sometimes another.
    let oldest = sides[from].sends.len().checked_sub(1);
    let Some(at) = oldest else { return };
    let at = if how == 1 { usize::from(input.octet()) % (at + 1) } else { at };
    let Some(mut octets) = sides[from].sends.remove(at) else { return };
    match how {
        2 => return,
        3 => sides[from].sends.push_back(octets.clone()),
        4 => octets.truncate(1 + usize::from(input.octet()) * 8),
        5..=7 => {
            for _ in 4..how {
                let (place, change) = (usize::from(input.octet()), input.octet());
                // The header of a packet and its frames are near its start.
                if let Some(octet) = octets.get_mut(place) {
                    *octet ^= change;
                }
            }
        }
        _ => {}
    }
    sides[1 - from].receive(&octets);
}
