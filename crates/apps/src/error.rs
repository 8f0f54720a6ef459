//! Errors of tables and distributions.

/// The reasons for which a text is not a table, or numbers are not a distribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The first line is not the header.
    #[error("{file}:1: the header is {found:?}; it must be \"value,cum_prob\"")]
    Header {
        /// The file.
        file: String,
        /// The text found.
        found: String,
    },
    /// A line that is not two numbers.
    #[error("{file}:{line}: {found:?} is not two numbers \"value,cum_prob\", like \"512,0.513\"")]
    Row {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The text found.
        found: String,
    },
    /// A value below zero.
    #[error("{file}:{line}: value {found} is negative; sizes, counts and times are 0 or more")]
    Negative {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The text found.
        found: String,
    },
    /// A value above the accepted range.
    #[error("{file}:{line}: value {found} is too large; the limit is {limit:e}, in bytes, items or ms")]
    TooLarge {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The text found.
        found: String,
        /// The limit.
        limit: u64,
    },
    /// A column that does not grow.
    #[error("{file}:{line}: {column} {found} is not above {before} of the row before it")]
    NotIncreasing {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// `value` or `cum_prob`.
        column: &'static str,
        /// The text found.
        found: String,
        /// The value in the row before.
        before: String,
    },
    /// A probability outside [0, 1].
    #[error("{file}:{line}: cum_prob {found} is outside 0 to 1")]
    Probability {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The text found.
        found: String,
    },
    /// The last probability is not 1.
    #[error("{file}:{line}: the last cum_prob is {found}; it must be 1")]
    Last {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The text found.
        found: String,
    },
    /// Fewer than two rows.
    #[error("{file}: {rows} rows; a distribution needs at least 2")]
    TooShort {
        /// The file.
        file: String,
        /// The number of rows.
        rows: usize,
    },
    /// More knots than a compact model may have.
    #[error("{file}: {name} has {knots} knots; the limit is {limit}")]
    TooManyKnots {
        /// The file.
        file: String,
        /// The variable.
        name: String,
        /// The number of knots.
        knots: usize,
        /// The limit.
        limit: usize,
    },
    /// A text that is not a file of models.
    #[error("{file}: {message}")]
    Models {
        /// The file.
        file: String,
        /// The fault and its location.
        message: String,
    },
    /// A variable without a table.
    #[error("{file}: no table for {names}")]
    Missing {
        /// The file or folder.
        file: String,
        /// The variables.
        names: String,
    },
}
