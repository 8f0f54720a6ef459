//! Files with recorded links.

use std::sync::Arc;

use cellway_spec::Trains;
use cellway_units::{Bytes, Probability, Rate, Span, Time};

mod csv;
mod distribution;
mod light;
mod mahimahi;

/// The values of a recorded quantity over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded<T> {
    /// The changes, in ascending order; the first at the start.
    pub changes: Vec<(Time, T)>,
    /// The length of the recording. Never zero.
    pub length: Span,
}

impl<T: Copy> Recorded<T> {
    /// Returns the mean over time of a number made of the value, rounded down.
    fn mean_of(&self, number: impl Fn(T) -> u64) -> u64 {
        let ends = self.changes.iter().skip(1).map(|&(at, _)| at).chain([Time::ZERO + self.length]);
        let parts = self.changes.iter().zip(ends);
        let total: u128 =
            parts.map(|(&(at, value), end)| u128::from(end.since(at).as_ps()) * u128::from(number(value))).sum();
        (total / u128::from(self.length.as_ps())) as u64
    }
}

impl Recorded<Rate> {
    /// Returns the mean rate (bit/s, rounded down).
    pub fn mean(&self) -> Rate {
        Rate::from_bps(self.mean_of(Rate::as_bps))
    }
}

impl Recorded<Span> {
    /// Returns the mean delay (rounded down to a picosecond).
    pub fn mean(&self) -> Span {
        Span::from_ps(self.mean_of(Span::as_ps))
    }
}

/// A recorded link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkTrace {
    /// The rate, in bits of packets with the framing of the link.
    pub rate: Option<Recorded<Rate>>,
    /// The propagation delay.
    pub delay: Option<Recorded<Span>>,
    /// The probability that a packet is lost.
    pub loss: Option<Recorded<Probability>>,
    /// The distribution of the random part of the delay: values that are equally likely, in ascending order, in units of 2^-20
    /// standard deviations. Never empty.
    pub jitter: Option<Arc<[i32]>>,
    /// The trains of packets that a light load was recorded with; `rate` is then that of a heavy load.
    pub light: Option<Trains>,
}

impl LinkTrace {
    /// Returns this recording, with the quantities of `other` that it does not have.
    #[must_use]
    pub fn or(self, other: LinkTrace) -> LinkTrace {
        LinkTrace {
            rate: self.rate.or(other.rate),
            delay: self.delay.or(other.delay),
            loss: self.loss.or(other.loss),
            jitter: self.jitter.or(other.jitter),
            light: self.light.or(other.light),
        }
    }
}

/// A fault of a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}; accepted: {accepted}", line.map_or(String::new(), |line| format!("line {line}: ")))]
pub struct TraceError {
    /// The line, from 1; none if it is about the whole file.
    pub line: Option<usize>,
    /// The fault.
    pub message: String,
    /// The accepted form.
    pub accepted: String,
}

impl TraceError {
    fn at(line: usize, message: impl Into<String>, accepted: impl Into<String>) -> TraceError {
        TraceError { line: Some(line), message: message.into(), accepted: accepted.into() }
    }

    fn whole(message: impl Into<String>, accepted: impl Into<String>) -> TraceError {
        TraceError { line: None, message: message.into(), accepted: accepted.into() }
    }
}

/// The format of a file with a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceFormat {
    /// Times in ms at which a packet of 1500 B can leave, one in a line.
    Opportunities,
    /// A delay in ms in each line, for 10 ms each.
    Delays,
    /// A table with the columns time, rate, delay, loss.
    Csv,
    /// Values of a distribution that are equally likely.
    Distribution,
    /// In each line the time, the base delay, and the opportunities of a train of packets, in ms: the light load of
    /// CellReplay.
    Light,
    /// Times in ms at which a packet of 1400 B can leave, one in a line: the heavy load of CellReplay.
    Heavy,
}

impl TraceFormat {
    /// Reads a recording.
    ///
    /// # Errors
    /// The text does not have this format, or records nothing.
    pub fn read(self, text: &str) -> Result<LinkTrace, TraceError> {
        match self {
            TraceFormat::Opportunities => {
                mahimahi::rates(text, Bytes(1500)).map(|rate| LinkTrace { rate: Some(rate), ..LinkTrace::default() })
            }
            TraceFormat::Delays => {
                mahimahi::delays(text).map(|delay| LinkTrace { delay: Some(delay), ..LinkTrace::default() })
            }
            TraceFormat::Csv => csv::read(text),
            TraceFormat::Distribution => {
                distribution::read(text).map(|jitter| LinkTrace { jitter: Some(jitter), ..LinkTrace::default() })
            }
            TraceFormat::Light => {
                light::read(text).map(|light| LinkTrace { light: Some(light), ..LinkTrace::default() })
            }
            TraceFormat::Heavy => {
                mahimahi::rates(text, Trains::PACKET).map(|rate| LinkTrace { rate: Some(rate), ..LinkTrace::default() })
            }
        }
    }
}

/// Appends a change unless the value stays.
fn push<T: PartialEq>(changes: &mut Vec<(Time, T)>, at: Time, value: T) {
    if changes.last().is_none_or(|(_, last)| *last != value) {
        changes.push((at, value));
    }
}
