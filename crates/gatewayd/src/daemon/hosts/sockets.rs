//! Readiness of the sockets of hosts, and writing to them.

use cellway_gateway::{FlowId, Reason};
use cellway_sys::Ready;

use super::connection::Connection;
use super::halves::Input;
use super::state::{Ending, State};
use super::{Hosts, Token};
use crate::daemon::context::Context;
use crate::daemon::outbox::Event;
use crate::intercept;
use crate::peer_id::PeerId;

/// Returns the reason for which an established connection has failed. If the host does not answer, the kernel reports a
/// time-out, or the last error from the network of the host.
fn loss(error: &std::io::Error) -> Reason {
    match intercept::reason(error) {
        Reason::TimedOut | Reason::HostUnreachable | Reason::NetUnreachable | Reason::Prohibited => Reason::Vanished,
        _ => Reason::Reset,
    }
}

impl Hosts {
    /// Processes the readiness of the socket of a connection.
    pub(crate) fn ready(&mut self, token: Token, ready: Ready, cx: &mut Context) {
        let Some(connection) = self.table.get_mut(token) else { return };
        let error = |connection: &Connection| {
            connection.state.stream().and_then(|stream| stream.socket.take_error().ok().flatten())
        };
        match &mut connection.state {
            State::Connecting(_) if ready.write || ready.failed || ready.ended => {
                let (peer, id, error) = (connection.peer, connection.id, error(connection));
                tracing::debug!(flow = id.0, ?error, "the server has answered");
                // After a reset the connection was established: a SYN that is refused fails with another error.
                let reset = error.as_ref().is_some_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset);
                if let Some(e) = error.filter(|_| !reset) {
                    return cx.push(Event::Refused(peer, id, intercept::reason(&e)));
                }
                connection.state.change(State::opened);
                cx.push(Event::Connected(peer, id));
                cx.push(Event::Written(token, 0));
                cx.push(Event::Readable(token, ready.ended && !reset));
                if reset {
                    cx.push(Event::HostLost(token, Reason::Reset));
                }
            }
            State::Arrived(stream) | State::Open(stream) | State::Closing { stream, .. } => {
                if ready.write {
                    stream.can_write();
                }
                if ready.read || ready.ended || ready.failed {
                    cx.push(Event::Readable(token, ready.ended && !ready.failed));
                }
                if ready.failed {
                    let reason = error(connection).as_ref().map_or(Reason::Reset, loss);
                    cx.push(Event::HostLost(token, reason));
                }
                if ready.write {
                    self.list(token);
                }
            }
            // The host has closed the connection.
            State::Blackholed(_) if ready.failed => self.remove(token, cx),
            _ => {}
        }
    }
    /// Returns the bytes of the host that the state machine does not count yet. `ended` is true if its socket has
    /// reported the end of the stream.
    pub(crate) fn poll(&mut self, token: Token, ended: bool) -> Option<(PeerId, FlowId, Input)> {
        let connection = self.table.get_mut(token).filter(|connection| connection.closed.is_none())?;
        Some((connection.peer, connection.id, connection.poll(ended)))
    }
    /// Returns true if the socket of a host has bytes that the state machine has not requested.
    pub(crate) fn is_held_back(&self, token: Token) -> bool {
        self.table.get(token).is_some_and(|connection| connection.from_host.waits())
    }
    /// Records that a socket has accepted bytes. Returns the flow of the connection and the number of bytes that the
    /// state machine may request to write.
    pub(crate) fn written(&mut self, token: Token) -> Option<(PeerId, FlowId, u64)> {
        self.count_leftover(token);
        let connection = self.table.get(token).filter(|connection| connection.closed.is_none())?;
        Some((connection.peer, connection.id, connection.to_host.room()))
    }
    /// Returns the flow of a connection that the state machine has not closed.
    pub(crate) fn flow(&self, token: Token) -> Option<(PeerId, FlowId)> {
        let connection = self.table.get(token).filter(|connection| connection.closed.is_none())?;
        Some((connection.peer, connection.id))
    }
    /// Records that the connection of a host has failed, and that its state machine was notified.
    pub(crate) fn lost(&mut self, token: Token) {
        if let Some(connection) = self.table.get_mut(token) {
            connection.lose_host();
            self.list(token);
        }
    }

    /// Writes to all listed hosts, and ends the connections that are complete.
    pub(crate) fn write(&mut self, cx: &mut Context) {
        let mut writers = std::mem::take(&mut self.writers);
        for token in writers.drain(..) {
            let Some(connection) = self.table.get_mut(token) else { continue };
            connection.listed = false;
            match connection.flush() {
                Ok(0) => {}
                Ok(bytes) => cx.push(Event::Written(token, bytes)),
                Err(error) => {
                    if !connection.state.is_closing() {
                        connection.state.close(Ending::Reset);
                    }
                    cx.push(Event::HostLost(token, loss(&error)));
                    if connection.closed.is_some() {
                        self.remove(token, cx);
                    }
                    continue;
                }
            }
            self.end_if_complete(token, cx);
        }
        // Keeps the memory of the list.
        writers.append(&mut self.writers);
        self.writers = writers;
    }
}
