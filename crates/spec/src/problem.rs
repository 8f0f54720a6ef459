//! Problems of values that state machines and files are checked for alike.

use std::fmt;

use cellway_settings::range::OutOfRange;

/// A rule that values break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The keys of these values in files, the likeliest to be wrong first.
    pub keys: Vec<String>,
    /// The problem, with the values.
    pub message: String,
    /// The values that would be accepted.
    pub accepted: String,
}

impl Problem {
    /// A rule that the values of `keys` break.
    pub fn new(keys: &[&str], message: impl Into<String>, accepted: impl Into<String>) -> Problem {
        let keys = keys.iter().map(|&key| key.to_owned()).collect();
        Problem { keys, message: message.into(), accepted: accepted.into() }
    }
}

impl From<OutOfRange> for Problem {
    fn from(OutOfRange { key, message, accepted }: OutOfRange) -> Problem {
        Problem { keys: vec![key], message, accepted }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; accepted: {}", self.keys[0], self.message, self.accepted)
    }
}

impl std::error::Error for Problem {}
