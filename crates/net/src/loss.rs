//! Random loss on a link.

use std::fmt;

use cellway_units::Probability;

/// A source of random numbers that a copy repeats, so that a network with its sources can be copied.
pub trait RandomBits: Send + Sync + 'static {
    /// The next 64 bits, each as likely 0 as 1.
    fn bits(&mut self) -> u64;
    /// A copy that goes on with the same numbers.
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

/// Whether each unit that leaves a line is lost: independent draws with one chance.
pub(crate) struct Loss {
    /// Draws below this are losses.
    below: u64,
    stream: Box<dyn RandomBits>,
}

impl Loss {
    pub(crate) fn new(chance: Probability, stream: impl RandomBits) -> Loss {
        Loss { below: chance.threshold(), stream: Box::new(stream) }
    }

    /// Whether the next unit is lost.
    #[inline(never)]
    pub(crate) fn strikes(&mut self) -> bool {
        self.stream.bits() < self.below
    }
}

impl Clone for Loss {
    fn clone(&self) -> Loss {
        Loss { below: self.below, stream: self.stream.copy() }
    }
}

impl fmt::Debug for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loss").field("below", &self.below).finish_non_exhaustive()
    }
}
