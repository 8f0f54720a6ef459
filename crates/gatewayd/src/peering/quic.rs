//! A connection over QUIC: a stream each way for the hello, datagrams (RFC 9221) for the packets.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn_proto::{
    Connection, ConnectionError, ConnectionEvent, ConnectionHandle, Dir, Event, SendDatagramError, Side, StreamEvent,
    StreamId, Transmit, VarInt,
};
use rustls::pki_types::CertificateDer;

use super::identity::{Identity, alert_message};
use super::link::{Ending, LinkEvent, Loss, cut};
use super::udp::Udp;
use super::{hello, settings};

/// A connection, and its octets that wait for the kernel.
pub(super) struct QuicLink {
    /// The index of the socket.
    pub(super) socket: usize,
    pub(super) handle: ConnectionHandle,
    connection: Connection,
    stream: Option<StreamId>,
    hello: Vec<u8>,
    heard_hello: bool,
    waiting: Option<Transmit>,
    buffer: Vec<u8>,
    octets: u64,
    /// Octets of packets that QUIC has not made into transmissions.
    queued: usize,
    /// The error with which the kernel refused the last transmission, if it did.
    pub(super) refused: Option<std::io::Error>,
}

impl QuicLink {
    pub(super) fn new(socket: usize, handle: ConnectionHandle, connection: Connection) -> QuicLink {
        QuicLink {
            socket,
            handle,
            connection,
            stream: None,
            hello: Vec::new(),
            heard_hello: false,
            waiting: None,
            buffer: Vec::new(),
            octets: 0,
            queued: 0,
            refused: None,
        }
    }

    pub(super) fn handle_event(&mut self, event: ConnectionEvent) {
        self.connection.handle_event(event);
    }

    /// Processes timers.
    pub(super) fn turn(&mut self, now: Instant) {
        if self.connection.poll_timeout().is_some_and(|at| at <= now) {
            self.connection.handle_timeout(now);
        }
    }

    pub(super) fn deadline(&mut self) -> Option<Instant> {
        self.connection.poll_timeout()
    }

    /// Appends the events since the last call to `out`.
    pub(super) fn collect(&mut self, udp: &mut Udp, identity: &Identity, out: &mut VecDeque<LinkEvent>) {
        self.exchange(udp);
        while let Some(event) = self.connection.poll() {
            match event {
                Event::Connected => out.push_back(LinkEvent::Ready(self.certificates())),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.stream = self.connection.streams().accept(Dir::Uni).or(self.stream);
                    self.read_hello(out);
                }
                Event::Stream(StreamEvent::Readable { .. }) => self.read_hello(out),
                Event::ConnectionLost { reason } => out.push_back(LinkEvent::Lost(loss(&reason, identity))),
                _ => {}
            }
        }
        self.exchange(udp);
    }

    /// Exchanges connection identifiers between the connection and the endpoint.
    fn exchange(&mut self, udp: &mut Udp) {
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(event) = udp.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(event);
            }
        }
    }

    fn certificates(&self) -> Vec<CertificateDer<'static>> {
        let identity = self.connection.crypto_session().peer_identity();
        identity.and_then(|any| any.downcast().ok()).map(|chain| *chain).unwrap_or_default()
    }

    fn read_hello(&mut self, out: &mut VecDeque<LinkEvent>) {
        let Some(id) = self.stream.filter(|_| !self.heard_hello) else { return };
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        loop {
            match chunks.next(hello::MOST) {
                Ok(Some(chunk)) if self.hello.len() + chunk.bytes.len() <= hello::MOST => {
                    self.hello.extend_from_slice(&chunk.bytes);
                }
                // The end, or more octets than any hello has, which is malformed.
                Ok(rest) => {
                    self.hello.extend(rest.into_iter().flat_map(|chunk| chunk.bytes));
                    self.heard_hello = true;
                    out.push_back(LinkEvent::Hello(std::mem::take(&mut self.hello)));
                    break;
                }
                // The stream is incomplete or was reset: the idle timeout then ends the connection.
                Err(_) => break,
            }
        }
        let _ = chunks.finalize();
    }

    /// Returns the next packet; those before the hello have waited in the connection.
    pub(super) fn packet(&mut self) -> Option<Bytes> {
        self.connection.datagrams().recv()
    }

    /// Sends as much of an endless hello as is accepted.
    #[cfg(test)]
    pub(super) fn ramble(&mut self) {
        let _ = self.connection.streams().open(Dir::Uni);
        let id = StreamId::new(self.connection.side(), Dir::Uni, 0);
        let _ = self.connection.send_stream(id).write(&[0; hello::MOST]);
    }

    pub(super) fn send_hello(&mut self, octets: &[u8]) {
        if let Some(id) = self.connection.streams().open(Dir::Uni) {
            let mut stream = self.connection.send_stream(id);
            // It is shorter than the window of any stream: the write is complete or fails.
            if stream.write(octets).is_ok_and(|count| count == octets.len()) {
                let _ = stream.finish();
            }
        }
    }

    /// Queues a packet. One that is larger than the path supports, or too much, is lost to the layer above.
    pub(super) fn send(&mut self, packet: Bytes) {
        let octets = packet.len();
        match self.connection.datagrams().send(packet, false) {
            Ok(()) => self.queued += octets,
            Err(
                SendDatagramError::TooLarge
                | SendDatagramError::Blocked(_)
                | SendDatagramError::Disabled
                | SendDatagramError::UnsupportedByPeer,
            ) => {}
        }
    }

    /// Passes transmissions to the kernel, as many as it accepts.
    pub(super) fn flush(&mut self, udp: &mut Udp, now: Instant) {
        loop {
            if let Some(transmit) = &self.waiting {
                // A dialler lets the route choose its address, as that may change.
                let from = if self.connection.side() == Side::Client { None } else { transmit.src_ip };
                match udp.send(transmit, &self.buffer, from) {
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                    Ok(()) => {
                        self.octets += on_the_line(transmit);
                        self.refused = None;
                    }
                    // Probes of the path's MTU may fail so.
                    Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {}
                    // QUIC treats it as a loss.
                    Err(error) => self.refused = Some(error),
                }
            }
            self.buffer.clear();
            let segments = udp.segments(self.connection.current_mtu());
            self.waiting = self.connection.poll_transmit(now, segments, &mut self.buffer);
            // The library reports the free space less one entry of its list.
            let free = self.connection.datagrams().send_buffer_space() + size_of::<quinn_proto::Datagram>();
            self.queued = settings::DATAGRAMS.saturating_sub(free);
            if self.waiting.is_none() {
                break;
            }
        }
        self.exchange(udp);
    }

    pub(super) fn payload(&mut self) -> usize {
        self.connection.datagrams().max_size().unwrap_or(0)
    }

    pub(super) fn backlog(&self) -> usize {
        self.queued + self.waiting.as_ref().map_or(0, |transmit| transmit.size)
    }

    pub(super) fn octets(&self) -> u64 {
        self.octets
    }

    pub(super) fn remote(&self) -> SocketAddr {
        let remote = self.connection.remote_address();
        SocketAddr::new(remote.ip().to_canonical(), remote.port())
    }

    pub(super) fn rtt(&self) -> Duration {
        self.connection.rtt()
    }

    pub(super) fn close(&mut self, now: Instant, ending: Ending, why: &str) {
        let why = cut(why);
        self.connection.close(now, VarInt::from_u32(ending as u32), Bytes::copy_from_slice(why.as_bytes()));
    }

    /// Returns true if it has no state left.
    pub(super) fn is_over(&self) -> bool {
        self.connection.is_drained()
    }
}

