//! Sources of values.

/// The origin of a value: the column `source` of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A simulated run.
    Simulate,
    /// An emulated run, with real hosts.
    Emulate,
    /// A transfer over the kernel's TCP, or an emulated run with real gateways in the study of a paper.
    Measure,
    /// A prediction for a group of a scenario.
    Predict,
    /// A value from a file, in a comparison.
    Published,
    /// A prediction for each run of a study.
    Theory,
}

impl Source {
    /// Returns the text in the tables.
    pub const fn word(self) -> &'static str {
        match self {
            Source::Simulate => "simulate",
            Source::Emulate => "emulate",
            Source::Measure => "measure",
            Source::Predict => "predict",
            Source::Published => "published",
            Source::Theory => "theory",
        }
    }
}
