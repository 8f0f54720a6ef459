//! The two directions of a connection of a host here: bytes on their way, and how far the end of each has come.

use std::io::{self, Write};

use bytes::BufMut;
use cellway_sys::tcp;
use rustix::io::ioctl_fionread;
use socket2::Socket;

use super::ring::Ring;

/// Most bytes that wait for room in the socket of a slow host (bytes).
const PENDING: u64 = 256 * 1024;

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

/// A host's socket.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) socket: Socket,
    /// It takes more, as far as is known.
    writable: bool,
}

impl Stream {
    pub(crate) fn new(socket: Socket) -> Stream {
        Stream { socket, writable: true }
    }
    /// The socket can take more.
    pub(crate) fn can_write(&mut self) {
        self.writable = true;
    }
}

/// Bytes from the host: taken from its socket, and not acknowledged by the peer.
#[derive(Debug, Default)]
pub(crate) struct FromHost {
    ring: Ring,
    /// Bytes that the machine knows to have come.
    received: u64,
    /// The end, to be passed on to the machine.
    end: End,
}

impl FromHost {
    /// What `socket` has that the machine has not heard of.
    pub(crate) fn news(&mut self, socket: &Socket, ended: bool) -> News {
        if ended && self.end == End::Open {
            self.end = End::Known;
        }
        // What the machine knows of and has not asked for is still in the socket.
        let waiting = ioctl_fionread(socket).unwrap_or(0);
        let fresh = (self.ring.end() + waiting).saturating_sub(self.received);
        // Looked for after the bytes were counted: none of them can be urgent without its mark.
        let urgent = if fresh > 0 { tcp::urgent(socket, waiting).unwrap_or(None) } else { None };
        let urgent = urgent.map(|before| self.ring.end() + before).filter(|&at| at >= self.received);
        self.received += fresh;
        let ended = self.end == End::Known;
        if ended {
            self.end = End::Told;
        }
        News { fresh, urgent, ended }
    }
    /// True if the host has bytes that the machine does not take yet.
    pub(crate) fn waits(&self) -> bool {
        self.received > self.ring.end()
    }
    /// True if the machine knows of the end.
    pub(crate) fn has_ended(&self) -> bool {
        self.end == End::Told
    }
    /// The machine asks for `bytes`: takes them out of the socket; returns true if all were there.
    pub(crate) fn consume(&mut self, socket: &Socket, bytes: u64) -> bool {
        let end = self.ring.end() + bytes;
        while self.ring.end() < end {
            let most = (end - self.ring.end()) as usize;
            match self.ring.fill(most, |parts| rustix::io::readv(socket, parts).map_err(io::Error::from)) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }
    /// Appends bytes taken from the host to `out`; returns true if all of them are held.
    pub(crate) fn copy(&self, offset: u64, len: usize, out: &mut impl BufMut) -> bool {
        self.ring.copy(offset, len, out)
    }
    /// The peer has so many more of them.
    pub(crate) fn released(&mut self, bytes: u64) {
        self.ring.release(bytes);
    }
    /// Nobody needs them any more.
    pub(crate) fn discard(&mut self) {
        self.ring.release(u64::MAX);
    }
    /// Returns how many bytes were taken from the host in all.
    pub(crate) fn carried(&self) -> u64 {
        self.ring.end()
    }
    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }
    /// Returns the memory of its buffer (bytes).
    pub(crate) fn memory(&self) -> u64 {
        self.ring.memory()
    }
}

/// Bytes from the peer that are not in the host's socket yet.
#[derive(Debug, Default)]
pub(crate) struct ToHost {
    ring: Ring,
    /// Up to where the machine let it be written.
    allowed: u64,
    /// The place of an urgent one among them.
    urgent: Option<u64>,
    /// The end, to be passed on to the host.
    end: End,
}

impl ToHost {
    /// With what came before the flow was known here.
    pub(crate) fn with(early: Ring) -> ToHost {
        ToHost { ring: early, ..ToHost::default() }
    }
    /// Bytes of the peer.
    pub(crate) fn place(&mut self, offset: u64, bytes: &[u8]) {
        self.ring.place(offset, bytes);
    }
    /// The machine lets `bytes` more be written.
    pub(crate) fn allow(&mut self, bytes: u64) {
        self.allowed += bytes;
    }
    /// The byte at `at` of what may be written is urgent.
    pub(crate) fn mark(&mut self, at: u64) {
        self.urgent = Some(at);
    }
    /// The machine wants the host told of the end, after all bytes.
    pub(crate) fn shutdown(&mut self) {
        self.end = End::Known;
    }
    /// True if the end has come here, or was told already.
    pub(crate) fn ends(&self) -> bool {
        self.end != End::Open
    }
    /// True if the host has been told of the end.
    pub(crate) fn has_ended(&self) -> bool {
        self.end == End::Told
    }
    /// Returns how much more the machine may let be written.
    pub(crate) fn room(&self) -> u64 {
        PENDING.saturating_sub(self.allowed - self.ring.base())
    }
    /// True if all that may be written is in the socket, and the end is told if it is to be.
    pub(crate) fn is_flushed(&self) -> bool {
        self.ring.base() == self.allowed && self.end != End::Known
    }
    /// True if that is so, and the host has acknowledged it all.
    pub(crate) fn is_delivered(&self, socket: &Socket) -> bool {
        self.is_flushed() && unsent(socket) == 0
    }
    /// Returns how many bytes the host has acknowledged.
    pub(crate) fn taken(&self, socket: &Socket) -> u64 {
        self.ring.base().saturating_sub(unsent(socket))
    }
    /// Writes what may be written and the socket takes; returns how many bytes that was.
    pub(crate) fn flush(&mut self, stream: &mut Stream) -> io::Result<u64> {
        let Stream { socket, writable } = stream;
        let before = self.ring.base();
        while *writable && self.ring.base() < self.allowed {
            let base = self.ring.base();
            let mark = self.urgent.filter(|at| (base..self.allowed).contains(at));
            let wrote = if mark == Some(base) {
                // The mark stands behind the last byte of the call (tcp(7)).
                socket.send_out_of_band(&self.ring.front(1).0[0])
            } else {
                let (parts, used) = self.ring.front((mark.unwrap_or(self.allowed) - base) as usize);
                (&*socket).write_vectored(&parts[..used])
            };
            match wrote {
                Ok(written) => self.ring.release(written as u64),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => *writable = false,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if self.end == End::Known && self.ring.base() == self.allowed {
            self.end = End::Told;
            socket.shutdown(std::net::Shutdown::Write)?;
        }
        Ok(self.ring.base() - before)
    }
    /// The host's connection is gone: what is for it is nobody's.
    pub(crate) fn lose(&mut self) {
        self.ring = Ring::default();
        self.allowed = 0;
        if self.end == End::Known {
            self.end = End::Open;
        }
    }
    /// Drops the bytes that the machine has not asked to write.
    pub(crate) fn truncate(&mut self) {
        self.ring.truncate(self.allowed);
    }
    /// Returns how many bytes were given to the host in all.
    pub(crate) fn carried(&self) -> u64 {
        self.ring.base()
    }
    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }
    /// Returns the memory of its buffer (bytes).
    pub(crate) fn memory(&self) -> u64 {
        self.ring.memory()
    }
}

/// Bytes in the send buffer that the host has not acknowledged; 0 if there is no telling.
fn unsent(socket: &Socket) -> u64 {
    tcp::unacknowledged(socket).unwrap_or(0)
}
