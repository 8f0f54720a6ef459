//! A connection over TLS and TCP, for paths that do not carry UDP: packets as records.
//!
//! The records are those of [`super::records`].

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cellway_sys::tcp::{Info, set_longest_timeout};
use rustix::net::sockopt;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};
use socket2::{Domain, Protocol, Socket, Type};
use tracing::debug;

use super::identity::{Identity, tls_message};
use super::link::{Ending, LinkEvent, Loss, Share, Watch, cut};
use super::records::{PAYLOAD, Record, Records};
use super::settings::keep_alive;

/// Most octets that TCP may hold unsent: data in the kernel cannot be scheduled any more.
const UNSENT: u32 = 32 << 10;
/// Octets that are read and dropped in one call.
const DROPPED: usize = 64 << 10;

/// The buffer of one connection on a long, fat path: 400 Mbit/s and 300 ms, twice.
const BUFFER: usize = 32 << 20;

/// Sets the options of TCP for a long, fat, lossy path, before the socket connects or listens: buffers, which need
/// CAP_NET_ADMIN above the machine's limit, and a congestion control that a single loss does not slow down. If the
/// kernel has or permits neither, its own are used.
pub(super) fn tune(socket: &Socket) {
    let _ = sockopt::set_socket_recv_buffer_size_force(socket, BUFFER);
    let _ = sockopt::set_socket_send_buffer_size_force(socket, BUFFER);
    let _ = socket.set_tcp_congestion(b"bbr");
}

/// A connection, its incomplete record, and its octets that wait to be written.
pub(super) struct TlsLink {
    socket: Socket,
    tls: Connection,
    remote: SocketAddr,
    connecting: bool,
    /// Set when the handshake of TLS has begun: the peer has sent a complete ClientHello.
    spoken: bool,
    ready: bool,
    lost: bool,
    /// A packet that cannot be sent, which ends the connection with the next turn.
    unsendable: Option<Loss>,
    records: Records,
    packets: VecDeque<Bytes>,
    waiting: VecDeque<Bytes>,
    queued: usize,
    sent: Sent,
    outage: Duration,
    heard: Instant,
    spoke: Instant,
    /// The interest that is registered with the kernel.
    pub(super) watch: Watch,
}

impl AsFd for TlsLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl TlsLink {
    /// Most octets of a packet.
    pub(super) const PAYLOAD: usize = PAYLOAD;

