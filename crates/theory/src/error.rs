//! Errors of the equations and predictions.

/// The reason for which there is no prediction: location, problem, and accepted values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No equation has this id.
    #[error("there is no equation {id:?}; accepted: {accepted}")]
    UnknownEquation {
        /// The requested id.
        id: String,
        /// The known ids.
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
        /// The accepted values.
        accepted: String,
    },
    /// A text does not have the kind of the argument.
    #[error("{equation}: {name}: {what}; accepted: {accepted}")]
    BadValue {
        /// The equation.
        equation: &'static str,
        /// The argument.
        name: &'static str,
        /// The problem, with the value.
        what: String,
        /// The accepted values.
        accepted: String,
    },
    /// The result does not exist for these values: a division by zero, or no model at all.
    #[error("{place}: {what}; accepted: {accepted}")]
    Undefined {
        /// The equation, or the traffic group.
        place: String,
        /// The problem.
        what: String,
        /// The values for which it does.
        accepted: String,
    },
}

/// Creates an [`Error::Undefined`].
pub(crate) fn undefined(place: &str, what: impl Into<String>, accepted: &str) -> Error {
    Error::Undefined { place: place.to_owned(), what: what.into(), accepted: accepted.to_owned() }
}
