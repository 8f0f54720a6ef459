//! Incoming traffic: datagrams of known connections, and connection attempts.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use cellway_sys::Interest;
use quinn_proto::{DatagramEvent, Incoming};
use tracing::{info, warn};

use super::handshake_slots::{self, Admission, Held, Source, State};
use super::link::{Ending, Link, Stage, Wire};
use super::quic::QuicLink;
use super::tls::TlsLink;
use super::{LISTENER, Peering, settings};

/// The time for which the listener is not polled after it has failed.
const PAUSE: Duration = Duration::from_millis(100);
/// Most connections that are accepted in one pass; the next pass accepts more.
const AT_ONCE: usize = 64;
/// Most first datagrams of QUIC that are answered in one pass: more are dropped, and their clients retransmit them.
const FLIGHTS: usize = 256;

impl Peering {
    pub(super) fn receive(&mut self, number: usize, now: Instant, touched: &mut Vec<u64>) {
        let mut incoming: Vec<Incoming> = Vec::new();
        let Some(udp) = self.sockets.get_mut(number) else { return };
        let (links, routes) = (&mut self.links, &self.routes);
        udp.receive(now, |endpoint, event| match event {
            DatagramEvent::ConnectionEvent(handle, event) => {
                let Some(&link) = routes.get(&(number, handle)) else { return };
                if let Some(Link { wire: Wire::Quic(quic), .. }) = links.get_mut(&link) {
                    quic.handle_event(event);
                    if touched.last() != Some(&link) {
                        touched.push(link);
                    }
                }
            }
            // A client sends one such datagram in a flight.
            DatagramEvent::NewConnection(new) if incoming.len() < FLIGHTS => incoming.push(new),
            DatagramEvent::NewConnection(new) => endpoint.ignore(new),
            DatagramEvent::Response(_) => {}
        });
        for new in incoming {
            touched.extend(self.accept_quic(number, new, now));
        }
    }

    /// Returns the source whose slots a connection from `address` uses.
    fn source(&self, address: IpAddr, now: Instant) -> Source {
        let address = address.to_canonical();
        match self.peers.iter().any(|peer| peer.is_at(address, now)) {
            true => Source::Peer(address),
            false => Source::Network(handshake_slots::network(address)),
        }
    }

    /// Returns the incoming connections that are not verified yet, or closing.
    fn held(&self, now: Instant) -> Vec<Held> {
        let held = |(&number, link): (&u64, &Link)| {
            let state = match link.stage {
                _ if link.dialled.is_some() => return None,
                Stage::Handshake if link.lacks_client_hello() => State::NoClientHello,
                Stage::Handshake => State::Handshake,
                Stage::Over => State::Closing,
                Stage::Greeting | Stage::Up => return None,
            };
            Some(Held { number, source: self.source(link.address.ip(), now), since: link.began, state })
        };
        self.links.iter().filter_map(held).collect()
    }

    #[cfg(test)]
    pub(super) fn unauthenticated(&self) -> usize {
        self.held(Instant::now()).iter().filter(|one| one.state != State::Closing).count()
    }

    /// Counts a connection that never became a peer's: `failed` and `silent` have ended by themselves, `replaced` has
    /// lost its slot to another, `refused` got none.
    pub(super) fn reject(&mut self, how: &'static str) {
        *self.rejected.entry(how).or_default() += 1;
    }

    /// Logs the reason for which a connection from `address` failed, unless that was logged recently.
    pub(super) fn log_failure(&mut self, address: SocketAddr, over: &str, why: &str, now: Instant) {
        if self.failure_log.add(address.ip(), why, now) {
            info!("a connection from {address}{over} failed: {why} (more of this kind are summarised each minute)");
        }
    }

    /// Takes a slot for a connection from `remote`. Returns false if there is none.
    fn take_slot(&mut self, held: &[Held], remote: SocketAddr, now: Instant) -> bool {
        match handshake_slots::admit(held, self.source(remote.ip(), now), now) {
            Admission::Free => true,
            Admission::Replace(number) => {
                if let Some(link) = self.links.get_mut(&number) {
                    link.close(&mut self.sockets, now, Ending::Stop, "there are too many connections");
                    let address = link.address;
                    // Its next turn drops its remaining state.
                    self.turn_link(number, now);
                    self.reject("replaced");
                    self.log_failure(address, "", "another connection replaced it", now);
                }
                true
            }
            Admission::Full => {
                self.reject("refused");
                self.log_failure(remote, "", "no slot is free for another handshake", now);
                false
            }
        }
    }

    fn accept_quic(&mut self, socket: usize, incoming: Incoming, now: Instant) -> Option<u64> {
        let remote = incoming.remote_address();
        let held = self.held(now);
        let unproven = !incoming.remote_address_validated();
        let retry = unproven && handshake_slots::must_prove(&held, self.source(remote.ip(), now), now);
        let accept = !self.closed && (retry || self.take_slot(&held, remote, now));
        let (outage, buffer) = (self.longest_outage(), settings::buffer(self.line));
        let udp = self.sockets.get_mut(socket)?;
        let mut answer = Vec::new();
        let transmit = if !accept {
            udp.endpoint.ignore(incoming);
            None
        } else if retry {
            udp.endpoint.retry(incoming, &mut answer).ok()
        } else {
            let server = settings::server(&self.identity, outage, buffer, Some(remote));
            match udp.endpoint.accept(incoming, now, &mut answer, server) {
                Ok((handle, connection)) => {
                    let wire = Wire::Quic(Box::new(QuicLink::new(socket, handle, connection)));
                    let number = self.add_link(Link::new(None, remote, wire, now));
                    self.routes.insert((socket, handle), number);
                    return Some(number);
                }
                Err(error) => error.response,
            }
        };
        if let Some(transmit) = transmit {
            let _ = udp.send(&transmit, &answer, transmit.src_ip);
        }
        None
    }

    /// Polls the listener again when it is time to.
    pub(super) fn accept_again(&mut self, now: Instant) {
        if let (Some(listener), Some(_)) = (&self.listener, self.accept_at.filter(|&at| at <= now)) {
            let added = self.ready.add(listener, LISTENER, Interest::Read);
            self.accept_at = added.is_err().then_some(now + PAUSE);
        }
    }

    pub(super) fn accept_tls(&mut self, now: Instant) {
        for _ in 0..AT_ONCE {
            let Some(listener) = &self.listener else { return };
            let (socket, remote) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => continue,
                // Such as no free descriptor: the connection waits in the backlog, and the listener stays readable.
                Err(error) => {
                    warn!("connections of peers over TCP cannot be accepted: {error}");
                    let _ = self.ready.remove(listener);
                    self.accept_at = Some(now + PAUSE);
                    return;
                }
            };
            let Some(remote) = remote.as_socket() else { continue };
            let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
            let held = self.held(now);
            if self.closed || !self.take_slot(&held, remote, now) {
                continue;
            }
            match TlsLink::accepted(&self.identity, socket, remote, self.longest_outage(), now) {
                Ok(tls) => {
                    let number = self.add_tls(Link::new(None, remote, Wire::Tls(Box::new(tls)), now));
                    // Reads the octets that have arrived: without a ClientHello the next newcomer may replace it.
                    self.turn_link(number, now);
                }
                Err(error) => self.log_failure(remote, "", &format!("TCP: {error}"), now),
            }
        }
    }
}
