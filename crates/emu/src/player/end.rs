//! One end of a TCP connection: its socket, and the data that wait to be written to it.

use std::io;
use std::net::Shutdown;

use cellway_measure::tcp::TcpInfo;
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::options::Settings;
use super::pattern::{CHUNK, Pattern};
use crate::sys::tcp::unacknowledged;

/// An event of an end.
#[derive(Debug)]
pub(super) enum Event {
    /// The connection is established.
    Connected,
    /// This many more bytes have arrived in order.
    Readable { bytes: u64 },
    /// This many more bytes are acknowledged.
    Acked { bytes: u64 },
    /// The kernel has accepted all written bytes.
    Written,
    /// The peer's FIN has arrived: no more bytes will be readable.
    PeerClosed,
    /// Both FINs are acknowledged, as far as this end can detect.
    Closed,
    /// Refused, reset or timed out.
    Failed { reason: String },
    /// An octet differs from the written one.
    Corrupted { offset: u64 },
}

/// The data that all ends share: one buffer to read into, one pattern to write from.
#[derive(Debug)]
pub(super) struct Payload {
    buffer: Box<[u8]>,
    pattern: Pattern,
    verify: bool,
}

impl Payload {
    pub(super) fn new(verify: bool) -> Payload {
        Payload { buffer: vec![0; CHUNK].into(), pattern: Pattern::new(), verify }
    }
}

/// The state of the socket of an end.
#[derive(Debug)]
pub(super) enum Link {
    /// No connection is accepted yet.
    Waiting,
    Connecting(Socket),
    Open(Socket),
    /// Closed in order.
    Gone,
}

/// One end of a connection, with the writes that the kernel has not taken yet.
#[derive(Debug)]
pub(super) struct End {
    pub(super) link: Link,
    pub(super) settings: Settings,
    /// The streams that this end writes and reads.
    streams: [u64; 2],
    /// Set if acknowledgements are reported to the application.
    reports_acks: bool,
    /// Set while the player polls the acknowledgements of this end.
    pub(super) watched: bool,
    /// Bytes written by the application that the kernel has not accepted yet.
    pending: u64,
    /// Set if bytes have been written since the last [`Event::Written`].
    written_unreported: bool,
    /// Set if the application closes after the kernel has accepted all bytes.
    closing: bool,
    /// Set after it has closed.
    shut: bool,
    /// Set after the peer has closed.
    ended: bool,
    /// Set after `Closed` or `Failed` was reported.
    over: bool,
    /// Bytes accepted by the kernel, and the acknowledged ones that were reported to the application.
    sent: u64,
    acked: u64,
    /// Bytes read, and the received ones that were reported to the application.
    read: u64,
    reported: u64,
    retransmissions: u64,
}

impl End {
    /// Creates an end; `streams` are the one that it writes and the one that it reads.
    pub(super) fn new(settings: Settings, streams: [u64; 2], reports_acks: bool) -> End {
        End {
            link: Link::Waiting,
            settings,
            streams,
            reports_acks,
            watched: false,
            pending: 0,
            written_unreported: false,
            closing: false,
            shut: false,
            ended: false,
            over: false,
            sent: 0,
            acked: 0,
            read: 0,
            reported: 0,
            retransmissions: 0,
        }
    }

    /// Writes data of the application, and with `close` closes after them.
    pub(super) fn write(&mut self, bytes: u64, close: bool, payload: &Payload, out: &mut Vec<Event>) {
        self.pending += bytes;
        self.written_unreported |= bytes > 0;
        self.closing |= close;
        self.act(out, |end, out| {
            end.flush(payload, out)?;
            end.poll_closed(out)
        });
    }

