//! Numbers that look random, the same in every run.

/// Numbers of a linear congruential generator.
#[derive(Clone)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// Returns a number of 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    /// Returns a number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 33) % n
    }
}
