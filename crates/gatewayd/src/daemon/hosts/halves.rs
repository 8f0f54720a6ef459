//! The two directions of a connection of a host: buffered bytes, and the progress of the end of each stream.

use std::io::{self, Write};

use bytes::BufMut;
use cellway_sys::tcp;
use rustix::io::ioctl_fionread;
use serde::{Deserialize, Serialize};
use socket2::Socket;

use super::ring::Ring;

/// Most bytes that wait for room in the socket of a slow host (bytes).
const PENDING: u64 = 256 * 1024;

/// The progress of the end of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum End {
    /// It has not ended.
    #[default]
    Open,
    /// It has ended, and the other side is not notified.
    Ended,
    /// The other side was notified of the end.
    PassedOn,
}

/// Data and end of a host's stream that the state machine does not count yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Input {
    /// The number of bytes.
    pub(crate) bytes: u64,
    /// The offset in the stream of an urgent byte among them.
    pub(crate) urgent: Option<u64>,
    /// True if the host has ended the stream.
    pub(crate) ended: bool,
}

/// A host's socket.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) socket: Socket,
    /// False from a write that would block to the next readiness.
    writable: bool,
}

impl Stream {
    pub(crate) fn new(socket: Socket) -> Stream {
        Stream { socket, writable: true }
    }
    /// Records that the socket accepts more bytes.
    pub(crate) fn can_write(&mut self) {
        self.writable = true;
    }
}

/// Bytes from the host: taken from its socket, and not acknowledged by the peer.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct FromHost {
    ring: Ring,
    /// Bytes that the state machine counts as received.
    received: u64,
    /// The end that the state machine has received.
    end: End,
}

impl FromHost {
    /// Returns and counts the bytes that `socket` has received and the state machine does not count yet. `ended` is
    /// true if the socket has reported the end of the stream.
    pub(crate) fn poll(&mut self, socket: &Socket, ended: bool) -> Input {
        if ended && self.end == End::Open {
            self.end = End::Ended;
        }
        // Bytes that the state machine counts and has not requested are still in the socket.
        let waiting = ioctl_fionread(socket).unwrap_or(0);
        let bytes = (self.ring.end() + waiting).saturating_sub(self.received);
        // Read after the bytes were counted: none of them can be urgent without its mark.
        let urgent = if bytes > 0 { tcp::urgent(socket, waiting).unwrap_or(None) } else { None };
        let urgent = urgent.map(|before| self.ring.end() + before).filter(|&at| at >= self.received);
        self.received += bytes;
        let ended = self.end == End::Ended;
        if ended {
            self.end = End::PassedOn;
        }
        Input { bytes, urgent, ended }
    }
    /// Returns true if the socket has bytes that the state machine has not requested.
    pub(crate) fn waits(&self) -> bool {
        self.received > self.ring.end()
    }
    /// Returns true if the state machine has received the end.
    pub(crate) fn has_ended(&self) -> bool {
        self.end == End::PassedOn
    }
    /// Reads `bytes` from the socket; returns true if all of them were there.
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
    /// Drops `bytes` more that the peer has acknowledged.
    pub(crate) fn released(&mut self, bytes: u64) {
        self.ring.release(bytes);
    }
    /// Drops all bytes.
    pub(crate) fn discard(&mut self) {
        self.ring.release(u64::MAX);
    }
    /// Returns the number of bytes read from the host.
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
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ToHost {
    ring: Ring,
    /// The end of the bytes that the state machine has requested to write.
    allowed: u64,
    /// The offset of an urgent byte among them.
    urgent: Option<u64>,
    /// The end that the host has received.
    end: End,
}

impl ToHost {
    /// Creates it with the bytes that arrived before the connection began.
    pub(crate) fn with(early: Ring) -> ToHost {
        ToHost { ring: early, ..ToHost::default() }
    }
    /// Holds bytes from the peer.
    pub(crate) fn place(&mut self, offset: u64, bytes: &[u8]) {
        self.ring.place(offset, bytes);
    }
    /// Raises the number of requested bytes by `bytes`.
    pub(crate) fn allow(&mut self, bytes: u64) {
        self.allowed += bytes;
    }
    /// Marks the byte at the offset `at` as urgent.
    pub(crate) fn mark(&mut self, at: u64) {
        self.urgent = Some(at);
    }
    /// Requests the end of the stream, after all bytes.
    pub(crate) fn shutdown(&mut self) {
        self.end = End::Ended;
    }
    /// Returns true if the end of the stream was requested.
    pub(crate) fn ends(&self) -> bool {
        self.end != End::Open
    }
    /// Returns true if the end was sent to the host.
    pub(crate) fn has_ended(&self) -> bool {
        self.end == End::PassedOn
    }
    /// Returns the number of bytes that the state machine may still request to write.
    pub(crate) fn room(&self) -> u64 {
        PENDING.saturating_sub(self.allowed - self.ring.base())
    }
    /// Returns true if the socket has all requested bytes, and the end if that was requested.
    pub(crate) fn is_flushed(&self) -> bool {
        self.ring.base() == self.allowed && self.end != End::Ended
    }
    /// Returns true if the host has acknowledged all of these.
    pub(crate) fn is_delivered(&self, socket: &Socket) -> bool {
        self.is_flushed() && unsent(socket) == 0
    }
    /// Returns the number of bytes that the host has acknowledged.
    pub(crate) fn acknowledged(&self, socket: &Socket) -> u64 {
        self.ring.base().saturating_sub(unsent(socket))
    }
    /// Writes the requested bytes that the socket accepts; returns their number.
    pub(crate) fn flush(&mut self, stream: &mut Stream) -> io::Result<u64> {
        let Stream { socket, writable } = stream;
        let before = self.ring.base();
        while *writable && self.ring.base() < self.allowed {
            let base = self.ring.base();
            let mark = self.urgent.filter(|at| (base..self.allowed).contains(at));
            let wrote = if mark == Some(base) {
                // The last byte of the call is the urgent one (tcp(7)).
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
        if self.end == End::Ended && self.ring.base() == self.allowed {
            self.end = End::PassedOn;
            socket.shutdown(std::net::Shutdown::Write)?;
        }
        Ok(self.ring.base() - before)
    }
    /// Drops the bytes, as the host's connection has ended.
    pub(crate) fn lose(&mut self) {
        self.ring = Ring::default();
        self.allowed = 0;
        if self.end == End::Ended {
            self.end = End::Open;
        }
    }
    /// Drops the bytes that the state machine has not requested to write.
    pub(crate) fn truncate(&mut self) {
        self.ring.truncate(self.allowed);
    }
    /// Returns the number of bytes written to the host.
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

/// Returns the bytes in the send buffer that the host has not acknowledged; 0 if the kernel does not report them.
fn unsent(socket: &Socket) -> u64 {
    tcp::unacknowledged(socket).unwrap_or(0)
}