/// Returns the octets of the IP packets of a transmission.
fn on_the_line(transmit: &Transmit) -> u64 {
    let datagrams = transmit.segment_size.map_or(1, |segment| transmit.size.div_ceil(segment.max(1)));
    let headers = if transmit.destination.ip().to_canonical().is_ipv4() { 28 } else { 48 };
    (transmit.size + datagrams * headers) as u64
}

fn loss(error: &ConnectionError, identity: &Identity) -> Loss {
    match error {
        ConnectionError::TimedOut => Loss::no_answer(),
        ConnectionError::Reset => Loss::cut("it has restarted and has no state of this connection"),
        ConnectionError::VersionMismatch => Loss::other("it does not support version 1 of QUIC"),
        ConnectionError::ApplicationClosed(close) => {
            let why = String::from_utf8_lossy(&close.reason);
            Loss::reported(Ending::from(close.error_code.into_inner()), &why)
        }
        ConnectionError::ConnectionClosed(close) => match alert(u64::from(close.error_code)) {
            Some(alert) => Loss::other(&alert_message(alert)),
            // The text of the sender is left out: the sender may not be verified yet.
            None => Loss::other(&format!("it ended the connection: {}", close.error_code)),
        },
        ConnectionError::TransportError(error) => {
            // quinn-proto keeps only the text of a TLS error and the alert that it sends.
            let cause = identity.refusal(&error.reason).or_else(|| cause_of(alert(u64::from(error.code))?));
            match cause {
                Some(cause) => Loss::refused(&cause, &identity.message(&cause)),
                None => Loss::other(&format!("QUIC failed: {error}")),
            }
        }
        error => Loss::other(&format!("QUIC failed: {error}")),
    }
}

/// Returns the TLS error for an alert that this gateway sends, if it is one that no verifier reports.
fn cause_of(alert: u8) -> Option<rustls::Error> {
    match rustls::AlertDescription::from(alert) {
        rustls::AlertDescription::CertificateRequired => Some(rustls::Error::NoCertificatesPresented),
        rustls::AlertDescription::NoApplicationProtocol => Some(rustls::Error::NoApplicationProtocol),
        _ => None,
    }
}

/// Returns the alert of TLS in a code of QUIC (RFC 9001, section 4.8).
fn alert(code: u64) -> Option<u8> {
    code.checked_sub(0x100).and_then(|code| u8::try_from(code).ok())
}
