//! Exact parts of a whole.

use std::fmt;

/// A part of a whole, as an exact ratio from 0 to 1: 1/16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fraction {
    num: u32,
    den: u32,
}

impl Fraction {
    /// Returns `num`/`den`; `None` unless it is between 0 and 1.
    pub const fn new(num: u32, den: u32) -> Option<Fraction> {
        if den == 0 || num > den { None } else { Some(Fraction { num, den }) }
    }
    /// Returns 1/`den`, where `den` is above zero.
    pub const fn one_over(den: u32) -> Fraction {
        assert!(den > 0);
        Fraction { num: 1, den }
    }
    /// Returns true for 0.
    pub const fn is_zero(self) -> bool {
        self.num == 0
    }
    /// Returns this part of `amount`, rounded down.
    pub const fn floor_of(self, amount: u64) -> u64 {
        (amount as u128 * self.num as u128 / self.den as u128) as u64
    }
    /// Returns this part of `amount`, rounded up.
    pub const fn ceil_of(self, amount: u64) -> u64 {
        (amount as u128 * self.num as u128).div_ceil(self.den as u128) as u64
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.num, self.den)
    }
}

cellway_settings::in_files! {
    impl cellway_settings::quantity::Text for Fraction {
        const FORMAT: &'static str = "fraction";
        const UNITS: &'static [&'static str] = &[];
        const EXAMPLES: &'static [&'static str] = &["1/16", "1/32768"];
        const COMPARE: cellway_settings::quantity::Compare<Fraction> = |a, b| {
            let [a_over, b_over] = [[a.num, b.den], [b.num, a.den]].map(|[num, den]| u64::from(num) * u64::from(den));
            Some(a_over.cmp(&b_over))
        };
        fn read(text: &str) -> Result<Fraction, cellway_settings::quantity::Error> {
            let parts = text.split_once('/').and_then(|(num, den)| {
                let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
                let [num, den] = [num.trim(), den.trim()];
                (plain(num) && plain(den)).then(|| Fraction::new(num.parse().ok()?, den.parse().ok()?))?
            });
            parts.ok_or(cellway_settings::quantity::Error::NoFraction)
        }
        fn accepted(example: &str) -> String {
            format!("two whole numbers with / between them, the second at least 1 and not smaller, like \"{example}\"")
        }
        fn pattern() -> String {
            "^[0-9]+ */ *[0-9]+$".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_round_the_way_they_say() {
        let sixteenth = Fraction::one_over(16);
        assert_eq!((sixteenth.floor_of(33), sixteenth.ceil_of(33)), (2, 3));
        assert_eq!((sixteenth.floor_of(32), sixteenth.ceil_of(32)), (2, 2));
        assert_eq!(Fraction::one_over(1).floor_of(u64::MAX), u64::MAX);
        assert_eq!(Fraction::new(3, 2), None);
        assert_eq!(Fraction::new(0, 0), None);
    }
}
