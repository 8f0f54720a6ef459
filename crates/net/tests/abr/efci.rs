//! Binary marking: rates oscillate below the capacity, and a connection over many switches is beaten down.

use cellway_net::{AbrParameters, EricaSpec, Fraction};
use cellway_units::{Cells, Rate, Span, Time};

use crate::network::{Connection, Control, Hop, Network, rate_of};

const MBPS: u64 = 1_000_000;
const THRESHOLD: usize = 64;
const EFCI: Control = Control::Efci(Cells(THRESHOLD as u64));

fn at(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

/// Returns three lines of 30 Mbit/s in a row; all round trips are 10 ms. They start 3 ms apart.
fn in_a_row(control: Control, paths: &[&'static [usize]]) -> Network {
    let hops = [Hop { rate: Rate::from_bps(30 * MBPS), delay: Span::from_ms(1) }; 3];
    let parameters = AbrParameters {
        icr: Rate::from_bps(MBPS),
        rif: Fraction::one_over(256),
        ..AbrParameters::new(Rate::from_bps(30 * MBPS))
    };
    let mut start = Time::ZERO;
    let connections: Vec<_> = (paths.iter())
        .map(|path| {
            start += Span::from_ms(3);
            Connection { parameters, path, access: Span::from_us(2_500 - 500 * path.len() as u64), start }
        })
        .collect();
    Network::new(control, &hops, &connections)
}

/// Returns the mean ACR (bit/s) of each between 2 and 4 s.
fn means(control: Control, paths: &[&'static [usize]]) -> Vec<f64> {
    let mut network = in_a_row(control, paths);
    network.run(at(4));
    (0..paths.len()).map(|c| network.acr_since(c, at(2)).1).collect()
}

/// One over all three lines, and one more on each.
const PARKING_LOT: [&[usize]; 4] = [&[0, 1, 2], &[0], &[1], &[2]];

fn erica() -> Control {
    let target = Fraction::new(19, 20).expect("a fraction");
    Control::Erica(EricaSpec::new(target, Span::from_ms(5)))
}

/// Returns the amplitude of ACR of the connections on one line, the load of the lines (part of the rate) and their
/// longest queues, between 2 and 4 s.
fn swing_load_queue(control: Control) -> Vec<(f64, f64, usize)> {
    let mut network = in_a_row(control, &PARKING_LOT);
    network.run(at(2));
    let before: Vec<_> = (0..3).map(|hop| network.sent(hop)).collect();
    (0..3).for_each(|hop| _ = network.longest(hop));
    network.run(at(4));
    let mut of = |hop: usize| {
        let (low, _, high) = network.acr_since(hop + 1, at(2));
        let load = rate_of(network.sent(hop) - before[hop], Span::from_secs(2)) / (30 * MBPS) as f64;
        (high / low, load, network.longest(hop))
    };
    (0..3).map(&mut of).collect()
}

/// A mark arrives a round trip late: rates overshoot until queues are well past the threshold, all decrease together,
/// and much of the line stays unused. ERICA keeps the same network at its target.
#[test]
fn rates_swing_below_the_capacity() {
    for (swing, load, queue) in swing_load_queue(EFCI) {
        assert!(swing > 4.0, "ACR by a factor of {swing}");
        assert!(load > 0.5 && load < 0.75, "load {load}");
        assert!(queue > 2 * THRESHOLD, "{queue} cells");
    }
    for (swing, load, queue) in swing_load_queue(erica()) {
        assert!(swing < 1.02, "ACR by a factor of {swing}");
        assert!((load / 0.95 - 1.0).abs() < 0.02, "load {load}");
        assert!(queue <= 2, "{queue} cells");
    }
}

/// Max-min shares of all four are equal, and ERICA gives them. With EFCI a mark of any of three switches reduces the
/// long one: beat-down.
#[test]
fn who_crosses_more_congested_switches_gets_less() {
    let efci = means(EFCI, &PARKING_LOT);
    assert!(efci[1..].iter().all(|&short| efci[0] < 0.6 * short), "{efci:?}");
    let erica = means(erica(), &PARKING_LOT);
    assert!(erica[1..].iter().all(|&short| (erica[0] / short - 1.0).abs() < 0.02), "{erica:?}");
}

/// The cause are the marks and not the path: if only one line is congested, both get the same.
#[test]
fn switches_that_do_not_mark_cost_nothing() {
    let efci = means(EFCI, &[&[0, 1, 2], &[0]]);
    assert!((efci[0] / efci[1] - 1.0).abs() < 0.02, "{efci:?}");
}
