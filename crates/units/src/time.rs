//! Instants and spans on the picosecond clock.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use crate::parse::{self, ParseError, Scale};

const PS_PER_SEC: u64 = 1_000_000_000_000;

/// An instant, in picoseconds since the start of the run. The largest is 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Time(u64);

/// A length of time, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// The latest instant, after the end of any run.
    pub const MAX: Time = Time(u64::MAX);

    /// Creates the instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }
    /// Returns the picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Returns the seconds since the start, for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_SEC as f64
    }
    /// Returns the span since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// The empty span.
    pub const ZERO: Span = Span(0);
    /// The longest span, longer than any run.
    pub const MAX: Span = Span(u64::MAX);

    /// Creates a span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Span {
        Span(ps)
    }
    /// Creates a span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Span {
        Span(ns * 1_000)
    }
    /// Creates a span of `us` microseconds.
    pub const fn from_us(us: u64) -> Span {
        Span(us * 1_000_000)
    }
    /// Creates a span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms * 1_000_000_000)
    }
    /// Creates a span of `s` seconds.
    pub const fn from_secs(s: u64) -> Span {
        Span(s * PS_PER_SEC)
    }
    /// Returns the span nearest to `s` seconds; negative and not-a-number give zero, too long gives [`Span::MAX`].
    pub fn from_secs_f64(s: f64) -> Span {
        Span((s * PS_PER_SEC as f64).round() as u64)
    }
    /// Returns the picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Returns the seconds, for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_SEC as f64
    }
    /// Returns the milliseconds, for output only.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns true if the span is empty.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Returns `self - other`, or zero.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
    /// Returns `self × n`, or [`Span::MAX`].
    pub const fn saturating_mul(self, n: u64) -> Span {
        Span(self.0.saturating_mul(n))
    }
    /// Returns the distance between two spans.
    pub const fn abs_diff(self, other: Span) -> Span {
        Span(self.0.abs_diff(other.0))
    }
    /// Returns the smallest multiple of `tick` that is at least `self`; `self` if `tick` is zero.
    pub const fn round_up_to(self, tick: Span) -> Span {
        if tick.0 == 0 { self } else { Span(self.0.div_ceil(tick.0) * tick.0) }
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}
impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}
impl Sub for Time {
    type Output = Span;
    /// Panics if `earlier` is later: a clock that runs backward is a broken invariant.
    fn sub(self, earlier: Time) -> Span {
        Span(self.0.checked_sub(earlier.0).expect("time ran backward"))
    }
}
impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}
impl Sub for Span {
    type Output = Span;
    /// Panics if `other` is longer.
    fn sub(self, other: Span) -> Span {
        Span(self.0.checked_sub(other.0).expect("negative span"))
    }
}
impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, n: u64) -> Span {
        Span(self.0 * n)
    }
}
impl Div<u64> for Span {
    type Output = Span;
    fn div(self, n: u64) -> Span {
        Span(self.0 / n)
    }
}

const UNITS: &[Scale] = &[
    Scale::new("ps", 1),
    Scale::new("ns", 1_000),
    Scale::new("us", 1_000_000),
    Scale::new("µs", 1_000_000),
    Scale::new("ms", 1_000_000_000),
    Scale::new("s", PS_PER_SEC),
    Scale::new("min", 60 * PS_PER_SEC),
    Scale::new("h", 3600 * PS_PER_SEC),
];

impl FromStr for Span {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Span, ParseError> {
        parse::quantity(text, UNITS, "\"22.5 ms\"").map(Span)
    }
}
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.pad("0 s");
        }
        parse::print(f, self.0, &[UNITS[0], UNITS[1], UNITS[2], UNITS[4], UNITS[5]])
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}
