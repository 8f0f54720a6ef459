//! One connection of a host.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use cellway_gateway::{FlowId, Request, Server};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use super::blackhole;
use super::ending::Watch;
use super::halves::{FromHost, Input, ToHost};
use super::ring::Ring;
use super::state::{Ending, State};
use crate::daemon::moment::Moment;
use crate::intercept::Syn;
use crate::peer_id::PeerId;
use crate::status::states;

/// The origin of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Origin {
    /// It was intercepted, and the far side answers first.
    Intercepted,
    /// It was intercepted, and this machine has answered first: its client has acknowledged the answer.
    Proved,
    /// A forwarded port.
    Forward,
    /// A SOCKS port.
    Socks,
    /// The peer opened it.
    Peer,
}

impl Origin {
    /// Returns its label in counters.
    pub(super) fn name(self) -> &'static str {
        match self {
            Origin::Intercepted => "intercepted",
            Origin::Proved => "proved",
            Origin::Forward => "forward",
            Origin::Socks => "socks",
            Origin::Peer => "peer",
        }
    }
}

/// Skipped fields have another form in the record of a handover, see [`super::handover`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Connection {
    pub(super) peer: PeerId,
    pub(super) id: FlowId,
    pub(super) request: Arc<Request>,
    pub(super) origin: Origin,
    /// The time at which it began.
    pub(super) since: Moment,
    #[serde(skip)]
    pub(super) state: State,
    pub(super) from_host: FromHost,
    pub(super) to_host: ToHost,
    /// Set while we poll whether the host acknowledges its last bytes.
    #[serde(skip)]
    pub(super) watch: Option<Watch>,
    /// Set when the state machine has closed the flow: the memory (bytes) counted for it since then, see
    /// [`super::leftover`].
    pub(super) closed: Option<u64>,
    /// True if it is in the list of connections with something to write.
    #[serde(skip)]
    pub(super) listed: bool,
    /// The client's address, if it is counted for the limit per client.
    pub(super) source: Option<IpAddr>,
    /// True if it is counted in [`super::waiting::Waiting`].
    pub(super) opening: bool,
    /// The next SYN of the client from the same port, which arrived before the peer had ended this flow.
    pub(super) again: Option<Syn>,
    /// True if the answer of the far side has been counted.
    pub(super) answered: bool,
    /// True if its SYN was sent to the server past the gateways.
    pub(super) passed: bool,
}

impl Connection {
    pub(super) fn new(
        peer: PeerId,
        id: FlowId,
        request: Arc<Request>,
        origin: Origin,
        state: State,
        since: Moment,
    ) -> Connection {
        Connection {
            peer,
            id,
            request,
            origin,
            since,
            state,
            from_host: FromHost::default(),
            to_host: ToHost::default(),
            watch: None,
            closed: None,
            listed: false,
            source: None,
            opening: false,
            again: None,
            answered: false,
            passed: false,
        }
    }
    /// Takes the bytes that arrived before the connection began.
    pub(super) fn adopt(&mut self, early: Ring) {
        self.to_host = ToHost::with(early);
    }

    /// Returns true if its client may not own its address, as it has not acknowledged an answer.
    pub(super) fn is_unproven(&self) -> bool {
        self.origin == Origin::Intercepted
    }
    /// Returns client and server, if the connection was intercepted.
    pub(super) fn intercepted(&self) -> Option<(SocketAddr, SocketAddr)> {
        match (self.origin, self.request.client, &self.request.server) {
            (Origin::Intercepted | Origin::Proved, Some(client), Server::Address(server)) => Some((client, *server)),
            _ => None,
        }
    }
    /// Returns the bytes held in both directions.
    pub(super) fn held(&self) -> usize {
        self.from_host.len() + self.to_host.len()
    }
    /// Returns true while the far host, or the host here to which the peer requests a connection, has not answered.
    pub(super) fn waits_for_answer(&self) -> bool {
        let early = matches!(self.state, State::Held(_) | State::Arrived(_) | State::LookingUp | State::Connecting(_));
        early && !self.answered
    }
    /// Returns its state, as `status` shows it.
    pub(super) fn shown_state(&self) -> states::State {
        match self.state {
            State::Open(_) if self.from_host.has_ended() || self.to_host.ends() => states::HALF_CLOSED,
            State::Open(_) => states::OPEN,
            State::Closing { .. } | State::Blackholed(_) | State::Closed | State::Released(Some(_)) => states::ENDING,
            State::Held(_) | State::Arrived(_) | State::Released(None) | State::LookingUp | State::Connecting(_) => {
                states::OPENING
            }
        }
    }

