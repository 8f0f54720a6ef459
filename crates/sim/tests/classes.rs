//! The shipped scenario with many customers at one pair of gateways. `kdd` section 2.2.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{figure, run, scenario};

const CUSTOMERS: [(&str, u32); 4] = [("a", 24), ("b", 4), ("c", 1), ("d", 4)];
/// The part of 8192-byte payloads in the cells that carry them: at most 8235 octets of packet and 8 of trailer fill 172 cells.
const PAYLOAD: f64 = 8192.0 * 8.0 / (172.0 * 424.0);

fn text() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/many-customers.toml");
    std::fs::read_to_string(path).unwrap()
}
/// Returns the goodput of each customer as a rate on the line (bit/s).
fn rates(text: &str, set: &[(&str, &str)]) -> [f64; 4] {
    let record = run(&scenario(text, set), 1);
    CUSTOMERS.map(|(name, count)| {
        (1..=count).map(|n| figure(&record, &format!("{name}-{n}"), "goodput")).sum::<f64>() / PAYLOAD
    })
}
fn is_near(rates: [f64; 4], expected: [f64; 4]) {
    // Of each connection the last packet of 20 s may be counted or not, and acknowledgements take a thousandth of the line.
    let packet = 172.0 * 424.0 / 20.0;
    for ((rate, expected), (_, count)) in rates.iter().zip(expected).zip(CUSTOMERS) {
        let tolerance = 0.003 * expected + f64::from(count) * packet;
        assert!((rate - expected).abs() <= tolerance, "{rates:?}: {rate} of {expected}");
    }
}

#[test]
fn customers_get_equal_shares_and_no_more_than_their_ceilings() {
    let text = text();
    is_near(rates(&text, &[]), [28e6 / 3.0, 28e6 / 3.0, 28e6 / 3.0, 2e6]);
    // Twice the share, and a ceiling above its part, which does not bind.
    let set = [("class.c.share", "2"), ("class.d.ceiling", "\"10 Mbit/s\"")];
    is_near(rates(&text, &set), [6e6, 6e6, 12e6, 6e6]);
}

#[test]
fn without_classes_connections_get_equal_shares() {
    let text = text();
    let (without, _) = text.split_once("# Shares of 1 each.").unwrap();
    is_near(rates(without, &[]), CUSTOMERS.map(|(_, count)| 30e6 * f64::from(count) / 33.0));
}

/// The counters of the classes agree with those of the gateway and of the hosts.
#[test]
fn classes_are_counted() {
    let record = run(&scenario(&text(), &[]), 1);
    let of = |class: &str, metric: &str| figure(&record, &format!("g1/{class}"), &format!("gateway_class_{metric}"));
    assert_eq!(CUSTOMERS.map(|(name, _)| of(name, "flows_open")), CUSTOMERS.map(|(_, count)| f64::from(count)));
    assert_eq!(["flows_open", "frames", "sent"].map(|metric| of("default", metric)), [0.0; 3]);
    // A packet of 172 cells for each frame of 8192 bytes.
    let (line, frames) = (of("c", "line"), of("c", "frames"));
    assert!(line <= frames * 172.0 * 53.0 && line >= 0.999 * frames * 172.0 * 53.0, "{line} {frames}");
    assert!((of("d", "line") * 8.0 / 30.0 / 2e6 - 1.0).abs() < 0.02, "{}", of("d", "line"));
    // It waits for its ceiling but for the time of its packets on the line, and of others before them; the first 0.4 s aside.
    let held = of("d", "at_ceiling");
    assert!(held > 25.0 && held < 30.0, "{held}");
    assert_eq!(of("a", "at_ceiling"), 0.0);
}
