//! The states of peers and of connections, as `status` names them, and their meanings.

use super::PeerStatus;

/// A state: its name and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
}

const fn state(name: &'static str, meaning: &'static str) -> State {
    State { name, meaning }
}

const QUIC: State = state("quic", "connected by QUIC over UDP");
const TLS: State = state("tls", "connected by TLS over TCP: a loss holds all connections up");
const DETACHED: State = state(
    "detached",
    "its connection has ended, for an upgrade or by a fault: its connections wait for the next one, up to `outage`; new ones wait \
     for some seconds, then go direct or are refused, as `down` in the file says",
);
const UNRESPONSIVE: State = state(
    "unresponsive",
    "connected, and does not answer: its connections wait, new ones go direct or are refused, as `down` in the file says",
);
const DOWN: State =
    state("down", "not connected: new connections to it go direct or are refused, as `down` in the file says");
/// The states of a peer.
pub(crate) const PEER: [State; 5] = [QUIC, TLS, DETACHED, UNRESPONSIVE, DOWN];

pub(crate) const OPENING: State =
    state("opening", "not answered by the server yet, or answered and not accepted by the client yet");
pub(crate) const OPEN: State = state("open", "bytes flow in both directions");
pub(crate) const HALF_CLOSED: State =
    state("half-closed", "one host has sent its FIN; bytes still flow in the other direction");
pub(crate) const ENDING: State =
    state("ending", "over between the gateways; the host here has not taken its last bytes, or not closed yet");
/// The states of a connection.
pub(crate) const CONNECTION: [State; 4] = [OPENING, OPEN, HALF_CLOSED, ENDING];

impl PeerStatus {
    /// Returns the state of the peer.
    pub(crate) fn state(&self) -> State {
        match (self.up, self.unresponsive) {
            (false, _) => DOWN,
            (true, _) if self.detached => DETACHED,
            (true, true) => UNRESPONSIVE,
            (true, false) if self.transport == TLS.name => TLS,
            (true, false) => QUIC,
        }
    }
}

/// Returns lines that explain states, with their names aligned.
pub(crate) fn explained(states: impl IntoIterator<Item = State>) -> String {
    let states: Vec<State> = states.into_iter().collect();
    let width = states.iter().map(|state| state.name.len()).max().unwrap_or(0);
    states.iter().map(|State { name, meaning }| format!("  {name:width$}  {meaning}\n")).collect()
}
