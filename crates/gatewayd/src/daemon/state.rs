//! How far a connection has come at this gateway. ARCHITECTURE.md has it as a diagram, which a test compares.

use super::halves::Stream;
use crate::intercept::Opening;

/// How a host's socket will be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should be, when both directions have ended.
    Clean,
    /// With a reset.
    Reset,
    /// Not at all, as far as the host can tell: the other host has vanished.
    Silence,
}

/// The state of a connection, with what it needs in it.
#[derive(Debug)]
pub(crate) enum State {
    /// The far side has not answered; the opening segment of the host here waits.
    Held(Opening),
    /// The far side has not answered; the connection of the host here stands.
    Arrived(Stream),
    /// The opening segment was let go; the listener has not got the connection yet. It ends as soon as it comes if the
    /// machine has asked for that meanwhile.
    Released(Option<Ending>),
    /// The name of the server here is being looked up, or it is about to be connected to.
    LookingUp,
    /// The server here has not answered.
    Connecting(Stream),
    /// The connection of the host here stands, and so does that of the other.
    Open(Stream),
    /// The host here still gets what it is to get, then its connection is closed.
    Leaving {
        /// Its connection.
        stream: Stream,
        /// How that is closed.
        how: Ending,
    },
    /// The host here is left without an answer.
    Silent(Stream),
    /// No host here has to do with it any more.
    Gone,
}

/// The states that may follow each other. A connection can be removed in any of them.
pub(crate) const TRANSITIONS: [(&str, &str); 20] = [
    ("Held", "Released"),
    ("Held", "Gone"),
    ("Arrived", "Open"),
    ("Arrived", "Leaving"),
    ("Arrived", "Gone"),
    ("Released", "Released"),
    ("Released", "Open"),
    ("Released", "Leaving"),
    ("Released", "Gone"),
    ("LookingUp", "Connecting"),
    ("LookingUp", "Gone"),
    ("Connecting", "Open"),
    ("Connecting", "Gone"),
    ("Open", "Leaving"),
    ("Open", "Gone"),
    ("Leaving", "Leaving"),
    ("Leaving", "Silent"),
    ("Leaving", "Gone"),
    ("Silent", "Silent"),
    ("Gone", "Gone"),
];

impl State {
    /// Its name in the diagram.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            State::Held(_) => "Held",
            State::Arrived(_) => "Arrived",
            State::Released(_) => "Released",
            State::LookingUp => "LookingUp",
            State::Connecting(_) => "Connecting",
            State::Open(_) => "Open",
            State::Leaving { .. } => "Leaving",
            State::Silent(_) => "Silent",
            State::Gone => "Gone",
        }
    }
    /// The host's connection, if there is one.
    pub(crate) fn stream(&self) -> Option<&Stream> {
        match self {
            State::Arrived(stream) | State::Connecting(stream) | State::Open(stream) | State::Silent(stream) => {
                Some(stream)
            }
            State::Leaving { stream, .. } => Some(stream),
            State::Held(_) | State::Released(_) | State::LookingUp | State::Gone => None,
        }
    }
    /// The host's connection, if bytes may be written to it.
    pub(crate) fn writer(&mut self) -> Option<&mut Stream> {
        match self {
            State::Open(stream) | State::Leaving { stream, .. } => Some(stream),
            _ => None,
        }
    }
    /// Takes the state out to make another of it, which must be one of [`TRANSITIONS`].
    pub(crate) fn change(&mut self, next: impl FnOnce(State) -> State) {
        let before = self.name();
        *self = next(std::mem::replace(self, State::Gone));
        debug_assert!(TRANSITIONS.contains(&(before, self.name())), "{before} becomes {}", self.name());
    }
    /// The connection of the host stands, and so does that of the other.
    pub(crate) fn opened(self) -> State {
        match self {
            State::Arrived(stream) | State::Connecting(stream) => State::Open(stream),
            other => other,
        }
    }
    /// Ends it in this way, after what the host is still to get.
    pub(crate) fn leave(&mut self, how: Ending) {
        self.change(|state| match (state, how) {
            (State::Open(stream) | State::Leaving { stream, .. }, _) => State::Leaving { stream, how },
            // What it was told must arrive.
            (State::Arrived(stream), Ending::Clean) => State::Leaving { stream, how },
            (State::Released(_), _) => State::Released(Some(how)),
            (State::Silent(stream), _) => State::Silent(stream),
            _ => State::Gone,
        });
    }
    /// True if it is decided how it ends.
    pub(crate) fn is_leaving(&self) -> bool {
        matches!(self, State::Leaving { .. } | State::Silent(_) | State::Gone | State::Released(Some(_)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_diagram_has_the_same_transitions() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
        let text = std::fs::read_to_string(page).unwrap();
        let begin = text.find("<!-- states of a connection -->").expect("the page has the diagram");
        let diagram = text[begin..].split("```").nth(1).unwrap();
        let arrows = diagram.lines().filter_map(|line| line.split(':').next()?.split_once(" --> "));
        let between =
            arrows.map(|(from, to)| (from.trim(), to.trim())).filter(|(from, to)| !(*from == "[*]" || *to == "[*]"));
        let drawn: BTreeSet<(&str, &str)> = between.collect();
        // One that stays is not drawn.
        let known: BTreeSet<(&str, &str)> = TRANSITIONS.into_iter().filter(|(from, to)| from != to).collect();
        assert_eq!(drawn, known);
    }
}
