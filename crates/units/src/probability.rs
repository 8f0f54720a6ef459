//! Probabilities, as exact decimal fractions.

use std::fmt;
use std::str::FromStr;

use crate::parse::{self, ParseError, Scale};

/// The parts of a certainty: thirteen decimals of a per cent.
const WHOLE: u64 = 1_000_000_000_000_000;
const PER_CENT: u64 = WHOLE / 100;
const SCALES: &[Scale] = &[Scale::new("%", PER_CENT)];
const EXAMPLE: &str = "\"0.1%\"";

/// A probability from 0 to below 1, to 10^-15.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probability(u64);

impl Probability {
    /// The probability 0.
    pub const ZERO: Probability = Probability(0);

    /// Returns a number of parts of a million; below a million.
    pub const fn from_ppm(parts: u32) -> Probability {
        assert!(parts < 1_000_000, "a probability is below 1");
        Probability(parts as u64 * (WHOLE / 1_000_000))
    }

    /// Returns true if it is 0.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns it as a float, for sums that need no exactness.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / WHOLE as f64
    }

    /// Returns the number of the 2^64 values of 64 random bits below which the event happens. Rounded down, so that the
    /// probability is less than given by at most 2^-64.
    pub const fn threshold(self) -> u64 {
        (((self.0 as u128) << 64) / WHOLE as u128) as u64
    }
}

impl FromStr for Probability {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Probability, ParseError> {
        let certain = || ParseError::Certain { text: text.to_owned(), example: EXAMPLE };
        match parse::quantity(text, SCALES, EXAMPLE) {
            Ok(parts) if parts < WHOLE => Ok(Probability(parts)),
            Ok(_) | Err(ParseError::TooLarge { .. }) => Err(certain()),
            Err(ParseError::Fraction { text, .. }) => Err(ParseError::Fraction { text, smallest: "10^-13 %" }),
            Err(other) => Err(other),
        }
    }
}

impl fmt::Display for Probability {
    /// Prints it in per cent, with all its decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / PER_CENT, format!("{:013}", self.0 % PER_CENT));
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        f.pad(&format!("{whole}{point}{fraction} %"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Probability, String> {
        text.parse::<Probability>().map_err(|e| e.to_string())
    }

    #[test]
    fn per_cents_are_exact_and_print_as_they_parse() {
        for (text, parts, printed) in [
            ("0%", 0, "0 %"),
            ("0.1%", 1_000_000_000_000, "0.1 %"),
            ("12.5 %", 125_000_000_000_000, "12.5 %"),
            ("0.0000000000001%", 1, "0.0000000000001 %"),
            ("99.9999999999999 %", WHOLE - 1, "99.9999999999999 %"),
        ] {
            let read = parse(text).unwrap();
            assert_eq!((read, read.to_string()), (Probability(parts), printed.to_owned()));
            assert_eq!(parse(printed).unwrap(), read);
        }
        assert_eq!(parse("0.1%").unwrap().as_f64(), 0.001);
    }

    #[test]
    fn probabilities_of_one_or_more_are_refused() {
        for (text, reason) in [
            ("100%", "\"100%\" is not below 100 %, which would be certain; write it like \"0.1%\""),
            (
                "99999999999999999999 %",
                "\"99999999999999999999 %\" is not below 100 %, which would be certain; write it like \"0.1%\"",
            ),
            ("-1%", "\"-1%\" is negative; it must be 0 or more, like \"0.1%\""),
            ("0.001", "\"0.001\" has no unit; add one of %, like \"0.1%\""),
            ("0,1 %", "\"0,1 %\" has a comma in its number; decimals follow a point, like \"0.1%\""),
            ("1e-3", "\"1e-3\" has an exponent; write the number out, like \"0.1%\""),
            ("0.00000000000001%", "\"0.00000000000001%\" is not a whole number of 10^-13 %"),
            ("some", "\"some\" does not start with a number; write it like \"0.1%\""),
        ] {
            assert_eq!(parse(text).unwrap_err(), reason);
        }
    }

    #[test]
    fn thresholds_are_that_part_of_all_values() {
        assert_eq!(Probability::ZERO.threshold(), 0);
        assert_eq!(parse("50%").unwrap().threshold(), 1 << 63);
        assert_eq!(parse("25%").unwrap().threshold(), 1 << 62);
        // 2^64 / 1000 = 18 446 744 073 709 551.616
        assert_eq!(parse("0.1%").unwrap().threshold(), 18_446_744_073_709_551);
        assert_eq!(parse("99.9999999999999%").unwrap().threshold(), u64::MAX - 18_446);
    }
}