    /// Returns the bytes that the socket has received and the state machine does not count yet.
    pub(super) fn poll(&mut self, ended: bool) -> Input {
        let Connection { state, from_host, .. } = self;
        state.stream().map_or_else(Input::default, |stream| from_host.poll(&stream.socket, ended))
    }
    /// Reads `bytes` from the socket; returns true if all of them were there.
    pub(super) fn consume(&mut self, bytes: u64) -> bool {
        let Connection { state, from_host, .. } = self;
        state.stream().is_some_and(|stream| from_host.consume(&stream.socket, bytes))
    }
    /// Writes the bytes that may be written and that the socket accepts; returns their number.
    pub(super) fn flush(&mut self) -> io::Result<u64> {
        let Connection { state, to_host, .. } = self;
        state.writer().map_or(Ok(0), |stream| to_host.flush(stream))
    }
    /// Returns true if the host has acknowledged all its bytes.
    pub(super) fn is_delivered(&self) -> bool {
        self.state.stream().map_or_else(|| self.to_host.is_flushed(), |s| self.to_host.is_delivered(&s.socket))
    }
    /// Returns the number of bytes that the host has acknowledged.
    pub(super) fn acknowledged(&self) -> u64 {
        self.state.stream().map_or(self.to_host.carried(), |stream| self.to_host.acknowledged(&stream.socket))
    }
    /// Drops the bytes for the host, as its connection has ended. Bytes from the host still go to the peer.
    pub(super) fn lose_host(&mut self) {
        self.state.change(|state| {
            if let State::Blackholed(stream) = state { State::Blackholed(stream) } else { State::Closed }
        });
        self.to_host.lose();
    }
    /// The state machine has closed the flow. Drops the bytes from the host, and those for the host that the state
    /// machine has not requested to write.
    pub(super) fn close(&mut self, reset: bool) {
        self.closed = self.closed.or(Some(0));
        self.from_host.discard();
        self.to_host.truncate();
        if !self.state.is_closing() {
            self.state.close(if reset { Ending::Reset } else { Ending::Clean });
        }
    }
    /// Returns the memory of its buffers (bytes).
    pub(super) fn memory(&self) -> u64 {
        self.from_host.memory() + self.to_host.memory()
    }
    /// Stops answering the host, which has received all its bytes.
    ///
    /// # Errors
    /// The kernel does not allow it, or the connection does not end; then the state does not change.
    pub(super) fn blackhole(&mut self) -> io::Result<()> {
        let State::Closing { stream, .. } = &self.state else { return Err(io::ErrorKind::NotConnected.into()) };
        blackhole::drop_packets(&stream.socket)?;
        self.state.change(|state| match state {
            State::Closing { stream, .. } => State::Blackholed(stream),
            other => other,
        });
        self.from_host = FromHost::default();
        Ok(())
    }
    /// Returns true if the host's connection has ended in the kernel. The next SYN of the host from the same port can
    /// be read before the readiness of the socket.
    pub(super) fn is_over(&self) -> bool {
        let Some(stream) = self.state.stream() else { return matches!(self.state, State::Closed) };
        let mut fds = [PollFd::new(&stream.socket, PollFlags::empty())];
        let over = PollFlags::HUP | PollFlags::ERR;
        // If both sides have ended it, the state machine has only to close it.
        self.from_host.has_ended() && self.to_host.has_ended()
            || (poll(&mut fds, Some(&Timespec::default())).is_ok() && fds[0].revents().intersects(over))
    }
}

#[cfg(test)]
impl Connection {
    pub(crate) fn state(&self) -> &State {
        &self.state
    }
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }
}

impl Drop for Connection {
    /// Closes the socket without the reset for which every socket is set up, if both directions have ended.
    fn drop(&mut self) {
        if let State::Closing { stream, how: Ending::Clean, .. } = &self.state {
            let _ = stream.socket.set_linger(None);
        }
    }
}