    /// Begins to dial the peer `name`, from the address `from` of this machine if it is given.
    pub(super) fn dial(
        identity: &Identity,
        name: &str,
        remote: SocketAddr,
        from: Option<IpAddr>,
        outage: Duration,
        now: Instant,
    ) -> io::Result<TlsLink> {
        let server = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
        let tls = ClientConnection::new(Arc::clone(&identity.client), server).map_err(io::Error::other)?;
        let socket = Socket::new(Domain::for_address(remote), Type::STREAM.cloexec(), Some(Protocol::TCP))?;
        tune(&socket);
        if let Some(from) = from.filter(|from| from.is_ipv4() == remote.is_ipv4() && !from.is_unspecified()) {
            socket.bind(&SocketAddr::new(from, 0).into())?;
        }
        socket.set_nonblocking(true)?;
        match socket.connect(&remote.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        TlsLink::new(socket, tls.into(), remote, true, outage, now)
    }

    /// Creates the connection of a peer that has dialled.
    pub(super) fn accepted(
        identity: &Identity,
        socket: Socket,
        remote: SocketAddr,
        outage: Duration,
        now: Instant,
    ) -> io::Result<TlsLink> {
        let tls = ServerConnection::new(Arc::clone(&identity.server)).map_err(io::Error::other)?;
        socket.set_nonblocking(true)?;
        TlsLink::new(socket, tls.into(), remote, false, outage, now)
    }

    fn new(
        socket: Socket,
        mut tls: Connection,
        remote: SocketAddr,
        connecting: bool,
        outage: Duration,
        now: Instant,
    ) -> io::Result<TlsLink> {
        socket.set_tcp_nodelay(true)?;
        socket.set_tcp_notsent_lowat(UNSENT)?;
        // Each packet is passed to TLS only when the one before has left.
        tls.set_buffer_limit(None);
        Ok(TlsLink {
            socket,
            tls,
            remote: SocketAddr::new(remote.ip().to_canonical(), remote.port()),
            connecting,
            spoken: false,
            ready: false,
            lost: false,
            unsendable: None,
            records: Records::default(),
            packets: VecDeque::new(),
            waiting: VecDeque::new(),
            queued: 0,
            sent: Sent::default(),
            outage,
            heard: now,
            spoke: now,
            watch: Watch::default(),
        })
    }

    /// Sets the peer's `outage`, once the peer is identified.
    pub(super) fn set_outage(&mut self, outage: Duration) {
        self.outage = outage;
        // Older kernels lack the option: with them an outage of more than half of `outage` may be too long.
        if let Err(error) = set_longest_timeout(&self.socket, keep_alive(outage)) {
            debug!("TCP may be slow to detect the end of an outage: {error}");
        }
    }

    pub(super) fn last_received(&self) -> Instant {
        self.heard
    }
    pub(super) fn has_spoken(&self) -> bool {
        self.spoken
    }

    /// Returns true if it waits for room in the kernel.
    pub(super) fn wants_write(&self) -> bool {
        self.connecting || self.tls.wants_write() || !self.waiting.is_empty()
    }

    pub(super) fn turn(&mut self, authority: &Path, share: Share, now: Instant, out: &mut VecDeque<LinkEvent>) {
        if self.lost {
            return;
        }
        let unsendable = self.unsendable.take().map_or(Ok(()), Err);
        if let Err(loss) = unsendable.and_then(|()| self.read(authority, share, now, out)) {
            // Sends the alert for the peer, if there is one.
            self.flush(now);
            self.lost = true;
            out.push_back(LinkEvent::Lost(loss));
        } else if now >= self.heard + self.outage {
            self.lost = true;
            out.push_back(LinkEvent::Lost(Loss::no_answer()));
        }
    }

    fn read(
        &mut self,
        authority: &Path,
        share: Share,
        now: Instant,
        out: &mut VecDeque<LinkEvent>,
    ) -> Result<(), Loss> {
        // A peer that is upgraded may have had no room for its reason.
        let broken = |error: &io::Error| Loss::cut(&format!("TCP: {error}"));
        if self.connecting {
            if let Some(error) = self.socket.take_error().unwrap_or_else(Some) {
                return Err(broken(&error));
            }
            if self.socket.peer_addr().is_err() {
                return Ok(());
            }
            self.connecting = false;
        }
        let mut total = 0;
        // Stops with more than the packets of one turn: the rest waits in the kernel, whose flow control slows the peer
        // down.
        while total < 2 * share.octets && self.packets.len() < share.packets {
            match self.tls.read_tls(&mut &self.socket) {
                Ok(0) => return Err(Loss::cut("it closed the connection without a reason")),
                Ok(count) => {
                    total += count;
                    self.heard = now;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(broken(&error)),
            }
            let state = self.tls.process_new_packets();
            let state = state.map_err(|error| Loss::refused(&error, &tls_message(&error, authority)))?;
            let fresh = state.plaintext_bytes_to_read();
            // An incomplete ClientHello leads to no answer.
            self.spoken |= self.tls.wants_write();
            self.tls.reader().read_exact(self.records.room(fresh)).map_err(|error| broken(&error))?;
            if !self.ready && !self.tls.is_handshaking() {
                self.ready = true;
                let chain = self.tls.peer_certificates().unwrap_or_default();
                out.push_back(LinkEvent::Ready(chain.iter().map(|der| der.clone().into_owned()).collect()));
            }
            while let Some(record) = self.records.next()? {
                match record {
                    Record::Hello(octets) => out.push_back(LinkEvent::Hello(octets.to_vec())),
                    Record::Packet(packet) => self.packets.push_back(packet),
                }
            }
        }
        Ok(())
    }

    pub(super) fn packet(&mut self) -> Option<Bytes> {
        self.packets.pop_front()
    }

    /// Sends the hello or a packet. None is dropped, whatever the backlog: nothing is retransmitted over TLS. One
    /// longer than [`TlsLink::PAYLOAD`] ends the connection.
    pub(super) fn send(&mut self, packet: Bytes) {
        if packet.len() > TlsLink::PAYLOAD {
            let why = format!("packet of {} octets; TLS takes at most {}", packet.len(), TlsLink::PAYLOAD);
            self.unsendable = Some(Loss::other(&why));
            return;
        }
        self.queued += packet.len();
        self.waiting.push_back(packet);
    }

    /// Passes octets to the kernel, as many as it accepts.
    pub(super) fn flush(&mut self, now: Instant) {
        if self.connecting || self.lost {
            return;
        }
        if self.ready && self.waiting.is_empty() && now >= self.spoke + keep_alive(self.outage) {
            self.waiting.push_back(Bytes::new());
        }
        loop {
            while self.tls.wants_write() {
                // An error also occurs at the next read, which reports it.
                match self.tls.write_tls(&mut &self.socket) {
                    Ok(_) => self.spoke = now,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
            if self.tls.is_handshaking() {
                return;
            }
            // As many packets as fit one record of TLS: each costs a header, a tag and a system call.
            let mut batch = Vec::new();
            while self.waiting.front().is_some_and(|packet| batch.len() + packet.len() <= TlsLink::PAYLOAD) {
                let Some(packet) = self.waiting.pop_front() else { break };
                self.queued -= packet.len();
                batch.extend_from_slice(&u16::try_from(packet.len()).unwrap_or(u16::MAX).to_be_bytes());
                batch.extend_from_slice(&packet);
            }
            if batch.is_empty() {
                return;
            }
            // Into memory, without a limit.
            let _ = self.tls.writer().write_all(&batch);
        }
    }

    pub(super) fn close(&mut self, ending: Ending, why: &str) {
        if self.lost || self.tls.is_handshaking() {
            return;
        }
        let why = cut(why);
        let mut words = Vec::with_capacity(5 + why.len());
        words.extend_from_slice(&[0xff, 0xff]);
        words.extend_from_slice(&u16::try_from(why.len() + 1).unwrap_or(u16::MAX).to_be_bytes());
        words.push(ending as u8);
        words.extend_from_slice(why.as_bytes());
        // Waiting packets are dropped: the connections of the hosts end with this one.
        self.waiting.clear();
        self.queued = 0;
        let _ = self.tls.writer().write_all(&words);
        self.tls.send_close_notify();
    }

    /// Passes the remaining octets to the kernel after [`TlsLink::close`], and then ends this direction. Returns true
    /// when the peer has ended its own, or cannot be reached. Received octets are dropped: a socket that is closed with
    /// unread bytes resets the connection, and the reason is lost (RFC 1122, section 4.2.2.13).
    pub(super) fn has_notified(&mut self, now: Instant) -> bool {
        self.flush(now);
        if !self.ready {
            return true;
        }
        if !self.tls.wants_write() && self.socket.shutdown(Shutdown::Write).is_err() {
            return true;
        }
        let mut dropped = vec![0; DROPPED];
        for _ in 0..Share::ALL.octets / DROPPED {
            match (&self.socket).read(&mut dropped) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
            }
        }
        false
    }

    /// Returns the next time of a timeout or of a keep-alive.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let silent = self.heard + self.outage;
        let speak = self.spoke + keep_alive(self.outage);
        if self.lost {
            None
        } else if self.ready && !self.wants_write() {
            Some(silent.min(speak))
        } else {
            Some(silent)
        }
    }

    /// Returns the kernel's count of payload sent, retransmissions included, and the headers of IP and TCP of each of
    /// its segments (acknowledgements too), with timestamps if they are used. The longer headers of a SYN and of
    /// selective acknowledgements are left out.
    pub(super) fn octets(&mut self) -> u64 {
        if let Ok(info) = Info::of(&self.socket) {
            self.sent.renew(info);
        }
        let ip = if self.remote.is_ipv4() { 20 } else { 40 };
        let tcp = if self.sent.info.has_timestamps() { 32 } else { 20 };
        self.sent.info.bytes_sent + self.sent.segments * (ip + tcp)
    }

    pub(super) fn backlog(&self) -> usize {
        self.queued
    }

    pub(super) fn rtt(&self) -> Option<Duration> {
        let rtt_us = Info::of(&self.socket).ok()?.rtt_us;
        (rtt_us > 0).then(|| Duration::from_micros(rtt_us.into()))
    }
}

/// The counters of the kernel.
#[derive(Debug, Default)]
struct Sent {
    /// The last values.
    info: Info,
    /// Segments: the kernel's own count of them wraps at 2^32.
    segments: u64,
}

impl Sent {
    /// No more than 2^32 segments may have been sent since the last call.
    fn renew(&mut self, info: Info) {
        self.segments += u64::from(info.segments_sent.wrapping_sub(self.info.segments_sent));
        self.info = info;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_counted_beyond_the_kernels_count() {
        let mut sent = Sent::default();
        let told = [7, 7, u32::MAX - 1, 3, u32::MAX, 0];
        let counted = told.map(|segments_sent| {
            sent.renew(Info { segments_sent, ..Info::default() });
            sent.segments
        });
        let round = 1 << 32;
        assert_eq!(counted, [7, 7, round - 2, round + 3, 2 * round - 1, 2 * round]);
    }
}
