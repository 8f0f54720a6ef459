//! Bursts at a step down in rate and at the generic cell rate algorithm, against cells sent one by one.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use cellway_theory::{burst_buffer, burst_survives, conforming_burst, gcra_burst, gcra_tolerance};
use cellway_units::{Cells, Rate, Span};
use proptest::prelude::*;

/// Returns the most waiting cells while `n` arrive at `h` and leave at `c`, without the one on the line.
fn most_waiting(n: u64, h: u64, c: u64) -> u64 {
    // Ticks of 1/(h c): a cell arrives every c ticks, the line takes h for each.
    let (mut waiting, mut most, mut free) = (0u64, 0, 0);
    for i in 1..=n {
        let now = i * c;
        // A cell whose transmission begins as this one arrives has left.
        while waiting > 0 && free <= now {
            waiting -= 1;
            free += h;
        }
        if waiting == 0 && free <= now {
            free = now + h;
        } else {
            waiting += 1;
        }
        most = most.max(waiting);
    }
    most
}

/// Returns the cells in a row that conform, by the virtual scheduling of I.371, at most `limit`.
fn conforming(increment: u64, tolerance: u64, spacing: u64, limit: u64) -> u64 {
    let mut due = 0;
    for i in 0..limit {
        let now = i * spacing;
        if now + tolerance < due {
            return i;
        }
        due = now.max(due) + increment;
    }
    limit
}

proptest! {
    #[test]
    fn a_burst_needs_the_buffer_that_it_fills(n in 1u64..5000, h in 2u64..1000, part in 0.01f64..0.99) {
        let c = ((h as f64 * part) as u64).max(1);
        let rates = (Rate::from_bps(h * 424), Rate::from_bps(c * 424));
        let exact = burst_buffer(Cells(n), rates.0, rates.1).unwrap().value;
        prop_assert_eq!(exact, most_waiting(n, h, c) as f64);
        // The inequality k n (1 - c/h) > B, to a cell.
        let fluid = n as f64 * (1.0 - c as f64 / h as f64);
        prop_assert!(exact <= fluid + 1.0 && exact > fluid - 1.0);
        // The largest burst that survives fits, and the next does not.
        let survives = burst_survives(Cells(exact as u64), rates.0, rates.1).unwrap().value as u64;
        prop_assert!(survives >= n);
        prop_assert!(most_waiting(survives, h, c) <= exact as u64 && most_waiting(survives + 1, h, c) > exact as u64);
    }

    #[test]
    fn as_many_cells_conform_as_said(increment in 2u64..10_000, tolerance in 0u64..1_000_000, part in 0.0f64..1.0) {
        let spacing = (increment as f64 * part) as u64;
        let ps = Span::from_ps;
        let most = conforming_burst(ps(increment), ps(tolerance), ps(spacing)).unwrap();
        prop_assert_eq!(conforming(increment, tolerance, spacing, most + 2), most);
    }

    #[test]
    fn the_tolerance_of_a_burst_lets_it_pass(burst in 1u64..10_000, rate in 1_000u64..1_000_000, more in 1u64..1_000_000) {
        let (rate, line) = (Rate::from_bps(rate), Rate::from_bps(rate + more));
        let tolerance = gcra_tolerance(rate, line, Cells(burst)).unwrap().value;
        // To the picosecond above, and one below.
        let above = Span::from_ps((tolerance * 1e12 * (1.0 + 1e-14)).ceil() as u64 + 1);
        prop_assert!(gcra_burst(rate, line, above).unwrap().value >= burst as f64);
        if burst > 1 {
            let below = Span::from_ps((tolerance * 1e12 * (1.0 - 1e-14)).floor() as u64 - 1);
            prop_assert!(gcra_burst(rate, line, below).unwrap().value < burst as f64);
        }
    }
}

#[test]
fn figures_of_the_uni_with_t_of_4_5_cells() {
    // τ = 0.5, 1.5, 3.5 and 7 cell times: 1, 1, 2 and 3 cells in a row.
    let of = |halves: u64| conforming_burst(Span::from_us(45), Span::from_us(5 * halves), Span::from_us(10)).unwrap();
    assert_eq!([1, 3, 7, 14].map(of), [1, 1, 2, 3]);
    // At most at the rate of the increment, all conform.
    assert_eq!(conforming_burst(Span::from_us(10), Span::ZERO, Span::from_us(10)), None);
}
