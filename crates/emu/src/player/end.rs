//! One end of a TCP connection: its socket, and what waits to be written to it.

use std::io;
use std::net::Shutdown;

use cellway_measure::tcp::TcpInfo;
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::options::Settings;
use super::pattern::{CHUNK, Pattern};
use crate::sys::tcp::unacknowledged;

/// What an end has to tell.
#[derive(Debug)]
pub(super) enum Event {
    /// The connection stands.
    Connected,
    /// So many bytes more have arrived in order.
    Readable { bytes: u64 },
    /// So many bytes more are acknowledged.
    Acked { bytes: u64 },
    /// The kernel has taken all that was written.
    Written,
    /// The peer's FIN arrived: nothing more will be readable.
    PeerClosed,
    /// Both FINs are acknowledged, as far as this end can know.
    Closed,
    /// Refused, reset or timed out.
    Failed { reason: String },
    /// An octet is not what was written.
    Corrupted { offset: u64 },
}

/// What all ends share: one buffer to read into, one pattern to write from.
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

/// Where an end is with its socket.
#[derive(Debug)]
pub(super) enum Link {
    /// Nothing was accepted yet.
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
    /// Whether the application is told of acknowledgements.
    asks_acks: bool,
    /// The player asks for acknowledgements of this end.
    pub(super) watched: bool,
    /// Bytes written by the application and not yet taken.
    pending: u64,
    /// Bytes have been written since the application was last told that all were taken.
    unsaid: bool,
    /// The application wants to close once all is taken.
    closing: bool,
    /// It has closed.
    shut: bool,
    /// The peer has closed.
    ended: bool,
    /// `Closed` or `Failed` has been told.
    over: bool,
    /// Bytes taken by the kernel, and how many of them the application knows to be acknowledged.
    sent: u64,
    acked: u64,
    /// Bytes read, and how many the application was told of.
    read: u64,
    told: u64,
    retransmissions: u64,
}

impl End {
    /// `streams`: the one that it writes and the one that it reads.
    pub(super) fn new(settings: Settings, streams: [u64; 2], asks_acks: bool) -> End {
        End {
            link: Link::Waiting,
            settings,
            streams,
            asks_acks,
            watched: false,
            pending: 0,
            unsaid: false,
            closing: false,
            shut: false,
            ended: false,
            over: false,
            sent: 0,
            acked: 0,
            read: 0,
            told: 0,
            retransmissions: 0,
        }
    }

    /// The application writes, and perhaps closes behind it.
    pub(super) fn write(&mut self, bytes: u64, close: bool, payload: &Payload, out: &mut Vec<Event>) {
        self.pending += bytes;
        self.unsaid |= bytes > 0;
        self.closing |= close;
        self.act(out, |end, out| {
            end.flush(payload, out)?;
            end.look_for_the_end(out)
        });
    }

    /// The application takes `bytes` out of the receive buffer.
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

    /// Something happened at the socket; `ended`: the peer has closed.
    pub(super) fn service(&mut self, ended: bool, payload: &mut Payload, out: &mut Vec<Event>) {
        self.act(out, |end, out| {
            if !end.finish_connecting(out)? {
                return Ok(());
            }
            end.flush(payload, out)?;
            end.look_for_bytes(ended, payload, out)?;
            end.look_for_acks(out)?;
            end.look_for_the_end(out)
        });
    }

    /// Asks the kernel what is acknowledged.
    pub(super) fn poll_acks(&mut self, out: &mut Vec<Event>) {
        self.act(out, End::look_for_acks);
    }

    /// Whether acknowledgements are to be asked for, as no event of the socket will tell of them.
    pub(super) fn awaits_acks(&self) -> bool {
        self.asks_acks && !self.over && self.pending == 0 && self.acked < self.sent
    }

    /// What the kernel says of this end, and the segments sent again since the last call.
    pub(super) fn report(&mut self) -> Option<(TcpInfo, u64)> {
        let (Link::Open(socket) | Link::Connecting(socket)) = &self.link else { return None };
        let info = TcpInfo::of(socket).ok()?;
        let news = info.retransmissions.saturating_sub(self.retransmissions);
        self.retransmissions = info.retransmissions;
        Some((info, news))
    }

    /// Drops the socket, with a reset unless it has been closed in order: nothing of it is left in the network.
    pub(super) fn drop_socket(&mut self) {
        if let Link::Open(socket) | Link::Connecting(socket) = std::mem::replace(&mut self.link, Link::Gone)
            && !(self.shut && self.over)
        {
            // Should the system refuse, it closes in order and takes its time.
            let _ = socket.set_linger(Some(std::time::Duration::ZERO));
        }
    }

    /// Lets this end act, and tells if that fails.
    fn act(&mut self, out: &mut Vec<Event>, act: impl FnOnce(&mut End, &mut Vec<Event>) -> io::Result<()>) {
        if self.over {
            return;
        }
        if let Err(e) = act(self, out) {
            self.over = true;
            out.push(Event::Failed { reason: e.to_string() });
        }
    }

    /// Whether the connection stands.
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
            self.stand(socket, out);
        }
        Ok(matches!(self.link, Link::Open(_)))
    }

    /// The connection of `socket` stands.
    pub(super) fn stand(&mut self, socket: Socket, out: &mut Vec<Event>) {
        self.link = Link::Open(socket);
        self.refresh();
        out.push(Event::Connected);
    }

    fn refresh(&self) {
        if let Link::Open(socket) = &self.link {
            self.settings.refresh(socket);
        }
    }

    /// Hands over what the kernel takes now.
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
        if self.pending == 0 && std::mem::take(&mut self.unsaid) {
            out.push(Event::Written);
        }
        Ok(())
    }

    fn look_for_bytes(&mut self, ended: bool, payload: &mut Payload, out: &mut Vec<Event>) -> io::Result<()> {
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
            self.tell_of(self.read + ioctl_fionread(socket)?, out);
        } else {
            over = loop {
                match self.read_some(CHUNK, payload, out) {
                    Ok(0) => break true,
                    Ok(_) => {}
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break false,
                    Err(e) => {
                        self.tell_of(self.read, out);
                        return Err(e);
                    }
                }
            };
            self.tell_of(self.read, out);
            self.refresh();
        }
        if over {
            self.ended = true;
            out.push(Event::PeerClosed);
        }
        Ok(())
    }

    /// In all `arrived` bytes have arrived.
    fn tell_of(&mut self, arrived: u64, out: &mut Vec<Event>) {
        let bytes = arrived.saturating_sub(self.told);
        if bytes > 0 {
            self.told = arrived;
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

    fn look_for_acks(&mut self, out: &mut Vec<Event>) -> io::Result<()> {
        if self.asks_acks
            && self.acked < self.sent
            && let Link::Open(socket) = &self.link
        {
            // The FIN comes last, so it is among them if any is.
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

    /// Whether both FINs are there and this side's is acknowledged.
    fn look_for_the_end(&mut self, out: &mut Vec<Event>) -> io::Result<()> {
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
