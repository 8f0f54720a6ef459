//! One connection as the daemon holds it: its socket and the bytes on their way.

use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;

use bytes::BufMut;
use cellway_gateway::{FlowId, Reason, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionread;
use socket2::Socket;

use super::ending::Watch;
use super::ring::Ring;
use super::{raw, silence, socks};
use crate::intercept::Opening;

/// Most bytes that wait for room in the socket of a slow host (bytes).
const PENDING: u64 = 256 * 1024;

/// How a connection came.
#[derive(Debug)]
pub(crate) enum Origin {
    /// Its opening segment waits on the device, or was let go from there.
    Held(Opening),
    /// A forwarded port.
    Forward,
    /// A SOCKS port.
    Socks,
    /// The peer opened it.
    Peer,
}

/// How far a connection has come at this gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The far side has not answered.
    Opening,
    /// Its opening segment was let go; the listener has not got the connection yet.
    Accepting,
    /// The server's name is being looked up.
    LookingUp,
    /// The server has not answered.
    Connecting,
    /// Its socket is connected.
    Open,
    /// It is over but for its host, which is left without an answer.
    Silent,
}

/// How its socket will be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Both directions have ended.
    Clean,
    /// With a reset.
    Reset,
    /// Not at all, as far as the host can tell: the other host has vanished.
    Silence,
}

/// How far the news that a direction has ended has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// It has not.
    #[default]
    Open,
    /// It is known here.
    Known,
    /// It was passed on.
    Told,
}

/// What a host's socket has to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// Bytes that came and the machine has not heard of.
    pub(crate) fresh: u64,
    /// The place of an urgent one among them.
    pub(crate) urgent: Option<u64>,
    /// The host sends no more, and the machine has not heard of it.
    pub(crate) ended: bool,
}

#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) peer: usize,
    pub(crate) id: FlowId,
    pub(crate) request: Arc<Request>,
    pub(crate) origin: Origin,
    pub(crate) stage: Stage,
    pub(crate) socket: Option<Socket>,
    /// When it began (ns).
    pub(crate) since: u64,
    /// Taken from the host, not acknowledged by the peer.
    out: Ring,
    /// Bytes that the machine knows to have come from the host.
    received: u64,
    /// The end of what comes from the host, to be passed on to the machine.
    end_out: End,
    /// From the peer, not in the socket yet.
    inn: Ring,
    /// Up to where the machine let it be written.
    allowed: u64,
    /// The place of an urgent one among them.
    urgent: Option<u64>,
    /// The end of what the peer has for the host, to be passed on to that.
    end_inn: End,
    pub(crate) ending: Option<Ending>,
    /// The machine has forgotten it.
    pub(crate) forgotten: bool,
    /// The memory (bytes) counted for it in `Link::leftover` since then.
    pub(crate) leftover: u64,
    /// It waits in the daemon's list of those with something to write.
    pub(crate) listed: bool,
    writable: bool,
    /// Whether its host takes its last bytes is looked at.
    pub(crate) watch: Option<Watch>,
    /// The client's address, if it is counted for it.
    pub(crate) source: Option<IpAddr>,
    /// It is among the openings that are counted.
    pub(crate) counted: bool,
    /// The client's next opening from the same port, which came before this one was over.
    pub(crate) again: Option<Opening>,
    /// The answer has been counted.
    pub(crate) answered: bool,
    /// Its SYN was passed on to the server, bypassing the gateways.
    pub(crate) passed: bool,
}

impl Flow {
    pub(crate) fn new(peer: usize, id: FlowId, request: Arc<Request>, origin: Origin, since: u64) -> Flow {
        let stage = Stage::Opening;
        Flow {
            peer,
            id,
            request,
            origin,
            stage,
            socket: None,
            since,
            out: Ring::default(),
            received: 0,
            end_out: End::Open,
            inn: Ring::default(),
            allowed: 0,
            urgent: None,
            end_inn: End::Open,
            ending: None,
            forgotten: false,
            leftover: 0,
            listed: false,
            writable: true,
            watch: None,
            source: None,
            counted: false,
            again: None,
            answered: false,
            passed: false,
        }
    }

