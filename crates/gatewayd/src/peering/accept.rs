//! Taking what comes in: datagrams of known connections, and those who dial.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use cellway_sys::Interest;
use quinn_proto::{DatagramEvent, Incoming};
use tracing::{info, warn};

use super::link::{Link, Wire};
use super::quic::QuicLink;
use super::tls::TlsLink;
use super::{LISTENER, Peering, settings};

/// Connections of nobody yet: from here on a dialler must show that its address is its own (a Retry,
/// RFC 9000, section 8.1.2) ...
pub(super) const STRANGERS: usize = 32;
/// ... and from here on none is taken.
const MOST_STRANGERS: usize = 128;
/// How long the listener is left alone after it has failed.
const PAUSE: Duration = Duration::from_millis(100);

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
            // A dialler sends one such datagram in a flight.
            DatagramEvent::NewConnection(new) if incoming.len() < MOST_STRANGERS => incoming.push(new),
            DatagramEvent::NewConnection(new) => endpoint.ignore(new),
            DatagramEvent::Response(_) => {}
        });
        for new in incoming {
            touched.extend(self.accept_quic(number, new, now));
        }
    }

    /// Connections of which it is not known yet whose they are.
    pub(super) fn strangers(&self) -> usize {
        self.links.values().filter(|link| link.peer.is_none()).count()
    }

    fn accept_quic(&mut self, socket: usize, incoming: Incoming, now: Instant) -> Option<u64> {
        let remote = incoming.remote_address();
        let strangers = self.strangers();
        let outage = self.longest_outage();
        let udp = self.sockets.get_mut(socket)?;
        let mut answer = Vec::new();
        let transmit = if self.closed || strangers >= MOST_STRANGERS {
            udp.endpoint.ignore(incoming);
            None
        } else if strangers >= STRANGERS && !incoming.remote_address_validated() {
            udp.endpoint.retry(incoming, &mut answer).ok()
        } else {
            let server = settings::server(&self.identity, outage, Some(remote));
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

    /// Watches the listener again when it is time to.
    pub(super) fn accept_again(&mut self, now: Instant) {
        if let (Some(listener), Some(_)) = (&self.listener, self.accept_at.filter(|&at| at <= now)) {
            let added = self.ready.add(listener, LISTENER, Interest::Read);
            self.accept_at = added.is_err().then_some(now + PAUSE);
        }
    }

    pub(super) fn accept_tls(&mut self, now: Instant) {
        while let Some(listener) = &self.listener {
            let (socket, remote) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => continue,
                // As with no descriptor left: the connection waits on, and the listener stays readable.
                Err(error) => {
                    warn!("connections of peers over TCP cannot be taken: {error}");
                    let _ = self.ready.remove(listener);
                    self.accept_at = Some(now + PAUSE);
                    return;
                }
            };
            let Some(remote) = remote.as_socket() else { continue };
            if self.closed || self.strangers() >= MOST_STRANGERS {
                continue;
            }
            match TlsLink::accepted(&self.identity, socket, remote, self.longest_outage(), now) {
                Ok(tls) => {
                    self.add_tls(Link::new(None, remote, Wire::Tls(Box::new(tls)), now));
                }
                Err(error) => info!("a connection from {remote} could not be taken: {error}"),
            }
        }
    }
}
