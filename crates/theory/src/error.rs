//! What can be wrong with a question.

/// Why there is no prediction: where, what, and what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No equation has this id.
    #[error("there is no equation {id:?}; accepted: {accepted}")]
    UnknownEquation {
        /// What was asked for.
        id: String,
        /// The ids that there are.
        accepted: String,
    },
    /// The equation has no argument of this name.
    #[error("{equation}: there is no argument {name:?}; accepted: {accepted}")]
    UnknownArgument {
        /// The equation.
        equation: &'static str,
        /// The name that was given.
        name: String,
        /// Its arguments.
        accepted: String,
    },
    /// An argument without a default was left out.
    #[error("{equation}: {name} is missing; accepted: {accepted}")]
    Missing {
        /// The equation.
        equation: &'static str,
        /// The argument.
        name: &'static str,
        /// What it may be.
        accepted: String,
    },
    /// A text is not what the argument asks for.
    #[error("{equation}: {name}: {what}; accepted: {accepted}")]
    BadValue {
        /// The equation.
        equation: &'static str,
        /// The argument.
        name: &'static str,
        /// What is wrong, with the value.
        what: String,
        /// What it may be.
        accepted: String,
    },
    /// The result does not exist for these values: a division by zero, or no model at all.
    #[error("{place}: {what}; accepted: {accepted}")]
    Undefined {
        /// The equation, or the traffic group.
        place: String,
        /// What does not exist, and why.
        what: String,
        /// The values for which it does.
        accepted: String,
    },
}

/// Shorthand for [`Error::Undefined`].
pub(crate) fn undefined(place: &str, what: impl Into<String>, accepted: &str) -> Error {
    Error::Undefined { place: place.to_owned(), what: what.into(), accepted: accepted.to_owned() }
}
