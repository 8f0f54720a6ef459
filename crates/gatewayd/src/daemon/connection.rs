//! One connection as the daemon holds it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use cellway_gateway::{FlowId, Request, Server};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::ending::Watch;
use super::halves::{FromHost, News, ToHost};
use super::moment::Moment;
use super::ring::Ring;
use super::silence;
use super::state::{Ending, State};
use crate::intercept::Opening;
use crate::peer_id::PeerId;
use crate::status::states;

/// How a connection came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was intercepted, and the far side answers first.
    Intercepted,
    /// It was intercepted, and this machine has answered first: its client has acknowledged that.
    Proved,
    /// A forwarded port.
    Forward,
    /// A SOCKS port.
    Socks,
    /// The peer opened it.
    Peer,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: PeerId,
    pub(crate) id: FlowId,
    pub(crate) request: Arc<Request>,
    pub(crate) origin: Origin,
    /// When it began.
    pub(crate) since: Moment,
    pub(crate) state: State,
    pub(crate) from_host: FromHost,
    pub(crate) to_host: ToHost,
    /// Its host is looked at, whether it takes its last bytes.
    pub(crate) watch: Option<Watch>,
    /// The machine has closed it; the memory (bytes) counted for it in `Link::leftover` since then.
    pub(crate) closed: Option<u64>,
    /// It waits in the daemon's list of those with something to write.
    pub(crate) listed: bool,
    /// The client's address, if it is counted for it.
    pub(crate) source: Option<IpAddr>,
    /// It is among the openings that are counted.
    pub(crate) opening: bool,
    /// The client's next opening from the same port, which came before this one was over.
    pub(crate) again: Option<Opening>,
    /// The answer has been counted.
    pub(crate) answered: bool,
    /// Its SYN was passed on to the server, bypassing the gateways.
    pub(crate) passed: bool,
}

impl Connection {
    pub(crate) fn new(
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
    /// With what came before the flow was known here.
    pub(crate) fn adopt(&mut self, early: Ring) {
        self.to_host = ToHost::with(early);
    }

    /// True if its client may not be at its address: it has not acknowledged an answer.
    pub(crate) fn is_unproven(&self) -> bool {
        self.origin == Origin::Intercepted
    }
    /// Client and server, if the connection was intercepted.
    pub(crate) fn intercepted(&self) -> Option<(SocketAddr, SocketAddr)> {
        match (self.origin, self.request.client, &self.request.server) {
            (Origin::Intercepted | Origin::Proved, Some(client), Server::Address(server)) => Some((client, *server)),
            _ => None,
        }
    }
    /// Bytes held in both directions.
    pub(crate) fn held(&self) -> usize {
        self.from_host.len() + self.to_host.len()
    }
    /// True while the far host, or the one here that the peer wants to be connected to, has not answered.
    pub(crate) fn waits_for_answer(&self) -> bool {
        let early = matches!(self.state, State::Held(_) | State::Arrived(_) | State::LookingUp | State::Connecting(_));
        early && !self.answered
    }
    /// Its state, as `status` shows it.
    pub(crate) fn shown_state(&self) -> states::State {
        match self.state {
            State::Open(_) if self.from_host.has_ended() || self.to_host.ends() => states::HALF_CLOSED,
            State::Open(_) => states::OPEN,
            State::Leaving { .. } | State::Silent(_) | State::Gone | State::Released(Some(_)) => states::ENDING,
            State::Held(_) | State::Arrived(_) | State::Released(None) | State::LookingUp | State::Connecting(_) => {
                states::OPENING
            }
        }
    }

    /// What the socket has that the machine has not heard of.
    pub(crate) fn news(&mut self, ended: bool) -> News {
        let Connection { state, from_host, .. } = self;
        state.stream().map_or_else(News::default, |stream| from_host.news(&stream.socket, ended))
    }
    /// The machine asks for `bytes`: takes them out of the socket; returns true if all were there.
    pub(crate) fn consume(&mut self, bytes: u64) -> bool {
        let Connection { state, from_host, .. } = self;
        state.stream().is_some_and(|stream| from_host.consume(&stream.socket, bytes))
    }
    /// Writes what may be written and the socket takes; returns how many bytes that was.
    pub(crate) fn flush(&mut self) -> io::Result<u64> {
        let Connection { state, to_host, .. } = self;
        state.writer().map_or(Ok(0), |stream| to_host.flush(stream))
    }
    /// True if the host has acknowledged all that it is to get.
    pub(crate) fn is_delivered(&self) -> bool {
        self.state.stream().map_or_else(|| self.to_host.is_flushed(), |s| self.to_host.is_delivered(&s.socket))
    }
    /// Returns how many bytes the host has acknowledged.
    pub(crate) fn taken(&self) -> u64 {
        self.state.stream().map_or(self.to_host.carried(), |stream| self.to_host.taken(&stream.socket))
    }
    /// The host's connection is gone: what is for it is nobody's. What came from it is still the peer's.
    pub(crate) fn lose_host(&mut self) {
        self.state.change(|state| if let State::Silent(stream) = state { State::Silent(stream) } else { State::Gone });
        self.to_host.lose();
    }
    /// The machine has closed it, with a reset or not. Drops the bytes from the host, and those for the host that the
    /// machine has not asked to write.
    pub(crate) fn close(&mut self, reset: bool) {
        self.closed = self.closed.or(Some(0));
        self.from_host.discard();
        self.to_host.truncate();
        if !self.state.is_leaving() {
            self.state.leave(if reset { Ending::Reset } else { Ending::Clean });
        }
    }
    /// Returns the memory of its buffers (bytes).
    pub(crate) fn memory(&self) -> u64 {
        self.from_host.memory() + self.to_host.memory()
    }
    /// The host has all its bytes and hears nothing more.
    ///
    /// # Errors
    /// The kernel does not allow it, or the host is not about to leave; then the state is as it was.
    pub(crate) fn fall_silent(&mut self) -> io::Result<()> {
        let State::Leaving { stream, .. } = &self.state else { return Err(io::ErrorKind::NotConnected.into()) };
        silence::silence(&stream.socket)?;
        self.state.change(|state| match state {
            State::Leaving { stream, .. } => State::Silent(stream),
            other => other,
        });
        self.from_host = FromHost::default();
        Ok(())
    }
    /// True if the kernel has nothing more to do with the host's connection. It may know before the daemon has been
    /// told: the host's next opening from the same port can be read first.
    pub(crate) fn is_over(&self) -> bool {
        let Some(stream) = self.state.stream() else { return matches!(self.state, State::Gone) };
        let mut look = [PollFd::new(&stream.socket, PollFlags::empty())];
        let over = PollFlags::HUP | PollFlags::ERR;
        // Both have ended it, and only that is still to be told.
        self.from_host.has_ended() && self.to_host.has_ended()
            || (poll(&mut look, Some(&Timespec::default())).is_ok() && look[0].revents().intersects(over))
    }
}

impl Drop for Connection {
    /// Closes the socket as it should be; by itself it would be reset.
    fn drop(&mut self) {
        if let State::Leaving { stream, how: Ending::Clean, .. } = &self.state {
            let _ = stream.socket.set_linger(None);
        }
    }
}
