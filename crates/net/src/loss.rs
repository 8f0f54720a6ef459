//! Loss on a link: at random, or of units by their number.

use std::fmt;

use cellway_units::Probability;

/// A source of random numbers that a copy repeats, so that a network with its sources can be copied.
pub trait RandomBits: Send + Sync + 'static {
    /// Returns the next 64 bits, each as likely 0 as 1.
    fn bits(&mut self) -> u64;
    /// Returns a copy that continues with the same numbers.
    fn copy(&self) -> Box<dyn RandomBits>;
}

impl<F: FnMut() -> u64 + Clone + Send + Sync + 'static> RandomBits for F {
    fn bits(&mut self) -> u64 {
        self()
    }
    fn copy(&self) -> Box<dyn RandomBits> {
        Box::new(self.clone())
    }
}

/// A random stream that can be copied.
pub struct Stream(Box<dyn RandomBits>);

impl Stream {
    /// Creates a stream with the numbers of `source`.
    pub fn new(source: impl RandomBits) -> Stream {
        Stream(Box::new(source))
    }

    /// Returns the next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.bits()
    }
}

impl Clone for Stream {
    fn clone(&self) -> Stream {
        Stream(self.0.copy())
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

/// Decides for each unit that leaves a line (a cell on a cell line, else a packet) whether it is lost: by independent
/// draws, and by a list of numbers. The default loses nothing.
#[derive(Clone, Debug, Default)]
pub struct Loss {
    draws: Option<Draws>,
    /// Numbers of units to lose, in descending order.
    listed: Vec<u64>,
    /// Units that have left the line.
    passed: u64,
}

impl Loss {
    /// Loses each unit with this probability, independently of all others: one draw from `stream` for each unit, or none
    /// at all if the probability is zero.
    pub fn random(chance: Probability, stream: impl RandomBits) -> Loss {
        let draws = (!chance.is_zero()).then(|| Draws { below: chance.threshold(), stream: Stream::new(stream) });
        Loss { draws, ..Loss::default() }
    }

    /// Also loses the units with these ascending numbers; the first one to leave the line has number 1.
    #[must_use]
    pub fn with_listed(mut self, mut numbers: Vec<u64>) -> Loss {
        numbers.reverse();
        self.listed = numbers;
        self
    }

    /// Returns true if no unit is ever lost.
    pub(crate) fn is_idle(&self) -> bool {
        self.draws.is_none() && self.listed.is_empty()
    }

    /// Returns true if the next unit is lost.
    #[inline(never)]
    pub(crate) fn strikes(&mut self) -> bool {
        self.passed += 1;
        let is_listed = self.listed.pop_if(|next| *next == self.passed).is_some();
        // A listed unit draws, too, so that a list does not shift the draws of other units.
        self.draws.as_mut().is_some_and(|draws| draws.stream.bits() < draws.below) || is_listed
    }
}

/// Independent draws with one probability.
#[derive(Clone, Debug)]
struct Draws {
    /// A draw below this is a loss.
    below: u64,
    stream: Stream,
}
