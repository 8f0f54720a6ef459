//! Quantities parse, print and are refused as documented.
#![allow(missing_docs, clippy::unwrap_used)]

use cellway_units::{Bits, Bytes, CELL_BITS, CellRate, Cells, ParseError, Rate, Span};
use proptest::prelude::*;

#[test]
fn quantities_parse_exactly() {
    assert_eq!("22.5 ms".parse(), Ok(Span::from_us(22_500)));
    assert_eq!("0.1 s".parse(), Ok(Span::from_ms(100)));
    assert_eq!("149.76 Mbit/s".parse(), Ok(Rate::from_bps(149_760_000)));
    // 36 000 x 53 x 8 bit.
    assert_eq!("36000 cell/s".parse(), Ok(CellRate(Rate::from_bps(15_264_000))));
    assert_eq!("15.264 Mbit/s".parse(), Ok(CellRate(Rate::from_bps(15_264_000))));
    assert_eq!("1_000 B".parse(), Ok(Bytes(1000)));
    assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
    assert_eq!("2048 cell".parse(), Ok(Cells(2048)));
}

#[test]
fn an_invalid_quantity_reports_the_accepted_units() {
    let no_unit = "22.5".parse::<Span>().unwrap_err();
    assert_eq!(no_unit.to_string(), "\"22.5\" has no unit; add one of ps, ns, us, µs, ms, s, min, h, like \"22.5 ms\"");
    assert!(matches!("3 Mbit".parse::<Rate>(), Err(ParseError::WrongUnit { .. })));
    assert!(matches!("36000 cell/s".parse::<Rate>(), Err(ParseError::WrongUnit { .. })));
    assert!(matches!("0.001 cell/s".parse::<CellRate>(), Err(ParseError::Fraction { .. })));
    assert!(matches!("-3 Mbit/s".parse::<Rate>(), Err(ParseError::Negative { .. })));
    assert!(matches!("0.5 B".parse::<Bytes>(), Err(ParseError::Fraction { .. })));
    assert!(matches!("fast".parse::<Rate>(), Err(ParseError::NoNumber { .. })));
    assert!(matches!("1.2.3 s".parse::<Span>(), Err(ParseError::NoNumber { .. })));
    assert!(matches!(". s".parse::<Span>(), Err(ParseError::NoNumber { .. })));
    assert!(matches!("99999999999999999999999999999999999999999 s".parse::<Span>(), Err(ParseError::TooLarge { .. })));
    assert!(matches!("1e3 s".parse::<Span>(), Err(ParseError::Exponent { .. })));
}

proptest! {
    #[test]
    fn printed_quantities_parse_to_the_same_value(n in any::<u64>()) {
        prop_assert_eq!(Span::from_ps(n).to_string().parse(), Ok(Span::from_ps(n)));
        prop_assert_eq!(Rate::from_bps(n).to_string().parse(), Ok(Rate::from_bps(n)));
        prop_assert_eq!(CellRate(Rate::from_bps(n)).to_string().parse(), Ok(CellRate(Rate::from_bps(n))));
        prop_assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
        prop_assert_eq!(Bits(n).to_string().parse(), Ok(Bits(n)));
        prop_assert_eq!(Cells(n).to_string().parse(), Ok(Cells(n)));
    }

    /// Passing the remainder on keeps the long-run rate exact on any line.
    #[test]
    fn a_carried_remainder_loses_no_time(bps in 1u64..10_000_000_000, cells in 1u64..2000) {
        let rate = Rate::from_bps(bps);
        let (mut total, mut carry) = (Span::ZERO, 0);
        for _ in 0..cells {
            let (span, rest) = rate.time_for(CELL_BITS, carry);
            total += span;
            carry = rest;
        }
        prop_assert_eq!((total, carry), rate.time_for(Cells(cells).bits(), 0));
    }
}

/// Both widths of the division give the same: at the largest number of bits that fits one word, and around it.
#[test]
fn times_are_exact_at_the_end_of_a_word() {
    let most = u64::MAX / 1_000_000_000_000;
    for (bits, carry) in [(most - 1, 0), (most, 0), (most, 709_551_615_999), (most, u64::MAX), (most + 1, 7)] {
        for bps in [1_000_000u64, 1_500_000, 9_999_999_967] {
            let ps = u128::from(bits) * 1_000_000_000_000 + u128::from(carry);
            let expected = (Span::from_ps((ps / u128::from(bps)) as u64), (ps % u128::from(bps)) as u64);
            assert_eq!(Rate::from_bps(bps).time_for(Bits(bits), carry), expected, "{bits} {carry} {bps}");
        }
    }
}
