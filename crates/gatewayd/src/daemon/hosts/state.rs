//! The states of a connection at this gateway. A test compares the diagram in ARCHITECTURE.md with them.

use serde::{Deserialize, Serialize};

use super::halves::Stream;
use crate::intercept::Syn;

/// The mode in which the socket of a host will be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ending {
    /// With FIN, when both directions have ended.
    Clean,
    /// With a reset.
    Reset,
    /// Without a packet to the host: the other host has vanished. The layout of a handover has the name `Silence`.
    #[serde(rename = "Silence")]
    Blackhole,
}

/// The state of a connection, with its data.
#[derive(Debug, Default)]
pub(crate) enum State {
    /// The far side has not answered; the SYN of the host here waits.
    Held(Syn),
    /// The far side has not answered; the host here is connected.
    Arrived(Stream),
    /// The kernel has the SYN; the listener has not accepted the connection yet. It ends as soon as it is accepted if the
    /// state machine has requested that.
    Released(Option<Ending>),
    /// The name of the server here is being looked up, or the connection attempt is about to begin.
    LookingUp,
    /// The server here has not answered.
    Connecting(Stream),
    /// Both hosts are connected.
    Open(Stream),
    /// The host here still receives its last bytes, then its connection is closed.
    Closing {
        /// Its connection.
        stream: Stream,
        /// The mode in which it is closed.
        how: Ending,
    },
    /// The host here gets no more answers.
    Blackholed(Stream),
    /// The host's connection has ended.
    #[default]
    Closed,
}

/// The states that may follow each other. A connection can be removed in any of them.
pub(crate) const TRANSITIONS: [(&str, &str); 20] = [
    ("Held", "Released"),
    ("Held", "Closed"),
    ("Arrived", "Open"),
    ("Arrived", "Closing"),
    ("Arrived", "Closed"),
    ("Released", "Released"),
    ("Released", "Open"),
    ("Released", "Closing"),
    ("Released", "Closed"),
    ("LookingUp", "Connecting"),
    ("LookingUp", "Closed"),
    ("Connecting", "Open"),
    ("Connecting", "Closed"),
    ("Open", "Closing"),
    ("Open", "Closed"),
    ("Closing", "Closing"),
    ("Closing", "Blackholed"),
    ("Closing", "Closed"),
    ("Blackholed", "Blackholed"),
    ("Closed", "Closed"),
];

impl State {
    /// Returns its name in the diagram.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            State::Held(_) => "Held",
            State::Arrived(_) => "Arrived",
            State::Released(_) => "Released",
            State::LookingUp => "LookingUp",
            State::Connecting(_) => "Connecting",
            State::Open(_) => "Open",
            State::Closing { .. } => "Closing",
            State::Blackholed(_) => "Blackholed",
            State::Closed => "Closed",
        }
    }
    /// Returns the host's connection, if there is one.
    pub(crate) fn stream(&self) -> Option<&Stream> {
        match self {
            State::Arrived(stream) | State::Connecting(stream) | State::Open(stream) | State::Blackholed(stream) => {
                Some(stream)
            }
            State::Closing { stream, .. } => Some(stream),
            State::Held(_) | State::Released(_) | State::LookingUp | State::Closed => None,
        }
    }
    /// Returns the host's connection, if bytes may be written to it.
    pub(crate) fn writer(&mut self) -> Option<&mut Stream> {
        match self {
            State::Open(stream) | State::Closing { stream, .. } => Some(stream),
            _ => None,
        }
    }
    /// Takes the SYN out if it waits; the state becomes `next`.
    pub(super) fn take_held(&mut self, next: State) -> Option<Syn> {
        if !matches!(self, State::Held(_)) {
            return None;
        }
        let mut held = None;
        self.change(|state| {
            if let State::Held(syn) = state {
                held = Some(syn);
            }
            next
        });
        held
    }
    /// Replaces the state by one made from it; the transition must be one of [`TRANSITIONS`].
    pub(crate) fn change(&mut self, next: impl FnOnce(State) -> State) {
        let before = self.name();
        *self = next(std::mem::replace(self, State::Closed));
        debug_assert!(TRANSITIONS.contains(&(before, self.name())), "{before} becomes {}", self.name());
    }
    /// Returns the state after both hosts are connected.
    pub(crate) fn opened(self) -> State {
        match self {
            State::Arrived(stream) | State::Connecting(stream) => State::Open(stream),
            other => other,
        }
    }
    /// Ends the connection in this mode, after the host's last bytes.
    pub(crate) fn close(&mut self, how: Ending) {
        self.change(|state| match (state, how) {
            (State::Open(stream) | State::Closing { stream, .. }, _) => State::Closing { stream, how },
            // The refusal of SOCKS must arrive.
            (State::Arrived(stream), Ending::Clean) => State::Closing { stream, how },
            (State::Released(_), _) => State::Released(Some(how)),
            (State::Blackholed(stream), _) => State::Blackholed(stream),
            _ => State::Closed,
        });
    }
    /// Returns true if the mode of its end is set.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self, State::Closing { .. } | State::Blackholed(_) | State::Closed | State::Released(Some(_)))
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
        // The diagram omits transitions of a state to itself.
        let known: BTreeSet<(&str, &str)> = TRANSITIONS.into_iter().filter(|(from, to)| from != to).collect();
        assert_eq!(drawn, known);
    }
}
