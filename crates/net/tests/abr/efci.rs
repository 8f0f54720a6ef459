//! Binary marking: it oscillates, stays below the capacity, and beats down who crosses many switches.

use cellway_net::{AbrParameters, EricaSpec, Fraction};
use cellway_units::{Cells, Rate, Span, Time};

use crate::network::{Connection, Control, Hop, Network, rate_of};

const MBPS: u64 = 1_000_000;

fn parking_lot(control: Control) -> Network {
    let hops = [Hop { rate: Rate::from_bps(30 * MBPS), delay: Span::from_ms(1) }; 3];
    let paths: [&'static [usize]; 4] = [&[0, 1, 2], &[0], &[1], &[2]];
    let connections = paths.map(|path| Connection {
        parameters: AbrParameters {
            icr: Rate::from_bps(MBPS),
            rif: Fraction::one_over(256),
            ..AbrParameters::new(Rate::from_bps(30 * MBPS))
        },
        path,
        // All round trips take 10 ms.
        access: Span::from_us(2_500 - 500 * path.len() as u64),
        start: Time::ZERO,
    });
    Network::new(control, &hops, &connections)
}
#[test]
fn look() {
    for thr in [16, 64, 256] {
        let mut network = parking_lot(Control::Efci(Cells(thr)));
        let from = Time::ZERO + Span::from_secs(2);
        network.run(from);
        let before: Vec<_> = (0..3).map(|h| network.sent(h)).collect();
        (0..3).for_each(|hop| _ = network.longest(hop));
        network.run(Time::ZERO + Span::from_secs(6));
        for c in 0..4 {
            println!("{c} {:?} {}", network.acr_since(c, from), network.delivered(c));
        }
        for h in 0..3 {
            println!(
                "{h} util {} longest {}",
                rate_of(network.sent(h) - before[h], Span::from_secs(4)),
                network.longest(h)
            );
        }
    }
}