    /// Reads `bytes` of the application out of the receive buffer.
    pub(super) fn consume(&mut self, bytes: u64, payload: &mut Payload, out: &mut Vec<Event>) {
        self.act(out, |end, out| {
            let until = end.read + bytes;
            while end.read < until {
                let most = usize::try_from(until - end.read).unwrap_or(CHUNK).min(CHUNK);
                if end.read_some(most, payload, out)? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            end.refresh();
            Ok(())
        });
    }

    /// Processes the readiness of the socket; `ended` is true if the peer has closed.
    pub(super) fn service(&mut self, ended: bool, payload: &mut Payload, out: &mut Vec<Event>) {
        self.act(out, |end, out| {
            if !end.finish_connecting(out)? {
                return Ok(());
            }
            end.flush(payload, out)?;
            end.poll_received(ended, payload, out)?;
            end.poll_acknowledged(out)?;
            end.poll_closed(out)
        });
    }

    /// Polls the kernel for acknowledgements.
    pub(super) fn poll_acks(&mut self, out: &mut Vec<Event>) {
        self.act(out, End::poll_acknowledged);
    }

    /// Returns true if acknowledgements have to be polled, as no event of the socket reports them.
    pub(super) fn awaits_acks(&self) -> bool {
        self.reports_acks && !self.over && self.pending == 0 && self.acked < self.sent
    }

    /// Returns the kernel's figures of this end, and the segments retransmitted since the last call.
    pub(super) fn report(&mut self) -> Option<(TcpInfo, u64)> {
        let (Link::Open(socket) | Link::Connecting(socket)) = &self.link else { return None };
        let info = TcpInfo::of(socket).ok()?;
        let news = info.retransmissions.saturating_sub(self.retransmissions);
        self.retransmissions = info.retransmissions;
        Some((info, news))
    }

    /// Drops the socket, with a reset unless it has been closed in order: no packets of it remain in the network.
    pub(super) fn drop_socket(&mut self) {
        if let Link::Open(socket) | Link::Connecting(socket) = std::mem::replace(&mut self.link, Link::Gone)
            && !(self.shut && self.over)
        {
            // Should the system refuse, it closes in order and takes its time.
            let _ = socket.set_linger(Some(std::time::Duration::ZERO));
        }
    }

    /// Calls `act` with this end, and reports a failure.
    fn act(&mut self, out: &mut Vec<Event>, act: impl FnOnce(&mut End, &mut Vec<Event>) -> io::Result<()>) {
        if self.over {
            return;
        }
        if let Err(e) = act(self, out) {
            self.over = true;
            out.push(Event::Failed { reason: e.to_string() });
        }
    }

    /// Returns true if the connection is established.
    fn finish_connecting(&mut self, out: &mut Vec<Event>) -> io::Result<bool> {
        if let Link::Connecting(socket) = &self.link {
            if let Some(e) = socket.take_error()? {
                return Err(e);
            }
            match socket.peer_addr() {
                Err(e) if e.kind() == io::ErrorKind::NotConnected => return Ok(false),
                found => found?,
            };
            let Link::Connecting(socket) = std::mem::replace(&mut self.link, Link::Waiting) else { return Ok(false) };
            self.connected(socket, out);
        }
        Ok(matches!(self.link, Link::Open(_)))
    }

    /// Sets the socket of an established connection.
    pub(super) fn connected(&mut self, socket: Socket, out: &mut Vec<Event>) {
        self.link = Link::Open(socket);
        self.refresh();
        out.push(Event::Connected);
    }

    fn refresh(&self) {
        if let Link::Open(socket) = &self.link {
            self.settings.refresh(socket);
        }
    }

    /// Writes the data that the kernel accepts now.
    fn flush(&mut self, payload: &Payload, out: &mut Vec<Event>) -> io::Result<()> {
        let Link::Open(socket) = &self.link else { return Ok(()) };
        while self.pending > 0 {
            match send(socket, payload.pattern.piece(self.streams[0], self.sent, self.pending), SendFlags::NOSIGNAL) {
                Ok(taken) => {
                    self.sent += taken as u64;
                    self.pending -= taken as u64;
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        if self.pending == 0 && std::mem::take(&mut self.closing) {
            socket.shutdown(Shutdown::Write)?;
            self.shut = true;
        }
        if self.pending == 0 && std::mem::take(&mut self.written_unreported) {
            out.push(Event::Written);
        }
        Ok(())
    }

    fn poll_received(&mut self, ended: bool, payload: &mut Payload, out: &mut Vec<Event>) -> io::Result<()> {
        if self.ended {
            return Ok(());
        }
        let mut over = ended;
        if self.settings.reads_itself {
            let Link::Open(socket) = &self.link else { return Ok(()) };
            if let Some(e) = socket.take_error()? {
                return Err(e);
            }
            // The FIN was there before this count, so all before it is counted.
            self.report_received(self.read + ioctl_fionread(socket)?, out);
        } else {
            over = loop {
                match self.read_some(CHUNK, payload, out) {
                    Ok(0) => break true,
                    Ok(_) => {}
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break false,
                    Err(e) => {
                        self.report_received(self.read, out);
                        return Err(e);
                    }
                }
            };
            self.report_received(self.read, out);
            self.refresh();
        }
        if over {
            self.ended = true;
            out.push(Event::PeerClosed);
        }
        Ok(())
    }

    /// Reports bytes to the application; `arrived` is the total of those that have arrived.
    fn report_received(&mut self, arrived: u64, out: &mut Vec<Event>) {
        let bytes = arrived.saturating_sub(self.reported);
        if bytes > 0 {
            self.reported = arrived;
            out.push(Event::Readable { bytes });
        }
    }

    fn read_some(&mut self, most: usize, payload: &mut Payload, out: &mut Vec<Event>) -> io::Result<u64> {
        let Link::Open(socket) = &self.link else { return Err(io::ErrorKind::NotConnected.into()) };
        let read = loop {
            match recv(socket, &mut payload.buffer[..most], RecvFlags::empty()) {
                Ok((read, _)) => break read,
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        };
        if payload.verify
            && let Some(offset) = payload.pattern.mismatch(self.streams[1], self.read, &payload.buffer[..read])
        {
            out.push(Event::Corrupted { offset });
        }
        self.read += read as u64;
        Ok(read as u64)
    }

    fn poll_acknowledged(&mut self, out: &mut Vec<Event>) -> io::Result<()> {
        if self.reports_acks
            && self.acked < self.sent
            && let Link::Open(socket) = &self.link
        {
            // The FIN is sent last, so it is among them if any is.
            let left = unacknowledged(socket)?.saturating_sub(u64::from(self.shut));
            let acked = self.sent.saturating_sub(left);
            let bytes = acked.saturating_sub(self.acked);
            if bytes > 0 {
                self.acked = acked;
                out.push(Event::Acked { bytes });
            }
        }
        Ok(())
    }

    /// Checks if both FINs have arrived and this side's is acknowledged.
    fn poll_closed(&mut self, out: &mut Vec<Event>) -> io::Result<()> {
        if self.shut
            && self.ended
            && let Link::Open(socket) = &self.link
        {
            if let Some(e) = socket.take_error()? {
                return Err(e);
            }
            if unacknowledged(socket)? == 0 {
                self.over = true;
                out.push(Event::Closed);
            }
        }
        Ok(())
    }
}