    /// Bytes held in both directions.
    pub(crate) fn held(&self) -> usize {
        self.out.len() + self.inn.len()
    }
    /// Bytes taken from the host, and bytes given to it.
    pub(crate) fn carried(&self) -> (u64, u64) {
        (self.out.end(), self.inn.base())
    }
    /// `opening`, `open`, `half-closed` or `ending`.
    pub(crate) fn state(&self) -> &'static str {
        match (self.stage, self.ending, self.end_out == End::Told || self.end_inn != End::Open) {
            (Stage::Open, None, false) => "open",
            (Stage::Open, None, true) => "half-closed",
            (_, Some(_), _) => "ending",
            (_, None, _) => "opening",
        }
    }

    /// What the socket has that the machine has not heard of.
    pub(crate) fn news(&mut self, ended: bool) -> News {
        let Some(socket) = &self.socket else { return News::default() };
        if ended && self.end_out == End::Open {
            self.end_out = End::Known;
        }
        // What the machine knows of and has not asked for is still in the socket.
        let waiting = ioctl_fionread(socket).unwrap_or(0);
        let fresh = (self.out.end() + waiting).saturating_sub(self.received);
        // Looked for after the bytes were counted: none of them can be urgent without its mark.
        let urgent = if fresh > 0 { raw::urgent(socket, waiting) } else { None };
        let urgent = urgent.map(|before| self.out.end() + before).filter(|&at| at >= self.received);
        self.received += fresh;
        let ended = self.end_out == End::Known;
        if ended {
            self.end_out = End::Told;
        }
        News { fresh, urgent, ended }
    }
    /// The host's connection is gone: what is for it is nobody's. What came from it is still the peer's.
    pub(crate) fn lose_host(&mut self) {
        self.close(Ending::Reset);
        self.inn = Ring::default();
        self.allowed = 0;
        if self.end_inn == End::Known {
            self.end_inn = End::Open;
        }
    }
    /// Marks it as closed by the state machine. Drops the bytes from the host, and those for the host that the state
    /// machine has not asked to write.
    pub(crate) fn forget(&mut self) {
        self.forgotten = true;
        self.out.release(u64::MAX);
        self.inn.truncate(self.allowed);
    }
    /// Returns the memory of its buffers (bytes).
    pub(crate) fn memory(&self) -> u64 {
        self.out.memory() + self.inn.memory()
    }
    /// The host has all its bytes and hears nothing more.
    pub(crate) fn fall_silent(&mut self) -> io::Result<()> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        silence::silence(socket)?;
        self.stage = Stage::Silent;
        self.out = Ring::default();
        Ok(())
    }
    /// Whether the host has nothing more to do with it, and only that is still to be told: both have ended it, or its
    /// connection is gone.
    pub(crate) fn is_ended(&self) -> bool {
        let told = self.end_out == End::Told && self.end_inn == End::Told;
        told || self.stage == Stage::Open && self.socket.is_none()
    }
    /// Whether the kernel has nothing more to do with the host's connection. It may know before the daemon has been
    /// told: the host's next opening from the same port can be read first.
    pub(crate) fn is_over(&self) -> bool {
        let Some(socket) = &self.socket else { return self.stage == Stage::Open };
        let mut look = [PollFd::new(socket, PollFlags::empty())];
        let over = PollFlags::HUP | PollFlags::ERR;
        self.is_ended() || (poll(&mut look, Some(&Timespec::default())).is_ok() && look[0].revents().intersects(over))
    }
    /// Whether the host has bytes that the machine does not take yet.
    pub(crate) fn waits(&self) -> bool {
        self.received > self.out.end()
    }
    /// The machine asks for `bytes`: takes them out of the socket; whether all were there.
    pub(crate) fn consume(&mut self, bytes: u64) -> bool {
        let Some(socket) = &self.socket else { return false };
        let end = self.out.end() + bytes;
        while self.out.end() < end {
            let most = (end - self.out.end()) as usize;
            match self.out.fill(most, |parts| rustix::io::readv(socket, parts).map_err(io::Error::from)) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }
    /// Appends bytes taken from the host to `out`; whether all of them are held.
    pub(crate) fn copy_out(&self, offset: u64, len: usize, out: &mut impl BufMut) -> bool {
        self.out.copy(offset, len, out)
    }
    /// The peer has so many more of them.
    pub(crate) fn released(&mut self, bytes: u64) {
        self.out.release(bytes);
    }

    /// Bytes of the peer for the host.
    pub(crate) fn place(&mut self, offset: u64, bytes: &[u8]) {
        self.inn.place(offset, bytes);
    }
    /// What came before the flow was known here.
    pub(crate) fn adopt(&mut self, early: Ring) {
        self.inn = early;
    }
    /// The machine lets `bytes` more be written.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.allowed += bytes;
    }
    /// The byte at `at` of what may be written is urgent.
    pub(crate) fn mark(&mut self, at: u64) {
        self.urgent = Some(at);
    }
    /// The machine wants the host told of the end, after all bytes.
    pub(crate) fn shutdown(&mut self) {
        self.end_inn = End::Known;
    }
    /// How much more the machine may let be written.
    pub(crate) fn room(&self) -> u64 {
        PENDING.saturating_sub(self.allowed - self.inn.base())
    }
    /// The socket can take more.
    pub(crate) fn can_write(&mut self) {
        self.writable = true;
    }
    /// Whether all that may be written is in the socket, and the end is told if it is to be.
    pub(crate) fn is_flushed(&self) -> bool {
        self.inn.base() == self.allowed && self.end_inn != End::Known
    }
    /// Writes what may be written and the socket takes; how many bytes that was.
    pub(crate) fn flush(&mut self) -> io::Result<u64> {
        let Some(socket) = &self.socket else { return Ok(0) };
        let before = self.inn.base();
        while self.writable && self.inn.base() < self.allowed {
            let base = self.inn.base();
            let mark = self.urgent.filter(|at| (base..self.allowed).contains(at));
            let wrote = if mark == Some(base) {
                // The mark stands behind the last byte of the call (tcp(7)).
                socket.send_out_of_band(&self.inn.front(1).0[0])
            } else {
                let (parts, used) = self.inn.front((mark.unwrap_or(self.allowed) - base) as usize);
                (&*socket).write_vectored(&parts[..used])
            };
            match wrote {
                Ok(written) => self.inn.release(written as u64),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if self.end_inn == End::Known && self.inn.base() == self.allowed {
            self.end_inn = End::Told;
            socket.shutdown(std::net::Shutdown::Write)?;
        }
        Ok(self.inn.base() - before)
    }
    /// Whether that is so, and the host has acknowledged it all.
    pub(crate) fn is_delivered(&self) -> bool {
        self.is_flushed() && self.socket.as_ref().is_none_or(|socket| raw::unsent(socket) == 0)
    }
    /// How many bytes the host has acknowledged.
    pub(crate) fn taken(&self) -> u64 {
        self.inn.base().saturating_sub(self.socket.as_ref().map_or(0, raw::unsent))
    }

    /// Closes the socket: with a reset, which is how it was set up, or as it should be after both have ended it.
    pub(crate) fn close(&mut self, how: Ending) {
        if let Some(socket) = self.socket.take()
            && how == Ending::Clean
        {
            let _ = socket.set_linger(None);
        }
    }
    /// Answers a SOCKS client for good or bad.
    pub(crate) fn answer_socks(&mut self, refused: Option<Reason>) {
        if let (Origin::Socks, Some(socket)) = (&self.origin, &self.socket) {
            let answer = refused.map_or_else(socks::connected, socks::refused);
            // Ten octets into an empty send buffer.
            let _ = (&*socket).write_all(&answer);
        }
    }
}
