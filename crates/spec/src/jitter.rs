//! The random part of the delay of a packet.

use cellway_settings::{choice, section};
use cellway_units::{Probability, Span};

choice! {
    /// The distribution of the random part of a delay.
    pub enum JitterDistribution {
        /// A normal distribution around the delay. A delay is never below 0 s.
        Normal = "normal",
        /// A uniform distribution around the delay. A delay is never below 0 s.
        Uniform = "uniform",
        /// A Pareto distribution of shape 3, less its minimum: from 0 s on, 0.58 deviations on average.
        Pareto = "pareto",
    }
}

section! {
    /// A random part of the delay of each packet.
    #[derive(Copy, Eq)]
    pub struct Jitter, JitterKeys {
        /// The standard deviation.
        #[range(max = "1 h")]
        pub deviation: Span = Span::ZERO,
        /// The distribution.
        pub distribution: JitterDistribution = JitterDistribution::Normal,
        /// The correlation of the normal variates of two packets that follow each other, from which the delays are made.
        pub correlation: Probability = Probability::ZERO,
    }
}
